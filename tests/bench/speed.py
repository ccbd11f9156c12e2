"""Speed beside the peers', in one run: a table of what was wanted and what was measured.

It never fails by a time: machines differ, and so do their neighbours. Trust the
ratios, whose two sides ran in turns. It fails by a count that is not what was promised.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from tests.bench.backends import (
    amplification,
    listing,
    many_at_once,
    promotion_and_cleanup,
    round_trips,
    searching,
    tails,
    thousand_sessions,
)
from tests.bench.measure import Figure
from tests.bench.packing import beside_llamaindex, beside_llamaindex_uncut, packs_by_length
from tests.bench.peers import agents_beside_langchain, engines_beside_llamaindex, puts_and_gets_by_length
from tests.bench.prefix import prefixes
from tests.bench.questions import first_packs, packs_for_long_questions, packs_of_long_answers
from tests.bench.recalling import index_adds, index_size, packs_with_recall, packs_with_vectors
from tests.bench.serving import coroutines_beside_threads, entries_on_redis
from tests.bench.storing import appends_by_length, appends_on_disk, entries_in_memory, entries_traced, imports
from tests.bench.threads import model_calls_by_length
from tests.bench.turns import contexts_of_turns


class _Experiment(Protocol):
    __name__: str

    def __call__(self, *, quick: bool) -> list[Figure]: ...


_EXPERIMENTS: Sequence[_Experiment] = (
    entries_in_memory,
    appends_on_disk,
    appends_by_length,
    beside_llamaindex,
    beside_llamaindex_uncut,
    puts_and_gets_by_length,
    agents_beside_langchain,
    engines_beside_llamaindex,
    model_calls_by_length,
    packs_by_length,
    packs_with_recall,
    packs_with_vectors,
    contexts_of_turns,
    packs_for_long_questions,
    packs_of_long_answers,
    first_packs,
    index_adds,
    index_size,
    prefixes,
    entries_traced,
    imports,
    round_trips,
    tails,
    entries_on_redis,
    coroutines_beside_threads,
    many_at_once,
    thousand_sessions,
    amplification,
    listing,
    searching,
    promotion_and_cleanup,
)
_COLUMNS = ("what", "wmem", "peer", "peer takes", "ratio", "wanted", "held", "measured")
_Row = tuple[str, ...]


def _amount(value: float, unit: str) -> str:
    if unit == "B":
        return f"{value / 1e6:.1f} MB"
    if unit != "s":
        return f"{value:.3g} {'×' if unit == 'times' else unit}"
    for scale, name in ((1.0, "s"), (1e-3, "ms")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value / 1e-6:.3g} µs"


def _times(times: float | None) -> str:
    if times is None:
        return ""
    return f"{1 / times:.3g} × less" if times < 1 else f"{times:.3g} ×"


def _wanted(figure: Figure) -> str:
    wanted = []
    if figure.at_most is not None:
        wanted.append(f"≤ {_amount(figure.at_most, figure.unit)}")
    if figure.at_most_times is not None:
        times = figure.at_most_times
        wanted.append(f"≥ {1 / times:.3g} × less" if times < 1 else f"≤ {times:.3g} ×")
    if figure.at_most_more is not None:
        wanted.append(f"≤ + {_amount(figure.at_most_more, figure.unit)}")
    return ", ".join(wanted)


def _row(figure: Figure) -> _Row:
    return (
        figure.name,
        _amount(figure.ours, figure.unit),
        figure.peer,
        "" if figure.theirs is None else _amount(figure.theirs, figure.unit),
        _times(figure.times),
        _wanted(figure),
        {True: "yes", False: "no", None: ""}[figure.held],
        figure.note,
    )


def _shown(rows: Sequence[_Row]) -> None:
    """The table, by rich where it is installed and a person reads, else as Markdown."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
        except ImportError:
            pass
        else:
            table = Table(*_COLUMNS)
            for row in rows:
                table.add_row(*row)
            Console().print(table)
            return
    for row in (_COLUMNS, ("---",) * len(_COLUMNS), *rows):
        print(f"| {' | '.join(row)} |")


def _tried(experiment: _Experiment, *, quick: bool, told: Callable[[str], object], broken: list[str]) -> list[Figure]:
    told(f"{experiment.__name__.replace('_', ' ')} ...")
    try:
        return experiment(quick=quick)
    except AssertionError as exc:
        broken.append(f"{experiment.__name__}: {exc}")
        return []
    except Exception as exc:
        told(f"{experiment.__name__} failed: {type(exc).__name__}: {exc}")
        return []


def main() -> None:
    """Measure everything, or what was named, and show it."""
    known = {experiment.__name__: experiment for experiment in _EXPERIMENTS}
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=f"of: {', '.join(known)}; else all")
    reader.add_argument("--quick", action="store_true", help="fewer rounds, for a first look")
    reader.add_argument("--json", type=Path, metavar="FILE", help="write every timing here too")
    asked = reader.parse_args()
    if unknown := [name for name in asked.experiments if name not in known]:
        reader.error(f"no experiment {unknown[0]!r}; there are {', '.join(known)}")

    def told(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    chosen = [known[name] for name in asked.experiments] or _EXPERIMENTS
    broken: list[str] = []
    figures = [figure for each in chosen for figure in _tried(each, quick=asked.quick, told=told, broken=broken)]
    _shown([_row(figure) for figure in figures])
    about = {
        "python": platform.python_version(),
        "system": platform.system(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        "quick": asked.quick,
    }
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    if asked.json is not None:
        told_figures = [{**asdict(figure), "times": figure.times, "held": figure.held} for figure in figures]
        asked.json.write_text(json.dumps({"about": about, "figures": told_figures}, indent=1) + "\n")
    if broken:
        sys.exit("\n".join(["not what was promised:", *broken]))


if __name__ == "__main__":
    main()
