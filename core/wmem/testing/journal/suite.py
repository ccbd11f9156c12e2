"""`JournalSuite`: all tests of the journal port."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from wmem.testing.journal.appending import Appending
from wmem.testing.journal.book import JournalClient
from wmem.testing.journal.compacting import Compacting
from wmem.testing.journal.deleting import Deleting
from wmem.testing.journal.model import JournalMachine
from wmem.testing.journal.naming import Naming
from wmem.testing.journal.racing import Racing
from wmem.testing.journal.reading import Reading
from wmem.testing.journal.sharing import Sharing

__all__ = ["JournalSuite"]

EXAMPLES = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,  # a store may share its machine with others
    database=None,
    suppress_health_check=list(HealthCheck),
)


class JournalSuite(Appending, Reading, Compacting, Deleting, Naming, Racing, Sharing):
    """What `wmem.journal.port` promises of a journal of bytes, sync or async."""

    def test_no_schedule_of_calls_tells_it_from_a_model(self, client: JournalClient) -> None:
        class Machine(JournalMachine):
            def __init__(self) -> None:
                super().__init__(client)

        run_state_machine_as_test(Machine, settings=EXAMPLES)
