"""What happens around the writes: compaction, replicas that leave, counts that wait, closing, and steps cut in half."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path as Directory
from typing import Any

import pytest

import wmem
from tests.conformance.conftest import NOON, Clock
from tests.conformance.own_journal import DictJournal
from wmem import DisposedError, StoreError, UnknownOutcomeError
from wmem.codec.codec import IdentityCodec, JsonCodec
from wmem.engine import writing
from wmem.engine.engine import Engine
from wmem.engine.ports import sync_ports
from wmem.engine.replica import Replica
from wmem.engine.writing import COMPACT_MIN_BYTES
from wmem.flow import Flow, Ports, run
from wmem.journal.disk import DiskJournal
from wmem.journal.memory import MemoryJournal
from wmem.journal.port import Tail
from wmem.model.change import ItemPut, ItemRemoved
from wmem.model.history import ORIGIN, VECTOR_SCOPE, Cursor, Incarnation, Path
from wmem.model.row import Row
from wmem.scope.entries.flows import MISSING, update
from wmem.scope.erasure import erase
from wmem.scope.messages.flows import pop
from wmem.state import APPLIED_MAX

PATH: Path = ("agent", "session")


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def row(name: str, size: int = 1) -> Row:
    return Row(name, b"x" * size, NOON, NOON)


class Counting:
    """A journal that says how many bytes it was given."""

    written = 0

    def append(self, path: Path, record_id: int, record: Any, expected: Any, keep_s: Any, /) -> Any:
        self.written += len(record)
        return super().append(path, record_id, record, expected, keep_s)  # type: ignore[misc]  # mixed into a journal

    def compact(self, path: Path, upto: Cursor, snapshot: Any, keep_s: Any, /) -> Any:
        self.written += len(snapshot)
        return super().compact(path, upto, snapshot, keep_s)  # type: ignore[misc]  # see above


class CountingMemory(Counting, MemoryJournal[bytes]):
    pass


class CountingDisk(Counting, DiskJournal):
    pass


@pytest.fixture(params=("memory", "disk"))
def journal(request: pytest.FixtureRequest, tmp_path: Directory) -> Iterator[Any]:
    """A journal of bytes, counting them."""
    if request.param == "memory":
        yield CountingMemory(len)
        return
    made = CountingDisk(f"{tmp_path}/store")
    yield made
    made.close()


def begin(engine: Engine[bytes], ports: Ports, path: Path = PATH, size: int = 1) -> Incarnation:
    """Store a scope's first item."""
    _, birth = run(
        writing.commit(
            engine, path, lambda _: ([ItemPut(row("first", size))], None), opening=(), incarnation=None, now=NOON
        ),
        ports,
    )
    assert birth is not None
    return birth


# -- compaction


def test_a_journal_is_compacted_when_its_tail_holds_as_many_bytes_as_its_snapshot(journal: Any) -> None:
    engine, ports = Engine(JsonCodec()), sync_ports(journal)
    birth = begin(engine, ports)
    base, snapshot, tail_bytes, seen = ORIGIN, 0, 0, 0
    for number in range(400):
        run(writing.post(engine, PATH, birth, [ItemPut(row(f"item {number}", 2_000))], now=NOON), ports)
        (replica,) = run(engine.sync([PATH]), ports)
        tail: Tail[bytes] = journal.read({PATH: Cursor(0, 1)})[PATH]  # from nowhere: all there is
        if tail.base != base:
            due = max(COMPACT_MIN_BYTES, snapshot)
            # Not before it is due, and with the very record that makes it due.
            assert due - 3_000 < tail_bytes + 2_500 < due + 6_000
            assert tail.records == ()
            base, snapshot, tail_bytes, seen = tail.base, len(tail.snapshot or b""), 0, seen + 1
            continue
        tail_bytes = sum(len(record.payload) for record in tail.records)
        assert tail_bytes < max(COMPACT_MIN_BYTES, snapshot)
    assert seen >= 4
    assert list(replica.state.rows) == ["first", *(f"item {number}" for number in range(400))]
    assert list(run(Engine(JsonCodec()).sync([PATH]), ports)[0].state.rows) == list(replica.state.rows)


def test_two_thousand_appends_write_at_most_three_times_their_bytes(journal: Any) -> None:
    engine, ports = Engine(JsonCodec()), sync_ports(journal)
    birth = begin(engine, ports)
    journal.written = given = 0
    for number in range(2_000):
        change = ItemPut(row(f"message {number}", 500))
        given += len(engine.codec.encode_record([change], PATH, 1))
        run(writing.post(engine, PATH, birth, [change], now=NOON), ports)
    assert journal.written <= 3 * given


def test_compacting_what_others_compacted_further_changes_nothing(journal: Any) -> None:
    one, other, ports = Engine(JsonCodec()), Engine(JsonCodec()), sync_ports(journal)
    birth = begin(one, ports)
    (late,) = run(one.sync([PATH]), ports)
    run(writing.post(other, PATH, birth, [ItemPut(row("second"))], now=NOON), ports)
    (replica,) = run(other.sync([PATH]), ports)
    assert run(other.compact(replica, NOON), ports)
    assert not run(one.compact(late, NOON), ports)
    assert not run(other.compact(replica, NOON), ports)
    assert list(run(one.sync([PATH]), ports)[0].state.rows) == ["first", "second"]


def test_a_scope_above_the_limit_leaves_compaction_to_maintenance(journal: Any) -> None:
    engine, ports = Engine(JsonCodec()), sync_ports(journal)
    begin(engine, ports, size=5_000)
    (replica,) = run(engine.sync([PATH]), ports)
    assert not run(engine.compact(replica, NOON, limit=4_000), ports)
    assert run(engine.compact(replica, NOON, limit=6_000), ports)


def test_a_reader_behind_a_checkpoint_says_resynced_once_and_goes_on_one_by_one(journal: Any) -> None:
    here, there, ports = Engine(JsonCodec()), Engine(JsonCodec()), sync_ports(journal)
    birth = begin(here, ports)
    events: list[str] = []
    here.events.subscribe("agent", lambda event: events.append(type(event.change).__name__))
    run(writing.post(there, PATH, birth, [ItemPut(row("second"))], now=NOON), ports)
    (replica,) = run(there.sync([PATH]), ports)
    run(there.compact(replica, NOON), ports)
    run(writing.post(there, PATH, birth, [ItemPut(row("third"))], now=NOON), ports)
    run(here.sync([PATH]), ports)
    run(writing.post(there, PATH, birth, [ItemPut(row("fourth")), ItemRemoved("first")], now=NOON), ports)
    run(here.sync([PATH]), ports)
    assert events == ["Resynced", "ItemPut", "ItemRemoved"]


# -- replicas that leave


def scopes(count: int) -> list[Path]:
    return [("agent", f"session-{number}") for number in range(count)]


def held(engine: Engine[Any]) -> list[Path]:
    """The paths of the replicas, the longest unused first."""
    return [path for path, _ in sorted(engine.replicas.items(), key=lambda each: each[1].last_use)]


def test_replicas_leave_the_longest_unused_first_whatever_their_size(journal: Any) -> None:
    engine, ports = Engine(JsonCodec(), replica_bytes=30_000), sync_ports(journal)
    for number, path in enumerate(scopes(64)):
        begin(engine, ports, path, size=2_000 - 1_000 * (number % 2))
    kept = held(engine)
    assert kept == scopes(64)[-len(kept) :]


def test_replicas_leave_the_longest_unused_first_and_read_the_same_again(journal: Any) -> None:
    engine, ports = Engine(JsonCodec(), replica_bytes=30_000), sync_ports(journal)
    for path in scopes(100):
        begin(engine, ports, path, size=1_000)
    kept = held(engine)
    assert len(kept) < 64
    assert kept == scopes(100)[-len(kept) :]
    for path in scopes(100):
        (replica,) = run(engine.sync([path]), ports)
        assert replica.state.rows["first"] == row("first", 1_000)
    run(engine.sync([scopes(100)[40]]), ports)
    assert held(engine)[-1] == scopes(100)[40]


def test_a_few_large_replicas_keep_to_the_bound_too(journal: Any) -> None:
    writer, ports = Engine(JsonCodec()), sync_ports(journal)
    for path in scopes(30):
        begin(writer, ports, path, size=20_000)
    engine = Engine(JsonCodec(), replica_bytes=100_000)
    for path in scopes(30):
        run(engine.sync([path]), ports)
    for _ in range(50):
        run(engine.sync([scopes(30)[0]]), ports)
    assert sum(replica.state.bytes for replica in engine.replicas.values()) <= 2 * 100_000


def test_a_replica_with_counts_that_are_not_written_stays(journal: Any) -> None:
    engine, ports = Engine(JsonCodec(), replica_bytes=2_000), sync_ports(journal)
    begin(engine, ports)
    replica = engine.replica(PATH)
    with replica.lock:
        replica.touch("first", NOON)
    for path in scopes(100):
        begin(engine, ports, path, size=1_000)
    assert engine.replica(PATH) is replica


def vectors_in(scope: wmem.Scope, first: int) -> None:
    """Ten items, and their vectors, as a pack makes them."""
    for number in range(first, first + 10):
        scope.items.add(f"{number}", type="fact", ttl_s=None)
    scope.pack("question", budget=1_000)


class Wide:
    """Vectors of 4 kB; it counts the texts it is given."""

    name = "wide"

    def __init__(self) -> None:
        self.given = 0

    def __call__(self, texts: Sequence[str], /) -> list[list[float]]:
        self.given += len(texts)
        return [[float(len(text)), 1.0, *[0.0] * 1_022] for text in texts]


def test_vectors_count_among_the_bytes_of_a_replica(tmp_path: Path) -> None:
    with wmem.open(f"sqlite://{tmp_path}/store.db", agent_id="agent", embedder=Wide()) as memory:
        engine = memory._core.store.engine
        engine._replica_bytes = 1_000_000
        for number in range(12):  # of 64 rows of 4 kB each
            vectors_in(memory.scope(f"session-{number}"), 10 * number)
        replicas = engine.replicas.values()
        assert sum(replica.state.bytes for replica in replicas) < 500_000
        assert 1 <= sum(replica.derived_bytes > 0 for replica in replicas) <= 4
        assert sum(replica.derived_bytes for replica in replicas) <= 1_000_000


class Watched(DictJournal):
    """Which paths it was asked for from the beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.afresh: list[Path] = []

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        self.afresh += [path for path, cursor in after.items() if cursor == ORIGIN]
        return super().read(after)


@pytest.mark.parametrize("key", [None, b"\xa5" * 32], ids=["in clear", "encrypted"])
def test_stored_vectors_leave_memory_first_and_are_not_read_again_for_a_few_texts(key: bytes | None) -> None:
    embedder, journal = Wide(), Watched()
    with wmem.open("journal://", agent_id="agent", embedder=embedder, client=journal, key=key) as memory:
        engine = memory._core.store.engine
        engine._replica_bytes = 600_000
        session, other = memory.scope("session"), memory.scope("other")
        other.items.add("used long ago", ttl_s=None)
        kept = set[int]()
        for number in range(0, 100, 10):
            vectors_in(session, number)
            kept |= {id(engine.replica(session.path)), id(engine.replica(other.path))}
        assert len(kept) == 2, "what was remembered was let go for vectors of it"
        assert engine.evicted_caches.keys() == {("agent", VECTOR_SCOPE)}
        assert engine.find_synced_replica(("agent", VECTOR_SCOPE)) is None
        journal.afresh.clear()
        before = embedder.given
        vectors_in(session, 100)
        assert (("agent", VECTOR_SCOPE) in journal.afresh, embedder.given - before) == (False, 11)
    with wmem.open("journal://", agent_id="agent", embedder=embedder, client=journal, key=key) as memory:
        before = embedder.given
        memory.scope("session").pack("question", budget=1_000)
        assert embedder.given - before == 1, "what was made without reading is stored all the same"


def test_a_scope_larger_than_the_bound_stays_while_its_vectors_are_looked_up() -> None:
    with wmem.open("journal://", agent_id="agent", embedder=Wide(), client=DictJournal()) as memory:
        engine = memory._core.store.engine
        engine._replica_bytes = 100_000
        session, kept = memory.scope("session"), set[int]()
        for number in range(0, 100, 10):
            vectors_in(session, number)
            kept.add(id(engine.replica(session.path)))
        assert engine.replica(session.path).derived_bytes > 100_000
        assert len(kept) == 1


# -- steps cut in half


def until(flow: Flow[Any], ports: Ports, name: str) -> tuple[str, tuple[Any, ...]]:
    """Run a flow up to the request `name`, which is not served."""
    request = flow.send(None)
    while request[0] != name:
        request = flow.send(ports[request[0]](*request[1]))
    return request


def finish(flow: Flow[Any], ports: Ports, request: tuple[str, tuple[Any, ...]]) -> Any:
    """Serve the request and run the flow to its end."""
    try:
        while True:
            request = flow.send(ports[request[0]](*request[1]))
    except StopIteration as done:
        return done.value


@pytest.fixture
def ours(url: str) -> Iterator[wmem.AgentMemory]:
    """A memory whose flows are stepped by hand."""
    with wmem.open(url, agent_id="agent", clock=Clock()) as memory:
        yield memory


def ports_of(memory: wmem.AgentMemory) -> Ports:
    return memory._core.ports.sync


def half_disposed(memory: wmem.AgentMemory) -> Callable[[], None]:
    """Dispose the scope `s` up to the moment between its mark and its deletion; returns what goes on."""
    memory.scope("s").entries.set("k", "remains")
    flow = memory.scope("s")._handle.dispose()
    request = until(flow, ports_of(memory), "Journal.delete")
    return lambda: finish(flow, ports_of(memory), request)


def test_a_scope_that_is_half_disposed_shows_nothing_and_may_begin_anew(ours: wmem.AgentMemory) -> None:
    bound = ours.scope("s")
    bound.entries.set("k", "remains")
    half_disposed(ours)
    assert ours.scope("s").entries.get("k") is None
    assert ours.scope("s").view().entries.keys() == []
    with pytest.raises(DisposedError):
        bound.entries.keys()
    ours.scope("s").entries.set("new", 1)
    assert ours.scope("s").entries.keys() == ["new"]


def test_a_deletion_that_comes_late_spares_the_next_life(ours: wmem.AgentMemory) -> None:
    go_on = half_disposed(ours)
    anew = ours.scope("s")
    anew.entries.set("new", "acknowledged")
    go_on()
    assert ours.scope("s").entries.get("new") == "acknowledged"
    assert anew.entries.get("new") == "acknowledged"


def test_two_that_begin_anew_over_remains_both_keep_what_they_wrote(ours: wmem.AgentMemory) -> None:
    half_disposed(ours)
    slow = ours.scope("s")._handle
    flow = slow.commit(lambda _: ([ItemPut(row("slow"))], None), NOON)
    request = until(flow, ports_of(ours), "Journal.delete")
    ours.scope("s").entries.set("new", "acknowledged")
    finish(flow, ports_of(ours), request)
    assert ours.scope("s").entries.get("new") == "acknowledged"


def test_a_child_does_not_read_through_to_what_remains_of_a_parent(ours: wmem.AgentMemory) -> None:
    half_disposed(ours)
    child = ours.scope("s", "c")
    assert child.entries.get("k") is None
    assert child.view().entries.get("k") is None
    assert "remains" not in (child.pack("remains", budget=500).note or "")


def test_a_child_that_is_written_below_what_remains_is_refused_or_lives(ours: wmem.AgentMemory) -> None:
    go_on = half_disposed(ours)
    try:
        ours.scope("s", "c").entries.set("j", 1)
    except DisposedError:
        return
    go_on()
    assert ours.scope("s", "c").entries.get("j") == 1


@pytest.mark.parametrize("above", [("s",), ("s", "t")])
def test_a_child_that_begins_while_its_parent_ends_is_refused_and_leaves_nothing(
    ours: wmem.AgentMemory, above: tuple[str, ...]
) -> None:
    ours.scope("s").entries.set("k", 1)
    ours.scope(*above).entries.set("k", 1)
    slow = ours.scope(*above, "c")
    flow = slow._handle.commit(lambda _: ([ItemPut(row("secret"))], None), NOON)
    request = until(flow, ports_of(ours), "Journal.append")
    ours.scope("s").dispose()
    with pytest.raises(DisposedError):
        finish(flow, ports_of(ours), request)
    assert slow.is_disposed
    assert list(ports_of(ours)["Journal.paths"](("agent",))) == []


def test_a_child_that_begins_while_its_parent_begins_anew_is_refused_and_not_in_the_next_life(
    ours: wmem.AgentMemory,
) -> None:
    ours.scope("s").entries.set("k", 1)
    flow = ours.scope("s", "c")._handle.commit(lambda _: ([ItemPut(row("secret"))], None), NOON)
    request = until(flow, ports_of(ours), "Journal.append")
    ours.scope("s").dispose()
    ours.scope("s").entries.set("k", 2)
    with pytest.raises(DisposedError):
        finish(flow, ports_of(ours), request)
    assert ours.scope("s").children() == []


@pytest.mark.parametrize("met", [False, True])
def test_a_disposal_whose_deletion_fails_is_finished_by_the_next(ours: wmem.AgentMemory, met: bool) -> None:
    scope = ours.scope("s")
    scope.entries.set("k", "remains")
    scope.child("c").entries.set("k", "remains")
    flow = scope._handle.dispose()
    until(flow, ports_of(ours), "Journal.delete")
    with pytest.raises(StoreError):
        flow.throw(StoreError("out of reach"))
    if met:
        with pytest.raises(DisposedError):
            scope.entries.get("k")
    assert scope.dispose() == 0
    assert list(ports_of(ours)["Journal.paths"](("agent",))) == []


def test_nothing_is_acknowledged_in_a_scope_that_is_known_to_be_disposed(ours: wmem.AgentMemory) -> None:
    bound = ours.scope("s")
    bound.messages.append(said("first"))
    half_disposed(ours)
    # The mark is in this process's own replica: no race is needed.
    with pytest.raises(DisposedError):
        bound.messages.append(said("acknowledged and never seen again"))


def test_a_half_disposed_scope_is_no_child(ours: wmem.AgentMemory) -> None:
    half_disposed(ours)
    assert ours.working.children() == []


@pytest.mark.parametrize("verb", ["post", "commit"])
def test_fetches_are_not_counted_twice_by_a_write_that_is_cancelled(ours: wmem.AgentMemory, verb: str) -> None:
    scope = ours.scope("s")
    item = scope.items.add("x")
    for _ in range(2):
        scope.items.fetch(item.id)
    handle = scope._handle
    flow: Flow[Any] = (
        handle.post((), NOON) if verb == "post" else handle.commit(lambda _: ([ItemRemoved("nobody")], None), NOON)
    )
    name, arguments = until(flow, ports_of(ours), "Journal.append")
    ports_of(ours)[name](*arguments)  # it arrives, although nobody waits for the reply any more
    with pytest.raises(asyncio.CancelledError):
        flow.throw(asyncio.CancelledError())
    assert scope.items.get(item.id).access_count <= 3
    scope.messages.append(said("whatever"))
    assert scope.items.get(item.id).access_count <= 3


def test_an_erasure_ends_although_others_write_without_pause(ours: wmem.AgentMemory) -> None:
    scope, there, ports = ours.scope("s"), ours.scope("s"), ports_of(ours)
    item = scope.items.add("secret")
    met: list[Path] = []

    def overtaken(path: Path, *rest: Any) -> Any:
        met.append(path)
        assert len(met) < 100, "it met another writer again and again"
        there.messages.append(said("busy"))
        return ports["Journal.append"](path, *rest)

    told = run(erase(scope._handle, [item.id]), {**ports, "Journal.append": overtaken})
    assert told.ids == (item.id,)
    assert scope.items.all(include_expired=True) == []


def lost(flow: Flow[Any], ports: Ports, meanwhile: Callable[[], None]) -> Any:
    """Run a flow whose append arrives, but whose reply is lost and comes to be missed late."""
    name, arguments = until(flow, ports, "Journal.append")
    ports[name](*arguments)
    meanwhile()
    return finish(flow, ports, flow.throw(UnknownOutcomeError("the reply was lost")))


@pytest.mark.parametrize("others", [APPLIED_MAX - 1, APPLIED_MAX, 2 * APPLIED_MAX])
@pytest.mark.parametrize("verb", ["update", "pop", "add"])
def test_a_write_whose_reply_was_lost_is_made_once_however_many_came_since(
    ours: wmem.AgentMemory, verb: str, others: int
) -> None:
    scope, there = ours.scope("s"), ours.scope("s")
    scope.entries.set("n", 0)
    scope.messages.append([said(str(number)) for number in range(3)])
    handle = scope._handle

    def meanwhile() -> None:
        for _ in range(others):
            run(there._handle.post((), NOON), ports_of(ours))
        for item in there.items.all():
            there.items.remove(item.id)

    if verb == "update":
        assert lost(update(handle, "n", lambda n: n + 1, MISSING, None), ports_of(ours), meanwhile) == 1
        assert scope.entries.get("n") == 1
    elif verb == "pop":
        assert lost(pop(handle), ports_of(ours), meanwhile).text == "2"
        assert scope.messages.count() == 2
    else:
        lost(handle.post([ItemPut(row("added")._replace(content=b'"x"'))], NOON), ports_of(ours), meanwhile)
        assert scope.items.get("added") is None  # somebody removed it since


def test_a_write_whose_reply_was_lost_and_whose_record_was_compacted_away_is_unknown(ours: wmem.AgentMemory) -> None:
    scope, there = ours.scope("s"), ours.scope("s")
    scope.entries.set("n", 0)

    def meanwhile() -> None:
        for number in range(2 * APPLIED_MAX):
            there.entries.set("other", number)
        there.erase()

    with pytest.raises(UnknownOutcomeError):
        lost(update(scope._handle, "n", lambda n: n + 1, MISSING, None), ports_of(ours), meanwhile)
    assert scope.entries.get("n") == 1


def outrun(ours: wmem.AgentMemory) -> Any:
    """An update that is refused, and that misses so much that the journal has forgotten where it was to come."""
    scope, there = ours.scope("s"), ours.scope("s")
    scope.entries.set("n", 0)
    flow = update(scope._handle, "n", lambda n: n + 1, MISSING, None)
    name, arguments = until(flow, ports_of(ours), "Journal.append")
    for number in range(2 * APPLIED_MAX):
        there.entries.set("other", number)
    there.erase()
    refused = ports_of(ours)[name](*arguments)
    assert refused.cursor is None
    return scope, flow, refused


def test_a_write_that_was_refused_is_no_unknown_one_however_much_came_since(ours: wmem.AgentMemory) -> None:
    scope, flow, refused = outrun(ours)
    assert refused.certain
    assert finish(flow, ports_of(ours), flow.send(refused)) == 1
    assert scope.entries.get("n") == 1


def test_a_refusal_by_a_client_that_repeats_by_itself_leaves_a_write_unknown(ours: wmem.AgentMemory) -> None:
    scope, flow, refused = outrun(ours)
    with pytest.raises(UnknownOutcomeError):
        finish(flow, ports_of(ours), flow.send(refused._replace(certain=False)))
    assert scope.entries.get("n") == 0


def test_a_write_that_fails_after_its_reply_was_lost_is_unknown_and_not_failed(ours: wmem.AgentMemory) -> None:
    scope = ours.scope("s")
    scope.entries.set("n", 0)
    flow = update(scope._handle, "n", lambda n: n + 1, MISSING, None)
    name, arguments = until(flow, ports_of(ours), "Journal.append")
    ports_of(ours)[name](*arguments)
    request = flow.throw(UnknownOutcomeError("the reply was lost"))
    assert request[0] == "Pause.sleep"
    assert flow.send(None)[0] == "Journal.read"
    with pytest.raises(UnknownOutcomeError):  # a `StoreError` alone says that it may be repeated
        flow.throw(StoreError("out of reach"))


def test_a_write_that_is_stored_is_acknowledged_although_its_compaction_fails() -> None:
    class Failing(MemoryJournal[Any]):
        broken = False

        def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[Any]]:
            if self.broken:
                msg = "the disk is away"
                raise StoreError(msg)
            return super().read(after)

    journal = Failing(IdentityCodec().size)
    engine: Engine[Any] = Engine(IdentityCodec())
    birth = begin(engine, sync_ports(journal))
    # Others wrote so much that the next append finds a compaction due, and has to catch up for it.
    journal.append(PATH, 77, (ItemPut(row("other", 100_000)),), None, None)
    journal.broken = True
    assert run(writing.post(engine, PATH, birth, [ItemPut(row("mine"))], now=NOON), sync_ports(journal))


def test_a_reader_that_a_compaction_overtakes_takes_nothing_for_damage(tmp_path: Directory) -> None:
    class Overtaken(DiskJournal):
        between: Callable[[], None] | None = None

        def _contains(self, *call: Any) -> bool:
            if self.between is not None:
                between, self.between = self.between, None
                between()
            return super()._contains(*call)

    slow, quick = Overtaken(f"{tmp_path}/store"), DiskJournal(f"{tmp_path}/store")
    codec = JsonCodec()

    def written_and_compacted(name: str, journal: DiskJournal) -> None:
        number = int.from_bytes(name.encode(), "big")
        journal.append(PATH, number, codec.encode_record([ItemPut(row(name))], PATH, number), None, None)
        engine = Engine(codec)
        (replica,) = run(engine.sync([PATH]), sync_ports(journal))
        assert run(engine.compact(replica, NOON), sync_ports(journal))

    written_and_compacted("one", quick)
    slow.between = lambda: written_and_compacted("two", quick)
    (replica,) = run(Engine(codec).sync([PATH]), sync_ports(slow))
    assert slow.between is None
    assert replica.damage == []
    assert list(replica.state.rows) in (["one"], ["one", "two"])
    slow.close()
    quick.close()


def test_a_reader_that_a_new_life_overtakes_sees_none_of_it(
    ours: wmem.AgentMemory, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours.scope("s").entries.set("k", "old life")
    bound = ours.scope("s")
    assert bound.entries.get_many(["k"]) == {"k": "old life"}
    caught_up = Engine.sync
    engine = bound._handle.engine

    def overtaken(self: Engine[Any], paths: list[Path]) -> Flow[list[Replica[Any]]]:
        replicas = yield from caught_up(self, paths)
        if self is engine:
            monkeypatch.setattr(Engine, "sync", caught_up)
            path = bound._handle.path
            ports_of(ours)["Journal.delete"](path, None)  # as another process would
            elsewhere = Engine(engine.codec)
            birth = begin(elsewhere, ports_of(ours), path)
            new = Row("id", b'"new life"', NOON, NOON, key="k")
            run(writing.post(elsewhere, path, birth, [ItemPut(new)], now=NOON), ports_of(ours))
            assert ours.scope("s").entries.get_many(["k"]) == {"k": "new life"}
        return replicas

    monkeypatch.setattr(Engine, "sync", overtaken)
    try:
        assert bound.entries.get_many(["k"]) == {"k": "old life"}
    except DisposedError:
        return


# -- one id, one thing
