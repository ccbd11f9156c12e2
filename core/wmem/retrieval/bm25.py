"""BM25 scores of a query over an index, with relevance feedback."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import compress
from operator import le, mul, sub
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from wmem.analysis.analyzer import SPELLED
from wmem.analysis.thesaurus import expand_term
from wmem.retrieval.arrays import ArrayOps, ListOps, has_numpy
from wmem.retrieval.postings import FEW_TEXTS, TF_BITS, TF_MAX, Columns, Postings, Saturation, TermStatistics, idf

if TYPE_CHECKING:
    from array import array


C = TypeVar("C")
_MAX_FEEDBACK_TERMS = 2_048  # distinct terms of a text that gives feedback: one of more is about nothing in particular
_MIN_TERMS_OF_ARRAYS = 1_024  # terms of the texts that give feedback for which numpy is faster than lists
_SPELLING_SHARE = 0.3
"""Share of a word's score for its spelling: texts that are equal otherwise are ordered by it, others hardly."""
_MIN_POSTINGS_RATIO = 64  # postings per possible text length from which a table of gains pays off
_BLOCK_SIZE = 64  # texts in a block, whose best score is found first
_MAX_ASIDE = 64  # texts set aside, that are looked past for those that give feedback
_MOST_COVERED = 12  # terms as rare as the rarest that a text is held against
_MAX_RELATED = 32  # related words that are looked for
_MAX_READ_RATIO = 4  # postings for each text looked for, up to which all are read
_NUMPY_MIN_TEXTS = 512  # fewest texts for which numpy is faster than lists, by more than it takes to import
_NUMPY_MIN_TERMS = 32_768  # the same for the terms of fewer texts, which are long


class Scores(Protocol[C]):
    """The scores of all texts: sums of what each term contributes."""

    def add(self, weighted_postings: "Sequence[tuple[array[int], float]]", saturation: Saturation, /) -> None:
        """Add the contributions of terms, each with its postings and the most it can contribute to a text."""
        ...

    def scores_of(self, numbers: C, /) -> C:
        """The scores of these texts; 0 for a text that contains no term."""
        ...

    def frequencies(self, postings: "array[int]", numbers: C, /) -> C:
        """How often a term, which has these postings, occurs in each of these texts."""
        ...

    def top(self, limit: int, /) -> tuple[C, C]:
        """The texts with the highest scores, best first, and their scores; equal ones in order of their numbers."""
        ...


class ListScores:
    """Scores by text number, in a list."""

    __slots__ = ("_columns", "_max_length", "_scores")

    def __init__(self, columns: Columns, max_length: int) -> None:
        self._columns = columns
        self._max_length = max_length
        self._scores = [0.0] * len(columns.lengths)

    def add(self, weighted_postings: "Sequence[tuple[array[int], float]]", saturation: Saturation, /) -> None:
        scores, lengths, (flat, slope) = self._scores, self._columns.lengths, saturation
        for entries, top in weighted_postings:
            if len(entries) > _MIN_POSTINGS_RATIO * self._max_length:
                tops = [(top * frequency, frequency + flat) for frequency in range(1, TF_MAX + 1)]
                ways = range(self._max_length + 1)
                gains = [[], *[[most / (least + slope * length) for length in ways] for most, least in tops]]
                for entry in entries:
                    number = entry >> TF_BITS
                    scores[number] += gains[entry & TF_MAX][lengths[number]]
                continue
            for entry in entries:
                number, frequency = entry >> TF_BITS, entry & TF_MAX
                scores[number] += top * frequency / (frequency + flat + slope * lengths[number])

    def scores_of(self, numbers: list[Any], /) -> list[Any]:
        return list(map(self._scores.__getitem__, numbers))

    def frequencies(self, postings: "array[int]", numbers: list[Any], /) -> list[Any]:
        if len(postings) <= _MAX_READ_RATIO * len(numbers):
            known = {entry >> TF_BITS: entry & TF_MAX for entry in postings}
            return [known.get(number, 0) for number in numbers]
        places = [bisect_left(postings, number << TF_BITS) for number in numbers]
        return [
            postings[place] & TF_MAX if place < len(postings) and postings[place] >> TF_BITS == number else 0
            for place, number in zip(places, numbers, strict=True)
        ]

    def top(self, limit: int, /) -> tuple[list[Any], list[Any]]:
        live = self._columns.live
        if 0 in live.tobytes():
            self._scores = list(map(mul, self._scores, live))
        scores = self._scores
        # The limit-th largest block maximum: at least `limit` texts score no less, one in each of those blocks.
        blocks = range(0, len(scores), _BLOCK_SIZE)
        largest = [max(scores[at : at + _BLOCK_SIZE]) for at in blocks]
        least = sorted(largest)[-limit] if 0 < limit <= len(largest) else 0.0
        found = [
            number
            for at, most in zip(blocks, largest, strict=True)
            if most and most >= least
            for number, score in enumerate(scores[at : at + _BLOCK_SIZE], at)
            if score and score >= least
        ]
        found.sort(key=scores.__getitem__, reverse=True)
        del found[limit:]
        return found, self.scores_of(found)


class Feedback(NamedTuple):
    """Pseudo relevance feedback: terms of the best texts are added to the query.

    Attributes:
        weight: Weight of the best added term; a term of the query has 1.
        texts: How many of the best texts the terms are taken from.
        terms: How many terms are added.
    """

    weight: float
    texts: int
    terms: int


class Coverage(NamedTuple):
    """How much of a query some texts have.

    Attributes:
        shares: The share of its terms that each has, by rarity; terms that no text has are the rarest.
        best: The largest share without names, and of at most twelve of the rarest terms: a long question covers
            little of itself. 1 for a query of names alone.
    """

    shares: Any
    best: float


def _sum_where(amounts: Sequence[float], number: Any, *frequencies: Any) -> Any:
    """The sum of the amounts whose terms occur in a text of this number, or in columns of texts."""
    total = 0.0 * number
    for amount, frequency in zip(amounts, frequencies, strict=True):
        total = total + amount * (frequency > 0)
    return total


class TermWeights(NamedTuple):
    """How much the terms of a question say.

    Attributes:
        by_term: The rarity of each.
        mass: What all say together; of a long question what twelve of the rarest do.
        rarest: What a term says that no text has.
    """

    by_term: Mapping[str, float]
    mass: float
    rarest: float


def _limit_mass(rarities: Collection[float]) -> float:
    """The sum of how rare the terms of a query are; of a long one that of twelve of the rarest."""
    return min(sum(rarities), _MOST_COVERED * max(rarities, default=0.0))


class QueryScorer:
    """The BM25 scores of one query; valid until the index changes.

    Args:
        names: Terms that say who is meant: they are no part of what a text covers.
        shared: Statistics of more texts than these; None for these alone.
        weights: Of terms that do not have the weight 1; ignored where there are no others.
        k1: Term frequency saturation.
        b: Length normalization, 0 to 1.
        spellings: Those of the query that differ from its terms, see `wmem.analysis.analyzer.Analysis`.
        only: Ids of the texts that may be found; None for all.
    """

    def __init__(
        self,
        postings: Postings,
        terms: Iterable[str],
        k1: float = 1.2,
        b: float = 0.75,
        *,
        spellings: Iterable[str] = (),
        weights: Mapping[str, float] | None = None,
        names: Collection[str] = (),
        shared: TermStatistics | None = None,
        only: Iterable[str] | None = None,
    ) -> None:
        self._postings = postings
        self._score_columns = postings.columns if only is None else postings.hide_others(only)
        terms = list(terms)
        self._terms = [number for term in dict.fromkeys(terms) if (number := postings.find_term(term)) is not None]
        self._shared = shared
        self._names = names
        self._unknown = [term for term in dict.fromkeys(terms) if postings.find_term(term) is None]
        self._weights = self._find_weights(weights) if weights else {}
        self._k1, self._b = k1, b
        self._term_saturation = self._make_saturation(
            *(postings.count(with_aside=not postings.leaves_aside) if shared is None else (shared.texts, shared.length))
        )
        self.ops: ArrayOps[Any]
        """Array operations for columns of numbers and scores."""
        self._scores, self.ops = self._new_scores()
        self._add_terms([(term, self._weights.get(term, 1.0)) for term in self._terms])
        if postings.spellings:
            self._add_terms(self._weigh_spellings(frozenset(spellings)))

    @property
    def terms(self) -> list[str]:
        """The query's terms that some text has, each once."""
        return list(map(self._postings.terms.__getitem__, self._terms))

    @property
    def columns(self) -> Columns:
        """Data of each text, by its number."""
        return self._postings.columns

    @property
    def number_by_slot(self) -> "array[int]":
        """The number of the text in each slot."""
        return self._postings.number_by_slot

    def number(self, id: str) -> int | None:
        """The number of a text; None for an unknown id."""
        return self._postings.number_by_id.get(id)

    def ids(self, numbers: Any) -> list[str]:
        """The ids of the texts with these numbers."""
        return list(map(self._postings.ids.__getitem__, self.ops.to_list(numbers)))

    def scores_of(self, numbers: Any) -> Any:
        """The scores of these texts, as a column; 0 for a text that shares no term with the query."""
        return self._scores.scores_of(numbers)

    def top(self, limit: int) -> tuple[Any, Any]:
        """Numbers and scores of the best texts, best first, at most `limit`; equal ones in order of their numbers."""
        return self._scores.top(max(0, limit))

    def hits(self, limit: int) -> list[tuple[str, float]]:
        """The ids and scores of the best texts, in the order of `found`."""
        numbers, scores = self.top(limit)
        return list(zip(self.ids(numbers), self.ops.to_list(scores), strict=True))

    def sum_shared(self, weights: Mapping[str, float], numbers: Any) -> Any:
        """For each of these texts the summed weights of the query's terms that it has, however often."""
        held = self._postings
        sums, _ = self._new_scores()
        sums.add([(held.by_term[term], weights[held.terms[term]]) for term in self._terms], Saturation(0.0, 0.0))
        return sums.scores_of(numbers)

    def group_scores(self, groups: Iterable[int]) -> dict[int, float]:
        """The BM25 scores of groups, each scored as one text."""
        held, count = self._postings, len(self._postings.group_sizes)
        flat, slope = self._make_saturation(count, sum(held.group_lengths.values()))
        scores = dict.fromkeys(groups, 0.0)
        for term in self._terms:
            frequencies = held.frequencies_by_group(term)
            top = self._weights.get(term, 1.0) * idf(count, len(frequencies)) * (self._k1 + 1)
            for group in frequencies.keys() & scores.keys():
                frequency = frequencies[group]
                scores[group] += top * frequency / (frequency + flat + slope * held.group_lengths[group])
        return scores

    def coverage(self, numbers: Any) -> Coverage:
        """How much of the query these texts have."""
        sums, held, unknown = self.ops, self._postings, [self._unknown_idf(term) for term in self._unknown]
        rarities = list(map(self._idf, self._terms))
        weights = [rarity * self._weights.get(term, 1.0) for term, rarity in zip(self._terms, rarities, strict=True)]
        if self._names:
            rarities = [
                0.0 if held.terms[term] in self._names else rarity
                for term, rarity in zip(self._terms, rarities, strict=True)
            ]
        found = [self._scores.frequencies(held.by_term[term], numbers) for term in self._terms]
        shares = sums.apply(partial(_sum_where, weights), numbers, *found)
        others = sums.apply(partial(_sum_where, rarities), numbers, *found) if self._names else shares
        if held.aside:  # what a summary has of it is judged by a passage
            counts = [number not in held.aside for number in sums.to_list(numbers)]
            others = sums.apply(mul, others, sums.ints(counts))
        rarities += unknown
        most = _limit_mass(rarities)
        total = sum(weights) + sum(unknown)
        return Coverage(
            sums.apply(partial(mul, 1 / total), shares) if total else shares,
            sums.maximum(others) / most if most else 1.0,
        )

    def weigh_terms(self, terms: Iterable[str] | None = None) -> TermWeights:
        """How much each term says by its rarity among all texts here, those set aside included; of few texts all alike.

        Args:
            terms: None for the query's, without names.
        """
        held = self._postings
        if terms is None:
            terms = [term for term in (*self.terms, *self._unknown) if term not in self._names]
        terms = list(dict.fromkeys(terms))
        texts = len(held.number_by_id)
        if texts < FEW_TEXTS:
            return TermWeights(dict.fromkeys(terms, 1.0), min(float(len(terms)), _MOST_COVERED), 1.0)
        rarities = [idf(texts, count) for count in held.text_counts(terms)]
        return TermWeights(dict(zip(terms, rarities, strict=True)), _limit_mass(rarities), idf(texts, 0))

    def share_of(self, terms: Iterable[str], numbers: Any) -> float:
        """The largest share of some terms, by rarity, that one of these texts has; what no text has is rarest."""
        held, distinct = self._postings, list(dict.fromkeys(terms))
        known = [number for term in distinct if (number := held.number_by_term.get(term)) is not None]
        rarities = list(map(self._idf, known))
        total = sum(rarities) + sum(self._unknown_idf(term) for term in distinct if term not in held.number_by_term)
        if not known or not total:
            return 0.0
        found = [self._scores.frequencies(held.by_term[term], numbers) for term in known]
        return self.ops.maximum(self.ops.apply(partial(_sum_where, rarities), numbers, *found)) / total

    def _unknown_idf(self, term: str) -> float:
        shared = self._shared
        if shared is not None:
            return shared.idf(term)
        return idf(self._postings.count(with_aside=not self._postings.leaves_aside)[0], 0)

    def _idf(self, term: int) -> float:
        """The rarity of a term: of one of the query among all texts that are ranked together."""
        shared = self._shared
        if shared is None or (name := self._postings.terms[term]) not in shared.with_term:
            return self._postings.idf(term)
        return shared.idf(name)

    def joint_scores(self, texts: Sequence[Sequence[int]], b: float) -> list[float]:
        """The BM25 scores of texts that are each made of several, with the length normalization `b`."""
        numbers = self.ops.ints([number for each in texts for number in each])
        owners = [at for at, each in enumerate(texts) for _ in each]
        lengths = [0] * len(texts)
        for at, length in zip(owners, self.ops.to_list(self.ops.take(self.columns.lengths, numbers)), strict=True):
            lengths[at] += length
        mean = sum(lengths) / max(1, len(texts))
        norms = [self._k1 * (1 - b + b * length / mean) if mean else self._k1 for length in lengths]
        scores = [0.0] * len(texts)
        for term in self._terms:
            frequencies = [0] * len(texts)
            found = self._scores.frequencies(self._postings.by_term[term], numbers)
            for at, frequency in zip(owners, self.ops.to_list(found), strict=True):
                frequencies[at] += frequency
            top = self._weights.get(term, 1.0) * self._idf(term) * (self._k1 + 1)
            for at, frequency in enumerate(frequencies):
                if frequency:
                    scores[at] += top * frequency / (frequency + norms[at])
        return scores

    def expand_query(self, feedback: Feedback, question_id: str | None = None) -> None:
        """Expand the query with the terms that weigh most in the best texts.

        Args:
            question_id: Id of the text that is the query itself; however long, it gives no terms.
        """
        held = self._postings
        question = None if question_id is None else self.number(question_id)
        # A summary tells of many things: its words are no hint at what a question is about.
        most = feedback.texts + min(len(held.aside), _MAX_ASIDE)
        numbers, scores = map(self.ops.to_list, self.top(most))
        if held.aside:
            others = [number not in held.aside for number in numbers]
            numbers, scores = (list(compress(each, others))[: feedback.texts] for each in (numbers, scores))
        texts = [
            (terms, score / scores[0])
            for number, score in zip(numbers, scores, strict=True)
            if number != question and len(terms := held.terms_at(number)) <= _MAX_FEEDBACK_TERMS
        ]
        few = sum(len(terms) for terms, _ in texts) < _MIN_TERMS_OF_ARRAYS
        sums: ArrayOps[Any] = ListOps() if few else self.ops
        terms, shares = sums.sum_shares([terms for terms, _ in texts], [share for _, share in texts], self._terms)
        if held.spellings:
            are_words = sums.ints([SPELLED not in held.terms[term] for term in sums.to_list(terms)])
            terms, shares = sums.select(terms, are_words), sums.select(shares, are_words)
        # Long texts have thousands of terms, of which only the best become numbers of Python.
        held_by = sums.take(held.document_frequencies, terms)
        if held.leaves_aside:
            held_by = sums.apply(sub, held_by, sums.ints(list(map(held.count_aside, sums.to_list(terms)))))
        counted, _ = held.count(with_aside=not held.leaves_aside)
        weights = sums.apply(mul, shares, sums.map_distinct(partial(idf, counted), held_by))
        least = sums.to_list(sums.take(weights, sums.top_indices(weights, feedback.terms)[-1:]))
        if not least:
            return
        enough = sums.apply(partial(le, least[0]), weights)
        best = list(zip(*(sums.to_list(sums.select(each, enough)) for each in (weights, terms)), strict=True))
        # Ties by the term itself: term numbers depend on texts that are gone.
        best.sort(key=lambda each: (-each[0], held.terms[each[1]]))
        self._add_terms([(term, feedback.weight * weight / best[0][0]) for weight, term in best[: feedback.terms]])

    def add_beside(self, weighted: Iterable[tuple[str, float]]) -> None:
        """Add terms beside the query's: they add to scores, and are no part of what a text covers of the query."""
        numbers, own = self._postings.number_by_term, set(self._terms)
        found = [(number, weight) for term, weight in weighted if (number := numbers.get(term)) is not None]
        self._add_terms([(number, weight) for number, weight in found if number not in own])

    def add_related(self, language: str, weight: float) -> None:
        """Add the rarest words related to the query's in its language, with a weight; a term of the query has 1."""
        held = self._postings
        terms = [term for term in (*self.terms, *self._unknown) if term not in self._names]
        related = dict.fromkeys(each for term in terms for each in expand_term(term, language))
        numbers = [number for each in related if (number := held.number_by_term.get(each)) is not None]
        known = frozenset(self._terms)
        found = [each for each in numbers if each not in known and held.document_frequencies[each]]
        found.sort(key=held.document_frequencies.__getitem__)
        self._add_terms([(each, weight) for each in found[:_MAX_RELATED]])

    def _weigh_spellings(self, spellings: frozenset[str]) -> list[tuple[int, float]]:
        """What a text gains that spells a word as the query does, or loses that does not: a share of the word's own."""
        held, weighted = self._postings, []
        spelled = {each.partition(SPELLED)[0] for each in spellings}
        for term in self._terms:
            for spelling in sorted(held.spellings.get(held.terms[term], ())):
                if spelling not in spellings and held.terms[term] in spelled:
                    continue
                share = _SPELLING_SHARE if spelling in spellings else -_SPELLING_SHARE
                number = held.number_by_term[spelling]
                weighted.append((number, share * self._idf(term) / self._idf(number)))
        return weighted

    def _find_weights(self, weights: Mapping[str, float]) -> dict[int, float]:
        """The weights by number; none where no other term is left to score by."""
        numbers = {self._postings.find_term(term): weight for term, weight in weights.items()}
        known = {number: weight for number, weight in numbers.items() if number is not None}
        return known if any(term not in known for term in self._terms) else {}

    def _add_terms(self, weighted: Iterable[tuple[int, float]]) -> None:
        held, most = self._postings, self._k1 + 1
        self._scores.add(
            [(held.by_term[term], weight * self._idf(term) * most) for term, weight in weighted], self._term_saturation
        )

    def _new_scores(self) -> "tuple[Scores[Any], ArrayOps[Any]]":
        held = self._postings
        if (len(held.ids) >= _NUMPY_MIN_TEXTS or held.total_length >= _NUMPY_MIN_TERMS) and has_numpy():
            from wmem.retrieval.arrays_numpy import NumpyOps, NumpyScores

            return NumpyScores(self._score_columns), NumpyOps(len(held.ids))
        return ListScores(self._score_columns, held.max_length), ListOps()

    def _make_saturation(self, count: int, terms: int) -> Saturation:
        return Saturation(self._k1 * (1 - self._b), self._k1 * self._b * count / max(1, terms))
