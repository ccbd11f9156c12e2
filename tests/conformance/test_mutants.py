"""The journal suite catches faults in the real backends: each mutant fails the tests that state what it breaks."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conformance import mutants_files as files
from tests.conformance import mutants_pool as pool
from tests.conformance import mutants_redis as on_redis
from tests.conformance.mutants import make_suites

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
BACKENDS: Mapping[str, tuple[Any, ...]] = {
    "sqlite": (files.SQLITE, files.SqliteMutantSuite),
    "disk": (files.DISK, files.DiskMutantSuite),
    "redis, both clients": (on_redis.SCRIPTS, on_redis.RedisMutantSuite, on_redis.AsyncRedisMutantSuite),
    "redis, sync client": (on_redis.SYNC_CLIENT, on_redis.RedisMutantSuite),
    "redis, async client": (on_redis.ASYNC_CLIENT, on_redis.AsyncRedisMutantSuite),
    "redis with a file": (on_redis.PURGE, on_redis.RedisFileMutantSuite, on_redis.AsyncRedisFileMutantSuite),
    "in a pool": (pool.POOLED, pool.PooledMutantSuite),
    "in place": (pool.IN_PLACE, pool.InPlaceMutantSuite),
}
"""By backend: its mutants, and the suites that they are tried with."""
MODULE = """
import sys

from tests.conformance.mutants import make_suites
from tests.conformance.test_mutants import BACKENDS
from tests.servers import new_server, valkey_server, valkey_url

sys.setswitchinterval(1e-6)  # threads take turns so often that each race is lost at once
for name, suite, _ in make_suites(*BACKENDS[{backend!r}]):
    globals()[name] = suite
"""
_RACES = 3  # how often a test is run again that a fault did not fail: a race may be won on a busy machine
WRONG_MUTANTS = ("TypeError", "NameError", "AttributeError", "SyntaxError", "plant the fault")


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_each_fault_in_a_backend_is_caught_by_the_tests_that_state_what_it_breaks(
    backend: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "core")]))
    module = pytester.makepyfile(MODULE.format(backend=backend)).name
    tests = [f"{module}::{name}::{test}" for name, _, promises in make_suites(*BACKENDS[backend]) for test in promises]
    sound = [test for test in tests if "::TestSound" in test]
    ran = _run(pytester, tests)
    ran.result.assert_outcomes(passed=len(ran.passed), failed=len(tests) - len(ran.passed))
    assert set(sound) <= ran.passed
    missed = ran.passed - set(sound)
    for _ in range(_RACES):
        missed = missed and _run(pytester, sorted(missed)).passed
    assert not missed


class _Outcome(NamedTuple):
    result: pytest.RunResult
    passed: set[str]


def _run(pytester: pytest.Pytester, tests: Sequence[str]) -> _Outcome:
    # In a process of its own: see `test_broken_journals.py`.
    result = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "-p", "no:asyncio", "-rA", "--timeout=200", "--durations=4", *tests
    )
    for wrong in WRONG_MUTANTS:
        result.stdout.no_fnmatch_line(f"E*{wrong}*")
    return _Outcome(result, {line.removeprefix("PASSED ") for line in result.outlines if line.startswith("PASSED ")})
