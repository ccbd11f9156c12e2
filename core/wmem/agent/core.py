"""What the sync and async memory of an agent share: how it is opened, its settings and its flows."""

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from wmem.agent.consolidation.all_jobs import JOBS
from wmem.agent.consolidation.jobs import Job, JobContext, JobReport, JobStore, choose_jobs, run_jobs
from wmem.agent.disposal import dispose_working_memory, erase_all
from wmem.agent.key_rotation import rotate
from wmem.agent.looks import ScopeLook, find_unchanged
from wmem.agent.maintenance import MaintenanceReport, is_clock_ahead, maintain
from wmem.agent.options import CheckedCounter, OpenOptions, check_kinds, find_unknown_routes
from wmem.agent.snapshots import clear_memory, restore_snapshot, take_snapshot
from wmem.agent.turns.core import TurnCore, TurnSettings
from wmem.agent.types.idle_sessions import IdleSessions
from wmem.agent.types.registry import BoundTypes, TypeRegistry
from wmem.codec.codec import Codec
from wmem.codec.keyring import KeyRing
from wmem.describe import describe
from wmem.engine.events import Listener
from wmem.engine.records import Damage, decode_records, decode_snapshot, follow_records
from wmem.engine.replacement import finish_pending
from wmem.engine.store import Store, is_blocking, open_store
from wmem.engine.writing import flush_touches
from wmem.errors import CorruptionError, InvalidInputError, MissingExtraError, StoreError
from wmem.flow import Flow, ask
from wmem.fork import new_renewed_lock
from wmem.journal.port import Backup, Journal, Roots, Sweep
from wmem.journal.redis_url import HIDDEN
from wmem.log import find_logger
from wmem.model.change import Change, Event, IntentChange, Resynced, ScopeReplaced
from wmem.model.checks import check_count, check_flag, check_path, check_seconds
from wmem.model.context import Context
from wmem.model.features import Features, check_long_term
from wmem.model.filters import NO_FILTERS, Filters
from wmem.model.gate import Gate, Gates
from wmem.model.history import ORIGIN, Cursor, Path, is_cache, is_index, is_pending, is_reserved
from wmem.model.results import Erased
from wmem.model.snapshot import ClearedMemory, Restored, Snapshot
from wmem.model.trace import TurnTrace
from wmem.observe.metrics import find_metrics
from wmem.policy import Policy
from wmem.retrieval.embedder import guard_embedder
from wmem.rules.redaction import Redaction
from wmem.rules.retention import Retentions
from wmem.scope.context_window import ContextWindow, LatestContext
from wmem.scope.erasure import purge_unpurged
from wmem.scope.handle import Handle, OpenState, Settings
from wmem.scope.index_store import keep_indexes
from wmem.scope.items.promotion import long_term_handle
from wmem.scope.messages.flows import MessageInput
from wmem.scope.ports import PortPair
from wmem.scope.replay import Replay, replay
from wmem.scope.stats import MemoryStats, memory_stats
from wmem.scope.summaries.port import GuardedSummarizer
from wmem.scope.trace import list_traces, read_trace, record_pack
from wmem.scope.vector_store import prune_vectors, vector_store_handle
from wmem.tokens.counter import Counter, MediaCounter, default_counter
from wmem.tokens.media import MEDIA_TOKENS

_log = find_logger("wmem.agent")


class Changes(NamedTuple):
    """What happened since a consumer last looked.

    Attributes:
        events: In order within each scope.
        cursors: What to pass as `after` next time.
        damage: Records that could not be read; they were skipped and left where they are.
    """

    events: tuple[Event, ...]
    cursors: Mapping[Path, Cursor]
    damage: tuple[Damage, ...] = ()


class TurnOptions(NamedTuple):
    """How a memory was opened, as far as its turns and its memory types are concerned.

    Attributes:
        default_filters: Of contexts that are assembled without filters.
        enable_tool_tracking: Whether tool calls that are tracked are stored.
        enable_skill_extraction: Whether maintenance makes skills of tool calls.
    """

    types: TypeRegistry
    default_filters: Filters = NO_FILTERS
    enable_tool_tracking: bool = True
    enable_skill_extraction: bool = True


class AgentCore:
    """State and flows that the sync and async memory of an agent share."""

    def __init__(
        self,
        store: Store,
        agent_id: str,
        settings: Settings,
        needs: tuple[str, ...] = (),
        turns: "TurnOptions | None" = None,
        *,
        keys: KeyRing | None = None,
    ) -> None:
        self.store = store
        self.agent_id = agent_id
        self.settings = settings
        self.keys = keys
        """What encrypts its snapshots; its store's codec has the same."""
        self.turn_options = TurnOptions(TypeRegistry()) if turns is None else turns
        self.needs = needs
        """With what it was opened that its URL does not show: a password, and options by name."""
        self.ports = PortPair(lambda: store.sync_ports, store.async_ports)
        self.stop_callbacks: list[Callable[[], None]] = []
        self.idle_sessions: IdleSessions | None = None
        self.job_store = JobStore()
        self.looks: dict[Path, ScopeLook] = {}
        """What maintenance found of scopes in which nothing was left to do."""
        self.scopes_at_prune: frozenset[Path] | None = None
        """The scopes that existed when vectors were last pruned."""
        self.released = False
        self._turn: TurnCore | None = None
        self._turn_lock = new_renewed_lock()
        _open_cores.add(self)
        store.engine.context_holders.add(settings.latest_context)
        if settings.metrics is not None:
            settings.metrics.watch(settings.open_state, agent_id, store.engine.counts)

    def reopen(self) -> "AgentCore | None":
        """Another opening with the same settings, which is closed on its own; None once this one is closed."""
        if self.released or (store := self.store.reopen()) is None:
            return None
        settings = replace(self.settings, open_state=OpenState(self.agent_id), latest_context=LatestContext())
        return AgentCore(store, self.agent_id, settings, self.needs, self.turn_options, keys=self.keys)

    @property
    def types(self) -> TypeRegistry:
        """The memory types."""
        return self.turn_options.types

    def bind_types(self, names: tuple[str, ...], policy: Policy | None) -> BoundTypes:
        """The memory types as the session at a path below the agent uses them; without names its own scope."""
        return BoundTypes(self.types, self.handle(names, policy))

    def make_turn(
        self,
        names: tuple[str, ...],
        settings: TurnSettings = TurnSettings(),  # noqa: B008  # it is frozen
        *,
        turn_id: str | None = None,
        policy: Policy | None = None,
    ) -> TurnCore:
        """A new turn; see `AgentMemory.turn`."""
        _, filters, tracks_tools, _ = self.turn_options
        full = settings._replace(default_filters=filters, tracks_tools=tracks_tools).check()
        return TurnCore(self.bind_types(names, policy), full, turn_id)

    def find_turn(self, *, begins: bool) -> TurnCore:
        """The turn of the agent's own scope that the verbs of its memory act on.

        Args:
            begins: Whether another one begins where the last one has ended.
        """
        with self._turn_lock:
            if self._turn is None or (begins and self._turn.has_ended):
                self._turn = self.make_turn(())
            return self._turn

    def handle(self, names: tuple[str, ...], policy: Policy | None, *, create: bool = True) -> Handle:
        """A new handle; after a disposal it binds to the next incarnation."""
        self.settings.open_state.check_open()
        path = check_path(names)
        check_flag(create, "create")
        root = Handle(
            self.store.engine, self.settings, (self.agent_id,), policy=None, parent=None, create=create or bool(path)
        )
        handle = root
        for depth, name in enumerate(path, 1):
            is_last = depth == len(path)
            handle = handle.child(name, policy if is_last else None, create=create or not is_last)
        return handle

    def exists(self) -> Flow[bool]:
        """Whether the agent has anything stored."""
        return self.handle((), None).exists()

    def dispose_working_memory(self) -> Flow[None]:
        """See `AgentMemory.close`."""
        yield from finish_pending(self.store.engine, self.agent_id)
        yield from dispose_working_memory(self.handle((), None))

    def erase_all(self) -> Flow[Erased]:
        """See `AgentMemory.erase_all`."""
        root = self.handle((), None)
        with suppress(CorruptionError):  # what is pending and cannot be read goes with all else
            yield from finish_pending(self.store.engine, self.agent_id)
        erased = yield from erase_all(root)
        return erased._replace(remaining=(*erased.remaining, *self.types.tell_external()))

    def subscribe(self, listener: Listener, *, reserved: bool) -> Callable[[], None]:
        self.settings.open_state.check_open()
        end = self.store.engine.events.subscribe(self.agent_id, listener, reserved=reserved)

        def stop() -> None:
            end()
            if stop in self.stop_callbacks:
                self.stop_callbacks.remove(stop)

        self.stop_callbacks.append(stop)
        return stop

    def release(self) -> bool:
        """Mark the memory as released; True for the first caller, which has to close the store."""
        first, self.released = not self.released, True
        return first

    def changes(self, after: Mapping[Path, Cursor] | None, *, reserved: bool) -> Flow[Changes]:
        self.settings.open_state.check_open()
        after = {} if after is None else _check_cursors(after, self.agent_id)
        yield from finish_pending(self.store.engine, self.agent_id)
        paths = yield from ask(Journal.paths, (self.agent_id,))
        cursors = dict.fromkeys(paths, ORIGIN) | dict(after)
        cursors = {
            path: cursor
            for path, cursor in cursors.items()
            if not (is_cache(path) or is_pending(path)) and (reserved or not is_reserved(path))
        }
        tails = (yield from ask(Journal.read, cursors)) if cursors else {}
        events: list[Event] = []
        damage: list[Damage] = []
        codec = self.store.engine.codec
        for path, tail in tails.items():
            if not tail.joined:
                events.append(Event(path, tail.head, Resynced()))
            decoded = decode_records(codec, path, tail.records)
            if codec.chained:
                _, link, lost = decode_snapshot(codec, path, tail)
                damage += lost
                follow_records(codec, path, tail.records, decoded, link=link, base=tail.base)
            # As in the fold: a record whose request arrived twice counts once.
            seen: set[int] = set()
            for record, changes in zip(tail.records, decoded, strict=True):
                if isinstance(changes, Damage):
                    damage.append(changes)
                    continue
                events += () if record.id in seen else _list_events(path, tail.head, changes)
                seen.add(record.id)
        cursors = {path: tail.head for path, tail in tails.items() if tail.head != ORIGIN}
        return Changes(tuple(events), cursors, tuple(damage))

    def long_term_handle(self, name: str) -> Handle:
        check_long_term(self.settings.features)
        self.settings.open_state.check_open()
        root = self.handle((), None)
        return long_term_handle(root, root.path, name)

    def trace(self, turn: str, session: str | Sequence[str] | None) -> Flow[TurnTrace]:
        names = [session] if isinstance(session, str) else session
        return read_trace(self.handle((), None), turn, None if names is None else check_path(names))

    def traces(self, session: tuple[str, ...]) -> Flow[list[TurnTrace]]:
        return list_traces(self.handle((), None), check_path(session))

    def record(self, context: Context, turn: str | None) -> Flow[str]:
        return record_pack(self._handle_at, context, turn)

    def replay(self, receipt: str, system: str, messages: Sequence[MessageInput] | None) -> Flow[Replay]:
        return replay(self.handle((), None), receipt, system, messages)

    def _handle_at(self, path: Path) -> Handle:
        """A handle on the scope that was packed."""
        if path[0] != self.agent_id:
            raise InvalidInputError(
                f"this context is of agent {path[0]!r}, and this is the memory of {self.agent_id!r}"
            )
        handle = self.handle((), None)
        for name in path[1:]:
            handle = handle.child(name)
        return handle

    def snapshot(self, key: KeyRing | bytes | str | None) -> Flow[Snapshot]:
        return take_snapshot(self.handle((), None), self.keys if key is None else _to_ring(key))

    def restore(self, snapshot: bytes, key: KeyRing | bytes | str | None) -> Flow[Restored]:
        return restore_snapshot(self.handle((), None), snapshot, self.keys if key is None else _to_ring(key))

    def clear(self, *, working: bool, context: bool, long_term: bool) -> Flow[ClearedMemory]:
        cleared = yield from clear_memory(self.handle((), None), working=working, context=context, long_term=long_term)
        beyond = self.types.tell_external() if long_term else ()
        return cleared._replace(remaining=(*cleared.remaining, *beyond))

    def stats(self) -> Flow[MemoryStats]:
        return memory_stats(self.handle((), None))

    def maintain(self, jobs: Iterable[str] | None = None) -> Flow[MaintenanceReport]:
        self.settings.open_state.check_open()
        chosen = choose_jobs(JOBS, jobs)
        engine, root = self.store.engine, self.handle((), None)
        yield from finish_pending(engine, self.agent_id)
        paths = [path for path in (yield from ask(Journal.paths, root.path)) if not is_pending(path)]
        # Its own: another thread may be in the middle of a pass.
        earlier = self.looks
        self.looks = looks = {path: look for path in paths if (look := earlier.get(path)) is not None}
        clock = self.settings.clock
        standing = yield from find_unchanged(engine, looks, clock())
        done = yield from maintain(engine, self.agent_id, paths, clock, looks=looks, standing=standing)
        named = jobs is not None
        done = done._replace(jobs=(yield from self._run_jobs(chosen, root, paths, standing, named=named)))
        store = vector_store_handle(root)
        has_purged = yield from purge_unpurged(root, "disposed")
        # A store may have dropped a scope whose items had all expired.
        if (
            not has_purged
            and store.path in paths
            and (done.expired or self.scopes_at_prune is None or not self.scopes_at_prune.issubset(paths))
        ):
            yield from prune_vectors(store)
        self.scopes_at_prune = frozenset(path for path in paths if not is_index(path))
        yield from keep_indexes(engine, self.agent_id, self.settings.clock())
        yield from ask(Sweep.sweep, root.path)
        return done._replace(closed=(yield from self._close_idle_sessions(paths, standing)))

    def _run_jobs(
        self, jobs: Sequence[Job], root: Handle, paths: Sequence[Path], standing: Mapping[Path, Cursor], *, named: bool
    ) -> Flow[Mapping[str, JobReport]]:
        if not self.settings.features.has_long_term or is_clock_ahead(self.settings.clock):
            return {}
        context = JobContext(
            engine=self.store.engine,
            root=root,
            types=self.types,
            paths=paths,
            standing=standing,
            now=self.settings.clock(),
            store=self.job_store,
            extracts_skills=self.turn_options.enable_skill_extraction,
            named=named,
        )
        return (yield from run_jobs(jobs, context))

    def _close_idle_sessions(self, paths: Sequence[Path], standing: Mapping[Path, Cursor]) -> Flow[int]:
        idle_s = self.types.conversation.idle_s
        if idle_s is None or not self.settings.features.has_long_term:
            return 0
        if self.idle_sessions is None:
            self.idle_sessions = IdleSessions(idle_s, lambda path: self.bind_types(path[1:], None).conversation)
        return (yield from self.idle_sessions.close(self.store.engine, paths, standing, self.settings.clock()))

    def maintenance_interval(self, every_s: float | None) -> float:
        self.settings.open_state.check_open()
        wanted = self.settings.policy.cleanup_every_s if every_s is None else every_s
        return float(check_seconds(wanted, "every_s", threading.TIMEOUT_MAX))

    def backup(self, path: str | os.PathLike[str]) -> Flow[None]:
        self.settings.open_state.check_open()
        if not isinstance(path, str | os.PathLike):
            raise InvalidInputError(f"path must be text or a path, not {type(path).__name__!r}")
        target = os.fspath(path)
        if not isinstance(target, str) or not target.strip("/ ") or "\0" in target:
            raise InvalidInputError("path names no file or directory")
        yield from ask(Backup.backup, os.path.abspath(target))  # noqa: PTH100  # links stay as they are

    def rotate(self) -> Flow[int]:
        self.settings.open_state.check_open()
        yield from finish_pending(self.store.engine, self.agent_id)
        return (yield from rotate(self.store.engine, (self.agent_id,), self.settings.clock()))

    def close(self) -> Flow[None]:
        """Stop listeners and maintenance, and write the access counts and the trace that are not written yet."""
        if self._turn is not None:
            yield from self._turn.abandon()
        self.settings.open_state.is_closed = True
        self.settings.latest_context.clear()
        if self.settings.metrics is not None:
            self.settings.metrics.unwatch(self.settings.open_state)
        for stop in tuple(self.stop_callbacks):
            stop()
        try:
            yield from flush_touches(self.store.engine, self.agent_id, self.settings.clock())
            yield from keep_indexes(self.store.engine, self.agent_id, self.settings.clock())
        except StoreError as exc:
            # Counts are metadata: they must not keep a memory open.
            _log.warning("some fetches of agent %s were not counted: %s", self.agent_id, exc)


class _OpenCores:
    """The memories of this process that somebody holds."""

    def __init__(self) -> None:
        self._lock = new_renewed_lock()
        self._cores: weakref.WeakSet[AgentCore] = weakref.WeakSet()

    def add(self, core: AgentCore) -> None:
        with self._lock:
            self._cores.add(core)

    def list(self) -> list[AgentCore]:
        with self._lock:
            return [core for core in self._cores if not core.released]


_open_cores = _OpenCores()


def _list_events(path: Path, head: Cursor, changes: Sequence[Change]) -> list[Event]:
    """What a record's changes are for those who listen."""
    if changes and isinstance(changes[0], ScopeReplaced):
        return [Event(path, head, Resynced())]
    return [Event(path, head, change) for change in changes if not isinstance(change, IntentChange)]


def list_open_cores() -> list[AgentCore]:
    """The memories that are open in this process."""
    return _open_cores.list()


def _check_cursors(after: object, agent_id: str) -> Mapping[Path, Cursor]:
    if not isinstance(after, Mapping) or not all(isinstance(cursor, Cursor) for cursor in after.values()):
        raise InvalidInputError(f"after must be the cursors of an earlier call, not {describe(after)}")
    if any(path[:1] != (agent_id,) for path in after):
        raise InvalidInputError(f"changes are read of the scopes of agent {agent_id!r} alone")
    return after


def _make_counter(counter: Counter | None, estimates: Mapping[str, int] | None) -> Counter:
    count = default_counter() if counter is None else counter
    return count if estimates is None else MediaCounter(count, estimates)


def _check_estimates(media_tokens: Mapping[str, int]) -> dict[str, int]:
    if not isinstance(media_tokens, Mapping):
        raise InvalidInputError(f"media_tokens must be tokens by kind, not {describe(media_tokens)}")
    if unknown := [kind for kind in media_tokens if kind not in MEDIA_TOKENS]:
        known = ", ".join(MEDIA_TOKENS)
        raise InvalidInputError(f"media_tokens has an unknown kind {describe(unknown[0])}; known: {known}")
    return {kind: check_count(tokens, f"media_tokens[{kind!r}]") for kind, tokens in media_tokens.items()}


def open_core(url: str, agent_id: str, options: OpenOptions, *, is_async: bool = False) -> AgentCore:
    """Open the store of a memory; see `wmem.open`."""
    policy, counter, clock, key, client, embedder, media_tokens, create, *_ = options
    (root,) = check_path([agent_id])
    check_kinds(options._asdict())
    checked = None if counter is None else CheckedCounter(counter)
    estimates = None if media_tokens is None else _check_estimates(media_tokens)
    embedding = None if embedder is None else guard_embedder(embedder)
    if embedding is not None and not is_async:
        embedding.check_sync()
    summarizer = None if options.summarizer is None else GuardedSummarizer(options.summarizer)
    if summarizer is not None and not is_async:
        summarizer.guard.check_sync()
    turns = _check_turn_options(options, is_async=is_async)
    retentions = Retentions(options.retention)
    keys = None if key is None else _to_ring(key)
    # What never leaves this process is not encrypted.
    codec = None if keys is None or not is_blocking(url) else _encryption_codec(keys)
    store = open_store(url, codec=codec, client=client, create=check_flag(create, "create"))
    settings = Settings(
        clock=clock or store.clock,
        counter=default_counter
        if checked is None and estimates is None
        else partial(_make_counter, checked, estimates),
        policy=policy or Policy.session(),
        open_state=OpenState(root),
        metrics=find_metrics(),
        embedding=embedding,
        summarizer=summarizer,
        features=options.features or Features.all(),
        redaction=options.redaction or Redaction(),
        gates=Gates(options.gate or Gate(), turns.types.list_minima()),
        retentions=retentions,
    )
    needed = {
        "password": HIDDEN in store.url,
        "key": codec is not None,
        "client": client is not None,
        "embedder": embedding is not None,
        "summarizer": summarizer is not None,
        "policy": policy is not None,
        "counter": counter is not None,
        "clock": clock is not None,
        "media_tokens": media_tokens is not None,
        "features": settings.features != Features.all(),
        "redaction": settings.redaction != Redaction(),
        "gate": settings.gates.gate != Gate(),
        "retention": retentions.is_configured,
        "memory_types": turns.types.is_configured,
        "default_filters": options.default_filters is not None,
        "enable_tool_tracking": not turns.enable_tool_tracking,
        "enable_skill_extraction": not turns.enable_skill_extraction,
    }
    needs = tuple(name for name, is_needed in needed.items() if is_needed)
    memory = AgentCore(store, root, settings, needs, turns, keys=keys)
    _log.info("Working memory initialized for agent %s", root)
    return memory


def _check_turn_options(options: OpenOptions, *, is_async: bool) -> TurnOptions:
    filters = NO_FILTERS if options.default_filters is None else options.default_filters
    tracks_tools = check_flag(options.enable_tool_tracking, "enable_tool_tracking")
    extracts_skills = check_flag(options.enable_skill_extraction, "enable_skill_extraction")
    types = TypeRegistry(options.memory_types, is_async=is_async)
    for route, store in find_unknown_routes(options.gate, types.names()):
        _log.warning("route %r leads to %r, which is no memory type yet: register it before it is needed", route, store)
    return TurnOptions(types, filters, tracks_tools, extracts_skills)


async def aopen_core(url: str, agent_id: str, options: OpenOptions) -> AgentCore:
    """See `open_core`; a store that blocks is opened in a thread."""
    if not is_blocking(url):
        return open_core(url, agent_id, options, is_async=True)
    import asyncio

    return await asyncio.to_thread(open_core, url, agent_id, options, is_async=True)


def list_agents() -> Flow[list[str]]:
    """See `wmem.agents`."""
    return sorted((yield from ask(Roots.roots)))


def open_existing(url: str, client: object | None) -> tuple[Store, PortPair]:
    """Open a store that is there, for all its agents."""
    store = open_store(url, client=client, create=False)
    return store, PortPair(lambda: store.sync_ports, store.async_ports)


async def aopen_existing(url: str, client: object | None) -> tuple[Store, PortPair]:
    """See `open_existing`; a store that blocks is opened in a thread."""
    if not is_blocking(url):
        return open_existing(url, client)
    import asyncio

    return await asyncio.to_thread(open_existing, url, client)


class MemoryProperties:
    """Members of both memories that need no store access."""

    __slots__ = ("_core",)

    def __init__(self, core: AgentCore) -> None:
        self._core = core

    @property
    def agent_id(self) -> str:
        """The agent's id; the first segment of every path."""
        return self._core.agent_id

    @property
    def url(self) -> str:
        """The store's URL, in a form that `open` takes."""
        return self._core.store.url

    @property
    def counter(self) -> Counter:
        """Counts the tokens of a text as this memory's packs do."""
        return self._core.settings.counter()

    @property
    def context_window(self) -> ContextWindow:
        """How full the context window was at the last pack of this memory's sessions, in this process."""
        return self._core.settings.latest_context.window(self._core.store.engine)

    def subscribe(self, listener: Listener, *, reserved: bool = False) -> Callable[[], None]:
        """Call a listener with every change of this agent's scopes that this process applies.

        It is called once for each change, in order within a scope, outside all locks,
        perhaps in another caller's thread. A listener that fails is logged. Changes to stored
        vectors are not reported. For complete events of entries and scopes alone, subscribe
        ``wmem.observe.entry_events(listener)``.

        Args:
            reserved: Also with changes of scopes of wmem's own, as long-term memory and traces.

        Returns:
            A function that ends the subscription.
        """
        return self._core.subscribe(listener, reserved=reserved)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.agent_id!r} in {self.url!r}>"


def _to_ring(key: KeyRing | bytes | str) -> KeyRing:
    keys = KeyRing(key) if isinstance(key, bytes | str) else key
    if not isinstance(keys, KeyRing):
        raise InvalidInputError(f"key must be a wmem.KeyRing, or one key as bytes or text, not {type(key).__name__!r}")
    return keys


def _encryption_codec(keys: KeyRing) -> Codec[bytes]:
    """The codec that encrypts with a ring.

    Raises:
        MissingExtraError: `cryptography` is not installed.
    """
    try:
        from wmem.codec.encryption import AesCodec
    except ImportError as exc:
        raise MissingExtraError("key= needs the extra 'crypto': pip install 'wmem[crypto]'") from exc
    return AesCodec(keys)
