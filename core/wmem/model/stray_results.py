"""Results under an id that no call has, and the calls that they answer.

Some tools and proxies answer under an id of their own. Such a stray is paired only where it can hardly be the late
result of another's call: it stands right behind a message with calls, with nothing but results of its turn between,
and no call of its tool, or none at all, is left without a result then. A result under the call's own id that comes
later takes its place.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wmem.model.part import ToolCall

if TYPE_CHECKING:
    from wmem.model.message import Message


class CallRecord(NamedTuple):
    """What pairing needs of a message.

    Attributes:
        ids: Of the calls it makes, or of the one it answers; a result without an id has none.
        load: Returns the whole message; needed only where ids alone do not pair it.
    """

    role: str | None
    ids: tuple[str, ...]
    turn_id: str | None
    load: "Callable[[], Message]"


class PastRecords:
    """What was said before, newest first, read only as far as it is asked for.

    Args:
        newest_first: Where it is read from.
    """

    def __init__(self, newest_first: Iterable[CallRecord] = ()) -> None:
        self._rest = iter(newest_first)
        self._read: list[CallRecord] = []

    def __iter__(self) -> Iterator[CallRecord]:
        at = 0
        while (record := self.get(at)) is not None:
            yield record
            at += 1

    def get(self, at: int) -> CallRecord | None:
        """The record with so many newer ones; None behind the oldest."""
        while at >= len(self._read) and (record := next(self._rest, None)) is not None:
            self._read.append(record)
        return self._read[at] if at < len(self._read) else None


class Exchange(NamedTuple):
    """A message with calls and the results behind it.

    Attributes:
        results: Their places among the records; a negative one counts what was said before, from -1, the newest.
    """

    caller: CallRecord
    results: frozenset[int]


class Timeline:
    """Records behind what was said before them, by place: from 0 on the records, below 0 the past."""

    def __init__(self, past: PastRecords, records: Sequence[CallRecord]) -> None:
        self._past = past
        self._records = records

    def get(self, place: int) -> CallRecord | None:
        """The record at a place; None before the first."""
        return self._records[place] if place >= 0 else self._past.get(-1 - place)

    def find_exchanges(self) -> Iterator[Exchange]:
        """The exchanges to which results among the records belong; what other turns say between is no part of them."""
        found: dict[int, set[int]] = {}
        for place, record in enumerate(self._records):
            if record.role != "tool":
                continue
            caller, results = self._walk_back(place, record.turn_id)
            if caller is not None:
                found.setdefault(caller, set()).update(results)
        for at, results in found.items():
            caller_record = self.get(at)
            if caller_record is not None:
                yield Exchange(caller_record, frozenset(results))

    def _walk_back(self, place: int, turn_id: str | None) -> tuple[int | None, set[int]]:
        """The place of the calls before a run of results, None if there are none, and the results from there on."""
        results = {place}
        is_alone = True  # no other turn came between
        while (record := self.get(place := place - 1)) is not None:
            if turn_id is not None and record.turn_id not in (None, turn_id):
                is_alone = False
                continue
            if not is_alone and record.turn_id is None:
                break  # it may be of the other turn
            if record.role != "tool":
                return (place if record.role == "assistant" and record.ids else None), results
            results.add(place)
        return None, results


class Stray(NamedTuple):
    """A result that names no call: its place, and its tool, if it says that."""

    place: int
    name: str | None


def match_strays(strays: Sequence[Stray], waiting: Sequence[ToolCall]) -> dict[int, str]:
    """The id of the call that each stray answers, by place; none as long as it could answer one call or another.

    Args:
        strays: In the order in which they came.
        waiting: The calls without a result, in their order.
    """
    matched: dict[int, str] = {}
    for name in dict.fromkeys(stray.name for stray in strays if stray.name is not None):
        named = [stray.place for stray in strays if stray.name == name]
        matched |= _match([call.id for call in waiting if call.name == name], named)
    taken = set(matched.values())
    unnamed = [stray.place for stray in strays if stray.name is None]
    return matched | _match([call.id for call in waiting if call.id not in taken], unnamed)


def _match(calls: Sequence[str], places: Sequence[int]) -> dict[int, str]:
    return dict(zip(places, calls, strict=False)) if len(calls) <= len(places) else {}
