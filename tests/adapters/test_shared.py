"""What both adapters stand on: `wmem.adapter`."""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

import wmem
from wmem.adapter import LazyMemory, LruCache, Steps, arun, from_tagged_json, media_location, run, to_tagged_json


def steps(scope: wmem.Scope | wmem.AsyncScope, key: str) -> Steps[str]:
    try:
        yield scope.entries.set(key, 1)
    except wmem.InvalidInputError:
        yield scope.entries.set("instead", 2)
    keys: list[str] = yield scope.entries.keys()
    return ",".join(sorted(keys))


def test_steps_run_alike_over_either_face_and_see_its_failures() -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        assert run(steps(memory.scope("s"), "k")) == "k"
        assert run(steps(memory.scope("s"), "")) == "instead,k"


async def test_steps_await_an_async_face_and_see_its_failures() -> None:
    async with await wmem.aopen("memory://", agent_id="a") as memory:
        assert await arun(steps(memory.scope("s"), "k")) == "k"
        assert await arun(steps(memory.scope("s"), "")) == "instead,k"


def test_a_cache_evicts_what_was_used_longest_ago() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    assert cache.setdefault("c", 3) == 3
    assert (cache.get("a"), cache.get("b"), cache.setdefault("c", 4)) == (1, None, 3)
    cache.discard(lambda key: key == "a")
    assert (cache.get("a"), cache.get("c")) == (None, 3)


@pytest.mark.parametrize("scheme", ["disk", "sqlite"])
async def test_a_memory_opened_in_a_coroutine_never_asks_the_disk_in_its_loop(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def watched(reach: Callable[..., Any], path: Any, **options: Any) -> Any:
        if str(path).startswith(str(tmp_path)):  # what is imported meanwhile is looked for, too
            threads.append(threading.get_ident())
        return reach(path, **options)

    for name in ("lstat", "stat"):
        monkeypatch.setattr(os, name, partial(watched, getattr(os, name)))
    lazy = LazyMemory(f"{scheme}://{tmp_path}/store", "a")
    await (await lazy.amemory()).scope("s").entries.set("k", 1)
    await lazy.aclose()
    assert threads
    assert threading.get_ident() not in threads


def test_a_memory_closed_and_used_again_is_the_same_one_from_any_directory(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lazy = LazyMemory("sqlite:///m.db", "a")
    lazy.memory().scope("s").entries.set("k", 1)
    lazy.close()
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert lazy.memory().scope("s").entries.get("k") == 1
    lazy.close()


@pytest.mark.parametrize(
    ("stored", "value"),
    [
        ({"~wmem": "datetime", "value": "2026-01-02T03:04:05+00:00"}, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ({"~wmem": "date", "value": "2026-01-02"}, date(2026, 1, 2)),
        ({"~wmem": "decimal", "value": "1.10"}, Decimal("1.10")),
        ({"~wmem": "uuid", "value": "00000000-0000-0000-0000-000000000001"}, UUID(int=1)),
        ({"~wmem": "bytes", "value": "/w=="}, b"\xff"),
        ({"~wmem": "float", "value": "inf"}, float("inf")),
        ({"~wmem": "tuple", "value": [1, {"~wmem": "set", "value": [2]}]}, (1, {2})),
        ({"~wmem": "dict", "value": [["~wmem", "x"]]}, {"~wmem": "x"}),
    ],
)
def test_values_that_an_adapter_stored_before_are_read_and_written_alike(stored: Any, value: object) -> None:
    assert from_tagged_json(stored) == value
    assert from_tagged_json(to_tagged_json(value, "it")) == value


class Zone(tzinfo):
    """A zone that is nobody's but a vendor's."""

    def utcoffset(self, _at: datetime | None, /) -> timedelta:
        return timedelta(hours=2)

    def dst(self, _at: datetime | None, /) -> None:
        return None

    def tzname(self, _at: datetime | None, /) -> str:
        return "here"


class Level(Enum):
    HIGH = "high"


class Answer(BaseModel):
    at: datetime
    level: Level


@dataclass
class Reply:
    answers: list[Answer]


def test_a_vendors_objects_become_dictionaries_and_their_times_stay_the_same_instants() -> None:
    at = datetime(2026, 1, 2, tzinfo=Zone())
    written = to_tagged_json(Reply([Answer(at=at, level=Level.HIGH)]), "it")
    assert from_tagged_json(written) == {"answers": [{"at": at, "level": "high"}]}


@pytest.mark.parametrize(
    ("value", "place"),
    [([1, {"b": object()}], r"it\[1\]\['b'\]"), ({"a": Level.HIGH}, r"it\['a'\]"), ({"a": Reply}, r"it\['a'\]")],
)
def test_what_has_no_faithful_form_is_named_by_its_place(value: object, place: str) -> None:
    with pytest.raises(wmem.SerializationError, match=f"cannot store {place}: no way to store"):
        to_tagged_json(value, "it")


def test_a_damaged_tag_is_no_value() -> None:
    with pytest.raises(wmem.CorruptionError):
        from_tagged_json({"~wmem": "moon", "value": 1})


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("data:image/png;base64,QQ==", {"base64": "QQ==", "mime_type": "image/png"}),
        ("data:;base64,QQ==", {"base64": "QQ==", "mime_type": None}),
        ("data:text/plain,hello", {"url": "data:text/plain,hello"}),
        ("https://example.com/a.png", {"url": "https://example.com/a.png"}),
        (None, {}),
    ],
)
def test_media_are_where_their_url_says(url: object, location: dict[str, Any]) -> None:
    assert media_location(url) == location
