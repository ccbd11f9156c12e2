"""A context in a terminal; the only module that imports rich, and only when it is used."""

from typing import TYPE_CHECKING

from wmem.display.html import SECTION_COLOURS, UnitLine, format_parts, list_dropped, prompt_lines, sections, title
from wmem.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, Group
    from rich.table import Table
    from rich.text import Text

    from wmem.model.prompt import Prompt

_MAX_BAR_WIDTH = 72
_NARROW_WIDTH = 60
_SECTION_SHADES = "█▓▒░"
_MAX_ROWS = 200
_MAX_DROPPED_ROWS = 20


def to_rich(context: "Prompt") -> "Group":
    """The context as a renderable of rich.

    Raises:
        MissingExtraError: rich is not installed.
    """
    try:
        from rich.console import Group
        from rich.text import Text
    except ImportError as exc:
        raise MissingExtraError("this needs the extra 'inspect': pip install 'wmem[inspect]'") from exc
    lines = prompt_lines(context)
    pieces: list[Text | _BudgetBar | _UnitTable] = [Text(title(context), style="bold"), _BudgetBar(sections(context))]
    pieces += [Text(f"! {text}", style="yellow") for text in context.warnings]
    if lines:
        pieces.append(_UnitTable(lines[:_MAX_ROWS]))
    if len(lines) > _MAX_ROWS:
        pieces.append(Text(f"and {len(lines) - _MAX_ROWS:,} more: explain() has them all", style="dim"))
    if context.dropped.count:
        reasons = ", ".join(f"{count:,} × {reason}" for reason, count in sorted(context.dropped.totals.items()))
        pieces.append(Text(f"left out: {reasons}", style="bold"))
        if out := list_dropped(context):
            pieces.append(_UnitTable(out[:_MAX_DROPPED_ROWS]))
        if len(out) > _MAX_DROPPED_ROWS:
            pieces.append(
                Text(f"and {len(out) - _MAX_DROPPED_ROWS:,} more: explain() has the best of them", style="dim")
            )
    return Group(*pieces)


class _BudgetBar:
    """The budget as one line as wide as the terminal allows, and a legend under it."""

    def __init__(self, sizes: "Sequence[tuple[str, int]]") -> None:
        self._sizes = sizes

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        from rich.text import Text

        width, whole = min(_MAX_BAR_WIDTH, options.max_width), sum(size for _, size in self._sizes) or 1
        # Without colours, shades tell the sections apart.
        plain = console.no_color or console.color_system is None
        bar, legend = Text(no_wrap=True), Text()
        ends = done = 0
        for at, (name, size) in enumerate(self._sizes):
            done += size
            upto = round(width * done / whole)
            shade = _SECTION_SHADES[at % len(_SECTION_SHADES) if plain else 0]
            fill, colour = "·" if name == "free" and plain else shade, SECTION_COLOURS.get(name, "white")
            bar.append(fill * (upto - ends), style=colour)
            legend.append(fill, style=colour)
            legend.append(f" {name}\u00a0{size:,}  ")
            ends = upto
        yield bar
        yield legend


class _UnitTable:
    """Units as a table; in a narrow terminal without their place and score."""

    def __init__(self, lines: "Sequence[UnitLine]") -> None:
        self._lines = lines

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Table]":
        from rich.table import Table

        narrow = options.max_width < _NARROW_WIDTH
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
            mark, why, where, tokens, score, about = _cells(line)
            table.add_row(*((mark, why, tokens, about) if narrow else (mark, why, where, tokens, score, about)))
        yield table


def _cells(line: UnitLine) -> "tuple[Text, ...]":
    from rich.text import Text

    report = line.report
    mark = {"included": "●", "truncated": "◐", "dropped": "○"}[report.fate]
    cut = f" -{report.tokens_cut:,}" if report.tokens_cut else ""
    about = Text(line.excerpt) if line.excerpt else Text(line.label, style="dim")
    if parts := format_parts(report):
        about.append(f"  {parts}", style="dim")
    return (
        Text(mark, style=SECTION_COLOURS.get(report.placed, "dim")),
        Text(report.rule),
        Text("" if report.placed == "nowhere" else report.placed),
        Text(f"{report.tokens:,}{cut}"),
        Text("" if report.score is None else f"{report.score:.3f}"),
        about,
    )
