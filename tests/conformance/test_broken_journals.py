"""The suite of journals can fail: each broken promise is caught by the test that states it."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis.stateful import run_state_machine_as_test

from tests.conformance.broken_journals import BROKEN, SEEN_ABOVE, UNSEEN, Broken
from tests.matrix import examples
from wmem.testing import JournalClient
from wmem.testing.journal.model import JournalMachine

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

MODULE = """
import pytest
from tests.conformance.broken_journals import BROKEN, SEEN_ABOVE, Slow
from tests.suites.fetches import FetchesSuite
from tests.suites.items import ItemsSuite
from tests.suites.limits import LimitsSuite
from tests.suites.messages import MessagesSuite
from tests.suites.scopes import ScopesSuite
from tests.suites.updates import UpdatesSuite
from wmem import testing
from wmem.testing import MemorySuite
from wmem.testing.store_bytes import read_object_bytes

def suite(base, kind):
    class OfKind(base):
        @pytest.fixture
        def connect(self):
            return kind.connector()
        @pytest.fixture
        def mode(self):
            return "async" if issubclass(kind, Slow) else "sync"
    return OfKind

class JournalSuite(testing.JournalSuite):
    @pytest.fixture
    def store_bytes(self, journal):
        return lambda: read_object_bytes(journal)


for kind in BROKEN:
    globals()[f"Test{kind.__name__}"] = suite(JournalSuite, kind)
for name, kind in {*SEEN_ABOVE.values()}:
    globals()[f"Test{name}{kind.__name__}"] = suite(globals()[name], kind)
"""


@pytest.fixture
def module(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where every suite is run over every broken journal."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "core")]))
    return pytester.makepyfile(MODULE).name


def run(pytester: pytest.Pytester, *tests: str) -> pytest.RunResult:
    # In a fresh process: here the suites are imported, and rewritten, long before; and a run within this one would take
    # the modules it imports, and the handler of faults, away with it.
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:asyncio", *tests)


def fail(pytester: pytest.Pytester, stated: set[str]) -> None:
    """Run the tests of the ids; each must fail."""
    assert run(pytester, *stated).parseoutcomes() == {"failed": len(stated)}


def test_each_broken_promise_is_caught_by_the_test_that_states_it(pytester: pytest.Pytester, module: str) -> None:
    fail(pytester, {f"{module}::Test{kind.__name__}::{test}" for kind, tests in BROKEN.items() for test in tests})


def test_what_a_broken_journal_spoils_above_it_is_caught_there_too(pytester: pytest.Pytester, module: str) -> None:
    seen = SEEN_ABOVE.items()
    fail(pytester, {f"{module}::Test{suite}{kind.__name__}::{test}" for test, (suite, kind) in seen})


def test_a_broken_promise_shows_what_it_met(pytester: pytest.Pytester, module: str) -> None:
    ran = run(pytester, module, "-k", "RoundsRecordIds and 63_bits")
    ran.stdout.fnmatch_lines([f"E*assert {(1 << 63)} == {(1 << 63) - 1}"])


@pytest.mark.parametrize("kind", [kind for kind in BROKEN if kind not in UNSEEN], ids=lambda kind: kind.__name__)
def test_the_machine_finds_each_broken_promise_that_shows_in_one_connection(kind: type[Broken]) -> None:
    class Machine(JournalMachine):
        def __init__(self) -> None:
            super().__init__(JournalClient(kind.connector()(), asyncio.Runner()))

    first_find = examples(
        8,  # it ends with the first find
        stateful_step_count=25,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=first_find)
