"""Summaries that maintenance stores: an item that names its job, and points to what it covers.

A summary rolls: it is made anew, under its id, of what it covered and what came since. It is at most half as long as
that. One that would cover too much is left as it is, and another one begins.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from wmem.agent.types.settings import LEAST_SUMMARY_TOKENS
from wmem.flow import Flow
from wmem.model.change import Change, Decided, ItemPut
from wmem.model.coverage import SUMMARY, Coverage, find_coverage
from wmem.model.item import to_message
from wmem.model.removal import find_current_removal
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.pack.wording import message_text
from wmem.rules.redaction import Redaction
from wmem.scope.handle import Handle
from wmem.scope.items.removal import remove_softly
from wmem.scope.redaction import WITHHELD, HeldBackError, redact_message
from wmem.scope.summaries.flows import HELD_BACK, summarize_texts
from wmem.state import State

MAX_COVERED = 512
"""Items and messages that one summary covers."""
MAX_SUMMARIES = 64
"""Summaries that a job makes in one pass of one memory: the others are left to the next passes, oldest first."""
_SYSTEM_ROLES = ("system", "developer")


class Round(NamedTuple):
    """What one summary is made of.

    Attributes:
        former: The summary that it takes the place of; None begins another.
        rows: What it covers and can be read, oldest first.
        old: What it goes on to cover of what the former one did.
    """

    former: Row | None
    rows: Sequence[Row]
    old: "Readable"

    @classmethod
    def of(cls, former: Row | None, fresh: Sequence[Row], readable: "Readable") -> "Round":
        """A round of what is new, and, if there is a former summary, of what can be read of what that covers."""
        old = NOTHING if former is None else readable
        return cls(former, [*old.rows, *fresh], old)


class Readable(NamedTuple):
    """What can be read of what a summary covers.

    Attributes:
        ids: What it goes on to cover: all but what somebody took back.
        rows: Those of them that are there, oldest first.
        is_whole: Whether its text is to be made of these alone; else what is not there is told by its former text.
        is_stale: Whether somebody took something of it back, so that it must be made anew.
    """

    ids: Sequence[str]
    rows: Sequence[Row]
    is_whole: bool
    is_stale: bool


NOTHING = Readable((), (), is_whole=True, is_stale=False)
"""Of a summary that is not there yet."""


class SummaryDraft(NamedTuple):
    """A summary that is not stored yet.

    Attributes:
        text: Empty where there is nothing to say, or it would not be shorter by half.
        warning: Why the memory's summarizer made none; it is to be asked again in a later pass.
    """

    text: str = ""
    tokens: int = 0
    covered_tokens: int = 0
    warning: str = ""


def plan_rounds(former: Row | None, readable: "Readable", fresh: Sequence[Row]) -> list[Round]:
    """Divide rows among summaries: as many as the former one has room for, the others begin new ones.

    Args:
        former: The newest summary there is.
        readable: What it covers.
        fresh: What no summary covers yet, oldest first.
    """
    room = 0 if former is None else max(0, MAX_COVERED - len(readable.ids))
    rounds = [Round.of(former, fresh[:room], readable)] if (room and fresh) or readable.is_stale else []
    begins = range(min(room, len(fresh)), len(fresh), MAX_COVERED)
    return rounds + [Round.of(None, fresh[begin : begin + MAX_COVERED], NOTHING) for begin in begins]


def find_readable(rows: Mapping[str, Row], ids: Sequence[str], now: float) -> Readable:
    """What can be read of what a summary covers.

    Args:
        rows: Of its scope by their ids.
        ids: What it covers.
    """
    held = [(id, rows.get(id)) for id in ids]
    kept = [(id, row) for id, row in held if row is None or not is_taken_back(row)]
    there = [row for _, row in kept if row is not None and row.visible(now)]
    is_stale = len(kept) < len(held)
    return Readable([id for id, _ in kept], there, is_stale or len(there) == len(kept), is_stale)


def is_taken_back(row: Row) -> bool:
    """Whether somebody forgot an item or withdrew a message, not a job of maintenance."""
    return row.withdrawn_at is not None or (row.deleted_at is not None and find_current_removal(row) is None)


def draft_summary(handle: Handle, each: Round, most: int) -> Flow[SummaryDraft]:
    """The text of a summary.

    Args:
        most: Tokens it takes at most.
    """
    redaction = handle.settings.redaction
    try:
        texts = [text for row in each.rows if (text := text_of_row(row, redaction)).strip()]
    except HeldBackError:
        return SummaryDraft(warning=HELD_BACK)
    covered = sum(row.tokens or 0 for row in each.rows)
    if each.former is not None and not each.old.is_whole:
        texts.insert(0, load_json(each.former.content))
        covered += each.former.tokens or 0
    limit = min(most, covered // 2)
    if not each.rows or not texts or limit < LEAST_SUMMARY_TOKENS:
        return SummaryDraft()
    made = yield from summarize_texts(handle, texts, limit)
    if made.warning or not made.text.strip() or made.tokens > limit * 1.05:
        return SummaryDraft(warning=made.warning)
    return SummaryDraft(made.text, made.tokens, covered)


def text_of_row(row: Row, redaction: Redaction | None) -> str:
    """What an item or a message says, redacted, with its speaker; nothing for system text."""
    if row.role is None:
        text = load_json(row.content)
        return text if isinstance(text, str) else ""
    if row.role in _SYSTEM_ROLES:
        return ""
    message = to_message(row)
    if redaction is not None:  # before the speaker stands in front of it, which may hide what it is
        message, counts = redact_message(redaction, message)
        if WITHHELD in counts:
            raise HeldBackError(HELD_BACK)
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


def take_back(state: State, each: Round, job: str, now: float) -> list[Change]:
    """What takes away a summary of what was taken back, if too little of the rest is left to be told."""
    former = each.former
    held = None if former is None else state.rows.get(former.id)
    if former is None or held is None or _content(held) != _content(former):
        return []
    return remove_softly(former, job, "summarized", now)


def to_changes(row: Row, draft: SummaryDraft, job: str, now: float) -> list[Change]:
    """The changes that store a summary, and the decision that says what it stands for."""
    covered = sum(len(each.ids) for each in find_coverage(row))
    parts = {"covered": float(covered), "covered_tokens": float(draft.covered_tokens)}
    return [ItemPut(row), Decided("summarized", row.id, job, draft.tokens, now, parts)]


def choose_id(others: Collection[str], key: Sequence[object]) -> str:
    """The id of a new summary: of what there is, every process makes the same.

    Args:
        others: The ids of summaries that are there, and of all that was erased.
        key: What the summaries are told apart by, such as an episode.
    """
    for number in count():
        digest = hashlib.sha256(dump_json([*key, number])).hexdigest()[:24]
        if (id := f"summary-{digest}") not in others:
            return id
    raise AssertionError("there is always a next number")


def list_covered(rows: Iterable[Row], path: Sequence[str]) -> dict[str, Row]:
    """The summaries among rows by the ids that they cover of one scope, whatever its incarnation."""
    return {id: row for row in rows for each in find_coverage(row) if each.path == tuple(path) for id in each.ids}


def is_current(state: State, former: Row | None, id: str) -> bool:
    """Whether a state is still as the one that a summary was drafted on: nobody was faster."""
    held = state.rows.get(id)
    if former is not None:
        return held is not None and _content(held) == _content(former)
    return held is None and id not in state.erased


def are_there(state: State, rows: Iterable[Row]) -> bool:
    """Whether what a summary was made of is still there, and was not taken back: a model takes its time."""
    held = (state.rows.get(row.id) for row in rows)
    return all(row is not None and row.deleted_at is None and row.withdrawn_at is None for row in held)


def _content(row: Row) -> tuple[bytes, bytes | None, float | None]:
    return row.content, row.rest, row.deleted_at


def to_detail(tally: Counter[str]) -> dict[str, int]:
    """What a report tells: the counts that are not 0."""
    return {name: count for name, count in tally.items() if count}
