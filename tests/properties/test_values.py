"""Whatever is stored comes back as itself, to the type and the last bit; what could not is refused at the write."""

import dataclasses
import json
import zoneinfo
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.matrix import examples
from wmem.errors import CorruptionError, SerializationError, WmemError
from wmem.model.values import _DECODERS as TAGS
from wmem.model.values import dump_json, dump_value, full_type_name, load_value

# Lone surrogates included: Python makes them of undecodable file names.
TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
OFFSETS = st.integers(-86_399, 86_399).map(lambda seconds: timezone(timedelta(seconds=seconds)))
ZONES = st.none() | st.just(UTC) | OFFSETS | st.timezones()
NAMES = st.sampled_from(("~wmem", "value", "type", "zone", "object", "dict", "set", "bytes", "change", ""))


class Colour(Enum):
    RED = "red"
    BLUE = (0, 0, 255)


class Level(IntEnum):
    LOW = 1


class Point(BaseModel):
    x: int
    at: datetime
    parts: tuple[bytes, ...] = ()


@dataclasses.dataclass(frozen=True)
class Line:
    start: Decimal
    end: Decimal
    length: Decimal = dataclasses.field(init=False, default=Decimal(0))


def dated(at: datetime, zone: tzinfo | None, fold: int) -> datetime:
    return at.replace(tzinfo=zone, fold=fold)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(0, 13_999).map(lambda bits: 2**bits),
    st.floats(),
    TEXT,
    st.binary(max_size=8),
    st.builds(dated, st.datetimes(), ZONES, st.integers(0, 1)),
    st.dates(),
    st.builds(lambda at, fold: at.replace(fold=fold), st.times(timezones=st.none() | OFFSETS), st.integers(0, 1)),
    st.timedeltas(),
    st.decimals(),
    st.uuids(),
    st.complex_numbers(),
    st.builds(PurePosixPath, st.text(st.characters(exclude_characters="\0"), max_size=8)),
    st.builds(PureWindowsPath, st.text("aZ\\. ", max_size=8).map(lambda name: "C:\\" + name)),
    st.builds(Path, st.text(st.characters(exclude_characters="\0"), max_size=8)),
)


def hashes(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


# A signalling NaN cannot be hashed.
MEMBERS = (SCALARS | st.tuples(SCALARS, SCALARS)).filter(hashes)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(TEXT | NAMES, inner, max_size=3),
        st.dictionaries(MEMBERS, inner, max_size=3),
        st.sets(MEMBERS, max_size=3),
        st.frozensets(MEMBERS, max_size=3),
        st.sets(st.frozensets(MEMBERS, max_size=2), max_size=2),
    ),
    max_leaves=8,
)


def told(value: Any) -> str:
    """A value in words that differ when anything of it does: its type, its sign, its zone, its order."""
    match value:
        case dict():
            inside = ",".join(f"{told(name)}:{told(each)}" for name, each in value.items())
        case list() | tuple():
            inside = ",".join(map(told, value))
        case set() | frozenset():
            inside = ",".join(sorted(map(told, value)))
        case datetime() | time():
            zone = value.tzinfo
            inside = f"{value!r} {value.fold} {type(zone)} {zone!r}"
        case _:
            inside = repr(value)
    return f"{type(value).__name__}({inside})"


def stored(value: object) -> Any:
    return load_value(dump_value(value, key="k"), key="k")


@given(value=VALUES)
@examples(3)
def test_a_value_comes_back_as_itself(value: Any) -> None:
    assert told(stored(value)) == told(value)


@given(value=VALUES)
def test_what_is_stored_is_text_that_any_reader_of_json_reads(value: Any) -> None:
    written = dump_value(value, key="k")
    written.decode("utf-8")
    json.loads(written, parse_constant=pytest.fail)


@given(members=st.lists(MEMBERS, max_size=5))
def test_equal_sets_are_stored_as_equal_bytes(members: list[Any]) -> None:
    unique = list({told(each): each for each in members}.values())
    one, other = set(unique), {*unique[::-1]}
    if len(one) == len(unique):
        assert dump_value(one, key="k") == dump_value(other, key="k")


@given(value=st.recursive(SCALARS, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=6))
def test_a_dictionary_that_looks_like_a_tag_is_plain_data(value: Any) -> None:
    assert told(stored(value)) == told(value)
    twice = json.loads(dump_value(value, key="k"))
    # What is stored of a value, stored as a value itself, is data too, however deep.
    assert told(stored(twice)) == told(twice)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"])
def test_a_zone_keeps_its_rules_for_summer_time(zone: str) -> None:
    known = zoneinfo.ZoneInfo(zone)
    for fold in (0, 1):
        again = stored(datetime(2026, 10, 25, 2, 30, tzinfo=known, fold=fold))
        assert again.tzinfo is known
        assert again.utcoffset() == datetime(2026, 10, 25, 2, 30, tzinfo=known, fold=fold).utcoffset()
        assert (again + timedelta(days=180)).utcoffset() == known.utcoffset(again.replace(tzinfo=None) + timedelta(180))


def test_a_fixed_offset_keeps_its_name_or_is_refused() -> None:
    named = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1), "CET"))
    try:
        again = stored(named)
    except SerializationError:
        return
    assert again.tzname() == "CET"


@pytest.mark.parametrize("micros", [1, -1, 999_999])
def test_an_offset_below_a_second_is_kept_or_refused(micros: int) -> None:
    for odd in (
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(microseconds=micros))),
        time(1, tzinfo=timezone(timedelta(microseconds=micros))),
    ):
        try:
            again = stored(odd)
        except SerializationError:
            continue
        assert again.utcoffset() == odd.utcoffset()


class Own(tzinfo):
    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(hours=1)

    def dst(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, _: datetime | None) -> str:
        return "own"


class Shout(str):
    __slots__ = ()


class Dated(date):
    pass


class Pair(NamedTuple):
    a: int
    b: int


ITSELF: list[Any] = []
ITSELF.append([ITSELF])


@pytest.mark.parametrize(
    "value",
    [
        object(),
        Shout("a"),
        Dated(2026, 1, 1),
        OrderedDict(a=1),
        Pair(1, 2),
        bytearray(b"a"),
        memoryview(b"a"),
        range(3),
        iter([1]),
        print,
        int,
        ITSELF,
        2**14_000,
        -(2**14_000),
        datetime(2026, 1, 1, tzinfo=Own()),
        time(1, tzinfo=Own()),
        ValueError("a"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_could_not_come_back_is_refused_however_deep(value: Any) -> None:
    deep: list[Any] = [value, [value], {"name": value}, (1, [value]), {1: value}, {"~wmem": value}]
    for each in deep:
        with pytest.raises(SerializationError, match="'the key'"):
            dump_value(each, key="the key")


def test_a_value_that_holds_the_same_object_twice_is_no_circle() -> None:
    once = [1]
    assert stored([once, once, {"a": once}]) == [[1], [1], {"a": [1]}]


def test_a_value_that_can_be_written_can_be_read() -> None:
    def nested(depth: int) -> list[Any]:
        return [nested(depth - 1)] if depth else []

    def read_below(frames: int, written: bytes) -> Any:
        return read_below(frames - 1, written) if frames else load_value(written)

    def both() -> None:
        for depth in range(100, 900, 7):
            try:
                written = dump_value(nested(depth), key="k")
            except SerializationError:
                return
            assert told_flat(read_below(100, written)) == depth

    # In a thread of its own, so that what runs the tests takes nothing of the depth.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(both).result()


def told_flat(value: list[Any]) -> int:
    depth = 0
    while value:
        (value,) = value
        depth += 1
    return depth


@given(x=st.integers(), at=st.datetimes(timezones=st.just(UTC)), parts=st.lists(st.binary(max_size=5)).map(tuple))
def test_an_object_of_a_users_class_comes_back_as_the_type_asked_for(
    x: int, at: datetime, parts: tuple[bytes, ...]
) -> None:
    point = Point(x=x, at=at, parts=parts)
    assert load_value(dump_value(point, key="k"), Point) == point
    assert load_value(dump_value([point], key="k"), list[Point]) == [point]
    assert load_value(dump_value({"a": {"b": point}}, key="k"), dict[str, dict[str, Point]]) == {"a": {"b": point}}


def test_dataclasses_and_enums_come_back_as_the_type_asked_for() -> None:
    line = Line(Decimal("1.10"), Decimal("-0"))
    again = load_value(dump_value(line, key="k"), Line)
    assert (again, str(again.start), str(again.end)) == (line, "1.10", "-0")
    for member in (*Colour, *Level):
        assert load_value(dump_value(member, key="k"), type(member)) is member


@pytest.mark.parametrize("value", [Point(x=1, at=datetime(2026, 1, 1, tzinfo=UTC)), Colour.RED, Level.LOW, Line(1, 2)])  # type: ignore[arg-type]  # a line checks nothing
def test_an_object_of_a_users_class_is_not_revived_unasked_nor_as_another(value: Any) -> None:
    for deep in (value, [value], {"a": value}):
        with pytest.raises(SerializationError, match="as_type"):
            stored(deep)
    with pytest.raises(SerializationError, match="'k' is no"):
        load_value(dump_value(value, key="k"), UUID, key="k")


@pytest.mark.parametrize(
    ("value", "name"), [(1, "int"), ("a", "str"), (None, "NoneType"), (Decimal(1), "decimal.Decimal"), ([], "list")]
)
def test_a_type_is_named_with_its_module_unless_it_is_builtin(value: object, name: str) -> None:
    assert full_type_name(value) == name


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | NAMES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES, inner, max_size=3)
        | st.fixed_dictionaries(
            {
                "~wmem": st.sampled_from((*TAGS, "datetime@zone", "time@zone", "bytes@zone", "nonsense")),
                "value": inner,
            },
            optional={"zone": inner | st.just("UTC") | st.just("../../etc/passwd")},
        )
    ),
    max_leaves=8,
)


@given(plain=JSON)
@examples(2)
def test_a_forged_tag_is_data_or_a_typed_error(plain: Any) -> None:
    forged = dump_json(plain)
    for as_type in (None, int):
        try:
            load_value(forged, as_type, key="k")
        except WmemError as refused:
            assert isinstance(refused, CorruptionError | SerializationError)  # noqa: PT017  # what it is, if refused


@pytest.mark.parametrize(
    "plain",
    [{"~wmem": "datetime", "value": []}, {"~wmem": "complex", "value": ["1"]}, {"~wmem": "time", "value": ["10:00"]}],
)
def test_a_tag_with_too_little_in_it_is_damage(plain: Any) -> None:
    with pytest.raises(CorruptionError, match="damaged tag"):
        load_value(dump_json(plain), key="k")


@pytest.mark.parametrize("cut", [b"", b"{", b'"a', b"nul", b"[1,]", b"\xff", b'{"a" 1}'])
def test_text_that_is_no_json_is_damage(cut: bytes) -> None:
    with pytest.raises(CorruptionError, match="damaged"):
        load_value(cut)
