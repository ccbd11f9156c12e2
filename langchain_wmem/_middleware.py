"""The memory of an agent made by ``create_agent``: what is said is stored, what is sent is packed."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.runtime import Runtime

from langchain_wmem._contexts import Contexts
from langchain_wmem._convert import from_langchain, to_langchain
from langchain_wmem._door import Counter, Door, Memory
from langchain_wmem._ledger import (
    Ledger,
    Ledgers,
    alooked_up,
    is_said,
    kept_whole,
    looked_up,
    named,
    newest_human,
    reach,
    with_turns,
)
from langchain_wmem._lenient import read_leniently
from langchain_wmem._request import counted_by, reserve_of, schemas_of
from langchain_wmem._tries import Tries, atried, model_of, tried, tries
from langchain_wmem._whose import Path, Session, is_of_one_run, path_of
from wmem import Calibrations, Context, Message
from wmem.errors import InvalidInputError

__all__ = ["WmemMiddleware"]

_Profile: TypeAlias = Literal["openai", "anthropic", "gemini"]

_log = logging.getLogger("langchain_wmem")


class WmemMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Remembers every message of an agent's session, and sends the model what fits.

    Each model call gets a prompt of at most `budget` tokens, made of the whole stored
    session: with the system message as it is, the tools' schemas and room for the reply
    counted in. The agent's own state is never changed: no message is removed from it.

    Each message is stored once, by its id, as soon as it is said: without a checkpointer,
    hand in what is new, or the messages as the agent returned them. A run that fails or is
    interrupted loses nothing of what was said before. Put this middleware last in the
    list, so that it has the final say on what is sent. A call that the provider refuses as
    too large (`ContextOverflowError`) is tried again once, with half of the conversation.

    The state says what its messages say: one that was edited there under its id, however
    old, is updated in the session by the next run. What JSON cannot carry, such as an
    object as a tool's artifact, and what a subclass of a message is beyond its base, is
    left out of the session with a warning. A summary is stored only when nothing of what it
    covers can be: when it comes first. The session only grows: a message removed from the
    thread's state is still the session's until it is removed there, and a fork of a thread
    wants a session of its own.

    A sub-agent that runs in a tool inherits thread and context, but not the session: without
    a `session` of its own it gets a scope below its parent's for this one run, named after
    the checkpoint namespace LangGraph gives it. It reads entries and items of the
    parent's session, no messages, and what it says stays in its scope, which is disposed
    when the run ends; after a run that failed or was interrupted it stays. A sub-agent with
    ``checkpointer=True``, whose state LangGraph keeps for the thread, keeps its scope as
    well. An agent that is a node of another graph is refused unless it has a `session`:
    whether it shares the thread with the others is not for us to guess.

    Args:
        memory: An open memory, sync or async, or the URL of one, opened at first use.
        agent_id: Whose memory it is; needed with a URL.
        session: The session's name, or a function of the run's `Runtime` that says it;
            taken as it is, in a sub-agent too. By default the `session_id` of the
            runtime context, else the thread's id.
        budget: The ceiling in tokens for each model call, the reply included. From the usage
            that comes with a reply it is learned how many of wmem's tokens that is, for each
            model by its name, so that later calls stay below it in the model's tokens, too.
        reserve: Tokens kept free for the reply. By default what the model is set to
            answer at most, else what it could up to a quarter of the budget, else 1,024.
        recent: How many of the newest messages come before recalled ones.
        profile: Whose rules of order the prompt follows.
        recall: Whether older messages that bear on the newest question are quoted in a note.
        stable: Begin at the same message for many calls, with the note just before the
            newest user message: of a prompt that fills the budget two thirds and more repeat
            for a provider's cache, and without it hardly anything. Off by default, for it
            leaves recall less room: of the evidence for a question 71 % instead of 84 % is
            found at 1,024 tokens, 93 % instead of 96 % at 8,192. Large budgets want it.
        summary: Tokens set aside for a summary of what is left out, its best sentences, in
            the note; True for an eighth of the budget. Off by default, for it takes that
            room from what is recalled.
        artifacts: Store the artifacts of tool results that are plain data; the model
            never sees them.
        counter: Counts tokens; only with a URL, for an open memory has its own.
        ask_model: Check each prompt with the model's own count as well. It may call
            the provider, and does so without awaiting.
        name: Tells two of these in one agent apart.

    Raises:
        InvalidInputError: No agent, or a number, profile or name that cannot be.
    """

    def __init__(
        self,
        memory: Memory | str,
        *,
        budget: int,
        agent_id: str | None = None,
        session: Session | None = None,
        reserve: int | None = None,
        recent: int = 4,
        profile: _Profile = "openai",
        recall: bool = True,
        stable: bool = False,
        summary: bool | int = False,
        artifacts: bool = True,
        counter: Counter | None = None,
        ask_model: bool = False,
        name: str = "wmem",
    ) -> None:
        super().__init__()
        _check_number("budget", budget, 1)
        _check_number("recent", recent, 0)
        if reserve is not None:
            _check_number("reserve", reserve, 0)
        if profile not in get_args(_Profile):
            msg = f"unknown profile {profile!r:.40}; known: {', '.join(get_args(_Profile))}"
            raise InvalidInputError(msg)
        if not isinstance(stable, bool):
            msg = f"stable must be True or False, not {stable!r:.40}"
            raise InvalidInputError(msg)
        if not isinstance(summary, bool):
            _check_number("summary", summary, 0)
        if not isinstance(name, str) or not name.strip():
            msg = f"name must be a text that is not blank, not {name!r:.40}"
            raise InvalidInputError(msg)
        self.tools = []
        self._door = Door(memory, agent_id, counter)
        self._session = session
        self._budget = budget
        self._reserve = reserve
        self._options = {"recent": recent, "profile": profile, "stable": stable, "summary": summary}
        self._recall = recall
        self._artifacts = artifacts
        self._ask_model = ask_model
        self._name = name
        self._ledgers = Ledgers()
        self._contexts = Contexts()
        self._calibrations = Calibrations()

    @property
    def name(self) -> str:
        """The name under which the agent knows this middleware."""
        return self._name

    def last_context(self, session: str, *below: str) -> Context | None:
        """What the newest model call of a session was sent, and why; None if it is long ago.

        Of two runs of one session at once it is the one that was packed last.

        Args:
            below: The names of the scopes that lead to a sub-agent's.
        """
        return self._contexts.get((session, *below))

    @property
    def calibrations(self) -> Calibrations:
        """What usage told of each model's count; of this middleware alone, and gone with it."""
        return self._calibrations

    def close(self) -> None:
        """Close the memory if this middleware opened it."""
        self._door.close()

    async def aclose(self) -> None:
        """See `close`."""
        await self._door.aclose()

    # -- what is said is stored

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        # Between two runs anything may have been edited, even in place; within one only by new objects.
        self._capture(path_of(self._session, runtime), state["messages"], trust_objects=False)

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        self._capture(path_of(self._session, runtime), state["messages"])

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        path = path_of(self._session, runtime)
        if is_of_one_run(path):
            self._door.memory().scope(*path).dispose(purge=False)
            self._ledgers.forget(path)
        else:
            self._capture(path, state["messages"])

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        await self._acapture(path_of(self._session, runtime), state["messages"], trust_objects=False)

    async def aafter_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        await self._acapture(path_of(self._session, runtime), state["messages"])

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        path = path_of(self._session, runtime)
        if is_of_one_run(path):
            await (await self._door.amemory()).scope(*path).dispose(purge=False)
            self._ledgers.forget(path)
        else:
            await self._acapture(path, state["messages"])

    def _capture(self, path: Path, messages: Sequence[BaseMessage], *, trust_objects: bool = True) -> None:
        messages = named(messages)
        stored = self._door.memory().scope(*path).messages
        ledger = self._ledgers.get(path)
        if ledger is None:
            ledger = self._ledgers.begin(path, stored.all(limit=reach(messages)))
        if fresh := ledger.fresh(messages, partial(self._read, ledger), trust_objects=trust_objects):
            fresh = with_turns(fresh, messages)
            old = [found for each in ledger.unknown(fresh) if (found := looked_up(stored, each))]
            if old or ledger.edited(fresh):
                fresh = kept_whole(fresh, [*stored.all(limit=reach(messages)), *old])
            stored.append(fresh)
            ledger.enter(fresh)

    async def _acapture(self, path: Path, messages: Sequence[BaseMessage], *, trust_objects: bool = True) -> None:
        messages = named(messages)
        stored = (await self._door.amemory()).scope(*path).messages
        ledger = self._ledgers.get(path)
        if ledger is None:
            ledger = self._ledgers.begin(path, await stored.all(limit=reach(messages)))
        if fresh := ledger.fresh(messages, partial(self._read, ledger), trust_objects=trust_objects):
            fresh = with_turns(fresh, messages)
            old = [found for each in ledger.unknown(fresh) if (found := await alooked_up(stored, each))]
            if old or ledger.edited(fresh):
                fresh = kept_whole(fresh, [*await stored.all(limit=reach(messages)), *old])
            await stored.append(fresh)
            ledger.enter(fresh)

    def _read(self, ledger: Ledger, given: BaseMessage) -> Message:
        message, left_out = read_leniently(given, artifacts=self._artifacts)
        if left_out and message.id not in ledger:
            _log.warning(
                "Left %s of %s message %s out of the session: only plain data can be stored",
                ", ".join(left_out),
                given.type,
                given.id,
            )
        return message

    # -- what is sent is packed

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        path = path_of(self._session, request.runtime)
        # Results of tools, and what other middleware changed in the state, before it is sent.
        self._capture(path, request.state["messages"])
        scope = self._door.memory().scope(*path)
        query, asked = self._query(request.messages), self._asked(path, request)

        def pack(budget: int) -> Context:
            return self._contexts.put(path, scope.pack(query, budget=budget, **asked))

        def send(context: Context) -> ModelResponse[Any]:
            return handler(request.override(messages=_sent(context)))

        return tried(self._tries(request, asked["reserve"]), pack, send)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        path = path_of(self._session, request.runtime)
        await self._acapture(path, request.state["messages"])
        scope = (await self._door.amemory()).scope(*path)
        query, asked = self._query(request.messages), self._asked(path, request)

        async def pack(budget: int) -> Context:
            return self._contexts.put(path, await scope.pack(query, budget=budget, **asked))

        async def send(context: Context) -> ModelResponse[Any]:
            return await handler(request.override(messages=_sent(context)))

        return await atried(self._tries(request, asked["reserve"]), pack, send)

    def _tries(self, request: ModelRequest[Any], reserve: int) -> Tries:
        return tries(self._calibrations, model_of(request), limit=self._budget, reserve=reserve)

    def _query(self, messages: Sequence[BaseMessage]) -> str | None:
        """What the newest message of a person says, which older ones are recalled for."""
        asked = messages[newest_human(messages)] if messages else None
        return str(asked.text) if self._recall and isinstance(asked, HumanMessage) else None

    def _asked(self, path: Path, request: ModelRequest[Any]) -> dict[str, Any]:
        """The arguments of the pack that serves this request, but for its budget."""
        system = from_langchain([request.system_message])[0].text if request.system_message else ""
        return {
            **self._options,
            "system": system,
            "tools": schemas_of(request),
            "reserve": reserve_of(request, self._budget) if self._reserve is None else self._reserve,
            "messages": self._live(path, request),
            "prompt_counter": counted_by(request.model) if self._ask_model else None,
        }

    def _live(self, path: Path, request: ModelRequest[Any]) -> list[Message]:
        """The messages of the request that may not be stored as they are now, or not at all.

        What came before this turn is left out when each of it is stored and untouched
        since: the very object in the agent's state.
        """
        ledger = self._ledgers.get(path)
        messages = named(request.messages)
        begun = newest_human(messages)
        untouched = {id(message) for message in request.state["messages"]}
        past = messages[:begun]
        if ledger is not None and all(
            (each.id in ledger and id(each) in untouched) or not is_said(each) for each in past
        ):
            past = []
        live = [message for message in (*past, *messages[begun:]) if is_said(message)]
        return [read_leniently(message, artifacts=self._artifacts).message for message in live]


def _check_number(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        msg = f"{name} must be a whole number of at least {least}, not {value!r:.40}"
        raise InvalidInputError(msg)


def _sent(context: Context) -> list[Any]:
    """The packed messages and the note, without the system text, which the request carries itself."""
    prompt = list(context.prompt())
    return to_langchain(prompt[1:] if context.system else prompt)
