"""`WmemChatMessageHistory`: a session as the chat message history of LangChain's runnables."""

import threading
from collections.abc import Iterable, Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage
from langchain_core.runnables import ensure_config

import wmem
from langchain_wmem._convert import from_langchain, to_langchain
from langchain_wmem._dedup import SeenMessages, aget_message, get_message, keep_stored_metadata, lookback
from langchain_wmem._memory import LazyMemory, Memory
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
        self._lazy_memory = LazyMemory(where, agent_id)
        # One run reads and adds in one thread, so runs in other threads cannot change its list.
        self._run_state = threading.local()

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # what is stored is not assigned to
        """All messages, oldest first, in a new list."""
        frozen = self._run_messages()
        if frozen is None:
            frozen = self._keep_for_run(self._scope().messages.all())
        return to_langchain(frozen)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store the messages that are new or edited, except wmem's own notes.

        Raises:
            InvalidInputError: Something that is no message.
            SerializationError: A message that could not be given back unchanged; none was stored.
        """
        scope = self._scope()
        given = _check_messages(messages)
        stored = scope.messages.all(limit=lookback(given)) if any(message.id for message in given) else []
        old = [found for each in _missing_ids(given, stored) if (found := get_message(scope.messages, each))]
        stored = [*stored, *old]
        if fresh := _find_new(given, stored):
            scope.messages.append(fresh)
        self._end_run()

    def clear(self) -> None:
        """Remove every message of the session."""
        self._scope().messages.clear()
        self._end_run()

    async def aget_messages(self) -> list[BaseMessage]:
        """See `messages`."""
        frozen = self._run_messages()
        if frozen is None:
            frozen = self._keep_for_run(await (await self._ascope()).messages.all())
        return to_langchain(frozen)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """See `add_messages`."""
        scope = await self._ascope()
        given = _check_messages(messages)
        stored = await scope.messages.all(limit=lookback(given)) if any(message.id for message in given) else []
        old = [found for each in _missing_ids(given, stored) if (found := await aget_message(scope.messages, each))]
        stored = [*stored, *old]
        if fresh := _find_new(given, stored):
            await scope.messages.append(fresh)
        self._end_run()

    async def aclear(self) -> None:
        """See `clear`."""
        await (await self._ascope()).messages.clear()
        self._end_run()

    def close(self) -> None:
        """Close the memory if this history opened it."""
        self._lazy_memory.close()

    async def aclose(self) -> None:
        """See `close`."""
        await self._lazy_memory.aclose()

    def _scope(self) -> wmem.Scope:
        return self._lazy_memory.memory().scope(self.session_id)

    async def _ascope(self) -> wmem.AsyncScope:
        return (await self._lazy_memory.amemory()).scope(self.session_id)

    def _run_messages(self) -> list[Message] | None:
        return getattr(self._run_state, "messages", None) if self._is_in_run() else None

    def _keep_for_run(self, messages: list[Message]) -> list[Message]:
        if self._is_in_run():
            self._run_state.messages = messages
        return messages

    def _end_run(self) -> None:
        self._run_state.messages = None

    def _is_in_run(self) -> bool:
        return ensure_config().get("configurable", {}).get("message_history") is self


def _missing_ids(given: Iterable[BaseMessage], stored: Iterable[Message]) -> list[str]:
    """Ids that are not among the newest stored messages; older ones may still have them."""
    newest = {message.id for message in stored}
    return [message.id for message in given if message.id and message.id not in newest]


def _check_messages(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """The messages as a list, each checked to be a LangChain message."""
    if isinstance(messages, BaseMessage | str) or not isinstance(messages, Iterable):
        msg = f"expected a list of LangChain messages, not {type(messages).__name__!r}"
        raise InvalidInputError(msg)
    listed = list(messages)
    if wrong := [each for each in listed if not isinstance(each, BaseMessage)]:
        msg = f"expected a LangChain message, not {type(wrong[0]).__name__!r}"
        raise InvalidInputError(msg)
    return listed


def _to_message(message: BaseMessage) -> Message:
    [read] = from_langchain([message])
    return read


def _find_new(messages: Sequence[BaseMessage], stored: Sequence[Message]) -> list[Message]:
    ledger = SeenMessages(stored)
    fresh = ledger.find_new(messages, _to_message, summaries=True)
    return keep_stored_metadata(fresh, stored) if ledger.has_edited(fresh) else fresh
