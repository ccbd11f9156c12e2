"""`WmemChatMessageHistory`: a session as the chat message history of LangChain's runnables."""

import threading
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, MessageLikeRepresentation
from langchain_core.runnables import Runnable, ensure_config

from langchain_wmem._convert import read_message, to_langchain
from langchain_wmem._dedup import MIN_LOOKBACK, SeenMessages, append_new, is_conversation, lookback
from langchain_wmem._input import read_input
from langchain_wmem._pieces import whole_id
from langchain_wmem._shortening import find_pieces, leave_out_cut, mark_cut
from langchain_wmem._summarizer import to_summarizer
from wmem import AsyncScope, Context, Features, Gate, Message, Redaction, Scope, Summarizer
from wmem.adapter import (
    LazyMemory,
    LongTerm,
    LongTermChoice,
    Memory,
    SessionName,
    Steps,
    TurnPrompts,
    arun,
    check_count,
    check_flag,
    check_registered,
    end_turn,
    run,
    to_sendable,
    to_session_path,
)
from wmem.errors import InvalidInputError
from wmem.types import SummarizerFunction


class _View(NamedTuple):
    """What `messages` are during a run.

    Attributes:
        cut: Ids of LangChain's messages that differ from those stored.
    """

    messages: list[Message]
    cut: frozenset[str | None] = frozenset()


class WmemChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session as LangChain messages.

    Adding is idempotent by message id: of a list that begins with known history only
    the new messages are added, and a message that changed under its id is updated in
    place. Messages without an id are always new; they come back with an id.

    Inside a run of `RunnableWithMessageHistory` the messages stay as first read until
    that run adds its own, because it relies on reading the same list twice. Make one
    history for each run, as its factory does; all of one URL share one engine. What it
    reads there goes to a model, so a lone surrogate is replaced in it.

    It takes messages in every form that LangChain does, texts, pairs and dictionaries too, and
    its `RemoveMessage`: what is removed is withdrawn, so it is stored, but in no list and no
    prompt until it is added again. `clear` and setting `messages` remove for good.
    As a context manager it closes the memory that it opened.

    With a `budget`, `messages` are those that fit, as a pack chooses them: the newest, and a note that
    quotes what bears on the newest question stored, since the next one is not known to a history.
    `all_messages` are still all of them. A message that was cut to fit may be handed back: it is not
    taken for an edit of what is stored.

    A pickle or a deep copy is the same session. No password, key, client or embedder is pickled:
    a history that needs one is made with `store`, or its pickles only work where its memory is
    open; elsewhere their first use raises `InvalidInputError`.

    Args:
        session_id: The session: its name, or the names of a nested one, as ``("user-7", "chat-3")``; there is
            no default.
        url: The memory's URL, opened on first use; or
        memory: an open memory, sync or async; or
        store: the name under which its opener is registered with `wmem.register`.
        agent_id: The agent that owns the memory; required with `url`.
        budget: The ceiling in tokens for `messages`; what else a chain sends, it sends beside them.
        recall: Whether the note quotes older messages; without a budget there is none.
        long_term: Whether the note draws on long-term memory, or the scopes that share theirs: see `WmemMiddleware`.
        features: What the memory may use; only with a URL: see `wmem.open`.
        redaction: What of it is redacted; only with a URL: see `wmem.open`.
        gate: What an item must have to enter it; only with a URL: see `wmem.open`.
        enable_skill_extraction: Whether maintenance makes skills of tool calls; only with a URL.
        summarizer: Summarizes sessions, as a model of LangChain or what `wmem.open` takes; only with a URL.

    Raises:
        InvalidInputError: No session, no agent, an invalid budget, an unknown `store`, or not exactly one of
            `url`, `memory` and `store`.
    """

    def __init__(
        self,
        session_id: SessionName,
        *,
        url: str | None = None,
        memory: Memory | None = None,
        store: str | None = None,
        agent_id: str | None = None,
        budget: int | None = None,
        recall: bool = True,
        long_term: LongTerm = True,
        features: Features | None = None,
        redaction: Redaction | None = None,
        gate: Gate | None = None,
        enable_skill_extraction: bool = True,
        summarizer: Summarizer | SummarizerFunction | Runnable[Any, Any] | None = None,
    ) -> None:
        super().__init__()
        self._path = to_session_path(session_id, "session_id")
        if [url, memory, store].count(None) != 2:  # noqa: PLR2004  # one of three is left
            raise InvalidInputError("pass one of url, memory and store: that is where the session is kept")
        if store is not None:
            check_registered(store)
        if budget is not None:
            check_count(budget, "budget", 1)
        check_flag(recall, "recall")
        self.session_id: SessionName = session_id if isinstance(session_id, str) else self._path
        self._budget, self._recall, self._long_term = budget, recall, LongTermChoice.read(long_term)
        self._lazy_memory = LazyMemory(
            url if memory is None else memory,
            agent_id,
            features=features,
            redaction=redaction,
            gate=gate,
            enable_skill_extraction=enable_skill_extraction,
            summarizer=to_summarizer(summarizer),
            store=store,
        )
        # One run reads and adds in one thread, so runs in other threads cannot change its list.
        self._run_state = threading.local()
        self._prompts = TurnPrompts()

    @property
    def messages(self) -> list[BaseMessage]:
        """All messages, or those that fit the budget, oldest first, in a new list; to set it replaces all of them."""
        return run(self._list(self.scope()))

    @messages.setter
    def messages(self, messages: Sequence[BaseMessage]) -> None:
        run(self._replace(self.scope(), messages))

    def all_messages(self) -> list[BaseMessage]:
        """All messages, whatever the budget, oldest first, in a new list."""
        return to_langchain(self.scope().messages.all())

    async def aall_messages(self) -> list[BaseMessage]:
        """See `all_messages`."""
        return to_langchain(await (await self.ascope()).messages.all())

    def add_messages(self, messages: Sequence[MessageLikeRepresentation]) -> None:
        """Store the messages that are new or edited, except wmem's own notes, and withdraw what is removed.

        Raises:
            InvalidInputError: Something that is no message, or the removal of one that is not there.
            SerializationError: A message that could not be given back unchanged; none was stored.
        """
        run(self._add(self.scope(), messages))

    def scope(self) -> Scope:
        """The session's scope, to search, pin or export what it holds, or to keep facts beside the conversation."""
        return self._long_term.share(self._lazy_memory.memory().scope(*self._path))

    async def ascope(self) -> AsyncScope:
        """See `scope`."""
        return self._long_term.share((await self._lazy_memory.amemory()).scope(*self._path))

    def clear(self) -> None:
        """Remove every message of the session."""
        self.scope().messages.clear()
        self._end_run()

    async def aget_messages(self) -> list[BaseMessage]:
        """See `messages`."""
        return await arun(self._list(await self.ascope()))

    async def aadd_messages(self, messages: Sequence[MessageLikeRepresentation]) -> None:
        """See `add_messages`."""
        await arun(self._add(await self.ascope(), messages))

    async def aclear(self) -> None:
        """See `clear`."""
        await (await self.ascope()).messages.clear()
        self._end_run()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.session_id!r}>"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_run_state"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._run_state = threading.local()

    def __copy__(self) -> Self:
        """Another history of the same session, with its own handle on the store."""
        made = type(self).__new__(type(self))
        made.__setstate__({**self.__getstate__(), "_lazy_memory": copy(self._lazy_memory)})
        return made

    def __deepcopy__(self, memo: object) -> Self:
        return self.__copy__()

    def close(self) -> None:
        """Close the memory if this history opened it."""
        self._lazy_memory.close()

    async def aclose(self) -> None:
        """See `close`."""
        await self._lazy_memory.aclose()

    def _list(self, scope: Scope | AsyncScope) -> Steps[list[BaseMessage]]:
        view: _View | None = getattr(self._run_state, "view", None) if self._is_in_run() else None
        if view is None:
            view = yield from self._fit(scope)
            if self._is_in_run():
                self._run_state.view = view = view._replace(messages=to_sendable(view.messages))
        return [mark_cut(each) if each.id in view.cut else each for each in to_langchain(view.messages)]

    def _fit(self, scope: Scope | AsyncScope) -> Steps["_View"]:
        """All messages, or those that fit the budget."""
        if self._budget is None:
            return _View((yield scope.messages.all()))
        newest: list[Message] = yield scope.messages.all(limit=MIN_LOOKBACK)
        questions = (message.text for message in reversed(newest) if message.role == "user")
        query = next(questions, None) if self._recall else None
        context: Context = yield scope.pack(
            query, budget=self._budget, reasoning="all", long_term=self._long_term.is_on
        )
        self._prompts.add(scope, context)
        cut: set[str | None] = set()
        for message in (prompt := list(context.prompt())):
            if message.id is not None and not message.recalled:
                stored: Message | None = yield scope.messages.get(message.id)
                if stored is None or _says(stored) != _says(message):
                    cut.add(whole_id(message))
        return _View(prompt, frozenset(cut))

    def _add(self, scope: Scope | AsyncScope, messages: Sequence[MessageLikeRepresentation]) -> Steps[None]:
        handed, removed, removes_all = read_input(messages)
        given = yield from leave_out_cut(scope.messages, handed)
        gone: list[str] = []
        for id, must_exist in removed.items():
            pieces = yield from find_pieces(scope.messages, id)
            if must_exist and not pieces:
                raise InvalidInputError(f"no message has the id {id!r} that is to be removed")
            gone += pieces
        stored: list[Message] = []
        if removes_all or any(message.id for message in given):
            stored = yield scope.messages.all(limit=None if removes_all else lookback(given))
        seen = SeenMessages(stored)
        fresh = seen.find_new(given, read_message, summaries=True)
        added = yield from append_new(scope.messages, fresh, seen, lookback(given))
        yield from end_turn(scope, added, self._prompts)
        if removes_all:
            there = {message.id for message in handed}
            gone = [each.id for each in stored if each.id is not None and whole_id(each) not in there]
        if gone:  # last: if storing fails, nothing is taken away
            yield scope.messages.withdraw(*gone)
        self._end_run()

    def _replace(self, scope: Scope | AsyncScope, messages: Sequence[BaseMessage]) -> Steps[None]:
        given = read_input(messages).messages
        made = [piece for message in given if is_conversation(message) for piece in read_message(message)]
        yield scope.messages.replace(made)
        self._end_run()

    def _end_run(self) -> None:
        self._run_state.view = None

    def _is_in_run(self) -> bool:
        return ensure_config().get("configurable", {}).get("message_history") is self


def _says(message: Message) -> tuple[object, ...]:
    return message.role, message.parts, message.tool_calls, message.tool_call_id, message.name
