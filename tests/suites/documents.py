"""Suite of export and import: a round trip is equal, and an unreadable document changes nothing."""

import copy
import json
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

import wmem
from wmem import CapacityError, InvalidInputError, Message, Native, Policy, Scope
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

__all__ = ["DocumentsSuite"]

HOUR = 3_600


def fill_scope(scope: Scope, call: Call, clock: Clock) -> None:
    """Add one of everything that a scope can hold."""
    call(scope.entries.set, "due", date(2026, 12, 4), tags=["t"], importance=0.9, metadata={"a": [1, None]})
    values: dict[str, Any] = {
        "plain": {"a": [1, 2.5, None, True]},
        "number": Decimal("1.10"),
        "bytes": b"\x00\xff",
        "pair": (1, {2}),
        "odd": "\ud83d",
        "tag": {"~wmem": "x"},
        "late": float("inf"),
    }
    for key, value in values.items():
        call(scope.entries.set, key, value)
    call(scope.entries.set, "gone", 1, ttl_s=5)
    call(scope.items.add, "expires", ttl_s=5)
    used = call(scope.items.add, "prefers short answers \ud83d", priority="high", tags=["style"], confidence="low")
    for _ in range(2):
        call(scope.items.fetch, used.id)
    call(scope.items.relate, used.id, "references", "skill", {"b": 1})
    call(scope.items.promote, used.id)
    call(scope.items.add, "given", importance=0.25, participants=["ada"], valid_from=NOON, retention="episodic")
    call(scope.items.add, "for ever", ttl_s=None, pinned=True)
    call(scope.items.add, "forgotten")
    call(scope.queue.forget, f"position:{call(scope.queue.capacity).items - 1}")
    call(scope.queue.advance_step, 3)
    call(scope.messages.append, {"role": "user", "content": "hi \ud83d", "id": "m1", "turn_id": "t1"})
    call_ = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    call(scope.messages.append, {"role": "assistant", "content": None, "tool_calls": [call_], "id": "m2"})
    call(scope.messages.append, {"role": "tool", "tool_call_id": "c1", "content": "done", "id": "m3"})
    native = Message(role="assistant", native=Native(framework="f", data={"x": [1, {"y": None}]}), id="m4", pinned=True)
    call(scope.messages.append, native)
    clock.advance(5)


class DocumentsSuite(FacetSuite):
    """`export` and `import_` of a whole scope."""

    # -- round trips

    def test_what_is_exported_and_imported_into_another_agents_scope_is_equal(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        source, target = open_memory("one").scope("s"), open_memory("two").scope("elsewhere")
        fill_scope(source, call, clock)
        document = call(source.export)
        assert call(target.import_, document) == 18
        assert call(target.export) == document
        assert call(open_memory.in_other_process("two").scope("elsewhere").export) == document

    def test_a_document_is_plain_json_and_survives_its_text(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        source, target = open_memory("one").scope("s"), open_memory("two").scope("s")
        fill_scope(source, call, clock)
        document = json.loads(json.dumps(call(source.export)))
        before = copy.deepcopy(document)
        call(target.import_, document)
        assert document == before
        assert call(target.export) == document

    def test_what_is_imported_reads_as_it_did(self, open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
        source, target = open_memory("one").scope("s"), open_memory("two").scope("s")
        fill_scope(source, call, clock)
        call(target.import_, call(source.export))
        reads: list[Callable[[Scope], Any]] = [
            lambda scope: call(scope.items.all, include_expired=True, include_promoted=True),
            lambda scope: call(scope.items.expired),
            lambda scope: call(scope.items.promoted),
            lambda scope: call(scope.messages.all),
            lambda scope: call(scope.entries.all),
            lambda scope: [call(scope.entries.get, key) for key in call(scope.entries.keys)],
            lambda scope: call(scope.items.search, "short answers", include_promoted=True),
            lambda scope: call(scope.pack, "short answers", budget=2_000).to_openai(),
            lambda scope: call(scope.stats),
            lambda scope: call(scope.queue.advance_step),
        ]
        for read in reads:
            assert read(target) == read(source)

    def test_a_document_tells_what_the_session_tools_tell(self, session: Scope, call: Call, clock: Clock) -> None:
        item = call(session.items.add, "x", priority="high", tags=["t"], metadata={"key": "value"})
        clock.advance(6 * HOUR)
        call(session.items.fetch, item.id)
        document = call(session.export)
        (told,) = document["memories"]
        assert (document["count"], document["format"], document["version"]) == (1, "wmem-scope", 1)
        assert (told["id"], told["content"], told["priority"]) == (item.id, "x", "high")
        assert (told["access_count"], told["tags"], told["metadata"]) == (2, ["t"], {"key": "value"})
        assert (told["created_at"], told["expires_at"]) == (NOON, NOON + 12 * HOUR)
        assert told["importance_score"] == pytest.approx(0.08 + 0.15 + 0.15 + 0.0001)

    def test_importing_twice_changes_nothing_and_replaces_what_is_under_the_same_ids(
        self, session: Scope, call: Call
    ) -> None:
        item = call(session.items.add, "x")
        call(session.entries.set, "k", 1)
        document = call(session.export)
        call(session.items.update, item.id, content="changed")
        call(session.entries.set, "k", 2)
        other = call(session.items.add, "new")
        for _ in range(2):
            call(session.import_, document)
        assert [each.content for each in call(session.items.all)] == ["x", "new"]
        assert (call(session.entries.get, "k"), call(session.items.count)) == (1, 2)
        assert call(session.items.get, other.id) == other

    def test_an_empty_scope_exports_and_imports_as_nothing(self, open_memory: MemoryOpener, call: Call) -> None:
        document = call(open_memory().scope("s").export)
        assert call(open_memory("two").scope("s").import_, document) == 0
        assert call(open_memory("two").working.children) == []

    def test_instants_may_be_texts_with_any_offset(self, session: Scope, call: Call) -> None:
        told = {
            "id": "a",
            "content": "x",
            "created_at": "2025-11-28T00:00:00Z",
            "updated_at": "2025-11-27T16:00:00-08:00",
            "expires_at": "2025-11-28T09:30:00+05:30",
        }
        call(session.import_, {"format": "wmem-scope", "version": 1, "memories": [told]})
        (item,) = call(session.items.all)
        assert (item.created_at, item.updated_at, item.expires_at) == (NOON, NOON, NOON + 4 * HOUR)

    # -- what is no row

    def test_a_new_scope_becomes_as_the_exported_one_was(self, open_memory: MemoryOpener, call: Call) -> None:
        source = open_memory("one").scope(
            "s", policy=Policy.queue(max_items=2, max_tokens=99_000, max_content_bytes=200_000)
        )
        for content in ("leaves", "stays " * 25_000, "goes"):
            call(source.items.add, content)
        call(source.erase, call(source.items.all)[1].id)
        child = source.child("c")
        call(child.entries.set, "k", 1)
        call(child.merge_to_parent)
        document = call(source.export)
        (decision,), (gone,), (merge,) = (document[name] for name in ("decisions", "erased", "merged"))
        assert (decision["rule"], merge["source"]) != ("", []) != (gone, merge["source"])
        target = open_memory("two").scope("t")
        call(target.import_, json.loads(json.dumps(document)))
        assert call(target.export) == document
        assert target.policy == source.policy
        assert call(target.queue.decisions) == call(source.queue.decisions)
        assert call(open_memory.in_other_process("two").scope("t").export) == document

    def test_a_turn_that_ended_before_an_export_is_no_second_step_after_it(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        source, target = open_memory("one").scope("s"), open_memory("two").scope("t")
        call(source.queue.advance_step, 3)
        for turn_id in ("t1", "t2"):
            call(source.queue.advance_step, turn_id=turn_id)
        call(target.import_, json.loads(json.dumps(call(source.export))))
        assert call(target.export) == call(source.export)
        assert call(target.queue.advance_step, turn_id="t2") == 5
        assert call(target.queue.advance_step, turn_id="t3") == 6

    def test_a_scope_with_a_policy_of_its_own_keeps_it(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        source = memory.scope("s", policy=Policy.session(max_items=7))
        call(source.items.add, "x")
        document = call(source.export)
        asked = memory.scope("asked", policy=Policy.session(max_items=9))
        there = memory.scope("there")
        call(there.entries.set, "k", 1)
        for scope, limit in ((asked, 9), (there, None), (memory.semantic, None)):
            call(scope.import_, document)
            assert scope.policy.max_items == limit
            assert memory.scope("later").policy.max_items is None

    def test_an_import_that_is_refused_leaves_no_policy_behind(self, memory: wmem.AgentMemory, call: Call) -> None:
        scope = memory.scope("s")
        bad = {"policy": {"max_items": 1}, "memories": [{"id": id, "content": "x"} for id in ("a", "b")]}
        with pytest.raises(CapacityError):
            call(scope.import_, {"format": "wmem-scope", "version": 1, **bad})
        call(scope.items.add, "x")
        assert scope.policy.max_items is None

    def test_a_tombstone_in_a_document_takes_nothing_from_a_scope_that_is_there(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        source, target = memory.scope("s"), memory.scope("t")
        item = call(source.items.add, "x")
        call(target.import_, call(source.export))
        call(source.erase, item.id)
        call(source.items.add, "y")
        document = call(source.export)
        assert document["erased"] == [item.id]
        call(target.import_, document)
        assert [each.content for each in call(target.items.all)] == ["x", "y"]

    @pytest.mark.parametrize(
        "part",
        [
            {"policy": 5},
            {"policy": {"max_items": 0}},
            {"policy": {"nonsense": 1}},
            {"policy": {"on_flush": "os.system"}},
            {"erased": "abc"},
            {"erased": [5]},
            {"erased": [" "]},
            {"merged": [{"source": ["c"]}]},
            {"merged": [{"source": "c", "overwrite": True, "items": False, "version": 1, "chain": 1}]},
            {"merged": [{"source": ["c"], "overwrite": 1, "items": False, "version": 1, "chain": -1}]},
            {"decisions": [{"id": "a", "rule": "r", "tokens": 1, "at": float("nan"), "parts": {}}]},
            {"decisions": [{"id": "a", "rule": "r", "tokens": 1, "at": 1, "parts": {"a": "b"}}]},
        ],
        ids=str,
    )
    def test_a_history_that_does_not_read_keeps_all_out(self, session: Scope, call: Call, part: Any) -> None:
        with pytest.raises(InvalidInputError, match="nothing was imported"):
            call(session.import_, {"format": "wmem-scope", "version": 1, **_VALID, **part})
        assert call(session.export)["count"] == 0

    # -- limits

    def test_an_import_keeps_to_the_limits_of_the_scope(self, open_memory: MemoryOpener, call: Call) -> None:
        source = open_memory("one").scope("s")
        for number in range(3):
            call(source.items.add, str(number))
            call(source.entries.set, str(number), "v" * 50)
        document = call(source.export)
        memory = open_memory("two")
        numbers: list[dict[str, Any]] = [{"max_items": 2}, {"max_entries": 2}, {"max_entry_bytes": 20}]
        for number, each in enumerate(numbers):
            scope = memory.scope(f"s{number}", policy=Policy.session(**each))
            with pytest.raises(CapacityError):
                call(scope.import_, document)
            assert (call(scope.items.count), call(scope.entries.count)) == (0, 0)
        queue = memory.scope("queue", policy=Policy.queue(max_items=3, eviction="oldest"))
        call(queue.items.add, "leaves")
        call(queue.import_, document)
        assert [item.content for item in call(queue.items.all)] == ["0", "1", "2"]

    # -- hostile documents

    @pytest.mark.parametrize(
        "document",
        [
            None,
            [],
            "text",
            {},
            {"format": "other", "version": 1},
            {"format": "wmem-scope"},
            {"format": "wmem-scope", "version": 2},
            {"format": "wmem-scope", "version": True},
            {"format": "wmem-scope", "version": 0},
            {"format": "wmem-scope", "version": 1, "step": -1},
            {"format": "wmem-scope", "version": 1, "step": "3"},
            {"format": "wmem-scope", "version": 1, "memories": {}},
            {"format": "wmem-scope", "version": 1, "memories": "abc"},
            {"format": "wmem-scope", "version": 1, "entries": None},
        ],
    )
    def test_what_is_no_document_is_refused(self, session: Scope, call: Call, document: Any) -> None:
        with pytest.raises(InvalidInputError):
            call(session.import_, document)
        assert call(session.export)["count"] == 0

    @pytest.mark.parametrize("facet", ["memories", "entries", "messages"])
    def test_one_line_that_does_not_read_keeps_all_others_out(
        self, open_memory: MemoryOpener, call: Call, facet: str
    ) -> None:
        memory = open_memory()
        for number, bad in enumerate(_INVALID[facet]):
            scope = memory.scope(f"s{number}")
            document = {"format": "wmem-scope", "version": 1, **copy.deepcopy(_VALID)}
            document[facet].append(bad)
            with pytest.raises(InvalidInputError, match=rf"{facet}\[1\]"):
                call(scope.import_, document)
            assert (call(scope.items.all), call(scope.entries.keys), call(scope.messages.all)) == ([], [], []), bad
        assert call(memory.working.children) == []
        assert call(memory.scope("sound").import_, {"format": "wmem-scope", "version": 1, **_VALID}) == 3

    def test_an_id_that_is_something_else_here_is_refused(self, session: Scope, call: Call) -> None:
        call(session.messages.append, {"role": "user", "content": "hi", "id": "a"})
        with pytest.raises(InvalidInputError, match="something else"):
            call(session.import_, {"format": "wmem-scope", "version": 1, **_VALID})
        assert (call(session.items.count), call(session.messages.count)) == (0, 1)

    def test_a_document_cannot_understate_what_its_items_take(self, open_memory: MemoryOpener, call: Call) -> None:
        scope = open_memory().scope("q", policy=Policy.queue(max_tokens=20))
        told = {"id": "a", "content": "many words " * 50, "tokens": 1, "counter": "estimate"}
        with pytest.raises(CapacityError):
            call(scope.import_, {"format": "wmem-scope", "version": 1, "memories": [told]})

    def test_an_import_into_a_disposed_scope_or_a_closed_memory_is_refused(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        document = {"format": "wmem-scope", "version": 1, **_VALID}
        call(session.import_, document)
        call(session.dispose)
        with pytest.raises(wmem.DisposedError):
            call(session.import_, document)
        scope = memory.scope("other")
        call(memory.close)
        with pytest.raises(InvalidInputError, match="closed"):
            call(scope.import_, document)


_VALID: dict[str, Any] = {
    "memories": [{"id": "a", "content": "x"}],
    "entries": [{"id": "b", "key": "k", "content": "1"}],
    "messages": [{"id": "c", "role": "user", "parts": [{"text": "hi"}]}],
}
_NESTED_JSON = "[" * 100_000

_INVALID: Mapping[str, list[Any]] = {
    "memories": [
        None,
        "text",
        [],
        {},
        {"content": "x"},
        {"id": "x"},
        {"id": "", "content": "x"},
        {"id": 5, "content": "x"},
        {"id": "x\x00", "content": "x"},
        {"id": "a", "content": "twice"},
        {"id": "x", "content": ""},
        {"id": "x", "content": 5},
        {"id": "x", "content": "x" * 102_401},
        {"id": "x", "content": "x", "key": "k2"},
        {"id": "x", "content": "x", "priority": "urgent"},
        {"id": "x", "content": "x", "importance": 2},
        {"id": "x", "content": "x", "importance": float("nan")},
        {"id": "x", "content": "x", "access_count": -1},
        {"id": "x", "content": "x", "access_count": "many"},
        {"id": "x", "content": "x", "created_at": "yesterday"},
        {"id": "x", "content": "x", "expires_at": float("inf")},
        {"id": "x", "content": "x", "expires_at": 10**400},
        {"id": "x", "content": "x", "expires_at": True},
        {"id": "x", "content": "x", "tags": "word"},
        {"id": "x", "content": "x", "tags": [" "]},
        {"id": "x", "content": "x", "metadata": {"a": {1, 2}}},
        {"id": "x", "content": "x", "nonsense": 1},
        {"id": "x", "content": "x", "__class__": "os.system"},
        {"id": "x", "content": "x", "message": {"role": "user"}},
    ],
    "entries": [
        None,
        {"id": "x", "content": "1"},
        {"id": "x", "key": "", "content": "1"},
        {"id": "x", "key": "k2", "content": "{"},
        {"id": "x", "key": "k2", "content": 5},
        {"id": "x", "key": "k2", "content": _NESTED_JSON},
        {"id": "x", "key": "k2", "content": '{"~wmem": "decimal", "value": "x"}'},
        {"id": "x", "key": "k2", "content": '{"~wmem": "nothing", "value": "x"}'},
        {"id": "x", "key": "k", "content": "1"},
        {"id": "b", "key": "k2", "content": "1"},
    ],
    "messages": [
        None,
        {"role": "user"},
        {"id": "x"},
        {"id": "x", "role": "nobody"},
        {"id": "", "role": "user"},
        {"id": "x", "role": "user", "parts": "text"},
        {"id": "x", "role": "user", "parts": [{"kind": "virus"}]},
        {"id": "x", "role": "user", "access_count": 1.5},
        {"id": "x", "role": "user", "updated_at": "never"},
        {"id": "x", "role": "user", "content": "x"},
        {"id": "c", "role": "user"},
    ],
}
