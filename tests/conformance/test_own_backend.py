"""A journal that wmem does not know, through the suites that anyone can run."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import wmem
from tests.conformance.own_journal import AsyncDictJournal, DictJournal
from tests.suites.entries import EntriesSuite
from tests.suites.hybrid import HybridSuite
from tests.suites.messages import MessagesSuite
from tests.suites.scopes import ScopesSuite
from tests.suites.vectors import VectorsSuite
from wmem import InvalidInputError, testing

pytest_plugins = ["pytester"]

README = Path(__file__).parents[2] / "README.md"
PACKAGE = """
from tests.conformance.own_journal import DictJournal

stores = {}

def MyJournal(place):
    return stores.setdefault(place, DictJournal())
"""


class InBothModes:
    """One store with a journal for threads and one for coroutines."""

    @pytest.fixture
    def connect(self, mode: str) -> testing.Connect:
        made = DictJournal() if mode == "sync" else AsyncDictJournal()
        return lambda: made


class TestJournal(testing.JournalSuite):
    @pytest.fixture
    def connect(self) -> testing.Connect:
        made = DictJournal()
        return lambda: made


class TestAsyncJournal(testing.JournalSuite):
    @pytest.fixture
    def journal(self) -> AsyncDictJournal:
        return AsyncDictJournal()


class TestEntries(InBothModes, EntriesSuite): ...


class TestMemory(InBothModes, testing.MemorySuite): ...


class TestMessages(InBothModes, MessagesSuite): ...


class TestErasure(InBothModes, testing.ErasureSuite): ...


class TestHybrid(InBothModes, HybridSuite): ...


class TestVectors(InBothModes, VectorsSuite): ...


class TestScopesOfASyncJournalInBothModes(ScopesSuite):
    @pytest.fixture
    def connect(self) -> testing.Connect:
        made = DictJournal()
        return lambda: made


async def test_a_journal_is_opened_in_the_modes_it_has() -> None:
    own = DictJournal()
    with wmem.open("journal://", agent_id="a", client=own) as memory:
        memory.working.entries.set("k", 1)
    async with await wmem.aopen("journal://", agent_id="a", client=own) as twin:
        assert await twin.working.entries.get("k") == 1
    async with await wmem.aopen("journal://", agent_id="a", client=AsyncDictJournal()) as memory_of_coroutines:
        await memory_of_coroutines.working.entries.set("k", 1)
        with pytest.raises(InvalidInputError, match="aopen"):
            memory_of_coroutines.sync().working.entries.get("k")


def test_what_is_no_journal_is_refused() -> None:
    clients: list[Any] = [None, 5, {}, [], object()]
    for client in clients:
        with pytest.raises(InvalidInputError, match="needs a journal"):
            wmem.open("journal://", agent_id="a", client=client)


@pytest.mark.slow
def test_the_readmes_example_runs_and_passes(pytester: pytest.Pytester) -> None:
    _, section = README.read_text(encoding="utf-8").split("## A backend of your own")
    (example,) = [block for block in re.findall(r"```python\n(.*?)```", section, re.DOTALL) if "import pytest" in block]
    pytester.makepyfile(my_package=PACKAGE, test_mine=example)
    ran = pytester.inline_run("-p", "no:cacheprovider", "-p", "no:asyncio", "-q")
    passed, skipped, failed = ran.listoutcomes()
    assert failed == []
    assert len(passed) > 150
    assert {report.nodeid.split("::")[2] for report in skipped} == {
        "test_a_cancelled_append_is_stored_once_or_not_at_all",
        "test_a_cancelled_call_takes_no_reply_of_another",
        "test_a_head_that_is_told_without_waiting_is_the_head",
        "test_a_purge_says_in_sentences_what_remains_and_changes_nothing_that_is_stored",
        "test_each_is_refused_for_itself",
        "test_the_chain_is_that_of_appends_one_by_one",
        "test_the_first_scopes_of_a_root_may_begin_together",
        "test_what_was_appended_together_is_read_back_from_each_path",
        "test_what_is_read_after_a_cancelled_append_is_final",
    }


@pytest.mark.parametrize("missing", ["hypothesis", "pytest"])
def test_the_suites_say_which_extra_they_need(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; import wmem; import wmem.testing"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError: wmem.testing needs the extra 'testing'" in ran.stderr
