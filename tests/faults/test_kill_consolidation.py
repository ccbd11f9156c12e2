"""Maintenance that is killed at any of its writes: the next pass ends with what one pass would have made."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import Script

# Makes one store; then, for each write of a pass and both sides of it, kills a process there that works on a copy.
KILLS = """
    import os, shutil, signal, sys
    import wmem
    from wmem import EpisodicSettings, ItemDraft, WorkingSettings
    from wmem.flow import run

    scheme, folder = sys.argv[1:]
    now = 1_700_000_000.0
    TYPES = [EpisodicSettings(max_items=24, keep_items=4), WorkingSettings(tail_items=2, tail_tokens=100)]
    JOBS = ["summarize-tails", "close-episodes", "thin-episodic"]
    PLACES = "kiln glaze anvil ferry orchard lantern marsh violin".split()

    def open_copy(name):
        os.makedirs(f"{folder}/{name}", exist_ok=True)
        return wmem.open(f"{scheme}://{folder}/{name}/store", agent_id="a", clock=lambda: now, memory_types=TYPES)

    def tell(at):
        place = f"{PLACES[at % 8]}-{at}"
        return f"The {place} stood open when we came. We measured the {place} twice and wrote it all down at last."

    with open_copy("first") as memory:
        episodic = memory.types["episodic"]
        for at in range(30):
            now += 60 if at % 10 else 20_000
            episodic.memorize(tell(at))
        for name in ("s", "t"):
            session = memory.scope(name)
            session.messages.append([{"role": "user", "content": tell(at)} for at in range(8)])
            for at in range(6):
                session.items.add(tell(at + 40), ttl_s=None)
            memory.types.session(name)["conversation"].close()
    now += 20_000

    def look(name):
        with open_copy(name) as memory:
            scopes = [memory.episodic, memory.scope("s"), memory.scope("t")]
            sums = [(scope.path, each) for scope in scopes for each in scope.items.all() if each.type == "summary"]
            told = [(path, str(source["scope"]), id) for path, each in sums for source in each.sources
                    for kind in ("items", "messages") for id in source.get(kind, ())]
            assert len(told) == len(set(told)), "something is told twice in one memory"
            kept = sorted(each.content for each in memory.episodic.items.all())
            return sorted(each.content for _, each in sums), sorted(told), kept, memory.maintain(JOBS).jobs

    def work(name, stop, before):
        with open_copy(name) as memory:
            ports = dict(memory._core.ports.sync)  # what no user reaches: a process has to die in the middle of it
            append, count = ports["Journal.append"], 0

            def append_or_die(*args):
                nonlocal count
                count += 1
                if count == stop and before:
                    os.kill(os.getpid(), signal.SIGKILL)
                reply = append(*args)
                if count == stop:
                    os.kill(os.getpid(), signal.SIGKILL)
                return reply

            run(memory._core.maintain(JOBS), {**ports, "Journal.append": append_or_die})
            return count

    shutil.copytree(f"{folder}/first", f"{folder}/whole")
    writes = work("whole", 0, False)
    expected = look("whole")
    assert all(not report.changed for report in expected[-1].values()), expected[-1]
    for stop in range(1, writes + 1):
        for before in (True, False):
            name = f"{stop}-{before}"
            shutil.copytree(f"{folder}/first", f"{folder}/{name}")
            pid = os.fork()
            if pid == 0:
                work(name, stop, before)
                os._exit(1)
            assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
            work(name, 0, False)
            assert look(name) == expected, (stop, before)
            shutil.rmtree(f"{folder}/{name}")
    print(writes)
"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["sqlite", "disk"])
def test_a_pass_killed_at_any_write_is_finished_by_the_next_one_with_the_same_result(
    scheme: str, script: "Script", tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert int(script(KILLS, scheme, str(tmp_path_factory.mktemp("kills")))) >= 6
