"""Summaries among hits: what they cover, and what they say of it, is found once.

While most of what a summary covers can be found itself, the summary is no hit. Once most of it is gone the summary is
one, and of it and what is left of what it covers the better match. A summary tells of many things and shares some words
with most questions: it is judged by the two sentences that have most of one together, and the best few are found.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

from wmem.analysis.analyzer import Analyzer
from wmem.analysis.sentences import split_sentences
from wmem.engine.derived import Derived
from wmem.engine.replica import Replica
from wmem.model.coverage import SUMMARY, Coverage, find_coverage
from wmem.model.history import Path
from wmem.model.row import Row
from wmem.model.row_text import row_text
from wmem.retrieval.bm25 import TermWeights

MAX_SUMMARIES = 6
"""Summaries that one search finds."""
MAX_JUDGED = 32
"""Summaries of one scope that are judged by their passages: the best by all their words."""
_LEAST_FIT = 0.5
_LEAST_SHARE = 0.5  # of the best fit, that each summary must have
_MAX_KNOWN = 512  # summaries whose terms are cached
R = TypeVar("R")
Covers: TypeAlias = Callable[[Path, Row], Sequence[Coverage]]
"""What a row of a scope covers."""


class PassageTerms(Derived):
    """The terms of each sentence of those summaries that searches met."""

    __slots__ = ("_analyzer", "_known")
    begins_empty: ClassVar[bool] = True

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._known: dict[str, list[frozenset[str]]] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id in changed:
            self._known.pop(id, None)

    def read(self, row: Row) -> list[frozenset[str]]:
        """The terms of each sentence of a row of the scope."""
        known = self._known.get(row.id)
        if known is None:
            while len(self._known) >= _MAX_KNOWN:
                del self._known[next(iter(self._known))]
            text = row_text(row)
            language = self._analyzer.analyze(text).language
            known = self._known[row.id] = [
                frozenset(self._analyzer.to_terms(sentence, language)) for sentence in split_sentences(text)
            ]
        return known


class SummaryJudgement(NamedTuple):
    """What summaries are worth to a question, by their places among the candidates.

    Attributes:
        fits: Whether a passage holds enough of the question's words together.
        shares: The share of the question's words in the whole of it that its best passage has.
        coverage: The share of the question that the best passage has of those that fit.
    """

    fits: Mapping[int, bool]
    shares: Mapping[int, float]
    coverage: float


NOT_JUDGED = SummaryJudgement({}, {}, 0.0)


def judge_summaries(
    summaries: Mapping[int, Sequence[frozenset[str]]], questions: Sequence[TermWeights]
) -> SummaryJudgement:
    """Judge each summary by the two sentences in a row that have most of a question.

    How well they fit is the cosine of their words with the question's, each weighted by its rarity and the passage's
    length left alone: to hold a quarter of a long question is as much as half of a short one.

    Args:
        summaries: The terms of each one's sentences, by its place.
        questions: Texts that are looked for, each with a word at least.
    """
    fits, shares, coverages = dict.fromkeys(summaries, 0.0), dict.fromkeys(summaries, 0.0), dict[int, float]()
    for at, sentences in summaries.items():
        for weights in questions:
            passage, whole = _weigh_passage(sentences, weights.by_term)
            fits[at] = max(fits[at], passage / math.sqrt(weights.mass * weights.rarest))
            coverages[at] = max(coverages.get(at, 0.0), passage / weights.mass)
            shares[at] = max(shares[at], passage / whole if whole else 0.0)
    least = max(_LEAST_FIT, _LEAST_SHARE * max(fits.values(), default=0.0))
    enough = {at: fit >= least for at, fit in fits.items()}
    return SummaryJudgement(enough, shares, max((coverages[at] for at in enough if enough[at]), default=0.0))


def _weigh_passage(sentences: Sequence[frozenset[str]], weights: Mapping[str, float]) -> tuple[float, float]:
    """What the best two sentences in a row have of a question, and what all of them have."""
    held = [weights.keys() & each for each in sentences]
    pairs = [one | other for one, other in pairwise(held)] or held
    best = max((sum(map(weights.__getitem__, each)) for each in pairs if each), default=0.0)
    return best, sum(map(weights.__getitem__, set[str]().union(*held)))


class CoverageCache(Derived):
    """What those summaries cover that searches met."""

    __slots__ = ("_known",)
    begins_empty: ClassVar[bool] = True

    def __init__(self) -> None:
        self._known: dict[str, tuple[Coverage, ...]] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id in changed:
            self._known.pop(id, None)

    def read(self, row: Row) -> tuple[Coverage, ...]:
        """What a row of the scope covers."""
        known = self._known.get(row.id)
        if known is None:
            known = self._known[row.id] = find_coverage(row)
        return known


def read_coverage(replica: Replica[Any], row: Row) -> Sequence[Coverage]:
    """What a row of a scope covers; nothing for what is no summary."""
    return () if row.type != SUMMARY else replica.use_derived(CoverageCache, lambda cache: cache.read(row))


def is_represented(
    coverage: Sequence[Coverage],
    replicas: Mapping[Path, Replica[Any]],
    with_messages: Collection[Path],
    now: float,
    *,
    items_only: bool = False,
) -> bool:
    """Whether what a summary covers can be found itself, or must not be found.

    Args:
        replicas: All that is searched by path, the scope's first.
        with_messages: Those of whose messages any may be found, by their paths.
        items_only: Whether what is asked finds no messages, so that what is said of them is not found otherwise.
    """
    own = next(iter(replicas))
    seen = total = 0
    for each in coverage:
        path = (*own[:1], *each.path)
        total += len(each.ids)
        if (replica := replicas.get(path)) is None:
            continue
        if each.message_ids and path not in with_messages and path == own[: len(path)]:
            return True  # a parent's messages are not seen from below, nor what is said of them
        ids = each.ids if path in with_messages and not items_only else each.item_ids
        held = map(replica.state.rows.get, ids)  # look-ups are atomic
        seen += sum(there is not None and there.visible(now) for there in held)
    return total > 0 and 2 * seen >= total


def find_once(ranked: list[R], place: Callable[[R], tuple[Path, Row]], covers: Covers) -> list[R]:
    """The ranked rows, best first, without a summary after what it covers, and without what it covers after it.

    Of the summaries the first `MAX_SUMMARIES` stay.

    Args:
        place: The scope and the row of each.
    """
    rows = list(map(place, ranked))
    sums = {at: found for at, (path, row) in enumerate(rows) if row.type == SUMMARY and (found := covers(path, row))}
    if not sums:
        return ranked
    paths = {path for path, _ in rows}
    agent = rows[0][0][:1]
    covered_by = {
        (path, id): at
        for at, found in sums.items()
        for each in found
        if (path := (*agent, *each.path)) in paths
        for id in each.ids
    }
    gone: set[int] = set()
    for at, (path, row) in enumerate(rows):
        summary = covered_by.get((path, row.id))
        if summary is not None and summary not in gone:
            gone.add(max(at, summary))
    gone.update([at for at in sums if at not in gone][MAX_SUMMARIES:])
    return [each for at, each in enumerate(ranked) if at not in gone]
