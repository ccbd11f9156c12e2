"""The suite of journals can fail: each broken promise is caught by the test that states it."""

import asyncio

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.conformance.broken_journals import BROKEN, UNSEEN, Broken
from wmem.testing import Book
from wmem.testing.journal.model import JournalMachine

pytest_plugins = ["pytester"]

MODULE = """
import pytest
from tests.conformance.broken_journals import BROKEN
from wmem.testing import JournalSuite

def suite(kind):
    class OfKind(JournalSuite):
        @pytest.fixture
        def connect(self):
            return kind.connector()
    return OfKind

for kind in BROKEN:
    globals()["Test" + kind.__name__] = suite(kind)
"""


def test_each_broken_promise_is_caught_by_the_test_that_states_it(pytester: pytest.Pytester) -> None:
    module = pytester.makepyfile(MODULE).name
    stated = {f"{module}::Test{kind.__name__}::{test}" for kind, tests in BROKEN.items() for test in tests}
    ran = pytester.inline_run("-p", "no:cacheprovider", "-p", "no:asyncio", "-q", *stated)
    passed, skipped, failed = ran.listoutcomes()
    assert {report.nodeid for report in failed} == stated
    assert (passed, skipped) == ([], [])


@pytest.mark.parametrize("kind", [kind for kind in BROKEN if kind not in UNSEEN], ids=lambda kind: kind.__name__)
def test_the_machine_finds_each_broken_promise_that_shows_in_one_connection(kind: type[Broken]) -> None:
    class Machine(JournalMachine):
        def __init__(self) -> None:
            super().__init__(Book(kind.connector()(), asyncio.Runner()))

    first_find = settings(
        max_examples=200,
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
