"""Summaries among hits: what they cover, and what they say of it, is found once.

While most of what a summary covers can be found itself, the summary is no hit. Once most of it is gone the summary is
one, and of it and what is left of what it covers the better match.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from wmem.engine.replica import Replica
from wmem.model.coverage import SUMMARY, find_coverage
from wmem.model.history import Path
from wmem.model.row import Row

R = TypeVar("R")


def is_represented(row: Row, replicas: Sequence[Replica[Any]], with_messages: Collection[Path], now: float) -> bool:
    """Whether what a summary covers can be found itself, or must not be found.

    Args:
        replicas: All that is searched, the scope's first.
        with_messages: Those of whose messages any may be found, by their paths.
    """
    by_path = {replica.path: replica for replica in replicas}
    own = replicas[0].path
    seen = total = 0
    for each in find_coverage(row):
        path = (*own[:1], *each.path)
        total += len(each.ids)
        if (replica := by_path.get(path)) is None:
            continue
        if each.message_ids and path not in with_messages and path == own[: len(path)]:
            return True  # a parent's messages are not seen from below, nor what is said of them
        held = map(replica.state.rows.get, each.ids if path in with_messages else each.item_ids)  # look-ups are atomic
        seen += sum(there is not None and there.visible(now) for there in held)
    return total > 0 and 2 * seen >= total


def find_once(ranked: list[R], place: Callable[[R], tuple[Path, Row]]) -> list[R]:
    """The ranked rows, best first, without a summary after what it covers, and without what it covers after it.

    Args:
        place: The scope and the row of each.
    """
    rows = list(map(place, ranked))
    covered_by: dict[tuple[Path, str], int] = {}
    for at, (path, row) in enumerate(rows):
        if row.type == SUMMARY:
            for each in find_coverage(row):
                covered_by.update(dict.fromkeys((((*path[:1], *each.path), id) for id in each.ids), at))
    if not covered_by:
        return ranked
    gone: set[int] = set()
    for at, (path, row) in enumerate(rows):
        summary = covered_by.get((path, row.id))
        if summary is None or summary in gone:
            continue
        gone.add(max(at, summary))
    return [each for at, each in enumerate(ranked) if at not in gone]
