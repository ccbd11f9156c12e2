"""What a job of maintenance is, and how jobs are chosen and run.

A job is deterministic: the same state and time give the same changes. It does nothing where nothing changed, leaves
what another process writes meanwhile to the next pass, and takes away nothing that cannot be brought back.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from wmem.agent.types.registry import TypeRegistry
from wmem.describe import describe, describe_failure
from wmem.engine.derived import Derived
from wmem.engine.engine import Engine
from wmem.engine.replica import Replica
from wmem.errors import (
    ConflictError,
    CorruptionError,
    DisposedError,
    InvalidInputError,
    StoreError,
    WrongKeyError,
)
from wmem.flow import Flow
from wmem.log import find_logger
from wmem.model.history import Cursor, Path
from wmem.model.row import Row
from wmem.scope.handle import Handle, Settings
from wmem.scope.items.promotion import long_term_handle

_log = find_logger("wmem.agent")
_OF_ONE_SCOPE = (ConflictError, CorruptionError, WrongKeyError)
"""Failures of the store that are no reason to believe that it is away."""


class JobReport(NamedTuple):
    """What one job did in one pass.

    Attributes:
        changed: How many items it changed, took away and added.
        detail: Counts by the job's own words.
        error: Why it failed, as the type of the error; empty if it did not. What it had done before stays done.
    """

    changed: int = 0
    detail: Mapping[str, int] = MappingProxyType({})
    error: str = ""


class JobStore:
    """What the jobs of one memory remember of earlier passes, in this process.

    Attributes:
        values: Any value by job and scope.
        purged_at: When the bytes of what jobs took away were last made to leave the store.
    """

    def __init__(self) -> None:
        self.values: dict[tuple[str, Path], object] = {}
        self.purged_at = -math.inf

    def keep_only(self, paths: Iterable[Path]) -> None:
        """Forget the scopes that are gone."""
        known = frozenset(paths)
        self.values = {key: value for key, value in self.values.copy().items() if key[1] in known}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext:
    """What a job is given.

    Attributes:
        root: The agent's own scope.
        types: The memory types, with their settings.
        paths: All scopes of the agent.
        standing: The cursors of scopes that stand as an earlier pass left them.
        now: UTC epoch seconds, for the whole pass.
        store: What this job remembers of earlier passes.
        extracts_skills: Whether skills are made of tool calls.
        named: Whether the jobs were asked for by name: then none of them waits for more to do.
    """

    engine: Engine[Any]
    root: Handle
    types: TypeRegistry
    paths: Sequence[Path]
    now: float
    standing: Mapping[Path, Cursor] = field(default_factory=dict)
    store: JobStore = field(default_factory=JobStore)
    extracts_skills: bool = True
    named: bool = False

    @property
    def settings(self) -> Settings:
        """The options with which the memory was opened."""
        return self.root.settings

    def long_term(self, name: str) -> list[Handle]:
        """The long-term memories of one kind that exist: the agent's, and those of scopes that a policy names.

        Args:
            name: Such as ``~semantic``.
        """
        paths = sorted(path for path in self.paths if path[-1] == name and len(path) > 1)
        return [long_term_handle(self.root, path[:-1], name) for path in paths]


class Job(NamedTuple):
    """A part of maintenance with a name.

    Attributes:
        on_request: Whether it runs only where it is named: what it does cannot be undone.
    """

    name: str
    run: Callable[[JobContext], Flow[JobReport]]
    on_request: bool = False


def run_in_each(handles: Iterable[Handle], run: Callable[[Handle], Flow[Mapping[str, int]]]) -> Flow[JobReport]:
    """Run a step of a job in several scopes; one that is damaged, gone or busy is left to the next pass.

    Args:
        run: Returns counts by the job's own words; their sum is how many items changed.
    """
    counts: Counter[str] = Counter()
    for handle in handles:
        try:
            counts.update((yield from run(handle)))
        except (*_OF_ONE_SCOPE, DisposedError) as exc:
            _log.debug("a job leaves scope %s to the next pass: %s", handle.id, type(exc).__name__)
    detail = {name: number for name, number in sorted(counts.items()) if number}
    return JobReport(sum(detail.values()), MappingProxyType(detail))


class ChangedIds(Derived):
    """The ids of rows that changed since a job last looked, all of them at first; each job has its own class."""

    __slots__ = ("ids",)

    def __init__(self) -> None:
        self.ids: dict[str, None] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id in changed:
            self.ids.pop(id, None)
            self.ids[id] = None

    @classmethod
    @contextmanager
    def take_from(cls, replica: Replica[Any]) -> Iterator[list[str]]:
        """The ids that changed, in the order in which they changed last; from here on they are known.

        If the block fails or is broken off, they count as changed again: they were not all looked at.
        """
        ids: list[str] = replica.use_derived(cls, cls._take)
        try:
            yield ids
        except BaseException:
            replica.use_derived(cls, lambda left: left.put_back(ids))
            raise

    def _take(self) -> list[str]:
        ids, self.ids = list(self.ids), {}
        return ids

    def put_back(self, ids: Iterable[str]) -> None:
        """Count these as changed again."""
        self.ids = {**dict.fromkeys(ids), **self.ids}


def choose_jobs(known: Sequence[Job], names: object) -> list[Job]:
    """The jobs with these names, in the order in which they run; None chooses all but those on request.

    Raises:
        InvalidInputError: A name that no job has.
    """
    if names is None:
        return [job for job in known if not job.on_request]
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InvalidInputError(f"jobs must be a list of names, not {describe(names)}")
    wanted = list(names)
    by_name = {job.name: job for job in known}
    if unknown := [name for name in wanted if not isinstance(name, str) or name not in by_name]:
        raise InvalidInputError(f"there is no job {describe(unknown[0])}; known: {', '.join(by_name)}")
    return [job for job in known if job.name in wanted]


def run_jobs(jobs: Iterable[Job], context: JobContext) -> Flow[Mapping[str, JobReport]]:
    """Run jobs one after the other; one that fails is logged and reported, and stops no other.

    Raises:
        StoreError: The store is away.
    """
    reports: dict[str, JobReport] = {}
    context.store.keep_only(context.paths)
    for job in jobs:
        try:
            reports[job.name] = yield from job.run(context)
        except Exception as exc:  # a job may run what a user wrote, as a summarizer
            if isinstance(exc, StoreError) and not isinstance(exc, _OF_ONE_SCOPE):
                raise
            failure = describe_failure(exc)
            _log.warning("job %s of agent %s failed: %s", job.name, context.root.path[0], failure)
            reports[job.name] = JobReport(error=failure)
    return MappingProxyType(reports)
