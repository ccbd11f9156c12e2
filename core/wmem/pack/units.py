"""Units, included or dropped as one: a message, or an assistant's tool calls with all their results.

A result belongs to the nearest call of its id before it, rather of its own turn, because some
providers reuse ids. A result before its call, or without one, is an orphan; of several results of one
call the last one counts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter

from wmem.pack.request import Candidate


@dataclass(slots=True, kw_only=True, eq=False)
class Unit:
    """Messages that are packed whole or not at all.

    Attributes:
        members: The message, or the calling assistant and its results in the order in which they came.
        place: How many messages are newer than its first; smaller is newer.
        newest: The same for its newest member.
        tokens: Tokens of all its messages.
        missing: Calls that have no result.
        left_out: Tools whose calls were taken out of the message, since they have no result.
    """

    members: tuple[Candidate, ...]
    place: int
    newest: int
    tokens: int
    missing: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def head(self) -> Candidate:
        """The first message, which sets the unit's place and turn."""
        return self.members[0]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of its messages, in order."""
        return tuple(member.id for member in self.members)


class ConversationReader:
    """Reads a conversation newest first, only as far as needed, and groups it into units.

    Units come in the order of their first messages, newest first; a result waits in
    `open_results` until its call is read.

    Args:
        repair: Makes another unit of one that has calls without a result.
    """

    def __init__(
        self,
        newest_first: Iterable[Candidate],
        *,
        skip: AbstractSet[str] = frozenset(),
        max_messages: int | None = None,
        repair: Callable[[Unit], Unit] | None = None,
    ) -> None:
        self._repair = repair
        self._max_messages = max_messages
        self._skip = skip
        self.read_ids: set[str] = set()
        """The ids of the messages read so far."""
        self.units: list[Unit] = []
        """The units formed so far."""
        self.open_results: dict[str, list[tuple[int, Candidate]]] = {}
        self.superseded: list[Candidate] = []
        self.skipped_places: dict[str, int] = {}
        """Places of skipped messages, by id."""
        self.messages_read = 0
        self.exhausted = False
        self._steps = self._read(newest_first)

    def __iter__(self) -> Iterator[Unit]:
        """Every unit, newest first, reading on as needed; iterating again costs nothing."""
        return self.after(0)

    def after(self, at: int) -> Iterator[Unit]:
        """The units after the first `at`, newest first, reading on as needed."""
        units, steps = self.units, self._steps
        while True:
            yield from islice(units, at, None)  # also those that are formed meanwhile
            at = len(units)
            for _ in steps:
                if len(units) > at:
                    break
            else:
                return

    def advance(self) -> bool:
        """Read one more message; False at the end or at the limit."""
        return next(self._steps, False)

    def _read(self, newest_first: Iterable[Candidate]) -> Iterator[bool]:
        """Read one more message at each step."""
        read_ids, skip, units = self.read_ids, self._skip, self.units
        for place, candidate in enumerate(newest_first):
            self.messages_read = place + 1
            id = candidate.id
            if id not in read_ids:
                read_ids.add(id)
                if id in skip:
                    self.skipped_places[id] = place
                elif not candidate.calls and candidate.role != "tool":  # nearly every message
                    units.append(Unit(members=(candidate,), place=place, newest=place, tokens=candidate.tokens))
                else:
                    self._pair(candidate, place)
            yield True
            if self.messages_read == self._max_messages:
                return
        self.exhausted = True

    def _pair(self, candidate: Candidate, place: int) -> None:
        """Make a unit of a message that calls tools, with their results; a result waits for its call."""
        if candidate.role == "tool":
            key = candidate.calls[0] if candidate.calls else ""
            self.open_results.setdefault(key, []).append((place, candidate))
        elif candidate.role == "assistant" and candidate.calls:
            unit = self._close_exchange(candidate, place)
            self.units.append(self._repair(unit) if unit.missing and self._repair is not None else unit)
        else:
            self.units.append(Unit(members=(candidate,), place=place, newest=place, tokens=candidate.tokens))

    def _close_exchange(self, caller: Candidate, place: int) -> Unit:
        answers: list[tuple[int, Candidate]] = []
        missing: list[str] = []
        for call in dict.fromkeys(caller.calls):
            results = self._take_results(call, caller.turn_id)
            if not results:
                missing.append(call)
                continue
            answers.append(results[0])
            self.superseded += [older for _, older in results[1:]]
        answers.sort(key=itemgetter(0), reverse=True)  # as they came in, which need not be the order of the calls
        members = (caller, *(answer for _, answer in answers))
        return Unit(
            members=members,
            place=place,
            newest=answers[-1][0] if answers else place,
            tokens=sum(member.tokens for member in members),
            missing=tuple(missing),
        )

    def _take_results(self, call: str, turn_id: str | None) -> list[tuple[int, Candidate]]:
        """The results of a call that are read so far, newest first; those of its own turn, if there are any."""
        results = self.open_results.pop(call, [])
        own = [each for each in results if each[1].turn_id in (None, turn_id)]
        if own and len(own) < len(results):
            # The others answer a call of another worker, who uses the same id.
            self.open_results[call] = [each for each in results if each not in own]
            return own
        return results


def group_units(oldest_first: Sequence[Candidate]) -> tuple[list[Unit], list[Candidate]]:
    """The units of the messages, newest first, and the results that belong to none."""
    conversation = ConversationReader(reversed(oldest_first))
    units = list(conversation)
    loose = [result for results in conversation.open_results.values() for _, result in results]
    return units, [*loose, *conversation.superseded]
