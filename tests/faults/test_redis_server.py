"""Servers that crash, forget, go back in time or keep what was deleted."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
import redis

import wmem
from tests.servers import RedisServer, wait_until
from wmem.errors import StoreError
from wmem.journal.redis import RedisJournal
from wmem.model.history import ORIGIN

SECRET = "the secret that must go"
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


@pytest.mark.parametrize("kind", ["valkey", "redis62"])
def test_a_killed_server_has_lost_no_acknowledged_write(kind: str, new_server: Any) -> None:
    server: RedisServer = new_server(*DURABLE, kind=kind)
    told: list[str] = []
    go_on = threading.Event()
    go_on.set()
    with wmem.open(server.url, agent_id="agent") as memory:
        session = memory.scope("session")

        def write() -> None:
            number = 0
            while go_on.is_set():
                try:
                    session.messages.append({"role": "user", "content": f"{number}"})
                except StoreError:
                    continue
                told.append(f"{number}")
                number += 1

        writer = threading.Thread(target=write)
        writer.start()
        for _ in range(3):
            reached = len(told) + 30
            wait_until(lambda reached=reached: len(told) >= reached, "some writes")
            server.kill()
            server.start()
        go_on.clear()
        writer.join()
        here = [message.text for message in session.messages.all()]
    with wmem.open(server.url, agent_id="agent") as memory:
        stored = [message.text for message in memory.scope("session").messages.all()]
    assert stored == here
    assert set(told) <= set(stored)
    # A write that failed may be there, and was written again as another; its own record is there once.
    assert list(dict.fromkeys(stored)) == sorted(set(stored), key=int)


def test_a_replica_follows_a_server_that_went_back_in_time(valkey_url: str) -> None:
    with redis.Redis.from_url(valkey_url) as client, wmem.open(valkey_url, agent_id="agent") as memory:
        session = memory.scope("session")
        session.messages.append([{"role": "user", "content": f"{n}"} for n in range(3)])
        kept = {key: client.dump(key) for key in client.keys("*")}
        session.messages.append({"role": "user", "content": "lost"})
        session.entries.set("lost", "too")
        for key, value in kept.items():
            client.restore(key, 0, value, replace=True)
        assert [message.text for message in session.messages.all()] == ["0", "1", "2"]
        session.messages.append({"role": "user", "content": "new"})
        assert [message.text for message in session.messages.all()] == ["0", "1", "2", "new"]
        assert session.entries.get("lost") is None


def test_a_replica_server_refuses_writes_by_name(new_server: Any) -> None:
    server: RedisServer = new_server()
    with server.client() as client:
        client.replicaof("127.0.0.1", server.port)
        journal = RedisJournal(server.url)
        with pytest.raises(StoreError, match="refused"):
            journal.append(("agent",), 1, b"1", None, None)
        client.replicaof("NO", "ONE")
        assert journal.append(("agent",), 1, b"1", None, None).cursor is not None
        journal.close()


def test_erased_content_is_in_no_file_once_the_append_only_file_is_rewritten(new_server: Any) -> None:
    server: RedisServer = new_server(*DURABLE)
    with wmem.open(server.url, agent_id="agent") as memory:
        session = memory.scope("session")
        session.entries.set("key", SECRET)
        assert _holding(server.directory)
        session.dispose()
    journal = RedisJournal(server.url)
    kept = journal.purge(("agent", "session"))
    assert [sentence for sentence in kept if "append-only file" in sentence and "rewritten" in sentence] == list(kept)
    wait_until(lambda: not _holding(server.directory), "the append-only file to be rewritten")
    with server.client() as client:
        assert all(SECRET.encode() not in (client.dump(key) or b"") for key in client.keys("*"))
    journal.close()


def _holding(directory: Path) -> list[Path]:
    """The files that hold the secret; some go while one looks."""
    found = []
    for file in directory.rglob("*"):
        try:
            if file.is_file() and SECRET.encode() in file.read_bytes():
                found.append(file)
        except FileNotFoundError:
            continue
    return found


def test_the_operator_is_told_of_every_file_that_keeps_what_was_deleted(new_server: Any) -> None:
    silent: RedisServer = new_server()
    journal = RedisJournal(silent.url)
    assert list(journal.purge(("agent",))) == []
    with silent.client() as client:
        client.config_set("save", "3600 1")
    (sentence,) = journal.purge(("agent",))
    assert "RDB" in sentence
    assert "BGSAVE" in sentence
    journal.close()
    main: RedisServer = new_server()
    copy: RedisServer = new_server("--replicaof", f"127.0.0.1 {main.port}")
    with main.client() as client:
        wait_until(lambda: client.info("replication")["connected_slaves"] == 1, "the replica")
    journal = RedisJournal(main.url)
    told = " ".join(journal.purge(("agent",)))
    assert "1 replicas" in told
    assert "backlog" in told
    journal.close()
    copy.kill()


def test_a_scope_whose_items_are_all_past_their_time_goes_on_after_it_lapsed(valkey_url: str) -> None:
    with redis.Redis.from_url(valkey_url) as client, wmem.open(valkey_url, agent_id="agent") as memory:
        session = memory.scope("session")
        session.entries.set("key", "value", ttl_s=60.0)
        for key in client.keys("wmem:{*}:[hs]*"):
            client.pexpire(key, 1)
        for name in client.zrange('wmem:{"agent"}:register', 0, -1):
            client.zadd('wmem:{"agent"}:register', {name: 1_000})  # the instant that the keys now have
        wait_until(lambda: not client.keys("wmem:{*}:[hs]*"), "the keys to expire")
        assert session.entries.get("key") is None
        session.entries.set("key", "again")
        session.messages.append({"role": "user", "content": "still here"})
        assert session.entries.get("key") == "again"
    with wmem.open(valkey_url, agent_id="agent") as memory:
        assert [message.text for message in memory.scope("session").messages.all()] == ["still here"]


def test_a_cluster_serves_a_memory_in_both_modes(cluster_url: str) -> None:
    agents = [f"agent-{number} {{x}}" for number in range(6)]  # on all three nodes
    for agent in agents:
        with wmem.open(cluster_url, agent_id=agent) as memory:
            child = memory.scope("session").child("task")
            child.entries.set("key", agent)
            child.messages.append({"role": "user", "content": "hello"})
            child.merge_to_parent()
            assert memory.scope("session").entries.get("key") == agent

    async def main() -> None:
        for agent in agents:
            async with await wmem.aopen(cluster_url, agent_id=agent) as memory:
                assert await memory.scope("session").entries.get("key") == agent
                assert await memory.scope("session").children() == ["task"]
                await memory.scope("session").dispose()
                assert await memory.scope().children() == []

    asyncio.run(main())
    journal = RedisJournal(cluster_url)
    assert all(path[1:2] != ("session",) for path in journal.paths(()))
    assert journal.read({(agents[0], "session"): ORIGIN})[agents[0], "session"].head == ORIGIN
    journal.close()
