"""No schedule of two processes, a failing network and a forgetful server ends wrong, and each rule is needed for that.

The real flows are stepped by hand: a request is served at one step and its reply
delivered at a later one, so that everything else happens in between. Each schedule is
one seed.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import wmem.engine.write_queue
import wmem.journal.head
import wmem.journal.memory
from wmem.codec.codec import Codec, IdentityCodec, JsonCodec
from wmem.codec.encryption import AesCodec
from wmem.codec.keyring import KeyRing
from wmem.codec.link import NO_PLACE, Link
from wmem.engine import writing
from wmem.engine.engine import Engine
from wmem.engine.replica import Replica
from wmem.engine.writing import StaleIncarnation
from wmem.errors import ConflictError, StoreError, UnknownOutcomeError
from wmem.flow import Flow, ask, bind, run
from wmem.journal.memory import MemoryJournal
from wmem.journal.port import Appended, Journal, Record
from wmem.model.change import Change, Event, ItemPut, ItemTouched, ScopeOpened
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path
from wmem.model.row import Row
from wmem.state import State

PATH: Path = ("agent", "session")
NOW = 1_764_288_000.0
SCHEDULES = 20_000
PARTS = 4
TRIES = 4_000  # schedules in which a missing rule must show
STEPS_MAX = 3_000
FLOWS = (10, 14)


def _row(name: str, number: int = 0) -> Row:
    return Row(name, b"%d" % number, NOW, NOW)


OPENING: tuple[Change, ...] = (
    ScopeOpened("{}", NOW),
    *(ItemPut(_row(name)) for name in ("count", "total", "fetched")),
)


IDENTITY = IdentityCodec()
CODECS: Mapping[int, Codec[Any]] = {1: AesCodec(KeyRing(b"\xa5" * 32)), 3: JsonCodec()}
"""How payloads are kept, by a part of the seed."""


class Chance:
    """Every draw and every instant of a schedule, from its seed."""

    def __init__(self) -> None:
        self.begin(0)

    def begin(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.clock = 0.0

    def record_id(self) -> int:
        return self.rng.getrandbits(63)

    def salt(self) -> int:
        return self.rng.getrandbits(52)

    def monotonic(self) -> float:
        return self.clock


class RemoteJournal(MemoryJournal[Any]):
    """The journal in memory, on a server that may lose its newest records; it remembers what it was ever given."""

    def __init__(self, size: Callable[[Any], int]) -> None:
        super().__init__(size)
        self.given: dict[Cursor, tuple[Cursor, int, Any]] = {}

    def append(
        self, path: Path, record_id: int, record: Any, expected: Cursor | Incarnation | None, keep_s: float | None, /
    ) -> Appended[Any]:
        reply = super().append(path, record_id, record, expected, keep_s)
        if reply.cursor is not None:
            self.given[reply.cursor] = (reply.previous, record_id, record)
        return reply

    def roll_back(self, count: int) -> None:
        log = self._logs.get(PATH)
        if log is None:
            return
        del log.entries[-count:]
        log.head = log.entries[-1][1] if log.entries else log.base
        if log.head == ORIGIN:
            del self._logs[PATH]

    def history(self) -> list[tuple[Cursor, int, Any]]:
        """What leads to the head, oldest first, whatever was compacted since."""
        found = []
        cursor = self.head(PATH)
        while cursor != ORIGIN:
            previous, record_id, payload = self.given[cursor]
            found.append((cursor, record_id, payload))
            cursor = previous
        return found[::-1]


Request = tuple[str, tuple[Any, ...]]


@dataclass
class Actor:
    """A flow on its way: it waits to be served (`request`) or to hear what became of it (`reply`)."""

    flow: Flow[None]
    request: Request | None = None
    reply: object = None


@dataclass
class Told:
    """What the callers were told."""

    meant: dict[str, Incarnation] = field(default_factory=dict)
    """The life for which a record was made, where the caller said so."""
    stored: dict[str, Incarnation] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    numbers: list[int] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    fetches: int = 0


class Schedule:
    """Two processes over one journal, from first step to verdict."""

    def __init__(self, chance: Chance, seed: int, codec: Codec[Any], *, quick: bool) -> None:
        chance.begin(seed)
        self.chance = chance
        self.rng = rng = chance.rng
        self.disturbed = rng.random() < 0.4  # with deletions and rollbacks nobody may count on what was stored
        self.hurried = rng.random() < 0.3  # flows reach the end of their patience
        self.codec = codec
        self.journal = RemoteJournal(codec.size)
        head = self.journal.head if quick else None
        self.engines = [Engine(codec, head=head), Engine(codec, head=head)]
        self.ports = bind(Journal=self.journal, Pause=self)
        self.told = Told()
        self.births: list[Incarnation] = []
        self.late: list[Request] = []
        self.rolled_back = False
        self.heard: list[Counter[str]] = [Counter(), Counter()]
        for engine, heard in zip(self.engines, self.heard, strict=True):
            engine.events.subscribe(PATH[0], self._listener(heard))

    def sleep(self, _seconds: float, /) -> None:
        if self.hurried:
            self.chance.clock += self.rng.choice((0.0, 0.0, 10.0))

    def until(self, _hang: object, seconds: float, /) -> None:
        self.sleep(seconds)

    @staticmethod
    def _listener(heard: Counter[str]) -> Callable[[Event], None]:
        def listen(event: Event) -> None:
            if isinstance(event.change, ItemPut):
                heard[event.change.row.id] += 1

        return listen

    # -- what callers do

    def increment(self, engine: Engine[Any], name: str) -> Flow[None]:
        birth = self.rng.choice(self.births) if self.births and self.rng.random() < 0.3 else None

        if birth is not None:
            self.told.meant[name] = birth

        def decide(state: State) -> tuple[Sequence[Change], int]:
            count = state.rows.get("count")
            number = 1 + (0 if count is None else int(count.content))
            return [ItemPut(_row("count", number)), ItemPut(_row(name))], number

        number, met = yield from writing.commit(engine, PATH, decide, opening=OPENING, incarnation=birth, now=NOW)
        assert met is not None
        self.told.stored[name] = met
        self.told.numbers.append(number)
        yield from self._look(engine, name, met)

    def add(self, engine: Engine[Any], name: str) -> Flow[None]:
        changes: list[Change] = [ItemPut(_row(name)), ItemTouched("total", 1, NOW)]
        if self.births and self.rng.random() < 0.5:
            birth: Incarnation | None = self.rng.choice(self.births)
        else:
            (replica,) = yield from engine.sync([PATH])
            birth = replica.incarnation
        if birth is None:
            _, birth = yield from writing.commit(
                engine, PATH, lambda _: (changes, None), opening=OPENING, incarnation=None, now=NOW
            )
            assert birth is not None
        else:
            self.told.meant[name] = birth
            written = yield from writing.post(engine, PATH, birth, changes, now=NOW)
            if not written:
                self.told.refused.add(name)
                return
        self.told.stored[name] = birth
        yield from self._look(engine, name, birth)

    def _look(self, engine: Engine[Any], name: str, birth: Incarnation) -> Flow[None]:
        self.births.append(birth)
        (replica,) = yield from engine.sync([PATH])
        if replica.incarnation == birth and name not in replica.state.rows:
            self.told.unseen.append(name)

    def fetch(self, engine: Engine[Any], _name: str) -> Flow[None]:
        (replica,) = yield from engine.sync([PATH])
        with replica.lock:
            if "fetched" in replica.state.rows:
                replica.touch("fetched", NOW)
                self.told.fetches += 1

    def compact(self, engine: Engine[Any], _name: str) -> Flow[None]:
        if self.rng.random() < 0.5:
            yield from engine.sync([PATH])
        yield from engine.compact(engine.replica(PATH), NOW)

    def shed(self, engine: Engine[Any], _name: str) -> Flow[None]:
        yield from ()
        engine.drop_replicas(PATH)  # as when the replicas take too much memory

    def delete(self, engine: Engine[Any], _name: str) -> Flow[None]:
        yield from ask(Journal.delete, PATH, None)
        engine.drop_replicas(PATH)

    def roll_back(self, _engine: Engine[Any], _name: str) -> Flow[None]:
        yield from ()
        self.rolled_back = True
        self.journal.roll_back(self.rng.randint(1, 2))

    def _actor(self, kind: Callable[[Engine[Any], str], Flow[None]], engine: Engine[Any], place: int) -> Actor:
        name = f"{kind.__name__}-{place}"
        return Actor(self._write(kind(engine, name), name))

    def _write(self, flow: Flow[None], name: str) -> Flow[None]:
        try:
            yield from flow
        except (ConflictError, StaleIncarnation):
            self.told.refused.add(name)
        except StoreError:
            pass  # unknown: all of it is there, or nothing

    # -- one step after the other

    def play(self) -> str | None:
        """What is wrong at the end, None if nothing is."""
        rng = self.rng
        kinds: list[Callable[[Engine[Any], str], Flow[None]]] = [self.increment, self.add] * 4
        kinds += [self.compact, self.compact, self.fetch, self.shed]
        if self.disturbed:
            kinds += [self.delete, self.roll_back]
        waiting = [
            self._actor(rng.choice(kinds), rng.choice(self.engines), place) for place in range(rng.randint(*FLOWS))
        ]
        at_once = rng.choice((3, 6, len(waiting)))
        steps = 0
        while waiting:
            steps += 1
            if steps > STEPS_MAX:
                return "the flows never end"
            if self.late and rng.random() < 0.15:
                self._call(self.late.pop(rng.randrange(len(self.late))))
            actor = waiting[int(rng.random() * min(at_once, len(waiting)))]
            if rng.random() < 0.01:
                self._cancel(actor)
                waiting.remove(actor)
            elif actor.request is not None:
                self._serve(actor)
            elif not self._resume(actor):
                waiting.remove(actor)
        for request in self.late:
            self._call(request)
        return next(self._wrongs(), None)

    def _call(self, request: Request) -> Any:
        name, args = request
        return self.ports[name](*args)

    def _resume(self, actor: Actor) -> bool:
        reply, actor.reply = actor.reply, None
        try:
            actor.request = actor.flow.throw(reply) if isinstance(reply, StoreError) else actor.flow.send(reply)
        except StopIteration:
            return False
        return True

    def _serve(self, actor: Actor) -> None:
        request, actor.request = actor.request, None
        assert request is not None
        changing = request[0] in ("Journal.append", "Journal.compact")
        fate = self.rng.random()
        if changing and fate < 0.08:
            self._call(request)
            actor.reply = UnknownOutcomeError("the reply was lost")
        elif changing and fate < 0.16:
            self._lose(request)
            actor.reply = UnknownOutcomeError("the request was lost, or comes late")
        elif request[0] == "Journal.read" and fate < 0.005:
            actor.reply = StoreError("out of reach")
        else:
            actor.reply = self._call(request)

    def _lose(self, request: Request) -> None:
        if self.rng.random() < 0.6:
            self.late.append(request)

    def _cancel(self, actor: Actor) -> None:
        if actor.request is not None and actor.request[0] in ("Journal.append", "Journal.compact"):
            self._lose(actor.request)
        try:
            actor.flow.throw(asyncio.CancelledError())
        except asyncio.CancelledError:
            return
        raise AssertionError("a cancelled flow went on")

    # -- the verdict

    def _wrongs(self) -> Iterator[str]:
        told, journal = self.told, self.journal
        truth = State()
        for _, record_id, payload in journal.history():
            truth.fold(record_id, self.codec.decode_record(payload, PATH, record_id))
        rows = truth.rows
        replicas = [run(engine.sync([PATH]), self.ports)[0] for engine in self.engines]
        fresh: Replica[Any] = Replica(PATH, self.codec)
        fresh.apply_tail(ORIGIN, journal.read({PATH: ORIGIN})[PATH])
        for replica in [fresh, *replicas]:
            if replica.damage:
                yield "what was written reads as damage"
            if replica.link != fresh.link:
                yield "two readers know another history"
            if replica.state.checkpoint() != truth.checkpoint() or replica.cursor != journal.head(PATH):
                yield "a replica is not the fold of its journal"
        life = fresh.incarnation
        count, total, fetched = (rows.get(each) or _row(each) for each in ("count", "total", "fetched"))
        if int(count.content) != sum(name.startswith("increment") for name in rows):
            yield "an increment was counted twice, or not at all"
        if total.access_count != sum(name.startswith("add") for name in rows):
            yield "an addition was counted twice, or not at all"
        if not self.rolled_back:
            if any(birth == life and name not in rows for name, birth in told.stored.items()):
                yield "a stored record was lost"
            if told.unseen:
                yield "a writer does not read its own write"
        if not self.disturbed:
            if any(birth != life for birth in told.stored.values()):
                yield "a scope began twice"
            if len(set(told.numbers)) != len(told.numbers):
                yield "two increments were told the same number"
            if any(times > 1 for heard in self.heard for name, times in heard.items() if "-" in name):
                yield "a listener heard of a change twice"
        if any(birth != life and name in rows for name, birth in told.meant.items()):
            yield "a record is in another life than it was meant for"
        if not told.refused.isdisjoint(rows):
            yield "a refused record is there"
        pending = sum(replica.state.unwritten_touches.get("fetched", (0, NOW))[0] for replica in replicas)
        if pending + fetched.access_count > told.fetches:
            yield "a fetch was counted twice"


@pytest.fixture
def chance(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Chance:
    """The engine's draws and instants, in the hands of the schedule."""
    chance = Chance()
    monkeypatch.setattr(writing, "new_record_id", chance.record_id)
    monkeypatch.setattr(writing, "time", chance)
    monkeypatch.setattr(wmem.engine.write_queue, "time", chance)
    monkeypatch.setattr(wmem.journal.memory, "new_salt", chance.salt)
    caplog.set_level(logging.CRITICAL, "wmem")  # lost compactions are reported by the thousand
    return chance


def _played(chance: Chance, seed: int) -> str | None:
    """One schedule; its seed decides how payloads are kept and whether the journal's head is known without asking."""
    codec: Codec[Any] = CODECS.get(seed % 4, IDENTITY)
    return Schedule(chance, seed, codec, quick=seed % 4 == 0).play()


@pytest.mark.slow
@pytest.mark.no_cover  # four times as fast; what it runs is covered by the tests without one of the rules
@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_ends_wrong(part: int, chance: Chance, monkeypatch: pytest.MonkeyPatch) -> None:
    if part % 2:
        # Compact with the writes themselves, as soon as there is something to compact; bring little along.
        monkeypatch.setattr(writing, "COMPACT_MIN_BYTES", 2_000)
        monkeypatch.setattr(wmem.journal.head, "MISSED_MAX", 1)
    each = SCHEDULES // PARTS
    seeds = range(part * each, (part + 1) * each)
    wrong = {seed: what for seed in seeds if (what := _played(chance, seed)) is not None}
    assert wrong == {}


class DecayingSchedule(Schedule):
    """A schedule in which stored records are damaged: some readers have read them before, others have not."""

    def __init__(self, chance: Chance, seed: int, codec: Codec[Any]) -> None:
        super().__init__(chance, seed, codec, quick=False)
        self.damaged = {0}

    def shed(self, engine: Engine[Any], name: str) -> Flow[None]:
        log = self.journal._logs.get(PATH)
        if log is not None and log.entries:
            # The newest is what the next writer has to build upon.
            place = self.rng.choice((len(log.entries) - 1, self.rng.randrange(len(log.entries))))
            record, cursor, size = log.entries[place]
            self.damaged.add(record.id)
            log.entries[place] = (Record(self.rng.choice((0, record.id)), b""), cursor, size)
        if self.rng.random() < 0.3:
            yield from super().shed(engine, name)

    def _wrongs(self) -> Iterator[str]:
        for engine in self.engines:
            (replica,) = run(engine.sync([PATH]), self.ports)
            fresh: Replica[Any] = Replica(PATH, self.codec)
            fresh.apply_tail(ORIGIN, self.journal.read({PATH: ORIGIN})[PATH])
            if not self.damaged.issuperset(each.record_id for each in (*replica.damage, *fresh.damage)):
                yield "what was written beside damage reads as damage"


@pytest.mark.slow
@pytest.mark.no_cover  # see above
def test_what_is_written_beside_damage_is_damage_to_no_reader(chance: Chance) -> None:
    wrong = {
        seed: what for seed in range(500) if (what := DecayingSchedule(chance, seed, CODECS[1]).play()) is not None
    }
    assert wrong == {}


# -- without a rule


def _first_wrong(chance: Chance) -> str | None:
    """What the first of some thousand schedules that ends wrong ends with."""
    return next((what for seed in range(TRIES) if (what := _played(chance, seed)) is not None), None)


def test_without_record_ids_in_the_fold_a_schedule_ends_wrong(chance: Chance, monkeypatch: pytest.MonkeyPatch) -> None:
    fold = State.fold

    def trusting(state: State, record_id: int, changes: Iterable[Change]) -> list[Row | None] | None:
        if record_id in state.applied:
            state.applied.remove(record_id)
            state.applied_order.remove(record_id)
        return fold(state, record_id, changes)

    monkeypatch.setattr(State, "fold", trusting)
    assert _first_wrong(chance) is not None


class _Unasked(set[int]):
    """Record ids that the fold knows and that tell nobody else."""

    def __contains__(self, _: object) -> bool:
        return False


def test_without_record_ids_in_the_commit_a_schedule_ends_wrong(
    chance: Chance, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, fold = State.__init__, State.fold

    def unasked(state: State) -> None:
        begin(state)
        state.applied = _Unasked()

    def knowing(state: State, record_id: int, changes: Iterable[Change]) -> list[Row | None] | None:
        return None if record_id in set(state.applied) else fold(state, record_id, changes)

    monkeypatch.setattr(State, "__init__", unasked)
    monkeypatch.setattr(State, "fold", knowing)
    assert _first_wrong(chance) is not None


def test_with_a_replica_that_adopts_every_tail_a_schedule_ends_wrong(
    chance: Chance, monkeypatch: pytest.MonkeyPatch
) -> None:
    adopt = Replica.apply_tail
    monkeypatch.setattr(
        Replica, "apply_tail", lambda replica, _, tail, *more: adopt(replica, replica.cursor, tail, *more)
    )
    assert _first_wrong(chance) is not None


def test_with_a_replica_that_adopts_its_own_records_anywhere_a_schedule_ends_wrong(
    chance: Chance, monkeypatch: pytest.MonkeyPatch
) -> None:
    adopt_own = Replica.apply_appended

    def anywhere(replica: Replica[Any], reply: Appended[Any], *record: Any) -> bool:
        return adopt_own(replica, reply._replace(previous=replica.cursor), *record)

    monkeypatch.setattr(Replica, "apply_appended", anywhere)
    assert _first_wrong(chance) is not None


@pytest.mark.parametrize(
    "chain_after",
    [
        pytest.param(lambda _chain, _record_id: 0, id="the version alone"),
        pytest.param(lambda chain, _record_id: chain, id="the version and the life"),
    ],
)
def test_with_cursors_that_name_no_history_a_schedule_ends_wrong(
    chain_after: Callable[[int, int], int], chance: Chance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wmem.journal.memory, "quick_chain_after", chain_after)
    assert _first_wrong(chance) is not None


@pytest.mark.parametrize("checked", ["nothing", "age", "history"])
@pytest.mark.slow
def test_with_compaction_that_checks_too_little_a_schedule_ends_wrong(
    checked: str, chance: Chance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compact(journal: RemoteJournal, path: Path, upto: Cursor, snapshot: Any, _keep_s: float | None, /) -> bool:
        log = journal._logs.get(path)
        if log is None:
            return False
        if checked == "age" and upto.version <= log.base.version:
            return False
        if checked == "history" and upto not in {cursor for cursor, *_ in journal.history()}:
            return False
        # An older checkpoint takes all records along: they do not follow it.
        gone = upto.version - log.base.version if upto.version >= log.base.version else len(log.entries)
        del log.entries[:gone]
        log.base, log.snapshot = upto, snapshot
        log.head = log.entries[-1][1] if log.entries else upto
        return True

    monkeypatch.setattr(RemoteJournal, "compact", compact)
    assert _first_wrong(chance) is not None


@pytest.mark.parametrize(
    "place",
    [lambda link, _: link.place(1), lambda link, version: link._replace(digest=b"\1" * 16).place(version)],
    ids=["version", "history"],
)
def test_with_records_that_state_another_place_a_schedule_ends_wrong(
    place: Callable[[Link, int], bytes], chance: Chance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Replica, "place", lambda each, version: place(each.link, version) if each.codec.chained else NO_PLACE
    )
    assert _first_wrong(chance) == "what was written reads as damage"


def test_with_a_journal_that_ignores_births_a_schedule_ends_wrong(
    chance: Chance, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = RemoteJournal.append

    def anywhere(journal: RemoteJournal, path: Path, *args: Any) -> Appended[Any]:
        record_id, record, expected, keep_s = args
        return append(journal, path, record_id, record, expected if isinstance(expected, Cursor) else None, keep_s)

    monkeypatch.setattr(RemoteJournal, "append", anywhere)
    assert _first_wrong(chance) is not None


# -- by hand, what the schedules found


@dataclass
class Scene:
    """One process on one journal, in which a scope lives and one of its items was fetched once."""

    chance: Chance
    journal: RemoteJournal = field(default_factory=lambda: RemoteJournal(IdentityCodec().size))
    engine: Engine[Any] = field(default_factory=lambda: Engine(IdentityCodec()))

    def __post_init__(self) -> None:
        self.ports = bind(Journal=self.journal, Pause=self)
        self.birth = self.open()
        self.engine.replica(PATH).touch("fetched", NOW)

    def sleep(self, _seconds: float, /) -> None:
        self.chance.clock += 1.0

    def open(self) -> Incarnation:
        flow = writing.commit(self.engine, PATH, lambda _: (OPENING, None), opening=(), incarnation=None, now=NOW)
        _, birth = run(flow, self.ports)
        assert birth is not None
        return birth

    def serve(self, request: Request) -> Any:
        name, args = request
        return self.ports[name](*args)

    def fetches(self) -> int:
        """How often the item was fetched, once everything is written."""
        run(writing.post(self.engine, PATH, self.birth, [], now=NOW), self.ports)
        (replica,) = run(self.engine.sync([PATH]), self.ports)
        return replica.state.rows["fetched"].access_count

    def post(self) -> Flow[Any]:
        return writing.post(self.engine, PATH, self.birth, [ItemPut(_row("new"))], now=NOW)

    def commit(self) -> Flow[Any]:
        def decide(_: State) -> tuple[Sequence[Change], None]:
            return [ItemPut(_row("new"))], None

        return writing.commit(self.engine, PATH, decide, opening=(), incarnation=self.birth, now=NOW)


def _until_append(scene: Scene, flow: Flow[Any], reply: object = None) -> Request:
    """The append a flow asks for next; what it asks for before is served."""
    request = flow.throw(reply) if isinstance(reply, BaseException) else flow.send(reply)
    while request[0] != "Journal.append":
        request = flow.send(scene.serve(request))
    return request


@pytest.mark.parametrize("write", [Scene.post, Scene.commit])
def test_a_write_that_is_cancelled_while_stored_counts_no_fetch_twice(
    write: Callable[[Scene], Flow[Any]], chance: Chance
) -> None:
    scene = Scene(chance)
    flow = write(scene)
    scene.serve(_until_append(scene, flow))
    with pytest.raises(asyncio.CancelledError):
        flow.throw(asyncio.CancelledError())
    assert scene.fetches() == 1


def test_a_write_that_cannot_ask_after_its_lost_reply_counts_no_fetch_twice(chance: Chance) -> None:
    scene = Scene(chance)
    flow = scene.post()
    scene.serve(_until_append(scene, flow))
    assert flow.throw(UnknownOutcomeError())[0] == "Pause.sleep"
    assert flow.send(None)[0] == "Journal.read"
    with pytest.raises(StoreError):
        flow.throw(StoreError("out of reach"))
    assert scene.fetches() == 1


def test_a_refused_write_counts_its_fetches_with_the_next_try(chance: Chance) -> None:
    scene = Scene(chance)
    flow = scene.commit()
    refused = _until_append(scene, flow)
    scene.journal.append(PATH, 1, (ItemPut(_row("other")),), None, None)
    with pytest.raises(StopIteration):
        flow.send(scene.serve(_until_append(scene, flow, scene.serve(refused))))
    assert scene.fetches() == 1


def test_a_write_that_came_late_is_not_said_to_have_changed_nothing(chance: Chance) -> None:
    scene = Scene(chance)
    flow = scene.commit()
    late = _until_append(scene, flow)
    again = _until_append(scene, flow, UnknownOutcomeError())
    scene.serve(late)
    chance.clock += wmem.engine.write_queue.RETRY_S
    with pytest.raises((UnknownOutcomeError, StopIteration)):
        flow.send(scene.serve(again))


def test_a_listener_hears_once_of_a_write_whose_replica_was_shed_meanwhile(chance: Chance) -> None:
    scene = Scene(chance)
    heard: list[str] = []
    scene.engine.events.subscribe(
        PATH[0], lambda event: heard.append(getattr(getattr(event.change, "row", None), "id", ""))
    )
    flow = scene.post()
    append = _until_append(scene, flow)
    scene.engine.drop_replicas(PATH)
    run(scene.engine.sync([PATH]), scene.ports)
    reply = scene.serve(append)
    run(scene.engine.sync([PATH]), scene.ports)
    with pytest.raises(StopIteration):
        flow.send(reply)
    assert heard.count("new") == 1


def test_a_stored_write_does_not_fail_because_it_cannot_be_compacted(
    chance: Chance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "COMPACT_MIN_BYTES", 1)
    scene = Scene(chance)
    flow = scene.post()
    append = _until_append(scene, flow)
    for place in range(9):
        scene.journal.append(PATH, place, (ItemPut(_row(f"other-{place}")),), None, None)
    assert flow.send(scene.serve(append))[0] in ("Journal.read", "Journal.compact")
    with pytest.raises(StopIteration) as done:
        flow.throw(StoreError("out of reach"))
    assert done.value.value is True


def test_a_record_for_a_life_that_is_over_is_refused(chance: Chance) -> None:
    scene = Scene(chance)
    scene.journal.delete(PATH, None)
    assert scene.open() != scene.birth
    assert run(scene.post(), scene.ports) is False
    (replica,) = run(scene.engine.sync([PATH]), scene.ports)
    assert "new" not in replica.state.rows
