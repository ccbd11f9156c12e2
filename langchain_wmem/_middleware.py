"""`WmemMiddleware`: stores the messages of a ``create_agent`` agent, and packs each prompt it sends."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import tzinfo
from operator import is_
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import BaseMessage, RemoveMessage, SystemMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from langchain_wmem._budget import Ceiling
from langchain_wmem._call_ids import name_calls_and_results
from langchain_wmem._capture import Capture, session_path
from langchain_wmem._convert import Converter, read_message
from langchain_wmem._dedup import find_trimmed
from langchain_wmem._partial import PartialAnswer
from langchain_wmem._prompt import PackSettings
from langchain_wmem._request import complete_request, prompt_counter, tool_schemas
from langchain_wmem._retry import call_with_retry, model_name
from langchain_wmem._run import find_later_hooks, find_run, may_have_guards
from langchain_wmem._session import LongTermOption, is_single_run, scope_path
from langchain_wmem._summarizer import to_summarizer
from langchain_wmem._tools import RunSession, make_tools
from langchain_wmem._trace import trace_prompt
from wmem import AsyncScope, Calibrations, Context, Counter, Features, Gate, Message, Redaction, Scope, Summarizer
from wmem.adapter import (
    LazyMemory,
    LongTerm,
    LruCache,
    Memory,
    MemoryTools,
    SessionName,
    Steps,
    ToolName,
    arun,
    check_count,
    describe,
    find_logger,
    run,
    to_sendable,
    to_session_path,
)
from wmem.errors import InvalidInputError, WmemError
from wmem.types import Path, ProviderProfile, Reasoning, Roles, SummarizerFunction

_MAX_CONTEXTS = 128
_STORED = "wmem_stored"

_log = find_logger("langchain_wmem")


class WmemState(AgentState[Any]):
    """An agent's state, and how many of its messages are stored; that stays out of what the agent returns."""

    wmem_stored: NotRequired[Annotated[int, PrivateStateAttr]]


class WmemMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Stores every message of an agent's session, and sends the model what fits the budget.

    Each model call gets a prompt of at most `budget` tokens, packed from the whole stored
    session. The system message, the tools' schemas and room for the reply count towards
    the budget. Unless there is a `window`, no message is removed from the agent's state.

    Each message is stored once, by its id: before a model call what is in the state by then,
    and the answer when the agent ends. So what other middleware takes out, masks or blocks
    before that is never stored. (A call that fails leaves what the model had streamed, unless other middleware
    has a hook ``after_model`` or ``after_agent``.) Without a checkpointer, pass only new messages, or the
    messages as the agent returned them. A run that fails or is interrupted loses nothing of
    what a model was shown. Put this middleware last in the list, so that it has the final say
    on what is sent, but before middleware whose ``after_agent`` changes answers: such an
    answer is else stored by the next run only. A call that the provider refuses as
    too large (`ContextOverflowError`) is retried once, with half of the conversation.

    Callbacks and traces find, in the metadata of the model's run under this middleware's name,
    what its prompt was made of: session, tokens, budget, counts and ids; no text.

    The agent's state is authoritative. A message that was edited there under its id, however
    old, is updated in the session by the next run. With a checkpointer, the session follows the
    thread's path: see `removed`. Messages of others in the session stay where they are. What JSON
    cannot hold, such as an object as a tool's artifact, and what a subclass of a message adds to
    its base, is left out of the session with a warning. A summary is stored only if it comes
    first, so that none of the messages it covers can be stored.

    A sub-agent that runs in a tool inherits thread and context, but not the session: without
    a `session` of its own it gets a scope below its parent's for this one run, named after
    its LangGraph checkpoint namespace. It reads entries and items of the parent's session
    but no messages, and its own messages stay in its scope, which is disposed when the run
    ends; after a run that failed or was interrupted it stays. A sub-agent with
    ``checkpointer=True``, whose state LangGraph keeps for the thread, keeps its scope as
    well. An agent that is a node of another graph is refused unless it has a `session`,
    because whether it shares the thread with the others cannot be known: ``session="thread"`` says so.
    What such an agent keeps to itself, as a supervisor's workers do that hand back their last message
    alone, the graph's other agents are not sent: it is withdrawn, as what a state took back. Agents that a graph
    runs at once, by `Send`, take nothing of each other back, but may be sent what the others were told before them:
    give each a `session` of its own, by a function, if they should not. Agents with checkpointers of their own
    that share a session need threads of different names.

    Args:
        memory: An open memory, sync or async, or a URL, opened on first use; or
        store: the name under which its opener is registered with `wmem.register`, looked up on first use.
        agent_id: The agent that owns the memory; required with a URL.
        session: The session's name, or the names of a nested one, as ``("user-7", "chat-3")``, or a function
            of the run's `Runtime` that returns it; used unchanged, in a sub-agent too. ``thread`` is the
            session of the run's thread, inside another graph too, for supervisors and swarms; a
            sub-agent in a tool gets a scope below it. (One that is really called so is named by a
            function: ``lambda runtime: "thread"``.) By default the `session_id` of the runtime context,
            else the thread's id.
        budget: The ceiling in tokens for each model call, the reply included; or a share of the model's
            window, a float up to 1.0. By default the whole window. The window is `max_input_tokens` of the
            profile of the model that the request is for. wmem's count
            is calibrated for each model name from the usage reported with replies, so that
            later calls stay below the budget in the model's own tokens, too.
        reserve: Tokens kept free for the reply. By default the model's configured maximum, if it is
            below the budget, else its capability up to a quarter of the budget, else 1,024, up to half of it.
        tail: The share of the room that the newest messages fill before anything is recalled; 0
            recalls first. See `Scope.pack`.
        recent: How many of the newest messages are kept at least.
        profile: The provider whose rules the prompt obeys: see `Scope.pack`. ``auto`` is that of the
            request's model, whatever routing or falling back made it; ``any`` if wmem does not know it.
        roles: ``alternate`` joins the messages of one speaker in a row, as the templates of many local
            models demand; system text of the session becomes one message with the agent's.
        reasoning: Which messages are sent with the model's reasoning: see `Scope.pack`.
        recall: Whether older messages relevant to the newest question are quoted in a note.
        long_term: Whether prompts draw on long-term memory: the agent's, and that of the scopes that the session's
            policy names. Or a list of such scopes, as ``[("users", "ann")]``, or a function of the run's `Runtime` that
            returns one: these then have the long-term memory that all sessions of a user share, and no other
            user's. See `Policy.long_term`. They are stored with the session; one that has another first scope is
            another user's, and refused.
        tools: Offer the agent tools with which it remembers, recalls and forgets itself, all of them or those that are
            named: see `wmem_tools`, which takes more options. Their schemas count towards the budget.
        stable: Begin at the same message for many calls, with the note just before the
            newest user message: about two thirds of a prompt of 8,000 tokens and half of one of
            2,000 then repeat for a provider's prompt cache, without it hardly any. Off by default,
            as it leaves recall less room: of the evidence for a question 64 % instead of 79 % is
            found at 1,024 tokens, 93 % instead of 94 % at 8,192. Use it with large budgets.
        summary: Tokens set aside for a summary of what is left out, its best sentences, in
            the note; True for an eighth of the budget. Off by default, as it takes that
            room from what is recalled.
        zone: The time zone, or its IANA name, of the days in the note and in dated questions; None
            for the session's own, which is UTC unless its policy says otherwise.
        artifacts: Store the artifacts of tool results that are plain data; the model
            never sees them.
        removed: What becomes of messages that the thread's state took back, all that it no longer holds although
            it holds an older one: ``follow`` withdraws them from the conversation, see `Messages.withdraw`;
            ``keep`` leaves them in it, for hooks that trim the middle of a thread and keep its first message.
        window: How many of the newest messages the agent's state keeps after a run, from the beginning of a
            turn on; all are stored. None removes none.
        counter: Counts tokens; only with a URL, since an open memory has its own.
        features: What the memory may use; only with a URL: see `wmem.open`.
        redaction: What of it is redacted; only with a URL: see `wmem.open`.
        gate: What an item must have to enter it; only with a URL: see `wmem.open`.
        enable_skill_extraction: Whether maintenance makes skills of tool calls; only with a URL.
        summarizer: Summarizes sessions, as a model of LangChain or what `wmem.open` takes; only with a URL.
        ask_model: Check each prompt with the model's own count as well. It may call
            the provider, and does so without awaiting.
        name: Distinguishes several of these middlewares in one agent; the lowest of their ceilings holds.

    Raises:
        InvalidInputError: No agent, or an invalid number, profile or name.
    """

    state_schema: type[AgentState[Any]] = WmemState

    def __init__(
        self,
        memory: Memory | str | None = None,
        *,
        store: str | None = None,
        budget: float | None = None,
        agent_id: str | None = None,
        session: SessionName | Callable[[Runtime[Any]], SessionName] | None = None,
        reserve: int | None = None,
        tail: float = 0.5,
        recent: int = 4,
        profile: ProviderProfile | Literal["auto"] = "auto",
        roles: Roles = "free",
        reasoning: Reasoning = "tools",
        recall: bool = True,
        long_term: LongTerm | Callable[[Runtime[Any]], LongTerm] = True,
        tools: bool | Collection[ToolName] = False,
        stable: bool = False,
        summary: bool | int = False,
        zone: tzinfo | str | None = None,
        artifacts: bool = True,
        removed: Literal["follow", "keep"] = "follow",
        window: int | None = None,
        counter: Counter | None = None,
        features: Features | None = None,
        redaction: Redaction | None = None,
        gate: Gate | None = None,
        enable_skill_extraction: bool = True,
        summarizer: Summarizer | SummarizerFunction | Runnable[Any, Any] | None = None,
        ask_model: bool = False,
        name: str = "wmem",
    ) -> None:
        super().__init__()
        self._settings = PackSettings(
            budget=budget,
            reserve=reserve,
            tail=tail,
            recent=recent,
            profile=profile,
            roles=roles,
            reasoning=reasoning,
            recall=recall,
            stable=stable,
            summary=summary,
            zone=zone,
        )
        if window is not None:
            check_count(window, "window", 1)
        if not isinstance(name, str) or not name.strip():
            raise InvalidInputError(f"name must be a text that is not blank, not {describe(name)}")
        self._lazy_memory = LazyMemory(
            memory,
            agent_id,
            counter,
            features=features,
            redaction=redaction,
            gate=gate,
            enable_skill_extraction=enable_skill_extraction,
            summarizer=to_summarizer(summarizer),
            store=store,
        )
        self._session = session
        self._long_term = LongTermOption(long_term)
        self.tools: Sequence[BaseTool] = self._make_tools(tools)
        self._ask_model = ask_model
        self._name = name
        self._capture = Capture(artifacts=artifacts, removed=removed)
        self._window = window
        self._is_warned = False
        self._around: set[str] = set()  # names of other instances, which change no message
        self._contexts: LruCache[Path, Context] = LruCache(_MAX_CONTEXTS)
        self._converters: LruCache[Path, Converter] = LruCache(_MAX_CONTEXTS)
        self._calibrations = Calibrations()

    def _make_tools(self, names: bool | Collection[ToolName]) -> Sequence[BaseTool]:  # noqa: FBT001  # the option itself
        made = MemoryTools() if names is True else MemoryTools(names or ())
        return make_tools(made, RunSession(self._lazy_memory, self._session, self._long_term))

    @property
    def name(self) -> str:
        """The middleware's name within the agent."""
        return self._name

    def last_context(self, session: SessionName, *below: str) -> Context | None:
        """The packed context of a session's newest model call; None if it is no longer held.

        Of two concurrent runs of one session it is the one packed last.

        Args:
            below: Names of the scopes from the session down to a sub-agent's.
        """
        return self._contexts.get((*to_session_path(session), *below))

    def scope(self, session: SessionName, *below: str) -> Scope:
        """A session's scope, to search, pin or export what it holds, or to keep facts beside the conversation.

        Args:
            session: The session's name; by default that of its thread.
            below: Names of the scopes from the session down to a sub-agent's.
        """
        return self._long_term.fixed.share(self._lazy_memory.memory().scope(*to_session_path(session), *below))

    async def ascope(self, session: SessionName, *below: str) -> AsyncScope:
        """See `scope`."""
        return self._long_term.fixed.share((await self._lazy_memory.amemory()).scope(*to_session_path(session), *below))

    def forget(self, session: SessionName) -> None:
        """Dispose of a session and its sub-agents' scopes, for good: its thread was deleted.

        What was promoted to long-term memory stays. Without such a session nothing happens.
        """
        self.scope(session).dispose()
        self._drop_session(session)

    async def aforget(self, session: SessionName) -> None:
        """See `forget`."""
        await (await self.ascope(session)).dispose()
        self._drop_session(session)

    def _drop_session(self, session: SessionName) -> None:
        path = to_session_path(session)
        for cache in (self._capture, self._contexts, self._converters):
            cache.discard(lambda known: known[: len(path)] == path)

    @property
    def calibrations(self) -> Calibrations:
        """Calibrations of each model's token count from usage; of this middleware only, not stored."""
        return self._calibrations

    def close(self) -> None:
        """Close the memory if this middleware opened it."""
        self._lazy_memory.close()

    async def aclose(self) -> None:
        """See `close`."""
        await self._lazy_memory.aclose()

    # -- storing messages: in model calls and at the end, when every guard has seen them

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any]:
        return run(self._finish(self._run_scope(runtime), state["messages"], runtime))

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any]:
        return await arun(self._finish(await self._arun_scope(runtime), state["messages"], runtime))

    def _run_scope(self, runtime: Runtime[Any]) -> Scope:
        return self._long_term.resolve(runtime).share(self.scope(*scope_path(self._session, runtime)))

    async def _arun_scope(self, runtime: Runtime[Any]) -> AsyncScope:
        return self._long_term.resolve(runtime).share(await self.ascope(*scope_path(self._session, runtime)))

    def _finish(
        self, scope: Scope | AsyncScope, messages: Sequence[BaseMessage], runtime: Runtime[Any]
    ) -> Steps[dict[str, Any]]:
        path = session_path(scope)
        if is_single_run(self._session, runtime):
            yield scope.dispose(purge=False)
            self._capture.discard(lambda known: known[: len(path)] == path)
            return {_STORED: 0}
        later = [each for each in find_later_hooks(self._name) if each not in self._around]
        if later and not self._is_warned:
            self._is_warned = True
            _log.warning(
                "An answer is stored by the run after it, because %s may still change it: put wmem's middleware before",
                ", ".join(map(repr, later)),
            )
        is_past_stored = yield from self._capture.finish(scope, find_run(runtime), messages, later)
        update: dict[str, Any] = {_STORED: len(messages)}
        if self._window is not None and is_past_stored:
            update["messages"] = [RemoveMessage(id=each) for each in find_trimmed(messages, self._window)]
        return update

    # -- packing prompts

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        request = complete_request(request)
        return run(self._call(self._run_scope(request.runtime), request, handler))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        request = complete_request(request)
        return await arun(self._call(await self._arun_scope(request.runtime), request, handler))

    def _call(
        self, scope: Scope | AsyncScope, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], object]
    ) -> Steps[ModelResponse[Any]]:
        place, held = find_run(request.runtime), request.state["messages"]
        outer = Ceiling.read(request.state)
        live = yield from self._capture.store(scope, place, held, request.messages, is_packed=outer is not None)
        path = session_path(scope)
        if request.system_message is not None:
            request = request.override(system_message=to_sendable(request.system_message))
        ceiling = self._settings.ceiling(request.model, request.model_settings).within(outer)
        self._around.update(ceiling.names)
        query = self._settings.query(request.messages)
        options = self._pack_options(live, request, ceiling.reserve)

        def pack(budget: int) -> Steps[Context]:
            context: Context = yield scope.pack(query, budget=budget, **options)
            self._capture.prompts.add(scope, context)
            return self._contexts.put(path, context)

        def send(context: Context) -> Steps[ModelResponse[Any]]:
            decided = ceiling._replace(room=context.budget - ceiling.reserve, names=(*ceiling.names, self._name))
            sent = _with_prompt(request, context, decided, self._converters.setdefault(path, Converter()))
            with trace_prompt(self._name, context, path, request.model), partial.listen():
                response: ModelResponse[Any] = yield handler(sent)
            # Before tools run: LangGraph's tool node answers a call by its id, and refuses one without.
            result = name_calls_and_results(response.result)
            return response if result is response.result else replace(response, result=result)

        partial = PartialAnswer()
        try:
            return (yield from call_with_retry(self._calibrations, model_name(request), pack, send, ceiling=ceiling))
        except GeneratorExit:  # nobody waits any more, so nothing can be awaited
            raise
        except BaseException as exc:
            if (said := partial.message(exc)) is not None and not may_have_guards(self._name):
                try:
                    yield from self._capture.store_partial(scope, place, held, said)
                except WmemError as failure:  # less than the failure of the call, which the caller is told of
                    _log.warning("Did not store what the model had said: %s", type(failure).__name__)
            raise

    def _pack_options(self, live: Sequence[Message], request: ModelRequest[Any], reserve: int) -> dict[str, Any]:
        """Arguments of `pack` for this request, without the budget."""
        return {
            **self._settings.arguments(
                request.model,
                system=read_message(request.system_message)[0].text if request.system_message else "",
                tools=tool_schemas(request),
                reserve=reserve,
                messages=live,
                long_term=self._long_term.resolve(request.runtime).is_on,
            ),
            "prompt_counter": prompt_counter(request.model) if self._ask_model else None,
        }


def _with_prompt(
    request: ModelRequest[Any], context: Context, ceiling: Ceiling, converter: Converter
) -> ModelRequest[Any]:
    """The request with the packed messages and the note; its system message stays unless others were joined to it.

    Messages that are sent as they were handed in are the very objects, and their list if all are.

    Args:
        ceiling: What other instances inside may take.
    """
    request = request.override(state=ceiling.write(request.state))
    prompt = list(context.prompt())
    sent: list[Any] = converter.convert(prompt, _find_handed(request.messages, {message.id for message in prompt}))
    if context.system:
        sent = sent[1:]
        if prompt[0].text != context.system:
            request = request.override(system_message=SystemMessage(prompt[0].text))
    if len(sent) == len(request.messages) and all(map(is_, sent, request.messages)):
        return request
    return request.override(messages=sent)


def _find_handed(messages: Sequence[BaseMessage], ids: set[str | None]) -> dict[str | None, BaseMessage]:
    """The messages of a request with these ids; a prompt has the newest, so they are looked for from the end."""
    found: dict[str | None, BaseMessage] = {}
    left = len(ids - {None})
    for message in reversed(messages):
        if not left:
            break
        if message.id is not None and message.id in ids:
            found[message.id] = message
            left -= 1
    return found
