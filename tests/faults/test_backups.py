"""A backup is the store at one instant, whole or not there, private, and without what was erased."""

import os
import shutil
import sqlite3
import stat
import subprocess
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import wmem
from tests.interrupts import interruptions
from tests.matrix import make_url
from wmem import InvalidInputError, StoreError, WrongKeyError
from wmem.model.history import ORIGIN

if TYPE_CHECKING:
    from tests.faults.conftest import Kind, Script, Spawn

KEY = bytes(range(32))


@pytest.fixture
def target(kind: "Kind", directory: Path) -> Path:
    """Where a backup goes: a file for sqlite, a directory for disk."""
    place = directory.with_name("backup")
    if kind.url(place).endswith("store.db"):
        place.mkdir()
        return place / "store.db"
    return place


def _bytes(place: Path) -> bytes:
    files = [place] if place.is_file() else sorted(place.iterdir())
    return b"".join(each.read_bytes() for each in files)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_backup_opens_as_the_store_did_and_both_go_on_apart(
    is_async: bool, kind: "Kind", url: str, directory: Path, target: Path
) -> None:
    with wmem.open(url, agent_id="agent") as memory, wmem.open(url, agent_id="another") as another:
        memory.scope("s").messages.append({"role": "user", "content": "hello"})
        another.scope("s").entries.set("k", 1)
        if is_async:
            await memory.aio().backup(target)
        else:
            memory.backup(str(target))
        memory.scope("s").entries.set("k", "later")
        with wmem.open(kind.url(directory.with_name("backup")), agent_id="agent") as copy:
            assert [message.text for message in copy.scope("s").messages.all()] == ["hello"]
            assert copy.scope("s").entries.get("k") is None
            copy.scope("s").entries.set("k", "of the copy")
        with wmem.open(kind.url(directory.with_name("backup")), agent_id="another") as copy:
            assert copy.scope("s").entries.get("k") == 1
        assert memory.scope("s").entries.get("k") == "later"


def test_a_backup_belongs_to_its_owner_alone_and_leaves_nothing_beside_it(url: str, target: Path) -> None:
    with wmem.open(url, agent_id="agent") as memory:
        memory.scope("s").entries.set("k", 1)
        before = set(target.parent.iterdir())
        memory.backup(target)
    assert set(target.parent.iterdir()) - before == {target}
    made = [target] if target.is_file() else [target, *target.iterdir()]
    assert [stat.S_IMODE(each.stat().st_mode) for each in made] in ([0o600], [0o700, 0o600])


@pytest.mark.parametrize("there", ["file", "directory", "link"])
def test_what_is_there_already_is_refused_and_left(there: str, url: str, target: Path) -> None:
    if there == "file":
        target.write_text("mine")
    elif there == "directory":
        target.mkdir()
    else:
        target.symlink_to("nowhere")
    with wmem.open(url, agent_id="agent") as memory, pytest.raises(InvalidInputError, match="already"):
        memory.backup(target)
    assert there != "file" or target.read_text() == "mine"
    assert there != "directory" or list(target.iterdir()) == []
    assert [each.name for each in target.parent.iterdir() if each.name.endswith("partial")] == []


@pytest.mark.parametrize("path", ["", "/", "a\0b", b"bytes", 7, None])
def test_what_is_no_path_is_refused(path: Any, url: str) -> None:
    with wmem.open(url, agent_id="agent") as memory, pytest.raises(InvalidInputError, match="path"):
        memory.backup(path)


def test_a_backup_that_cannot_be_written_leaves_no_target(url: str, directory: Path) -> None:
    with wmem.open(url, agent_id="agent") as memory:
        memory.scope("s").entries.set("k", 1)
        (directory.with_name("file")).write_text("x")
        with pytest.raises(StoreError, match="cannot"):
            memory.backup(directory.with_name("file") / "backup")
        assert memory.scope("s").entries.get("k") == 1


def test_a_backup_that_is_interrupted_at_any_point_leaves_no_target_or_all_of_it(
    kind: "Kind", directory: Path, target: Path
) -> None:
    journal = kind.journal(directory, 5.0)
    journal.append(("agent",), 1, b"x", None, None)
    for _, _ in interruptions(lambda _: journal.backup(str(target))):
        if target.exists():
            copy = kind.journal(directory.with_name("backup"), 5.0)
            assert len(copy.read({("agent",): ORIGIN})["agent",].records) == 1
            copy.close()
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink()
    journal.close()


def test_a_process_killed_in_a_backup_leaves_no_target(kind: "Kind", url: str, target: Path, spawn: "Spawn") -> None:
    with wmem.open(url, agent_id="agent") as memory:
        memory.scope("s").messages.append([{"role": "user", "content": "x" * 50_000} for _ in range(100)])
    code = """
    import os, signal, sys, threading, wmem
    from wmem.journal import sqlite_maintenance
    memory = wmem.open(sys.argv[1], agent_id="agent")
    def kill_before_the_sync(name):
        os.kill(os.getpid(), signal.SIGKILL)
    sqlite_maintenance._sync = kill_before_the_sync
    memory.backup(sys.argv[2])
    """
    child = spawn(code, url, str(target))
    child.communicate(timeout=300)
    assert child.returncode == -9
    assert not target.exists()
    with wmem.open(url, agent_id="agent") as memory:
        memory.backup(target)
        assert len(memory.scope("s").messages.all()) == 100
    assert target.exists()


def test_a_backup_while_others_write_holds_all_that_was_acknowledged_before_it_and_no_gap(
    kind: "Kind", url: str, directory: Path, target: Path, spawn: "Spawn"
) -> None:
    code = """
    import sys, wmem
    with wmem.open(sys.argv[1], agent_id="agent") as memory:
        messages = memory.scope(sys.argv[2]).messages
        for number in range(100_000):
            messages.append({"role": "user", "content": str(number)})
            print(number, flush=True)
    """
    writers = {name: spawn(code, url, name) for name in ("a", "b")}
    acknowledged = {}
    for name, writer in writers.items():
        assert writer.stdout is not None
        while (line := writer.stdout.readline().strip()) != "30":
            assert line, "the writer ended"
        acknowledged[name] = 30
    with wmem.open(url, agent_id="agent") as memory:
        memory.backup(target)
    for writer in writers.values():
        assert writer.poll() is None, "writers went on meanwhile"
        writer.kill()
    with wmem.open(kind.url(directory.with_name("backup")), agent_id="agent") as copy:
        for name, last in acknowledged.items():
            texts = [message.text for message in copy.scope(name).messages.all()]
            assert len(texts) > last
            assert texts == [str(number) for number in range(len(texts))]


def test_what_was_erased_before_is_not_in_a_backup(url: str, target: Path) -> None:
    with wmem.open(url, agent_id="agent") as memory:
        session = memory.scope("s")
        id = session.items.add("a secret phrase").id
        session.items.add("what stays")
        session.erase(id)
        memory.backup(target)
    assert b"a secret phrase" not in _bytes(target)
    assert b"what stays" in _bytes(target)


def test_a_backup_of_an_encrypted_store_is_encrypted_with_its_key(
    kind: "Kind", url: str, directory: Path, target: Path
) -> None:
    copy_url = kind.url(directory.with_name("backup"))
    with wmem.open(url, agent_id="agent", key=KEY) as memory:
        memory.scope("s").entries.set("k", "a secret phrase")
        memory.backup(target)
    assert b"a secret phrase" not in _bytes(target)
    with wmem.open(copy_url, agent_id="agent") as copy, pytest.raises(WrongKeyError):
        copy.scope("s").entries.get("k")
    with wmem.open(copy_url, agent_id="agent", key=KEY) as copy:
        assert copy.scope("s").entries.get("k") == "a secret phrase"


@pytest.mark.parametrize(("backend", "advice"), [("memory", "export"), ("redis", "BGSAVE")], indirect=["backend"])
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_store_that_cannot_copy_itself_says_what_can(
    is_async: bool, backend: str, advice: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    memory = await wmem.aopen(make_url(backend, request, tmp_path), agent_id="agent")
    if is_async:
        with pytest.raises(InvalidInputError, match=advice):
            await memory.backup(tmp_path / "backup")
    else:
        with pytest.raises(InvalidInputError, match=advice):
            memory.sync().backup(tmp_path / "backup")
    assert not (tmp_path / "backup").exists()
    await memory.close()


def test_sqlites_own_tool_finds_a_store_and_its_backup_sound_and_its_own_backup_opens(
    kind: "Kind", url: str, directory: Path, target: Path
) -> None:
    tool = shutil.which("sqlite3")
    if tool is None:
        pytest.skip("the sqlite3 command line tool is not installed")
    file = kind.rows(directory).file
    theirs = directory.with_name("theirs")
    theirs.mkdir(mode=0o700)
    with wmem.open(url, agent_id="agent") as memory:
        memory.scope("s").messages.append([{"role": "user", "content": "x" * 2_000} for _ in range(50)])
        memory.backup(target)
        copied = target / file.name if target.is_dir() else target
        for each in (file, copied):
            checked = subprocess.run([tool, each, "PRAGMA integrity_check"], capture_output=True, check=True)
            assert checked.stdout == b"ok\n"
        subprocess.run([tool, file, f".backup '{theirs / file.name}'"], capture_output=True, check=True)
        memory.scope("s").entries.set("k", 1)
    with wmem.open(kind.url(theirs), agent_id="agent") as copy:
        assert len(copy.scope("s").messages.all()) == 50
        copy.scope("s").entries.set("k", 2)


def test_a_lone_copied_file_lacks_what_its_log_holds_and_is_sound(kind: "Kind", url: str, directory: Path) -> None:
    file = kind.rows(directory).file
    lone = directory.with_name("lone")
    lone.mkdir(mode=0o700)
    with wmem.open(url, agent_id="agent") as memory:
        memory.scope("s").entries.set("k", 1)
        shutil.copy(file, lone / file.name)
        with closing(sqlite3.connect(lone / file.name)) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        # As README says: what it lacks cannot be told from the file, so nothing but its age is wrong with it.
    whole = directory.with_name("whole")
    shutil.copytree(directory, whole)
    with wmem.open(kind.url(whole), agent_id="agent") as memory:
        assert memory.scope("s").entries.get("k") == 1, "a closed store is complete in its directory"


def test_a_durable_store_syncs_at_each_commit_and_one_that_is_not_only_at_checkpoints(
    url: str, script: "Script"
) -> None:
    code = """
    import sys, wmem
    from wmem.journal.sqlite_database import Database
    for url in sys.argv[1:]:
        with wmem.open(url, agent_id="agent") as memory:
            memory.scope("s").entries.set("k", 1)
            database = memory._core.store._backend._journal._database
            for use in (database.read, database.write):
                print(use(lambda connection: connection.execute("PRAGMA synchronous").fetchone()[0]), end=" ")
            print(memory.url)
    """
    lines = script(code, url, f"{url}?durable=true", f"{url}?durable=false").splitlines()
    assert lines == [f"1 1 {url}", f"2 2 {url}?durable=true", f"1 1 {url}"]


def test_a_store_that_is_open_durable_and_not_is_one_store_to_both(url: str) -> None:
    with wmem.open(url, agent_id="agent") as plain, wmem.open(f"{url}?durable=true", agent_id="agent") as durable:
        plain.scope("s").entries.set("k", 1)
        assert durable.scope("s").entries.get("k") == 1
        durable.scope("s").entries.update("k", lambda value: value + 1)
        assert plain.scope("s").entries.get("k") == 2
        with wmem.open(durable.url, agent_id="agent") as again:
            assert again.url == durable.url
            assert again._core.store.engine is durable._core.store.engine
        with wmem.open(f"{url}?durable=false", agent_id="agent") as again:
            assert again._core.store.engine is plain._core.store.engine


@pytest.mark.parametrize(
    "options", ["?", "?durable", "?durable=1", "?durable=TRUE", "?durable=true&x=1", "?x=1", "?durable=true#x", "#x"]
)
def test_any_other_option_of_a_file_is_refused_and_nothing_is_made(options: str, url: str, directory: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"durable=true.*%3F"):
        wmem.open(url + options, agent_id="agent")
    assert not os.path.lexists(directory)


def test_an_agent_that_was_disposed_at_close_leaves_no_byte_of_its_id(url: str, directory: Path) -> None:
    with wmem.open(url, agent_id="bystander") as bystander:
        bystander.scope("s").entries.set("k", 1)
    memory = wmem.open(url, agent_id="unmistakable-agent")
    memory.scope("session").messages.append({"role": "user", "content": "hello"})
    memory.working.entries.set("k", 1)
    assert b"unmistakable-agent" in _bytes(directory)
    memory.close(dispose=True)
    assert b"unmistakable-agent" not in _bytes(directory)
    with wmem.open(url, agent_id="bystander") as bystander:
        assert bystander.scope("s").entries.get("k") == 1
    with wmem.open(url, agent_id="unmistakable-agent") as memory:
        assert memory.scope("session").messages.all() == []
        memory.scope("session").entries.set("k", 2)
