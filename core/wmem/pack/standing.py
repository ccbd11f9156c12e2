"""Standing requests in a pack: what the user asked to be followed from now on, in a section of the note of its own.

It takes at most a tenth of the room. What stands for every question comes first, newest first; then what stands for
some, as it bears on this one; then what the user prefers. With recall first a preference has no place of its own: it
is there if it bears more on the question, for its tokens, than what recall would quote instead. What was taken back
is not there, nor what a message of the prompt says anyway.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING, NamedTuple

from wmem.model.standing import PREFERENCE, RANKED_RULES, StandingRequest
from wmem.pack.render import quote_block, render_requests
from wmem.pack.request import Candidate
from wmem.pack.shares import STANDING_DIVISOR
from wmem.pack.wording import message_text, normalize_text
from wmem.tokens.counter import MESSAGE_OVERHEAD

if TYPE_CHECKING:
    from wmem.pack.selection import SelectedUnit, Selection

_MAX_MISSES = 8  # clauses that do not fit before the section counts as full
_LEAST_TOKENS = 4  # of a clause's line
_TOKENS_OF_DATE = 7


class StandingEntry(NamedTuple):
    """Clauses of one message in the section of requests, in their order.

    Attributes:
        tokens: Tokens of its lines, without dates.
        at: The instant to tell; NaN to tell none.
    """

    candidate: Candidate
    requests: tuple[StandingRequest, ...]
    tokens: int
    at: float

    @property
    def block(self) -> str:
        """Its lines."""
        return "\n".join(quote_block(each.text) for each in self.requests)

    @property
    def rule(self) -> str:
        """The rows of the table that matched."""
        return f"standing: {', '.join(dict.fromkeys(each.rule for each in self.requests))}"

    @property
    def tokens_cut(self) -> int:
        """Tokens of the rest of the message."""
        return max(0, self.candidate.tokens - MESSAGE_OVERHEAD - self.tokens)


class _Clause(NamedTuple):
    candidate: Candidate
    request: StandingRequest
    place: int  # from the newest


def add_standing_requests(selection: "Selection") -> int:
    """Put what stands into the note: as much as fits into a tenth of the room, or into what is left of it.

    Returns:
        Tokens that it takes.
    """
    if not selection.request.standing:
        return 0
    in_force = [*_list_in_force(selection)]
    clauses = _order(selection, in_force)
    limit = min(selection.room // STANDING_DIVISOR, selection.tokens_left)
    chosen = _select_clauses(selection, clauses, limit, _TOKENS_OF_DATE)
    dated = len(chosen) == len(clauses)
    if not dated:
        # Dates would take a third of so little room, and the order tells what is newer.
        chosen = _select_clauses(selection, clauses, limit, 0)
    set_entries(selection, _to_entries(selection, chosen, dated=dated))
    # The whole may have a few tokens more than its lines.
    while chosen and selection.standing_tokens > limit:
        chosen.pop()
        set_entries(selection, _to_entries(selection, chosen, dated=dated))
    places = {each.place for each in chosen}
    for clause in in_force:
        if clause.place not in places:
            _reject(selection, clause.candidate, "budget")
    return selection.standing_tokens


def estimate_request_tokens(selection: "Selection") -> int:
    """Tokens to keep free for the section while nobody knows what else will be in the prompt; 0 if it cannot fit."""
    limit = selection.room // STANDING_DIVISOR
    heading = tokens = 0
    for each in selection.request.standing:
        if each.ended or each.request.rule == PREFERENCE:
            continue
        heading = heading or _price_heading(selection)
        line = _count_line(selection, each.request) + _TOKENS_OF_DATE
        if heading + tokens + line > limit:
            break
        tokens += line
    return heading + tokens if tokens else 0


def request_share(selection: "Selection") -> int:
    """The section's share of the room: what all that stands would take, up to a tenth; no query changes it."""
    limit = selection.room // STANDING_DIVISOR
    tokens = 0
    for each in selection.request.standing:
        if not each.ended:
            tokens = tokens or _price_heading(selection)
            tokens += _count_line(selection, each.request) + _TOKENS_OF_DATE
            if tokens > limit:
                return limit
    return tokens


def remove_repeated_requests(selection: "Selection") -> None:
    """Take out what a message of the prompt says by now."""
    if not selection.standing:
        return
    said = _Said(selection)
    stays = []
    for entry in selection.standing:
        requests = tuple(each for each in entry.requests if not said.says(entry.candidate, each))
        if requests:
            tokens = sum(_count_line(selection, each) for each in requests)
            stays.append(entry._replace(requests=requests, tokens=tokens))
    if stays != selection.standing:
        set_entries(selection, stays)


def set_entries(selection: "Selection", entries: Sequence[StandingEntry]) -> None:
    """Replace the section, and charge what it takes in a note of its own."""
    clauses = [(entry.at, each.text) for entry in entries for each in entry.requests]
    section = render_requests(clauses, selection.request.zone) if clauses else ""
    selection.set_requests(entries, section, MESSAGE_OVERHEAD + selection.request.count(section) if section else 0)


def _list_in_force(selection: "Selection") -> Iterator[_Clause]:
    """The clauses, newest first, without what was taken back, is said again, or is in the prompt anyway."""
    said = _Said(selection)
    for place, (candidate, request, ended) in enumerate(selection.request.standing):
        if ended:
            _reject(selection, candidate, ended)
        elif not said.says(candidate, request):
            yield _Clause(candidate, request, place)


def _order(selection: "Selection", clauses: Iterable[_Clause]) -> list[_Clause]:
    """The clauses that may be told, first those that are told if the room is short."""
    scores = selection.request.standing_scores
    always: list[_Clause] = []
    sometimes: list[_Clause] = []
    preferences: list[_Clause] = []
    for clause in clauses:
        rule = clause.request.rule
        kind = always if rule not in RANKED_RULES else preferences if rule == PREFERENCE else sometimes
        kind.append(clause)
    for ranked in (sometimes, preferences):
        ranked.sort(key=lambda clause: -scores.get(clause.candidate.id, 0.0))
    requests = [*always, *sometimes]
    if preferences and not selection.options.tail:
        preferences = _list_worthwhile(selection, preferences, 0 if requests else _price_heading(selection))
    return [*requests, *preferences]


def _list_worthwhile(selection: "Selection", preferences: Iterable[_Clause], heading: int) -> list[_Clause]:
    """The preferences that bear more on the query, for their tokens, than what recall would quote instead."""
    scores, least = selection.request.standing_scores, _score_a_token(selection)
    worthwhile = []
    for clause in preferences:
        cost = heading + _count_line(selection, clause.request)
        if scores.get(clause.candidate.id, 0.0) < least * cost:
            break
        worthwhile.append(clause)
        heading = 0
    return worthwhile


def _score_a_token(selection: "Selection") -> float:
    """The score for each token of what recall would put into the room; 0 if all of it fits."""
    room, most = selection.tokens_left, selection.options.budget // 4
    tokens, score = 0, 0.0
    for each in selection.request.recalled:
        cost = min(each.candidate.tokens, most)
        if tokens + cost > room:
            return score / tokens if tokens else each.score / cost
        tokens += cost
        score += each.score
    return 0.0


def _select_clauses(
    selection: "Selection", clauses: Iterable[_Clause], limit: int, tokens_of_date: int
) -> list[_Clause]:
    """The clauses that fit."""
    left = limit - _price_heading(selection)
    chosen: list[_Clause] = []
    misses = 0
    for clause in clauses:
        if left < _LEAST_TOKENS or misses == _MAX_MISSES:
            break
        tokens = _count_line(selection, clause.request) + tokens_of_date
        if tokens <= left:
            left -= tokens
            chosen.append(clause)
        else:
            misses += 1
    return chosen


def _to_entries(selection: "Selection", clauses: Iterable[_Clause], *, dated: bool) -> list[StandingEntry]:
    """The clauses by message, oldest first."""
    entries: dict[str, StandingEntry] = {}
    for candidate, request, _ in sorted(clauses, key=lambda clause: -clause.place):
        before = entries.get(candidate.id)
        entries[candidate.id] = StandingEntry(
            candidate,
            (*before.requests, request) if before else (request,),
            (before.tokens if before else 0) + _count_line(selection, request),
            candidate.at if dated else nan,
        )
    return list(entries.values())


def _price_heading(selection: "Selection") -> int:
    """Tokens of the section without a clause."""
    cache = selection.request.clause_tokens
    if "" not in cache:
        cache[""] = MESSAGE_OVERHEAD + selection.request.count(render_requests(()))
    return cache[""]


def _count_line(selection: "Selection", request: StandingRequest) -> int:
    cache, clause = selection.request.clause_tokens, request.text
    if clause not in cache:
        cache[clause] = selection.request.count(f"{quote_block(clause)}\n")
    return cache[clause]


def _reject(selection: "Selection", candidate: Candidate, reason: str) -> None:
    selection.rejected_requests.append((candidate, f"standing: {reason}"))


class _Said:
    """What the messages of a prompt say."""

    def __init__(self, selection: "Selection") -> None:
        units: Iterable[SelectedUnit] = (*selection.pinned, *selection.selected.values())
        self._units = {member.id: each for each in units for member in each.unit.members}

    def says(self, candidate: Candidate, request: StandingRequest) -> bool:
        """Whether the message of a request is in the prompt, with its clause if it is truncated."""
        unit = self._units.get(candidate.id)
        if unit is None:
            return False
        text = normalize_text(request.text)
        return not unit.rendered.tokens_cut or any(
            text in normalize_text(message_text(message)) for message in unit.rendered.messages
        )
