"""The rolling summary of a session: an item that names the messages it covers, made anew as they become more.

The messages stay as they are. A round takes what the former summary covered and what came since, so that nothing falls
between two rounds; what is made of it is stored at once, or nothing is.
"""

import hashlib
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import NamedTuple

from wmem.analysis.summarize import DEFAULT_RATIO
from wmem.flow import Flow
from wmem.model.change import Change, Decided, ItemPut
from wmem.model.checks import check_count
from wmem.model.context import Context
from wmem.model.coverage import SUMMARY, Coverage, find_coverage
from wmem.model.features import check_compaction
from wmem.model.history import Path
from wmem.model.item import MemoryItem, to_item, to_message
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.pack.wording import message_text
from wmem.rules.importance import importance
from wmem.rules.redaction import Redaction
from wmem.scope.handle import Handle
from wmem.scope.redaction import WITHHELD, HeldBackError, redact_message
from wmem.scope.summaries.flows import HELD_BACK, SummaryText, summarize_texts
from wmem.state import State

MODEL_TOKENS = 1_024
"""Tokens of a model's summary at most, if nobody says how many."""
MAX_COVERED = 2_048
"""Messages that one summary covers; for more another one begins."""
_LEAST_NEW = 16
"""Messages that a summary is rolled on with at the end of a turn, at least: each time a model is asked."""
_BUDGET_DIVISOR = 8  # the budget divided by this is what a pack reserves for a summary
_LEAST_TOKENS = 128
_RULE = "session"
_TRIES = 3
_SYSTEM_ROLES = ("system", "developer")
_FORMER = "Summary of what was before: "


class SessionSummary(NamedTuple):
    """What `Scope.summarize` has made.

    Attributes:
        item: The newest summary of the session, of type ``summary``; None for none. Its `sources` name what it covers.
        covered: The ids of the messages that it covers.
        changed: Whether it was made or made anew.
        by_model: Whether the memory's summarizer made it, just now.
        warning: Why nothing was made although there is something to summarize; "" if all went well.
    """

    item: MemoryItem | None
    covered: tuple[str, ...] = ()
    changed: bool = False
    by_model: bool = False
    warning: str = ""


class StoredSummary(NamedTuple):
    """A summary that is stored in the session whose messages it covers."""

    row: Row
    covered: tuple[str, ...]


class _Plan(NamedTuple):
    """A round.

    Attributes:
        former: What it takes the place of; None for the first summary.
        rows: The messages to cover, oldest first, as far as they are there.
        fresh: Those that no summary covers yet.
        is_intact: Whether the former one still tells of what is there, and of nothing else.
    """

    former: StoredSummary | None
    rows: Sequence[Row]
    fresh: Sequence[Row]
    is_intact: bool


def list_stored(state: State, path: Path, now: float) -> list[StoredSummary]:
    """The summaries of a session's messages that are stored in it, oldest first."""
    found = []
    for id in state.items:
        row = state.rows[id]
        if row.type == SUMMARY and row.visible(now):
            covered = [id for each in find_coverage(row) if each.path == path[1:] for id in each.message_ids]
            if covered:
                found.append(StoredSummary(row, tuple(covered)))
    return found


def roll_after_turn(handle: Handle, contexts: Sequence[Context]) -> Flow[None]:
    """Roll the summary on, if a prompt of the turn told in short what it had no room for; it never fails.

    What the prompt held is left for later rounds.
    """
    told = [each for each in contexts if any(unit.rule == "summary" for unit in each.included)]
    if not told or handle.settings.summarizer is None:
        return
    units = (*told[-1].included, *told[-1].truncated)
    keep = sum(len(unit.ids) for unit in units if unit.placed == "messages")
    most = min(MODEL_TOKENS, max(_LEAST_TOKENS, told[-1].budget // _BUDGET_DIVISOR))
    yield from summarize_session(handle, most, keep, least_new=_LEAST_NEW, ignore_pause=False)


def summarize_session(
    handle: Handle, max_tokens: int | None, keep: int, *, least_new: int = 1, ignore_pause: bool = True
) -> Flow[SessionSummary]:
    """See `Scope.summarize`.

    Args:
        least_new: Messages that no summary covers yet; with fewer nothing is done.
        ignore_pause: See `summarize_texts`.
    """
    check_compaction(handle.settings.features)
    check_count(keep, "keep")
    if max_tokens is not None:
        check_count(max_tokens, "max_tokens", 1)
    for _ in range(_TRIES):
        now = handle.settings.clock()
        replica, state = yield from handle.replica()
        with replica.lock:
            plan = _plan(state, handle.path, keep, now)
        if plan is None or (len(plan.fresh) < least_new and plan.is_intact):
            return _to_result(state, handle, now)
        made = yield from _make_text(handle, plan, max_tokens, ignore_pause=ignore_pause)
        if made.warning or not made.text:
            warning = f"nothing was stored: {made.warning or 'there is no text in what to sum up'}"
            return _to_result(state, handle, now)._replace(warning=warning)
        if (yield from handle.commit(partial(_decide, handle, plan, made, now), now)):
            stored = handle.engine.replica(handle.path).state
            return _to_result(stored, handle, now)._replace(changed=True, by_model=made.by_model)
    warning = f"the messages changed {_TRIES} times while they were summed up: nothing was stored"
    return _to_result(state, handle, now)._replace(warning=warning)


def _plan(state: State, path: Path, keep: int, now: float) -> _Plan | None:
    """What to sum up, whether it is again; None if there is nothing."""
    messages = list(reversed(list(state.newest_messages())))
    rows = messages[: _find_cut(messages, keep)]
    stored = list_stored(state, path, now)
    by_id = {row.id: row for row in rows}
    taken = {id for each in stored for id in each.covered}
    fresh = [row for row in rows if row.id not in taken]
    former = next(reversed(stored), None)
    if former is not None and len(former.covered) >= MAX_COVERED and fresh:
        former = None
    before = () if former is None else former.covered
    fresh = fresh[: MAX_COVERED - len(before)]
    there = [by_id[id] for id in before if id in by_id]
    if not there and not fresh:
        return None
    is_intact = former is None or (
        state.withdrawn.keys().isdisjoint(before) and all(row.updated_at <= former.row.updated_at for row in there)
    )
    return _Plan(former, (*there, *fresh), fresh, is_intact)


def _find_cut(rows: Sequence[Row], keep: int) -> int:
    """How many of the oldest messages are not kept as they are; results stay with their calls."""
    cut = max(0, len(rows) - keep)
    while 0 < cut < len(rows) and rows[cut].role == "tool":
        cut -= 1
    return cut


def _make_text(handle: Handle, plan: _Plan, max_tokens: int | None, *, ignore_pause: bool) -> Flow[SummaryText]:
    rows, former = plan.rows, plan.former
    texts: list[str] = []
    covered = 0 if former is None else len(former.covered)
    is_whole = len(rows) == covered + len(plan.fresh)
    # A model reads what it said before, instead of all again; extracts are of the messages, if they are there.
    if former is not None and plan.is_intact and (handle.settings.summarizer is not None or not is_whole):
        texts.append(f"{_FORMER}{load_json(former.row.content)}")
        rows = plan.fresh
    try:
        texts += [text for row in rows if (text := _speaker_text(row, handle.settings.redaction))]
    except HeldBackError:
        return SummaryText("", 0, by_model=False, warning=HELD_BACK)
    if max_tokens is None:
        tokens = sum(map(handle.settings.counter(), texts))
        max_tokens = MODEL_TOKENS if handle.settings.summarizer is not None else max(1, int(DEFAULT_RATIO * tokens))
    return (yield from summarize_texts(handle, texts, max_tokens, ignore_pause=ignore_pause))


def _speaker_text(row: Row, redaction: Redaction | None) -> str:
    """What a message says, redacted field by field, behind its speaker; nothing for system text."""
    if row.role in _SYSTEM_ROLES:
        return ""
    message = to_message(row)
    if redaction is not None and redaction.active:
        message, counts = redact_message(redaction, message)
        if WITHHELD in counts:
            raise HeldBackError(HELD_BACK)
    text = "" if message.recalled else message_text(message).strip()
    return f"{message.name or message.role}: {text}" if text else ""


def _to_row(handle: Handle, state: State, plan: _Plan, summary: SummaryText, now: float) -> Row:
    before = () if plan.former is None else plan.former.covered
    ids = dict.fromkeys((*(before if plan.is_intact else ()), *(row.id for row in plan.rows)))
    incarnation = 0 if handle.incarnation is None else handle.incarnation.chain
    coverage = Coverage(handle.path[1:], incarnation, (), tuple(ids))
    key = (*handle.path, incarnation, next(iter(ids)))
    rest = {
        "kind": "conversation",
        "source": "model" if summary.by_model else "system",
        "sources": [coverage.to_source()],
    }
    return Row(
        id=_choose_id(state, key) if plan.former is None else plan.former.row.id,
        content=dump_json(summary.text),
        created_at=now if plan.former is None else plan.former.row.created_at,
        updated_at=now,
        type=SUMMARY,
        length=len(summary.text),
        tokens=summary.tokens,
        counter=handle.settings.counter().name,
        rest=dump_json(rest),
    )


def _choose_id(state: State, key: Sequence[object]) -> str:
    """The id of a new summary: the same in every process, and none that was used."""
    for number in count():
        id = f"summary-{hashlib.sha256(dump_json([*key, number])).hexdigest()[:24]}"
        if id not in state.rows and id not in state.erased:
            return id
    raise AssertionError


def _decide(
    handle: Handle, plan: _Plan, summary: SummaryText, now: float, state: State
) -> tuple[Sequence[Change], bool]:
    """Store the summary, unless what it was made of is not there any more as it was."""
    taken = {id for each in list_stored(state, handle.path, now) for id in each.covered}
    if not taken.isdisjoint(row.id for row in plan.fresh):
        return [], False  # somebody was faster
    former = () if plan.former is None else (plan.former.row,)
    for row in (*former, *plan.rows):
        held = state.rows.get(row.id)
        if held is None or held.content != row.content or held.withdrawn_at is not None or held.deleted_at is not None:
            return [], False
    row = _to_row(handle, state, plan, summary, now)
    covered = sum(each.tokens or 0 for each in plan.rows)
    parts = {"covered": float(len(plan.rows)), "covered_tokens": float(covered)}
    return [ItemPut(row), Decided("summarized", row.id, _RULE, row.tokens or 0, now, parts)], True


def _to_result(state: State, handle: Handle, now: float) -> SessionSummary:
    newest = next(reversed(list_stored(state, handle.path, now)), None)
    if newest is None:
        return SessionSummary(None)
    return SessionSummary(to_item(newest.row, importance(newest.row, now)), newest.covered)
