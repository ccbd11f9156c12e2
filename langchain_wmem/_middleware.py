"""`WmemMiddleware`: stores the messages of a ``create_agent`` agent, and packs each prompt it sends."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from typing import Any, Literal

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.runtime import Runtime

from langchain_wmem._budget import Ceiling
from langchain_wmem._call_ids import name_calls_and_results
from langchain_wmem._convert import read_message, to_langchain
from langchain_wmem._dedup import (
    SeenMessages,
    append_new,
    assign_ids,
    assign_turn_ids,
    is_conversation,
    lookback,
    newest_human_index,
)
from langchain_wmem._lenient_convert import read_leniently
from langchain_wmem._prompt import PackSettings
from langchain_wmem._request import prompt_counter, tool_schemas
from langchain_wmem._retry import call_with_retry, model_name
from langchain_wmem._session import is_single_run, scope_path
from langchain_wmem._trace import trace_prompt
from wmem import AsyncScope, Calibrations, Context, Counter, Message, Scope
from wmem.adapter import (
    LazyMemory,
    LruCache,
    Memory,
    Steps,
    arun,
    describe,
    find_logger,
    run,
    to_sendable,
)
from wmem.errors import InvalidInputError
from wmem.types import Path, ProviderProfile, Reasoning, Roles

_MAX_SESSIONS = 256
_MAX_CONTEXTS = 128

_log = find_logger("langchain_wmem")


class WmemMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Stores every message of an agent's session, and sends the model what fits the budget.

    Each model call gets a prompt of at most `budget` tokens, packed from the whole stored
    session. The system message, the tools' schemas and room for the reply count towards
    the budget. The agent's own state is never changed: no message is removed from it.

    Each message is stored once, by its id, as soon as it is said: without a checkpointer,
    pass only new messages, or the messages as the agent returned them. A run that fails or
    is interrupted loses nothing of what was said before. Put this middleware last in the
    list, so that it has the final say on what is sent. A call that the provider refuses as
    too large (`ContextOverflowError`) is retried once, with half of the conversation.

    Callbacks and traces find, in the metadata of the model's run under this middleware's name,
    what its prompt was made of: session, tokens, budget, counts and ids; no text.

    The agent's state is authoritative: a message that was edited there under its id, however
    old, is updated in the session by the next run. What JSON cannot hold, such as an
    object as a tool's artifact, and what a subclass of a message adds to its base, is
    left out of the session with a warning. A summary is stored only if it comes first, so
    that none of the messages it covers can be stored. The session only grows: a message
    removed from the thread's state stays in the session until it is removed there, and a
    fork of a thread needs a session of its own.

    A sub-agent that runs in a tool inherits thread and context, but not the session: without
    a `session` of its own it gets a scope below its parent's for this one run, named after
    its LangGraph checkpoint namespace. It reads entries and items of the parent's session
    but no messages, and its own messages stay in its scope, which is disposed when the run
    ends; after a run that failed or was interrupted it stays. A sub-agent with
    ``checkpointer=True``, whose state LangGraph keeps for the thread, keeps its scope as
    well. An agent that is a node of another graph is refused unless it has a `session`,
    because whether it shares the thread with the others cannot be known: ``session="thread"`` says so.

    Args:
        memory: An open memory, sync or async, or a URL, opened on first use.
        agent_id: The agent that owns the memory; required with a URL.
        session: The session's name, or a function of the run's `Runtime` that returns it;
            used unchanged, in a sub-agent too. ``thread`` is the session of the run's thread, inside
            another graph too, for supervisors and swarms; a sub-agent in a tool gets a scope below it.
            (One that is really called so is named by a function: ``lambda runtime: "thread"``.) By
            default the `session_id` of the runtime context, else the thread's id.
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
        counter: Counts tokens; only with a URL, since an open memory has its own.
        ask_model: Check each prompt with the model's own count as well. It may call
            the provider, and does so without awaiting.
        name: Distinguishes several of these middlewares in one agent; the lowest of their ceilings holds.

    Raises:
        InvalidInputError: No agent, or an invalid number, profile or name.
    """

    def __init__(
        self,
        memory: Memory | str,
        *,
        budget: float | None = None,
        agent_id: str | None = None,
        session: str | Callable[[Runtime[Any]], str] | None = None,
        reserve: int | None = None,
        tail: float = 0.5,
        recent: int = 4,
        profile: ProviderProfile | Literal["auto"] = "auto",
        roles: Roles = "free",
        reasoning: Reasoning = "tools",
        recall: bool = True,
        stable: bool = False,
        summary: bool | int = False,
        zone: tzinfo | str | None = None,
        artifacts: bool = True,
        counter: Counter | None = None,
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
        if not isinstance(name, str) or not name.strip():
            raise InvalidInputError(f"name must be a text that is not blank, not {describe(name)}")
        self.tools = []
        self._lazy_memory = LazyMemory(memory, agent_id, counter)
        self._session = session
        self._artifacts = artifacts
        self._ask_model = ask_model
        self._name = name
        self._seen: LruCache[Path, SeenMessages] = LruCache(_MAX_SESSIONS)
        self._contexts: LruCache[Path, Context] = LruCache(_MAX_CONTEXTS)
        self._calibrations = Calibrations()

    @property
    def name(self) -> str:
        """The middleware's name within the agent."""
        return self._name

    def last_context(self, session: str, *below: str) -> Context | None:
        """The packed context of a session's newest model call; None if it is no longer held.

        Of two concurrent runs of one session it is the one packed last.

        Args:
            below: Names of the scopes from the session down to a sub-agent's.
        """
        return self._contexts.get((session, *below))

    def scope(self, session: str, *below: str) -> Scope:
        """A session's scope, to search, pin or export what it holds, or to keep facts beside the conversation.

        Args:
            session: The session's name; by default that of its thread.
            below: Names of the scopes from the session down to a sub-agent's.
        """
        return self._lazy_memory.memory().scope(session, *below)

    async def ascope(self, session: str, *below: str) -> AsyncScope:
        """See `scope`."""
        return (await self._lazy_memory.amemory()).scope(session, *below)

    def forget(self, session: str) -> None:
        """Dispose of a session and its sub-agents' scopes, for good: its thread was deleted.

        What was promoted to long-term memory stays. Without such a session nothing happens.
        """
        self.scope(session).dispose()
        self._drop_session(session)

    async def aforget(self, session: str) -> None:
        """See `forget`."""
        await (await self.ascope(session)).dispose()
        self._drop_session(session)

    def _drop_session(self, session: str) -> None:
        self._seen.discard(lambda known: known[0] == session)
        self._contexts.discard(lambda known: known[0] == session)

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

    # -- storing messages

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        # Between two runs a message may be edited in place; within one, edits come as new objects.
        run(self._capture(self._run_scope(runtime), state["messages"], trust_objects=False))

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        run(self._capture(self._run_scope(runtime), state["messages"]))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        run(self._finish(self._run_scope(runtime), state["messages"]))

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        await arun(self._capture(await self._arun_scope(runtime), state["messages"], trust_objects=False))

    async def aafter_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        await arun(self._capture(await self._arun_scope(runtime), state["messages"]))

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        await arun(self._finish(await self._arun_scope(runtime), state["messages"]))

    def _run_scope(self, runtime: Runtime[Any]) -> Scope:
        return self.scope(*scope_path(self._session, runtime))

    async def _arun_scope(self, runtime: Runtime[Any]) -> AsyncScope:
        return await self.ascope(*scope_path(self._session, runtime))

    def _capture(
        self, scope: Scope | AsyncScope, messages: Sequence[BaseMessage], *, trust_objects: bool = True
    ) -> Steps[None]:
        messages, path = assign_ids(messages), _session_path(scope)
        seen = self._seen.get(path)
        if seen is None:
            stored = yield scope.messages.all(limit=lookback(messages))
            seen = self._seen.setdefault(path, SeenMessages(stored))
        if fresh := seen.find_new(messages, partial(self._to_messages, seen), trust_objects=trust_objects):
            yield from append_new(scope.messages, assign_turn_ids(fresh, messages), seen, lookback(messages))

    def _finish(self, scope: Scope | AsyncScope, messages: Sequence[BaseMessage]) -> Steps[None]:
        path = _session_path(scope)
        if is_single_run(path):
            yield scope.dispose(purge=False)
            self._seen.discard(lambda known: known[: len(path)] == path)
        else:
            yield from self._capture(scope, messages)

    def _to_messages(self, seen: SeenMessages, original: BaseMessage) -> list[Message]:
        messages, left_out = read_leniently(original, artifacts=self._artifacts)
        if left_out and original.id not in seen:
            _log.warning(
                "Left %s of %s message %s out of the session: only plain data can be stored",
                ", ".join(left_out),
                original.type,
                original.id,
            )
        return messages

    # -- packing prompts

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        return run(self._call(self._run_scope(request.runtime), request, handler))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        return await arun(self._call(await self._arun_scope(request.runtime), request, handler))

    def _call(
        self, scope: Scope | AsyncScope, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], object]
    ) -> Steps[ModelResponse[Any]]:
        # Store tool results, and changes by other middleware, before sending.
        yield from self._capture(scope, request.state["messages"])
        path = _session_path(scope)
        if request.system_message is not None:
            request = request.override(system_message=to_sendable(request.system_message))
        ceiling = self._settings.ceiling(request.model, request.model_settings).within(Ceiling.read(request.state))
        query = self._settings.query(request.messages)
        options = self._pack_options(path, request, ceiling.reserve)

        def pack(budget: int) -> Steps[Context]:
            context: Context = yield scope.pack(query, budget=budget, **options)
            return self._contexts.put(path, context)

        def send(context: Context) -> Steps[ModelResponse[Any]]:
            decided = ceiling._replace(room=context.budget - ceiling.reserve)
            with trace_prompt(self._name, context, path, request.model):
                response: ModelResponse[Any] = yield handler(_with_prompt(request, context, decided))
            # Before tools run: LangGraph's tool node answers a call by its id, and refuses one without.
            result = name_calls_and_results(response.result)
            return response if result is response.result else replace(response, result=result)

        return (yield from call_with_retry(self._calibrations, model_name(request), pack, send, ceiling=ceiling))

    def _pack_options(self, path: Path, request: ModelRequest[Any], reserve: int) -> dict[str, Any]:
        """Arguments of `pack` for this request, without the budget."""
        return {
            **self._settings.arguments(
                request.model,
                system=read_message(request.system_message)[0].text if request.system_message else "",
                tools=tool_schemas(request),
                reserve=reserve,
                messages=self._find_unstored(path, request),
            ),
            "prompt_counter": prompt_counter(request.model) if self._ask_model else None,
        }

    def _find_unstored(self, path: Path, request: ModelRequest[Any]) -> list[Message]:
        """The messages of the request that may not be stored in their current form, or at all.

        Messages before this turn are left out if all of them are stored and unchanged
        since, that is, identical to the objects in the agent's state.
        """
        seen = self._seen.get(path)
        messages = assign_ids(request.messages)
        begun = newest_human_index(messages)
        untouched = {id(message) for message in request.state["messages"]}
        past = messages[:begun]
        if seen is not None and all(
            (each.id in seen and id(each) in untouched) or not is_conversation(each) for each in past
        ):
            past = []
        live = [message for message in (*past, *messages[begun:]) if is_conversation(message)]
        return [piece for each in live for piece in read_leniently(each, artifacts=self._artifacts).messages]


def _session_path(scope: Scope | AsyncScope) -> Path:
    """A scope's path from the session on, without the agent."""
    return scope.path[1:]


def _with_prompt(request: ModelRequest[Any], context: Context, ceiling: Ceiling) -> ModelRequest[Any]:
    """The request with the packed messages and the note; its system message stays unless others were joined to it.

    Args:
        ceiling: What other instances inside may take.
    """
    request = request.override(state=ceiling.write(request.state))
    prompt = list(context.prompt())
    sent: list[Any] = to_langchain(prompt)
    if not context.system:
        return request.override(messages=sent)
    joined = prompt[0].text != context.system
    system = SystemMessage(prompt[0].text) if joined else request.system_message
    return request.override(messages=sent[1:], system_message=system)
