"""The gate in front of a scope of memories: a new item is weighed against what is stored there, and taken or refused.

What is refused is stored nowhere. The novelty of what long-term memory takes is stored with it.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, NamedTuple, Self

from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut
from wmem.model.gate import NO_COUNTS, Minima, Rejected
from wmem.model.history import Path
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.retrieval.recall_index import RecallIndex
from wmem.retrieval.retriever import find_near
from wmem.rules.gate import find_fault, fresh_importance
from wmem.rules.nearness import find_nearest
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.scope.handle import Handle
from wmem.scope.index_store import prepare_index
from wmem.scope.items.capacity import depends_on_state, log_evictions, make_room
from wmem.state import State

_MAX_NEAR = 6
"""How many of the stored items that share the rarest words of a new one it is held against."""
_MAX_UNINDEXED = 2_048
"""Rows without an index above which no novelty is told where none is asked for: nobody waits for that alone."""
_MAX_NEWER = 1_024  # items that others stored meanwhile
_NEWEST = 2  # which it is held against, too: a text may have no words that are searched for
_DECIMALS = 4


class Weighed(NamedTuple):
    """A new item, weighed against what is stored.

    Attributes:
        row: The item as it is to be stored.
        minima: What it must have.
        rejected: Why it is refused; None if it is taken.
        redactions: How many texts of each kind were redacted in it.
        same_id: The id of a stored item that says the same; "" for none.
        newest_id: The id of the newest item that it was held against.
    """

    row: Row
    minima: Minima = Minima()
    rejected: Rejected | None = None
    redactions: Mapping[str, int] = NO_COUNTS
    same_id: str = ""
    newest_id: str = ""

    def compare_with_newer(self, state: State, now: float) -> Self:
        """The same in the light of what others have stored since it was weighed."""
        if not self.minima.novelty or self.rejected is not None:
            return self
        newer = takewhile(lambda each: each != self.newest_id, islice(reversed(state.items), _MAX_NEWER))
        rows = [row for row in map(state.rows.__getitem__, newer) if row.visible(now)]
        nearest, place = find_nearest(load_json(self.row.content), (load_json(row.content) for row in rows))
        if (fault := find_fault(self.minima, 1.0, 1.0 - nearest)) is None:
            return self
        return self._replace(rejected=fault, same_id=rows[place].id if nearest == 1 else "")


def is_long_term(path: Path) -> bool:
    """Whether a scope is long-term memory, whose items have the system's fields."""
    return path[-1] in (SEMANTIC, EPISODIC)


def weigh(
    handle: Handle, row: Row, now: float, minima: Minima, importance: Callable[[], float] | None = None
) -> Flow[Weighed]:
    """Weigh a new item before it is stored in a scope.

    Args:
        importance: Computes the importance of one that comes with none; by default from its text and priority.
    """
    text: str = load_json(row.content)
    counts = NO_COUNTS if handle.redaction is None else handle.settings.clean_rows.counts(row)
    weighed = Weighed(row, minima, redactions=counts)
    if minima.importance:
        given = row.importance
        if given is None:
            given = fresh_importance(text, row.priority, handle.engine.analyzer) if importance is None else importance()
        if (fault := find_fault(minima, given, 1.0)) is not None:
            return weighed._replace(rejected=fault)
    if not (minima.novelty or is_long_term(handle.path)):
        return weighed
    replica = yield from _find_replica(handle)
    if not minima.novelty and _count_unindexed(replica) > _MAX_UNINDEXED:
        return weighed
    yield from prepare_index(handle.engine, [replica])
    made = _compare(handle, replica, weighed, now)
    if made.rejected is not None:
        # What it was held against may be gone since.
        replica, _ = yield from handle.replica()
        made = _compare(handle, replica, weighed, now)
    return made


def _compare(handle: Handle, replica: Replica[Any], weighed: Weighed, now: float) -> Weighed:
    """Hold an item against what is stored."""
    text, minima = load_json(weighed.row.content), weighed.minima
    with replica.lock:
        newest_id = next(reversed(replica.state.items), "")
    near = _list_near(replica, text, now)
    nearest, place = find_nearest(text, (load_json(other.content) for other in near))
    same_id = near[place].id if nearest == 1 else ""
    row = handle.keep_redacted(weighed.row, _with_novelty(weighed.row, 1.0 - nearest))
    rejected = find_fault(minima, 1.0, 1.0 - nearest)
    return weighed._replace(row=row, rejected=rejected, same_id=same_id, newest_id=newest_id)


def _find_replica(handle: Handle) -> Flow[Replica[Any]]:
    """The scope's replica as it stands: what others wrote a moment ago is seen when the item is stored."""
    replica = handle.engine.replicas.get(handle.path)
    if replica is None or not replica.has_synced or replica.torn:
        replica, _ = yield from handle.replica()
    return replica


def _count_unindexed(replica: Replica[Any]) -> int:
    """How many rows would have to be indexed before anything is found."""
    known = replica.find_derived(RecallIndex)
    return len(replica.state.rows) if known is None else known[1]


def _list_near(replica: Replica[Any], text: str, now: float) -> list[Row]:
    """The visible items that may say the same as a text, and the newest ones."""
    ids = find_near(replica, text, _MAX_NEAR)
    with replica.lock:
        state = replica.state
        listed = dict.fromkeys((*ids, *islice(reversed(state.items), _NEWEST)))
        rows = [state.rows[id] for id in listed if id in state.items]
    return [row for row in rows if row.visible(now)]


def _with_novelty(row: Row, value: float) -> Row:
    rest = load_json(row.rest or b"{}")
    return row._replace(rest=dump_json({**rest, "novelty": round(value, _DECIMALS)}))


def store_weighed(handle: Handle, weighed: Weighed, now: float) -> Flow[Weighed]:
    """Store an item that was weighed, unless it is refused; see `Weighed.rejected`.

    Where novelty counts, what others have stored meanwhile counts, too: of two that say the same one is taken.
    """
    if weighed.rejected is not None:
        return weighed
    if handle.incarnation is not None and not (weighed.minima.novelty or depends_on_state(handle.policy)):
        yield from handle.post([ItemPut(weighed.row)], now)
        return weighed

    def decide(state: State) -> tuple[Sequence[Change], tuple[Rejected | None, Sequence[Change]]]:
        if (rejected := weighed.compare_with_newer(state, now).rejected) is not None:
            return [], (rejected, [])
        room = make_room(handle, state, [weighed.row], now)
        return [*room, ItemPut(weighed.row)], (None, room)

    rejected, room = yield from handle.commit(decide, now)
    log_evictions(handle, room)
    return weighed._replace(rejected=rejected)
