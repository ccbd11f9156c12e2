"""Erasure of content: from the scope, from every copy, and from the bytes of the store.

A plain removal only hides; the bytes leave with the next compaction. These flows compact
at once, purge the store, and ask it what may still keep some bytes.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

from wmem.engine.replica import Replica
from wmem.engine.write_queue import Pause, backoff
from wmem.errors import CorruptionError, DisposedError, StoreError, WrongKeyError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal, Purge
from wmem.log import find_logger
from wmem.model.change import Change, Cleared, ItemPut, RowPlace
from wmem.model.change import Erased as ErasedIds
from wmem.model.checks import check_id
from wmem.model.history import ORIGIN, Path
from wmem.model.origin import names_merged
from wmem.model.removal import MERGE_JOB, bring_back, find_current_removal
from wmem.model.results import Erased
from wmem.model.row import Row
from wmem.rules.merging import detach
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.scope.copies import CopyTrace, session_name
from wmem.scope.handle import Handle
from wmem.scope.index_store import drop_index
from wmem.scope.vector_store import prune_vectors, vector_store_handle
from wmem.state import State

_log = find_logger("wmem.scope")
_COMPACT_TRIES = 8
_LOOKS = 8  # for copies that were under way: more than scopes lie above one another


def clear(handle: Handle, facet: str) -> Flow[int]:
    """Clear a facet, or with ``all`` the scope, and purge its bytes; returns how many were visible."""
    handle.engine.unpurged_scopes.add(handle.path)
    count = yield from clear_rows(handle, facet)
    if handle.incarnation is None:
        handle.engine.unpurged_scopes.discard(handle.path)
    else:
        # Also when it was empty: what was removed earlier may still be in the journal.
        log_remaining(handle, "cleared", (yield from compact_and_purge(handle, [handle])))
    return count


def clear_rows(handle: Handle, facet: str) -> Flow[int]:
    """See `clear`; the bytes are not purged yet."""
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], int]:
        messages = (*state.messages, *state.withdrawn)
        facets = {"entries": state.entries.values(), "items": state.items, "messages": messages}
        held = list(chain(*facets.values()) if facet == "all" else facets[facet])
        count = len(state.visible(held, now))
        return [Cleared(facet, count, now)] if held else [], count

    count = yield from handle.commit(decide, now)
    if facet in ("entries", "all"):
        _log.info("Working memory cleared for agent %s, removed %d entries", handle.path[0], count)
    return count


def dispose(handle: Handle, *, purge: bool) -> Flow[int]:
    """See `Scope.dispose`; a purge also removes the vectors of its texts, which reveal them."""
    count = yield from handle.dispose()
    if purge and handle.path[0] in handle.engine.unpurged_agents:
        log_remaining(handle, "disposed", (yield from compact_and_purge(handle)))
    return count


def log_remaining(handle: Handle, what: str, remaining: Iterable[str]) -> None:
    """Log what may still keep bytes of removed content, each sentence once."""
    for sentence in remaining:
        if handle.engine.warn_once(sentence):
            _log.warning("what was %s may leave bytes behind: %s", what, sentence)


# -- by id


def erase(handle: Handle, ids: Sequence[str], *, removed: Sequence[Row] = ()) -> Flow[Erased]:
    """Erase the rows under these ids and every copy of them; see `Scope.erase`.

    Args:
        removed: Rows of the scope under these ids that were removed just now.
    """
    asked = dict.fromkeys(map(check_id, ids))
    handle.check_usable()
    erasure = _Erasure(handle)
    erasure.merged[handle.path] = yield from _trace_asked(handle, erasure.trace, asked, removed)
    # All is found first, and each tombstone tells where the rest is: an interrupted erasure is finished by another.
    yield from erasure.trace_rows()
    yield from erasure.erase_rows(asked)
    # Again: a copy that was under way is refused from here on, or is found now.
    # A copy of such a copy may be under way too; what is there after so many looks was written anew.
    for _ in range(_LOOKS):
        yield from erasure.refuse_copies()
        found = yield from erasure.trace_rows()
        yield from erasure.erase_rows({})
        if not found:
            break
    yield from erasure.settle_merges()
    if not asked.keys() <= erasure.gone.keys():
        erasure.changed |= {path for path in erasure.scopes if path[-1] in (SEMANTIC, EPISODIC)}
    remaining = yield from compact_and_purge(handle, erasure.list_changed(), finished=erasure.trace)
    return Erased(not remaining, tuple(remaining), tuple({**asked, **erasure.gone}))


class _Erasure:
    """One erasure on its way from scope to scope.

    Attributes:
        rows: By scope, what was found and is not yet erased.
        scopes: Where copies may be, as far as is known.
        merged: By scope, those that were merged into it.
        changed: Scopes whose journals may hold the content until they are compacted.
        gone: The ids of rows that were erased.
    """

    def __init__(self, handle: Handle) -> None:
        self.trace = CopyTrace()
        self.rows: dict[Path, Sequence[Row]] = {}
        self.scopes: dict[Path, Handle] = {handle.path: handle}
        self.merged: dict[Path, Sequence[Path]] = {}
        self.changed = {handle.path}
        self.gone: dict[str, None] = {}
        self._handle = handle

    def refuse_copies(self) -> Flow[None]:
        """Write to each scope that a copy may be on its way to: it was decided on a state from before this."""
        for target in {target for path in self.scopes for target in self._paths_of_copies(path)} & self.scopes.keys():
            scope = self.scopes[target]
            if scope.incarnation is not None:
                with suppress(DisposedError):
                    yield from scope.post((), scope.settings.clock())

    def trace_rows(self) -> Flow[bool]:
        """Find the rows to erase in all scopes, until nothing new is found; returns whether there are any."""
        before = (-1, -1)
        while (size := (len(self.trace), len(self.scopes))) != before:
            before = size
            for path, scope in tuple(self.scopes.items()):
                self.rows[path], self.merged[path] = yield from self._trace_in(scope)
                yield from self._find_scopes(path)
        return any(self.rows.values())

    def _trace_in(self, scope: Handle) -> Flow[tuple[Sequence[Row], Sequence[Path]]]:
        """Add the rows of a scope that belong to the trace; returns them, and the scopes merged into this one."""
        try:
            replica, _ = yield from scope.replica()
            if scope.incarnation is None:
                # There is no such scope; of one that was being disposed of, the bytes may still be there.
                yield from scope.finish_disposal(replica)
                return (), ()
            life = scope.identity
            with replica.lock:
                state = scope.bind(replica)
                sources = _merge_sources(state)
                rows = [row for row in state.rows.values() if self.trace.includes(row, scope.path, life, sources)]
        except DisposedError:
            if scope is self._handle:
                raise
            return (), ()  # it was disposed with all it held
        for row in rows:
            self.trace.add(row, scope.path, life, sources)
        return rows, sources

    def erase_rows(self, asked_ids: Mapping[str, None]) -> Flow[None]:
        """Erase what was found, and leave tombstones; those of the scope that was asked come last.

        Args:
            asked_ids: Ids in that scope: each gets a tombstone, whether it is there or not.
        """
        for path, scope in sorted(self.scopes.items(), key=lambda each: each[1] is self._handle):
            rows = self.rows.pop(path, ())
            ids = dict.fromkeys((*(row.id for row in rows), *(asked_ids if scope is self._handle else ())))
            others = self.trace.places(besides=path)
            if scope.incarnation is None or not (rows or _lacks_tombstone(scope, ids, others)):
                continue
            if rows:
                scope.engine.unpurged_scopes.add(path)
            try:
                # Unconditionally: a conditional append would never succeed where others write without pause. A copy
                # made meanwhile finds the tombstone.
                yield from scope.post([ErasedIds(tuple(ids), others or None)], scope.settings.clock())
            except DisposedError:
                if scope is self._handle:
                    raise
            if rows:
                self.gone |= dict.fromkeys(row.id for row in rows)
                self.changed.add(path)

    def _find_scopes(self, path: Path) -> Flow[None]:
        """Add the scopes to which one leads, or its rows do."""
        named = self.trace.paths(path[0])
        if self.trace.session_names:
            named += yield from _session_paths(self._handle, self.trace.session_names)
        # The bytes of a row that was replaced, removed or erased earlier stay in a journal until it is compacted.
        self.changed |= {each for each in named if each not in self.scopes}
        for new in (*self._paths_of_copies(path), *self.merged[path], *named):
            if new not in self.scopes:
                self.scopes[new] = Handle(self._handle.engine, self._handle.settings, new, policy=None, parent=None)

    def _paths_of_copies(self, path: Path) -> list[Path]:
        """The scopes that may hold copies of a scope's rows: its ancestors, and long-term memory.

        A policy names long-term memory for scopes below it, too: all ancestors are looked at in their turn.
        """
        above = [path[:depth] for depth in range(1, len(path))]
        named = self.scopes[path].long_term_scopes
        return [*above, *((*scope, each) for scope in (path[:1], *named) for each in (SEMANTIC, EPISODIC))]

    def settle_merges(self) -> Flow[None]:
        """Take what was erased out of the items that it was merged into; of one that was erased, bring the others back.

        Those were merged into an item that was erased for its own source's sake. Theirs is elsewhere, and nobody asked
        to erase that.
        """
        for path, scope in self.scopes.items():
            if path[-1] in (SEMANTIC, EPISODIC) and scope.incarnation is not None:
                with suppress(DisposedError):
                    if (yield from scope.commit(partial(self._settle_in, path), scope.settings.clock())):
                        self.changed.add(path)

    def _settle_in(self, path: Path, state: State) -> tuple[Sequence[Change], bool]:
        changed: list[Change] = []
        for row in state.rows.values():
            settled = row
            if names_merged(row) and (gone := self.trace.list_merged(row, path)):
                settled = detach(row, gone, path=path)
            removal = find_current_removal(settled)
            if removal is not None and removal.into in self.gone and removal.into not in state.rows:
                settled = bring_back(settled)
            if settled is not row:
                changed.append(ItemPut(settled))
        return changed, bool(changed)

    def list_changed(self) -> list[Handle]:
        """The scopes to compact."""
        _add_merge_targets(self.changed, self.merged)
        if self.trace.has_promoted:
            self.changed |= {path for path in self.scopes if path[-1] in (SEMANTIC, EPISODIC)}
        return [scope for path, scope in self.scopes.items() if path in self.changed and scope.incarnation is not None]


def _trace_asked(handle: Handle, trace: CopyTrace, ids: Iterable[str], removed: Iterable[Row]) -> Flow[Sequence[Path]]:
    """Begin a trace with what a scope has under these ids; returns the scopes that were merged into it."""
    replica, _ = yield from handle.replica()
    if handle.incarnation is None:
        for id in ids:
            trace.add_id(id, handle.path, None)
        return ()
    life = handle.identity
    with replica.lock:
        state = handle.bind(replica)
        sources = _merge_sources(state)
        rows = {row.id: row for row in removed} | {id: state.rows[id] for id in ids if id in state.rows}
        if handle.path[-1] in (SEMANTIC, EPISODIC):
            rows |= {row.id: row for row in _list_merged_into(state, rows)}
        places = dict.fromkeys(chain.from_iterable(state.others_of(ids)))
    for id in dict.fromkeys((*ids, *rows)):
        trace.add_id(id, handle.path, life if id in rows else None)
    for row in rows.values():
        trace.add(row, handle.path, life, sources)
    for place in places:
        trace.add_id(place.id, (handle.path[0], *place.path), place.incarnation)
    return sources


def _list_merged_into(state: State, ids: Collection[str]) -> list[Row]:
    """What says the same as some items, and was merged into one of them: who erases those means that, too."""
    removals = [(row, into) for row in state.rows.values() if (into := find_current_removal(row)) is not None]
    merged = [(row, into.into) for row, into in removals if into.job == MERGE_JOB]
    found: dict[str, Row] = {}
    while more := [row for row, into in merged if row.id not in found and (into in ids or into in found)]:
        found |= {row.id: row for row in more}
    return list(found.values())


def _add_merge_targets(targets: set[Path], merged: Mapping[Path, Sequence[Path]]) -> None:
    """Add to `targets` all scopes that these were merged into, transitively."""
    while more := [path for path, sources in merged.items() if path not in targets and not targets.isdisjoint(sources)]:
        targets |= set(more)


def _lacks_tombstone(scope: Handle, ids: Iterable[str], others: Collection[RowPlace]) -> bool:
    """Whether one of these ids has no tombstone that says as much."""
    replica = scope.engine.replica(scope.path)
    with replica.lock:
        state = replica.state
        if any(id not in state.erased or (others and id not in state.unfinished) for id in ids):
            return True
        return any(not {*others} <= {*known} for known in state.others_of(ids))


def _merge_sources(state: State) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(source for source, _, _ in state.merged))


def _session_paths(handle: Handle, names: Collection[str]) -> Flow[list[Path]]:
    """The scopes that have one of these names in the metadata of what earlier versions promoted."""
    paths = yield from ask(Journal.paths, handle.path[:1])
    return [path for path in paths if session_name(path) in names]


# -- its bytes


def compact_and_purge(
    handle: Handle, scopes: Sequence[Handle] = (), *, finished: CopyTrace | None = None
) -> Flow[list[str]]:
    """Compact scopes of any size and purge their store; returns what may still keep bytes, one sentence each.

    The vectors of texts that the agent no longer has are removed too, and the stored indexes of these scopes.

    Args:
        finished: What was erased there: once all is compacted, its tombstones need not tell any more where the rest is.
    """
    remaining: list[str] = []
    failed: set[Path] = set()
    handle.engine.forget_texts()
    store = vector_store_handle(handle)
    try:
        paths = [*(scope.path for scope in scopes), store.path]
        try:
            # All in one read: most agents have no vectors.
            found = dict(zip(paths, (yield from handle.engine.sync(paths)), strict=True))
        except (CorruptionError, WrongKeyError):
            found = {}  # each is read by itself below, so the unreadable one is named
        if (yield from prune_vectors(store, found.get(store.path))):
            remaining += yield from _compact(store)
        for scope in scopes:
            try:
                yield from drop_index(scope.engine, scope.path)
                told = yield from _compact(scope, found.get(scope.path))
            except (CorruptionError, WrongKeyError) as exc:  # it keeps no other from that
                remaining.append(f"scope {scope.path!r} cannot be read, and is not compacted before it can be ({exc})")
                continue
            remaining += told
            if told and not scope.engine.replica(scope.path).damage:
                failed.add(scope.path)
        if finished is not None and not remaining:
            for scope in scopes:
                yield from _finish(scope, finished)
        remaining += yield from ask(Purge.purge, handle.path)
        handle.engine.unpurged_agents.discard(handle.path[0])
        handle.engine.unpurged_scopes -= {scope.path for scope in scopes} - failed
    except StoreError as exc:
        # The content is erased for every reader already: raising would look as if that had failed.
        remaining.append(f"the store failed before its bytes were gone ({exc}): erase again")
    return list(dict.fromkeys(remaining))


def purge_unpurged(root: Handle, what: str) -> Flow[bool]:
    """Let the bytes of all leave that was taken away from an agent's scopes; returns whether there was anything.

    Each verb that takes something away does so itself: here is made up for what was broken off or failed before.

    Args:
        what: What was done to it, for the log.
    """
    engine, agent_id = root.engine, root.path[0]
    paths = sorted(path for path in engine.unpurged_scopes.copy() if path[0] == agent_id)
    if not paths and agent_id not in engine.unpurged_agents:
        return False
    scopes = [Handle(engine, root.settings, path, policy=None, parent=None) for path in paths]
    log_remaining(root, what, (yield from compact_and_purge(root, scopes)))
    return True


def _finish(scope: Handle, trace: CopyTrace) -> Flow[None]:
    """Say in the tombstones of what was erased that nothing is left to do elsewhere."""
    replica = scope.engine.replica(scope.path)
    life = scope.identity or None
    with replica.lock:
        ids = tuple(id for id in replica.state.unfinished if trace.includes_id(scope.path[1:], life, id))
    if ids:
        with suppress(DisposedError):
            yield from scope.post([ErasedIds(ids, ())], scope.settings.clock())


def _compact(handle: Handle, replica: Replica[Any] | None = None) -> Flow[Sequence[str]]:
    now = handle.settings.clock()
    if replica is None:
        (replica,) = yield from handle.engine.sync([handle.path])
    due = replica.cursor
    for tries in range(1, _COMPACT_TRIES + 1):
        if due == ORIGIN:
            return ()
        if replica.damage:
            told = f"scope {handle.path!r} holds damaged records, which are never compacted: have them repaired"
            return (told,)
        replica.compact_derived()
        handle.engine.forget_texts()
        if (yield from handle.engine.compact(replica, now, limit=None)):
            return ()
        # Another writer may have compacted, before or after the erasure: the journal tells which.
        tails = yield from ask(Journal.read, {handle.path: ORIGIN})
        if tails[handle.path].base.version >= due.version or tails[handle.path].head == ORIGIN:
            return ()
        yield from ask(Pause.sleep, backoff(tries))
        (replica,) = yield from handle.engine.sync([handle.path])
    return (f"scope {handle.path!r} could not be compacted while others did: erase again",)
