"""A forked child hangs on no lock that another thread of its parent held."""

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import wmem
from wmem.fork import cached_property, new_held_lock, new_renewed_lock

if TYPE_CHECKING:
    from tests.faults.conftest import Script

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Python 3.12 and later: a fork beside threads

CHILD_S = 60.0


def run_forked(work: Callable[[], bool]) -> bool:
    """The result of `work` in a forked child; a child that hangs is ended by its alarm."""
    pid = os.fork()
    if pid == 0:
        threading.Timer(CHILD_S, os._exit, (2,)).start()
        os._exit(0 if work() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize("make", [new_renewed_lock, new_held_lock])
def test_a_lock_that_another_thread_holds_is_free_in_the_child(make: Callable[[], Any]) -> None:
    lock, is_taken, may_end = make(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            is_taken.set()
            may_end.wait(0.2)  # a fork waits for a held lock: it ends by itself

    holder = threading.Thread(target=hold)
    holder.start()
    is_taken.wait()
    assert run_forked(lambda: bool(lock.acquire(timeout=60)))
    may_end.set()
    holder.join()
    assert lock.acquire(timeout=60), "and in the parent"


class Slow:
    """Has a property that takes as long as it is told."""

    def __init__(self, compute: Callable[[], object]) -> None:
        self._compute = compute

    @cached_property
    def computed(self) -> bool:
        self._compute()
        return True


def test_a_property_that_another_thread_computes_is_computed_in_the_child() -> None:
    is_begun, may_end = threading.Event(), threading.Event()

    def wait() -> None:
        is_begun.set()
        may_end.wait()

    slow, other = Slow(wait), Slow(bool)
    thread = threading.Thread(target=lambda: slow.computed)
    thread.start()
    is_begun.wait()
    assert run_forked(lambda: other.computed)
    may_end.set()
    thread.join()


def test_a_fork_waits_for_what_other_threads_import(script: "Script", tmp_path: Path) -> None:
    (tmp_path / "slow_module.py").write_text("import gate\ngate.is_begun.set()\ngate.may_end.wait()\nwhole = True\n")
    (tmp_path / "gate.py").write_text("import threading\nis_begun, may_end = threading.Event(), threading.Event()\n")
    assert (
        script(f"""
        import os, sys, threading, time
        sys.path.insert(0, {str(tmp_path)!r})
        import gate
        seen = []
        # The hook that is registered first runs last.
        os.register_at_fork(before=lambda: seen.append(hasattr(sys.modules["slow_module"], "whole")))
        import wmem.fork
        os.register_at_fork(before=gate.may_end.set)
        wmem.open("memory://", agent_id="agent")

        def import_slowly():
            import slow_module

        threading.Thread(target=import_slowly).start()
        gate.is_begun.wait()
        pid = os.fork()
        if pid == 0:
            os._exit(0 if seen[0] else 1)
        print(seen, os.waitpid(pid, 0)[1])
        """).strip()
        == "[True] 0"
    )


def test_a_child_finds_the_directory_of_temporary_files_that_another_thread_looked_for(script: "Script") -> None:
    assert (
        script("""
        import os, signal, tempfile, threading
        from wmem.tokens.bpe import _candidate_directories

        is_begun, find = threading.Event(), tempfile._get_default_tempdir

        def find_slowly():
            is_begun.set()
            threading.Event().wait(0.2)  # a fork waits for it: it ends by itself
            return find()

        tempfile._get_default_tempdir = find_slowly
        threading.Thread(target=lambda: list(_candidate_directories())).start()
        is_begun.wait()
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            tempfile.gettempdir()
            os._exit(0)
        print(os.waitpid(pid, 0)[1])
        """).strip()
        == "0"
    )


def test_every_lock_of_a_module_or_an_object_that_outlives_a_fork_is_one_of_these() -> None:
    renewed_by_their_owner = {"engine", "journal"}  # see `reset_after_fork` there
    root = Path(wmem.__file__).parent
    files = [*root.rglob("*.py"), *root.parents[1].glob("*_wmem/*.py")]
    own = [
        file.name
        for file in files
        if file.parent.name not in renewed_by_their_owner and file != root / "fork.py"
        if re.search(
            r"threading\.R?Lock\(\)|threading\.Condition\(|asyncio\.Lock\(|functools import .*cached_prop",
            file.read_text(),
        )
    ]
    assert len(files) > 100
    assert own == []


def test_a_child_finds_every_model_built(script: "Script") -> None:
    assert (
        script("""
        import os, sys
        import wmem
        from wmem.model.message import Message
        from wmem.scope.document_history import History

        memory = wmem.open("memory://", agent_id="agent")
        before = Message.__pydantic_complete__, History.__pydantic_complete__
        pid = os.fork()
        after = Message.__pydantic_complete__, History.__pydantic_complete__
        if pid == 0:
            os._exit(0 if all(after) else 1)
        print(before, after, os.waitpid(pid, 0)[1])
        """).strip()
        == "(False, False) (True, True) 0"
    )
