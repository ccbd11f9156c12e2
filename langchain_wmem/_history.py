"""`WmemChatMessageHistory`: a session as the chat message history of LangChain's runnables."""

import threading
from collections.abc import Sequence
from typing import Self

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, MessageLikeRepresentation
from langchain_core.runnables import ensure_config

from langchain_wmem._convert import read_message, to_langchain
from langchain_wmem._dedup import SeenMessages, append_new, is_conversation, lookback
from langchain_wmem._input import read_input
from langchain_wmem._pieces import count_pieces, whole_id
from wmem import AsyncScope, Message, Scope
from wmem.adapter import LazyMemory, Memory, Steps, arun, describe, run, to_sendable
from wmem.errors import InvalidInputError
from wmem.types import AsyncMessages, Messages


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

    Args:
        session_id: The session; there is no default.
        url: The memory's URL, opened on first use; or
        memory: an open memory, sync or async.
        agent_id: The agent that owns the memory; required with `url`.

    Raises:
        InvalidInputError: No session, no agent, or not exactly one of `url` and `memory`.
    """

    def __init__(
        self,
        session_id: str,
        *,
        url: str | None = None,
        memory: Memory | None = None,
        agent_id: str | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(session_id, str) or not session_id.strip():
            msg = (
                f"session_id must be a text that is not blank, not {describe(session_id)}; there is no default session"
            )
            raise InvalidInputError(msg)
        where = url if memory is None else memory
        if where is None or (url is not None and memory is not None):
            raise InvalidInputError("pass either url or memory: that is where the session is kept")
        self.session_id = session_id
        self._lazy_memory = LazyMemory(where, agent_id)
        # One run reads and adds in one thread, so runs in other threads cannot change its list.
        self._run_state = threading.local()

    @property
    def messages(self) -> list[BaseMessage]:
        """All messages, oldest first, in a new list; to set it replaces all of them."""
        return run(self._list(self.scope()))

    @messages.setter
    def messages(self, messages: Sequence[BaseMessage]) -> None:
        run(self._replace(self.scope(), messages))

    def add_messages(self, messages: Sequence[MessageLikeRepresentation]) -> None:
        """Store the messages that are new or edited, except wmem's own notes, and withdraw what is removed.

        Raises:
            InvalidInputError: Something that is no message, or the removal of one that is not there.
            SerializationError: A message that could not be given back unchanged; none was stored.
        """
        run(self._add(self.scope(), messages))

    def scope(self) -> Scope:
        """The session's scope, to search, pin or export what it holds, or to keep facts beside the conversation."""
        return self._lazy_memory.memory().scope(self.session_id)

    async def ascope(self) -> AsyncScope:
        """See `scope`."""
        return (await self._lazy_memory.amemory()).scope(self.session_id)

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

    def close(self) -> None:
        """Close the memory if this history opened it."""
        self._lazy_memory.close()

    async def aclose(self) -> None:
        """See `close`."""
        await self._lazy_memory.aclose()

    def _list(self, scope: Scope | AsyncScope) -> Steps[list[BaseMessage]]:
        stored: list[Message] | None = getattr(self._run_state, "messages", None) if self._is_in_run() else None
        if stored is None:
            stored = yield scope.messages.all()
            if self._is_in_run():
                self._run_state.messages = stored = to_sendable(stored)
        return to_langchain(stored)

    def _add(self, scope: Scope | AsyncScope, messages: Sequence[MessageLikeRepresentation]) -> Steps[None]:
        given, removed, removes_all = read_input(messages)
        gone: list[str] = []
        for id, must_exist in removed.items():
            pieces = yield from _find_pieces(scope.messages, id)
            if must_exist and not pieces:
                raise InvalidInputError(f"no message has the id {id!r} that is to be removed")
            gone += pieces
        stored: list[Message] = []
        if removes_all or any(message.id for message in given):
            stored = yield scope.messages.all(limit=None if removes_all else lookback(given))
        seen = SeenMessages(stored)
        fresh = seen.find_new(given, read_message, summaries=True)
        yield from append_new(scope.messages, fresh, seen, lookback(given))
        if removes_all:
            there = {message.id for message in given}
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
        self._run_state.messages = None

    def _is_in_run(self) -> bool:
        return ensure_config().get("configurable", {}).get("message_history") is self


def _find_pieces(messages: Messages | AsyncMessages, id: str) -> Steps[list[str]]:
    """The ids under which a LangChain message is stored; none if it is not."""
    stored: Message | None = yield messages.get(id)
    return [] if stored is None else [f"{id}.{at}" if at else id for at in range(count_pieces(stored))]
