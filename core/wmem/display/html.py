"""A context as HTML: a bar of its budget, its units with their scores, and what was left out and why."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from wmem.graphemes import cut_before

if TYPE_CHECKING:
    from wmem.model.prompt import Prompt
    from wmem.model.results import UnitReport

SECTION_COLOURS = {
    "system": "#5b6abf",
    "tools": "#8a63b8",
    "overhead": "#8c8c8c",
    "note": "#c98a1b",
    "standing": "#a8452f",
    "messages": "#2f8f6b",
    "reserve": "#b0527a",
    "free": "#d9d9d9",
}
"""The colour of each section of a prompt."""
_MAX_EXCERPT_CHARS = 90
_UNSAFE_CHARS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Control characters, lone surrogates, and marks that change the direction of text."""
_MAX_ROWS = 200
_CELL_STYLE = "padding:2px 8px;text-align:left;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.25)"
_NUMBER_STYLE = f"{_CELL_STYLE};text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"
_COLUMNS = {
    "": _CELL_STYLE,
    "why": _CELL_STYLE,
    "where": _CELL_STYLE,
    "tokens": _NUMBER_STYLE,
    "score": _NUMBER_STYLE,
    "unit": _CELL_STYLE,
}
"""Columns of the table, and their style."""


class UnitLine(NamedTuple):
    """One unit, and an excerpt of its text; "" where the prompt does not hold it."""

    report: "UnitReport"
    excerpt: str

    @property
    def label(self) -> str:
        """Label of a unit whose text is not at hand: its ids."""
        ids = self.report.ids or self.report.sources
        return f"{ids[0]} and {len(ids) - 1} more" if len(ids) > 1 else "".join(ids)


def title(context: "Prompt") -> str:
    """Tokens, messages and dropped units in one line."""
    sent = f"{context.tokens:,} of {context.budget:,} tokens, {len(context.messages):,} messages"
    return f"{sent}, {context.dropped.count:,} left out" if context.dropped.count else sent


def sections(context: "Prompt") -> list[tuple[str, int]]:
    """Tokens of each section that has any, and what is free."""
    used = [(name, size) for name, size in context.sizes.items() if size > 0]
    free = max(0, context.budget - sum(size for _, size in used))
    return [*used, ("free", free)] if free else used


def prompt_lines(context: "Prompt") -> list[UnitLine]:
    """Units in the prompt: those of the note, then the messages in their order."""
    index = {message.id: at for at, message in enumerate(context.messages) if message.id}
    texts = {message.id: excerpt(message.text or _call_names(message.tool_calls)) for message in context.messages}

    def where(line: UnitLine) -> tuple[bool, int, float]:
        report = line.report
        return report.placed != "note", index.get(report.ids[0], 0) if report.ids else -1, -(report.score or 0.0)

    reports = (*context.included, *context.truncated)
    return sorted(
        (UnitLine(each, each.says or "".join(texts.get(id, "") for id in each.ids[:1])) for each in reports), key=where
    )


def list_dropped(context: "Prompt") -> list[UnitLine]:
    """The best of the dropped units."""
    return [UnitLine(each, "") for each in context.dropped.best]


def excerpt(text: str) -> str:
    """The beginning of a text on one line, without quote marks and control characters."""
    read = text[: 4 * _MAX_EXCERPT_CHARS].removeprefix("> ").replace("\n> ", " ").removesuffix("\n>")
    line = _UNSAFE_CHARS.sub("\N{REPLACEMENT CHARACTER}", " ".join(read.split()))
    return line if len(line) <= _MAX_EXCERPT_CHARS else f"{line[: cut_before(line, _MAX_EXCERPT_CHARS - 1)]}…"


def format_parts(report: "UnitReport") -> str:
    """The parts of a score as text; "" where there is none."""
    return " ".join(f"{name} {part:.2f}" for name, part in report.parts.items())


def to_html(context: "Prompt") -> str:
    """The context as HTML without scripts, style sheets or anything to load; every text is escaped."""
    # A lone surrogate cannot be sent to a browser.
    return "".join(_render(context)).encode("utf-8", "replace").decode("utf-8")


def _render(context: "Prompt") -> Iterator[str]:
    yield '<div style="font:13px/1.45 system-ui,sans-serif;max-width:72em">'
    yield f'<div style="font-weight:600">{escape(title(context))}</div>'
    yield _bar(context)
    for text in context.warnings:
        yield f'<div style="color:#b3541e">⚠ {escape(text)}</div>'
    yield from _table(prompt_lines(context))
    if context.note:
        yield _collapsible("the note", f'<pre style="white-space:pre-wrap;font-size:12px">{escape(context.note)}</pre>')
    if context.dropped.count:
        reasons = ", ".join(f"{count:,} × {escape(reason)}" for reason, count in sorted(context.dropped.totals.items()))
        yield _collapsible(f"left out: {reasons}", "".join(_table(list_dropped(context))))
    yield "</div>"


def _bar(context: "Prompt") -> str:
    known = sections(context)
    whole = sum(size for _, size in known) or 1
    pieces = "".join(
        f'<div title="{name} {size:,}" style="width:{100 * size / whole:.2f}%;'
        f'background:{SECTION_COLOURS.get(name, "#777")}"></div>'
        for name, size in ((escape(name), size) for name, size in known)
    )
    legend = " ".join(
        f'<span style="white-space:nowrap;margin-right:1em"><span style="display:inline-block;width:.8em;height:.8em;'
        f'background:{SECTION_COLOURS.get(name, "#777")}"></span> {escape(name)} {size:,}</span>'
        for name, size in known
    )
    frame = "display:flex;height:16px;border-radius:4px;overflow:hidden;margin:4px 0"
    return f'<div style="{frame}">{pieces}</div><div style="margin-bottom:6px">{legend}</div>'


def _table(lines: Sequence[UnitLine]) -> Iterator[str]:
    if not lines:
        return
    yield '<table style="border-collapse:collapse;font-size:12px"><tr>'
    yield "".join(f'<th style="{style}">{name}</th>' for name, style in _COLUMNS.items())
    yield "</tr>"
    yield from map(_row, lines[:_MAX_ROWS])
    if len(lines) > _MAX_ROWS:
        rest = f"and {len(lines) - _MAX_ROWS:,} more: explain() has them all"
        yield f'<tr><td colspan="6" style="{_CELL_STYLE}">{rest}</td></tr>'
    yield "</table>"


def _row(line: UnitLine) -> str:
    report = line.report
    mark = {"included": "●", "truncated": "◐", "dropped": "○"}[report.fate]
    cut = f" <span title='left out of it'>-{report.tokens_cut:,}</span>" if report.tokens_cut else ""
    score = "" if report.score is None else f"{report.score:.3f}"
    about = escape(line.excerpt) if line.excerpt else f'<code style="font-size:11px">{escape(line.label)}</code>'
    if parts := format_parts(report):
        about += f'<div style="opacity:.65">{escape(parts)}</div>'
    colour = SECTION_COLOURS.get(report.placed, "#999")
    where = "" if report.placed == "nowhere" else report.placed
    symbol = f'<span style="color:{colour}" title="{report.fate}">{mark}</span>'
    cells = zip(
        (symbol, escape(report.rule), where, f"{report.tokens:,}{cut}", score, about), _COLUMNS.values(), strict=True
    )
    return "<tr>" + "".join(f'<td style="{style}">{cell}</td>' for cell, style in cells) + "</tr>"


def _collapsible(summary: str, content: str) -> str:
    return f'<details style="margin-top:6px"><summary>{summary}</summary>{content}</details>'


def _call_names(calls: Sequence[object]) -> str:
    return "calls " + ", ".join(str(getattr(call, "name", "")) for call in calls) if calls else ""
