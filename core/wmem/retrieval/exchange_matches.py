"""Exchanges that match a query: what holds a record, as one text, and what answers the query asked before."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter, lt
from typing import Any, NamedTuple

from wmem.model.recall_profile import RecallProfile
from wmem.retrieval.bm25 import QueryScorer
from wmem.retrieval.exchanges import TOOL_RECORD
from wmem.retrieval.neighbors import NeighborGraph

_MAX_EXCHANGES = 40  # exchanges with a record that are scored as one text
_MAX_TEXTS = 512  # messages of these; none is looked for after so many
_MAX_ANSWERS = 8  # messages that answer one of the user
_LENGTH_NORMALIZATION = 0.5  # of an exchange: the length of a record says little
_ANSWER_SHARE = 0.999  # of the question's score, which comes first


class Answer(NamedTuple):
    """Texts that are lent a share of the score of the message that they answer.

    Attributes:
        question: A message of the user, or one with tool calls.
        part: Name of the share in reports: "answer", or "result" of a call.
    """

    question: int
    answers: Sequence[int]
    share: float
    part: str


class ExchangeMatches(NamedTuple):
    """What the exchanges of the candidates add to their scores; texts by number.

    Attributes:
        scores: The BM25 score of its exchange, for each text of an exchange with a record.
        best: The best score of an exchange, whether it has a record or not.
        answers: The results of calls, and the answers to messages of the user that have most of the query's words.
        records: Which of the texts are records.
    """

    scores: Mapping[int, float]
    best: float
    answers: Sequence[Answer]
    records: Collection[int]

    def numbers(self) -> Iterator[int]:
        """The texts that take part, with repetitions."""
        yield from self.scores
        for each in self.answers:
            yield from each.answers

    def renumber(self, places: Mapping[int, int]) -> "ExchangeMatches":
        """The same of other numbers; what has none is left out."""
        answers = [
            each._replace(
                question=places[each.question], answers=[places[number] for number in each.answers if number in places]
            )
            for each in self.answers
            if each.question in places
        ]
        scores = {places[number]: score for number, score in self.scores.items() if number in places}
        records = {places[number] for number in self.records if number in places}
        return ExchangeMatches(scores, self.best, answers, records)


NO_MATCHES = ExchangeMatches({}, 0.0, (), ())


def match_exchanges(
    matches: QueryScorer,
    neighbors: NeighborGraph,
    profile: RecallProfile,
    candidates: Any,
    *,
    coverage: Any,
    exclude: Collection[int],
) -> ExchangeMatches:
    """The exchanges of the candidates that match the query.

    Args:
        candidates: Numbers of texts, best first.
        coverage: The share of the query's words that each of them has.
        exclude: Numbers of texts that take no part.
    """
    exchanges = neighbors.exchanges
    sums = matches.ops
    of_slot = exchanges.numbers

    def members(exchange: int) -> list[int]:
        texts = map(matches.number_by_slot.__getitem__, exchanges.slots(exchange))
        return [number for number in texts if number not in exclude]

    slots = sums.to_list(sums.take(matches.columns.slots, candidates))
    asked_again: list[tuple[int, int, float]] = []  # the number of a message of the user, its slot, and its coverage
    if profile.answer < 1:
        covers = sums.apply(partial(lt, profile.answer), coverage)
        chosen = map(sums.to_list, (sums.select(candidates, covers), sums.select(coverage, covers)))
        texts_of = matches.columns.slots
        asked_again = [
            (number, texts_of[number], covered)
            for number, covered in zip(*chosen, strict=True)
            if neighbors.is_user[texts_of[number]]
        ]
    scores: dict[int, float] = {}
    best, answers = 0.0, list[Answer]()
    if profile.exchange and exchanges.has_records:
        met = [each for each in dict.fromkeys(map(of_slot.__getitem__, slots)) if each]
        # Where the query is asked again, a short exchange without a record must not stand behind a long one with one.
        again = {of_slot[slot] for _, slot, _ in asked_again}
        is_scored = [exchanges.has_record(each) or each in again for each in met]
        if any(is_scored):
            texts = list(map(members, met))
            joint = matches.joint_scores(texts, _LENGTH_NORMALIZATION)
            best = max(joint)
            ranked = sorted(zip(joint, texts, is_scored, strict=True), key=itemgetter(0), reverse=True)
            for score, text, is_wanted in ranked[:_MAX_EXCHANGES]:
                if is_wanted and len(scores) < _MAX_TEXTS:
                    scores |= dict.fromkeys(text, score)
                    answers += _find_results(matches, neighbors, text)
    for number, slot, covered in asked_again:
        share = _ANSWER_SHARE * (covered - profile.answer) / (1 - profile.answer)
        others = [each for each in members(of_slot[slot]) if each != number][:_MAX_ANSWERS]
        answers += [Answer(number, others, share, "answer")] if others else []
    records = {number for number in scores if exchanges.is_record[matches.columns.slots[number]]}
    return ExchangeMatches(scores, best, answers, records) if scores or answers else NO_MATCHES


def _find_results(matches: QueryScorer, neighbors: NeighborGraph, texts: Sequence[int]) -> Iterator[Answer]:
    """The records of an exchange, by the message of the assistant in front of them, which asked for them."""
    slots = matches.columns.slots
    results: dict[int, list[int]] = {}
    asked_by: int | None = None
    for number in texts:
        kind = neighbors.exchanges.is_record[slots[number]]
        if kind and asked_by is not None:
            results.setdefault(asked_by, []).append(number)
        if kind != TOOL_RECORD:
            asked_by = None if neighbors.is_user[slots[number]] else number
    return (Answer(call, found, _ANSWER_SHARE, "result") for call, found in results.items())
