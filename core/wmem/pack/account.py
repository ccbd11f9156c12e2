"""Report of a pack: what became of each unit it considered, and why."""

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wmem.model.context import Dropped
from wmem.model.reports import Placed, Reports, UnitReport
from wmem.model.shown import excerpt
from wmem.pack.choose import Choice, Kept
from wmem.pack.digest import Digest
from wmem.pack.render import Noted
from wmem.pack.request import Candidate, PackRequest, Recalled

__all__ = ["Account", "account"]

_BEST = 100
"""Dropped units that a context lists one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The reports of one pack."""

    included: Sequence[UnitReport]
    truncated: Sequence[UnitReport]
    dropped: Dropped
    all_dropped: Sequence[UnitReport]
    warnings: tuple[str, ...]


class _Out(NamedTuple):
    """Messages dropped together, or one dropped item, and why."""

    members: Sequence[Candidate]
    rule: str


def account(
    request: PackRequest, choice: Choice, ordered: Sequence[Kept], apart: Sequence[tuple[Candidate, str]]
) -> Account:
    """Report included units in prompt order and dropped ones: recalled first, then newest first.

    Totals are counted now; the reports are written on first access.

    Args:
        apart: Candidates of pinned units that are not sent, and why.
    """
    noted, digest = tuple(choice.noted.values()), choice.digest
    out = _out(choice, ordered, apart)
    totals = Tally([each.rule for each in out])
    looked_at = choice.talk.seen.union(
        [each.id for each in request.pinned if each.role is not None],
        # The other half of a pinned exchange was searched for, wherever it lies.
        [id for kept in choice.pinned for id in kept.unit.ids],
        [each.id for each, _ in apart],
    )
    elsewhere = sum(
        each.candidate.role is not None and each.candidate.id not in looked_at for each in _once(request.recalled)
    )
    if (unread := request.total - len(looked_at) - elsewhere) > 0:
        totals["older"] += unread
    recalled = request.recalled
    dropped = Reports(lambda: _told_out(out, recalled))
    stays = Reports(lambda: _told_in(ordered, noted, digest, recalled))
    return Account(
        included=Reports(lambda: [report for report in stays if not report.tokens_cut]),
        truncated=Reports(lambda: [report for report in stays if report.tokens_cut]),
        dropped=Dropped(totals=dict(totals), best=Reports(lambda: dropped[:_BEST])),
        all_dropped=dropped,
        warnings=tuple(_warnings(choice, ordered, totals, request.total)),
    )


def _once(recalled: Sequence[Recalled]) -> Iterable[Recalled]:
    return {each.candidate.id: each for each in recalled}.values()


def _out(choice: Choice, ordered: Sequence[Kept], pinned: Sequence[tuple[Candidate, str]]) -> list[_Out]:
    """What is dropped: recalled memories in neither note nor messages, then messages, newest first."""
    named = {member.id for kept in ordered for member in kept.unit.members} | choice.noted.keys()
    found = [_Out((each.candidate,), why) for each, why in choice.refused if each.candidate.id not in named]
    named |= {each.members[0].id for each in found}
    talk = choice.talk
    apart = [*pinned, *((result, "superseded") for result in talk.superseded)]
    # A result whose call was not read yet is not an orphan.
    waiting = "orphan" if talk.exhausted else "older"
    apart += [(result, waiting) for results in talk.open_results.values() for _, result in results]
    for each, why in apart:
        if each.id not in named:
            named.add(each.id)
            found.append(_Out((each,), why))
    # A recalled member has its own report.
    out = (
        (unit, [each for each in unit.members if each.id not in named])
        for unit in talk.units
        if unit not in choice.kept
    )
    found += [_Out(rest, choice.dropped.get(unit, "older")) for unit, rest in out if rest]
    return found


def _told_out(out: Sequence[_Out], recalled: Sequence[Recalled]) -> list[UnitReport]:
    found = {each.candidate.id: each for each in recalled}
    return [_report(each.members, each.rule, found) for each in out]


def _told_in(
    ordered: Sequence[Kept], noted: Sequence[Noted], digest: Digest | None, recalled: Sequence[Recalled]
) -> list[UnitReport]:
    found = {each.candidate.id: each for each in recalled}
    told = [_kept(each, found) for each in ordered]
    told += [
        _report((each.candidate,), each.rule, found, "note", tokens=each.tokens, cut=each.cut, block=each.quote.block)
        for each in noted
    ]
    if digest is not None:
        told.append(
            UnitReport(
                ids=(),
                fate="included",
                rule="summary",
                placed="note",
                tokens=digest.noted.tokens,
                says=excerpt(digest.noted.quote.block),
                sources=digest.sources,
            )
        )
    return told


def _kept(kept: Kept, found: Mapping[str, Recalled]) -> UnitReport:
    served = kept.served
    return _report(kept.unit.members, kept.rule, found, "messages", tokens=served.tokens, cut=served.cut)


def _report(
    members: Sequence[Candidate],
    rule: str,
    found: Mapping[str, Recalled],
    placed: Placed = "nowhere",
    *,
    tokens: int | None = None,
    cut: int = 0,
    block: str = "",
) -> UnitReport:
    best = max((found[each.id] for each in members if each.id in found), key=lambda each: each.score, default=None)
    return UnitReport(
        ids=tuple(each.id for each in members),
        fate="dropped" if placed == "nowhere" else "truncated" if cut else "included",
        rule=rule,
        placed=placed,
        tokens=sum(each.tokens for each in members) if tokens is None else tokens,
        tokens_cut=cut,
        score=best.score if best else None,
        parts=best.parts() if best else {},
        says=excerpt(block),
    )


def _warnings(choice: Choice, ordered: Sequence[Kept], totals: Mapping[str, int], total: int) -> list[str]:
    warnings = []
    if orphans := totals.get("orphan"):
        warnings.append(f"left out {orphans} tool calls or results whose other half is missing")
    if made_up := sum(len(kept.unit.missing) for kept in choice.kept.values()):
        warnings.append(f"answered {made_up} tool calls without result as interrupted")
    if "in-flight" in choice.dropped.values():
        warnings.append("a part of the exchange in flight does not fit, even cut")
    if choice.digest is not None and choice.uncovered > 0:
        warnings.append(
            f"the summary covers the newest {choice.digest.covered} messages that are left out, "
            f"not the {choice.uncovered} before them"
        )
    if total and not ordered:
        warnings.append("no message can be sent: see what was dropped, and why")
    return warnings
