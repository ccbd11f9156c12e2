"""The account of a pack: what became of each unit that was looked at, and why."""

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wmem.model.context import Dropped, Placed, UnitReport
from wmem.model.shown import excerpt
from wmem.pack.choose import Choice, Kept
from wmem.pack.request import Candidate, PackRequest, Recalled

__all__ = ["Account", "account"]

_BEST = 100
"""Dropped units that a context names one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The reports of one pack."""

    included: tuple[UnitReport, ...]
    truncated: tuple[UnitReport, ...]
    dropped: Dropped
    all_dropped: tuple[UnitReport, ...]
    warnings: tuple[str, ...]


def account(request: PackRequest, choice: Choice, ordered: Sequence[Kept], loose: Sequence[Candidate]) -> Account:
    """What stays, in the order of the prompt, and what does not: recalled first, then the newest.

    Args:
        loose: Pinned results that belong to no call.
    """
    found = {each.candidate.id: each for each in request.recalled}
    stays = [_kept(each, found) for each in ordered] + [
        _report((noted.candidate,), noted.rule, found, "note", tokens=noted.tokens, cut=noted.cut, block=noted.block)
        for noted in choice.noted.values()
    ]
    if (digest := choice.digest) is not None:
        stays.append(
            UnitReport(
                ids=(),
                fate="included",
                rule="summary",
                placed="note",
                tokens=digest.noted.tokens,
                says=excerpt(digest.noted.block),
                sources=digest.sources,
            )
        )
    named = {id for report in stays for id in report.ids}
    dropped = _dropped(choice, found, named, loose)
    totals = Tally(report.rule for report in dropped)
    looked_at = choice.talk.seen | {each.id for each in request.pinned if each.role is not None}
    elsewhere = {id for id, each in found.items() if each.candidate.role is not None} - looked_at
    if (unread := request.total - len(looked_at) - len(elsewhere)) > 0:
        totals["older"] += unread
    return Account(
        included=tuple(report for report in stays if not report.tokens_cut),
        truncated=tuple(report for report in stays if report.tokens_cut),
        dropped=Dropped(totals=dict(totals), best=tuple(dropped[:_BEST])),
        all_dropped=tuple(dropped),
        warnings=tuple(_warnings(choice, ordered, totals, request.total)),
    )


def _dropped(
    choice: Choice, found: Mapping[str, Recalled], named: set[str], loose: Sequence[Candidate]
) -> list[UnitReport]:
    # What the note had no room for may stand among the messages.
    refused = [(each, reason) for each, reason in choice.refused if each.candidate.id not in named]
    reports = [_report((each.candidate,), reason, found) for each, reason in refused]
    named = named | {id for report in reports for id in report.ids}
    talk = choice.talk
    apart = [(result, "superseded") for result in talk.superseded]
    # A result whose call was not read yet is no orphan.
    waiting = "orphan" if talk.exhausted else "older"
    apart += [(result, waiting) for results in talk.open_results.values() for _, result in results]
    apart += [(result, "orphan") for result in loose]
    reports += [_report((each,), reason, found) for each, reason in apart if each.id not in named]
    for unit in talk.units:
        # A member that recall found has its own report.
        if unit not in choice.kept and (rest := [each for each in unit.members if each.id not in named]):
            reports.append(_report(rest, choice.dropped.get(unit, "older"), found))
    return reports


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
    best = None
    if found:
        best = max((found[each.id] for each in members if each.id in found), key=lambda each: each.score, default=None)
    return UnitReport(
        ids=tuple(each.id for each in members),
        fate="dropped" if placed == "nowhere" else "truncated" if cut else "included",
        rule=rule,
        placed=placed,
        tokens=sum(each.tokens for each in members) if tokens is None else tokens,
        tokens_cut=cut,
        score=best.score if best else None,
        parts=best.parts if best else {},
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
