"""Job ``merge-duplicates``: items of semantic memory that say the same become one.

Two items are merged only if they say the same (`rules/nearness`) and are alike in all that would lie otherwise: whose
they are, of which task, and until when they hold. So any two of a group agree, and what contradicts another stays.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from wmem.agent.consolidation.jobs import ChangedIds, Job, JobContext, JobReport, run_in_each
from wmem.engine.derived import Derived
from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut
from wmem.model.removal import MERGE_JOB
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.rules.merging import list_common_fields, merge_rows
from wmem.rules.nearness import Saying
from wmem.rules.precedence import is_item
from wmem.rules.redaction.spans import has_plain_mark
from wmem.rules.routing import SEMANTIC
from wmem.scope.handle import Handle
from wmem.scope.items.removal import find_unchanged, remove_softly, was_restored
from wmem.state import State

_CLUSTERS_A_RECORD = 256


class _Changed(ChangedIds):
    __slots__ = ()


class _Key(NamedTuple):
    """What items have in common that may be merged."""

    fields: bytes
    saying: str


class _Sayings(Derived):
    """The items that may be merged, by what such items have in common; an inverted index with one word for each."""

    __slots__ = ("_agent_id", "_by_key", "_keys")

    def __init__(self, agent_id: str) -> None:
        self._agent_id = agent_id
        self._keys: dict[str, _Key] = {}
        self._by_key: dict[_Key, dict[str, None]] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            if (key := self._keys.pop(id, None)) is not None:
                ids = self._by_key[key]
                del ids[id]
                if not ids:
                    del self._by_key[key]
            if row is not None and _may_merge(row):
                self._keys[id] = key = _Key(
                    list_common_fields(row, agent_id=self._agent_id), Saying.of(load_json(row.content)).key
                )
                self._by_key.setdefault(key, {})[id] = None

    def list_groups(self, ids: Iterable[str]) -> list[list[str]]:
        """The groups of several items that these belong to."""
        keys = dict.fromkeys(key for id in ids if (key := self._keys.get(id)) is not None)
        return [list(group) for key in keys if len(group := self._by_key[key]) > 1]


def _may_merge(row: Row) -> bool:
    """Whether an item is one whose text says all that it says, and that nobody brought back from a merge."""
    if not is_item(row) or row.deleted_at is not None or was_restored(row, MERGE_JOB):
        return False
    return b"[REDACTED_" not in row.content or not has_plain_mark(row.content.decode())


def merge_in(handle: Handle, now: float) -> Flow[Mapping[str, int]]:
    """Merge the items of a scope that changed with those that agree with them."""
    replica, _ = yield from handle.replica()
    with _Changed.take_from(replica) as changed:
        if not changed:
            return {}
        groups = replica.use_derived(_Sayings, lambda sayings: sayings.list_groups(changed), handle.path[0])
        merged = yield from merge_clusters(handle, _choose_clusters(replica, groups, now), MERGE_JOB, now)
    return {"merged": merged}


def merge_clusters(handle: Handle, clusters: Sequence[Sequence[Row]], job: str, now: float) -> Flow[int]:
    """Merge the items of each cluster into its first one; one of which anything changed meanwhile is left as it is.

    Returns:
        How many items were taken away.
    """
    merged = 0
    for begin in range(0, len(clusters), _CLUSTERS_A_RECORD):
        part = clusters[begin : begin + _CLUSTERS_A_RECORD]
        merged += yield from handle.commit(partial(_merge, handle, part, job, now), now)
    return merged


def _choose_clusters(replica: Replica[Any], groups: Sequence[Sequence[str]], now: float) -> list[list[Row]]:
    """The items to merge, each time the one that survives first: the newest; a pinned one is merged into no other."""
    clusters: list[list[Row]] = []
    with replica.lock:
        state = replica.state
        for group in groups:
            # Newest first, by when it was said and then by its place.
            places = sorted((state.rows[id].created_at, state.items[id], id) for id in group if id in state.items)
            visible = [row for _, _, id in reversed(places) if (row := state.rows[id]).visible(now)]
            cluster = [*visible[:1], *(row for row in visible[1:] if not row.pinned)]
            clusters += [cluster] if len(cluster) > 1 else []
    return clusters


def _merge(
    handle: Handle, clusters: Sequence[Sequence[Row]], job: str, now: float, state: State
) -> tuple[Sequence[Change], int]:
    """The changes that merge those clusters of which nothing changed since they were chosen."""
    life = handle.identity
    changes: list[Change] = []
    merged = 0
    for cluster in clusters:
        there = [row for each in cluster if (row := find_unchanged(state, each)) is not None]
        if len(there) < len(cluster):
            continue  # left to the next pass
        survivor, *others = there
        fetched = [_count_fetches(state, row) for row in others]
        changes.append(ItemPut(merge_rows(survivor, fetched, path=handle.path, incarnation=life)))
        for row in others:
            changes += remove_softly(row, job, "merged", now, into=survivor.id)
        merged += len(others)
    return changes, merged


def _count_fetches(state: State, row: Row) -> Row:
    """The row with the fetches that are not written yet; those of a survivor are written with the merge."""
    times, at = state.unwritten_touches.get(row.id, (0, 0.0))
    return row._replace(access_count=row.access_count + times, last_accessed_at=at) if times else row


def _run(context: JobContext) -> Flow[JobReport]:
    scopes = context.long_term(SEMANTIC)
    return (yield from run_in_each(scopes, lambda handle: merge_in(handle, context.now)))


MERGE_DUPLICATES = Job(MERGE_JOB, _run)
