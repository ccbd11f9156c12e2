"""Suite of entry values: a round trip changes nothing, and what cannot be revived is refused at write."""

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel

from wmem import AgentMemory, CapacityError, InvalidInputError, Scope, SerializationError, WmemError
from wmem.scope import handle
from wmem.scope.entries import flows as entry_flows
from wmem.scope.messages import flows as message_flows
from wmem.testing.suite import Call, FacetSuite, MemoryOpener

__all__ = ["ValuesSuite"]

TEXT_FIELDS = ("some text", "high", "work", "work", 1)


class Word(str, Enum):  # noqa: UP042  # the older form, whose `str` is the member's name
    """Texts of an application, which hash and print by their names."""

    SESSION = "work"
    NAME = "name"
    TEXT = "some text"
    HIGH = "high"
    USER = "user"


class Number(IntEnum):
    """Numbers of an application."""

    ONE = 1
    HOUR = 3_600


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


class ValuesSuite(FacetSuite):
    """Value types, keys and options of entries."""

    def test_standard_types_revive_as_themselves_in_every_process(self, open_memory: MemoryOpener, call: Call) -> None:
        entries = open_memory().scope("s").entries
        for place, value in enumerate(VALUES):
            call(entries.set, str(place), value)
        elsewhere = open_memory.in_other_process().scope("s").entries
        for place, value in enumerate(VALUES):
            revived = call(elsewhere.get, str(place))
            assert revived == value
            assert type(revived) is type(value)
            assert repr(revived) == repr(value)
            assert call(elsewhere.entry, str(place)).type_name.endswith(type(value).__qualname__)

    def test_values_of_user_classes_revive_as_the_type_that_is_asked_for(self, session: Scope, call: Call) -> None:
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

    def test_a_value_that_is_not_of_the_type_asked_for_is_refused(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "k", {"name": "Ada"})
        with pytest.raises(SerializationError, match="'k'"):
            call(session.entries.get, "k", as_type=Person)

    def test_nothing_aliases_what_the_caller_holds(self, session: Scope, call: Call) -> None:
        value = {"list": [1]}
        call(session.entries.set, "k", value)
        value["list"].append(2)
        read = call(session.entries.get, "k")
        read["list"].append(3)
        assert call(session.entries.get, "k") == {"list": [1]}

    def test_every_refusal_is_of_one_tree(self, session: Scope, call: Call) -> None:
        with pytest.raises(WmemError):
            call(session.entries.set, "k", object())
        with pytest.raises(TypeError):
            call(session.entries.set, "k", object())
        with pytest.raises(ValueError, match="key"):
            call(session.entries.set, " ", 1)
        with pytest.raises(KeyError):
            call(session.entries.update, "n", str)

    def test_a_number_too_long_to_read_is_refused_at_write_or_revives(self, session: Scope, call: Call) -> None:
        number = 10**5_000
        try:
            call(session.entries.set, "n", number)
        except SerializationError:
            return
        assert call(session.entries.get, "n") == number

    def test_a_key_that_is_blank_or_holds_control_characters_is_refused(self, session: Scope, call: Call) -> None:
        bad: list[Any] = ["", " ", "\t", "a\x00b", "a\nb", "a\x85b", "\ud83d", 5, None]
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

    def test_a_new_name_with_a_line_separator_is_refused_and_a_stored_one_can_be_read_and_removed(
        self, open_memory: MemoryOpener, call: Call, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        odd = "a\u2028b"
        for module in (entry_flows, message_flows, handle):  # as an earlier version stored it
            monkeypatch.setattr(module, "check_new_names", lambda *_: None)
        earlier = open_memory.in_other_process().scope(odd)
        call(earlier.entries.set, odd, 1)
        call(earlier.messages.append, {"role": "user", "content": "x", "id": odd})
        monkeypatch.undo()
        scope = open_memory().scope(odd)
        for act in (
            lambda: scope.entries.set("k\u2029", 1),
            lambda: scope.entries.get_or_set("k\u2029", int),
            lambda: scope.messages.append({"role": "user", "content": "x", "id": "m\u2029"}),
            lambda: open_memory().scope("new\u2028").entries.set("k", 1),
        ):
            with pytest.raises(InvalidInputError, match="line separators"):
                call(act)
        assert call(scope.entries.get, odd) == 1
        assert call(scope.messages.get, odd).text == "x"
        twin = open_memory().scope("twin")
        assert call(twin.import_, call(scope.export)) == 2
        assert call(twin.entries.get, odd) == 1
        assert call(scope.entries.remove, odd) is True
        call(scope.dispose)

    def test_a_member_of_an_enumeration_is_stored_by_its_value(
        self, memory: AgentMemory, open_memory: MemoryOpener, call: Call
    ) -> None:
        name: Any = Word.SESSION
        high: Any = Word.HIGH  # a type checker takes literals alone
        session = memory.scope(name)
        call(session.entries.set, Word.NAME, 1, tags=[name], metadata={name: name}, ttl_s=Number.HOUR)
        call(session.entries.update, Word.NAME, lambda value: value + Number.ONE)
        added = call(
            session.items.add,
            Word.TEXT,
            priority=high,
            type=name,
            tags=[name],
            task_id=name,
            step_index=Number.ONE,
        )
        call(session.messages.append, {"role": Word.USER, "content": Word.TEXT, "id": Word.NAME, "turn_id": name})
        for seen in (session, open_memory.in_other_process().scope("work")):
            for key in (Word.NAME, "name"):
                assert call(seen.entries.get, key) == 2
                assert call(seen.messages.get, key).text == "some text"
            assert call(seen.entries.keys) == ["name"]
            assert call(seen.entries.entry, "name").tags == ("work",)
            item = call(seen.items.get, added.id)
            assert (item.content, item.priority, item.type, item.task_id, item.step_index) == TEXT_FIELDS
            for priority in (high, "high"):
                assert [hit.id for hit in call(seen.items.search, None, priority=priority, tags=[name])] == [item.id]
            plain = [*seen.path, *call(seen.entries.keys), item.content, item.priority, item.type, *item.tags]
            assert {type(text) for text in plain} == {str}
            assert all(Word.__name__ not in json.dumps(part) for part in call(seen.export).values())

    def test_another_kind_of_text_or_number_is_stored_by_its_value(self, session: Scope, call: Call) -> None:
        numpy = pytest.importorskip("numpy")
        call(session.entries.set, numpy.str_("k"), 1, importance=numpy.float32(0.25), ttl_s=numpy.int64(60))
        entry = call(session.entries.entry, "k")
        assert (type(entry.key), entry.importance, type(entry.importance)) == (str, 0.25, float)
        item = call(session.items.add, "x", step_index=numpy.int64(3), tags=[numpy.str_("t")])
        assert (item.step_index, type(item.step_index), type(item.tags[0])) == (3, int, str)
        assert len(call(session.items.search, None, limit=numpy.int64(1))) == 1
        for number in (numpy.True_, numpy.float64("nan")):
            with pytest.raises(InvalidInputError):
                call(session.entries.set, "k", 1, importance=number)

    def test_what_an_option_does_not_accept_is_refused_and_nothing_is_stored(self, session: Scope, call: Call) -> None:
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

    def test_tags_that_are_no_list_are_refused_with_a_typed_error(self, session: Scope, call: Call) -> None:
        bad: list[Any] = [5, None]
        for tags in bad:
            with pytest.raises(InvalidInputError):
                call(session.entries.set, "k", 1, tags=tags)
        assert call(session.entries.contains, "k") is False

    def test_a_value_may_take_a_mebibyte_and_no_byte_more(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "k", "x" * (1_048_576 - 2))
        with pytest.raises(CapacityError, match="1048577"):
            call(session.entries.set, "k", "x" * (1_048_576 - 1))
        assert len(call(session.entries.get, "k")) == 1_048_574
