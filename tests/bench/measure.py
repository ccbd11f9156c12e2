"""What something costs beside a peer: single calls timed in turns, the collector off, medians compared."""

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

__all__ = ["Call", "Cost", "Figure", "interleaved", "quiet"]

Call = Callable[[int], object]
"""What is timed; it is given the number of the round, so that rounds can differ."""


class Cost(NamedTuple):
    """Seconds of one call, over all that were timed."""

    median: float
    mean: float
    best: float
    p95: float
    calls: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Self:
        """The cost that so many single timings show."""
        p95 = sorted(seconds)[len(seconds) * 95 // 100]
        return cls(statistics.median(seconds), statistics.fmean(seconds), min(seconds), p95, len(seconds))


@contextmanager
def quiet() -> Iterator[None]:
    """Collect what earlier measurements left behind, then keep the collector out."""
    gc.collect()
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def interleaved(calls: Mapping[str, Call], *, rounds: int, warm: int = 3) -> dict[str, Cost]:
    """Time every call once a round, each round beginning with another one.

    Whatever else the machine does meets all of them alike, and nobody always runs in
    the caches that its neighbour just filled. The clock's own 0.1 µs is in the figures.

    Args:
        warm: Rounds before the first that counts; they have negative numbers.
    """
    names = list(calls)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    clock = time.perf_counter
    with quiet():
        for number in range(-warm, rounds):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                call = calls[name]
                began = clock()
                call(number)
                took = clock() - began
                if number >= 0:
                    seconds[name].append(took)
    return {name: Cost.of(each) for name, each in seconds.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One row: what wmem takes, what the peer takes, and what was wanted.

    Attributes:
        name: What was done, once.
        ours: What wmem takes, in `unit`.
        peer: Who else did it; "" where the figure stands alone.
        theirs: What the peer takes, in `unit`.
        at_most: Wanted: no more than this, in `unit`.
        at_most_times: Wanted: no more than so many times what the peer takes.
        at_most_more: Wanted: no more than this above what the peer takes, in `unit`.
        note: What a reader must know to judge it.
        details: Everything else that was measured, for the machine-readable file.
    """

    name: str
    ours: float
    unit: Literal["s", "B", "trips", "times", "errors", "%"] = "s"
    peer: str = ""
    theirs: float | None = None
    at_most: float | None = None
    at_most_times: float | None = None
    at_most_more: float | None = None
    note: str = ""
    details: Mapping[str, Any] | None = None

    @property
    def times(self) -> float | None:
        """How many times what the peer takes; below 1 is cheaper."""
        return self.ours / self.theirs if self.theirs else None

    @property
    def held(self) -> bool | None:
        """Whether all that was wanted holds; None where nothing was."""
        checks = []
        if self.at_most is not None:
            checks.append(self.ours <= self.at_most)
        if self.theirs is not None and self.at_most_times is not None:
            checks.append(self.ours <= self.at_most_times * self.theirs)
        if self.theirs is not None and self.at_most_more is not None:
            checks.append(self.ours <= self.theirs + self.at_most_more)
        return all(checks) if checks else None
