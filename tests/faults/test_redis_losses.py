"""A Redis that loses keys: what is lost is told from what lapsed, nothing is deleted, and a backup heals all."""

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.conformance.conftest import call, mode
from tests.matrix import examples
from tests.servers import RedisServer  # noqa: TC001  # a fixture's type
from wmem.errors import CorruptionError, StoreFullError
from wmem.journal.port import Tail, new_record_id
from wmem.journal.redis import RedisJournal
from wmem.journal.redis_async_face import AsyncRedisJournal
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path
from wmem.testing import Call

__all__ = ["call", "mode"]

PATH: Path = ("agent", "session")
NAME = '["agent","session"]'
ROOT = 'wmem:{"agent"}:'
KEYS = {
    "hash": f"{ROOT}h{NAME}",
    "stream": f"{ROOT}s{NAME}",
    "births": f"{ROOT}births",
    "register": f"{ROOT}register",
    "names": f"{ROOT}names",
}
HISTORIES = ("aaa", "aacaa", "aac")  # a: a record, c: a snapshot


@pytest.fixture(params=["valkey", "redis62"])
def url(request: pytest.FixtureRequest) -> str:
    made: str = request.getfixturevalue(f"{request.param}_url")
    return made


@pytest.fixture
def server(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as client:
        yield client


@pytest.fixture
def make(url: str, mode: str, call: Call) -> Iterator[Callable[[], Any]]:
    made: list[Any] = []

    def journal() -> Any:
        made.append(RedisJournal(url) if mode == "sync" else AsyncRedisJournal(url))
        return made[-1]

    yield journal
    for each in made:
        call(each.close if mode == "sync" else each.aclose)


def _write(call: Call, journal: Any, history: str, keep_s: float | None, path: Path = PATH) -> Cursor:
    """Append a record for each ``a``, compact for each ``c``; the head."""
    head = ORIGIN
    for number, act in enumerate(history):
        if act == "a":
            head = call(journal.append, path, new_record_id(), b"record %d" % number, None, keep_s).cursor
        else:
            assert call(journal.compact, path, head, b"snapshot", keep_s)
    return head


def _dumps(server: Any) -> Mapping[bytes, tuple[bytes, int]]:
    """All keys with what they hold, and whether they expire."""
    return {key: (server.dump(key), server.pttl(key) < 0) for key in sorted(server.keys("*"))}


def _lose(server: Any, keys: list[str]) -> dict[str, tuple[bytes, int]]:
    lost = {}
    for key in keys:
        if (dump := server.dump(key)) is not None:
            lost[key] = (dump, max(0, server.pttl(key)))
            server.delete(key)
    return lost


def _restore(server: Any, lost: Mapping[str, tuple[bytes, int]]) -> None:
    for key, (dump, ms) in lost.items():
        server.restore(key, ms, dump)


def _verbs(journal: Any, head: Cursor, birth: Incarnation) -> dict[str, Callable[[], Any]]:
    """Every call that names the scope, with arguments that are right for it."""
    return {
        "read": lambda: journal.read({PATH: ORIGIN}),
        "read on": lambda: journal.read({PATH: head}),
        "append": lambda: journal.append(PATH, 5, b"5", None, None),
        "append at the head": lambda: journal.append(PATH, 5, b"5", head, 900.0),
        "append at the origin": lambda: journal.append(PATH, 5, b"5", ORIGIN, None),
        "append in its life": lambda: journal.append(PATH, 5, b"5", birth, None),
        "compact": lambda: journal.compact(PATH, head, b"another", None),
    }


# -- one key, and two


LOST = [each for count in (1, 2) for each in itertools.combinations(KEYS, count)]


@pytest.mark.parametrize("lost", LOST, ids="+".join)
def test_a_lost_key_is_corruption_to_every_call_and_nothing_is_deleted(
    lost: tuple[str, ...], make: Callable[[], Any], call: Call, server: Any
) -> None:
    for history, keep_s in itertools.product(HISTORIES, (None, 3_600.0)):
        server.flushdb()
        journal = make()
        head = _write(call, journal, history, keep_s)
        before = call(journal.read, {PATH: ORIGIN})
        gone = _lose(server, [KEYS[each] for each in lost])
        if not gone:
            continue  # without a record after the snapshot there is no stream
        left = _dumps(server)
        for seen in (journal, make()):
            _check_all_told(call, seen, head, before[PATH].incarnation, lost)
            assert _dumps(server) == left
        _restore(server, gone)
        assert call(make().read, {PATH: ORIGIN}) == before
        assert call(journal.append, PATH, 9, b"9", head, keep_s).cursor is not None


def _check_all_told(call: Call, journal: Any, head: Cursor, birth: Incarnation, lost: tuple[str, ...]) -> None:
    for verb in _verbs(journal, head, birth).values():
        with pytest.raises(CorruptionError, match="lost data") as told:
            call(verb)
        assert repr(PATH) in str(told.value)
        assert any(each in str(told.value) for each in lost)
    if {"births", "register", "names"} & set(lost):
        with pytest.raises(CorruptionError, match="lost data"):
            call(journal.paths, ("agent",))
    else:
        assert list(call(journal.paths, ("agent",))) == [PATH]


def test_a_new_scope_of_a_root_that_lost_a_key_is_refused(make: Callable[[], Any], call: Call, server: Any) -> None:
    journal = make()
    _write(call, journal, "a", None)
    for kind in ("births", "register", "names"):
        lost = _lose(server, [KEYS[kind]])
        with pytest.raises(CorruptionError, match=kind):
            call(journal.append, ("agent", "other"), 1, b"1", ORIGIN, None)
        _restore(server, lost)
    assert call(journal.append, ("agent", "other"), 1, b"1", ORIGIN, None).cursor is not None


# -- all keys


def test_an_agent_whose_every_key_is_lost_is_told_from_one_that_never_was(
    make: Callable[[], Any], call: Call, server: Any
) -> None:
    head = _write(call, make(), "aca", None)
    lost = _lose(server, list(KEYS.values()))
    left = _dumps(server)
    for journal in (make(), make()):
        for verb, args in (
            (journal.read, ({PATH: ORIGIN},)),
            (journal.read, ({PATH: head},)),
            (journal.append, (PATH, 1, b"1", ORIGIN, None)),
            (journal.append, (("agent", "other"), 1, b"1", None, None)),
            (journal.paths, (("agent",),)),
            (journal.paths, ((),)),
        ):
            with pytest.raises(CorruptionError, match="lost data"):
                call(verb, *args)
        assert call(journal.read, {("another",): ORIGIN})[("another",)].head == ORIGIN
    assert _dumps(server) == left
    _restore(server, lost)
    assert call(make().read, {PATH: head})[PATH].joined


def test_an_agent_lost_with_the_hash_of_agents_is_told_to_whoever_comes_anew(
    make: Callable[[], Any], call: Call, server: Any
) -> None:
    _write(call, make(), "aca", None)
    lost = _lose(server, [*KEYS.values(), "wmem:agents"])
    left = _dumps(server)
    for verb, args in (
        ("read", ({PATH: ORIGIN},)),
        ("append", (("agent", "other"), 1, b"1", None, None)),
        ("paths", (("agent",),)),
        ("paths", ((),)),
    ):
        with pytest.raises(CorruptionError, match="lost data"):
            call(getattr(make(), verb), *args)
    assert call(make().read, {("another",): ORIGIN})[("another",)].head == ORIGIN
    assert _dumps(server) == left
    _restore(server, lost)
    assert call(make().read, {PATH: ORIGIN})[PATH].head.version == 2
    _lose(server, [*KEYS.values(), "wmem:agents"])
    call(make().delete, ("agent",), None)
    assert call(make().append, PATH, 1, b"1", ORIGIN, None).cursor is not None


@pytest.mark.parametrize("way", ["read", "append", "begin"])
def test_a_lost_hash_of_agents_is_made_anew_with_every_agent_that_is_listed(
    way: str, make: Callable[[], Any], call: Call, server: Any
) -> None:
    heads = {root: _write(call, make(), "a", None, (root, "session")) for root in ("agent", "other")}
    _lose(server, ["wmem:agents"])
    if way == "read":
        assert call(make().read, {("other", "session"): ORIGIN})[("other", "session")].head == heads["other"]
    else:
        _write(call, make(), "a", None, ("other" if way == "append" else "third", "session"))
    _lose(server, list(KEYS.values()))
    for journal in (make(), make()):
        with pytest.raises(CorruptionError, match="lost data"):
            call(journal.read, {PATH: ORIGIN})


def test_a_client_holds_on_to_the_id_it_knows_when_the_store_gets_another(
    make: Callable[[], Any], call: Call, server: Any
) -> None:
    journal = make()
    _write(call, journal, "a", None)
    server.hset('wmem:{"other"}:births', "", "ended")  # its last scope is just being deleted
    _lose(server, ["wmem:agents", "wmem:roots", *KEYS.values()])
    _write(call, journal, "a", None, ("other", "session"))
    with pytest.raises(CorruptionError, match="restarted or emptied"):
        call(journal.read, {PATH: ORIGIN})


def test_a_list_of_agents_that_lost_some_is_no_shorter_list(make: Callable[[], Any], call: Call, server: Any) -> None:
    journal = make()
    for root in ("one", "two"):
        call(journal.append, (root, "session"), 1, b"1", None, None)
    lost = _lose(server, ["wmem:roots"])
    with pytest.raises(CorruptionError, match="wmem:roots"):
        call(journal.paths, ())
    _restore(server, lost)
    assert sorted(call(journal.paths, ())) == [("one", "session"), ("two", "session")]


def test_a_store_that_was_emptied_is_told_to_whoever_knew_it(make: Callable[[], Any], call: Call, server: Any) -> None:
    journal = make()
    head = _write(call, journal, "aa", None)
    other = make()
    call(other.read, {PATH: ORIGIN})
    server.flushall()
    fresh = make()
    assert call(fresh.read, {PATH: ORIGIN})[PATH].head == ORIGIN
    for began in (False, True):
        if began:
            _write(call, fresh, "a", None)
            _write(call, fresh, "a", None, ("else",))
        for each in (journal, other):
            with pytest.raises(CorruptionError, match="restarted or emptied"):
                call(each.read, {PATH: head})
            with pytest.raises(CorruptionError, match="restarted or emptied"):
                call(each.append, ("third",), 1, b"1", None, None)


def test_what_another_client_deleted_is_no_loss(make: Callable[[], Any], call: Call, server: Any) -> None:
    journal, other = make(), make()
    head = _write(call, journal, "aa", None)
    _write(call, journal, "aa", None, ("agent", "more"))
    for path in (PATH, ("agent",)):
        call(other.delete, path, None)
        assert call(journal.read, {PATH: head})[PATH] == Tail(False, ORIGIN, None, (), ORIGIN, None)  # a tail, by place
    assert list(call(journal.paths, ("agent",))) == []
    assert all(b"agent" not in key or key == b"wmem:agents" for key in server.keys("*"))


def test_a_store_that_another_task_begins_meanwhile_is_no_other_store(
    make: Callable[[], Any], call: Call, server: Any
) -> None:
    journal = make()
    for _ in range(30):
        server.flushdb()
        journal.store.id = None
        reads: list[Callable[[], Any]] = [partial(journal.read, {("agent", "absent"): ORIGIN})] * 3
        writes: list[Callable[[], Any]] = [
            partial(journal.append, (f"agent-{n}", "session"), n, b"1", None, None) for n in range(3)
        ]
        ends: list[Any] = call.run_concurrently([*reads, *writes, *reads])
        assert [end.cursor is not None for end in ends[3:6]] == [True] * 3


# -- any keys


HISTORY = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("aaaacd"), st.booleans()), min_size=1, max_size=12)
PATHS: list[Path] = [("agent",), PATH, (*PATH, "task"), ("other", "session")]


@pytest.mark.parametrize("kind", ["valkey", "redis62"])
def test_whatever_is_lost_every_call_is_right_or_corruption_and_a_backup_heals_it(
    kind: str, request: pytest.FixtureRequest
) -> None:
    server: RedisServer = request.getfixturevalue(f"{kind}_server")

    @examples(0.4)
    @given(history=HISTORY, data=st.data())
    def check(history: list[tuple[int, str, bool]], data: st.DataObject) -> None:
        url = server.database()
        writer = RedisJournal(url)
        for place, act, for_ever in history:
            path, keep_s = PATHS[place], None if for_ever else 3_600.0
            if act == "a":
                writer.append(path, new_record_id(), b"payload", None, keep_s)
            elif act == "c":
                writer.compact(path, writer.read({path: ORIGIN})[path].head, b"snapshot", keep_s)
            else:
                writer.delete(path, None)
        truth = {path: writer.read({path: ORIGIN})[path] for path in PATHS}
        listed = {root: sorted(writer.paths((root,))) for root in ("agent", "other")}
        with redis.Redis.from_url(url) as client:
            # One witness is left: without any, nothing tells an agent that is lost from one that never was.
            keys = sorted(each.decode() for each in client.keys("*") if each != b"wmem:agents")
            lost = _lose(client, data.draw(st.lists(st.sampled_from(keys), unique=True)) if keys else [])
            left = _dumps(client)
            reader = RedisJournal(url)
            for path in PATHS:
                for verb, right in (
                    (lambda path=path: reader.read({path: ORIGIN})[path], truth[path]),
                    (lambda path=path: reader.read({path: truth[path].head})[path].head, truth[path].head),
                    (lambda path=path: reader.compact(path, Cursor(9, 9), b"no", None), False),
                ):
                    try:
                        assert verb() == right
                    except CorruptionError:
                        assert lost
            for root, paths in listed.items():
                try:
                    assert sorted(reader.paths((root,))) == paths
                except CorruptionError:
                    assert lost
            assert _dumps(client) == left
            _restore(client, lost)
            assert {path: reader.read({path: ORIGIN})[path] for path in PATHS} == truth
        writer.close()
        reader.close()

    check()


@pytest.mark.parametrize("kind", ["valkey", "redis62"])
@pytest.mark.parametrize("policy", ["allkeys-random", "allkeys-lru"])
def test_a_server_that_really_evicts_answers_right_or_corruption(kind: str, policy: str, new_server: Any) -> None:
    server: RedisServer = new_server(kind=kind)
    rng = random.Random(9)
    memories: dict[str, wmem.AgentMemory] = {}
    written: dict[tuple[str, str], str] = {}
    answers = {"right": 0, "corruption": 0}
    for number in range(800):
        if number == 100:  # once scripts and connections have the memory they need
            with server.client() as client:
                client.config_set("maxmemory", client.info("memory")["used_memory"] + 150_000)
                client.config_set("maxmemory-policy", policy)
        agent, name = f"agent-{rng.randrange(4)}", f"session-{rng.randrange(6)}"
        if rng.random() < 0.03 and agent in memories:
            memories.pop(agent).close()  # so that replicas are read anew now and then
        if agent not in memories:
            memories[agent] = wmem.open(server.url, agent_id=agent)
        entries = memories[agent].scope(name).entries
        try:
            if rng.random() < 0.6:
                value = f"{number} " + "x" * rng.randrange(3_000)
                entries.set("key", value, ttl_s=None if "1" in name else 3_600.0)
                written[agent, name] = value
            else:
                assert entries.get("key") == written.get((agent, name))
            answers["right"] += 1
        except CorruptionError:
            answers["corruption"] += 1
    with server.client() as client:
        assert client.info("stats")["evicted_keys"] > 0
    assert min(answers.values()) > 20
    for memory in memories.values():
        memory.close()


# -- as a user meets it


def test_a_user_of_a_session_that_lost_a_key_is_told_by_every_verb(
    url: str, server: Any, call: Call, mode: str
) -> None:
    opener: Any = wmem.open if mode == "sync" else wmem.aopen
    memory = call(opener, url, agent_id="agent")
    session = memory.scope("session")
    call(session.entries.set, "key", "value")
    message = call(session.messages.append, {"role": "user", "content": "hello"})
    for kind, key in KEYS.items():
        lost = _lose(server, [key])
        for _ in range(2):
            for verb, args in (
                (session.entries.get, ("key",)),
                (session.entries.set, ("key", "other")),
                (session.messages.append, ({"role": "user", "content": "more"},)),
                (session.messages.all, ()),
                (session.export, ()),
                (session.erase, (message.id,)),
                (memory.rotate, ()),
            ):
                with pytest.raises(CorruptionError, match="lost data"):
                    call(verb, *args)
            call(memory.close)
            memory = call(opener, url, agent_id="agent")
            session = memory.scope("session")
        _restore(server, lost)
        assert call(session.entries.get, "key") == "value", kind
    call(memory.close)


@pytest.mark.parametrize("kind", KEYS)
def test_a_session_that_lost_a_key_can_be_disposed_and_begun_anew(
    kind: str, url: str, server: Any, call: Call, mode: str
) -> None:
    opener: Any = wmem.open if mode == "sync" else wmem.aopen
    memory = call(opener, url, agent_id="agent")
    call(memory.scope("session").entries.set, "key", "value")
    call(memory.scope("session").child("task").entries.set, "key", "value")
    _lose(server, [KEYS[kind]])
    call(memory.scope("session").dispose)
    assert [key for key in server.keys("*") if b"session" in key] == []
    call(memory.scope("session").entries.set, "key", "new")
    assert call(memory.scope("session").entries.get, "key") == "new"
    call(memory.close, dispose=True)


def test_a_restarted_server_that_kept_nothing_is_no_empty_memory(new_server: Any, call: Call, mode: str) -> None:
    server: RedisServer = new_server()
    opener: Any = wmem.open if mode == "sync" else wmem.aopen
    memory = call(opener, server.url, agent_id="agent")
    session = memory.scope("session")
    call(session.entries.set, "key", "value")
    server.kill()
    server.start()
    for handle in (session, memory.scope("session"), memory.scope("new")):
        with pytest.raises(CorruptionError, match="restarted or emptied"):
            call(handle.entries.get, "key")
        with pytest.raises(CorruptionError, match="restarted or emptied"):
            call(handle.entries.set, "key", "value")
    call(memory.close)
    memory = call(opener, server.url, agent_id="agent")
    call(memory.scope("session").entries.set, "key", "anew")
    assert call(memory.scope("session").entries.get, "key") == "anew"
    call(memory.close)


def test_a_restarted_server_that_kept_everything_is_the_same_store(new_server: Any) -> None:
    server: RedisServer = new_server("--appendonly", "yes", "--appendfsync", "always")
    with wmem.open(server.url, agent_id="agent") as memory:
        memory.scope("session").entries.set("key", "value")
        server.kill()
        server.start()
        assert memory.scope("session").entries.get("key") == "value"
        memory.scope("session").dispose()
        assert memory.scope("session").entries.get("key") is None


# -- an agent that is gone


def test_of_an_agent_that_is_disposed_nothing_names_it(cluster_url: str, valkey_url: str) -> None:
    for url in (cluster_url, valkey_url):
        for each in ("someone", "other"):
            with wmem.open(url, agent_id=each) as memory:
                memory.scope("session").entries.set("key", "value")
                memory.working.entries.set("key", "value")
        with wmem.open(url, agent_id="someone") as memory:
            memory.close(dispose=True)
        kind = redis.RedisCluster if "cluster" in url else redis.Redis
        with kind.from_url(url.partition("?")[0]) as client:
            keys = client.keys("*")
            assert keys
            assert all(b"someone" not in key + (client.dump(key) or b"") for key in keys)
        with wmem.open(url, agent_id="other") as memory:
            assert memory.scope("session").entries.get("key") == "value"
        journal = RedisJournal(url)
        assert sorted(journal.paths(())) == [("other",), ("other", "session")]
        journal.close()


def test_an_agent_that_begins_while_it_is_taken_off_the_list_stays_on_it(url: str, server: Any) -> None:
    from wmem.flow import run
    from wmem.journal import redis_flows

    steps = 1
    while True:
        journal, other = RedisJournal(url), RedisJournal(url)
        journal.append(PATH, 1, b"1", None, None)
        flow = redis_flows.delete(("agent",), None)
        reply: Any = None
        ended = False
        try:
            for _ in range(steps):
                name, args = flow.send(reply)
                reply = journal._ports[name](*args)
        except StopIteration:
            ended = True
        # In the middle of the other's steps.
        assert other.read({PATH: ORIGIN})[PATH].head == (ORIGIN if steps > 1 else other.read({PATH: ORIGIN})[PATH].head)
        other.append(PATH, 2, b"2", None, None)
        try:
            while not ended:
                name, args = flow.send(reply)
                reply = journal._ports[name](*args)
        except StopIteration:
            pass
        assert sorted(journal.paths(())) == [PATH]
        assert other.read({PATH: ORIGIN})[PATH].records[-1].payload == b"2"
        other.append(PATH, 3, b"3", None, None)
        other.delete(("agent",), None)
        assert [key for key in server.keys("*") if key != b"wmem:agents"] == []
        assert run(redis_flows.sweep(PATH), journal._ports) == 0
        journal.close()
        other.close()
        if ended:
            break
        steps += 1
    assert steps > 3


# -- lapse


def test_upkeep_forgets_what_is_left_of_sessions_that_lapsed_a_day_ago(
    url: str, server: Any, call: Call, mode: str
) -> None:
    opener: Any = wmem.open if mode == "sync" else wmem.aopen
    memory = call(opener, url, agent_id="agent")
    for number in range(300):
        call(memory.scope(f"session-{number}").entries.set, "key", "value", ttl_s=3_600.0)
    call(memory.scope("living").entries.set, "key", "value")
    for name in server.zrangebyscore(KEYS["register"], "-inf", "(+inf"):
        server.zadd(KEYS["register"], {name: 1_000})  # as if it had lapsed long ago
    server.delete(*(key for key in server.keys(f"{ROOT}[hs]*") if b"living" not in key))
    assert call(memory.scope().children) == ["living"]
    call(memory.maintain)
    assert server.hlen(KEYS["births"]) == server.zcard(KEYS["register"]) == server.zcard(KEYS["names"]) == 1
    assert call(memory.scope("living").entries.get, "key") == "value"
    call(memory.close)


# -- a full server


@pytest.mark.parametrize("verb", ["remove", "clear", "erase", "dispose"])
def test_a_full_server_is_emptied_by_every_verb_that_removes(verb: str, new_server: Any, call: Call, mode: str) -> None:
    server: RedisServer = new_server(kind="redis62" if mode == "sync" else "valkey")
    opener: Any = wmem.open if mode == "sync" else wmem.aopen
    memory = call(opener, server.url, agent_id="agent")
    session = memory.scope("session")
    with server.client() as client:
        used = client.info("memory")["used_memory"]
        client.config_set("maxmemory", used + 1_500_000)
    items: list[wmem.MemoryItem] = []

    def fill() -> None:
        while len(items) < 2_000:
            items.append(call(session.items.add, f"{len(items)} " + "x" * 5_000))

    for _ in range(2):  # compaction may have made room for a little more
        with pytest.raises(StoreFullError, match="full"):
            fill()
    if verb == "remove":
        for item in items:
            call(session.items.remove, item.id)
    elif verb == "clear":
        call(session.items.clear)
    elif verb == "erase":
        call(session.erase, *(item.id for item in items))
    else:
        call(session.dispose)
        session = memory.scope("session")
    for number in range(10):
        call(session.items.add, f"{number} " + "y" * 5_000)
    assert len(call(session.items.all)) == 10
    call(memory.close)
