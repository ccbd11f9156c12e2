"""Inverted index: the postings of each term as an array of integers, in order of the texts.

A dropped text leaves a tombstone; tombstones are removed when there are many. A text that is replaced keeps its number:
numbers are in the order in which the texts were added.
"""

import math
from array import array
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, repeat
from operator import rshift
from typing import Any, NamedTuple

from wmem.analysis.analyzer import SPELLED

TF_BITS = 5
"""A posting is the number of its text, followed by these low bits for the term frequency."""
TF_MAX = (1 << TF_BITS) - 1
FEW_TEXTS = 16
"""Fewest texts that tell how rare a word is; what is set aside is counted with fewer."""
_MIN_TOMBSTONES = 64  # fewest tombstones that are worth compacting
_MAX_CACHED_TERMS = 128
"""How many terms have cached counts by group: queries share the frequent terms, whose postings are long."""


_FOLLOWING = frozenset(("number_by_id", "number_by_term", "_group_frequencies"))


class Columns(NamedTuple):
    """Data of each text, by its number.

    Attributes:
        lengths: Number of its terms, with repetitions.
        groups: Its group; 0 for none, and for a dropped text.
        live: 0 for a dropped text, else 1.
        slots: Its slot in the neighbour graph, see `wmem.retrieval.neighbors`; 0 for none.
        languages: Index of its language in the list of languages.
    """

    lengths: "array[int]"
    groups: "array[int]"
    live: "array[int]"
    slots: "array[int]"
    languages: "array[int]"


class _GroupFrequencies:
    """Frequencies of a term by group, over the first `postings` of its postings."""

    __slots__ = ("by_group", "postings_read")

    def __init__(self) -> None:
        self.by_group: dict[int, int] = {}
        self.postings_read = 0


class Saturation(NamedTuple):
    """Term frequency saturation with length normalization: ``top x f / (f + flat + slope x length)``."""

    flat: float
    slope: float


class TermStatistics(NamedTuple):
    """How many texts there are, how long they are in terms together, and how many of them have each of some terms."""

    texts: int
    length: int
    with_term: Mapping[str, int]

    @classmethod
    def sum(cls, parts: Iterable["TermStatistics"]) -> "TermStatistics":
        """The statistics of all the texts of several indexes."""
        texts, length, with_term = 0, 0, Counter[str]()
        for part in parts:
            texts, length = texts + part.texts, length + part.length
            with_term.update(part.with_term)
        return cls(texts, length, with_term)

    def idf(self, term: str) -> float:
        """The rarity of a term; of one that was not counted, that of one that no text has."""
        return idf(self.texts, self.with_term.get(term, 0))


class Postings:
    """Inverted and forward index of texts; texts and terms have numbers."""

    def __init__(self) -> None:
        self.number_by_id: dict[str, int] = {}
        """The number of each live text, by id."""
        self.ids: list[str] = []
        self.columns = Columns(array("I"), array("I"), array("B"), array("I"), array("B"))
        self.number_by_slot = array("I", (0,))
        """The number of the text in each slot."""
        self.max_length = 0
        """Length of the longest text in terms, dropped ones included."""
        self.total_length = 0
        """Total length of the live texts, in terms."""
        self.number_by_term: dict[str, int] = {}
        """The number of each term."""
        self.terms: list[str] = []
        self.by_term: list[array[int]] = []
        """The postings of each term."""
        self.document_frequencies = array("I")
        """How many live texts contain each term (document frequency)."""
        self.aside: dict[int, None] = {}
        """The numbers of live texts that repeat others, as summaries do: see `set_aside`."""
        self._aside_frequencies = array("I")  # how many of those contain each term; of later terms none
        self.group_sizes: dict[int, int] = {}
        self.group_lengths: dict[int, int] = {}
        self.spellings: dict[str, list[str]] = {}
        """The terms that stand for other spellings of a term, see `wmem.analysis.analyzer.Analysis`."""
        self._group_frequencies: dict[int, _GroupFrequencies] = {}  # cache by term, least recently used first
        self._forward = array("I")  # forward index: the distinct terms of each text, text after text
        self._forward_starts = array("Q")
        self._forward_counts = array("I")
        self._replaced = 0  # texts, whose terms before may be left

    def list_attributes(self) -> dict[str, Any]:
        """All attributes but caches, and but what follows from the others where there are no tombstones."""
        return {name: value for name, value in vars(self).items() if name not in _FOLLOWING}

    def restore(self, attributes: Mapping[str, Any]) -> Iterator[None]:
        """Take, in steps, what `list_attributes` listed."""
        vars(self).update(attributes)
        self.number_by_id = dict(zip(self.ids, count(), strict=False))
        yield
        self.number_by_term = dict(zip(self.terms, count(), strict=False))
        yield

    def append(
        self, id: str, frequencies: Iterable[tuple[str, int]], *, length: int, group: int, slot: int, language: int
    ) -> None:
        """Add a new text, given the frequency of each of its terms."""
        number = self.number_by_id[id] = len(self.ids)
        self.ids.append(id)
        lengths, groups, live, slots, languages = self.columns
        lengths.append(length)
        groups.append(group)
        live.append(1)
        slots.append(slot)
        languages.append(language)
        self._count_text(number)
        words, shifted = self.number_by_term, number << TF_BITS
        by_term, document_frequencies = self.by_term, self.document_frequencies
        places: list[int] = []
        for term, frequency in frequencies:
            entry = shifted | (frequency if frequency < TF_MAX else TF_MAX)  # noqa: FURB136  # `min` takes as long as the rest
            place = words.get(term)
            if place is None:
                place = self._add_term(term)
            by_term[place].append(entry)
            document_frequencies[place] += 1
            places.append(place)
        self._forward_starts.append(len(self._forward))
        self._forward_counts.append(len(places))
        self._forward.extend(places)

    def replace(
        self, id: str, frequencies: Iterable[tuple[str, int]], *, length: int, group: int, slot: int, language: int
    ) -> None:
        """Put another text in the place of a live one; see `append`."""
        number = self.number_by_id[id]
        self._count_again(number)
        for place in self.terms_at(number):
            entries = self.by_term[place]
            del entries[bisect_left(entries, number << TF_BITS)]
            self.document_frequencies[place] -= 1
            self._group_frequencies.pop(place, None)
        self._uncount_text(number)
        lengths, groups, _, slots, languages = self.columns
        lengths[number], groups[number], slots[number], languages[number] = length, group, slot, language
        self._count_text(number)
        places: list[int] = []
        for term, frequency in frequencies:
            known = self.number_by_term.get(term)
            place = self._add_term(term) if known is None else known
            insort(self.by_term[place], number << TF_BITS | min(frequency, TF_MAX))
            self.document_frequencies[place] += 1
            self._group_frequencies.pop(place, None)
            places.append(place)
        self._forward_starts[number], self._forward_counts[number] = len(self._forward), len(places)
        self._forward.extend(places)
        self._replaced += 1

    def set_aside(self, id: str) -> None:
        """Let a text say nothing of how rare words are, nor how long texts are, where there are enough others."""
        number = self.number_by_id[id]
        self.aside[number] = None
        held = self._aside_frequencies
        held.extend(repeat(0, len(self.terms) - len(held)))
        for term in self.terms_at(number):
            held[term] += 1

    def _count_again(self, number: int) -> None:
        if number in self.aside:
            del self.aside[number]
            for term in self.terms_at(number):
                self._aside_frequencies[term] -= 1

    @property
    def leaves_aside(self) -> bool:
        """Whether there are texts set aside, and enough others."""
        return bool(self.aside) and len(self.number_by_id) - len(self.aside) >= FEW_TEXTS

    def count(self, *, with_aside: bool = False) -> tuple[int, int]:
        """How many texts say how rare words are, and their length in terms.

        Args:
            with_aside: Whether those set aside count, too.
        """
        if with_aside or not self.aside:
            return len(self.number_by_id), self.total_length
        length = sum(map(self.columns.lengths.__getitem__, self.aside))
        return len(self.number_by_id) - len(self.aside), self.total_length - length

    def count_aside(self, term: int) -> int:
        """How many of the texts set aside contain a term."""
        return self._aside_frequencies[term] if term < len(self._aside_frequencies) else 0

    def move(self, number: int, group: int) -> None:
        """Put a text into another group."""
        if group != self.columns.groups[number]:
            self._uncount_text(number)
            self.columns.groups[number] = group
            self._count_text(number)
            self._group_frequencies.clear()

    def _count_text(self, number: int) -> None:
        lengths, groups, _, slots, _ = self.columns
        length, group, slot = lengths[number], groups[number], slots[number]
        if slot:
            self.number_by_slot.extend(repeat(0, slot + 1 - len(self.number_by_slot)))
            self.number_by_slot[slot] = number
        self.max_length = max(self.max_length, length)
        self.total_length += length
        if group:
            self.group_sizes[group] = self.group_sizes.get(group, 0) + 1
            self.group_lengths[group] = self.group_lengths.get(group, 0) + length

    def _uncount_text(self, number: int) -> None:
        length, group = self.columns.lengths[number], self.columns.groups[number]
        self.total_length -= length
        if group:
            self.group_lengths[group] -= length
            self.group_sizes[group] -= 1
            if not self.group_sizes[group]:
                del self.group_sizes[group], self.group_lengths[group]

    def _add_term(self, term: str) -> int:
        place = self.number_by_term[term] = len(self.terms)
        self.terms.append(term)
        self.by_term.append(array("I"))
        self.document_frequencies.append(0)
        if SPELLED in term:
            self.spellings.setdefault(term.partition(SPELLED)[0], []).append(term)
        return place

    def drop(self, id: str) -> bool:
        """Make a text a tombstone and take it out of all counts; False for an unknown id."""
        number = self.number_by_id.pop(id, None)
        if number is None:
            return False
        _, groups, live, _, _ = self.columns
        live[number] = 0
        self._count_again(number)
        group = groups[number]
        for term in self.terms_at(number):
            self.document_frequencies[term] -= 1
            if group and (counted := self._group_frequencies.get(term)) is not None:
                self._subtract_frequency(counted, self.by_term[term], number, group)
        self._uncount_text(number)
        groups[number] = 0
        return True

    def _subtract_frequency(self, cached: _GroupFrequencies, postings: "array[int]", number: int, group: int) -> None:
        place = bisect_left(postings, number << TF_BITS)
        if place < cached.postings_read:
            cached.by_group[group] -= postings[place] & TF_MAX
            if not cached.by_group[group]:
                del cached.by_group[group]

    @property
    def has_tombstones(self) -> bool:
        """Whether a text was dropped or replaced since the last compaction."""
        return len(self.number_by_id) < len(self.ids) or self._replaced > 0

    @property
    def needs_compaction(self) -> bool:
        """Whether there are enough tombstones to compact."""
        dead = len(self.ids) - len(self.number_by_id) + self._replaced
        return dead >= _MIN_TOMBSTONES and dead * 4 >= len(self.ids)

    def without_tombstones(self) -> "Postings":
        """A copy without tombstones, its texts renumbered in the same order."""
        frequencies: dict[int, list[tuple[str, int]]] = {number: [] for number in self.number_by_id.values()}
        for term, entries in zip(self.terms, self.by_term, strict=True):
            for entry in entries:
                if (held := frequencies.get(entry >> TF_BITS)) is not None:
                    held.append((term, entry & TF_MAX))
        made = Postings()
        lengths, groups, _, slots, spoken = self.columns
        for number, each in frequencies.items():
            made.append(
                self.ids[number],
                each,
                length=lengths[number],
                group=groups[number],
                slot=slots[number],
                language=spoken[number],
            )
            if number in self.aside:
                made.set_aside(self.ids[number])
        return made

    def find_term(self, term: str) -> int | None:
        """The number of a term; None for one that no live text has."""
        place = self.number_by_term.get(term)
        return None if place is None or not self.document_frequencies[place] else place

    def contains(self, number: int, term: str) -> bool:
        """Whether a text has a term."""
        place = self.number_by_term.get(term)
        if place is None:
            return False
        entries = self.by_term[place]
        at = bisect_left(entries, number << TF_BITS)
        return at < len(entries) and entries[at] >> TF_BITS == number

    def terms_at(self, number: int) -> "array[int]":
        """The numbers of the distinct terms of a text."""
        start = self._forward_starts[number]
        return self._forward[start : start + self._forward_counts[number]]

    def frequencies_by_group(self, term: int) -> Mapping[int, int]:
        """The frequency of a term in each group that contains it."""
        counted = self._group_frequencies.pop(term, None) or _GroupFrequencies()
        self._group_frequencies[term] = counted
        if len(self._group_frequencies) > _MAX_CACHED_TERMS:
            del self._group_frequencies[next(iter(self._group_frequencies))]
        held, groups, entries = counted.by_group, self.columns.groups, self.by_term[term]
        for entry in entries[counted.postings_read :]:
            if group := groups[entry >> TF_BITS]:
                held[group] = held.get(group, 0) + (entry & TF_MAX)
        counted.postings_read = len(entries)
        return held

    def text_counts(self, terms: Sequence[str], *, with_aside: bool = True) -> list[int]:
        """How many live texts contain each term.

        Args:
            with_aside: Whether those set aside count, too.
        """
        numbers = map(self.number_by_term.get, terms)
        if with_aside or not self.aside:
            return [0 if number is None else self.document_frequencies[number] for number in numbers]
        return [0 if each is None else self.document_frequencies[each] - self.count_aside(each) for each in numbers]

    def hide_others(self, ids: Iterable[str]) -> Columns:
        """The columns, with all texts but these as if they were dropped."""
        live = array("B", bytes(len(self.ids)))
        for id in ids:
            if (number := self.number_by_id.get(id)) is not None:
                live[number] = 1
        return self.columns._replace(live=live)

    def count_among(self, term: str, numbers: set[int]) -> int:
        """How many of these texts contain a term."""
        place = self.number_by_term.get(term)
        return 0 if place is None else len(numbers.intersection(map(rshift, self.by_term[place], repeat(TF_BITS))))

    def idf(self, term: int) -> float:
        """The inverse document frequency of a term."""
        if not self.aside or not self.leaves_aside:
            return idf(len(self.number_by_id), self.document_frequencies[term])
        counted = len(self.number_by_id) - len(self.aside)
        return idf(counted, self.document_frequencies[term] - self.count_aside(term))


@lru_cache(4_096)
def idf(document_count: int, document_frequency: int) -> float:
    """The inverse document frequency of a term that `document_frequency` of `document_count` texts contain."""
    return math.log(1 + (document_count - document_frequency + 0.5) / (document_frequency + 0.5))
