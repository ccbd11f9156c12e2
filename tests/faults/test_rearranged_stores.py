"""Who can write to a store, and has not the key, rearranges an encrypted history: whoever reads it is told."""

import json
import logging
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path as Directory
from typing import Any, NamedTuple, TypeAlias

import diskcache
import pytest
import redis

import wmem
from tests.faults.conftest import connected
from wmem.flow import run
from wmem.journal.head import Head
from wmem.journal.port import Record, chain_after
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path

KEY = b"\xa5" * 32
COUNT = 5
SESSION: Path = ("agent", "session")


class History(NamedTuple):
    """All that a store holds of a scope."""

    base: Cursor
    snapshot: bytes | None
    records: tuple[Record[bytes], ...]

    def with_cursors(self) -> tuple[list[tuple[Cursor, Record[bytes]]], Head]:
        """Each record under a cursor whose chain holds, and the head after them."""
        cursor, placed, size = self.base, [], 0
        for record in self.records:
            cursor = Cursor(cursor.version + 1, chain_after(cursor.chain, record.id))
            placed.append((cursor, record))
            size += len(record.payload)
        first = placed[0][0].chain if placed and self.base == ORIGIN else 1
        return placed, Head(cursor, self.base, Incarnation(first), size)


def put_into_sqlite(url: str, path: Path, history: History) -> None:
    key = b"".join(segment.encode() + b"\0" for segment in path)
    placed, head = history.with_cursors()
    with connected(Directory(url.partition("//")[2])) as store:
        ((number,),) = store.execute("SELECT number FROM scope WHERE path = ?", (key,)).fetchall()
        first = number << 32
        store.execute("DELETE FROM record WHERE place >= ? AND place < ?", (first, (number + 1) << 32))
        rows = [(first + cursor.version, record.id, cursor.chain, record.payload) for cursor, record in placed]
        if history.snapshot is not None:
            rows.append((first + history.base.version, 0, history.base.chain, history.snapshot))
        store.executemany("INSERT INTO record VALUES (?, ?, ?, ?)", rows)
        store.execute("UPDATE scope SET head = ? WHERE number = ?", (head.to_bytes(zlib.crc32(key)), number))


def put_into_disk(url: str, path: Path, history: History) -> None:
    name = json.dumps(path, separators=(",", ":"))
    placed, head = history.with_cursors()
    with closing(diskcache.Cache(url.partition("//")[2])) as store:
        for key in [each for each in store.iterkeys() if each.startswith((f"r{name}", f"s{name}"))]:
            store.delete(key)
        for cursor, record in placed:
            key = f"r{name}{head.incarnation.chain:x}.{cursor.version:x}"
            store.set(key, struct.pack(">QQ", record.id, cursor.chain) + record.payload)
        if history.snapshot is not None:
            store.set(f"s{name}", history.snapshot)
        store.set(f"m{name}", head.to_bytes(zlib.crc32(name.encode())))


def put_into_redis(url: str, path: Path, history: History) -> None:
    name = json.dumps(path, separators=(",", ":"))
    placed, head = history.with_cursors()
    keys = f'wmem:{{"{path[0]}"}}:'
    client: Any = redis.Redis
    with client.from_url(url) as store:
        store.delete(f"{keys}s{name}")
        store.hdel(f"{keys}h{name}", "snap")
        for cursor, record in placed:
            store.xadd(f"{keys}s{name}", {"i": record.id, "p": record.payload}, id="{}-{}".format(*cursor))
        fields: dict[Any, Any] = {"head": "{}-{}".format(*head.head), "base": "{}-{}".format(*head.base)}
        if history.snapshot is not None:
            fields["snap"] = history.snapshot
        store.hset(f"{keys}h{name}", mapping=fields)


PUT: Mapping[str, Callable[[str, Path, History], None]] = {
    "sqlite": put_into_sqlite,
    "disk": put_into_disk,
    "redis": put_into_redis,
}


def ports(memory: wmem.AgentMemory) -> Mapping[str, Callable[..., Any]]:
    return memory._core.store.sync_ports


def look(memory: wmem.AgentMemory, path: Path = SESSION) -> History:
    tail = ports(memory)["Journal.read"]({path: ORIGIN})[path]
    return History(tail.base, tail.snapshot, tail.records)


def opened(url: str) -> wmem.AgentMemory:
    return wmem.open(url, agent_id="agent", key=KEY)


def write(memory: wmem.AgentMemory, names: str, scope: str = "session") -> None:
    """One message a record, with a name of one letter."""
    for name in names:
        memory.scope(scope).messages.append({"role": "user", "content": f"content {name}", "id": name})


def compact(memory: wmem.AgentMemory) -> None:
    store = memory._core.store
    (replica,) = run(store.engine.sync([SESSION]), store.sync_ports)
    assert run(store.engine.compact(replica, 0.0), store.sync_ports)


def names(memory: wmem.AgentMemory, scope: str = "session") -> str:
    return "".join(str(message.id) for message in memory.scope(scope).messages.all())


@pytest.fixture
def attack(shared_url: str) -> Callable[[History], None]:
    """Puts a history in the place of the session's."""

    def put(history: History) -> None:
        PUT[shared_url.partition(":")[0]](shared_url, SESSION, history)

    return put


def check_told(url: str, caplog: pytest.LogCaptureFixture, readable: str) -> None:
    """A fresh reader is told by each verb that has to, reads the rest, and writes on."""
    caplog.clear()
    with caplog.at_level(logging.WARNING, "wmem"), opened(url) as memory:
        session = memory.scope("session")
        assert names(memory) == readable
        lookups: list[Callable[[], object]] = [
            lambda: session.entries.get("absent"),
            lambda: session.entries["absent"],
            lambda: session.view().entries.get("absent"),
            lambda: session.child("below").entries.get("absent"),
        ]
        for absent in lookups:
            with pytest.raises(wmem.CorruptionError, match="damaged"):
                absent()
        damage = memory.changes().damage
        assert damage
        assert {each.path for each in damage} == {SESSION}
        assert any("damaged" in warning for warning in session.pack(budget=500).warnings)
        assert memory.rotate() == 0
        write(memory, "z")
        assert names(memory) == f"{readable}z"
    with opened(url) as memory:
        assert names(memory) == f"{readable}z", "what was acknowledged is read"
        assert len(memory.changes().damage) == len(damage)
        assert names(memory, "other") == "xy"
    assert "damaged record" in caplog.text
    assert "content" not in f"{caplog.text} {damage}"


Rearranged: TypeAlias = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], tuple[Sequence[Any], str]]
"""From the records of the session, of its earlier life and of another scope: others, and what is readable of them."""

REARRANGED: Mapping[str, Rearranged] = {
    **{
        f"{place} dropped": lambda mine, _life, _other, place=place: (  # type: ignore[misc]  # a default, not an argument
            [*mine[:place], *mine[place + 1 :]],
            "abcde"[:place],
        )
        for place in range(COUNT - 1)
    },
    **{
        f"{place} swapped with the next": lambda mine, _life, _other, place=place: (  # type: ignore[misc]
            [*mine[:place], mine[place + 1], mine[place], *mine[place + 2 :]],
            "abcde"[:place] + "abcde"[place + 2 :],
        )
        for place in range(COUNT - 1)
    },
    **{
        f"{place} repeated": lambda mine, _life, _other, place=place: (  # type: ignore[misc]
            [*mine[: place + 1], *mine[place:]],
            "abcde"[: place + 1],
        )
        for place in range(COUNT)
    },
    "truncated in the middle": lambda mine, _life, _other: ([*mine[:2], *mine[4:]], "ab"),
    "an earlier life to its end": lambda mine, life, _other: ([*mine[:2], *life[2:]], "ab"),
    "an earlier life in between": lambda mine, life, _other: ([*mine[:2], life[2], *mine[3:]], "abde"),
    "begun in an earlier life": lambda mine, life, _other: ([*life[:2], *mine[2:]], "12"),
    "another scope's at its end": lambda mine, _life, other: ([*mine, *other], "abcde"),
    "another scope's in between": lambda mine, _life, other: ([mine[0], other[1], *mine[2:]], "acde"),
}


@pytest.mark.parametrize("how", REARRANGED)
def test_a_rearranged_history_is_told_and_the_rest_is_read_and_written_on(
    how: str, shared_url: str, attack: Callable[[History], None], caplog: pytest.LogCaptureFixture
) -> None:
    with opened(shared_url) as memory:
        write(memory, "12345")
        life = look(memory).records
        memory.scope("session").dispose()
        write(memory, "abcde")
        write(memory, "xy", "other")
        mine, other = look(memory), look(memory, ("agent", "other"))
    records, readable = REARRANGED[how](mine.records, life, other.records)
    attack(mine._replace(records=tuple(records)))
    check_told(shared_url, caplog, readable)


def test_a_history_that_is_put_back_as_it_was_reads_as_it_was(
    shared_url: str, attack: Callable[[History], None]
) -> None:
    """Else the attacks of this file would be told for what is wrong with the attacker."""
    with opened(shared_url) as memory:
        write(memory, "abc")
        compact(memory)
        write(memory, "de")
        mine = look(memory)
    assert mine.snapshot is not None
    attack(mine)
    with opened(shared_url) as memory:
        assert names(memory) == "abcde"
        assert not memory.changes().damage
        assert memory.scope("session").entries.get("absent") is None
    # What is rolled back as a whole is what it was then: nothing is told.
    attack(mine._replace(records=mine.records[:1]))
    with opened(shared_url) as memory:
        assert names(memory) == "abcd"
        assert not memory.changes().damage


def test_an_old_and_a_new_state_that_are_put_together_are_told(
    shared_url: str, attack: Callable[[History], None], caplog: pytest.LogCaptureFixture
) -> None:
    with opened(shared_url) as memory:
        write(memory, "ab")
        compact(memory)
        write(memory, "c")
        old = look(memory)
        write(memory, "d")
        compact(memory)
        write(memory, "ef")
        new = look(memory)
        write(memory, "xy", "other")
    attack(old._replace(records=new.records))
    check_told(shared_url, caplog, "ab")
    attack(new._replace(records=old.records))
    check_told(shared_url, caplog, "abcd")
    attack(new._replace(snapshot=old.snapshot))
    check_told(shared_url, caplog, "ef")
    attack(History(ORIGIN, None, new.records))
    check_told(shared_url, caplog, "")


def test_a_branch_that_was_rolled_back_is_not_mixed_into_what_came_after(
    shared_url: str, attack: Callable[[History], None], caplog: pytest.LogCaptureFixture
) -> None:
    with opened(shared_url) as memory:
        write(memory, "xy", "other")
        write(memory, "ab")
        start = look(memory)
        write(memory, "123")
        branch = look(memory)
    attack(start)
    with opened(shared_url) as memory:
        write(memory, "cde")
        mine = look(memory)
    attack(mine._replace(records=(*mine.records[:3], *branch.records[3:])))
    check_told(shared_url, caplog, "abc")


def test_a_reader_who_is_at_work_is_told_as_well(
    shared_url: str, attack: Callable[[History], None], caplog: pytest.LogCaptureFixture
) -> None:
    with opened(shared_url) as memory:
        write(memory, "xy", "other")
        write(memory, "abc")
        mine = look(memory)
        attack(mine._replace(records=(mine.records[0], mine.records[2], mine.records[1])))
        assert names(memory) == "a"
        with pytest.raises(wmem.CorruptionError):
            memory.scope("session").entries.get("absent")
    check_told(shared_url, caplog, "a")
