"""Taking content away so that nothing of it is left: here, in every copy, and in the bytes of the store.

A removal hides; its bytes leave with the next compaction. What is here waits for that,
and then asks the store what may still keep some.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence

from wmem.engine import Pause, backoff
from wmem.errors import DisposedError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal, Purge
from wmem.model.change import Change, Cleared
from wmem.model.change import Erased as ErasedIds
from wmem.model.checks import checked_id
from wmem.model.history import ORIGIN, Path
from wmem.model.ids import origin_of
from wmem.model.outcomes import Erased
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.rules.gating import EPISODIC, SEMANTIC
from wmem.scope.handle import Handle
from wmem.state import State

__all__ = ["cleared", "erased"]

_log = logging.getLogger("wmem.scope")
_TRIES = 8
_FACETS = ("entries", "items", "messages")


def erased(handle: Handle, ids: Sequence[str]) -> Flow[Erased]:
    """Erase what is under these ids and every copy of it; see `Scope.erase`."""
    wanted = {checked_id(each): None for each in ids}
    handle.check()
    found = yield from _copies(handle, wanted)
    now = handle.settings.clock()
    remaining: list[str] = []
    for scope, there in found:

        def decide(state: State, there: Sequence[str] = there) -> tuple[Sequence[Change], None]:
            # Its own id too when it is gone already: a copy that comes back later is known by it.
            return ([ErasedIds(tuple(there))], None) if any(each not in state.erased for each in there) else ([], None)

        if scope.birth is None:
            continue  # there is no such scope
        if there:
            yield from scope.commit(decide, now)
        remaining += yield from swept(scope)
    return Erased(not remaining, tuple(dict.fromkeys(remaining)), tuple(wanted))


def cleared(handle: Handle, facet: str) -> Flow[int]:
    """Empty a facet, or with ``all`` the scope, and leave nothing of it in the store; how many could be seen."""
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], tuple[int, bool]]:
        held = [each for name in (_FACETS if facet == "all" else (facet,)) for each in _ids(state, name)]
        count = len(state.visible(held, now))
        return ([Cleared(facet, count, now)], (count, True)) if held else ([], (0, False))

    count, changed = yield from handle.commit(decide, now)
    if changed:
        for sentence in (yield from swept(handle)):
            _log.warning("scope %s was cleared, but %s", "/".join(handle.path), sentence)
    return count


def _ids(state: State, facet: str) -> Iterable[str]:
    if facet == "entries":
        return state.entries.values()
    return state.items if facet == "items" else state.messages


def _copies(handle: Handle, wanted: dict[str, None]) -> Flow[list[tuple[Handle, list[str]]]]:
    """The scopes that an id may lead to, with what they have of it; `wanted` grows by the ids of copies."""
    scopes: dict[Path, Handle] = {}
    above: Handle | None = handle
    while above is not None:
        scopes[above.path] = above
        above = above.parent
    for name in (SEMANTIC, EPISODIC):
        path = (handle.path[0], name)
        scopes.setdefault(path, Handle(handle.engine, handle.settings, path, policy=None, parent=None))
    while True:
        known, found = len(wanted), []
        for scope in tuple(scopes.values()):
            try:
                _, state = yield from scope.replica()
            except DisposedError:
                continue  # it is gone with all it had
            for source, _, _ in tuple(state.merged):
                if source not in scopes:
                    scopes[source] = Handle(handle.engine, handle.settings, source, policy=None, parent=None)
                    known = -1  # once more, with this one
            there = [row.id for row in tuple(state.rows.values()) if _leads(row, wanted)]
            wanted |= dict.fromkeys(there)
            if there or scope is handle:
                found.append((scope, list(wanted) if scope is handle else there))
        if len(wanted) == known:
            return found


def _leads(row: Row, wanted: dict[str, None]) -> bool:
    """Whether a row is one of these, or was made from one."""
    if row.id in wanted or origin_of(row.id) in wanted:
        return True
    if row.rest is None or b'"lineage_ids"' not in row.rest:
        return False
    return not wanted.keys().isdisjoint(load_json(row.rest).get("lineage_ids", ()))


def swept(handle: Handle) -> Flow[list[str]]:
    """Compact a scope, whatever its size, and purge its store; what may still keep bytes, one sentence each."""
    remaining = list((yield from _compacted(handle)))
    remaining += yield from ask(Purge.purge, handle.path)
    return remaining


def _compacted(handle: Handle) -> Flow[Iterator[str]]:
    now = handle.settings.clock()
    (replica,) = yield from handle.engine.caught_up([handle.path])
    due = replica.cursor
    for tries in range(1, _TRIES + 1):
        if due == ORIGIN:
            return iter(())
        if replica.damage:
            told = f"scope {handle.path!r} holds damaged records, which are never compacted: have them repaired"
            return iter((told,))
        replica.read = {}
        if (yield from handle.engine.compact(replica, now, limit=None)):
            return iter(())
        # Somebody else may be compacting, from before or after what is to go: the journal tells which.
        tails = yield from ask(Journal.read, {handle.path: ORIGIN})
        if tails[handle.path].base.version >= due.version or tails[handle.path].head == ORIGIN:
            return iter(())
        yield from ask(Pause.sleep, backoff(tries))
        (replica,) = yield from handle.engine.caught_up([handle.path])
    return iter((f"scope {handle.path!r} could not be compacted while others did: erase again",))
