"""Jobs of maintenance: how they are chosen, and that one that fails stops no other."""

from typing import Any

import pytest

import wmem
from tests.suites.skills import converse, skills
from wmem.agent.consolidation.all_jobs import JOBS
from wmem.agent.consolidation.jobs import Job, JobContext, JobReport, choose_jobs, run_jobs
from wmem.agent.types.registry import TypeRegistry
from wmem.errors import InvalidInputError, StoreError
from wmem.flow import Flow, run
from wmem.testing.suite import Call, MemoryOpener


def test_a_pass_reports_every_job_or_those_that_were_named(memory: wmem.AgentMemory, call: Call) -> None:
    assert tuple(call(memory.maintain).jobs) == tuple(job.name for job in JOBS if not job.on_request)
    assert call(memory.maintain, []).jobs == {}
    for job in JOBS:
        assert call(memory.maintain, [job.name]).jobs == {job.name: JobReport()}


@pytest.mark.parametrize("jobs", [["tidy"], [""], [3], [None], "purge", 7])
def test_a_name_that_no_job_has_is_refused_and_the_known_ones_are_told(
    jobs: Any, memory: wmem.AgentMemory, call: Call
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call(memory.maintain, jobs)
    if isinstance(jobs, list):
        assert all(job.name in str(caught.value) for job in JOBS)


def test_a_memory_without_long_term_memory_consolidates_nothing() -> None:
    with wmem.open("memory://", agent_id="a", features=wmem.Features.core()) as memory:
        assert memory.maintain().jobs == {}


def _context(memory: wmem.AgentMemory) -> JobContext:
    root = memory._core.handle((), None)  # a job is given what no user has
    return JobContext(engine=root.engine, root=root, types=TypeRegistry(), paths=(), now=0.0)


def _job(name: str, error: Exception | None) -> Job:
    def work(_: JobContext) -> Flow[JobReport]:
        yield from ()
        if error is not None:
            raise error
        return JobReport(1, {"done": 1})

    return Job(name, work)


def test_a_job_that_fails_is_reported_by_type_and_stops_no_other() -> None:
    jobs = [_job("a", ValueError("what a user wrote")), _job("b", wmem.ConflictError("busy")), _job("c", None)]
    with wmem.open("memory://", agent_id="a") as memory:
        reports = run(run_jobs(jobs, _context(memory)), memory._core.ports.sync)  # see above
    assert reports["c"] == (1, {"done": 1}, "")
    assert reports["a"].error.startswith("ValueError")
    assert reports["b"].error.startswith("ConflictError")
    assert "what a user wrote" not in str(reports)


def test_a_store_that_is_away_ends_the_pass() -> None:
    jobs = [_job("a", StoreError("gone")), _job("b", None)]
    with wmem.open("memory://", agent_id="a") as memory, pytest.raises(StoreError):
        run(run_jobs(jobs, _context(memory)), memory._core.ports.sync)  # see above


def test_jobs_run_in_their_own_order_whatever_the_order_of_the_names() -> None:
    known = [_job(name, None) for name in "abc"]
    assert [job.name for job in choose_jobs(known, ["c", "a", "a"])] == ["a", "c"]


class _Shared(dict[Any, Any]):
    """What another thread changes between any two steps of this one."""

    def __contains__(self, key: object) -> bool:
        found = super().__contains__(key)
        self.pop(key, None)
        return found

    def items(self) -> Any:
        for each in super().items():
            self[object()] = None
            yield each


def test_passes_of_two_threads_at_once_disturb_no_other() -> None:
    with wmem.open("memory://", agent_id="a", memory_types=[wmem.ConversationSettings(idle_s=10)]) as memory:
        for name in "bcd":
            memory.scope(name).messages.append({"role": "user", "content": "hi"})
        memory.maintain()
        core = memory._core
        idle = core.idle_sessions
        assert idle is not None
        for holder, name in ((core, "looks"), (core.job_store, "values"), (idle, "_awake"), (idle, "_closed")):
            setattr(holder, name, _Shared(getattr(holder, name)))
        looks = core.looks
        assert looks
        memory.maintain()
        assert core.looks is not looks


class _Evicting(dict[str, Any]):
    """The ports of a memory whose replicas of sessions are evicted before a job reads which of them are closed."""

    def __init__(self, memory: wmem.AgentMemory) -> None:
        super().__init__(memory._core.ports.sync)
        self._replicas = memory._core.store.engine.replicas

    def __getitem__(self, name: str) -> Any:
        method = super().__getitem__(name)

        def call(*args: Any) -> Any:
            if name == "Journal.read" and len(args[0]) < 3 and any(path[-1] == "~conversation" for path in args[0]):
                for path in [path for path in self._replicas if path[-1].startswith("session")]:
                    del self._replicas[path]
            return method(*args)

        return call


@pytest.mark.backends("sqlite")
def test_what_others_erased_of_a_session_is_in_no_skill_though_its_replica_was_evicted(
    open_memory: MemoryOpener, call: Call
) -> None:
    memory, other = open_memory(), open_memory.in_other_process()
    core = memory._core
    if call.mode == "async":
        pytest.skip("ports are put in the sync face's place")
    for number in range(3):
        converse(memory, call, f"session-{number}", number)
        memory.types.session(f"session-{number}")["conversation"].close()
    assert memory.maintain(["extract-skills"]).jobs["extract-skills"].detail == {"stored": 1}
    session = other.scope("session-0")
    session.erase(*[each.id or "" for each in session.messages.all() if each.role == "tool"])
    run(core.maintain(["extract-skills"]), _Evicting(memory))
    assert skills(memory, call) == []
