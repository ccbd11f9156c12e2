"""Report of a pack: what became of each unit it considered, and why."""

from collections import Counter as Tally
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from wmem.display.html import excerpt
from wmem.model.prompt import DroppedUnits
from wmem.model.results import LazyReports, Placed, UnitReport
from wmem.pack.foreign_blocks import THOUGHTS
from wmem.pack.reasoning import sends_reasoning
from wmem.pack.render import NoteEntry
from wmem.pack.request import Candidate, PackOptions, PackRequest, RecalledCandidate, Rendered
from wmem.pack.selection import SelectedUnit, Selection
from wmem.pack.standing import StandingEntry
from wmem.pack.summary import ExtractiveSummary

_MAX_LISTED = 100  # dropped units that a context lists one by one
_MAX_NAMED = 5  # messages that the warning of blocks names


@dataclass(frozen=True, slots=True, kw_only=True)
class PackReport:
    """The reports of one pack."""

    included: Sequence[UnitReport]
    truncated: Sequence[UnitReport]
    dropped: DroppedUnits
    all_dropped: Sequence[UnitReport]
    warnings: tuple[str, ...]
    blocks_changed: bool
    """Whether blocks of an included message were changed for the provider."""


class _DroppedUnit(NamedTuple):
    """Messages dropped together, or one dropped item, and why."""

    members: Sequence[Candidate]
    rule: str


def build_report(
    request: PackRequest,
    selection: Selection,
    ordered: Sequence[SelectedUnit],
    excluded: Sequence[tuple[Candidate, str]],
) -> PackReport:
    """Report included units in prompt order and dropped ones: recalled first, then newest first.

    Totals are counted now; the reports are written on first access.

    Args:
        excluded: Candidates of pinned units that are not sent, and why.
    """
    entries, summary = tuple(selection.note_entries.values()), selection.summary
    out = _list_dropped(selection, ordered, excluded)
    totals = Tally([each.rule for each in out])
    looked_at = selection.conversation.read_ids.union(
        [each.id for each in request.pinned if each.role is not None],
        # The other half of a pinned exchange was searched for, wherever it lies.
        [id for kept in selection.pinned for id in kept.unit.ids],
        [each.id for each, _ in excluded],
    )
    recalled = {each.candidate.id: each for each in request.recalled}
    named = {id for id, each in recalled.items() if each.candidate.role is not None}
    named.update(each.id for each, _ in selection.rejected_requests)
    named.update(each.candidate.id for each in selection.standing)
    elsewhere = len(named - looked_at)
    if (unread := request.total - len(looked_at) - elsewhere) > 0:
        totals["older"] += unread
    place = partial(_place_in_scope, request.scope)
    dropped = LazyReports(lambda: [place(_unit_report(each.members, each.rule, recalled)) for each in out])
    changed = _list_changed_blocks(request, ordered) if request.changed_blocks else {}
    stays = LazyReports(
        lambda: [
            place(report)
            for report in _report_included(
                ordered, selection.standing, entries, summary, recalled, changed_blocks=changed
            )
        ]
    )
    return PackReport(
        included=LazyReports(lambda: [report for report in stays if not report.tokens_cut]),
        truncated=LazyReports(
            lambda: [report for report in stays if report.tokens_cut],
            lambda: _has_cut(ordered, selection.standing, entries),
        ),
        dropped=DroppedUnits(totals=dict(totals), best=LazyReports(lambda: dropped[:_MAX_LISTED])),
        all_dropped=dropped,
        warnings=(
            *_warnings(selection, ordered, totals, request.total),
            *_warn_of_blocks(request.options, changed),
        ),
        blocks_changed=bool(changed),
    )


def _list_dropped(
    selection: Selection, ordered: Sequence[SelectedUnit], excluded: Sequence[tuple[Candidate, str]]
) -> list[_DroppedUnit]:
    """What is dropped: recalled memories in neither note nor messages, then messages, newest first."""
    conversation = selection.conversation
    others = [*excluded, *((result, "superseded") for result in conversation.superseded)]
    # A result whose call was not read yet is not an orphan.
    waiting = "orphan" if conversation.exhausted else "older"
    others += [(result, waiting) for results in conversation.open_results.values() for _, result in results]
    named = {entry.candidate.id for entry in selection.standing} | selection.note_entries.keys()
    if selection.rejected or selection.rejected_requests or others:
        named |= {member.id for kept in ordered for member in kept.unit.members}
    drops = [_DroppedUnit((each.candidate,), why) for each, why in selection.rejected if each.candidate.id not in named]
    named |= {each.members[0].id for each in drops}
    for each, why in selection.rejected_requests:
        if each.id not in named:
            named.add(each.id)
            drops.append(_DroppedUnit((each,), why))
    for each, why in others:
        if each.id not in named:
            named.add(each.id)
            drops.append(_DroppedUnit((each,), why))
    # A recalled member has its own report.
    out = (
        (unit, [each for each in unit.members if each.id not in named] if named else unit.members)
        for unit in conversation.units
        if unit not in selection.selected
    )
    drops += [_DroppedUnit(rest, selection.dropped.get(unit, "older")) for unit, rest in out if rest]
    return drops


def _has_cut(ordered: Sequence[SelectedUnit], standing: Sequence[StandingEntry], entries: Sequence[NoteEntry]) -> bool:
    """Whether anything that is sent was cut."""
    messages = any(each.rendered.tokens_cut for each in ordered)
    return messages or any(each.tokens_cut for each in standing) or any(each.tokens_cut for each in entries)


def _report_included(
    ordered: Sequence[SelectedUnit],
    standing: Sequence[StandingEntry],
    entries: Sequence[NoteEntry],
    summary: ExtractiveSummary | None,
    by_id: Mapping[str, RecalledCandidate],
    *,
    changed_blocks: Mapping[str, Sequence[str]],
) -> list[UnitReport]:
    reports = [
        _unit_report(each.unit.members, each.rule, by_id, "messages", each.rendered)._replace(
            left_out=each.unit.left_out,
            blocks_left_out=tuple(dict.fromkeys(kind for id in each.unit.ids for kind in changed_blocks.get(id, ()))),
        )
        for each in ordered
    ]
    reports += [_unit_report((each.candidate,), each.rule, by_id, "note", each) for each in standing]
    reports += [_unit_report((each.candidate,), each.rule, by_id, "note", each) for each in entries]
    if summary is not None:
        reports.append(
            UnitReport(
                ids=(),
                fate="included",
                rule="summary",
                placed="note",
                tokens=summary.entry.tokens,
                says=excerpt(summary.entry.quote.block),
                sources=summary.sources,
            )
        )
    return reports


def _unit_report(
    members: Sequence[Candidate],
    rule: str,
    recalled_by_id: Mapping[str, RecalledCandidate],
    placed: Placed = "nowhere",
    served: Rendered | NoteEntry | StandingEntry | None = None,
) -> UnitReport:
    cut = served.tokens_cut if served else 0
    best = max(
        (recalled_by_id[each.id] for each in members if each.id in recalled_by_id),
        key=lambda each: each.score,
        default=None,
    )
    return UnitReport(
        ids=tuple(each.id for each in members),
        fate="dropped" if placed == "nowhere" else "truncated" if cut else "included",
        rule=rule,
        placed=placed,
        tokens=served.tokens if served else sum(each.tokens for each in members),
        tokens_cut=cut,
        score=best.score if best else None,
        parts=best.parts() if best else {},
        says=_excerpt_quote(served),
        scope=members[0].scope,
    )


def _place_in_scope(packed: str, report: UnitReport) -> UnitReport:
    """The report with the scope that its unit is from: the packed one, unless its candidate says otherwise."""
    return report if report.scope else report._replace(scope=packed)


def _excerpt_quote(served: Rendered | NoteEntry | StandingEntry | None) -> str:
    match served:
        case NoteEntry():
            return excerpt(served.quote.block)
        case StandingEntry():
            return excerpt(served.block)
        case _:
            return ""


def _warnings(
    selection: Selection, ordered: Sequence[SelectedUnit], totals: Mapping[str, int], total: int
) -> list[str]:
    warnings = []
    if orphans := totals.get("orphan"):
        warnings.append(f"left out {orphans} tool calls or results whose other half is missing")
    unusual = [each for each in ordered if not each.rendered.plain]
    if made_up := sum(len(each.unit.missing) for each in unusual if each.unit in selection.selected):
        warnings.append(f"answered {made_up} tool calls without result as interrupted")
    if unanswered := [name for each in unusual for name in each.unit.left_out]:
        names = ", ".join(dict.fromkeys(unanswered))
        warnings.append(f"left out {len(unanswered)} tool calls without a result, not the words beside them: {names}")
    if rounds := sum(reason == "in-flight" for reason in selection.dropped.values()):
        warnings.append(f"left out the oldest {rounds} rounds of the exchange in flight, which do not fit, even cut")
    if selection.summary is not None and selection.messages_uncovered > 0:
        warnings.append(
            f"the summary covers the newest {selection.summary.messages_covered} messages that are left out, "
            f"not the {selection.messages_uncovered} before them"
        )
    if total and not ordered:
        warnings.append("no message can be sent: see what was dropped, and why")
    return warnings


def _list_changed_blocks(request: PackRequest, ordered: Sequence[SelectedUnit]) -> Mapping[str, Sequence[str]]:
    """The included messages whose blocks were changed, and the kinds that they go without.

    Reasoning that would not be sent to its own provider either is none of them.
    """
    changed: dict[str, Sequence[str]] = {}
    in_flight = True
    for each in reversed(ordered):
        in_flight = in_flight and each.unit.head.role != "user"
        for member in each.unit.members:
            kinds = request.changed_blocks.get(member.id)
            if kinds is not None:
                wanted = sends_reasoning(member, request.options.reasoning, in_flight=in_flight)
                changed[member.id] = [kind for kind in kinds if wanted or kind not in THOUGHTS]
    return dict(reversed(changed.items()))


def _warn_of_blocks(options: PackOptions, changed: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """One warning that names the kinds of blocks that messages go without, these messages, and what to do."""
    ids = [repr(id) for id, kinds in changed.items() if kinds]
    if not ids:
        return
    kinds = ", ".join(dict.fromkeys(kind for each in changed.values() for kind in each))
    more = [f"{len(ids) - _MAX_NAMED} others"] if len(ids) > _MAX_NAMED else []
    yield (
        f"{options.profile} takes no {kinds}: left out of {', '.join((*ids[:_MAX_NAMED], *more))}; "
        "they are sent to the provider that they came from, under its profile or 'any'"
    )
