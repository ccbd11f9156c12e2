"""The conversation of a scope: messages in journal order, never evicted; sync and async."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, overload

from wmem.flow import Flow
from wmem.model.checks import check_id, check_limit
from wmem.model.message import Message
from wmem.scope.erasure import clear
from wmem.scope.handle import Handle, Read
from wmem.scope.messages import flows
from wmem.scope.messages.flows import MessageInput

__all__ = ["AsyncMessages", "MessageReads", "Messages"]

R = TypeVar("R")


class MessageReads:
    """Reads of a conversation, independent of how a read is run."""

    __slots__ = ("_check_intact", "_run")

    def __init__(self, run: Callable[[Read[Any]], Any], check_intact: Callable[[], None]) -> None:
        self._run = run
        self._check_intact = check_intact

    def all(self, limit: int | None = None) -> list[Message]:
        """The messages, oldest first; with a limit, only the newest ones."""
        found: list[Message] = self._run(flows.list_messages(None if limit is None else check_limit(limit)))
        return found

    def get(self, id: str) -> Message | None:  # the field's own name
        """The message with an id, or None."""
        found: Message | None = self._run(flows.find_message(check_id(id)))
        if found is None:
            self._check_intact()
        return found

    def turns(self) -> list[list[Message]]:
        """The messages grouped by `turn_id`; without one, from one user message to the next."""
        return flows.group_by_turn(self.all())

    def count(self) -> int:
        """How many messages there are."""
        count: int = self._run(flows.count_messages)
        return count


class Messages(MessageReads):
    """The conversation of one scope; messages leave it only by `remove`, `pop`, `replace` and `clear`."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Any]) -> None:
        super().__init__(
            lambda read: drive(handle.read(read, local_only=True)), lambda: handle.check_intact(local_only=True)
        )
        self._handle = handle
        self._drive = drive

    @overload
    def append(self, messages: MessageInput) -> Message: ...
    @overload
    def append(self, messages: Sequence[MessageInput]) -> list[Message]: ...
    def append(self, messages: MessageInput | Sequence[MessageInput]) -> Message | list[Message]:
        """Store one message or several, all or none; a message with an existing id is updated in place.

        Recalled text that `pack` added is not stored again.

        Returns:
            The same messages, each with its stored id and time; recalled notes are returned as given.

        Raises:
            InvalidInputError: Something is not a message; nothing was stored.
        """
        said, rows, now = flows.prepare_messages(self._handle, messages)
        return flows.with_stored_ids(said, self._drive(flows.append(self._handle, rows, now)), messages)

    def replace(self, messages: Sequence[MessageInput]) -> None:
        """Replace the whole conversation, atomically."""
        _, rows, now = flows.prepare_messages(self._handle, messages)
        self._drive(flows.replace(self._handle, rows, now))

    def pop(self) -> Message | None:
        """Remove and return the newest message; concurrent callers each get a different one."""
        popped: Message | None = self._drive(flows.pop(self._handle))
        return popped

    def remove(self, id: str) -> bool:  # the field's own name
        """Remove a message; False when it does not exist."""
        removed: bool = self._drive(flows.remove(self._handle, id))
        return removed

    def clear(self) -> int:
        """Remove all messages; returns how many there were."""
        count: int = self._drive(clear(self._handle, "messages"))
        return count


class AsyncMessages:
    """See `Messages`."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        self._handle = handle
        self._drive = drive

    async def _read(self, read: Read[R]) -> R:
        result: R = await self._drive(self._handle.read(read, local_only=True))
        return result

    async def all(self, limit: int | None = None) -> list[Message]:
        """See `MessageReads.all`."""
        return await self._read(flows.list_messages(None if limit is None else check_limit(limit)))

    async def get(self, id: str) -> Message | None:  # the field's own name
        """See `MessageReads.get`."""
        found = await self._read(flows.find_message(check_id(id)))
        if found is None:
            self._handle.check_intact(local_only=True)
        return found

    async def turns(self) -> list[list[Message]]:
        """See `MessageReads.turns`."""
        return flows.group_by_turn(await self.all())

    async def count(self) -> int:
        """See `MessageReads.count`."""
        return await self._read(flows.count_messages)

    @overload
    async def append(self, messages: MessageInput) -> Message: ...
    @overload
    async def append(self, messages: Sequence[MessageInput]) -> list[Message]: ...
    async def append(self, messages: MessageInput | Sequence[MessageInput]) -> Message | list[Message]:
        """See `Messages.append`."""
        said, rows, now = flows.prepare_messages(self._handle, messages)
        return flows.with_stored_ids(said, await self._drive(flows.append(self._handle, rows, now)), messages)

    async def replace(self, messages: Sequence[MessageInput]) -> None:
        """See `Messages.replace`."""
        _, rows, now = flows.prepare_messages(self._handle, messages)
        await self._drive(flows.replace(self._handle, rows, now))

    async def pop(self) -> Message | None:
        """See `Messages.pop`."""
        popped: Message | None = await self._drive(flows.pop(self._handle))
        return popped

    async def remove(self, id: str) -> bool:  # the field's own name
        """See `Messages.remove`."""
        removed: bool = await self._drive(flows.remove(self._handle, id))
        return removed

    async def clear(self) -> int:
        """See `Messages.clear`."""
        count: int = await self._drive(clear(self._handle, "messages"))
        return count
