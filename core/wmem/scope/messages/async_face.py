# Generated from core/wmem/scope/messages/face.py by `make generate` (scripts/generate_async.py); do not edit.
"""Async twin of `wmem.scope.messages.face`."""

from collections.abc import Callable, Sequence
from typing import overload

from wmem.model.checks import check_id, check_limit
from wmem.model.message import Message
from wmem.scope.erasure import clear
from wmem.scope.handle import Handle
from wmem.scope.messages import flows
from wmem.scope.messages.flows import MessageInput
from wmem.scope.ports import AsyncDrive, AsyncRunRead


class AsyncMessageReads:
    """See `MessageReads`."""

    __slots__ = ("_check_intact", "_run")

    def __init__(self, run_read: AsyncRunRead, check_intact: Callable[[], None]) -> None:
        self._run = run_read
        self._check_intact = check_intact

    async def all(self, limit: int | None = None, *, before: str | None = None) -> list[Message]:
        """See `MessageReads.all`."""
        return await self._run(
            flows.list_messages(
                None if limit is None else check_limit(limit), None if before is None else check_id(before)
            )
        )

    async def get(self, id: str) -> Message | None:  # the field's own name
        """See `MessageReads.get`."""
        found: Message | None = await self._run(flows.find_message(check_id(id)))
        if found is None:
            self._check_intact()
        return found

    async def withdrawn(self) -> list[Message]:
        """See `MessageReads.withdrawn`."""
        return await self._run(flows.list_withdrawn)

    async def turns(self) -> list[list[Message]]:
        """See `MessageReads.turns`."""
        return flows.group_by_turn(await self.all())

    async def count(self) -> int:
        """See `MessageReads.count`."""
        return await self._run(flows.count_messages)


class AsyncMessages(AsyncMessageReads):
    """See `Messages`."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: AsyncDrive) -> None:
        super().__init__(
            lambda read: drive(handle.read(read, local_only=True)), lambda: handle.check_intact(local_only=True)
        )
        self._handle = handle
        self._drive = drive

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
        return await self._drive(flows.pop(self._handle))

    async def remove(self, id: str) -> bool:  # the field's own name
        """See `Messages.remove`."""
        return await self._drive(flows.remove(self._handle, id))

    async def withdraw(self, *ids: str) -> int:
        """See `Messages.withdraw`."""
        return await self._drive(flows.withdraw(self._handle, ids))

    async def restore(self, *ids: str) -> int:
        """See `Messages.restore`."""
        return await self._drive(flows.restore(self._handle, ids))

    async def move_to_end(self, *ids: str) -> int:
        """See `Messages.move_to_end`."""
        return await self._drive(flows.move_to_end(self._handle, ids))

    async def clear(self) -> int:
        """See `Messages.clear`."""
        return await self._drive(clear(self._handle, "messages"))
