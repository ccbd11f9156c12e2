"""Which texts hold which terms: postings as arrays of numbers, text after text.

A text that is dropped leaves a tombstone, which is swept when there are many.
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
"""A posting is the number of its text, and in its last bits how often the term stands there."""
TF_MOST = (1 << TF_BITS) - 1
_SWEEP_AT = 64
"""Fewer tombstones than this are never swept."""
_COUNTED = 128
"""Terms whose counts by group are kept: questions share the frequent ones, whose postings are long."""


class Columns(NamedTuple):
    """What is known of each text, by its number.

    Attributes:
        lengths: Its terms.
        groups: The group it belongs to; 0 for none, and for a text that was dropped.
        live: 0 for a text that was dropped.
        slots: Its place among its neighbours, see `wmem.text.turns`; 0 for none.
        spoken: The place of its language in a list.
    """

    lengths: "array[int]"
    groups: "array[int]"
    live: "array[int]"
    slots: "array[int]"
    spoken: "array[int]"


class _Counted:
    """How often a term stands in each group, of so many of its postings."""

    __slots__ = ("by_group", "postings")

    def __init__(self) -> None:
        self.by_group: dict[int, int] = {}
        self.postings = 0


class Postings:
    """Texts by id and by number, terms by number, and both by each other."""

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
        """The number of each text that was not dropped."""
        self.ids: list[str] = []
        self.columns = Columns(array("I"), array("I"), array("B"), array("I"), array("B"))
        self.placed = array("I", (0,))
        """By slot, the number of the text that has it."""
        self.longest = 0
        """The most terms of any text."""
        self.live_terms = 0
        """How many terms the texts hold together."""
        self.words: dict[str, int] = {}
        """The number of each term."""
        self.terms: list[str] = []
        self.of: list[array[int]] = []
        """By term, its postings."""
        self.held_by = array("I")
        """By term, how many texts hold it."""
        self.group_sizes: dict[int, int] = {}
        self.group_terms: dict[int, int] = {}
        self._counted: dict[int, _Counted] = {}
        """By term, those last asked for last."""
        self._forward = array("I")
        """The terms of each text, once each, text after text."""
        self._starts = array("Q", (0,))

    def append(
        self, id: str, frequencies: Sequence[tuple[str, int]], *, length: int, group: int, slot: int, spoken: int
    ) -> None:
        """Take in a text that is not there, by how often it holds each term."""
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
        """Leave a text out of all counts; False when it is not there."""
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
        """Whether it is time to sweep."""
        dead = len(self.ids) - len(self.numbers)
        return dead >= _SWEEP_AT and dead * 4 >= len(self.ids)

    def swept(self) -> "Postings":
        """The same without tombstones, its texts numbered anew in their order."""
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
        """The terms of a text, by number, once each."""
        return self._forward[self._starts[number] : self._starts[number + 1]]

    def by_group(self, term: int) -> Mapping[int, int]:
        """How often a term stands in each group that holds it."""
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
    """The inverse document frequency of what so many of so many texts hold."""
    return math.log(1 + (count - held_by + 0.5) / (held_by + 0.5))
