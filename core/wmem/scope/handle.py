"""What sync and async scopes share: path, incarnation, policy, and the flows to read, write and dispose.

A handle holds no replica. It binds to the first incarnation of its path that it finds and
never moves to the next: code that disposed a scope may rely on that.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from wmem.engine import Decide, Engine, OtherLife
from wmem.errors import CapacityError, CorruptionError, DisposedError, InvalidInputError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.model.change import Change, ScopeDisposed, ScopeOpened
from wmem.model.history import Birth, Path
from wmem.model.row import Row
from wmem.observe.metrics import Metrics
from wmem.policy import Policy
from wmem.replica import Replica
from wmem.scope.census import Census
from wmem.state import State
from wmem.text.embedding import Embedding
from wmem.text.tokens import Counter

__all__ = ["UNKNOWN", "Handle", "Hold", "Read", "Settings", "Unknown", "nearest"]

R = TypeVar("R")

Read: TypeAlias = Callable[[Sequence[State], float], R]
"""A pure function of the states of a scope and its parents (own state first) and the time."""

_log = logging.getLogger("wmem.scope")
_SESSION_DEPTH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options with which a memory was opened.

    Attributes:
        clock: UTC epoch seconds.
        counter: Returns the token counter, made on first use.
        policy: For scopes that are created without one.
        hold: Whether the memory is still open.
        metrics: Where to record metrics; None records nothing.
        census: The last known entry counts of the agent's scopes.
        embedding: Turns texts into vectors; None recalls by words alone.
    """

    clock: Callable[[], float]
    counter: Callable[[], Counter]
    policy: Policy
    hold: "Hold"
    metrics: Metrics | None = None
    census: Census = field(default_factory=Census)
    embedding: Embedding | None = None


class Hold:
    """Whether a memory is open or closed, shared by all its scopes."""

    __slots__ = ("__weakref__", "agent_id", "closed")

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id
        self.closed = False

    def check(self) -> None:
        """Raise `InvalidInputError` when the memory is closed."""
        if self.closed:
            msg = f"the memory of agent {self.agent_id!r} is closed; open it again"
            raise InvalidInputError(msg)


class Unknown:
    """The type of `UNKNOWN`."""


UNKNOWN = Unknown()
"""The reply when only the store can tell."""


class Handle:
    """A caller's reference to one scope."""

    __slots__ = ("_asked", "_disposed", "_followed", "birth", "engine", "lineage", "parent", "path", "root", "settings")

    def __init__(
        self, engine: Engine[Any], settings: Settings, path: Path, *, policy: Policy | None, parent: "Handle | None"
    ) -> None:
        self.engine = engine
        self.settings = settings
        self.path = path
        self.parent = parent
        self.root: Handle = self if parent is None else parent.root
        self.lineage: tuple[Path, ...] = (path, *(parent.lineage if parent else ()))
        self.birth: Birth | None = None
        self._asked = policy
        self._followed: tuple[str, Policy] | None = None
        """The scope's policy: its stored JSON, and parsed."""
        self._disposed = False

    @property
    def policy(self) -> Policy:
        """The scope's policy, as far as this handle knows."""
        return self._followed[1] if self._followed is not None else self._asked or self.settings.policy

    @property
    def id(self) -> str:
        """The whole path as one text, for logs."""
        return "/".join(self.path)

    @property
    def disposed(self) -> bool:
        """Whether this incarnation of the scope, or of a parent, is known to be disposed."""
        return self._disposed or (self.parent is not None and self.parent.disposed)

    def child(self, name: str, policy: Policy | None = None) -> "Handle":
        """A handle on a scope below this one; nothing is stored before its first write."""
        self.check()
        if policy is not None and not isinstance(policy, Policy):
            msg = f"policy must be a wmem.Policy, not {type(policy).__name__!r}"
            raise InvalidInputError(msg)
        return Handle(self.engine, self.settings, (*self.path, name), policy=policy, parent=self)

    def check(self) -> None:
        """Raise `DisposedError` if the scope is known to be disposed, `InvalidInputError` if its memory is closed."""
        if self.settings.hold.closed:
            self.settings.hold.check()
        handle: Handle | None = self
        while handle is not None:
            if handle._disposed:  # noqa: SLF001  # its own class
                raise self._gone()
            handle = handle.parent

    def _gone(self) -> DisposedError:
        return DisposedError(f"scope {self.path!r} was disposed; ask its parent for a new one")

    def met(self, replica: Replica[Any]) -> State:
        """Bind to a replica's incarnation, if not bound yet, and return the state this handle may see."""
        if self.birth is None:
            if replica.birth is None or replica.state.disposed:
                return _EMPTY
            self.follow(replica.state)
            self.birth = replica.birth
        elif replica.birth != self.birth or replica.state.disposed:
            self._disposed = True
            raise self._gone()
        elif self._followed is None or self._followed[0] is not replica.state.policy:
            self.follow(replica.state)
        return replica.state

    def _meet_each(self, replicas: Sequence[Replica[Any]]) -> list[State]:
        """The states of the scope and its parents that this handle may see; parents are bound first."""
        above = [] if self.parent is None or len(replicas) == 1 else self.parent._meet_each(replicas[1:])  # noqa: SLF001  # its own class
        return [self.met(replicas[0]), *above]

    def follow(self, state: State) -> Policy:
        """Adopt the policy stored in a state and return it.

        Raises:
            InvalidInputError: It is the first one seen, and differs from the one the scope was opened with.
            CorruptionError: It is not a policy.
        """
        stored = state.policy
        if stored is not None and (self._followed is None or self._followed[0] != stored):
            try:
                policy = Policy.model_validate_json(stored)
            except ValueError as exc:
                msg = f"scope {self.path!r} has stored a policy that is none: {exc}"
                raise CorruptionError(msg) from exc
            if self.birth is None:
                self._check_agreed(policy)
            self._followed = stored, policy.calling(self._asked or self.settings.policy)
        return self.policy

    def _check_agreed(self, stored: Policy) -> None:
        """Raise `InvalidInputError` if a stored policy differs from the one this handle was opened with."""
        if self._asked is None or (differ := stored.unlike(self._asked)) == []:
            return
        kept, asked = stored.numbers(), self._asked.numbers()
        told = ", ".join(f"{name} {kept[name]!r:.80} not {asked[name]!r:.80}" for name in differ[:3])
        msg = f"scope {self.path!r} follows another policy than the one it is opened with: {told}"
        if "recall" in differ:
            msg = f"{msg}; open it without `recall`, which `use_profile` changes"
        raise InvalidInputError(msg)

    # -- reading

    def read(self, read: Read[R], *, alone: bool = False) -> Flow[R]:
        """Run a pure read over the states as of now.

        Args:
            alone: Leave the parents out.
        """
        self.check()
        now = self.settings.clock()
        replicas = yield from self.engine.caught_up(self.lineage[:1] if alone else self.lineage)
        locks = [replica.lock for replica in replicas]
        # Always from the scope up to its root, so that two readers never deadlock.
        for lock in locks:
            lock.acquire()
        try:
            return read(self._meet_each(replicas), now)
        finally:
            for lock in locks:
                lock.release()

    def entry(self, key: str) -> Row | Unknown | None:
        """The nearest visible entry under a key, if the replicas can tell without asking the store."""
        if self.birth is None or self._disposed or self.settings.hold.closed:
            return UNKNOWN
        replicas = self.engine.standing(self.lineage)
        # Disposing a parent disposes this scope too, so the incarnations of parents need no check here.
        if replicas is None or replicas[0].birth != self.birth or any(each.state.disposed for each in replicas):
            return UNKNOWN
        now = self.settings.clock()
        for replica in replicas:
            if (row := replica.state.entry(key, now)) is not None:
                return row
        return None

    def lookup(self, key: str) -> Flow[Row | None]:
        """The nearest visible entry under a key."""
        replicas = yield from self.replicas()
        return nearest(key, (replica.state for replica in replicas), self.settings.clock())

    def check_intact(self, *, alone: bool = False) -> None:
        """Raise `CorruptionError` if a record is damaged: it could hold what was not found."""
        for path in self.lineage[:1] if alone else self.lineage:
            if damage := self.engine.replica(path).damage:
                msg = (
                    f"not found, but scope {path!r} holds {len(damage)} damaged records that could hold it "
                    f"({damage[0].reason}); what else it holds is readable"
                )
                raise CorruptionError(msg)

    def replica(self) -> Flow[tuple[Replica[Any], State]]:
        """The scope's own replica, caught up, and the state this handle may see."""
        self.check()
        # Before its first write, only its parents tell whether the scope may still be created.
        replicas = yield from self.engine.caught_up(self.lineage if self.birth is None else self.lineage[:1])
        return replicas[0], self._meet_each(replicas)[0]

    def replicas(self) -> Flow[list[Replica[Any]]]:
        """The replicas of the scope and its parents, caught up; empty for a scope that does not exist."""
        self.check()
        replicas = yield from self.engine.caught_up(self.lineage)
        met = self._meet_each(replicas)
        return [
            Replica(replica.path, self.engine.codec) if state is _EMPTY and replica.birth is not None else replica
            for replica, state in zip(replicas, met, strict=True)
        ]

    # -- writing

    def post(self, changes: Sequence[Change], now: float) -> Flow[None]:
        """Append changes that do not depend on the state; this never conflicts."""
        self.check()
        if self.birth is None:
            yield from self.replica()
        if self.birth is not None:
            if (yield from self.engine.post(self.path, self.birth, changes, now=now)):
                return
            # This incarnation was disposed, or dropped by the store when all it held had expired: create it again.
            yield from self.replica()
        yield from self.commit(lambda _: (changes, None), now)

    def commit(self, decide: Decide[R], now: float) -> Flow[R]:
        """Append changes decided from the current state; see `Engine.commit`."""
        replica, _ = yield from self.replica()
        if self.birth is None:
            yield from self._room(replica)
        opening = ScopeOpened(self.policy.model_dump_json(exclude_defaults=True), now)
        fresh = self.birth is None and (replica.birth is None or replica.state.disposed)
        tries = 0

        def checked(state: State) -> tuple[Sequence[Change], R]:
            nonlocal tries
            tries += 1
            if state.disposed:
                raise OtherLife(self.path)
            # Another writer may have created it with another policy: raise before anything is written.
            self.follow(state)
            return decide(state)

        try:
            result, birth = yield from self.engine.commit(
                self.path, checked, opening=(opening,), birth=self.birth, now=now
            )
        except OtherLife:
            self._disposed = True
            raise self._gone() from None
        finally:
            if tries > 1 and self.settings.metrics is not None:
                self.settings.metrics.conflicts.add(tries - 1)
        if self.birth is None and birth is not None:
            self.birth = birth
            self.follow(self.engine.replica(self.path).state)
            if fresh and self.parent is not None:
                yield from self._stays(self.parent)
                _log.debug("Created working memory scope %s (%s) for agent %s", self.path[-1], self.id, self.path[0])
        return result

    def _stays(self, parent: "Handle") -> Flow[None]:
        """Delete this new scope if a parent was disposed meanwhile; else the parent's next incarnation would have it.

        Raises:
            DisposedError: One was; nothing of this scope is left.
        """
        above: Handle | None = parent
        while above is not None and above.birth is None:
            above = above.parent
        if above is None:
            return  # no parent existed
        try:
            replicas = yield from self.engine.caught_up(parent.lineage)
            parent._meet_each(replicas)  # noqa: SLF001  # its own class
        except DisposedError:
            yield from ask(Journal.delete, self.path, self.birth)
            self.engine.forget(self.path)
            raise

    def _room(self, replica: Replica[Any]) -> Flow[None]:
        """Prepare to create the scope: finish an interrupted disposal, check the number of siblings."""
        yield from self._finish(replica)
        if len(self.path) > _SESSION_DEPTH and self.parent is not None:
            above, _ = yield from self.parent.replica()
            yield from self.parent._finish(above)  # noqa: SLF001  # its own class
            limit = self.parent.policy.max_child_scopes
            names = yield from self.parent.children()
            if len(names) >= limit and self.path[-1] not in names:
                msg = f"scope {self.parent.path!r} has {len(names)} of {limit} live child scopes; dispose some"
                raise CapacityError(msg)

    def _finish(self, replica: Replica[Any]) -> Flow[None]:
        """Finish a disposal that was interrupted between marking and deletion."""
        if replica.state.disposed and replica.birth is not None:
            yield from ask(Journal.delete, self.path, replica.birth)

    # -- the scope itself

    def children(self) -> Flow[list[str]]:
        """The names of the scopes directly below, without wmem's internal and emptied ones."""
        self.check()
        depth = len(self.path)
        listed = yield from ask(Journal.paths, self.path)
        # wmem's internal segments are the first below a scope, or the last.
        paths = [path for path in listed if len(path) > depth and path[depth][0] != "~" != path[-1][0]]
        # Another process may have filled a scope that this one last saw empty.
        if emptied := self.engine.bare(paths):
            yield from self.engine.caught_up(emptied)
            gone = frozenset(self.engine.bare(emptied))
            paths = [path for path in paths if path not in gone]
        ended = {path[depth] for path in self.engine.ended(paths) if len(path) == depth + 1}
        return sorted({path[depth] for path in paths} - ended)

    def dispose(self) -> Flow[int]:
        """Delete this incarnation of the scope with all descendants; their bytes are not purged yet.

        Returns:
            How many entries were deleted; 0 with a warning when it was disposed already.
        """
        if self.disposed:
            if self.engine.ended([self.path]):
                # It was marked, but not deleted: interrupted, or the store failed.
                yield from self._deleted(self.engine.replica(self.path).birth)
            _log.warning("Working memory scope %s already disposed, operation ignored", self.id)
            return 0
        now = self.settings.clock()
        count = 0

        def decide(state: State) -> tuple[Sequence[Change], int]:
            cleared = len(state.visible(state.entries.values(), now))
            return [ScopeDisposed(cleared, now)], cleared

        try:
            if self.birth is None:
                yield from self.replica()
            if self.birth is not None:
                count = yield from self.commit(decide, now)
        except DisposedError:
            return (yield from self.dispose())  # another disposal came first: warn as for a second one of ours
        # Mark first, delete second: a crash in between leaves a scope that every reader takes for disposed.
        # Only the marked incarnation is deleted: another may have begun by now.
        yield from self._deleted(self.birth)
        _log.debug("Disposed working memory scope %s (%s), cleared %d entries", self.path[-1], self.id, count)
        return count

    def _deleted(self, life: Birth | None) -> Flow[None]:
        """Delete one incarnation of the scope with all descendants."""
        yield from ask(Journal.delete, self.path, life)
        self._disposed = True
        self.engine.forget(self.path)
        self.engine.unpurged.add(self.path[0])


def nearest(key: str, states: Iterable[State], now: float) -> Row | None:
    """The visible entry under a key in the first state that has one; needs no lock."""
    for state in states:
        if (row := state.entry(key, now)) is not None:
            return row
    return None


_EMPTY = State()
