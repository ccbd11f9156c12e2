"""A context in a terminal; the one place that imports rich, and only when it is asked for."""

from typing import TYPE_CHECKING

from wmem.errors import MissingExtraError
from wmem.model.shown import COLOURS, Line, left_out, parts_told, sections, sent, title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from wmem.model.context import Context

__all__ = ["rich_of"]

_WIDTH = 72
_ROWS = 200
_LEFT_OUT = 20


def rich_of(context: "Context") -> "Group":
    """What the context is made of, as rich renders it.

    Raises:
        MissingExtraError: rich is not installed.
    """
    try:
        from rich.console import Group
        from rich.text import Text
    except ImportError as exc:
        msg = "this needs the extra 'inspect': pip install 'wmem[inspect]'"
        raise MissingExtraError(msg) from exc
    lines = sent(context)
    pieces: list[Text | Table] = [Text(title(context), style="bold"), _bar(context)]
    pieces += [Text(f"! {text}", style="yellow") for text in context.warnings]
    if lines:
        pieces.append(_table(lines[:_ROWS]))
    if len(lines) > _ROWS:
        pieces.append(Text(f"and {len(lines) - _ROWS:,} more: explain() has them all", style="dim"))
    if context.dropped.count:
        told = ", ".join(f"{count:,} × {reason}" for reason, count in sorted(context.dropped.totals.items()))
        pieces.append(Text(f"left out: {told}", style="bold"))
        if out := left_out(context):
            pieces.append(_table(out[:_LEFT_OUT]))
        if len(out) > _LEFT_OUT:
            pieces.append(Text(f"and {len(out) - _LEFT_OUT:,} more: explain() has the best of them", style="dim"))
    return Group(*pieces)


def _bar(context: "Context") -> "Text":
    from rich.text import Text

    known = sections(context)
    whole = sum(size for _, size in known) or 1
    bar, ends = Text(), 0
    done = 0
    for name, size in known:
        done += size
        upto = round(_WIDTH * done / whole)
        bar.append("█" * (upto - ends), style=COLOURS.get(name, "white"))
        ends = upto
    bar.append("\n")
    for name, size in known:
        bar.append("■ ", style=COLOURS.get(name, "white"))
        bar.append(f"{name} {size:,}  ")
    return bar


def _table(lines: "Sequence[Line]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    for name, width in (("", 1), ("why", 9), ("where", 8)):
        table.add_column(name, no_wrap=True, min_width=width)
    for name, width in (("tokens", 12), ("score", 6)):
        table.add_column(name, justify="right", no_wrap=True, min_width=width)
    table.add_column("unit", overflow="ellipsis", no_wrap=True)
    for line in lines:
        report = line.report
        mark = {"included": "●", "truncated": "◐", "dropped": "○"}[report.fate]
        cut = f" -{report.tokens_cut:,}" if report.tokens_cut else ""
        about = Text(line.says) if line.says else Text(line.named, style="dim")
        if parts := parts_told(report):
            about.append(f"  {parts}", style="dim")
        table.add_row(
            Text(mark, style=COLOURS.get(report.placed, "dim")),
            Text(report.rule),
            Text("" if report.placed == "nowhere" else report.placed),
            Text(f"{report.tokens:,}{cut}"),
            Text("" if report.score is None else f"{report.score:.3f}"),
            about,
        )
    return table
