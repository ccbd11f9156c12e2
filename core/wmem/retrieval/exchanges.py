"""Exchanges of a conversation: a user's message and all up to the next one of its turn or thread; long ones in parts.

A record is what a tool returned, or an assistant's message that is structured data: it holds
the facts of its exchange, and mostly not the words in which a question asks for them.
"""

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wmem.model.alternation import SYSTEM_ROLES

TOOL_RECORD, STRUCTURED_RECORD = 1, 2
_GAP_S = 4 * 3_600.0  # a longer time between two messages of a thread starts a new exchange
_MAX_MESSAGES = 64  # of an exchange: one is read whole, and a loop of an agent may go on for thousands
_MAX_OPEN = 256  # threads and turns that may go on
_STRUCTURED = re.compile(r"\A\s*(?:\{\s*[\"'}]|\[\s*[\[{\"'\d\]-])")


class Exchanges:
    """The exchange of each message, by the message's slot in the neighbour graph; slot and exchange 0 are none."""

    def __init__(self) -> None:
        self.numbers = array("I", (0,))
        """The exchange of each slot."""
        self.is_record = array("B", (0,))
        """Whether the message in the slot is a record: `TOOL_RECORD`, `STRUCTURED_RECORD`, or 0."""
        self._slots: dict[int, list[int]] = {}
        self._record_counts: dict[int, int] = {}  # of the exchanges with records
        self._open: dict[str | None, int] = {}  # the newest exchange of a thread or turn
        self._ends: dict[str | None, float] = {}  # when its last message was said
        self._count = 0

    def list_attributes(self) -> dict[str, Any]:
        """All attributes, to be stored."""
        return vars(self)

    def restore(self, attributes: Mapping[str, Any]) -> Iterator[None]:
        """Take, in steps, what `list_attributes` listed."""
        vars(self).update(attributes)
        yield

    def slots(self, exchange: int) -> Sequence[int]:
        """The slots of an exchange, in order."""
        return self._slots.get(exchange, ())

    def has_record(self, exchange: int) -> bool:
        """Whether an exchange has a record."""
        return exchange in self._record_counts

    @property
    def has_records(self) -> bool:
        """Whether any exchange has a record."""
        return bool(self._record_counts)

    def put(self, slot: int, text: str, *, role: str, begins: bool, group: str | None, at: float) -> None:
        """Add the newest message of a turn or thread; a known one is only looked at again.

        Args:
            begins: Whether it is the user's.
            group: The turn, or else the thread.
            at: UTC epoch seconds.
        """
        missing = slot + 1 - len(self.numbers)
        if missing > 0:
            self.numbers.extend([0] * missing)
            self.is_record.extend([0] * missing)
        structured = STRUCTURED_RECORD if role == "assistant" and _STRUCTURED.match(text) else 0
        before, self.is_record[slot] = self.is_record[slot], TOOL_RECORD if role == "tool" else structured
        if self.numbers[slot] or role in SYSTEM_ROLES:
            self._count_record(self.numbers[slot], bool(self.is_record[slot]) - bool(before))
            return
        exchange, end = self._open.pop(group, 0), self._ends.pop(group, at)
        is_full = len(self.slots(exchange)) >= _MAX_MESSAGES
        if begins or is_full or not exchange or abs(at - end) > _GAP_S:
            self._count += 1
            exchange = self._count
        self._open[group], self._ends[group] = exchange, at
        if len(self._open) > _MAX_OPEN:
            for each in (self._open, self._ends):
                del each[next(iter(each))]
        self.numbers[slot] = exchange
        self._slots.setdefault(exchange, []).append(slot)
        self._count_record(exchange, int(bool(self.is_record[slot])))

    def remove(self, slot: int) -> None:
        """Take a message out of its exchange."""
        if slot >= len(self.numbers) or not (exchange := self.numbers[slot]):
            return
        slots = self._slots[exchange]
        slots.remove(slot)
        if not slots:
            del self._slots[exchange]
            for group in [each for each, newest in self._open.items() if newest == exchange]:
                del self._open[group], self._ends[group]  # the name of a thread is not left behind
        self._count_record(exchange, -bool(self.is_record[slot]))
        self.numbers[slot], self.is_record[slot] = 0, 0

    def _count_record(self, exchange: int, more: int) -> None:
        if exchange and more:
            count = self._record_counts.pop(exchange, 0) + more
            if count:
                self._record_counts[exchange] = count
