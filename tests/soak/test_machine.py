"""Random operations give the same state in the same order on every backend, sync and async, and in a plain model."""

import itertools
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

import wmem
import wmem.scope.items.capacity
from tests.matrix import examples
from tests.servers import RedisServer
from tests.soak.driver import BACKENDS, Difference, Lockstep, patched, shrunk
from tests.soak.model import Model, Refused
from tests.soak.operations import FAMILIES, Operation, drawn
from wmem.journal.memory import MemoryJournal
from wmem.model.history import Cursor
from wmem.model.history import Path as ScopePath
from wmem.model.row import Row
from wmem.rules.eviction import eviction_order
from wmem.state import State
from wmem.testing import NOON

EXAMPLES, STEPS = examples(0.7).max_examples, 50
OPERATIONS = 43 * EXAMPLES
EVERY = 10


@pytest.fixture(autouse=True)
def _small_thresholds() -> Iterator[None]:
    with patched():
        yield


class Machine(RuleBasedStateMachine):
    """Every rule draws an operation of one family and plays it on all stores in lock-step."""

    server: ClassVar[RedisServer]
    played: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self._place = tempfile.TemporaryDirectory()
        self._lockstep = Lockstep(BACKENDS, Path(self._place.name), self.server, twice=False)
        self._played = 0

    def play(self, family: str, chance: random.Random) -> None:
        self._lockstep.play(drawn(chance, self._lockstep.truth.model, self._played, family))
        self._played += 1
        self.played[family] += 1
        if self._played % EVERY == 0:
            self._lockstep.compare()

    def teardown(self) -> None:
        try:
            self._lockstep.compare()
        finally:
            self._lockstep.close()
            self._place.cleanup()


def _rule(family: str, number: int) -> Any:
    def act(self: Machine, seed: int) -> None:
        self.play(family, random.Random(seed))

    act.__name__ = f"{family}_{number}"
    return rule(seed=st.integers(0, 2**32))(act)


for _family, (_weight, _) in FAMILIES.items():
    for _number in range(max(1, _weight // 4)):
        setattr(Machine, f"{_family}_{_number}", _rule(_family, _number))


@pytest.mark.slow
@pytest.mark.no_cover  # twice as fast; every operation has tests of its own
def test_every_backend_says_in_both_modes_what_the_model_says(valkey_server: RedisServer) -> None:
    class Started(Machine):
        server = valkey_server

    run_state_machine_as_test(
        Started,
        settings=examples(
            0.7,
            stateful_step_count=STEPS,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert Started.played.total() >= OPERATIONS
    assert set(Started.played) == set(FAMILIES)


# -- it would be noticed


def _difference(operations: Sequence[Operation], place: Path) -> str | None:
    """How a store in memory differs from the model after these, None if it does not."""
    place.mkdir()
    lockstep = Lockstep(["memory"], place, None, twice=False)
    try:
        for number, operation in enumerate(operations):
            lockstep.play(operation)
            if number % EVERY == 0:
                lockstep.compare()
        lockstep.compare()
    except (Difference, wmem.CorruptionError) as exc:
        return str(exc)
    finally:
        lockstep.close()
    return None


def _operations(count: int) -> list[Operation]:
    """So many, drawn with the model alone."""
    chance, model, made = random.Random(3), Model(NOON), []
    for number in range(count):
        operation = drawn(chance, model, number)
        made.append(operation)
        with suppress(Refused):
            getattr(model, operation.name)(operation.path, **operation.given)
    return made


def _loses_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    append, count = MemoryJournal.append, itertools.count()

    def losing(journal: MemoryJournal[Any], *args: Any) -> Any:
        reply = append(journal, *args)
        if next(count) % 20 == 19 and reply.cursor is not None:
            record, cursor, size = journal._logs[args[0]].entries.pop()
            journal._logs[args[0]].entries.append((record._replace(payload=()), cursor, size))
        return reply

    monkeypatch.setattr(MemoryJournal, "append", losing)


def _tells_records_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    tail = MemoryJournal._tail

    def turned(journal: MemoryJournal[Any], path: ScopePath, after: Cursor) -> Any:
        told = tail(journal, path, after)
        return told._replace(records=told.records[::-1])

    monkeypatch.setattr(MemoryJournal, "_tail", turned)


def _keeps_a_row_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Row, "expired", lambda row, now: row.expires_at is not None and now > row.expires_at)


def _forgets_a_column_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = State.checkpoint

    def lean(state: State) -> Any:
        kept = checkpoint(state)
        return kept._replace(rows=tuple(row._replace(tags=()) for row in kept.rows))

    monkeypatch.setattr(State, "checkpoint", lean)


def _lets_the_wrong_one_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        wmem.scope.items.capacity, "eviction_order", lambda *args, **named: reversed([*eviction_order(*args, **named)])
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken",
    [
        _loses_a_record,
        _tells_records_in_another_order,
        _keeps_a_row_too_long,
        _forgets_a_column_at_rest,
        _lets_the_wrong_one_leave,
    ],
)
def test_a_store_that_does_one_thing_wrong_is_found_out(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    operations = _operations(1_000)
    assert _difference(operations, tmp_path / "sound") is None
    broken(monkeypatch)
    assert _difference(operations, tmp_path / "broken") is not None


def test_a_difference_is_told_with_few_operations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _lets_the_wrong_one_leave(monkeypatch)
    number = itertools.count()

    def fails(operations: Sequence[Operation]) -> bool:
        return _difference(operations, tmp_path / f"{next(number)}") is not None

    least = shrunk(_operations(400), fails, 150)
    assert fails(least)
    assert len(least) < 30
    assert {"memorize", "add"} & {operation.name for operation in least}
