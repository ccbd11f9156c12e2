"""Exchanges of a conversation: a user's message and all up to the next one of its turn or thread; long ones in parts.

Where one begins depends on a message and the few before it alone, so that what is edited, removed or brought back
leaves the exchanges that the conversation has as it is now. A call and the results that follow it are in one part.

A record is what a tool returned, or an assistant's message that is structured data: it holds the facts of its
exchange, and mostly not the words in which a question asks for them.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wmem.model.alternation import SYSTEM_ROLES

TOOL_RECORD, STRUCTURED_RECORD = 1, 2
_GAP_S = 4 * 3_600.0  # a longer time between two messages of a thread starts a new exchange
_LONG = (
    48  # messages after which an exchange has parts: one is read whole, and a loop of an agent may go on for thousands
)
_UNKNOWN = 255
_BEGINS, _CUTS, _IS_RESULT, _HAS_CALLS = 1, 2, 4, 8
_STRUCTURED = re.compile(r"\A\s*(?:\{\s*[\"'}]|\[\s*[\[{\"'\d\]-])")


class Position(NamedTuple):
    """Where a message stands among others.

    Attributes:
        number: Larger for later messages.
        numbers: Those of the others, by slot.
    """

    number: int
    numbers: Sequence[int]


class Exchanges:
    """The exchange of each message, by the message's slot in the neighbour graph; slot and exchange 0 are none."""

    def __init__(self) -> None:
        self.numbers = array("I", (0,))
        """The exchange of each slot."""
        self.is_record = array("B", (0,))
        """Whether the message in the slot is a record: `TOOL_RECORD`, `STRUCTURED_RECORD`, or 0."""
        self._kinds = array("B", (0,))  # of messages, as sums of `_BEGINS`, `_CUTS`, `_IS_RESULT` and `_HAS_CALLS`
        self._times = array("d", (0.0,))
        self._depths = array("B", (0,))  # messages before it in its exchange, whatever the parts; `_LONG` for more
        self._slots: dict[int, list[int]] = {}
        self._record_counts: dict[int, int] = {}  # of the exchanges with records
        self._groups: dict[int, str | None] = {}  # the turn or thread of each exchange
        self._newest: dict[str | None, int] = {}  # the newest exchange of each
        self._before: dict[int, int] = {}  # the exchange before another in its group
        self._after: dict[int, int] = {}
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

    def put(
        self,
        slot: int,
        text: str,
        *,
        role: str,
        begins: bool,
        group: str | None,
        at: float,
        has_calls: bool = False,
        cuts: bool = False,
        position: Position | None = None,
    ) -> None:
        """Add the newest message of a turn or thread, or look again at a known one.

        Args:
            begins: Whether it is the user's.
            group: The turn, or else the thread.
            at: UTC epoch seconds.
            cuts: Whether a new part of a long exchange may begin with it.
            position: Where it stands; None if it is the newest.
        """
        missing = slot + 1 - len(self.numbers)
        if missing > 0:
            for column in (self.numbers, self.is_record, self._kinds, self._times, self._depths):
                column.extend([0] * missing)
        is_result = role == "tool"
        structured = STRUCTURED_RECORD if role == "assistant" and _STRUCTURED.match(text) else 0
        record = TOOL_RECORD if is_result else structured
        kind = _BEGINS * begins + _CUTS * cuts + _IS_RESULT * is_result + _HAS_CALLS * has_calls
        exchange = self.numbers[slot]
        if exchange and (role in SYSTEM_ROLES or (kind, group) != (self._kinds[slot], self._groups[exchange])):
            self.remove(slot)
            exchange = 0
        if exchange:
            self._count_record(exchange, bool(record) - bool(self.is_record[slot]))
        self.is_record[slot], self._kinds[slot], self._times[slot] = record, kind, at
        if exchange or role in SYSTEM_ROLES:
            return
        if position is None:
            self._append(slot, group)
        else:
            self._insert(slot, group, position)

    def remove(self, slot: int) -> None:
        """Take a message out of its exchange."""
        if slot >= len(self.numbers) or not (exchange := self.numbers[slot]):
            return
        _, after = self._find_around(slot)
        slots = self._slots[exchange]
        slots.remove(slot)
        self._count_record(exchange, -bool(self.is_record[slot]))
        if not slots:
            self._unlink(exchange)
        self.numbers[slot], self.is_record[slot] = 0, 0
        if after:
            self._update_from(after)

    def _append(self, slot: int, group: str | None) -> None:
        """Add the newest message of its group."""
        exchange = self._newest.get(group, 0)
        slots = self._slots[exchange] if exchange else []
        before = slots[-1] if exchange else 0
        depth = self._depths[slot] = self._measure(slot, before)
        if self._begins_part(slot, before, depth):
            self._link(group, [slot], before=exchange, after=0)
            return
        slots.append(slot)
        self.numbers[slot] = exchange
        if self.is_record[slot]:
            self._count_record(exchange, 1)

    def _insert(self, slot: int, group: str | None, position: Position) -> None:
        exchange, later = self._newest.get(group, 0), 0
        number, numbers = position
        while exchange and numbers[self._slots[exchange][0]] > number:
            exchange, later = self._before.get(exchange, 0), exchange
        if not exchange:
            self._link(group, [slot], before=0, after=later)
        else:
            slots = self._slots[exchange]
            slots.insert(bisect_left(slots, number, key=numbers.__getitem__), slot)
            self.numbers[slot] = exchange
            self._count_record(exchange, int(bool(self.is_record[slot])))
        self._depths[slot] = _UNKNOWN
        self._update_from(slot)

    def _measure(self, slot: int, before: int) -> int:
        """How many messages are before one in its exchange, `_LONG` at most; 0 if it begins one.

        Args:
            before: The one before it in its group; 0 for none.
        """
        kind = self._kinds[slot]
        if not before or kind & _BEGINS:
            return 0
        # A result stays with its call, however long that took.
        if not kind & _IS_RESULT and abs(self._times[slot] - self._times[before]) > _GAP_S:
            return 0
        return min(_LONG, self._depths[before] + 1)

    def _begins_part(self, slot: int, before: int, depth: int) -> bool:
        """Whether a message begins an exchange, or a part of one."""
        if depth < _LONG:
            return not depth
        return bool(self._kinds[slot] & _CUTS) and not self._kinds[before] & _HAS_CALLS

    def _find_around(self, slot: int) -> tuple[int, int]:
        """The messages before and after one in its group; 0 for none."""
        exchange = self.numbers[slot]
        slots = self._slots[exchange]
        place = len(slots) - 1 if slots[-1] == slot else slots.index(slot)
        earlier, later = self._before.get(exchange), self._after.get(exchange)
        before = slots[place - 1] if place else self._slots[earlier][-1] if earlier else 0
        after = slots[place + 1] if place + 1 < len(slots) else self._slots[later][0] if later else 0
        return before, after

    def _update_from(self, slot: int) -> None:
        """Split exchanges and join them, from a message on, as what is before it now asks for."""
        while slot:
            before, after = self._find_around(slot)
            depth = self._measure(slot, before)
            self._divide(slot, before, starts=self._begins_part(slot, before, depth))
            if depth == self._depths[slot]:
                return
            self._depths[slot], slot = depth, after

    def _divide(self, slot: int, before: int, *, starts: bool) -> None:
        """Split an exchange in front of a message, or join two there."""
        exchange = self.numbers[slot]
        slots = self._slots[exchange]
        if starts is (slots[0] == slot):
            return
        if starts:
            rest = slots[(place := slots.index(slot)) :]
            del slots[place:]
            self._count_record(exchange, -self._count_records(rest))
            self._link(self._groups[exchange], rest, before=exchange, after=self._after.get(exchange, 0))
            return
        self._unlink(exchange)
        joined = self.numbers[before]
        self._slots[joined] += slots
        self._count_record(joined, self._count_records(slots))
        for each in slots:
            self.numbers[each] = joined

    def _link(self, group: str | None, slots: list[int], *, before: int, after: int) -> None:
        """Make an exchange of some messages, between two others of its group."""
        self._count = exchange = self._count + 1
        self._slots[exchange], self._groups[exchange] = slots, group
        for each in slots:
            self.numbers[each] = exchange
        self._count_record(exchange, self._count_records(slots))
        if before:
            self._before[exchange], self._after[before] = before, exchange
        if after:
            self._before[after], self._after[exchange] = exchange, after
        else:
            self._newest[group] = exchange

    def _unlink(self, exchange: int) -> None:
        del self._slots[exchange]
        self._record_counts.pop(exchange, None)
        group, before, after = self._groups.pop(exchange), self._before.pop(exchange, 0), self._after.pop(exchange, 0)
        if before:
            self._after.pop(before)
        if after:
            self._before.pop(after)
        if before and after:
            self._after[before], self._before[after] = after, before
        elif before:
            self._newest[group] = before
        elif not after:
            del self._newest[group]  # the name of a thread is not left behind

    def _count_records(self, slots: Sequence[int]) -> int:
        return sum(1 for each in slots if self.is_record[each])

    def _count_record(self, exchange: int, more: int) -> None:
        if exchange and more:
            count = self._record_counts.pop(exchange, 0) + more
            if count:
                self._record_counts[exchange] = count
