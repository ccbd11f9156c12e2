"""What is weighed for a query: what shares words with it or means the like, and what stands beside that.

Written once for columns of numbers, whatever reckons with them; see `wmem.text.columns`.
"""

from collections.abc import Callable
from functools import partial
from operator import add, mul, ne
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from wmem.model.scoring import Recall
from wmem.text.cues import Cues
from wmem.text.dates import day_at, fits
from wmem.text.matches import Matches
from wmem.text.turns import Turns
from wmem.text.vectors import Near

if TYPE_CHECKING:
    from array import array

__all__ = ["Candidates", "candidates", "factors", "sessions"]

C = TypeVar("C")
_SPARE = 2
"""So many times as many are weighed in full: a factor may bring one up."""
_LENDS = 2
"""So many times the tokens of a message that borrows in full has the longest that lends in full."""
_NEAR = 2
"""Messages away to which one lends, and changes of speaker over which one lends farther."""
_REACH = 4
"""Messages away to which one lends at most."""
_DAY_S = 86_400.0


class Candidates(NamedTuple, Generic[C]):
    """Columns with a row for each that is weighed.

    Attributes:
        numbers: Those of the texts in the index.
        words: The BM25 scores of their own.
        near: What their neighbours lend them.
        vector: The squared cosines relative to the best, and what neighbours lend them of theirs.
        borrows: How much each takes of what is lent: a long one speaks for itself, unless
            what was answered is asked for, and a fact stands for itself.
    """

    numbers: C
    words: C
    near: C
    vector: C
    borrows: C


def candidates(
    matches: Matches, turns: Turns, cues: Cues, profile: Recall, limit: int, *, asked: str | None, meant: Near | None
) -> Candidates[Any]:
    """What is worth weighing, by what it shares with the query and what it borrows, best first.

    Args:
        cues: What the query asks beside its words.
        limit: How many will be wanted.
        asked: The message that is the question itself: it answers nothing, nor do those beside it for its sake.
        meant: How near in meaning each is, without the question.
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
        # The answer itself is asked for: however long, it is told by what was asked before it.
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
    """The BM25 score of the session of each, damped."""
    sums = matches.sums
    groups = sums.plain(sums.take(matches.columns.groups, chosen.numbers))
    scores = {0: 0.0, **matches.groups({*groups} - {0})}
    return sums.each(mul, chosen.borrows, sums.floats([scores[group] for group in groups]))


def factors(chosen: Candidates[Any], matches: Matches, turns: Turns, cues: Cues, profile: Recall) -> list[Any]:
    """What each is multiplied by: for its speaker, its user, its day and its telling a time."""
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
    """How well days match the dates asked for, by their number."""

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
    """What messages lend to those beside them: a question is matched, its answer is wanted.

    A long one lends less: it holds some words of every question, and was answered by nobody.
    Where one person says in several messages what others say in one, more of them are near.

    Returns:
        The numbers of those they lend to, and what tells how much by number.
    """
    sums, take = matches.sums, matches.sums.take
    slots = take(matches.columns.slots, numbers)
    most = _LENDS * profile.full_tokens
    lends = sums.at_most(sums.each(lambda each: most / each, take(turns.tokens, slots)), 1.0)
    lends = sums.each(mul, lends, scores)
    shares = (profile.next_to, profile.next_but_one, profile.next_but_one / 2, profile.next_but_one / 2)
    before, after = (_onward(matches, turns, slots, links) for links in (turns.before, turns.after))
    slots, amounts = [], []
    for share, beside in zip(shares, zip(before, after, strict=True), strict=True):
        if share:
            slots += beside
            amounts += [sums.each(partial(mul, share), lends)] * 2
    if not slots:
        none = sums.whole(())
        return none, sums.sums(none, none)
    in_order = sums.rows(slots)
    lent_to = take(matches.placed, sums.present(in_order, in_order))
    return lent_to, sums.sums(lent_to, sums.present(sums.rows(amounts), in_order))


def _onward(matches: Matches, turns: Turns, slots: Any, links: "array[int]") -> list[Any]:
    """The slots of the messages on one side of each, the nearest first; 0 for one that is out of reach."""
    sums, take = matches.sums, matches.sums.take
    changes = sums.each(partial(mul, 0), slots)
    voices, found = take(turns.voices, slots), []
    for away in range(1, _REACH + 1):
        slots, told = take(links, slots), voices
        voices = take(turns.voices, slots)
        changes = sums.each(lambda many, one, other: many + (one != other), changes, told, voices)
        found.append(slots if away <= _NEAR else sums.each(lambda slot, many: slot * (many <= _NEAR), slots, changes))
    return found
