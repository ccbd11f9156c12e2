"""Near-equal matches: where scores differ by a small share, something else decides their order."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
NEAR = 0.05
"""Scores within this share of the best of a run are near-equal: what words alone do not tell apart."""


def order_near_equals(
    ranked: Iterable[tuple[float, T]], precedence: Callable[[T], Any], near: float = NEAR
) -> Iterator[tuple[float, T]]:
    """Put what goes before first within each run of near-equal scores; a run begins with its best score.

    Args:
        ranked: Scores with what has them, best first. As much is read as is asked for, and the rest of its run.
        precedence: What is compared, larger first; of equals the order stays.
        near: 0 leaves only equal scores to `precedence`.
    """
    run: list[tuple[float, T]] = []
    for each in ranked:
        if run and each[0] < run[0][0] - near * abs(run[0][0]):
            yield from sorted(run, key=lambda scored: precedence(scored[1]), reverse=True)
            run = []
        run.append(each)
    yield from sorted(run, key=lambda scored: precedence(scored[1]), reverse=True)
