"""Inverted index: the postings of each term as an array of integers, in order of the texts.

A dropped text leaves a tombstone; tombstones are removed when there are many.
"""

import math
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

__all__ = ["TF_BITS", "TF_MOST", "Columns", "Postings", "rarity"]

TF_BITS = 5
"""A posting is the number of its text, followed by these low bits for the term frequency."""
TF_MOST = (1 << TF_BITS) - 1
_SWEEP_AT = 64
"""Fewest tombstones that are worth compacting."""
_COUNTED = 128
"""How many terms have cached counts by group: queries share the frequent terms, whose postings are long."""


class Columns(NamedTuple):
    """Data of each text, by its number.

    Attributes:
        lengths: Number of its terms, with repetitions.
        groups: Its group; 0 for none, and for a dropped text.
        live: 0 for a dropped text, else 1.
        slots: Its slot in the neighbour graph, see `wmem.text.turns`; 0 for none.
        spoken: Index of its language in the list of languages.
    """

    lengths: "array[int]"
    groups: "array[int]"
    live: "array[int]"
    slots: "array[int]"
    spoken: "array[int]"


class _Counted:
    """Frequencies of a term by group, over the first `postings` of its postings."""

    __slots__ = ("by_group", "postings")

    def __init__(self) -> None:
        self.by_group: dict[int, int] = {}
        self.postings = 0


class Postings:
    """Inverted and forward index of texts; texts and terms have numbers."""

    __slots__ = (
        "_counted",
        "_forward",
        "_starts",
        "columns",
        "group_sizes",
        "group_terms",
        "held_by",
        "ids",
        "live_terms",
        "longest",
        "numbers",
        "of",
        "placed",
        "terms",
        "words",
    )

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        """The number of each live text, by id."""
        self.ids: list[str] = []
        self.columns = Columns(array("I"), array("I"), array("B"), array("I"), array("B"))
        self.placed = array("I", (0,))
        """The number of the text in each slot."""
        self.longest = 0
        """Length of the longest text in terms, dropped ones included."""
        self.live_terms = 0
        """Total length of the live texts, in terms."""
        self.words: dict[str, int] = {}
        """The number of each term."""
        self.terms: list[str] = []
        self.of: list[array[int]] = []
        """The postings of each term."""
        self.held_by = array("I")
        """How many live texts contain each term (document frequency)."""
        self.group_sizes: dict[int, int] = {}
        self.group_terms: dict[int, int] = {}
        self._counted: dict[int, _Counted] = {}
        """Cache by term, least recently used first."""
        self._forward = array("I")
        """Forward index: the distinct terms of each text, text after text."""
        self._starts = array("Q", (0,))

    def append(
        self, id: str, frequencies: Sequence[tuple[str, int]], *, length: int, group: int, slot: int, spoken: int
    ) -> None:
        """Add a new text, given the frequency of each of its terms."""
        number = self.numbers[id] = len(self.ids)
        self.ids.append(id)
        for column, value in zip(self.columns, (length, group, 1, slot, spoken), strict=True):
            column.append(value)
        if slot:
            self.placed.extend(repeat(0, slot + 1 - len(self.placed)))
            self.placed[slot] = number
        self.longest = max(self.longest, length)
        self.live_terms += length
        if group:
            self.group_sizes[group] = self.group_sizes.get(group, 0) + 1
            self.group_terms[group] = self.group_terms.get(group, 0) + length
        words, shifted = self.words, number << TF_BITS
        for term, frequency in frequencies:
            entry = shifted | min(frequency, TF_MOST)
            place = words.get(term)
            if place is None:
                place = words[term] = len(self.terms)
                self.terms.append(term)
                self.of.append(array("I", (entry,)))
                self.held_by.append(1)
            else:
                self.of[place].append(entry)
                self.held_by[place] += 1
            self._forward.append(place)
        self._starts.append(len(self._forward))

    def drop(self, id: str) -> bool:
        """Make a text a tombstone and take it out of all counts; False for an unknown id."""
        number = self.numbers.pop(id, None)
        if number is None:
            return False
        lengths, groups, live, _, _ = self.columns
        live[number] = 0
        self.live_terms -= lengths[number]
        group = groups[number]
        for term in self.terms_at(number):
            self.held_by[term] -= 1
            if group and (counted := self._counted.get(term)) is not None:
                self._uncount(counted, self.of[term], number, group)
        if group:
            self.group_terms[group] -= lengths[number]
            self.group_sizes[group] -= 1
            if not self.group_sizes[group]:
                del self.group_sizes[group], self.group_terms[group]
            groups[number] = 0
        return True

    def _uncount(self, counted: _Counted, entries: "array[int]", number: int, group: int) -> None:
        place = bisect_left(entries, number << TF_BITS)
        if place < counted.postings:
            counted.by_group[group] -= entries[place] & TF_MOST
            if not counted.by_group[group]:
                del counted.by_group[group]

    @property
    def littered(self) -> bool:
        """Whether there are enough tombstones to compact."""
        dead = len(self.ids) - len(self.numbers)
        return dead >= _SWEEP_AT and dead * 4 >= len(self.ids)

    def swept(self) -> "Postings":
        """A copy without tombstones, its texts renumbered in the same order."""
        frequencies: dict[int, list[tuple[str, int]]] = {number: [] for number in self.numbers.values()}
        for term, entries in zip(self.terms, self.of, strict=True):
            for entry in entries:
                if (held := frequencies.get(entry >> TF_BITS)) is not None:
                    held.append((term, entry & TF_MOST))
        made = Postings()
        lengths, groups, _, slots, spoken = self.columns
        for number, each in frequencies.items():
            made.append(
                self.ids[number],
                each,
                length=lengths[number],
                group=groups[number],
                slot=slots[number],
                spoken=spoken[number],
            )
        return made

    def terms_at(self, number: int) -> "array[int]":
        """The numbers of the distinct terms of a text."""
        return self._forward[self._starts[number] : self._starts[number + 1]]

    def by_group(self, term: int) -> Mapping[int, int]:
        """The frequency of a term in each group that contains it."""
        counted = self._counted.pop(term, None) or _Counted()
        self._counted[term] = counted
        if len(self._counted) > _COUNTED:
            del self._counted[next(iter(self._counted))]
        held, groups, entries = counted.by_group, self.columns.groups, self.of[term]
        for entry in entries[counted.postings :]:
            if group := groups[entry >> TF_BITS]:
                held[group] = held.get(group, 0) + (entry & TF_MOST)
        counted.postings = len(entries)
        return held

    def rarity(self, term: int) -> float:
        """The inverse document frequency of a term."""
        return rarity(len(self.numbers), self.held_by[term])


@lru_cache(4_096)
def rarity(count: int, held_by: int) -> float:
    """The inverse document frequency of a term that `held_by` of `count` texts contain."""
    return math.log(1 + (count - held_by + 0.5) / (held_by + 0.5))
