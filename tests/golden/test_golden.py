"""Stores that earlier versions wrote are read by this one, and written on."""

import json
import runpy
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import wmem
from wmem.tokens.counter import message_tokens

HERE = Path(__file__).parent
STORES = sorted(path.name for path in HERE.glob("store-v*"))
MAKE: Mapping[str, Any] = runpy.run_path(str(HERE / "make.py"))


@pytest.fixture(params=STORES)
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a golden store, alone in its directory."""
    place = tmp_path / str(request.param)
    place.mkdir()
    shutil.copyfile(HERE / request.param / "cache.db", place / "cache.db")
    shutil.copyfile(HERE / request.param / "expected.json", tmp_path / "expected.json")
    return place


def _opened(place: Path) -> wmem.AgentMemory:
    memory: wmem.AgentMemory = MAKE["opened"](place, lambda: MAKE["START"] + 200)
    return memory


def _expected(place: Path) -> Any:
    return json.loads((place.parent / "expected.json").read_text("utf-8"))


def test_there_is_a_golden_store_of_each_format() -> None:
    assert [name.removeprefix("store-v") for name in STORES] == [
        "1",
        "2",
        "2-aes",
        "3",
        "3-aes",
        "4",
        "4-aes",
        "5",
        "5-aes",
        "6",
        "6-aes",
    ]


@pytest.mark.parametrize(
    "copy", ["store-v2-aes", "store-v3-aes", "store-v4-aes", "store-v5-aes", "store-v6-aes"], indirect=True
)
def test_the_encrypted_store_shows_nothing_and_needs_its_key(copy: Path) -> None:
    content = (copy / "cache.db").read_bytes()
    assert not any(clear in content for clear in (b"thought", b"prefers", b"You are careful", b"ItemPut"))
    with wmem.open(f"disk://{copy}", agent_id="agent 🦊") as memory, pytest.raises(wmem.WrongKeyError):
        memory.scope("golden").messages.all()


@pytest.mark.parametrize(
    "copy", ["store-v1", "store-v2", "store-v2-aes", "store-v3", "store-v4", "store-v5"], indirect=True
)
def test_a_store_of_an_older_format_is_written_anew_on_request_and_reads_the_same(copy: Path) -> None:
    with _opened(copy) as memory:
        assert memory.rotate() > 0
        assert memory.rotate() == 0
        assert json.loads(json.dumps(MAKE["told"](memory))) == _expected(copy)


def test_a_golden_store_reads_as_when_it_was_written(copy: Path) -> None:
    with _opened(copy) as memory:
        assert json.loads(json.dumps(MAKE["told"](memory))) == _expected(copy)
        assert not memory.scope("golden").pack(budget=2_000).warnings
        assert not memory.scope("long").pack(budget=2_000).warnings


def test_what_an_earlier_version_counted_otherwise_is_counted_anew(copy: Path) -> None:
    with _opened(copy) as memory:
        context = memory.scope("golden").pack(budget=4_000, profile="anthropic", reasoning="all")
    assert any(part.kind == "reasoning" for message in context.messages for part in message.parts)
    assert context.sizes["messages"] == sum(message_tokens(message, MAKE["count"]) for message in context.messages)


def test_values_of_a_golden_store_revive_as_themselves(copy: Path) -> None:
    with _opened(copy) as memory:
        golden = memory.scope("golden")
        for key, value in MAKE["VALUES"].items():
            read = golden.entries.get(key)
            assert type(read) is type(value)
            assert repr(read) == repr(value + 1 if key == "number" else value)
        assert golden.entries.get("with a time to live") is None, "its time was over"
        assert golden.entries.get("found") == (1, 2), "merged from the draft"
        stored = {message.id: message for message in golden.messages.all()}
        for message in MAKE["MESSAGES"]:
            assert stored[message.id] == message
        assert golden.items.all()[0].access_count == 4


def test_a_golden_store_holds_a_snapshot_and_a_tail(copy: Path) -> None:
    with _opened(copy) as memory:
        cursors = memory.changes().cursors
        events = [event for event in memory.changes().events if event.path == ("agent 🦊", "long")]
        assert 0 < len(events) < cursors["agent 🦊", "long"].version, "a part of its history is in the snapshot"


def test_a_golden_store_takes_writes_and_keeps_what_it_held(copy: Path) -> None:
    with _opened(copy) as memory:
        golden, long = memory.scope("golden"), memory.scope("long")
        golden.entries.set("new", 1)
        golden.entries.update("with fields", lambda number: number + 1)
        golden.child("draft").entries.set("new", 2)
        golden.child("another").entries.set("new", 3)
        for number in range(100):  # compacts it again
            long.messages.append({"role": "user", "content": f"new {number} " + "word " * 200})
    with _opened(copy) as memory:
        found = json.loads(json.dumps(MAKE["told"](memory)))
        expected = _expected(copy)
        assert found["long"]["messages"][:70] == expected["long"]["messages"]
        assert len(found["long"]["messages"]) == 170
        assert found["long"]["items"] == expected["long"]["items"]
        assert found["golden"]["messages"] == expected["golden"]["messages"]
        assert found["golden"]["items"] == expected["golden"]["items"]
        assert found["golden"]["values"] == {**expected["golden"]["values"], "new": "1", "with fields": "2"}
        assert found["golden/draft"]["values"] == {**expected["golden/draft"]["values"], "new": "2"}
        assert found["children"]["golden"] == ["another", "draft"]


@pytest.mark.parametrize("name", ["store-v6", "store-v6-aes"])  # the newest, in clear and encrypted
def test_what_makes_the_golden_stores_still_makes_ones_that_read_the_same(name: str, tmp_path: Path) -> None:
    """Ids differ from run to run; all else is the same as long as the format is."""
    drawn = {"id", "target_id", "turn_id", "promoted_to", "working_memory_id", "sources", "lineage_ids", "origins"}
    drawn |= {"of", "into"}
    MAKE["make"](tmp_path / name)
    fresh = json.loads((tmp_path / name / "expected.json").read_text("utf-8"))
    golden = json.loads((HERE / name / "expected.json").read_text("utf-8"))

    def bare(told: Any) -> Any:
        if isinstance(told, dict):
            return {name: bare(each) for name, each in told.items() if name not in drawn}
        return [bare(each) for each in told] if isinstance(told, list) else told

    assert bare(fresh) == bare(golden)


@pytest.mark.parametrize("copy", ["store-v2", "store-v2-aes"], indirect=True)
def test_what_an_earlier_version_promoted_is_its_sessions_and_no_others(copy: Path) -> None:
    with _opened(copy) as memory:
        session, twin = memory.scope("session"), memory.scope("twin")
        (item,) = session.items.promoted()
        long_term = (memory.semantic, memory.episodic)
        kept = item.promoted_to or ""
        assert session.items.promote(item.id).id == kept
        twin.import_(session.export())
        assert twin.items.promote(item.id).id != kept
        assert kept not in twin.erase(item.id).ids
        assert set(session.erase(item.id).ids) == {item.id, kept}
        assert [each.id for scope in long_term for each in scope.items.all() if each.id == kept] == []


@pytest.mark.parametrize("copy", ["store-v2", "store-v2-aes"], indirect=True)
def test_what_an_earlier_version_promoted_leads_back_to_its_session(copy: Path) -> None:
    with _opened(copy) as memory:
        session, twin = memory.scope("session"), memory.scope("twin")
        (item,) = session.items.promoted()
        twin.import_(session.export())
        kept = item.promoted_to or ""
        scope = memory.semantic if memory.semantic.items.exists(kept) else memory.episodic
        assert set(scope.erase(kept).ids) == {item.id, kept}
        assert (session.items.exists(item.id), twin.items.exists(item.id)) == (False, True)


@pytest.mark.parametrize("copy", ["store-v2", "store-v2-aes"], indirect=True)
def test_an_entry_that_an_earlier_version_merged_is_erased_with_its_source(copy: Path) -> None:
    with _opened(copy) as memory:
        golden = memory.scope("golden")
        draft = golden.child("draft")
        source = draft.entries.local.entry("found")
        assert source is not None
        draft.erase(source.id)
        assert golden.entries.get("found") is None


def test_a_document_that_an_earlier_version_exported_is_imported_whole() -> None:
    documents = json.loads((HERE / "export-v1.json").read_text("utf-8"))
    with wmem.open("memory://", agent_id="agent", clock=lambda: MAKE["START"], counter=MAKE["count"]) as memory:
        for scope, document in ((memory.scope("s"), documents["session"]), (memory.episodic, documents["episodic"])):
            rows = {facet: document[facet] for facet in ("entries", "memories", "messages")}
            assert scope.import_(document) == sum(map(len, rows.values()))
            exported = scope.export()
            for told in (*rows["memories"], *exported["memories"], *rows["entries"], *exported["entries"]):
                told.pop("importance_score")  # it depends on when it is asked for
            for told in exported["memories"]:
                if told.pop("checksum", None) is not None:  # the system's, of what long-term memory holds
                    assert told.pop("version") == 1
            assert {facet: exported[facet] for facet in rows} == rows
        (item,) = memory.scope("s").items.promoted()
        assert memory.scope("s").items.promote(item.id).id == item.promoted_to
