"""`JournalSuite`: all tests of the journal port."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from wmem.testing.journal.append import AppendTests
from wmem.testing.journal.append_all import AppendAllTests
from wmem.testing.journal.cancel import CancelTests
from wmem.testing.journal.client import JournalClient
from wmem.testing.journal.compact import CompactTests
from wmem.testing.journal.concurrency import ConcurrencyTests
from wmem.testing.journal.connections import ConnectionsTests
from wmem.testing.journal.delete import DeleteTests
from wmem.testing.journal.erase import EraseTests
from wmem.testing.journal.model import JournalMachine
from wmem.testing.journal.paths import PathsTests
from wmem.testing.journal.read import ReadTests

__all__ = ["JournalSuite"]


def make_settings() -> settings:
    """Settings of the random schedules: a fifth of the examples that Hypothesis's profile gives."""
    return settings(
        max_examples=max(5, settings().max_examples // 5),
        stateful_step_count=25,
        deadline=None,  # a store may share its machine with others
        database=None,
        suppress_health_check=list(HealthCheck),
    )


class JournalSuite(
    AppendTests,
    AppendAllTests,
    ReadTests,
    CompactTests,
    DeleteTests,
    EraseTests,
    PathsTests,
    ConcurrencyTests,
    CancelTests,
    ConnectionsTests,
):
    """What `wmem.journal.port` promises of a journal of bytes, sync or async."""

    def test_no_schedule_of_calls_tells_it_from_a_model(self, client: JournalClient) -> None:
        class Machine(JournalMachine):
            def __init__(self) -> None:
                super().__init__(client)

        run_state_machine_as_test(Machine, settings=make_settings())
