"""Candidates to score for a query: BM25 matches, vector matches, and their neighbours.

Written once for columns of numbers, plain lists or numpy arrays; see `wmem.text.columns`.
"""

from collections.abc import Callable
from functools import partial
from operator import add, mul, ne
from typing import Any, Generic, NamedTuple, TypeVar

from wmem.model.scoring import Recall
from wmem.text.cues import Cues
from wmem.text.dates import day_at, fits
from wmem.text.matches import Matches
from wmem.text.turns import NEAR, Turns
from wmem.text.vectors import Near

__all__ = ["Candidates", "candidates", "factors", "sessions"]

C = TypeVar("C")
_SPARE = 2
"""Candidates scored per result wanted: a factor may raise one."""
_LENDS = 2
"""The longest message that lends in full has so many times the tokens of the longest that borrows in full."""
_DAY_S = 86_400.0


class Candidates(NamedTuple, Generic[C]):
    """Columns with a row for each candidate.

    Attributes:
        numbers: Numbers of the texts in the index.
        words: Their own BM25 scores.
        near: The BM25 scores that their neighbours lend them.
        vector: The squared cosines relative to the best, plus those their neighbours lend.
        borrows: The share each takes of what is lent: less for a long message, unless the
            query asks for what was answered, and none for a fact.
    """

    numbers: C
    words: C
    near: C
    vector: C
    borrows: C


def candidates(
    matches: Matches, turns: Turns, cues: Cues, profile: Recall, limit: int, *, asked: str | None, meant: Near | None
) -> Candidates[Any]:
    """The candidates by their own scores and those their neighbours lend, best first.

    Args:
        cues: The intent of the query beside its words.
        limit: How many results will be wanted.
        asked: Id of the message that is the query itself: it is no candidate and lends nothing to its neighbours.
        meant: Vector similarities, without that message.
    """
    sums, take = matches.sums, matches.sums.take
    found, scores = matches.found(limit)
    if asked is not None:
        others = sums.each(partial(ne, matches.number(asked)), found)
        found, scores = sums.present(found, others), sums.present(scores, others)
    lent_to, lent = _lent(matches, turns, profile, found, scores)
    gathered, felt = [found, lent_to], None
    if meant is not None and profile.vector:
        best = meant.best(limit)
        alike = sums.whole([number for id in best if (number := matches.number(id)) is not None])
        felt_by, felt = _lent(matches, turns, profile, alike, sums.floats(list(best.values())))
        gathered += [alike, felt_by]
    numbers = sums.distinct(gathered)
    words = matches.of(numbers)
    slots, full = take(matches.columns.slots, numbers), profile.full_tokens
    borrows = sums.at_most(sums.each(lambda each: full / each, take(turns.tokens, slots)), 1.0)
    if cues.second_person:
        # The query asks for an answer itself: however long, it is found by the question before it.
        borrows = sums.each(lambda each, user: user * each + (1 - user), borrows, take(turns.user, slots))
    near = sums.each(mul, borrows, lent(numbers))
    known = sums.each(add, words, near)
    vector = sums.each(partial(mul, 0.0), words)
    if meant is not None:
        vector = sums.floats(list(map(meant.of, matches.ids(numbers))))
        if felt is not None:
            vector = sums.each(add, vector, sums.each(mul, borrows, felt(numbers)))
        scale = profile.vector * (sums.most(scores) or 1.0)
        known = sums.each(lambda each, meaning: each + scale * meaning, known, vector)
    best_known = sums.largest(known, _SPARE * limit)
    return Candidates(*(take(column, best_known) for column in (numbers, words, near, vector, borrows)))


def sessions(chosen: Candidates[Any], matches: Matches) -> Any:
    """The damped BM25 score of each candidate's session."""
    sums = matches.sums
    groups = sums.take(matches.columns.groups, chosen.numbers)
    scores = matches.groups({*sums.plain(groups)} - {0})
    of_group = sums.sums(sums.whole(list(scores)), sums.floats(list(scores.values())))
    return sums.each(mul, chosen.borrows, of_group(groups))


def factors(chosen: Candidates[Any], matches: Matches, turns: Turns, cues: Cues, profile: Recall) -> list[Any]:
    """The score factors of each candidate: speaker, user, date, and whether it tells a time."""
    sums = matches.sums
    slots = sums.take(matches.columns.slots, chosen.numbers)
    ones = sums.factor(slots, 1.0)
    speaker, day = ones, ones
    if cues.speaker is not None:
        said_by = [turns.speakers[slot] == cues.speaker for slot in sums.plain(slots)]
        speaker = sums.factor(sums.whole(said_by), profile.speaker)
    if cues.dates:
        fitting = _Fitting(cues)
        days = [1.0 + profile.date * fitting[at // _DAY_S] for at in sums.plain(sums.take(turns.at, slots))]
        day = sums.floats(days)
    of_user = cues.first_person and not cues.second_person
    return [
        speaker,
        sums.factor(sums.take(turns.user, slots), profile.user) if of_user else ones,
        day,
        sums.factor(sums.take(turns.timed, slots), profile.when) if cues.when else ones,
    ]


class _Fitting(dict[float, float]):
    """How well days match the dates of the query, by day number."""

    def __init__(self, cues: Cues) -> None:
        super().__init__()
        self._dates = cues.dates

    def __missing__(self, number: float) -> float:
        day = day_at(number * _DAY_S)
        self[number] = 0.0 if day is None else fits(self._dates, day)
        return self[number]


def _lent(
    matches: Matches, turns: Turns, profile: Recall, numbers: Any, scores: Any
) -> tuple[Any, Callable[[Any], Any]]:
    """The scores that messages lend to their neighbours: a question matches, its answer is wanted.

    A long message lends less: it has some words of every query, and nothing answers it. Where one
    person splits over several messages what others say in one, more of them are neighbours.

    Returns:
        The numbers of the texts lent to, and a function from numbers to the scores lent.
    """
    sums, take = matches.sums, matches.sums.take
    slots = take(matches.columns.slots, numbers)
    most = _LENDS * profile.full_tokens
    lends = sums.at_most(sums.each(lambda each: most / each, take(turns.tokens, slots)), 1.0)
    lends = sums.each(mul, lends, scores)
    far = profile.next_but_one / 2
    shares = [share for share in (profile.next_to, profile.next_but_one, far, far) for _ in range(2)]
    columns = [column for column, share in enumerate(shares) if share]
    near = sums.rows(turns.near, NEAR, slots, columns)
    lent_to = take(matches.placed, sums.present(near, near))
    lent = sums.present(sums.products(lends, [shares[column] for column in columns]), near)
    return lent_to, sums.sums(lent_to, lent)
