"""Recall: the ranked list that a pack draws on."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, get_args

from wmem.describe import describe
from wmem.engine.replica import Replica
from wmem.errors import InvalidInputError
from wmem.flow import Flow
from wmem.model.checks import check_flag, check_limit
from wmem.model.checksum import is_intact
from wmem.model.results import RecallHit, RecallKind
from wmem.model.row import Row
from wmem.model.zones import to_zone
from wmem.retrieval.candidate_rows import Hit
from wmem.retrieval.retriever import CANDIDATE_LIMIT, Query, search
from wmem.scope.embedding_backfill import embed_query
from wmem.scope.handle import Handle
from wmem.scope.index_store import prepare_index
from wmem.scope.redaction import clean_text


def recall(
    handle: Handle, query: str, *, limit: int, kinds: Collection[RecallKind], long_term: bool, redacted: bool
) -> Flow[list[RecallHit]]:
    """What matches a query, best first; see `Scope.recall`."""
    if not isinstance(query, str):
        raise InvalidInputError(f"query must be text, got {describe(query)}")
    known = get_args(RecallKind)
    if isinstance(kinds, str) or not isinstance(kinds, Collection) or not all(kind in known for kind in kinds):
        raise InvalidInputError(f"kinds must be several of {', '.join(known)}, got {describe(kinds)}")
    most = check_limit(limit)
    redaction = handle.active_redaction() if check_flag(redacted, "redacted") else None
    _, hits = yield from find_hits(handle, query, limit=most, kinds=kinds, long_term=long_term)
    return [
        RecallHit(
            hit.row.id,
            _kind(hit.row),
            hit.path,
            hit.score,
            hit.parts(),
            clean_text(redaction, hit.row),
            hit.superseded_by or None,
        )
        for hit in hits
    ]


def find_hits(
    handle: Handle,
    query: str,
    *,
    limit: int,
    kinds: Collection[RecallKind] = get_args(RecallKind),
    long_term: bool = True,
    for_note: bool = False,
) -> Flow[tuple[Sequence[Replica[Any]], Iterator[Hit]]]:
    """What matches a query, best first, and where it was looked for: the scope first.

    Args:
        limit: How many hits at most.
        kinds: Which kinds of things to look for.
        long_term: Look in long-term memory, too.
        for_note: See `Query.for_note`.
    """
    wanted: frozenset[RecallKind] = frozenset(kinds)
    replicas = yield from handle.replicas_to_recall(inherit=True, long_term=long_term)
    if not query.strip() or not wanted:
        return replicas, iter(())
    yield from prepare_index(handle.engine, replicas)
    now, profile = handle.settings.clock(), handle.policy.recall_profile
    vector, _ = (yield from embed_query(handle, replicas, query)) if profile.vector else (None, ())
    # Candidates are chosen before their kind is looked at: where some kinds are left out, all must be looked at.
    few = len(wanted) == len(get_args(RecallKind))
    candidates = max(limit, CANDIDATE_LIMIT) if few else sum(len(replica.state.rows) for replica in replicas)
    accepts, zone = partial(_is_wanted, wanted, now), to_zone(handle.policy.zone)
    asked = Query(query, now, profile, candidates, vector, accepts, zone, for_note)
    return replicas, islice((hit for hit in search(replicas, asked) if is_intact(hit.row)), limit)


def _is_wanted(kinds: Collection[RecallKind], now: float, row: Row) -> bool:
    return row.visible(now) and _kind(row) in kinds


def _kind(row: Row) -> RecallKind:
    return "entry" if row.key is not None else "item" if row.role is None else "message"
