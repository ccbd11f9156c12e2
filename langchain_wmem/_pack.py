"""`WmemPack`: packs prompts in chains and in graphs of one's own, where no middleware is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Any, Literal

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config

from langchain_wmem._alignment import align_ids
from langchain_wmem._capture import Capture, session_path
from langchain_wmem._convert import read_message, to_langchain
from langchain_wmem._dedup import MIN_LOOKBACK, assign_ids, lookback, newest_human_index
from langchain_wmem._models import bound_arguments
from langchain_wmem._partial import WHY
from langchain_wmem._prompt import PackSettings
from langchain_wmem._reply_store import ReplyStore
from langchain_wmem._run import find_place
from langchain_wmem._runnable_input import RunnableInput, read_runnable_input
from langchain_wmem._session import LongTermOption, run_path
from langchain_wmem._shortening import leave_out_cut, mark_cut
from langchain_wmem._summarizer import to_summarizer
from langchain_wmem._trace import describe_prompt, is_heard
from wmem import AsyncScope, Context, Counter, Features, Gate, Message, Redaction, Scope, Summarizer
from wmem.adapter import (
    LazyMemory,
    LongTerm,
    LruCache,
    Memory,
    SessionName,
    Steps,
    arun,
    describe,
    run,
    to_sendable,
    to_session_path,
)
from wmem.errors import InvalidInputError
from wmem.types import Path, ProviderProfile, Reasoning, Roles, SummarizerFunction

_MAX_CONTEXTS = 128


class WmemPack(Runnable[object, Any]):
    """Stores the messages of a session and gives those to send that fit the budget, for chains and graphs.

    In a chain it stands before the model, and what stores the reply after it:
    ``prompt | packing | model | packing.store_reply``. Given a prompt, messages or a question, it
    returns messages. Given the state of a graph it returns an update of it, so it is a node,
    or the `pre_model_hook` of LangGraph's ``create_react_agent`` (with `store_reply` as its
    `post_model_hook`): the messages to send under `output_key`; those of the state stay as
    they are. In a node of one's own, ``model.invoke(packing.invoke(state["messages"]))``.

    The messages to send are those of the session, the new ones among them; system messages
    that the input begins with stay in front and are not stored. Each message is stored
    once, by its id. One without an id is known by what it says and where: the
    whole conversation may be handed over each time, its newest part, or the newest question
    alone. Given the state of a graph that a checkpointer keeps, the session follows the
    thread's path, as in `WmemMiddleware`; given a list, nothing is taken back, since it may be
    a part of one. What is cut to fit may be handed back: that is no edit.

    Tools that are bound to the model, system text that is added later and the reply count
    towards the budget. wmem counts; it learns nothing of the model's own count here.

    Traces have each packing as a run of its own, and callbacks get the event ``wmem_pack``: session,
    tokens, counts and ids, no text.

    Args:
        memory: An open memory, sync or async, or a URL, opened on first use; or
        store: the name under which its opener is registered with `wmem.register`, looked up on first use.
        budget: The ceiling in tokens for a model call, the reply included; or a share of `model`'s window, a float
            up to 1.0. By default the whole window.
        agent_id: The agent that owns the memory; required with a URL.
        session: The session's name or names, or a function of the run's configuration that returns them.
            ``thread`` is that of LangGraph's thread. By default the `session_id` of the run's ``configurable``, as in
            `RunnableWithMessageHistory`, else the thread's id.
        model: The model that the messages go to, with what is bound to it: its window, provider and tools.
        tools: The tools' schemas to count, in any form that LangChain binds; by default those bound to `model`.
        system: System text that is put in front later, as the `prompt` of ``create_react_agent`` is: counted, not
            sent.
        input_key: Where the state has its messages.
        output_key: Where the messages to send go in an update of the state.
        long_term: See `WmemMiddleware`; a function is one of the run's configuration.
        reserve: See `WmemMiddleware`, as for all below.

    Raises:
        InvalidInputError: No agent, no model where the budget depends on one, or an invalid setting.
    """

    def __init__(
        self,
        memory: Memory | str | None = None,
        *,
        store: str | None = None,
        budget: float | None = None,
        agent_id: str | None = None,
        session: SessionName | Callable[[RunnableConfig], SessionName] | None = None,
        model: Runnable[Any, Any] | None = None,
        tools: Sequence[object] | None = None,
        system: str = "",
        input_key: str = "messages",
        output_key: str = "llm_input_messages",
        reserve: int | None = None,
        tail: float = 0.5,
        recent: int = 4,
        profile: ProviderProfile | Literal["auto"] = "auto",
        roles: Roles = "free",
        reasoning: Reasoning = "tools",
        recall: bool = True,
        long_term: LongTerm | Callable[[RunnableConfig], LongTerm] = True,
        stable: bool = False,
        summary: bool | int = False,
        zone: tzinfo | str | None = None,
        artifacts: bool = True,
        removed: Literal["follow", "keep"] = "follow",
        counter: Counter | None = None,
        features: Features | None = None,
        redaction: Redaction | None = None,
        gate: Gate | None = None,
        enable_skill_extraction: bool = True,
        summarizer: Summarizer | SummarizerFunction | Runnable[Any, Any] | None = None,
        name: str = "wmem_pack",
    ) -> None:
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
        if model is None and self._settings.budget.needs_model:
            raise InvalidInputError("pass budget= as a number of tokens, or model= for its window")
        for option, text in (("system", system), ("input_key", input_key), ("output_key", output_key), ("name", name)):
            if not isinstance(text, str) or not (text.strip() or option == "system"):
                raise InvalidInputError(f"{option} must be a text, not {describe(text)}")
        self.name = name
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
        self._model = model
        self._tools = tools
        self._system = system
        self._input_key, self._output_key = input_key, output_key
        self._capture = Capture(artifacts=artifacts, removed=removed)
        self._contexts: LruCache[Path, Context] = LruCache(_MAX_CONTEXTS)

    @property
    def store_reply(self) -> Runnable[Any, Any]:
        """What stands after the model: it stores the reply, or the messages of a state, and passes on what it gets.

        As a node it updates nothing. A stream is passed on piece by piece, and stored at its end;
        of one that breaks off what came is stored as not complete, with a word why (`stopped` in its metadata).
        """
        return ReplyStore(f"{self.name}_reply", self._store_sync, self._store_async)

    def last_context(self, session: SessionName, *below: str) -> Context | None:
        """The packed context of a session's newest prompt; None if it is no longer held."""
        return self._contexts.get((*to_session_path(session), *below))

    def scope(self, session: SessionName, *below: str) -> Scope:
        """A session's scope, to search, pin or export what it holds, or to keep facts beside the conversation."""
        return self._long_term.fixed.share(self._lazy_memory.memory().scope(*to_session_path(session), *below))

    async def ascope(self, session: SessionName, *below: str) -> AsyncScope:
        """See `scope`."""
        return self._long_term.fixed.share((await self._lazy_memory.amemory()).scope(*to_session_path(session), *below))

    def forget(self, session: SessionName) -> None:
        """Dispose of a session for good: see `WmemMiddleware.forget`."""
        self.scope(session).dispose()
        self._drop_session(session)

    async def aforget(self, session: SessionName) -> None:
        """See `forget`."""
        await (await self.ascope(session)).dispose()
        self._drop_session(session)

    def _drop_session(self, session: SessionName) -> None:
        path = to_session_path(session)
        for cache in (self._capture, self._contexts):
            cache.discard(lambda known: known[: len(path)] == path)

    def close(self) -> None:
        """Close the memory if this runnable opened it."""
        self._lazy_memory.close()

    async def aclose(self) -> None:
        """See `close`."""
        await self._lazy_memory.aclose()

    def invoke(self, input: object, config: RunnableConfig | None = None, **_: object) -> Any:
        """The messages to send, or the update of a state."""
        return self._call_with_config(self._pack, input, config)

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **_: object) -> Any:
        """See `invoke`."""
        return await self._acall_with_config(self._apack, input, config)

    def _pack(self, value: object) -> Any:
        config = ensure_config()
        return run(self._steps(self._run_scope(config), self._read(value), config))

    async def _apack(self, value: object) -> Any:
        config = ensure_config()
        return await arun(self._steps(await self._arun_scope(config), self._read(value), config))

    def _run_scope(self, config: RunnableConfig) -> Scope:
        return self._long_term.resolve(config).share(self.scope(*run_path(self._session, config)))

    async def _arun_scope(self, config: RunnableConfig) -> AsyncScope:
        return self._long_term.resolve(config).share(await self.ascope(*run_path(self._session, config)))

    def _read(self, value: object) -> RunnableInput:
        return read_runnable_input(value, self._input_key, HumanMessage)

    def _steps(self, scope: Scope | AsyncScope, value: RunnableInput, config: RunnableConfig) -> Steps[Any]:
        leading, talk = value.leading, (yield from leave_out_cut(scope.messages, value.talk))
        named, place = (yield from self._name(scope, talk)), find_place(keeps_state=value.is_state)
        live = yield from self._capture.store(scope, place, named, named)
        model, bound = self._model, bound_arguments(self._model)
        ceiling = self._settings.ceiling(model, bound)
        in_front = [] if self._system else to_sendable(leading[:1])
        others = [piece for each in leading[len(in_front) :] for piece in read_message(each)]
        context: Context = yield scope.pack(
            self._settings.query(named),
            budget=ceiling.limit,
            **self._settings.arguments(
                model,
                system=self._system or "".join(read_message(each)[0].text for each in in_front),
                tools=_list_schemas(bound) if self._tools is None else self._tools,
                reserve=ceiling.reserve,
                messages=[*others, *live],
                long_term=self._long_term.resolve(config).is_on,
            ),
        )
        path = session_path(scope)
        self._contexts.put(path, context)
        self._capture.prompts.add(scope, context)
        if is_heard(config):
            tell = adispatch_custom_event if isinstance(scope, AsyncScope) else dispatch_custom_event
            yield tell("wmem_pack", describe_prompt(context, path), config=config)
        messages = _to_send(context, in_front, zip(talk, named, strict=True))
        return {self._output_key: messages} if value.is_state else messages

    def _name(self, scope: Scope | AsyncScope, messages: Sequence[BaseMessage]) -> Steps[Sequence[BaseMessage]]:
        """The messages with the ids that they have in the session, or will have."""
        messages = assign_ids(messages)
        if all(message.id for message in messages):
            return messages
        stored: list[Message] = yield scope.messages.all(limit=lookback(messages))
        return align_ids(messages, to_langchain(stored))

    def _store_sync(self, reply: object, config: RunnableConfig, *, stopped: str = "") -> None:
        scope = self._run_scope(config)
        run(self._store(scope, read_runnable_input(reply, self._input_key, AIMessage), stopped=stopped))

    async def _store_async(self, reply: object, config: RunnableConfig, *, stopped: str = "") -> None:
        scope = await self._arun_scope(config)
        await arun(self._store(scope, read_runnable_input(reply, self._input_key, AIMessage), stopped=stopped))

    def _store(self, scope: Scope | AsyncScope, value: RunnableInput, *, stopped: str) -> Steps[None]:
        talk = yield from leave_out_cut(scope.messages, value.talk)
        if not value.is_state:  # the question that the reply is of says which turn it is in
            stored = to_langchain((yield scope.messages.all(limit=MIN_LOOKBACK)))
            talk = [*stored[newest_human_index(stored) :], *talk]
        named = yield from self._name(scope, talk)
        yield from self._capture.finish(scope, find_place(keeps_state=value.is_state), named, ())
        if stopped and (reply := (yield scope.messages.get(named[-1].id or ""))) is not None:
            partial = {"complete": False, "metadata": {**reply.metadata, WHY: stopped}}
            yield scope.messages.append(reply.model_copy(update=partial))


def _list_schemas(bound: Mapping[str, Any]) -> list[object]:
    """The tools that are bound to a model, and the schema of its replies."""
    wanted = bound.get("response_format")
    return [*(bound.get("tools") or ()), *([wanted] if isinstance(wanted, dict) else ())]


def _to_send(
    context: Context, in_front: Sequence[BaseMessage], talk: Iterable[tuple[BaseMessage, BaseMessage]]
) -> list[BaseMessage]:
    """The packed messages; those that are as they were given are the objects that were given.

    Args:
        in_front: The system message whose text was packed; without one it is sent by somebody else.
        talk: The messages as they were given, and as they are stored.
    """
    prompt = list(context.prompt())
    sent = to_langchain(prompt)
    front: list[BaseMessage] = []
    if context.system:
        system, sent = prompt[0].text, sent[1:]
        others = system.removeprefix(context.system).strip()
        if in_front:
            front = [SystemMessage(system)] if others else list(in_front)
        elif others:
            front = [SystemMessage(others)]
    known = {named.id: (original, named) for original, named in talk}
    for each in sent:
        original, named = known.get(each.id, (each, each))
        front.append(original if each == named else mark_cut(each))
    return front


wmem_pack = WmemPack
"""The same under the name of what it does, for chains: ``prompt | wmem_pack(memory, budget=8_000) | model``."""
