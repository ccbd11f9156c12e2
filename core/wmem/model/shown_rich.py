"""A context in a terminal; the only module that imports rich, and only when it is used."""

from typing import TYPE_CHECKING

from wmem.errors import MissingExtraError
from wmem.model.shown import COLOURS, Line, left_out, parts_told, sections, sent, title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, Group
    from rich.table import Table
    from rich.text import Text

    from wmem.model.context import Context

__all__ = ["rich_of"]

_WIDTH = 72
_NARROW = 60
_SHADES = "█▓▒░"
_ROWS = 200
_LEFT_OUT = 20


def rich_of(context: "Context") -> "Group":
    """The context as a renderable of rich.

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
    pieces: list[Text | _Bar | _Units] = [Text(title(context), style="bold"), _Bar(sections(context))]
    pieces += [Text(f"! {text}", style="yellow") for text in context.warnings]
    if lines:
        pieces.append(_Units(lines[:_ROWS]))
    if len(lines) > _ROWS:
        pieces.append(Text(f"and {len(lines) - _ROWS:,} more: explain() has them all", style="dim"))
    if context.dropped.count:
        told = ", ".join(f"{count:,} × {reason}" for reason, count in sorted(context.dropped.totals.items()))
        pieces.append(Text(f"left out: {told}", style="bold"))
        if out := left_out(context):
            pieces.append(_Units(out[:_LEFT_OUT]))
        if len(out) > _LEFT_OUT:
            pieces.append(Text(f"and {len(out) - _LEFT_OUT:,} more: explain() has the best of them", style="dim"))
    return Group(*pieces)


class _Bar:
    """The budget as one line as wide as the terminal allows, and a legend under it."""

    def __init__(self, known: "Sequence[tuple[str, int]]") -> None:
        self._known = known

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        from rich.text import Text

        width, whole = min(_WIDTH, options.max_width), sum(size for _, size in self._known) or 1
        # Without colours, shades tell the sections apart.
        plain = console.no_color or console.color_system is None
        bar, legend = Text(no_wrap=True), Text()
        ends = done = 0
        for at, (name, size) in enumerate(self._known):
            done += size
            upto = round(width * done / whole)
            fill = "·" if name == "free" and plain else _SHADES[at % len(_SHADES)] if plain else _SHADES[0]
            bar.append(fill * (upto - ends), style=COLOURS.get(name, "white"))
            legend.append(fill, style=COLOURS.get(name, "white"))
            legend.append(f" {name}\u00a0{size:,}  ")
            ends = upto
        yield bar
        yield legend


class _Units:
    """Units as a table; in a narrow terminal without their place and score."""

    def __init__(self, lines: "Sequence[Line]") -> None:
        self._lines = lines

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Table]":
        from rich.table import Table

        narrow = options.max_width < _NARROW
        table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim", expand=True)
        table.add_column("", no_wrap=True, min_width=1)
        table.add_column("why", no_wrap=True, min_width=9)
        if not narrow:
            table.add_column("where", no_wrap=True, min_width=8)
        table.add_column("tokens", justify="right", no_wrap=True, min_width=6 if narrow else 12)
        if not narrow:
            table.add_column("score", justify="right", no_wrap=True, min_width=6)
        # Takes the rest of the line; otherwise a wide text would squeeze the figures.
        table.add_column("unit", overflow="ellipsis", no_wrap=True, ratio=1)
        for line in self._lines:
            table.add_row(*(_short(line) if narrow else _whole(line)))
        yield table


def _short(line: Line) -> "tuple[Text, ...]":
    mark, why, _, tokens, _, about = _whole(line)
    return mark, why, tokens, about


def _whole(line: Line) -> "tuple[Text, ...]":
    from rich.text import Text

    report = line.report
    mark = {"included": "●", "truncated": "◐", "dropped": "○"}[report.fate]
    cut = f" -{report.tokens_cut:,}" if report.tokens_cut else ""
    about = Text(line.says) if line.says else Text(line.named, style="dim")
    if parts := parts_told(report):
        about.append(f"  {parts}", style="dim")
    return (
        Text(mark, style=COLOURS.get(report.placed, "dim")),
        Text(report.rule),
        Text("" if report.placed == "nowhere" else report.placed),
        Text(f"{report.tokens:,}{cut}"),
        Text("" if report.score is None else f"{report.score:.3f}"),
        about,
    )
