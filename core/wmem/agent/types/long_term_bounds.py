"""The bounds of semantic memory: what leaves when it exceeds them, softly and in steps, down to 95 %.

What is pinned or pointed to stays, what its retention exempts, the newest items, and what was brought back. If that
leaves more than the bound, the caller is told so.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from wmem.agent.types.pointers import list_pointed
from wmem.agent.types.settings import SemanticSettings
from wmem.engine.derived import Derived
from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.model.change import Change
from wmem.model.history import Cursor
from wmem.model.item import MemoryItem, to_item
from wmem.model.removal import EVICT_JOB
from wmem.model.row import Row
from wmem.rules.eviction import Size
from wmem.rules.importance import importance
from wmem.rules.routing import EPISODIC
from wmem.rules.utility import Valued, choose_to_evict, count_newest, excess_of
from wmem.scope.handle import Handle
from wmem.scope.items.removal import find_unchanged, remove_softly, was_restored
from wmem.scope.items.totals import ItemTotals
from wmem.state import State

_EVICT_TO = 0.95  # of the bound: not every write has to evict
_STEP = 256  # items that one record takes away
_GROWTH = 1.01  # after a look that left too much: by so much it must have grown before a write looks again


class Evicted(NamedTuple):
    """What an eviction took away.

    Attributes:
        items: First to last.
        is_missed: Whether more is left than the bound.
    """

    items: Sequence[MemoryItem] = ()
    is_missed: bool = False


class _Missed(Derived):
    """The size of a memory and the cursors when the last look left more than its bound."""

    __slots__ = ("cursors", "size")
    begins_empty = True

    def __init__(self) -> None:
        self.size = Size()
        self.cursors: tuple[Cursor, Cursor] | None = None

    def apply(self, _: object, /) -> None: ...

    def set(self, size: Size, cursors: tuple[Cursor, Cursor]) -> None:
        self.size, self.cursors = size, cursors


def evict_after_write(handle: Handle, settings: SemanticSettings, now: float) -> Flow[Evicted]:
    """Evict if a write has made the memory exceed its bounds, and it is worth while to look."""
    replica = handle.engine.replica(handle.path)
    size = replica.use_derived(ItemTotals, lambda totals: totals.size(now))
    if excess_of(size, settings.max_items, settings.max_tokens) == Size():
        return Evicted()
    missed = replica.use_derived(_Missed, lambda memo: memo.size)
    if missed.items and size.items < missed.items * _GROWTH and size.tokens < missed.tokens * _GROWTH:
        return Evicted(is_missed=True)
    return (yield from evict(handle, settings, now))


def evict(handle: Handle, settings: SemanticSettings, now: float) -> Flow[Evicted]:
    """Evict what exceeds the bounds; nothing if nothing does, or if nothing changed since a look that found too little.

    Each step is a record of its own, and what changed meanwhile is left to the next look.
    """
    replica, _ = yield from handle.replica()
    size = replica.use_derived(ItemTotals, lambda totals: totals.size(now))
    if excess_of(size, settings.max_items, settings.max_tokens) == Size():
        return Evicted()
    found = yield from handle.engine.sync_readable([handle.path, (*handle.path[:-1], EPISODIC)])
    if len(found) < 2:  # noqa: PLR2004  # one of the two is damaged: it may point to items
        return Evicted(is_missed=True)
    semantic, episodic = found
    cursors = semantic.cursor, episodic.cursor
    if semantic.use_derived(_Missed, lambda memo: memo.cursors) == cursors:
        return Evicted(is_missed=True)
    excess = excess_of(size, settings.max_items, settings.max_tokens, _EVICT_TO)
    chosen = choose_to_evict(_list_free(handle, semantic, episodic, settings, now), excess, now)
    gone: list[Row] = []
    for begin in range(0, len(chosen), _STEP):
        gone += yield from handle.commit(partial(_decide, chosen[begin : begin + _STEP], now), now)
    left = semantic.use_derived(ItemTotals, lambda totals: totals.size(now))
    is_missed = excess_of(left, settings.max_items, settings.max_tokens) != Size()
    if is_missed:
        seen = semantic.cursor, episodic.cursor
        semantic.use_derived(_Missed, lambda memo: memo.set(left, seen))
    return Evicted([to_item(row, importance(row, now)) for row in gone], is_missed)


def _list_free(
    handle: Handle, semantic: Replica[Any], episodic: Replica[Any], settings: SemanticSettings, now: float
) -> list[Row]:
    """The items that may go."""
    with episodic.lock:
        others = episodic.state.visible(episodic.state.items, now)
    with semantic.lock:
        rows = semantic.state.visible(semantic.state.items, now)
    pointed = list_pointed((*rows, *others))
    newest = count_newest(rows, settings.keep_items, settings.max_items, settings.max_tokens)
    older = rows[: max(0, len(rows) - newest)]
    exempts = handle.settings.retentions.is_exempt_from_eviction
    return [
        row for row in older if not (row.pinned or row.id in pointed or was_restored(row, EVICT_JOB) or exempts(row))
    ]


def _decide(chosen: Sequence[Valued], now: float, state: State) -> tuple[Sequence[Change], list[Row]]:
    """Take away those items that are still as they were."""
    found = ((find_unchanged(state, row), utility) for row, utility in chosen)
    there = [(row, utility) for row, utility in found if row is not None]
    changes: list[Change] = []
    for row, utility in there:
        parts = {"utility": utility, "age_s": now - row.created_at}
        changes += remove_softly(row, EVICT_JOB, "evicted", now, parts=parts)
    return changes, [row for row, _ in there]
