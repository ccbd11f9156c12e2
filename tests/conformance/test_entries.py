"""Values by key: reads fall back to the parents, writes stay, nothing changes on its way."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel

import wmem
from tests.conformance.conftest import NOON, Call, Clock, Opening
from wmem import (
    CapacityError,
    InvalidInputError,
    NotFoundError,
    Policy,
    Scope,
    SerializationError,
    WmemError,
)

VALUES: list[Any] = [
    None,
    True,
    0,
    -1.5,
    2**80,
    "",
    "text\n\u2028 é 日本 👩‍👩‍👧",
    "\ud83d",
    [1, [2, []]],
    {"a": {"b": None}},
    {1: "one", (2, 3): "pair"},
    b"\x00\xff",
    datetime(2026, 12, 4, 9, 30, 0, 123456, tzinfo=UTC),
    datetime(2026, 12, 4, 9, 30),  # noqa: DTZ001  # a naive one stays naive
    datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
    date(2026, 12, 4),
    time(9, 30, fold=1),
    timedelta(days=-1, microseconds=7),
    Decimal("1.10"),
    UUID(int=7),
    complex(0.0, -0.5),
    (1, (2,)),
    {1, 2, 3},
    frozenset({"a"}),
    PurePosixPath("a/b"),
    float("inf"),
]


class Colour(Enum):
    RED = "red"


class Person(BaseModel):
    name: str
    born: date


@dataclass
class Point:
    x: int
    y: Decimal


def test_what_was_set_is_read_back(session: Scope, call: Call) -> None:
    call(session.entries.set, "deadline", "Friday")
    assert call(session.entries.get, "deadline") == "Friday"
    call(session.entries.set, "deadline", "Monday")
    assert call(session.entries.get, "deadline") == "Monday"
    assert call(session.entries.count) == 1


def test_an_absent_key_reads_as_the_default(session: Scope, call: Call) -> None:
    assert call(session.entries.get, "nothing") is None
    assert call(session.entries.get, "nothing", 7) == 7
    assert call(session.entries.entry, "nothing") is None
    assert call(session.entries.contains, "nothing") is False


def test_a_stored_none_is_not_an_absent_key(session: Scope, call: Call) -> None:
    call(session.entries.set, "nothing", None)
    assert call(session.entries.get, "nothing", 7) is None
    assert call(session.entries.contains, "nothing") is True


def test_standard_types_revive_as_themselves_in_every_process(opening: Opening, call: Call) -> None:
    entries = opening().scope("s").entries
    for place, value in enumerate(VALUES):
        call(entries.set, str(place), value)
    elsewhere = opening.elsewhere().scope("s").entries
    for place, value in enumerate(VALUES):
        revived = call(elsewhere.get, str(place))
        assert revived == value
        assert type(revived) is type(value)
        assert repr(revived) == repr(value)


def test_values_of_user_classes_revive_as_the_type_that_is_asked_for(session: Scope, call: Call) -> None:
    kinds: list[tuple[Any, Any]] = [
        (Colour.RED, Colour),
        (Person(name="Ada", born=date(1815, 12, 10)), Person),
        (Point(1, Decimal("2.50")), Point),
        ([Point(1, Decimal(2))], list[Point]),
    ]
    for value, kind in kinds:
        call(session.entries.set, "k", value)
        assert call(session.entries.get, "k", as_type=kind) == value
        with pytest.raises(SerializationError, match="as_type"):
            call(session.entries.get, "k")


def test_a_value_that_is_not_of_the_type_asked_for_is_refused(session: Scope, call: Call) -> None:
    call(session.entries.set, "k", {"name": "Ada"})
    with pytest.raises(SerializationError, match="'k'"):
        call(session.entries.get, "k", as_type=Person)


def test_nothing_aliases_what_the_caller_holds(session: Scope, call: Call) -> None:
    value = {"list": [1]}
    call(session.entries.set, "k", value)
    value["list"].append(2)
    read = call(session.entries.get, "k")
    read["list"].append(3)
    assert call(session.entries.get, "k") == {"list": [1]}


def test_get_many_gives_the_keys_that_are_there(session: Scope, call: Call) -> None:
    call(session.entries.set, "a", 1)
    call(session.entries.set, "b", 2)
    assert call(session.entries.get_many, ["a", "b", "c"]) == {"a": 1, "b": 2}


def test_an_entry_carries_what_is_known_of_it(session: Scope, call: Call, clock: Clock) -> None:
    call(
        session.entries.set,
        "k",
        Decimal("1.10"),
        tags=["x", "y", "x"],
        importance=0.9,
        metadata={"source": "form"},
        kind="preference",
        ttl_s=60,
    )
    entry = call(session.entries.entry, "k")
    assert (entry.key, entry.value, entry.tags, entry.importance) == ("k", Decimal("1.10"), ("x", "y"), 0.9)
    assert (entry.metadata, entry.kind, entry.type_name) == ({"source": "form"}, "preference", "decimal.Decimal")
    assert (entry.created_at, entry.expires_at, entry.access_count) == (NOON, NOON + 60, 0)


def test_setting_again_keeps_the_birthday_and_the_id(session: Scope, call: Call, clock: Clock) -> None:
    call(session.entries.set, "k", 1)
    before = call(session.entries.entry, "k")
    clock.pass_(10)
    call(session.entries.set, "k", 2)
    after = call(session.entries.entry, "k")
    assert (after.id, after.created_at, after.updated_at) == (before.id, NOON, NOON + 10)


def test_reads_fall_back_to_the_parents_and_the_nearest_wins(memory: wmem.AgentMemory, call: Call) -> None:
    session = memory.scope("s")
    child = session.child("c")
    call(memory.working.entries.set, "who", "agent")
    call(memory.working.entries.set, "where", "root")
    call(session.entries.set, "who", "session")
    call(child.entries.set, "mine", 1)
    assert call(child.entries.get, "who") == "session"
    assert call(child.entries.get, "where") == "root"
    assert call(child.entries.keys) == ["mine", "who", "where"]
    assert {key: item.value for key, item in call(child.entries.all).items()} == {
        "mine": 1,
        "who": "session",
        "where": "root",
    }
    assert call(child.entries.count) == 3
    call(child.entries.set, "who", "child")
    assert call(child.entries.get, "who") == "child"
    assert call(session.entries.get, "who") == "session"


def test_an_unborn_scope_reads_its_parents(memory: wmem.AgentMemory, call: Call) -> None:
    call(memory.working.entries.set, "k", 1)
    assert call(memory.scope("a", "b", "c").entries.get, "k") == 1


def test_local_reads_leave_the_parents_out(session: Scope, call: Call) -> None:
    child = session.child("c")
    call(session.entries.set, "k", 1)
    call(child.entries.set, "own", 2)
    local = child.entries.local
    assert call(local.get, "k", "absent") == "absent"
    assert call(local.contains, "k") is False
    assert call(local.entry, "k") is None
    assert call(local.keys) == ["own"]
    assert list(call(local.all)) == ["own"]
    assert call(local.count) == 1
    assert call(local.get_many, ["k", "own"]) == {"own": 2}


def test_removing_a_shadow_uncovers_the_parents_value(session: Scope, call: Call) -> None:
    child = session.child("c")
    call(session.entries.set, "k", "parent")
    call(child.entries.set, "k", "child")
    assert call(child.entries.remove, "k") is True
    assert call(child.entries.get, "k") == "parent"
    assert call(child.entries.remove, "k") is False
    assert call(session.entries.get, "k") == "parent"


def test_clear_empties_this_scope_alone(session: Scope, call: Call) -> None:
    child = session.child("c")
    call(session.entries.set, "k", 1)
    call(child.entries.set, "a", 1)
    call(child.entries.set, "b", 1)
    call(child.items.add, "an item stays")
    assert call(child.entries.clear) == 2
    assert call(child.entries.keys) == ["k"]
    assert call(child.items.count) == 1
    assert call(child.entries.clear) == 0


def test_updates_at_once_all_count(session: Scope, call: Call) -> None:
    def add_one() -> Any:
        return session.entries.update("n", lambda value: value + 1, 0)

    replies = call.together([add_one] * 24)
    assert sorted(replies) == list(range(1, 25))
    assert call(session.entries.get, "n") == 24


def test_updates_from_two_processes_all_count(opening: Opening, call: Call) -> None:
    here, there = opening().scope("s").entries, opening.elsewhere().scope("s").entries
    for _ in range(10):
        call(here.update, "n", lambda value: value + 1, 0)
        call(there.update, "n", lambda value: value + 1, 0)
    assert call(here.get, "n") == 20


def test_an_update_without_default_needs_the_key(session: Scope, call: Call) -> None:
    with pytest.raises(NotFoundError, match="'n'"):
        call(session.entries.update, "n", lambda value: value)
    assert call(session.entries.contains, "n") is False


def test_an_update_begins_with_the_parents_value_and_writes_here(session: Scope, call: Call) -> None:
    child = session.child("c")
    call(session.entries.set, "n", 5)
    assert call(child.entries.update, "n", lambda value: value + 1) == 6
    assert call(child.entries.get, "n") == 6
    assert call(session.entries.get, "n") == 5


def test_an_update_keeps_tags_importance_and_expiry(session: Scope, call: Call) -> None:
    call(session.entries.set, "n", 1, tags=["t"], importance=0.9, ttl_s=60, metadata={"a": 1})
    call(session.entries.update, "n", lambda value: value + 1)
    entry = call(session.entries.entry, "n")
    assert (entry.value, entry.tags, entry.importance, entry.expires_at) == (2, ("t",), 0.9, NOON + 60)
    assert entry.metadata == {"a": 1}


def test_an_update_whose_function_fails_changes_nothing(session: Scope, call: Call) -> None:
    call(session.entries.set, "n", 1)
    with pytest.raises(ZeroDivisionError):
        call(session.entries.update, "n", lambda value: value / 0)
    with pytest.raises(SerializationError):
        call(session.entries.update, "n", lambda _: object())
    assert call(session.entries.get, "n") == 1


def test_get_or_set_stores_the_factorys_value_once(session: Scope, call: Call) -> None:
    made: list[int] = []

    def factory() -> int:
        made.append(1)
        return 7

    assert call(session.entries.get_or_set, "k", factory) == 7
    assert call(session.entries.get_or_set, "k", factory) == 7
    assert made == [1]
    assert call(session.entries.get, "k") == 7


def test_of_many_factories_at_once_one_wins_for_all(session: Scope, call: Call) -> None:
    def asked(number: int) -> Any:
        return lambda: session.entries.get_or_set("k", lambda: number)

    replies = call.together([asked(number) for number in range(12)])
    assert set(replies) == {call(session.entries.get, "k")}


def test_get_or_set_takes_the_parents_value(session: Scope, call: Call) -> None:
    call(session.entries.set, "k", 1)
    child = session.child("c")
    assert call(child.entries.get_or_set, "k", lambda: 2) == 1
    assert call(child.entries.local.contains, "k") is False


def test_get_or_set_awaits_a_coroutine_function_and_the_sync_face_refuses_it(
    session: Scope, call: Call, colour: str
) -> None:
    async def seven() -> int:
        return 7

    factory: Any = seven
    if colour == "async":
        assert call(session.entries.get_or_set, "k", factory) == 7
    else:
        with pytest.raises(InvalidInputError, match="aopen"):
            call(session.entries.get_or_set, "k", factory)
        assert call(session.entries.contains, "k") is False


def test_an_expired_entry_is_invisible_at_once_to_every_verb(session: Scope, call: Call, clock: Clock) -> None:
    call(session.entries.set, "k", "session", ttl_s=10)
    clock.pass_(9.999)
    assert call(session.entries.get, "k") == "session"
    clock.pass_(0.001)
    assert call(session.entries.get, "k", "gone") == "gone"
    assert call(session.entries.contains, "k") is False
    assert call(session.entries.entry, "k") is None
    assert call(session.entries.keys) == []
    assert call(session.entries.all) == {}
    assert call(session.entries.count) == 0
    assert call(session.entries.get_many, ["k"]) == {}
    assert call(session.entries.remove, "k") is False
    with pytest.raises(NotFoundError):
        call(session.entries.update, "k", str)
    assert call(session.entries.clear) == 0


def test_an_expired_shadow_uncovers_the_parents_value(session: Scope, call: Call, clock: Clock) -> None:
    child = session.child("c")
    call(session.entries.set, "k", "parent")
    call(child.entries.set, "k", "child", ttl_s=1)
    clock.pass_(1)
    assert call(child.entries.get, "k") == "parent"


def test_setting_an_expired_key_makes_it_visible_again(session: Scope, call: Call, clock: Clock) -> None:
    call(session.entries.set, "k", 1, ttl_s=1)
    clock.pass_(5)
    call(session.entries.set, "k", 2)
    assert call(session.entries.get, "k") == 2
    clock.pass_(1e9)
    assert call(session.entries.get, "k") == 2


def test_a_full_scope_refuses_a_new_key_and_takes_an_old_one(memory: wmem.AgentMemory, call: Call) -> None:
    scope = memory.scope("s", policy=Policy.session(max_entries=2))
    call(scope.entries.set, "a", 1)
    call(scope.entries.set, "b", 1)
    with pytest.raises(CapacityError, match="2 of 2"):
        call(scope.entries.set, "c", 1)
    with pytest.raises(CapacityError):
        call(scope.entries.update, "c", lambda value: value, 1)
    with pytest.raises(CapacityError):
        call(scope.entries.get_or_set, "c", lambda: 1)
    call(scope.entries.set, "a", 2)
    assert call(scope.entries.keys) == ["a", "b"]
    call(scope.entries.remove, "b")
    call(scope.entries.set, "c", 1)


def test_expired_entries_do_not_fill_a_scope(memory: wmem.AgentMemory, call: Call, clock: Clock) -> None:
    scope = memory.scope("s", policy=Policy.session(max_entries=1))
    call(scope.entries.set, "a", 1, ttl_s=1)
    clock.pass_(1)
    call(scope.entries.set, "b", 1)
    assert call(scope.entries.keys) == ["b"]


def test_two_processes_that_only_write_exceed_a_full_scope_by_one_write_each_at_most(
    opening: Opening, call: Call
) -> None:
    scopes = [memory.scope("s", policy=Policy.session(max_entries=4)) for memory in (opening(), opening.elsewhere())]
    refused = 0
    for number in range(10):
        for name, scope in enumerate(scopes):
            try:
                call(scope.entries.set, f"{name}-{number}", 1)
            except CapacityError:
                refused += 1
    assert call(scopes[0].entries.count) <= 6
    assert refused >= 14


def test_a_value_may_take_a_mebibyte_and_no_byte_more(session: Scope, call: Call) -> None:
    call(session.entries.set, "k", "x" * (1_048_576 - 2))
    with pytest.raises(CapacityError, match="1048577"):
        call(session.entries.set, "k", "x" * (1_048_576 - 1))
    assert len(call(session.entries.get, "k")) == 1_048_574


def test_a_new_handle_follows_the_stored_limits_at_once(memory: wmem.AgentMemory, call: Call) -> None:
    call(memory.scope("s", policy=Policy.session(max_entry_bytes=10)).entries.set, "k", 1)
    with pytest.raises(CapacityError):
        call(memory.scope("s").entries.set, "k", "x" * 50)


def test_brackets_and_in_are_the_same_verbs(url: str) -> None:
    with wmem.open(url, agent_id="a") as memory:
        entries = memory.scope("s").entries
        entries["k"] = 1
        assert entries["k"] == 1
        assert "k" in entries
        assert "j" not in entries
        assert 5 not in entries
        with pytest.raises(NotFoundError, match="'j'"):
            _ = entries["j"]
        del entries["k"]
        assert "k" not in entries
        with pytest.raises(KeyError):
            del entries["k"]
        assert not hasattr(entries, "__len__")


def test_a_key_that_is_blank_or_holds_control_characters_is_refused(session: Scope, call: Call) -> None:
    bad: list[Any] = ["", " ", "\t", "a\x00b", "a\nb", "\ud83d", 5, None]
    for key in bad:
        with pytest.raises(InvalidInputError, match="a key"):
            call(session.entries.set, key, 1)
        with pytest.raises(InvalidInputError, match="a key"):
            call(session.entries.get, key)
        with pytest.raises(InvalidInputError, match="a key"):
            call(session.entries.remove, key)
        with pytest.raises(InvalidInputError, match="a key"):
            call(session.entries.update, key, str, "")
        with pytest.raises(InvalidInputError, match="a key"):
            call(session.entries.get_or_set, key, str)
    assert call(session.entries.keys) == []


def test_what_an_option_does_not_accept_is_refused_and_nothing_is_stored(session: Scope, call: Call) -> None:
    bad: list[dict[str, Any]] = [
        {"importance": 2},
        {"importance": -0.1},
        {"importance": "high"},
        {"importance": True},
        {"importance": float("nan")},
        {"tags": "word"},
        {"tags": [" "]},
        {"metadata": {"a": object()}},
        {"metadata": {1: 2}},
        {"metadata": [1]},
        {"kind": "nonsense"},
        {"ttl_s": 0},
        {"ttl_s": -1},
        {"ttl_s": float("inf")},
        {"ttl_s": "60"},
    ]
    for options in bad:
        with pytest.raises(InvalidInputError):
            call(session.entries.set, "k", 1, **options)
    assert call(session.entries.contains, "k") is False


def test_tags_that_are_no_list_are_refused_with_a_typed_error(session: Scope, call: Call) -> None:
    bad: list[Any] = [5, None]
    for tags in bad:
        with pytest.raises(InvalidInputError):
            call(session.entries.set, "k", 1, tags=tags)
    assert call(session.entries.contains, "k") is False


def test_every_refusal_is_of_one_tree(session: Scope, call: Call) -> None:
    with pytest.raises(WmemError):
        call(session.entries.set, "k", object())
    with pytest.raises(TypeError):
        call(session.entries.set, "k", object())
    with pytest.raises(ValueError, match="key"):
        call(session.entries.set, " ", 1)
    with pytest.raises(KeyError):
        call(session.entries.update, "n", str)


def test_a_number_too_long_to_read_is_refused_at_write_or_revives(session: Scope, call: Call) -> None:
    number = 10**5_000
    try:
        call(session.entries.set, "n", number)
    except SerializationError:
        return
    assert call(session.entries.get, "n") == number
