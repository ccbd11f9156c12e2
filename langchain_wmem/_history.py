"""`WmemChatMessageHistory`: a session as the chat message history of LangChain's runnables."""

import threading
from collections.abc import Iterable, Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage
from langchain_core.runnables import ensure_config

import wmem
from langchain_wmem._convert import from_langchain, to_langchain
from langchain_wmem._door import Door, Memory
from langchain_wmem._ledger import Ledger, alooked_up, kept_whole, looked_up, reach
from wmem import Message
from wmem.errors import InvalidInputError

__all__ = ["WmemChatMessageHistory"]


class WmemChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session as LangChain messages.

    Adding is idempotent by message id: of a list that begins with known history only
    the new messages are added, and a message that changed under its id is updated in
    place. Messages without an id are always new; they come back with an id.

    Inside a run of `RunnableWithMessageHistory` the messages stay as first read until
    that run adds its own, because it relies on reading the same list twice. Make one
    history for each run, as its factory does; all of one URL share one engine.

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
            msg = f"session_id must be a text that is not blank, not {session_id!r}; there is no default session"
            raise InvalidInputError(msg)
        where = url if memory is None else memory
        if where is None or (url is not None and memory is not None):
            msg = "pass either url or memory: that is where the session is kept"
            raise InvalidInputError(msg)
        self.session_id = session_id
        self._door = Door(where, agent_id)
        # One run reads and adds in one thread, so runs in other threads cannot change its list.
        self._run = threading.local()

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # what is stored is not assigned to
        """All messages, oldest first, in a new list."""
        frozen = self._frozen()
        if frozen is None:
            frozen = self._froze(self._scope().messages.all())
        return to_langchain(frozen)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store the messages that are new or edited, except wmem's own notes.

        Raises:
            InvalidInputError: Something that is no message.
            SerializationError: A message that could not be given back unchanged; none was stored.
        """
        scope = self._scope()
        given = _listed(messages)
        stored = scope.messages.all(limit=reach(given)) if any(message.id for message in given) else []
        old = [found for each in _beyond(given, stored) if (found := looked_up(scope.messages, each))]
        stored = [*stored, *old]
        if fresh := _fresh(given, stored):
            scope.messages.append(fresh)
        self._thaw()

    def clear(self) -> None:
        """Remove every message of the session."""
        self._scope().messages.clear()
        self._thaw()

    async def aget_messages(self) -> list[BaseMessage]:
        """See `messages`."""
        frozen = self._frozen()
        if frozen is None:
            frozen = self._froze(await (await self._ascope()).messages.all())
        return to_langchain(frozen)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """See `add_messages`."""
        scope = await self._ascope()
        given = _listed(messages)
        stored = await scope.messages.all(limit=reach(given)) if any(message.id for message in given) else []
        old = [found for each in _beyond(given, stored) if (found := await alooked_up(scope.messages, each))]
        stored = [*stored, *old]
        if fresh := _fresh(given, stored):
            await scope.messages.append(fresh)
        self._thaw()

    async def aclear(self) -> None:
        """See `clear`."""
        await (await self._ascope()).messages.clear()
        self._thaw()

    def close(self) -> None:
        """Close the memory if this history opened it."""
        self._door.close()

    async def aclose(self) -> None:
        """See `close`."""
        await self._door.aclose()

    def _scope(self) -> wmem.Scope:
        return self._door.memory().scope(self.session_id)

    async def _ascope(self) -> wmem.AsyncScope:
        return (await self._door.amemory()).scope(self.session_id)

    def _frozen(self) -> list[Message] | None:
        return getattr(self._run, "messages", None) if self._in_a_run() else None

    def _froze(self, messages: list[Message]) -> list[Message]:
        if self._in_a_run():
            self._run.messages = messages
        return messages

    def _thaw(self) -> None:
        self._run.messages = None

    def _in_a_run(self) -> bool:
        return ensure_config().get("configurable", {}).get("message_history") is self


def _beyond(given: Iterable[BaseMessage], stored: Iterable[Message]) -> list[str]:
    """Ids that are not among the newest stored messages; older ones may still have them."""
    newest = {message.id for message in stored}
    return [message.id for message in given if message.id and message.id not in newest]


def _listed(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """The messages as a list, each checked to be a LangChain message."""
    if isinstance(messages, BaseMessage | str) or not isinstance(messages, Iterable):
        msg = f"expected a list of LangChain messages, not {type(messages).__name__!r}"
        raise InvalidInputError(msg)
    listed = list(messages)
    if wrong := [each for each in listed if not isinstance(each, BaseMessage)]:
        msg = f"expected a LangChain message, not {type(wrong[0]).__name__!r}"
        raise InvalidInputError(msg)
    return listed


def _read(message: BaseMessage) -> Message:
    [read] = from_langchain([message])
    return read


def _fresh(messages: Sequence[BaseMessage], stored: Sequence[Message]) -> list[Message]:
    ledger = Ledger(stored)
    fresh = ledger.fresh(messages, _read, summaries=True)
    return kept_whole(fresh, stored) if ledger.edited(fresh) else fresh
