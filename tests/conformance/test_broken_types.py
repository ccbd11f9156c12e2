"""The suite of memory types can fail: each broken promise is caught by the test that states it."""

import os
from pathlib import Path

import pytest

from tests.conformance.broken_types import BROKEN

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MODULE = """
import pytest
from tests.conformance.broken_types import BROKEN
from wmem import testing

def suite(kind):
    class OfKind(testing.MemoryTypeSuite):
        @pytest.fixture(params=["sync"])
        def mode(self, request):
            return request.param
        @pytest.fixture
        def memory_type(self):
            return kind()
    return OfKind

for kind in BROKEN:
    globals()[f"Test{kind.__name__}"] = suite(kind)
"""


def test_each_broken_promise_is_caught_by_the_test_that_states_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "core")]))
    module = pytester.makepyfile(MODULE).name
    stated = [f"{module}::Test{kind.__name__}::{_to_id(test)}" for kind, test in BROKEN.items()]
    # In a fresh process, as in `test_broken_journals.py`.
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:asyncio", *stated)
    assert ran.parseoutcomes() == {"failed": len(BROKEN)}


def _to_id(test: str) -> str:
    """A test with its parameters; the mode is one of them."""
    return test if "[" in test else f"{test}[sync]"
