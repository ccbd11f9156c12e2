"""Summaries among hits: what they cover, and what they say of it, is found once.

While most of what a summary covers can be found itself, the summary is no hit. Once most of it is gone the summary is
one, and of it and what is left of what it covers the better match. A summary tells of many things and shares some words
with most questions: the best few are found.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

from wmem.engine.derived import Derived
from wmem.engine.replica import Replica
from wmem.model.coverage import SUMMARY, Coverage, find_coverage
from wmem.model.history import Path
from wmem.model.row import Row

MAX_SUMMARIES = 4
"""Summaries that one search finds."""
R = TypeVar("R")
Covers: TypeAlias = Callable[[Path, Row], Sequence[Coverage]]
"""What a row of a scope covers."""


class CoverageCache(Derived):
    """What those summaries cover that searches met."""

    __slots__ = ("_known",)
    begins_empty: ClassVar[bool] = True

    def __init__(self) -> None:
        self._known: dict[str, tuple[Coverage, ...]] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id in changed:
            self._known.pop(id, None)

    def read(self, row: Row) -> tuple[Coverage, ...]:
        """What a row of the scope covers."""
        known = self._known.get(row.id)
        if known is None:
            known = self._known[row.id] = find_coverage(row)
        return known


def read_coverage(replica: Replica[Any], row: Row) -> Sequence[Coverage]:
    """What a row of a scope covers; nothing for what is no summary."""
    return () if row.type != SUMMARY else replica.use_derived(CoverageCache, lambda cache: cache.read(row))


def is_represented(
    coverage: Sequence[Coverage], replicas: Mapping[Path, Replica[Any]], with_messages: Collection[Path], now: float
) -> bool:
    """Whether what a summary covers can be found itself, or must not be found.

    Args:
        replicas: All that is searched by path, the scope's first.
        with_messages: Those of whose messages any may be found, by their paths.
    """
    own = next(iter(replicas))
    seen = total = 0
    for each in coverage:
        path = (*own[:1], *each.path)
        total += len(each.ids)
        if (replica := replicas.get(path)) is None:
            continue
        if each.message_ids and path not in with_messages and path == own[: len(path)]:
            return True  # a parent's messages are not seen from below, nor what is said of them
        held = map(replica.state.rows.get, each.ids if path in with_messages else each.item_ids)  # look-ups are atomic
        seen += sum(there is not None and there.visible(now) for there in held)
    return total > 0 and 2 * seen >= total


def find_once(ranked: list[R], place: Callable[[R], tuple[Path, Row]], covers: Covers) -> list[R]:
    """The ranked rows, best first, without a summary after what it covers, and without what it covers after it.

    Of the summaries the first `MAX_SUMMARIES` stay.

    Args:
        place: The scope and the row of each.
    """
    rows = list(map(place, ranked))
    sums = {at: found for at, (path, row) in enumerate(rows) if row.type == SUMMARY and (found := covers(path, row))}
    if not sums:
        return ranked
    paths = {path for path, _ in rows}
    agent = rows[0][0][:1]
    covered_by = {
        (path, id): at
        for at, found in sums.items()
        for each in found
        if (path := (*agent, *each.path)) in paths
        for id in each.ids
    }
    gone: set[int] = set()
    for at, (path, row) in enumerate(rows):
        summary = covered_by.get((path, row.id))
        if summary is not None and summary not in gone:
            gone.add(max(at, summary))
    gone.update([at for at in sums if at not in gone][MAX_SUMMARIES:])
    return [each for at, each in enumerate(ranked) if at not in gone]
