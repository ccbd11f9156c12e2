"""Find texts by the words they share with a query: BM25, kept up to date write by write.

A removed text leaves a tombstone in the postings; they are swept when they are a
quarter of what is stored. Scores are those of an index that never held it.
"""

import math
import re
import unicodedata
from array import array
from heapq import nsmallest

__all__ = ["Index", "terms_of"]

_K1 = 1.2
_B = 0.75
_TF_BITS = 8
_TF_MOST = (1 << _TF_BITS) - 1
_SWEEP_AT = 64
"""Fewer tombstones than this are never swept."""

# Scripts that write no spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = (
    r"\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff"
    r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
# Vowel signs and accents belong to their word, though `\w` leaves them out.
_MARKS = r"\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0dff"
_WORD = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|(?:[^\W_{_UNSPACED}]|[{_MARKS}])+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_COMMON = (
    "a about after again all also am an and any are as at be because been before being but by can could d did do "
    "does doing don down during each few for from further had has have having he her here hers him his how i if in "
    "into is it its itself just ll m me more most my no nor not now of off on once only or other our ours out over "
    "own re s same she should so some such t than that the their them then there these they this those through to "
    "too under until up ve very was we were what when where which while who whom why will with would you your"
)
_STOP_WORDS = frozenset(_COMMON.split())


def terms_of(text: str) -> list[str]:
    """The terms a text is found by, in order.

    Words, folded (NFKC, case), without English stop words; of scripts that write no
    spaces, the pairs of neighbouring characters.
    """
    if text.isascii():
        return [word for word in _ASCII_WORD.findall(text.lower()) if word not in _STOP_WORDS]
    terms: list[str] = []
    for found in _WORD.finditer(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())):
        word = found.group()
        if found.lastgroup:
            terms += [word[at : at + 2] for at in range(len(word) - 1)] or [word]
        elif word not in _STOP_WORDS:
            terms.append(word)
    return terms


class Index:
    """BM25 over texts by id; deterministic: of equal scores the one added first comes first."""

    __slots__ = ("_ids", "_lengths", "_live_terms", "_numbers", "_postings")

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._ids: list[str | None] = []
        self._lengths = array("I")
        self._postings: dict[str, array[int]] = {}
        self._live_terms = 0

    @property
    def count(self) -> int:
        """How many texts can be found."""
        return len(self._numbers)

    def __contains__(self, id: object) -> bool:
        return id in self._numbers

    def add(self, id: str, text: str) -> None:
        """Make a text findable; one that is there under the id is replaced, and comes last among equals."""
        if id in self._numbers:
            self.remove(id)
        number = len(self._ids)
        terms = terms_of(text)
        self._numbers[id] = number
        self._ids.append(id)
        self._lengths.append(len(terms))
        self._live_terms += len(terms)
        frequencies: dict[str, int] = {}
        for term in terms:
            frequencies[term] = frequencies.get(term, 0) + 1
        postings, shifted = self._postings, number << _TF_BITS
        for term, frequency in frequencies.items():
            entry = shifted | min(frequency, _TF_MOST)
            found = postings.get(term)
            if found is None:
                postings[term] = array("Q", (entry,))
            else:
                found.append(entry)

    def remove(self, id: str) -> bool:
        """Make a text unfindable; False when there is none under the id."""
        number = self._numbers.pop(id, None)
        if number is None:
            return False
        self._ids[number] = None
        self._live_terms -= self._lengths[number]
        dead = len(self._ids) - len(self._numbers)
        if dead >= _SWEEP_AT and dead * 4 >= len(self._ids):
            self._sweep()
        return True

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """The ids that share terms with the query and their scores, best first, at most `limit`."""
        if not self._numbers or limit <= 0:
            return []
        ids, lengths, live = self._ids, self._lengths, len(self._numbers)
        flat = _K1 * (1 - _B)
        slope = _K1 * _B * live / max(1, self._live_terms)
        scores: dict[int, float] = {}
        for term in dict.fromkeys(terms_of(query)):
            hits = [entry for entry in self._postings.get(term, ()) if ids[entry >> _TF_BITS] is not None]
            rarity = math.log(1 + (live - len(hits) + 0.5) / (len(hits) + 0.5))
            for entry in hits:
                number, frequency = entry >> _TF_BITS, entry & _TF_MOST
                gain = rarity * frequency * (_K1 + 1) / (frequency + flat + slope * lengths[number])
                scores[number] = scores.get(number, 0.0) + gain
        best = nsmallest(limit, ((-score, number) for number, score in scores.items()))
        return [(id, -negated) for negated, number in best if (id := ids[number]) is not None]

    def _sweep(self) -> None:
        """Forget the tombstones, and number what is left anew in its order."""
        renumbered: dict[int, int] = {}
        for number in self._numbers.values():
            renumbered[number] = len(renumbered)
        postings: dict[str, array[int]] = {}
        for term, entries in self._postings.items():
            kept = [
                new << _TF_BITS | entry & _TF_MOST
                for entry in entries
                if (new := renumbered.get(entry >> _TF_BITS)) is not None
            ]
            if kept:
                postings[term] = array("Q", kept)
        self._postings = postings
        self._lengths = array("I", (self._lengths[number] for number in renumbered))
        self._ids = list(self._numbers)
        self._numbers = {id: number for number, id in enumerate(self._numbers)}
