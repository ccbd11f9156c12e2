"""Journals on Redis and Valkey say what the journal in memory says, forget when told to, and lapse without dying."""

import asyncio
import itertools
import random
import time
from typing import Any

import pytest

from tests.journal.conftest import Journals
from tests.matrix import SERVERS
from tests.servers import wait_until
from wmem.errors import CorruptionError, StoreFullError
from wmem.journal.memory import MemoryJournal
from wmem.journal.port import MISSED_MAX, Appended, Tail, new_record_id
from wmem.journal.redis import RedisJournal
from wmem.journal.redis_async_face import AsyncRedisJournal
from wmem.journal.redis_roots import KnownStore, check_absent
from wmem.journal.redis_url import parse_redis_url
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path
from wmem.testing import Call

pytestmark = pytest.mark.backends(*SERVERS)

PATH: Path = ("agent", "session")
SECRET = b"the secret that must go"


# -- as the journal in memory


class Twins:
    """One journal beside the one in memory: each call goes to both, and what they say is compared.

    Cursors and births differ between the two, so each is known by the place where it first appeared.
    """

    def __init__(self, call: Any, journal: Any, rng: random.Random) -> None:
        self.call = call
        self.ours = journal
        self.theirs: MemoryJournal[bytes] = MemoryJournal(len)
        self.rng = rng
        self.met: list[tuple[Any, Any]] = [(ORIGIN, ORIGIN)]
        self.paths = [("a",), ("a", "b"), ("a", "b", "c"), ("a", "bc"), ('a"', "{b}"), ("a", "b,]*?[")]

    def compare(self, ours: Any, theirs: Any) -> None:
        if isinstance(ours, Cursor | Incarnation):
            assert type(ours) is type(theirs)
            pair = (ours, theirs)
            known = [each for each in self.met if each[0] == ours or each[1] == theirs]
            assert all(each == pair for each in known), "two points of history are taken for one"
            if not known:
                self.met.append(pair)
        elif isinstance(ours, Tail | Appended):
            if isinstance(ours, Appended):
                theirs = theirs._replace(certain=ours.certain)  # a cluster's driver may repeat what memory is told once
            for each, other in zip(ours, theirs, strict=True):
                self.compare(each, other)
        else:
            assert ours == theirs

    def step(self) -> None:
        rng = self.rng
        path, cursors = rng.choice(self.paths), [each for each in self.met if isinstance(each[0], Cursor)]
        births = [each for each in self.met if isinstance(each[0], Incarnation)] or [(None, None)]
        # Mostly what is new: old cursors are refused, which tells little.
        cursor = rng.choice(cursors[-4:] if rng.random() < 0.7 else cursors)
        birth = rng.choice(births[-3:])
        act = rng.random()
        if act < 0.55:
            record_id, payload = new_record_id(), rng.randbytes(rng.randrange(40))
            ours, theirs = rng.choice([(None, None), cursor, birth])
            self.compare(
                self.call(self.ours.append, path, record_id, payload, ours, None),
                self.theirs.append(path, record_id, payload, theirs, None),
            )
        elif act < 0.8:
            asked = rng.sample([each for each in self.paths if each[0] == path[0]], 1 if path[0] != "a" else 3)
            ours = self.call(self.ours.read, dict.fromkeys(asked, cursor[0]))
            theirs = self.theirs.read(dict.fromkeys(asked, cursor[1]))
            assert list(ours) == list(theirs)
            for each in asked:
                self.compare(ours[each], theirs[each])
        elif act < 0.9:
            snapshot = rng.randbytes(20)
            assert self.call(self.ours.compact, path, cursor[0], snapshot, None) == self.theirs.compact(
                path, cursor[1], snapshot, None
            )
        elif act < 0.95:
            self.call(self.ours.delete, path, birth[0])
            self.theirs.delete(path, birth[1])
        else:
            prefix = rng.choice([(), *self.paths])
            assert sorted(self.call(self.ours.paths, prefix)) == sorted(self.theirs.paths(prefix))


@pytest.mark.parametrize("seed", range(3))
def test_random_calls_are_answered_as_in_memory(seed: int, call: Call, journal: Any) -> None:
    twins = Twins(call, journal, random.Random(seed))
    for _ in range(250):
        twins.step()
    assert len(twins.met) > 50


@pytest.mark.parametrize("more", [0, 1])
def test_a_refused_append_brings_at_most_so_many_records(more: int, call: Call, journal: Any) -> None:
    first = call(journal.append, PATH, 1, b"1", None, None).cursor
    for number in range(MISSED_MAX + more):
        call(journal.append, PATH, number, b"%d" % number, None, None)
    refused = call(journal.append, PATH, 2, b"2", first, None)
    assert refused.cursor is None
    assert (refused.missed is None) is bool(more)


def test_record_ids_of_63_bits_and_chains_of_52_arrive_as_they_were(call: Call, journal: Any) -> None:
    ids = [2**63 - 1, 2**53 + 1, 1]
    for each in ids:
        appended = call(journal.append, PATH, each, bytes(range(256)), None, None)
        assert 0 < appended.cursor.chain < 2**52
    tail = call(journal.read, {PATH: ORIGIN})[PATH]
    assert [record.id for record in tail.records] == ids
    assert tail.records[0].payload == bytes(range(256))
    assert tail.head == appended.cursor


def test_a_cursor_that_no_stream_can_hold_is_no_part_of_a_journal(call: Call, journal: Any) -> None:
    call(journal.append, PATH, 1, b"1", None, None)
    for strange in (Cursor(-1, 5), Cursor(1, 2**80), Cursor(2**70, 1)):
        assert not call(journal.read, {PATH: strange})[PATH].joined


def test_a_root_is_listed_as_soon_as_it_has_a_scope(call: Call, journal: Any) -> None:
    for root in ("one", "two {x}", "ünï"):
        call(journal.append, (root, "session"), 1, b"1", None, None)
    assert sorted(call(journal.paths, ())) == [("one", "session"), ("two {x}", "session"), ("ünï", "session")]


# -- for how long


def _left(server: Any) -> dict[str, list[int]]:
    """Milliseconds that the hash and the stream of each scope have to live."""
    found: dict[str, list[int]] = {}
    for key in server.keys("wmem:{*}:[hs]*"):
        _, _, told = key.decode().partition("}:")
        found.setdefault(told[1:], []).append(server.pexpiretime(key) if _new(server) else server.pttl(key))
    return found


def _new(server: Any) -> bool:
    """Whether a server tells the instant of an expiry, as all do but 6.2."""
    info = server.info("server")
    versions = [info] if "redis_version" in info else list(info.values())
    return all(not each["redis_version"].startswith("6.") for each in versions)


def test_a_journal_is_kept_as_long_as_its_longest_record_wants(call: Call, journal: Any, server: Any) -> None:
    began = time.time() * 1000
    call(journal.append, PATH, 1, b"1", None, 1000.0)
    call(journal.append, PATH, 2, b"2", None, 10.0)
    if _new(server):
        ((one, other),) = _left(server).values()
        assert one == other >= began + 999_000  # both at one instant
    (left,) = _left(server).values()
    call(journal.append, PATH, 3, b"3", None, 2000.0)
    (longer,) = _left(server).values()
    assert min(longer) > max(left)
    call(journal.append, PATH, 4, b"4", None, None)
    call(journal.append, PATH, 5, b"5", None, 10.0)
    assert list(_left(server).values()) == [[-1, -1]]


def test_what_is_refused_does_not_prolong(call: Call, journal: Any, server: Any) -> None:
    if not _new(server):
        pytest.skip("6.2 does not tell the instant at which a key expires")
    call(journal.append, PATH, 1, b"1", None, 1000.0)
    left = _left(server)
    call(journal.append, PATH, 2, b"2", Cursor(9, 9), None)
    call(journal.append, PATH, 2, b"2", Incarnation(9), 5000.0)
    call(journal.compact, PATH, Cursor(9, 9), b"no", None)
    assert _left(server) == left


def test_compaction_keeps_the_time_of_both_keys(call: Call, journal: Any, server: Any) -> None:
    heads = [call(journal.append, PATH, number, b"1", None, 1000.0).cursor for number in range(3)]
    (before,) = _left(server).values()
    assert call(journal.compact, PATH, heads[1], b"state", 10.0)
    (after,) = _left(server).values()
    assert len(after) == 2
    assert max(after) <= max(before)
    assert min(after) > 0
    # Without a record the stream is gone; the next one comes back with the time of its hash.
    assert call(journal.compact, PATH, heads[2], b"state", 10.0)
    call(journal.append, PATH, 9, b"1", None, 10.0)
    (again,) = _left(server).values()
    assert len(again) == 2
    assert min(again) > 100_000 or min(again) == max(again)


# -- lapse


def _lapsed(call: Call, journal: Any) -> Incarnation:
    """A scope whose time is over; its life."""
    birth: Incarnation = call(journal.append, PATH, 1, b"1", None, None).incarnation
    call(journal.delete, PATH, None)
    birth = call(journal.append, PATH, 1, b"1", None, 0.001).incarnation
    wait_until(lambda: not call(journal.read, {PATH: ORIGIN})[PATH].records, "a scope to lapse")
    return birth


def test_a_lapsed_scope_is_empty_and_keeps_its_life(call: Call, journal: Any) -> None:
    birth = _lapsed(call, journal)
    nothing: Tail[bytes] = Tail(joined=True, base=ORIGIN, snapshot=None, records=(), head=ORIGIN, incarnation=birth)
    assert call(journal.read, {PATH: ORIGIN}) == {PATH: nothing}
    assert call(journal.read, {PATH: Cursor(1, birth.chain)}) == {PATH: nothing._replace(joined=False)}
    assert list(call(journal.paths, ("agent",))) == []


def test_a_lapsed_scope_takes_no_record_that_counts_on_what_was_there(call: Call, journal: Any) -> None:
    birth = _lapsed(call, journal)
    refused = call(journal.append, PATH, 2, b"2", birth, None)
    assert refused == Appended(None, ORIGIN, None, 0, birth, certain=refused.certain)
    refused = call(journal.append, PATH, 2, b"2", Cursor(1, birth.chain), None)
    assert (refused.cursor, refused.previous, refused.incarnation) == (None, ORIGIN, birth)
    assert not refused.missed.joined


@pytest.mark.parametrize("expected", [None, ORIGIN])
def test_a_lapsed_scope_begins_again_in_the_same_life(expected: Cursor | None, call: Call, journal: Any) -> None:
    birth = _lapsed(call, journal)
    again = call(journal.append, PATH, 1, b"new", expected, None)
    assert again.incarnation == birth
    assert again.cursor != Cursor(1, birth.chain)
    assert call(journal.append, PATH, 2, b"more", birth, None).incarnation == birth
    tail = call(journal.read, {PATH: Cursor(1, birth.chain)})[PATH]
    assert not tail.joined
    assert [record.payload for record in tail.records] == [b"new", b"more"]
    assert list(call(journal.paths, PATH)) == [PATH]


def test_a_lapsed_scope_can_be_deleted_and_then_has_another_life(call: Call, journal: Any, server: Any) -> None:
    birth = _lapsed(call, journal)
    call(journal.delete, PATH, Incarnation(birth.chain ^ 1))
    assert call(journal.read, {PATH: ORIGIN})[PATH].incarnation == birth
    call(journal.delete, ("agent",), None)
    assert call(journal.read, {PATH: ORIGIN})[PATH].incarnation is None
    assert server.keys("wmem:{*") == []
    assert call(journal.append, PATH, 1, b"1", ORIGIN, None).incarnation != birth


def test_what_lapsed_a_day_ago_is_forgotten_as_others_begin(call: Call, journal: Any, server: Any) -> None:
    register, births, names = (f'wmem:{{"agent"}}:{each}' for each in ("register", "births", "names"))
    birth = _lapsed(call, journal)
    call(journal.append, ("agent", "other"), 1, b"1", None, None)
    assert call(journal.read, {PATH: ORIGIN})[PATH].incarnation == birth
    for each in range(5):
        call(journal.append, ("agent", f"old {each}"), 1, b"1", None, 0.001)
    wait_until(lambda: list(call(journal.paths, ("agent",))) == [("agent", "other")], "all others to lapse")
    for name in server.zrangebyscore(register, "-inf", "(+inf"):
        server.zincrby(register, -86_401_000, name)  # as if it had been a day ago
    for each in range(3):
        call(journal.append, ("agent", f"new {each}"), 1, b"1", None, None)
    assert server.hlen(births) == server.zcard(register) == server.zcard(names) == 4
    assert len(list(call(journal.paths, ("agent",)))) == 4
    # Who still held it is refused as in a life that is over.
    assert call(journal.append, PATH, 2, b"2", birth, None).cursor is None
    assert call(journal.append, PATH, 2, b"2", None, None).incarnation != birth


# -- forgetting


def test_what_is_compacted_or_deleted_is_in_no_key(call: Call, journal: Any, server: Any) -> None:
    for number, payload in enumerate([SECRET, b"kept", SECRET, b"also kept"]):
        head = call(journal.append, PATH, number, payload, None, None).cursor
        if number == 2:
            upto = head
    call(journal.append, (*PATH, "child"), 1, SECRET, None, None)
    assert SECRET in _dumped(server)
    assert call(journal.compact, PATH, upto, b"state", None)
    call(journal.delete, (*PATH, "child"), None)
    assert SECRET not in _dumped(server)
    assert b"also kept" in _dumped(server)


def _dumped(server: Any) -> bytes:
    return b"".join(filter(None, (server.dump(key) for key in server.keys("*"))))


# -- one round trip, and what the server does not know


def test_a_server_that_has_forgotten_its_scripts_is_told_them_again(call: Call, journal: Any, server: Any) -> None:
    for number in range(3):
        assert call(journal.append, PATH, number, b"1", None, None).cursor.version == number + 1
        assert len(call(journal.read, {PATH: ORIGIN})[PATH].records) == number + 1
        server.script_flush()
    call(journal.compact, PATH, call(journal.read, {PATH: ORIGIN})[PATH].head, b"state", None)
    server.script_flush()
    call(journal.delete, PATH, None)
    server.script_flush()
    assert list(call(journal.paths, ())) == []


def test_a_full_server_refuses_and_changes_nothing(call: Call, new_server: Any) -> None:
    server = new_server("--maxmemory", "1")
    journal = RedisJournal(server.url)
    with pytest.raises(StoreFullError, match="maxmemory"):
        journal.append(PATH, 1, b"1", None, None)
    with server.client() as client:
        # The root alone could be told; SADD is refused as well.
        assert client.keys("*") == []
    journal.close()


def test_a_key_of_another_kind_is_an_error_that_changes_nothing(call: Call, journal: Any, server: Any) -> None:
    call(journal.append, PATH, 1, b"1", None, None)
    other = ("agent", "other")
    name = 'wmem:{"agent"}:'
    for key in (f"{name}register", f"{name}births", f'{name}h["agent","other"]'):
        kept = server.dump(key)
        server.set(key, "foreign")
        before = {each: server.dump(each) for each in server.keys("wmem:*")}
        with pytest.raises(CorruptionError, match="another program uses it") as told:
            call(journal.append, other, 2, b"2", None, None)
        assert repr(key) in str(told.value)
        assert {each: server.dump(each) for each in server.keys("wmem:*")} == before
        server.delete(key)
        if kept is not None:
            server.restore(key, 0, kept)
    assert call(journal.append, other, 2, b"2", None, None).cursor is not None


# -- cases


def test_B16_a_prefix_means_whole_segments(call: Call, journal: Any) -> None:
    for path in (("t", "a"), ("t", "ab"), ("t", "a", "x"), ("t", 'a"', "x"), ("ta",)):
        call(journal.append, path, 1, b"1", None, None)
    assert sorted(call(journal.paths, ("t", "a"))) == [("t", "a"), ("t", "a", "x")]
    call(journal.delete, ("t", "a"), None)
    assert sorted(call(journal.paths, ())) == [("t", 'a"', "x"), ("t", "ab"), ("ta",)]


NAMES = [
    "john-doe",
    "john_doe",
    "10%",
    "10x",
    "a*b",
    "axb",
    "[x]",
    "x",
    "{x}",
    "}{",
    "{}",
    "a|b",
    "a b",
    "a.b",
    'q"]',
    "\\u007b",
    "ü",
]


def test_B17_B28_signs_of_patterns_and_braces_are_letters(call: Call, journal: Any) -> None:
    for place, name in enumerate(NAMES):
        for path in ((name, "session"), ("agent", name)):
            call(journal.append, path, place, name.encode(), None, None)
    for name in NAMES:
        for path in ((name, "session"), ("agent", name)):
            assert [each.payload for each in call(journal.read, {path: ORIGIN})[path].records] == [name.encode()]
            assert list(call(journal.paths, path)) == [path]
        call(journal.delete, ("agent", name), None)
        assert list(call(journal.paths, ("agent", name))) == []
    assert len(list(call(journal.paths, ()))) == len(NAMES)


def test_B31_deleting_one_user_leaves_the_others_alone(call: Call, journal: Any, server: Any) -> None:
    for user, name in itertools.product(("u1", "u10", "u2"), ("s1", "s2")):
        call(journal.append, (user, name), 1, b"1", None, None)
    before = {key: server.dump(key) for key in server.keys("wmem:{*") if b'{"u1"}' not in key}
    call(journal.delete, ("u1",), None)
    assert {key: server.dump(key) for key in server.keys("wmem:{*")} == before
    assert server.smembers("wmem:roots") == {b"u10", b"u2"}
    assert {key for key in server.hkeys("wmem:agents") if key != b"id"} == {b"=u10", b"=u2"}
    assert sorted(call(journal.paths, ())) == sorted(itertools.product(("u10", "u2"), ("s1", "s2")))


def test_many_paths_of_a_root_are_read_at_one_instant(call: Call, journals: Journals) -> None:
    reader, writer = journals(), journals()
    paths = [("agent", f"session-{number}") for number in range(5)]

    def write() -> Any:
        return writer.append(paths[-1], new_record_id(), b"last", None, None)

    for path in paths:
        call(writer.append, path, 1, b"1", None, None)
    tails, *_ = call.run_concurrently([lambda: reader.read(dict.fromkeys(paths, ORIGIN)), *[write] * 10])
    assert list(tails) == paths
    assert all(tail.records for tail in tails.values())


# -- loops


async def _stored(journal: Any, number: int) -> int:
    await journal.append(PATH, number, b"1", None, None)
    return len((await journal.read({PATH: ORIGIN}))[PATH].records)


def test_B105_one_object_serves_loops_one_after_the_other(server_url: str) -> None:
    journal = AsyncRedisJournal(server_url)
    for number in range(3):
        assert asyncio.run(_stored(journal, number)) == number + 1
    asyncio.run(journal.aclose())


def test_B105_a_loop_that_was_closed_without_ado_is_no_obstacle(
    valkey_url: str, loop: asyncio.AbstractEventLoop
) -> None:
    journal = AsyncRedisJournal(valkey_url)
    assert loop.run_until_complete(_stored(journal, 0)) == 1
    loop.close()
    assert asyncio.run(_stored(journal, 1)) == 2
    journal.close()


# -- damage


def test_a_record_that_is_gone_or_foreign_counts_as_damage_where_it_was(call: Call, journal: Any, server: Any) -> None:
    heads = [call(journal.append, PATH, number, b"%d" % number, None, None).cursor for number in range(1, 5)]
    stream = 'wmem:{"agent"}:s["agent","session"]'
    server.xdel(stream, f"{heads[1].version}-{heads[1].chain}")
    tail = call(journal.read, {PATH: ORIGIN})[PATH]
    assert [(record.id, record.payload) for record in tail.records] == [(1, b"1"), (0, b""), (3, b"3"), (4, b"4")]
    assert not call(journal.read, {PATH: heads[1]})[PATH].joined
    assert call(journal.append, PATH, 5, b"5", heads[3], None).cursor is not None
    head = call(journal.read, {PATH: ORIGIN})[PATH].head
    server.delete(stream)
    for cursor in (*heads[:4], head):
        fields = {"strange": "fields"} if cursor == heads[2] else {"i": "7", "p": "7"}
        server.xadd(stream, fields, f"{cursor.version}-{cursor.chain}")
    tail = call(journal.read, {PATH: heads[1]})[PATH]
    assert [(record.id, record.payload) for record in tail.records] == [(0, b""), (7, b"7"), (7, b"7")]


def test_a_checkpoint_that_is_gone_is_no_empty_scope(call: Call, journal: Any, server: Any) -> None:
    head = call(journal.append, PATH, 1, b"1", None, None).cursor
    assert call(journal.compact, PATH, head, b"state", None)
    server.hdel('wmem:{"agent"}:h["agent","session"]', "snap")
    tail = call(journal.read, {PATH: ORIGIN})[PATH]
    assert (tail.joined, tail.snapshot, tail.head) == (False, b"", head)


def test_nothing_is_asked_of_the_server_about_no_path(call: Call, journal: Any) -> None:
    assert call(journal.read, {}) == {}
    call(journal.check)


def test_an_id_that_another_call_learned_meanwhile_is_no_loss(valkey_url: str) -> None:
    store = KnownStore(parse_redis_url(valkey_url), None)
    look = check_absent(store, "agent", "births")
    look.send(None)
    store.id = b"learned"  # by the call that stored something first
    look.send((None, None))  # what the server replied before it
    with pytest.raises(StopIteration):
        look.send(0)  # the root is not listed
