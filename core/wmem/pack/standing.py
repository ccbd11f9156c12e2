"""Standing requests in a pack: what the user asked to be followed from now on, in a section of the note of its own.

It takes at most a tenth of the room. What stands for every question comes first, newest first; then what bears on
this one, as recall ranks it, requests before preferences. A clause of the same terms is there once. What was taken
back is not there, nor what a message of the prompt says anyway.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import inf, nan
from typing import TYPE_CHECKING, NamedTuple

from wmem.model.message import Message
from wmem.model.standing import PREFERENCE, RANKED_RULES, StandingRequest
from wmem.pack.render import normalize_text, quote_block, render_requests
from wmem.pack.request import Candidate
from wmem.pack.wording import message_text
from wmem.rules.standing import RequestsInForce
from wmem.tokens.counter import MESSAGE_OVERHEAD, message_tokens

if TYPE_CHECKING:
    from wmem.pack.selection import SelectedUnit, Selection

_SHARE = 10  # one part in so many of the room
# What a question asks for without sharing a word with the request that is about it.
_ASKS_HOW = re.compile(
    r"\b(?:how (?:do|can|should|to)|walk me through|explain|show me how|step by step)\b", re.IGNORECASE
)
_ON_EXPLAINING = re.compile(r"\b(?:step|explanation|explain|example)", re.IGNORECASE)
_ASKS_WHEN = re.compile(r"\b(?:when|what (?:date|day|time)|deadline)\b", re.IGNORECASE)
_ON_DATES = re.compile(r"\b(?:date|time|deadline|schedule)", re.IGNORECASE)
_MAX_CLAUSES = 64  # that are tried
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
    rank: float
    tokens: int = 0


def add_standing_requests(selection: "Selection") -> int:
    """Put what stands into the note: as much as fits into a tenth of the room, or into what is left of it.

    Returns:
        Tokens that it takes.
    """
    if not selection.request.standing:
        return 0
    in_force = [*_order(_list_in_force(selection))]
    clauses = [each._replace(tokens=_count_line(selection, each.request)) for each in in_force[:_MAX_CLAUSES]]
    for clause in in_force[_MAX_CLAUSES:]:
        _reject(selection, clause.candidate, "budget")
    limit = min(selection.room // _SHARE, selection.tokens_left)
    entries = _select_clauses(selection, clauses, limit, _TOKENS_OF_DATE)
    if sum(len(each.requests) for each in entries) < len(clauses):
        # Dates would take a third of so little room, and the order tells what is newer.
        entries = _select_clauses(selection, clauses, limit, 0)
    chosen = {(each.candidate.id, request) for each in entries for request in each.requests}
    for clause in clauses:
        if (clause.candidate.id, clause.request) not in chosen:
            _reject(selection, clause.candidate, "budget")
    selection.standing = entries
    tokens = price_requests(selection, entries)
    selection.tokens_left -= tokens
    return tokens


def estimate_request_tokens(selection: "Selection") -> int:
    """Tokens to keep free for the section while nobody knows what else will be in the prompt; 0 if it cannot fit."""
    requests = [each for _, requests, _ in selection.request.standing for each in requests]
    if not requests:
        return 0
    limit = selection.room // _SHARE
    heading = tokens = selection.request.count(render_requests((), selection.request.zone)) + MESSAGE_OVERHEAD
    for each in requests:
        line = _count_line(selection, each) + _TOKENS_OF_DATE
        if tokens + line > limit:
            break
        tokens += line
    return tokens if tokens > heading else 0


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
    selection.tokens_left += price_requests(selection, selection.standing) - price_requests(selection, stays)
    selection.standing = stays


def price_requests(selection: "Selection", entries: Sequence[StandingEntry]) -> int:
    """Tokens of the section, in a note of its own."""
    if not entries:
        return 0
    return message_tokens(
        Message.recall(selection.options.note_role, render_section(selection, entries)), selection.request.count
    )


def render_section(selection: "Selection", entries: Sequence[StandingEntry]) -> str:
    """The section of requests, the newest last; "" without any."""
    clauses = [(entry.at, each.text) for entry in entries for each in entry.requests]
    return render_requests(clauses, selection.request.zone) if clauses else ""


def _list_in_force(selection: "Selection") -> Iterator[_Clause]:
    """The clauses, newest first, without what was taken back, is said again, or is in the prompt anyway."""
    said = _Said(selection)
    reader = RequestsInForce(selection.request.analyzer)
    place = 0
    for candidate, requests, rank in selection.request.standing:
        for request in reversed(requests):
            place += 1
            reason = reader.find_reason(request)
            if reason is not None:
                _reject(selection, candidate, reason)
            elif not request.takes_back and not said.says(candidate, request):
                bears = _answers_kind(selection.request.query, request.text)
                yield _Clause(candidate, request, place, -1 if bears else inf if rank is None else rank)


def _answers_kind(query: str, clause: str) -> bool:
    """Whether a request is about the kind of answer that a question wants: a date, or an explanation."""
    return any(
        about.search(clause) is not None and asks.search(query) is not None
        for asks, about in ((_ASKS_HOW, _ON_EXPLAINING), (_ASKS_WHEN, _ON_DATES))
    )


def _order(clauses: Iterable[_Clause]) -> Iterator[_Clause]:
    ranked = []
    for clause in clauses:
        if clause.request.rule in RANKED_RULES:
            ranked.append(clause)
        else:
            yield clause
    yield from sorted(ranked, key=lambda clause: (clause.request.rule == PREFERENCE, clause.rank))


def _select_clauses(
    selection: "Selection", clauses: Iterable[_Clause], limit: int, tokens_of_date: int
) -> list[StandingEntry]:
    """The clauses that fit, by message, oldest first."""
    left = limit - MESSAGE_OVERHEAD - selection.request.count(render_requests(()))
    chosen: list[_Clause] = []
    for clause in clauses:
        if left < _LEAST_TOKENS:
            break
        if clause.tokens + tokens_of_date <= left:
            left -= clause.tokens + tokens_of_date
            chosen.append(clause)
    entries = _to_entries(chosen, dated=bool(tokens_of_date))
    # The whole may have a few tokens more than its lines.
    while chosen and price_requests(selection, entries) > limit:
        chosen.pop()
        entries = _to_entries(chosen, dated=bool(tokens_of_date))
    return entries


def _to_entries(clauses: Iterable[_Clause], *, dated: bool) -> list[StandingEntry]:
    entries: dict[str, StandingEntry] = {}
    for candidate, request, _, _, tokens in sorted(clauses, key=lambda clause: -clause.place):
        before = entries.get(candidate.id)
        entries[candidate.id] = StandingEntry(
            candidate,
            (*before.requests, request) if before else (request,),
            (before.tokens if before else 0) + tokens,
            candidate.at if dated else nan,
        )
    return list(entries.values())


def _count_line(selection: "Selection", request: StandingRequest) -> int:
    return selection.request.count(f"{quote_block(request.text)}\n")


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
