"""BM25 full-text index, updated with every write.

Scores are the same as if removed texts had never been in the index.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, islice
from typing import NamedTuple

from wmem.analysis.analyzer import Analysis, Analyzer
from wmem.analysis.common_words import is_common
from wmem.analysis.query_terms import MAX_TERMS, condense_query, select_terms
from wmem.analysis.spelling import near_spellings
from wmem.analysis.stopwords import STOP_WORDS
from wmem.retrieval.bm25 import Feedback, QueryScorer
from wmem.retrieval.floor import Floor, Match, make_floor, word_strength
from wmem.retrieval.postings import Postings, TermStatistics

_LANGUAGES = tuple(STOP_WORDS)
_ENGLISH = _LANGUAGES.index("english")
_MIN_LANGUAGE_SHARE = 8  # a second language is looked at where it has an eighth of the newest texts
_MAX_NEAR_TERMS = 8  # by which texts are found that may say the same: in a large scope others are in too many
_MAX_UNKNOWN = 8  # more words that no text has make no floor higher
_LANGUAGE_SAMPLE = 256  # how many of the newest texts decide the language of a short query


class WordMatches(NamedTuple):
    """The texts that share terms with a query, by id, best first, and what they must have of it.

    Attributes:
        terms: The query's terms that some text has.
    """

    by_id: Mapping[str, Match]
    floor: Floor
    terms: Sequence[str]


class Index:
    """BM25 index of texts by id; deterministic: of equal scores the text added first comes first.

    A text may belong to a group, such as a session, which is scored by the words of all its texts.
    """

    __slots__ = ("_analyzer", "_languages", "_postings")

    def __init__(self, analyzer: Analyzer | None = None) -> None:
        self._analyzer = analyzer or Analyzer()
        self._languages: tuple[str, str] | None = None  # of the newest texts; None if they must be looked for
        self._postings = Postings()

    @property
    def postings(self) -> Postings:
        """The inverted index of the texts."""
        return self._postings

    @property
    def count(self) -> int:
        """How many texts are in the index."""
        return len(self._postings.number_by_id)

    def __contains__(self, id: object) -> bool:
        return id in self._postings.number_by_id

    def add(self, id: str, text: str, group: int = 0, slot: int = 0, *, aside: bool = False) -> None:
        """Add a text, or replace the one with this id, which keeps its place among the others.

        Args:
            group: Number of its group, from 1; 0 for none.
            slot: Its slot in the neighbour graph, see `wmem.retrieval.neighbors.NeighborGraph`; 0 for none.
            aside: Whether it repeats others; see `Postings.set_aside`.
        """
        self._languages = None
        language, terms, spellings = self._analyzer.analyze(text)
        frequencies: dict[str, int] = {}
        for term in terms:  # a `Counter` takes longer to make than most texts to count
            frequencies[term] = frequencies.get(term, 0) + 1
        for spelling in spellings:
            frequencies[spelling] = frequencies.get(spelling, 0) + 1
        held = self._postings
        is_known = id in held.number_by_id
        (held.replace if is_known else held.append)(
            id,
            frequencies.items(),
            length=len(terms),
            group=group,
            slot=slot,
            language=_LANGUAGES.index(language),
        )
        if aside:
            held.set_aside(id)
        if is_known and held.needs_compaction:
            self.compact()

    def move(self, slot: int, group: int) -> None:
        """Put the text in a slot into another group."""
        self._postings.move(self._postings.number_by_slot[slot], group)

    def remove(self, id: str) -> bool:
        """Remove a text; False when there is none with this id."""
        dropped = self._postings.drop(id)
        if dropped:
            self._languages = None
        if dropped and self._postings.needs_compaction:
            self.compact()
        return dropped

    def compact(self) -> None:
        """Leave nothing of removed texts, not even their terms."""
        if self._postings.has_tombstones:
            self._languages = None
            self._postings = self._postings.without_tombstones()

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """The ids of texts that share terms with the query and their scores, best first, at most `limit`."""
        return self.scorer(query).hits(limit)

    def find_near(self, text: str, limit: int) -> list[str]:
        """The ids of texts that share the rarest terms of a text, those that share most of them first."""
        held = self._postings
        terms = [term for term in self._analyze_query(text).terms if held.find_term(term) is not None]
        rarest = sorted(dict.fromkeys(terms), key=self._document_frequency)[:_MAX_NEAR_TERMS]
        scorer = QueryScorer(held, rarest)
        return scorer.ids(scorer.top(limit)[0])

    def match_words(self, query: str, share_of_best: float) -> WordMatches:
        """All that `search` would find, with what each text has of the query.

        Args:
            share_of_best: See `wmem.retrieval.floor.make_floor`.
        """
        held = self._postings
        language, terms, spellings = self._analyze_query(query)
        unknown = list(islice((term for term in terms if held.find_term(term) is None), _MAX_UNKNOWN))
        near = [each for term in unknown for each in near_spellings(term) if held.find_term(each) is not None]
        scorer = QueryScorer(held, [*self._select_terms(terms), *near], spellings=spellings)
        numbers, scores = scorer.top(self.count)
        asked = [*scorer.terms, *unknown]
        counted = self.count_texts(asked, with_aside=not held.leaves_aside)
        strengths = {
            term: word_strength(counted.with_term[term], counted.texts, common=is_common(term, language))
            for term in asked
        }
        evidence = scorer.sum_shared(strengths, numbers)
        matches = map(Match, *map(scorer.ops.to_list, (evidence, scores)))
        return WordMatches(
            dict(zip(scorer.ids(numbers), matches, strict=True)),
            make_floor(strengths.values(), counted.texts, share_of_best),
            scorer.terms,
        )

    def intersect_terms(self, terms: Sequence[str], ids: Sequence[str]) -> list[tuple[str, ...]]:
        """Which of the terms each of these texts has; none for an unknown id."""
        held = self._postings
        numbers = [held.number_by_id.get(id) for id in ids]
        return [
            tuple(term for term in terms if number is not None and held.contains(number, term)) for number in numbers
        ]

    def scorer(
        self,
        query: str,
        *,
        k1: float = 1.2,
        b: float = 0.75,
        feedback: Feedback | None = None,
        related: float = 0.0,
        question_id: str | None = None,
        cue: str = "",
        cue_weight: float = 1.0,
        names: Iterable[str] = (),
        shared: TermStatistics | None = None,
        only: Iterable[str] | None = None,
        beside: Sequence[tuple[str, float]] = (),
    ) -> QueryScorer:
        """The BM25 scores of all texts for the query; see `QueryScorer`.

        Args:
            related: Weight of words that are related to the query's; see `wmem.analysis.thesaurus`.
            question_id: Id of the text that is the query itself, which is no feedback.
            cue: Words that have another weight, as a name that says who is meant.
            names: Names in the query, which are no part of what a text covers of it.
            shared: Statistics of more texts than these; None for these alone.
            only: Ids of the texts that may be found; None for all.
            beside: Terms that are looked for beside the query's, with their weights.
        """
        weights = None
        if cue and cue_weight != 1:
            weights = dict.fromkeys(self._analyze_query(cue)[1], cue_weight)
        known_as = {term for name in names for term in self._analyze_query(name)[1]}
        language, terms, spellings = self._analyze_query(query)
        found = QueryScorer(
            self._postings,
            self._select_terms(terms),
            k1,
            b,
            spellings=spellings,
            weights=weights,
            names=known_as,
            shared=shared,
            only=only,
        )
        if feedback is not None and feedback.weight:
            found.expand_query(feedback, question_id)
        if related:
            found.add_related(language, related)
        if beside:
            found.add_beside(beside)
        return found

    def count_texts(
        self, terms: Sequence[str], ids: Iterable[str] | None = None, *, with_aside: bool = True
    ) -> TermStatistics:
        """How many texts there are, and how many have each of these terms.

        Args:
            ids: Of the texts that count; None for all.
            with_aside: Whether those set aside count, too.
        """
        held = self._postings
        if ids is not None:
            numbers = {number for id in ids if (number := held.number_by_id.get(id)) is not None}
            if not with_aside:
                numbers -= held.aside.keys()
            length = sum(map(held.columns.lengths.__getitem__, numbers))
            return TermStatistics(len(numbers), length, {term: held.count_among(term, numbers) for term in terms})
        counts = zip(terms, held.text_counts(terms, with_aside=with_aside), strict=True)
        return TermStatistics(*held.count(with_aside=with_aside), dict(counts))

    def query_terms(self, query: str) -> list[str]:
        """The distinct terms of a query, in its order; of a long one those in the fewest texts.

        How long it is makes no difference to what this costs: see `wmem.analysis.query_terms`.
        """
        return self._select_terms(self._analyze_query(query).terms)

    def terms(self, id: str) -> frozenset[str]:
        """The terms of a text; empty for an unknown id."""
        held = self._postings
        number = held.number_by_id.get(id)
        return frozenset() if number is None else frozenset(held.terms[term] for term in held.terms_at(number))

    def _document_frequency(self, term: str) -> int:
        number = self._postings.number_by_term.get(term)
        return 0 if number is None else self._postings.document_frequencies[number]

    def _analyze_query(self, query: str) -> Analysis:
        """The terms of a query, and those that its words have in texts that were taken for another language.

        A short text tells no language, and is taken for English.
        """
        main, second = self._list_languages()
        condensed = condense_query(query)
        made = self._analyzer.analyze_query(condensed, main)
        other = second if made.language == "english" else "english"
        if other == made.language:
            return made
        others = self._analyzer.map_stems(condensed, made.language, other)
        terms: dict[str, None] = {}
        for term in made.terms:
            there = others.get(term, term)
            found = [each for each in (term, there) if self._postings.find_term(each) is not None]
            terms.update(dict.fromkeys(found or [term]))
        return made._replace(terms=list(terms))

    def _select_terms(self, terms: list[str]) -> list[str]:
        return terms if len(terms) <= MAX_TERMS else select_terms(terms, self._postings.text_counts(terms))

    def number(self, id: str) -> int:
        """The number of a text, larger than that of each added before; -1 for an unknown id."""
        return self._postings.number_by_id.get(id, -1)

    def id_in_slot(self, slot: int) -> str:
        """The id of the text in a slot of the neighbour graph; "" for none."""
        number = self._postings.number_by_slot[slot] if slot < len(self._postings.number_by_slot) else 0
        return self._postings.ids[number] if slot and self._postings.columns.slots[number] == slot else ""

    def _list_languages(self) -> tuple[str, str]:
        """The language of most of the newest texts, and of most of them that are not English, if these are not few."""
        if self._languages is None:
            columns = self._postings.columns
            newest = bytes(islice(compress(reversed(columns.languages), reversed(columns.live)), _LANGUAGE_SAMPLE))
            counts = [newest.count(place) for place in range(len(_LANGUAGES))]
            main = max(range(len(counts)), key=counts.__getitem__)
            counts[_ENGLISH] = 0
            second = max(range(len(counts)), key=counts.__getitem__)
            if counts[second] * _MIN_LANGUAGE_SHARE < len(newest) or not newest:
                second = _ENGLISH
            self._languages = _LANGUAGES[main], _LANGUAGES[second]
        return self._languages
