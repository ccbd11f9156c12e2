"""Job ``mark-superseded``: of two items that say otherwise of the same, the older gets the time until which it held.

Both stay. The older one names the newer (relation `superseded_by`), and recall shows it with that one alone. The mark
goes where the newer is no longer there, or one of the two says something else now.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

from wmem.agent.consolidation.jobs import ChangedIds, Job, JobContext, JobReport, run_in_each
from wmem.engine.derived import Derived
from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.model.change import Change, Decided, ItemPut
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.retrieval.updates import MAX_HITS, find_updates
from wmem.rules.precedence import is_item
from wmem.rules.routing import SEMANTIC
from wmem.rules.validity import SUPERSEDE_JOB, SUPERSEDED_BY, find_successor
from wmem.scope.handle import Handle
from wmem.scope.index_store import prepare_index
from wmem.scope.items.removal import find_unchanged
from wmem.state import State

_PAIRS_A_RECORD = 256
_MAX_CHAIN = 32  # items that say otherwise one after the other, of which each holds until the next
_OF_ONE = ("agent_id", "task_id", "participants")
"""What two items must have in common, or they are not about the same; where no agent is named, the memory's own is."""


class _Changed(ChangedIds):
    __slots__ = ()


class _Marks(Derived):
    """The items that are marked, by the item that they name as the newer one."""

    __slots__ = ("_by_newer", "_newer")

    def __init__(self) -> None:
        self._newer: dict[str, str] = {}
        self._by_newer: dict[str, dict[str, None]] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            if (known := self._newer.pop(id, None)) is not None:
                del self._by_newer[known][id]
                if not self._by_newer[known]:
                    del self._by_newer[known]
            newer = None if row is None else find_successor(row)
            if newer is not None:
                self._newer[id] = newer
                self._by_newer.setdefault(newer, {})[id] = None

    def list_marked(self, ids: Iterable[str]) -> list[str]:
        """The marked items among these, and those that name one of them."""
        return [each for id in ids for each in ((id,) if id in self._newer else ()) + tuple(self._by_newer.get(id, ()))]


class _Pair(NamedTuple):
    """An item, and the newer one that says otherwise; None where there is none any more."""

    older: Row
    newer: Row | None


def mark_in(handle: Handle, now: float) -> Flow[Mapping[str, int]]:
    """Mark the items of a scope that what changed says otherwise of, and take away marks that are no longer true."""
    replica, _ = yield from handle.replica()
    with _Changed.take_from(replica) as changed:
        if not changed:
            return {}
        yield from prepare_index(handle.engine, [replica])
        pairs = _choose_pairs(replica, changed, now)
        counts = {"superseded": 0, "unmarked": 0}
        for begin in range(0, len(pairs), _PAIRS_A_RECORD):
            part = pairs[begin : begin + _PAIRS_A_RECORD]
            marked, unmarked = yield from handle.commit(partial(_mark, part, now), now)
            counts["superseded"] += marked
            counts["unmarked"] += unmarked
    return counts


def _choose_pairs(replica: Replica[Any], changed: Sequence[str], now: float) -> list[_Pair]:
    """What to mark, and what to mark no longer."""
    marked = replica.use_derived(_Marks, lambda marks: marks.list_marked(changed))
    rows = replica.state.rows  # no lock: a look-up is atomic
    known = {id: row for id in marked if (row := rows.get(id)) is not None and row.visible(now)}
    doubtful = [id for id, row in known.items() if not _still_holds(row, rows, now)]
    newer = _find_next(replica, _find_newer(replica, list(dict.fromkeys((*changed, *doubtful))), now), now)
    pairs: dict[str, _Pair] = {}
    for older_id, newer_id in newer.items():
        older, other = rows.get(older_id), rows.get(newer_id)
        if older is not None and other is not None and _may_mark(older, other, replica, now):
            pairs[older_id] = _Pair(older, other)
    for id in doubtful:
        row = rows.get(id)
        if id not in pairs and row is not None:
            pairs[id] = _Pair(row, None)
    return list(pairs.values())


def _find_next(replica: Replica[Any], newest: Mapping[str, str], now: float) -> dict[str, str]:
    """The same with the first that says otherwise instead of the newest, where several came one after the other.

    Args:
        newest: By the id of each item that is no longer so, that of the newest that says so.
    """
    found, passed = dict(newest), set[str]()
    rows = replica.state.rows  # no lock: a look-up is atomic
    for _ in range(_MAX_CHAIN):
        times = Counter(found.values())
        shared = {older for older, newer in found.items() if times[newer] > 1}
        passed.update(found[older] for older in shared)
        earlier = _find_newer(replica, sorted(shared), now, passed) if shared else {}
        better = {
            id: newer
            for id, newer in earlier.items()
            if id in shared and id in rows and newer in rows and _may_mark(rows[id], rows[newer], replica, now)
        }
        if not better:
            break
        found |= better
    return found


def _find_newer(replica: Replica[Any], ids: Sequence[str], now: float, passed: Collection[str] = ()) -> dict[str, str]:
    """By the id of each item that is no longer so, that of the newest that says so, as far as these are concerned.

    Args:
        passed: Items that are left out.
    """

    def accepts(rows: Sequence[Row | None], _: Sequence[Replica[Any]]) -> list[bool]:
        return [row is not None and row.id not in passed and is_item(row) and row.visible(now) for row in rows]

    found: dict[str, str] = {}
    for begin in range(0, len(ids), MAX_HITS):
        found |= find_updates(replica, ids[begin : begin + MAX_HITS], accepts)
    return found


def _still_holds(row: Row, rows: Mapping[str, Row], now: float) -> bool:
    """Whether both of a marked pair are there and say what they said when it was marked."""
    mark = next(_list_marks(row), None)
    newer = None if mark is None else rows.get(mark["target_id"])
    if mark is None or newer is None or not newer.visible(now):
        return False
    return bool(mark["metadata"].get("of") == _versions(row, newer))


def _may_mark(older: Row, newer: Row, replica: Replica[Any], now: float) -> bool:
    """Whether a newer item is to mark an older one: it is about the same, and no caller said how long that holds."""
    if find_successor(older) is not None:
        return not _still_holds(older, replica.state.rows, now)
    own = {"agent_id": replica.path[0]}
    ours, theirs = load_json(older.rest or b"{}"), load_json(newer.rest or b"{}")
    if "valid_to" in ours or _list_links(ours) != _list_links(theirs):
        return False
    return all(ours.get(name, own.get(name)) == theirs.get(name, own.get(name)) for name in _OF_ONE)


def _list_links(rest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What an item is related to by its caller: "the status is open" is said of one order, or of another one."""
    own = (each for each in rest.get("relations", ()) if each["type"] != SUPERSEDED_BY)
    return sorted({(each["type"], each["target_id"]) for each in own})


def _mark(pairs: Sequence[_Pair], now: float, state: State) -> tuple[Sequence[Change], tuple[int, int]]:
    """The changes that mark those pairs of which nothing changed since they were chosen."""
    changes: list[Change] = []
    current: dict[str, Row] = {}  # an item may be the newer one of one pair and the older one of another
    marked = unmarked = 0
    for pair in pairs:
        older = find_unchanged(state, pair.older)
        newer = None if pair.newer is None else find_unchanged(state, pair.newer)
        if older is None or (newer is None and pair.newer is not None):
            continue  # left to the next pass
        plain = _unmark(current.get(older.id, older))
        if newer is None:
            current[older.id] = plain
            unmarked += 1
            continue
        began = load_json(newer.rest or b"{}").get("valid_from")
        until = newer.created_at if began is None else began
        current[older.id] = _add_mark(plain, older, newer, until)
        if began is None:
            current[newer.id] = _set_fields(current.get(newer.id, newer), {"valid_from": until})
        parts = {"valid_to": until}
        changes.append(Decided("superseded", older.id, SUPERSEDE_JOB, older.tokens or 0, now, parts, newer.id))
        marked += 1
    return [*map(ItemPut, current.values()), *changes], (marked, unmarked)


def _add_mark(row: Row, older: Row, newer: Row, until: float) -> Row:
    rest = load_json(row.rest or b"{}")
    told = {"job": SUPERSEDE_JOB, "valid_to": until, "of": _versions(older, newer)}
    mark = {"type": SUPERSEDED_BY, "target_id": newer.id, "metadata": told}
    return _set_fields(row, {"relations": [*rest.get("relations", ()), mark], "valid_to": until})


def _unmark(row: Row) -> Row:
    """The row without the job's mark, and without the time that the mark gave it."""
    marks = list(_list_marks(row))
    if not marks:
        return row
    rest = load_json(row.rest or b"{}")
    until = rest.get("valid_to")
    if any(mark["metadata"].get("valid_to") == until for mark in marks):
        until = None
    return _set_fields(row, {"relations": [each for each in rest["relations"] if each not in marks], "valid_to": until})


def _set_fields(row: Row, fields: Mapping[str, Any]) -> Row:
    """The row with some fields; empty ones are not stored. When it was changed by a caller last stays as it is."""
    rest = {**load_json(row.rest or b"{}"), **fields}
    kept = {name: value for name, value in rest.items() if value is not None and value != []}
    return row._replace(rest=dump_json(kept) if kept else None)


def _list_marks(row: Row) -> Iterator[dict[str, Any]]:
    if find_successor(row) is None:
        return
    for each in load_json(row.rest or b"{}")["relations"]:
        if each["type"] == SUPERSEDED_BY and each.get("metadata", {}).get("job") == SUPERSEDE_JOB:
            yield each


def _versions(older: Row, newer: Row) -> list[float]:
    """What a mark tells of the two, to know whether they say what they said then; nothing of the newer one's text."""
    return [crc32(older.content), newer.updated_at]


def _run(context: JobContext) -> Flow[JobReport]:
    scopes = context.long_term(SEMANTIC)
    return (yield from run_in_each(scopes, lambda handle: mark_in(handle, context.now)))


MARK_SUPERSEDED = Job(SUPERSEDE_JOB, _run)
