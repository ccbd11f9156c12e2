"""A summary is a pack of sentences: those that say most, as they were said, within a limit of tokens."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from wmem.text.index import terms_of
from wmem.text.tokens import Counter

__all__ = ["Extract", "Weighted", "extract", "sentences"]

# A mark of the scripts that write no spaces ends a sentence by itself; the number of an item in a list ends none.
# Blank space is tried at its beginning only: from each of its places, a hundred thousand spaces would take seconds.
_END = re.compile(r"(?m)(?<=[.!?…])(?<!^\d\.)(?<!^\d\d\.)[\"'”’)\]]*\s+|(?<=[\u3002\uff01\uff1f])|(?<!\s)\s*\n\s*")


class Weighted(NamedTuple):
    """A text, and how much it matters beside the others, from 0."""

    text: str
    weight: float


class Extract(NamedTuple):
    """What was extracted, its tokens, and the places of the texts it is from."""

    text: str
    tokens: int
    places: tuple[int, ...]


class _Sentence(NamedTuple):
    place: int
    text: str
    tokens: int
    worth: float


def sentences(text: str) -> list[str]:
    """The sentences of a text in order; a line ends one too."""
    ends = [0, *(found.end() for found in _END.finditer(text)), len(text)]
    told = (text[start:end].strip() for start, end in pairwise(ends))
    return [sentence for sentence in told if sentence]


def extract(texts: Sequence[Weighted], limit: int, counter: Counter) -> Extract:
    """The sentences of the weightiest texts, in the order of the texts, one a line, each once.

    Of equal weight, those come first whose words are rare among all sentences. A sentence
    that does not fit makes way for the next one that does; none is cut.

    Args:
        limit: How many tokens the extract may take.
    """
    chosen: list[tuple[int, _Sentence]] = []
    tokens = 0
    for place, sentence in sorted(enumerate(_told(texts, counter)), key=lambda each: (-each[1].worth, each[0])):
        if tokens + sentence.tokens <= limit:
            chosen.append((place, sentence))
            tokens += sentence.tokens
    # Joints count too: what matters least goes until the whole fits, as it is counted.
    while chosen:
        kept = [sentence for _, sentence in sorted(chosen, key=lambda each: each[0])]
        text = "\n".join(sentence.text for sentence in kept)
        if (tokens := counter(text)) <= limit:
            return Extract(text, tokens, tuple(dict.fromkeys(sentence.place for sentence in kept)))
        chosen.pop()
    return Extract("", 0, ())


def _told(texts: Sequence[Weighted], counter: Counter) -> list[_Sentence]:
    split: dict[str, tuple[int, str, float]] = {}
    for place, (text, weight) in enumerate(texts):
        for sentence in sentences(text):
            same = sentence.casefold()
            if same not in split or split[same][2] < weight:
                split[same] = (place, sentence, weight)
    terms = {same: frozenset(terms_of(same)) for same in split}
    held_by: dict[str, int] = {}
    for each in terms.values():
        for term in each:
            held_by[term] = held_by.get(term, 0) + 1
    told = []
    for same, (place, sentence, weight) in split.items():
        tokens = counter(sentence)
        rarity = math.fsum(math.log(1 + len(split) / held_by[term]) for term in terms[same])
        # Rarity decides among texts of about equal weight: it is at most a tenth of a whole one.
        told.append(_Sentence(place, sentence, tokens, weight + 0.1 * rarity / (rarity + tokens)))
    return sorted(told, key=lambda each: each.place)
