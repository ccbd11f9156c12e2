"""The memory of an agent made by ``create_agent``: what is said is stored, what is sent is packed."""

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langgraph.runtime import Runtime

from langchain_wmem._convert import from_langchain, to_langchain
from langchain_wmem._door import Counter, Door, Memory
from langchain_wmem._ledger import Ledgers, is_said, kept_whole, newest_human, reach, with_turns
from langchain_wmem._request import counted_by, reserve_of, schemas_of
from wmem import Context, Message
from wmem.errors import InvalidInputError

__all__ = ["WmemMiddleware"]

_CONTEXTS = 128
_NOBODY = (
    "whose session is this? pass session= to WmemMiddleware, give the runtime context a 'session_id', "
    "or run with a checkpointer and a thread_id; there is no default session"
)


class WmemMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Remembers every message of an agent's session, and sends the model what fits.

    Each model call gets a prompt of at most `budget` tokens, made of the whole stored
    session: with the system message as it is, the tools' schemas and room for the reply
    counted in. The agent's own state is never changed: no message is removed from it.

    Each message is stored once, by its id, as soon as it is said: without a checkpointer,
    hand in what is new, or the messages as the agent returned them. A run that fails or is
    interrupted loses nothing of what was said before. Put this middleware last in the
    list, so that it has the final say on what is sent.

    The session only grows: a message removed from the thread's state is still the
    session's until it is removed there, and a fork of a thread wants a session of its own.

    Args:
        memory: An open memory, sync or async, or the URL of one, opened at first use.
        agent_id: Whose memory it is; needed with a URL.
        session: The session's name, or a function of the run's `Runtime` that says it.
            By default the `session_id` of the runtime context, else the thread's id.
        budget: The ceiling in tokens for each model call, the reply included.
        reserve: Tokens kept free for the reply. By default what the model is set to
            answer at most, else what it could up to a quarter of the budget, else 1,024.
        recent: How many of the newest messages come before recalled ones.
        profile: Whose rules of order the prompt follows.
        recall: Whether older messages that bear on the newest question are quoted in a note.
        artifacts: Store the artifacts of tool results, which must be plain data then. The
            model never sees them; without, any object will do, and none is stored.
        counter: Counts tokens; only with a URL, for an open memory has its own.
        ask_model: Check each prompt with the model's own count as well. It may call
            the provider, and does so without awaiting.
        name: Tells two of these in one agent apart.

    Raises:
        InvalidInputError: No agent, or a budget or name that cannot be.
    """

    def __init__(
        self,
        memory: Memory | str,
        *,
        budget: int,
        agent_id: str | None = None,
        session: str | Callable[[Runtime[Any]], str] | None = None,
        reserve: int | None = None,
        recent: int = 4,
        profile: Literal["openai", "anthropic", "gemini"] = "openai",
        recall: bool = True,
        artifacts: bool = True,
        counter: Counter | None = None,
        ask_model: bool = False,
        name: str = "wmem",
    ) -> None:
        super().__init__()
        if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
            msg = f"budget must be a whole number of tokens of at least 1, not {budget!r}"
            raise InvalidInputError(msg)
        self.tools = []
        self._door = Door(memory, agent_id, counter)
        self._session = session
        self._budget = budget
        self._reserve = reserve
        self._options = {"recent": recent, "profile": profile}
        self._recall = recall
        self._artifacts = artifacts
        self._ask_model = ask_model
        self._name = name
        self._ledgers = Ledgers()
        self._contexts = _Contexts()

    @property
    def name(self) -> str:
        """The name under which the agent knows this middleware."""
        return self._name

    def last_context(self, session: str) -> Context | None:
        """What the newest model call of a session was sent, and why; None if it is long ago.

        Of two runs of one session at once it is the one that was packed last.
        """
        return self._contexts.get(session)

    def close(self) -> None:
        """Close the memory if this middleware opened it."""
        self._door.close()

    async def aclose(self) -> None:
        """See `close`."""
        await self._door.aclose()

    # -- what is said is stored

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        self._capture(self._session_of(runtime), state["messages"])

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        self._capture(self._session_of(runtime), state["messages"])

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        self._capture(self._session_of(runtime), state["messages"])

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        await self._acapture(self._session_of(runtime), state["messages"])

    async def aafter_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        await self._acapture(self._session_of(runtime), state["messages"])

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        await self._acapture(self._session_of(runtime), state["messages"])

    def _capture(self, session: str, messages: Sequence[BaseMessage]) -> None:
        messages = self._storable(messages)
        stored = self._door.memory().scope(session).messages
        ledger = self._ledgers.get(session)
        if ledger is None:
            ledger = self._ledgers.begin(session, stored.all(limit=reach(messages)))
        if fresh := ledger.fresh(messages):
            fresh = with_turns(fresh, messages)
            if ledger.edited(fresh):
                fresh = kept_whole(fresh, stored.all(limit=reach(messages)))
            stored.append(fresh)
            ledger.enter(fresh)

    async def _acapture(self, session: str, messages: Sequence[BaseMessage]) -> None:
        messages = self._storable(messages)
        stored = (await self._door.amemory()).scope(session).messages
        ledger = self._ledgers.get(session)
        if ledger is None:
            ledger = self._ledgers.begin(session, await stored.all(limit=reach(messages)))
        if fresh := ledger.fresh(messages):
            fresh = with_turns(fresh, messages)
            if ledger.edited(fresh):
                fresh = kept_whole(fresh, await stored.all(limit=reach(messages)))
            await stored.append(fresh)
            ledger.enter(fresh)

    def _storable(self, messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
        if self._artifacts:
            return messages
        return [
            message.model_copy(update={"artifact": None}) if isinstance(message, ToolMessage) else message
            for message in messages
        ]

    # -- what is sent is packed

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        session = self._session_of(request.runtime)
        # Results of tools, and what other middleware changed in the state, before it is sent.
        self._capture(session, request.state["messages"])
        scope = self._door.memory().scope(session)
        context = scope.pack(self._query(request.messages), **self._asked(session, request))
        self._contexts.put(session, context)
        return handler(request.override(messages=_sent(context)))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        session = self._session_of(request.runtime)
        await self._acapture(session, request.state["messages"])
        scope = (await self._door.amemory()).scope(session)
        context = await scope.pack(self._query(request.messages), **self._asked(session, request))
        self._contexts.put(session, context)
        return await handler(request.override(messages=_sent(context)))

    def _query(self, messages: Sequence[BaseMessage]) -> str | None:
        """What the newest message of a person says, which older ones are recalled for."""
        asked = messages[newest_human(messages)] if messages else None
        return str(asked.text) if self._recall and isinstance(asked, HumanMessage) else None

    def _asked(self, session: str, request: ModelRequest[Any]) -> dict[str, Any]:
        """The arguments of the pack that serves this request."""
        system = from_langchain([request.system_message])[0].text if request.system_message else ""
        return {
            **self._options,
            "budget": self._budget,
            "system": system,
            "tools": schemas_of(request),
            "reserve": reserve_of(request, self._budget) if self._reserve is None else self._reserve,
            "messages": self._live(session, request),
            "prompt_counter": counted_by(request.model) if self._ask_model else None,
        }

    def _live(self, session: str, request: ModelRequest[Any]) -> list[Message]:
        """The messages of the request that may not be stored as they are now, or not at all.

        What came before this turn is left out when each of it is stored and untouched
        since: the very object in the agent's state.
        """
        ledger = self._ledgers.get(session)
        begun = newest_human(request.messages)
        untouched = {id(message) for message in request.state["messages"]}
        past = request.messages[:begun]
        if ledger is not None and all(
            (each.id in ledger and id(each) in untouched) or not is_said(each) for each in past
        ):
            past = []
        live = [message for message in (*past, *request.messages[begun:]) if is_said(message)]
        return from_langchain(self._storable(live))

    def _session_of(self, runtime: Runtime[Any]) -> str:
        session: object = self._session
        if callable(session):
            session = session(runtime)
        elif session is None:
            given = runtime.context
            session = given.get("session_id") if isinstance(given, Mapping) else getattr(given, "session_id", None)
            if session is None and runtime.execution_info is not None and runtime.execution_info.thread_id is not None:
                # Checkpointers take numbers and UUIDs as well, and name them like this.
                session = str(runtime.execution_info.thread_id)
        if not isinstance(session, str) or not session.strip():
            raise InvalidInputError(_NOBODY)
        return session


def _sent(context: Context) -> list[Any]:
    """The packed messages and the note, without the system text, which the request carries itself."""
    prompt = list(context.prompt())
    return to_langchain(prompt[1:] if context.system else prompt)


class _Contexts:
    """The contexts packed last, one a session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_session: OrderedDict[str, Context] = OrderedDict()

    def get(self, session: str) -> Context | None:
        with self._lock:
            return self._by_session.get(session)

    def put(self, session: str, context: Context) -> None:
        with self._lock:
            self._by_session[session] = context
            self._by_session.move_to_end(session)
            while len(self._by_session) > _CONTEXTS:
                self._by_session.popitem(last=False)
