"""What sync and async scopes share: path, incarnation, policy, and the flows to read, write and dispose.

A handle holds no replica. It binds to the first incarnation of its path that it finds and
never moves to the next: code that disposed a scope may rely on that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from wmem.engine import writing
from wmem.engine.engine import Engine
from wmem.engine.guard import Guard
from wmem.engine.replacement import finish_pending
from wmem.engine.replica import Replica
from wmem.engine.writing import Decide, DecideBeside, StaleIncarnation
from wmem.errors import (
    CapacityError,
    ConflictError,
    CorruptionError,
    DisposedError,
    InvalidInputError,
    NotFoundError,
    WrongKeyError,
)
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.log import find_logger
from wmem.model.change import Change, ItemPut, PolicyChanged, ScopeDisposed, ScopeOpened, StepAdvanced
from wmem.model.checks import check_flag, check_new_names
from wmem.model.checksum import seal
from wmem.model.features import Features
from wmem.model.gate import NO_COUNTS, Gates
from wmem.model.history import (
    RESERVED_PREFIX,
    Incarnation,
    Path,
    is_cache,
    is_reserved,
    is_trace,
    pending_path,
    to_scope_id,
)
from wmem.model.row import Row
from wmem.observe.metrics import Metrics
from wmem.policy import Policy, parse_policy
from wmem.rules.redaction import Redaction
from wmem.rules.retention import Retentions
from wmem.rules.routing import CONVERSATION, EPISODIC, SEMANTIC
from wmem.scope.context_window import LatestContext
from wmem.scope.entries.counts import EntryCounts
from wmem.scope.index_store import has_grown, keep_grown_index
from wmem.scope.redaction import NO_ROWS, WITHHELD, CleanRows, HeldBackError, redact_row, redacts_at, says_the_same
from wmem.scope.summaries.port import GuardedSummarizer
from wmem.state import State
from wmem.tokens.counter import Counter

R = TypeVar("R")

Read: TypeAlias = Callable[[Sequence[State], float], R]
"""A pure function of the states of a scope and its parents (own state first) and the time."""

_log = find_logger("wmem.scope")
_SESSION_DEPTH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options with which a memory was opened.

    Attributes:
        clock: UTC epoch seconds.
        counter: Returns the token counter, made on first use.
        policy: For scopes that are created without one.
        open_state: Whether the memory is still open.
        metrics: Where to record metrics; None records nothing.
        entry_counts: The last known entry counts of the agent's scopes.
        embedding: Turns texts into vectors; None recalls by words alone.
        summarizer: Summarizes texts; None does so by extracts alone.
        features: What may be used.
        latest_context: Holds the last prompt that was packed.
        redaction: Of what goes into long-term memory or leaves this memory; None redacts nothing.
        clean_rows: The rows that were redacted a moment ago.
        gates: What an item must have to enter a memory type.
        retentions: The retentions that items may name.
    """

    clock: Callable[[], float]
    counter: Callable[[], Counter]
    policy: Policy
    open_state: "OpenState"
    metrics: Metrics | None = None
    entry_counts: EntryCounts = field(default_factory=EntryCounts)
    embedding: Guard | None = None
    summarizer: GuardedSummarizer | None = None
    features: Features = field(default_factory=Features)
    latest_context: LatestContext = field(default_factory=LatestContext)
    redaction: Redaction | None = None
    clean_rows: CleanRows = field(default_factory=CleanRows)
    gates: Gates = field(default_factory=Gates)
    retentions: Retentions = field(default_factory=Retentions)


class OpenState:
    """Whether a memory is open or closed, shared by all its scopes."""

    __slots__ = ("__weakref__", "agent_id", "is_closed")

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id
        self.is_closed = False

    def check_open(self) -> None:
        """Raise `InvalidInputError` when the memory is closed."""
        if self.is_closed:
            raise InvalidInputError(f"the memory of agent {self.agent_id!r} is closed; open it again")


class CacheMiss:
    """The type of `CACHE_MISS`."""


CACHE_MISS = CacheMiss()
"""The reply when only the store can tell."""


class Handle:
    """A caller's reference to one scope."""

    def __init__(
        self,
        engine: Engine[Any],
        settings: Settings,
        path: Path,
        *,
        policy: Policy | None,
        parent: "Handle | None",
        create: bool = True,
    ) -> None:
        self.engine = engine
        self.settings = settings
        self.path = path
        self.parent = parent
        self.root: Handle = self if parent is None else parent.root
        self.lineage: tuple[Path, ...] = (path, *(parent.lineage if parent else ()))
        self.incarnation: Incarnation | None = None
        self.redaction = settings.redaction if redacts_at(settings.redaction, path) else None
        """Of what is written here; None for what is stored verbatim."""
        self._seals = path[-1] in (SEMANTIC, EPISODIC)  # whether its items have checksums
        self.identity = 0
        """Of the scope that it is bound to, or 0; a restored one keeps it: copies and pointers name it."""
        self._requested_policy = policy
        self._stored_policy: tuple[str, Policy] | None = None  # the scope's policy: its stored JSON, and parsed
        self._named_long_term: tuple[Path, ...] = ()
        self._is_disposed = False
        self._is_leased = False  # whether a write renews a lease, of this scope or of a parent
        above = None if parent is None else parent._must_exist  # noqa: SLF001  # its own class
        self._must_exist: Handle | None = above if create else self
        """The nearest handle, from here up, of which nobody has seen yet that its scope exists, though it must."""

    @property
    def policy(self) -> Policy:
        """The scope's policy, as far as this handle knows."""
        return (
            self._stored_policy[1]
            if self._stored_policy is not None
            else self._requested_policy or self.settings.policy
        )

    @property
    def long_term_scopes(self) -> tuple[Path, ...]:
        """The scopes whose long-term memory this one shares, beside the agent's.

        They are those of its own policy, or the nearest parent's that names some, before those that hold for all scopes
        of the memory: what a sub-agent of one user's session promotes is not everybody's.
        """
        handle: Handle | None = self
        while handle is not None:
            if names := handle._own_long_term:  # noqa: SLF001  # its own class
                break
            handle = handle.parent
        return tuple((self.path[0], *each) for each in names or self.settings.policy.long_term)

    @property
    def _own_long_term(self) -> tuple[Path, ...]:
        """The scopes that were named for this scope itself."""
        policy = self._requested_policy if self._stored_policy is None else self._stored_policy[1]
        return self._named_long_term or (() if policy is None else policy.long_term)

    def name_long_term(self, names: tuple[Path, ...]) -> None:
        """Name the scopes whose long-term memory this one shares: as `Policy.long_term`, whatever else its policy is.

        They are stored by the first write, unless the scope has stored some. Of these the first, to which it promotes,
        must be the same: else its first call raises `InvalidInputError`, for it is another user's.
        """
        self._named_long_term = names

    def long_term_paths(self) -> tuple[Path, ...]:
        """The scopes of long-term memory that are recalled beside this one and its parents; a reserved one has none."""
        if self.path[-1].startswith(RESERVED_PREFIX) or not self.settings.features.has_long_term:
            return ()
        named = self.long_term_scopes
        memories = [(*scope, each) for scope in (*named, self.path[:1]) for each in (SEMANTIC, EPISODIC)]
        paths = dict.fromkeys((*named, *memories) if named else memories)
        return tuple(path for path in paths if path not in self.lineage)

    def _policy_json(self) -> str:
        """The policy as it is stored."""
        return self._write_policy() if self._stored_policy is None else self._stored_policy[0]

    def _write_policy(self) -> str:
        """The policy as JSON, with the scopes that were named for it or, before it has one, for a parent."""
        named, policy = self._named_long_term, self.policy
        if not named and self._requested_policy is None and self._stored_policy is None:
            named = tuple(scope[1:] for scope in self.long_term_scopes)
        if named and named != policy.long_term:
            policy = policy.model_copy(update={"long_term": named})
        return policy.model_dump_json(exclude_defaults=True)

    def _naming_change(self, now: float) -> Change | None:
        """What stores the named scopes in a scope that has none: whoever else opens it promotes to them, too."""
        stored = self._stored_policy
        if not self._named_long_term or stored is None or stored[1].long_term:
            return None
        return PolicyChanged(self._write_policy(), now)

    @property
    def id(self) -> str:
        """The whole path as one text; see `to_scope_id`."""
        return to_scope_id(self.path)

    @property
    def is_disposed(self) -> bool:
        """Whether this incarnation of the scope, or of a parent, is known to be disposed."""
        return self._is_disposed or (self.parent is not None and self.parent.is_disposed)

    @contextmanager
    def assume_policy(self, policy: Policy | None) -> Iterator[None]:
        """Create the scope, if it is created meanwhile, with a policy, unless it was asked for with another."""
        if (
            policy is None
            or self.incarnation is not None
            or self._requested_policy is not None
            or is_reserved(self.path)
        ):
            yield
            return
        self._requested_policy = policy
        try:
            yield
        finally:
            self._requested_policy = None

    def child(self, name: str, policy: Policy | None = None, *, create: bool = True) -> "Handle":
        """A handle on a scope below this one; nothing is stored before its first write.

        Args:
            create: Whether it may create the scope; if not, its first call raises `NotFoundError` where there is none.
        """
        self.check_usable()
        if policy is not None and not isinstance(policy, Policy):
            raise InvalidInputError(f"policy must be a wmem.Policy, not {type(policy).__name__!r}")
        return Handle(self.engine, self.settings, (*self.path, name), policy=policy, parent=self, create=create)

    def check_usable(self) -> None:
        """Raise `DisposedError` if the scope is known to be disposed, `InvalidInputError` if its memory is closed."""
        if self.settings.open_state.is_closed:
            self.settings.open_state.check_open()
        handle: Handle | None = self
        while handle is not None:
            if handle._is_disposed:  # noqa: SLF001  # its own class
                raise self._to_disposed_error()
            handle = handle.parent

    def _to_disposed_error(self) -> DisposedError:
        return DisposedError(f"scope {self.path!r} was disposed; ask its parent for a new one")

    def bind(self, replica: Replica[Any]) -> State:
        """Bind to a replica's incarnation, if not bound yet, and return the state this handle may see."""
        if self.incarnation is None:
            if replica.incarnation is None or replica.state.disposed:
                return _EMPTY_STATE
            self.adopt_policy(replica.state)
            self._set_incarnation(replica.incarnation, replica.identity)
        elif replica.state.disposed or not (replica.incarnation == self.incarnation or self._follow_restore(replica)):
            self._is_disposed = True
            raise self._to_disposed_error()
        elif self._stored_policy is None or self._stored_policy[0] is not replica.state.policy:
            self.adopt_policy(replica.state)
        return replica.state

    def _follow_restore(self, replica: Replica[Any]) -> bool:
        """Move to the incarnation in which the scope was restored; False if that is none of this one."""
        state, bound = replica.state, self.incarnation
        if bound is None or replica.incarnation is None or not state.identity:
            return False
        if self.identity != state.identity and bound.chain not in state.replaces:
            return False
        self.adopt_policy(state)
        self._set_incarnation(replica.incarnation, replica.identity)
        return True

    def _set_incarnation(self, incarnation: Incarnation, identity: int) -> None:
        self.incarnation, self.identity = incarnation, identity
        self._is_leased = self.policy.lease_s is not None or (self.parent is not None and self.parent._is_leased)  # noqa: SLF001  # its own class

    def _bind_each(self, replicas: Sequence[Replica[Any]]) -> list[State]:
        """The states of the scope and its parents that this handle may see; parents are bound first."""
        above = [] if self.parent is None or len(replicas) == 1 else self.parent._bind_each(replicas[1:])  # noqa: SLF001  # its own class
        return [self.bind(replicas[0]), *above]

    def adopt_policy(self, state: State) -> Policy:
        """Adopt the policy stored in a state and return it.

        Raises:
            InvalidInputError: It is the first one seen, and differs from the one the scope was opened with.
            CorruptionError: It is not a policy.
        """
        stored = state.policy
        if stored is not None and (self._stored_policy is None or self._stored_policy[0] != stored):
            try:
                policy = parse_policy(stored)
            except ValueError as exc:
                raise CorruptionError(f"scope {self.path!r} has stored a policy that is none: {exc}") from exc
            if self.incarnation is None:
                self._check_policy_matches(policy)
            self._stored_policy = stored, policy.with_functions_of(self._requested_policy or self.settings.policy)
        return self.policy

    def _check_policy_matches(self, stored: Policy) -> None:
        """Raise `InvalidInputError` if a stored policy differs from the one this handle was opened with."""
        if self._named_long_term and stored.long_term and stored.long_term[0] != self._named_long_term[0]:
            msg = f"scope {self.path!r} promotes to the long-term memory of another scope than the first one named"
            raise InvalidInputError(msg)
        if self._requested_policy is None or (differ := stored.differences(self._requested_policy)) == []:
            return
        kept, asked = stored.storage_fields(), self._requested_policy.storage_fields()
        told = ", ".join(f"{name} {kept[name]!r:.80} not {asked[name]!r:.80}" for name in differ[:3])
        msg = f"scope {self.path!r} follows another policy than the one it is opened with: {told}"
        if "recall" in differ:
            msg = f"{msg}; open it without `recall`, which `use_profile` changes"
        raise InvalidInputError(msg)

    # -- reading

    def read(self, read: Read[R], *, local_only: bool = False) -> Flow[R]:
        """Run a pure read over the states as of now.

        Args:
            local_only: Leave the parents out.
        """
        self.check_usable()
        if self._must_exist is not None:
            yield from self._check_exists()
        now = self.settings.clock()
        while True:
            replicas = yield from self.engine.sync(self.lineage[:1] if local_only else self.lineage)
            if (result := self._read_locked(replicas, 0, read, now)) is not None:
                return result[0]

    def _read_locked(self, replicas: Sequence[Replica[Any]], locked: int, read: Read[R], now: float) -> tuple[R] | None:
        """The result of a read with every replica locked; None if one was torn since it was synced.

        Args:
            locked: How many are: always from the scope up to its root, so that two readers never deadlock.
        """
        if locked == len(replicas):
            return (read(self._bind_each(replicas), now),)
        replica = replicas[locked]
        with replica.lock:
            return None if replica.torn else self._read_locked(replicas, locked + 1, read, now)

    def find_cached_entry(self, key: str) -> Row | CacheMiss | None:
        """The nearest visible entry under a key, if the replicas can tell without asking the store."""
        if self.incarnation is None or self._is_disposed or self.settings.open_state.is_closed:
            return CACHE_MISS
        replicas = self.engine.fresh(self.lineage)
        # Disposing a parent disposes this scope too, so the incarnations of parents need no check here.
        if (
            replicas is None
            or replicas[0].incarnation != self.incarnation
            or any(each.state.disposed for each in replicas)
        ):
            return CACHE_MISS
        now = self.settings.clock()
        for replica in replicas:
            if (row := replica.state.entry(key, now)) is not None:
                return row
        return None

    def lookup(self, key: str) -> Flow[Row | None]:
        """The nearest visible entry under a key."""
        replicas = yield from self.replicas()
        return nearest_entry(key, (replica.state for replica in replicas), self.settings.clock())

    def check_intact(self, *, local_only: bool = False) -> None:
        """Raise `CorruptionError` if a record is damaged: it could hold what was not found."""
        for path in self.lineage[:1] if local_only else self.lineage:
            if damage := self.engine.replica(path).damage:
                msg = (
                    f"not found, but scope {path!r} holds {len(damage)} damaged records that could hold it "
                    f"({damage[0].reason}); what else it holds is readable"
                )
                raise CorruptionError(msg)

    def replica(self) -> Flow[tuple[Replica[Any], State]]:
        """The scope's own replica, caught up, and the state this handle may see."""
        self.check_usable()
        if self._must_exist is not None:
            yield from self._check_exists()
        # Before its first write, only its parents tell whether the scope may still be created.
        replicas = yield from self.engine.sync(self.lineage if self.incarnation is None else self.lineage[:1])
        return replicas[0], self._bind_each(replicas)[0]

    def replicas(self, *, local_only: bool = False) -> Flow[list[Replica[Any]]]:
        """The replicas of the scope and its parents, caught up; empty for a scope that does not exist.

        Args:
            local_only: Leave the parents out.
        """
        self.check_usable()
        if self._must_exist is not None:
            yield from self._check_exists()
        replicas = yield from self.engine.sync(self.lineage[:1] if local_only else self.lineage)
        return self._bind_replicas(replicas)

    def replicas_to_recall(
        self, *, inherit: bool, long_term: bool, conversation: bool = False
    ) -> Flow[list[Replica[Any]]]:
        """The replicas that recall looks at, of one instant: the scope's, its parents', and long-term memory's.

        Of long-term memory only those that hold anything. One that cannot be read is left out, and logged once.

        Args:
            inherit: Whether the parents are among them.
            long_term: Whether long-term memory is.
            conversation: Whether the scope of closed sessions' turns is, as the last, if it holds any.
        """
        check_flag(inherit, "inherit")
        check_flag(long_term, "long_term")
        self.check_usable()
        if self._must_exist is not None:
            yield from self._check_exists()
        while True:
            beside = self._paths_beside(long_term=long_term, conversation=conversation)
            try:
                replicas = yield from self.engine.sync((*self.lineage, *beside))
            except (CorruptionError, WrongKeyError):
                replicas = yield from self.engine.sync(self.lineage)
                replicas += yield from self.engine.sync_readable(beside)
            depth = len(self.lineage)
            own = self._bind_replicas(replicas[:depth])
            if beside == self._paths_beside(long_term=long_term, conversation=conversation):
                break  # else the policy was not known before
        others = [each for each in replicas[depth:] if each.state.items or each.state.entries]
        return [*(own if inherit else own[:1]), *(each for each in others if not each.state.disposed)]

    def _paths_beside(self, *, long_term: bool, conversation: bool) -> tuple[Path, ...]:
        """What is read beside the scope and its parents, as far as its policy is known."""
        paths = self.long_term_paths() if long_term else ()
        if not conversation or not self.settings.features.has_long_term:
            return paths
        return (*paths, (*next(iter(self.long_term_scopes), self.path[:1]), CONVERSATION))

    def _bind_replicas(self, replicas: Sequence[Replica[Any]]) -> list[Replica[Any]]:
        """The replicas of the scope and its parents as far as this handle may see them."""
        met = self._bind_each(replicas)
        return [
            Replica(replica.path, self.engine.codec, analyzer=self.engine.analyzer)
            if state is _EMPTY_STATE and replica.incarnation is not None
            else replica
            for replica, state in zip(replicas, met, strict=True)
        ]

    # -- writing

    def active_redaction(self) -> Redaction:
        """The memory's redaction, for what is to be redacted on request.

        Raises:
            InvalidInputError: It is off.
        """
        redaction = self.settings.redaction
        if redaction is None or not redaction.active:
            raise InvalidInputError("this memory was opened with a redaction that is off: open it with another one")
        return redaction

    def redact(self, row: Row, *, whole: bool = False, before: Row | None = None) -> Row:
        """A row as it is stored here, redacted and sealed: what is decided, counted and returned is of what is stored.

        While a recognizer fails, a message is stored without the texts that it failed on, so that the talk goes on;
        anything else is refused, for its texts would be lost.

        Args:
            whole: Refuse a message, too.
            before: The row as it is stored: what is not changed is not read again.

        Raises:
            HeldBackError: A recognizer failed.
        """
        if self.redaction is None and not self._seals:
            return row
        is_sealed = self._seals and row.key is None and row.role is None
        if row in self.settings.clean_rows and (not is_sealed or b'"checksum"' in (row.rest or b"")):
            return row
        made, counts = row, NO_COUNTS
        is_known = before is not None and says_the_same(row, before)
        if self.redaction is not None and not is_known:
            made, counts = redact_row(self.redaction, row, self.settings.counter())
            if WITHHELD in counts and (whole or row.role is None):
                msg = "a recognizer of the redaction failed: nothing was stored, and what there is stays"
                raise HeldBackError(msg)
        if is_sealed:
            made = seal(made)
        if not is_known:
            self.settings.clean_rows.add(made, counts)
        return made

    def keep_redacted(self, row: Row, new: Row) -> Row:
        """A row that was made of a redacted one by setting fields without text: it is not read again."""
        if row in self.settings.clean_rows:
            self.settings.clean_rows.add(new, self.settings.clean_rows.counts(row))
        return new

    def _redact_changes(self, changes: Sequence[Change], rows: Mapping[str, Row] = NO_ROWS) -> Sequence[Change]:
        """The changes with redacted rows, whoever made them: nothing is stored here that did not pass."""
        if self.redaction is None and not self._seals:
            return changes
        return [
            ItemPut(self.redact(each.row, before=rows.get(each.row.id))) if isinstance(each, ItemPut) else each
            for each in changes
        ]

    def post(self, changes: Sequence[Change], now: float) -> Flow[None]:
        """Append changes that do not depend on the state; with a key it may have to wait for other writers."""
        self.check_usable()
        changes = self._redact_changes(changes)
        if self.incarnation is None:
            yield from self.replica()
        if self._is_leased:
            changes = (*changes, StepAdvanced(0, now))
        if self.incarnation is not None and self._naming_change(now) is None:
            if (yield from writing.post(self.engine, self.path, self.incarnation, changes, now=now)):
                if has_grown(self.engine, self.path):
                    yield from keep_grown_index(self.engine, self.path, now)
                return
            # This incarnation was disposed, or dropped by the store when all it held had expired: create it again.
            yield from self.replica()
        yield from self.commit(lambda _: (changes, None), now)

    def commit(self, decide: Decide[R], now: float) -> Flow[R]:
        """Append changes decided from the current state; see `writing.commit`."""
        return self._commit(decide, now, None)

    def commit_beside(self, decide: DecideBeside[R], now: float, beside: "Handle") -> Flow[R]:
        """Append changes decided from the current state in the light of another scope's; see `writing.commit`."""
        return self._commit(decide, now, beside.path)

    def _commit(self, decide: Callable[..., tuple[Sequence[Change], R]], now: float, beside: Path | None) -> Flow[R]:
        replica, _ = yield from self.replica()
        if self.incarnation is None:
            yield from self._prepare_creation(replica)
        # A trace follows the policy of the scope above it: it would take as much as ten turns to say so.
        opening = () if is_trace(self.path) else (ScopeOpened(self._policy_json(), now),)
        fresh = self.incarnation is None and (replica.incarnation is None or replica.state.disposed)
        tries, is_stale = 0, False

        def check_and_decide(state: State, *others: State) -> tuple[Sequence[Change], R]:
            nonlocal tries
            tries += 1
            if state.disposed:
                raise StaleIncarnation(self.path)
            # Another writer may have created it with another policy: raise before anything is written.
            self.adopt_policy(state)
            changes, result = decide(state, *others)
            changes = self._redact_changes(changes, state.rows)
            if changes and (named := self._naming_change(now)) is not None:
                changes = (named, *changes)
            return ((*changes, StepAdvanced(0, now)) if changes and self._is_leased else changes), result

        try:
            result, birth = yield from writing.commit(
                self.engine,
                self.path,
                check_and_decide,
                opening=opening,
                incarnation=self.incarnation,
                now=now,
                beside=beside,
            )
        except StaleIncarnation:
            is_stale = True
        finally:
            if tries > 1 and self.settings.metrics is not None:
                self.settings.metrics.conflicts.add(tries - 1)
        if is_stale:
            return (yield from self._commit_after_restore(decide, now, beside))
        if self.incarnation is None and birth is not None:
            self.incarnation = birth  # first: what this very write changed of the policy is no contradiction
            replica = self.engine.replica(self.path)
            self.adopt_policy(replica.state)
            self._set_incarnation(birth, replica.identity if replica.incarnation == birth else birth.chain)
            if fresh and self.parent is not None:
                yield from self._look_after_creation(self.parent)
                _log.debug("Created working memory scope %s (%s) for agent %s", self.path[-1], self.id, self.path[0])
        if has_grown(self.engine, self.path):
            yield from keep_grown_index(self.engine, self.path, now)
        return result

    def _commit_after_restore(
        self, decide: Callable[..., tuple[Sequence[Change], R]], now: float, beside: Path | None
    ) -> Flow[R]:
        """Decide again in the incarnation in which the scope was restored meanwhile.

        Raises:
            DisposedError: It was disposed.
        """
        before = self.incarnation
        yield from self.replica()
        if self.incarnation == before:
            self._is_disposed = True
            raise self._to_disposed_error()
        return (yield from self._commit(decide, now, beside))

    def _look_after_creation(self, parent: "Handle") -> Flow[None]:
        """Delete this new scope if a parent was disposed meanwhile; else the parent's next incarnation would have it.

        Raises:
            DisposedError: One was; nothing of this scope is left.
            ConflictError: The agent's memory was restored meanwhile; nothing of this scope is left.
        """
        try:
            own, *above = yield from self.engine.sync(self.lineage, is_watched=True)
            parent._bind_each(above)  # noqa: SLF001  # its own class
            if own.incarnation != self.incarnation:
                self.bind(own)
                raise ConflictError(
                    f"scope {self.path!r} was created while its agent's memory was restored: write again"
                )
        except DisposedError:
            yield from ask(Journal.delete, self.path, self.incarnation)
            self.engine.drop_replicas(self.path)
            raise

    def _prepare_creation(self, replica: Replica[Any]) -> Flow[None]:
        """Prepare to create the scope: check its names and the number of siblings, finish an interrupted disposal."""
        check_new_names(*self.path)
        yield from self.finish_disposal(replica)
        if len(self.path) > _SESSION_DEPTH and self.parent is not None and not is_reserved(self.path):
            above, _ = yield from self.parent.replica()
            yield from self.parent.finish_disposal(above)
            limit = self.parent.policy.max_child_scopes
            names = yield from self.parent.children()
            if len(names) >= limit and self.path[-1] not in names:
                msg = f"scope {self.parent.path!r} has {len(names)} of {limit} live child scopes; dispose some"
                raise CapacityError(msg)

    def finish_disposal(self, replica: Replica[Any]) -> Flow[None]:
        """Finish a disposal that was interrupted between marking and deletion."""
        if replica.state.disposed and replica.incarnation is not None:
            yield from ask(Journal.delete, self.path, replica.incarnation)

    # -- the scope itself

    def exists(self) -> Flow[bool]:
        """Whether the scope, or one below it, was written and is not disposed; creates nothing."""
        self.settings.open_state.check_open()
        if self.is_disposed:
            return False
        replicas = yield from self.engine.sync(self.lineage)
        try:
            self._bind_each(replicas)
        except DisposedError:
            return False
        if self.incarnation is not None:
            return True
        if any(replica.state.disposed for replica in replicas):
            return False  # marked, and not deleted yet
        below = yield from ask(Journal.paths, self.path)
        return not all(map(is_cache, below))

    def _check_exists(self) -> Flow[None]:
        """Raise `NotFoundError` unless the scopes at and above this one that must exist do."""
        while (wanted := self._must_exist) is not None:
            if not (yield from wanted.exists()):
                raise NotFoundError(f"there is no scope {wanted.path!r}, and it is not to be created")
            above = wanted.parent
            wanted._must_exist = self._must_exist = None if above is None else above._must_exist  # noqa: SLF001  # its own class

    def children(self) -> Flow[list[str]]:
        """The names of the scopes directly below, without wmem's internal and emptied ones."""
        self.check_usable()
        if self._must_exist is not None:
            yield from self._check_exists()
        depth = len(self.path)
        listed = yield from self._list_paths()
        # wmem's internal segments are the first below a scope, or the last.
        paths = [path for path in listed if len(path) > depth and path[depth][0] != "~" != path[-1][0]]
        # Another process may have filled a scope that this one last saw empty.
        if emptied := self.engine.empty_scopes(paths):
            yield from self.engine.sync(emptied)
            gone = frozenset(self.engine.empty_scopes(emptied))
            paths = [path for path in paths if path not in gone]
        ended = {path[depth] for path in self.engine.list_disposed(paths) if len(path) == depth + 1}
        return sorted({path[depth] for path in paths} - ended)

    def _list_paths(self) -> Flow[list[Path]]:
        """The scopes at and below this one, none of them in the middle of a restore."""
        known = self.engine.find_synced_replica(self.path)
        before = None if known is None else known.incarnation
        listed: list[Path] | None = None
        while True:
            earlier, listed = listed, list((yield from ask(Journal.paths, self.path)))
            if len(self.path) == 1:
                if pending_path(self.path) not in listed:
                    return listed
                yield from finish_pending(self.engine, self.path[0])
                continue
            (own,) = yield from self.engine.sync([self.path])
            if listed == earlier or (own.incarnation is not None and own.incarnation == before):
                return listed
            before = own.incarnation

    def dispose(self) -> Flow[int]:
        """Delete this incarnation of the scope with all descendants; their bytes are not purged yet.

        Returns:
            How many entries were deleted; 0 with a warning when it was disposed already.
        """
        if self.is_disposed:
            if self.engine.list_disposed([self.path]):
                # It was marked, but not deleted: interrupted, or the store failed.
                yield from self._delete_incarnation(self.engine.replica(self.path).incarnation)
            _log.warning("Working memory scope %s already disposed, operation ignored", self.id)
            return 0
        now = self.settings.clock()
        count = 0

        def decide(state: State) -> tuple[Sequence[Change], int]:
            cleared = len(state.visible(state.entries.values(), now))
            return [ScopeDisposed(cleared, now)], cleared

        try:
            if self.incarnation is None:
                yield from self.replica()
            if self.incarnation is not None:
                count = yield from self.commit(decide, now)
        except DisposedError:
            return (yield from self.dispose())  # another disposal came first: warn as for a second one of ours
        except CorruptionError as exc:
            # What cannot be read has nothing to mark, and its user wants it gone: so is whatever is left of it.
            _log.warning("scope %r is disposed though it cannot be read: %s", self.path, exc)
            yield from self._delete_incarnation(self.incarnation)
            return 0
        # Mark first, delete second: a crash in between leaves a scope that every reader takes for disposed.
        # Only the marked incarnation is deleted: another may have begun by now.
        yield from self._delete_incarnation(self.incarnation)
        _log.debug("Disposed working memory scope %s (%s), cleared %d entries", self.path[-1], self.id, count)
        return count

    def _delete_incarnation(self, incarnation: Incarnation | None) -> Flow[None]:
        """Delete one incarnation of the scope with all descendants."""
        yield from ask(Journal.delete, self.path, incarnation)
        self._is_disposed = True
        self.engine.drop_replicas(self.path)
        self.engine.unpurged_agents.add(self.path[0])


def nearest_entry(key: str, states: Iterable[State], now: float) -> Row | None:
    """The visible entry under a key in the first state that has one; needs no lock."""
    for state in states:
        if (row := state.entry(key, now)) is not None:
            return row
    return None


_EMPTY_STATE = State()
