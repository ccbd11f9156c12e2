"""The conversation of a scope: messages in journal order, never evicted."""

from collections.abc import Callable, Sequence
from typing import overload

from wmem.model.checks import check_id, check_limit
from wmem.model.message import Message
from wmem.scope.erasure import clear
from wmem.scope.handle import Handle
from wmem.scope.messages import flows
from wmem.scope.messages.flows import MessageInput
from wmem.scope.ports import Drive, RunRead


class MessageReads:
    """Reads of a conversation, independent of how a read is run."""

    __slots__ = ("_check_intact", "_run")

    def __init__(self, run_read: RunRead, check_intact: Callable[[], None]) -> None:
        self._run = run_read
        self._check_intact = check_intact

    def all(self, limit: int | None = None, *, before: str | None = None) -> list[Message]:
        """The messages, oldest first; with a limit, only the newest ones.

        The page before is ``all(limit=100, before=page[0].id)``. A page takes as long whether it is the first or the
        thousandth, and what is appended meanwhile is in none of those before.

        Args:
            limit: How many at most, None for all.
            before: The id of a message: only those before it. That message may be withdrawn or gone.

        Raises:
            NotFoundError: Nothing is known of the message with the id `before`; see `ItemReads.all`.
        """
        return self._run(
            flows.list_messages(
                None if limit is None else check_limit(limit), None if before is None else check_id(before)
            )
        )

    def get(self, id: str) -> Message | None:  # the field's own name
        """The message with an id, also one that was withdrawn; None if there is none."""
        found: Message | None = self._run(flows.find_message(check_id(id)))
        if found is None:
            self._check_intact()
        return found

    def withdrawn(self) -> list[Message]:
        """The messages that were withdrawn, oldest first."""
        return self._run(flows.list_withdrawn)

    def turns(self) -> list[list[Message]]:
        """The messages grouped by `turn_id`; without one, from one user message to the next."""
        return flows.group_by_turn(self.all())

    def count(self) -> int:
        """How many messages there are."""
        return self._run(flows.count_messages)


class Messages(MessageReads):
    """The conversation of one scope; messages leave it only by `remove`, `pop`, `replace`, `clear` and `withdraw`."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Drive) -> None:
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
        return self._drive(flows.pop(self._handle))

    def remove(self, id: str) -> bool:  # the field's own name
        """Remove a message; False when it does not exist."""
        return self._drive(flows.remove(self._handle, id))

    def withdraw(self, *ids: str) -> int:
        """Take messages back: they stay stored, but no list, search, recall or pack has them.

        What a thread left behind when it was forked or an answer was regenerated is withdrawn.
        Withdrawn messages come back, in their places, when they are restored or appended again;
        `clear` and `replace` remove them as well.

        Returns:
            How many were withdrawn; what is not in the conversation is passed over.

        Raises:
            InvalidInputError: Something is no id.
        """
        return self._drive(flows.withdraw(self._handle, ids))

    def restore(self, *ids: str) -> int:
        """Bring withdrawn messages back into the conversation, in their places; returns how many.

        Raises:
            InvalidInputError: Something is no id.
        """
        return self._drive(flows.restore(self._handle, ids))

    def move_to_end(self, *ids: str) -> int:
        """Put messages after all others, in this order, as a framework has them now; all or none move.

        Returns:
            How many are there; what is not in the conversation is passed over.

        Raises:
            InvalidInputError: Something is no id.
        """
        return self._drive(flows.move_to_end(self._handle, ids))

    def clear(self) -> int:
        """Remove all messages; returns how many there were."""
        return self._drive(clear(self._handle, "messages"))
