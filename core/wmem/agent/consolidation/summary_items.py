"""Summaries that maintenance stores: an item that names its job, and points to what it covers.

A summary rolls: it is made anew, under its id, of what it covered and what came since. It is at most half as long as
that. One that would cover too much is left as it is, and another one begins.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from wmem.agent.types.settings import LEAST_SUMMARY_TOKENS
from wmem.flow import Flow
from wmem.model.change import Change, Decided, ItemPut
from wmem.model.coverage import SUMMARY, Coverage, find_coverage, find_job
from wmem.model.item import to_message
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.pack.wording import message_text
from wmem.scope.handle import Handle
from wmem.scope.summaries.flows import summarize_texts
from wmem.state import State

MAX_COVERED = 512
"""Items and messages that one summary covers."""
_SYSTEM_ROLES = ("system", "developer")


class Round(NamedTuple):
    """What one summary is made of.

    Attributes:
        former: The summary that it takes the place of; None begins another.
        rows: What it covers and can be read, oldest first.
        is_whole: Whether these are all that the former one covered; else its text is summed up with them.
    """

    former: Row | None
    rows: Sequence[Row]
    is_whole: bool = True


class SummaryDraft(NamedTuple):
    """A summary that is not stored yet."""

    text: str
    tokens: int
    covered_tokens: int


def plan_rounds(former: Row | None, covered: int, rows: Sequence[Row]) -> list[tuple[Row | None, Sequence[Row]]]:
    """Divide rows among summaries: as many as the former one has room for, the others begin new ones.

    Args:
        former: The newest summary there is.
        covered: How many it covers.
        rows: What no summary covers yet, oldest first.
    """
    room = 0 if former is None else max(0, MAX_COVERED - covered)
    rounds: list[tuple[Row | None, Sequence[Row]]] = [(former, rows[:room])] if room and rows else []
    return rounds + [
        (None, rows[begin : begin + MAX_COVERED]) for begin in range(min(room, len(rows)), len(rows), MAX_COVERED)
    ]


def draft_summary(handle: Handle, each: Round, most: int) -> Flow[SummaryDraft | None]:
    """The text of a summary; None where there is nothing to say, or it would not be shorter by half.

    Args:
        most: Tokens it takes at most.
    """
    texts = [text for row in each.rows if (text := text_of_row(row)).strip()]
    covered = sum(row.tokens or 0 for row in each.rows)
    if each.former is not None and not each.is_whole:
        texts.insert(0, load_json(each.former.content))
        covered += each.former.tokens or 0
    limit = min(most, covered // 2)
    if not texts or limit < LEAST_SUMMARY_TOKENS:
        return None
    made = yield from summarize_texts(handle, texts, limit)
    if not made.text.strip() or made.tokens > limit * 1.05:
        return None
    return SummaryDraft(made.text, made.tokens, covered)


def text_of_row(row: Row) -> str:
    """What an item or a message says, with its speaker; nothing for system text."""
    if row.role is None:
        text = load_json(row.content)
        return text if isinstance(text, str) else ""
    if row.role in _SYSTEM_ROLES:
        return ""
    message = to_message(row)
    text = message_text(message)
    return f"{message.name or message.role}: {text}" if text.strip() else ""


def to_summary_row(
    handle: Handle,
    id: str,
    draft: SummaryDraft,
    *,
    coverage: Iterable[Coverage],
    job: str,
    now: float,
    created_at: float,
    **fields: Any,
) -> Row:
    """The row of a summary.

    Args:
        created_at: When the newest of what it covers was created: it tells of that time.
        fields: Further fields of the item.
    """
    rest = {
        **{name: value for name, value in fields.items() if value is not None},
        "source": "system",
        "metadata": {"job": job},
        "sources": [each.to_source() for each in coverage],
    }
    return Row(
        id=id,
        content=dump_json(draft.text),
        created_at=created_at,
        updated_at=now,
        type=SUMMARY,
        length=len(draft.text),
        tokens=draft.tokens,
        counter=handle.settings.counter().name,
        access_count=1,
        rest=dump_json(rest),
    )


def to_changes(row: Row, draft: SummaryDraft, job: str, now: float) -> list[Change]:
    """The changes that store a summary, and the decision that says what it stands for."""
    covered = sum(len(each.ids) for each in find_coverage(row))
    parts = {"covered": float(covered), "covered_tokens": float(draft.covered_tokens)}
    return [ItemPut(row), Decided("summarized", row.id, job, draft.tokens, now, parts)]


def choose_id(state: State, key: Sequence[object]) -> str:
    """The id of a new summary: the same in every process, and not that of an earlier one.

    Args:
        key: What the summaries are told apart by, such as an episode.
    """
    number = 0
    while True:
        digest = hashlib.sha256(dump_json([*key, number])).hexdigest()[:24]
        id = f"summary-{digest}"
        if id not in state.rows and id not in state.erased:
            return id
        number += 1


def list_covered(rows: Iterable[Row], path: Sequence[str]) -> dict[str, Row]:
    """The summaries among rows by the ids that they cover of one scope, whatever its incarnation."""
    return {id: row for row in rows for each in find_coverage(row) if each.path == tuple(path) for id in each.ids}


def is_current(state: State, former: Row | None, id: str, coverage: Coverage) -> bool:
    """Whether a state is still as the one that a summary was drafted on: nobody was faster."""
    held = state.rows.get(id)
    if former is not None:
        return held is not None and _content(held) == _content(former)
    others = (row for each in state.items if (row := state.rows[each]).type == SUMMARY and find_job(row) is not None)
    return held is None and list_covered(others, coverage.path).keys().isdisjoint(coverage.ids)


def _content(row: Row) -> tuple[bytes, bytes | None, float | None]:
    return row.content, row.rest, row.deleted_at
