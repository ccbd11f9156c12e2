"""Suite of the whole memory of an agent: saved, restored and cleared."""

import asyncio
import hashlib
import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import wmem
from wmem import CorruptionError, DisposedError, InvalidInputError, StoreError, WrongKeyError
from wmem.events import Event, Resynced
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["SnapshotsSuite"]

KEY = bytes(range(160, 192))
MAIL = "Write to ada@example.com."


def fill(call: Call, memory: Any) -> None:
    """Something of each facet, in nested scopes and in long-term memory, with marks of all kinds."""
    call(memory.working.entries.set, "of the agent", "inherited")
    session = memory.scope("s")
    call(session.entries.set, "k", {"deep": [1, 2.5, None]}, tags=["t"])
    said = ["My dog is called Biscuit.", "A fine name.", MAIL, "Forget that."]
    for number, text in enumerate(said):
        message = {"role": ("user", "assistant")[number % 2], "content": text, "id": f"m{number}"}
        call(session.messages.append, message)
    call(session.messages.withdraw, "m3")
    promoted = call(session.items.add, "likes tea", id="tea", type="fact", priority="critical")
    call(session.items.promote, promoted.id)
    call(session.items.add, "gone for good", id="gone")
    call(session.erase, "gone")
    call(session.items.add, "fetched", id="fetched")
    call(session.items.fetch, "fetched")
    call(session.child("task").entries.set, "found", (1, 2))
    queue = memory.scope("queue", policy=wmem.Policy.queue(max_items=2))
    for number in range(4):
        call(queue.queue.memorize, f"thought {number}", importance=0.1 + number / 10)
    call(queue.queue.advance_step)
    context = call(session.pack, "What is my dog called?", budget=400)
    call(session.end_turn, "turn 1", context)


def read(call: Call, memory: Any) -> dict[str, Any]:
    """What can be read of what `fill` wrote."""
    session, queue = memory.scope("s"), memory.scope("queue")
    hits = call(session.recall, "dog tea")
    traces = call(memory.traces, "s")
    receipts = [pack.receipt for trace in traces for pack in trace.packs]
    return {
        "children": [call(memory.working.children), call(session.children)],
        "root": call(memory.working.entries.all),
        "exports": [call(each.export) for each in (session, session.child("task"), queue, memory.semantic)],
        "stats": [
            replace(call(memory.stats), context_tokens_used=0, context_tokens_max=0),
            call(session.stats),
            call(memory.semantic.stats),
        ],
        "items": call(session.items.all, include_promoted=True),
        "promoted": call(session.items.promote, "tea").id,
        "withdrawn": call(session.messages.withdrawn),
        "hits": [(hit.id, hit.path, hit.score, hit.parts) for hit in hits],
        "pack": call(session.pack, "What does Ada like?", budget=300).to_openai(),
        "capacity": call(queue.queue.capacity),
        "decisions": call(queue.queue.decisions),
        "traces": traces,
        "replays": [call(memory.replay, receipt).context.to_openai() for receipt in receipts],
        "policy": queue.policy.name,
    }


class SnapshotsSuite(FacetSuite):
    """`snapshot`, `restore` and `clear`."""

    def test_what_is_restored_in_place_reads_as_when_it_was_saved(self, memory: wmem.AgentMemory, call: Call) -> None:
        fill(call, memory)
        before = read(call, memory)
        snapshot = call(memory.snapshot, key=KEY)
        call(memory.scope("s").entries.set, "k", "later")
        call(memory.scope("s").messages.append, {"role": "user", "content": "later"})
        call(memory.scope("later").entries.set, "k", 1)
        call(memory.semantic.items.add, "later")
        call(memory.scope("queue").dispose)
        restored = call(memory.restore, snapshot, key=KEY)
        assert (restored.scopes, restored.ended, restored.erased) == (snapshot.scopes, 1, 0)
        assert read(call, memory) == before
        assert call(memory.scope("later").exists) is False

    def test_what_is_restored_in_an_empty_store_reads_as_where_it_was_saved(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        with wmem.open("memory://", agent_id=memory.agent_id, clock=clock) as source:
            fill(Call(None), source)
            before = read(Call(None), source)
            snapshot = source.snapshot(key=KEY)
            call(memory.restore, snapshot, key=KEY)
            assert read(call, memory) == before

    def test_scopes_at_hand_go_on_with_what_was_restored(self, memory: wmem.AgentMemory, call: Call) -> None:
        session, other = memory.scope("s"), memory.scope("other")
        call(session.entries.set, "k", 1)
        snapshot = call(memory.snapshot)
        call(session.entries.set, "k", 2)
        call(other.entries.set, "k", 1)
        call(memory.restore, snapshot)
        assert call(session.entries.get, "k") == 1
        call(session.messages.append, {"role": "user", "content": "goes on"})
        call(session.entries.update, "k", lambda number: number + 10)
        assert (call(session.entries.get, "k"), len(call(session.messages.all))) == (11, 1)
        with pytest.raises(DisposedError):
            call(other.entries.get, "k")
        call(memory.scope("other").entries.set, "k", 3)

    def test_a_listener_is_told_to_read_again(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.scope("s").entries.set, "k", 1)
        call(memory.working.entries.set, "k", 1)
        snapshot = call(memory.snapshot)
        events: list[Event] = []
        memory.subscribe(events.append)
        call(memory.restore, snapshot)
        assert {(event.path[1:], type(event.change)) for event in events} == {(("s",), Resynced), ((), Resynced)}

    def test_what_was_erased_since_stays_erased_in_every_copy(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        call(session.items.add, "a secret of old", id="secret", type="fact", priority="critical")
        call(session.items.promote, "secret")
        call(session.items.add, "stays", id="stays")
        snapshot = call(memory.snapshot)
        call(session.erase, "secret")
        restored = call(memory.restore, snapshot)
        assert (restored.erased, restored.items) == (2, 1)
        assert [item.id for item in call(session.items.all, include_promoted=True)] == ["stays"]
        assert call(memory.semantic.items.all) == []
        assert b"a secret of old" not in bytes(call(memory.snapshot))

    def test_without_a_key_it_is_redacted_and_says_so(self, memory: wmem.AgentMemory, call: Call) -> None:
        if memory._core.keys is not None:
            pytest.skip("it has a key")
        call(memory.scope("s").messages.append, {"role": "user", "content": MAIL, "id": "m"})
        snapshot = call(memory.snapshot)
        assert (snapshot.is_redacted, snapshot.is_encrypted, snapshot.redactions) == (True, False, {"email": 1})
        assert b"ada@example.com" not in bytes(snapshot)
        assert b"ada@example.com" not in repr(snapshot).encode()
        restored = call(memory.restore, bytes(snapshot))
        assert restored.is_redacted
        (message,) = call(memory.scope("s").messages.all)
        assert message.text == "Write to [REDACTED_EMAIL]."
        counted = json.loads(snapshot)["content"]["scopes"][0]["state"]["rows"][0]
        assert (counted["length"], counted["tokens"]) == (len(message.text), _tokens_alone(call, memory, message.text))

    def test_where_redaction_is_off_it_is_verbatim_and_says_so(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory(redaction=wmem.Redaction.off())
        call(memory.scope("s").entries.set, "mail", MAIL)
        snapshot = call(memory.snapshot)
        assert not snapshot.is_redacted
        call(memory.scope("s").entries.set, "mail", "")
        call(memory.restore, snapshot)
        assert call(memory.scope("s").entries.get, "mail") == MAIL

    def test_with_a_key_it_shows_nothing_and_is_smaller_than_in_clear(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(redaction=wmem.Redaction.off())
        fill(call, memory)
        sealed = call(memory.snapshot, key=KEY)
        assert (sealed.is_encrypted, sealed.is_redacted) == (True, False)
        assert not any(clear in bytes(sealed) for clear in (b"Biscuit", b"entries", memory.agent_id.encode()))
        if memory._core.keys is None:
            assert len(sealed) < 1.1 * len(call(memory.snapshot))

    def test_what_cannot_be_restored_changes_nothing(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.scope("s").entries.set, "k", 1)
        sealed = call(memory.snapshot, key=KEY)
        with wmem.open("memory://", agent_id=memory.agent_id) as source:
            source.scope("s").entries.set("k", "theirs")
            plain = bytes(source.snapshot())
        with wmem.open("memory://", agent_id="another") as source:
            source.scope("s").entries.set("k", "theirs")
            foreign = bytes(source.snapshot())
        refused: list[tuple[Any, Any, type[Exception]]] = [
            (b"", None, InvalidInputError),
            (b"{}", None, InvalidInputError),
            ("text", None, InvalidInputError),
            (None, None, InvalidInputError),
            (foreign, None, InvalidInputError),
            (plain[:-40], None, CorruptionError),
            (plain.replace(b"theirs", b"ours!!"), None, CorruptionError),
            (plain.replace(b'"version":1', b'"version":2', 1), None, StoreError),
            (sealed, bytes(range(192, 224)), WrongKeyError),
            (sealed[:-1], KEY, CorruptionError),
            (sealed[:60] + bytes([sealed[60] ^ 1]) + sealed[61:], KEY, CorruptionError),
            (sealed.replace(b"aes 1", b"aes 9", 1), KEY, StoreError),
        ]
        for snapshot, key, error in refused:
            with pytest.raises(error):
                call(memory.restore, snapshot, key=key)
        assert call(memory.scope("s").entries.get, "k") == 1
        assert call(memory.working.children) == ["s"]

    @pytest.mark.parametrize(
        ("there", "instead"),
        [
            (b'"policy":"', b'"policy":"['),
            (b'"disposed":false', b'"disposed":"no"'),
            (b'"decisions":[]', b'"decisions":[["x","rule","many",0.0,{}]]'),
            (b'"decisions":[]', b'"decisions":[["x","rule",1,0.0]]'),
            (b'"erased":[]', b'"erased":[1]'),
        ],
    )
    def test_a_document_that_reads_as_no_memory_is_damaged_whatever_its_checksum_says(
        self, memory: wmem.AgentMemory, call: Call, there: bytes, instead: bytes
    ) -> None:
        call(memory.scope("s").entries.set, "k", 1)
        with wmem.open("memory://", agent_id=memory.agent_id) as source:
            source.scope("s").entries.set("k", "theirs")
            content = json.loads(source.snapshot())["content"]
        body = json.dumps(content, separators=(",", ":")).encode()
        assert there in body
        body = body.replace(there, instead, 1)
        head = f'{{"format":"wmem-snapshot","version":1,"sha256":"{hashlib.sha256(body).hexdigest()}","content":'
        with pytest.raises(CorruptionError, match="reads as no memory"):
            call(memory.restore, head.encode() + body + b"}")
        assert call(memory.scope("s").entries.get, "k") == 1

    @pytest.mark.parametrize("verb", ["restore", "clear"])
    def test_it_ends_while_others_write_all_the_time(
        self, memory: wmem.AgentMemory, open_memory: MemoryOpener, call: Call, verb: str
    ) -> None:
        scopes: list[Any] = [each.scope(*name) for each in (memory, open_memory()) for name in ((), ("s",))]
        for scope in scopes:
            call(scope.messages.append, {"role": "user", "content": "before"})
        arguments = (call(memory.snapshot),) if verb == "restore" else ()
        done: list[str] = []

        async def aend() -> None:
            try:
                for _ in range(3):
                    await getattr(memory, verb)(*arguments)
            finally:
                done.append(verb)

        def end() -> None:
            try:
                for _ in range(3):
                    getattr(memory, verb)(*arguments)
            finally:
                done.append(verb)

        async def awrite(scope: Any) -> None:
            while not done:
                await scope.messages.append({"role": "user", "content": "meanwhile"})
                await asyncio.sleep(0)

        def write(scope: Any) -> None:
            while not done:
                scope.messages.append({"role": "user", "content": "meanwhile"})

        begin, beside = (aend, awrite) if call.mode == "async" else (end, write)
        call.run_concurrently([begin, *(partial(beside, scope) for scope in scopes)])
        said = {message.text for scope in scopes for message in call(scope.messages.all)}
        assert said <= ({"before", "meanwhile"} if verb == "restore" else {"meanwhile"})

    def test_a_snapshot_of_nothing_is_restored_as_nothing(self, memory: wmem.AgentMemory, call: Call) -> None:
        snapshot = call(memory.snapshot)
        assert (snapshot.scopes, snapshot.items) == (0, 0)
        call(memory.scope("s").entries.set, "k", 1)
        assert call(memory.restore, snapshot) == (0, 0, 0, 1, snapshot.is_redacted)
        assert call(memory.working.children) == []

    def test_a_scope_that_was_disposed_comes_back_with_its_policy(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.scope("q", policy=wmem.Policy.queue(max_items=3)).queue.memorize, "a thought")
        snapshot = call(memory.snapshot)
        call(memory.scope("q").dispose)
        call(memory.restore, snapshot)
        queue = memory.scope("q")
        assert call(queue.queue.capacity).items == 1
        assert queue.policy.max_items == 3

    def test_clear_empties_sessions_and_keeps_long_term_memory(self, memory: wmem.AgentMemory, call: Call) -> None:
        fill(call, memory)
        session, step = memory.scope("s"), call(memory.scope("queue").stats).step
        cleared = call(memory.clear)
        assert (cleared.entries, cleared.messages, cleared.long_term) == (3, 3, 0)
        assert call(session.entries.all) == {}
        assert call(session.messages.all) == call(session.messages.withdrawn) == []
        assert call(session.items.all, include_promoted=True) == []
        assert call(memory.scope("queue").queue.capacity).items == 0
        assert call(memory.semantic.items.count) == 1
        assert (call(memory.scope("queue").stats).step, memory.scope("s").policy.name) == (step, session.policy.name)

    @pytest.mark.parametrize("kind", ["working", "context", "long_term"])
    def test_clear_takes_what_it_is_told_and_nothing_else(
        self, memory: wmem.AgentMemory, call: Call, kind: str
    ) -> None:
        fill(call, memory)
        call(memory.clear, **{"working": False, "context": False, kind: True})
        session = memory.scope("s")
        assert bool(call(session.entries.local.all)) is (kind != "working")
        assert bool(call(session.messages.all)) is (kind != "context")
        assert bool(call(memory.semantic.items.all)) is (kind != "long_term")

    def test_b41_an_id_is_free_again_after_a_clear(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        call(session.items.add, "before", id="x")
        call(memory.clear)
        assert call(session.items.add, "after", id="x").content == "after"
        assert [item.content for item in call(session.items.all)] == ["after"]

    def test_a_replay_names_what_a_clear_took(self, memory: wmem.AgentMemory, call: Call) -> None:
        fill(call, memory)
        (trace,) = call(memory.traces, "s")
        call(memory.clear)
        replay = call(memory.replay, trace.packs[0].receipt)
        assert replay.context is None
        assert {each.reason for each in replay.missing} <= {"removed", "erased"}

    def test_clear_leaves_no_bytes_of_what_it_took(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.scope("s").messages.append, {"role": "user", "content": "Biscuit"})
        assert call(memory.clear).remaining == () or memory.url.startswith("redis")
        assert call(memory.clear).messages == 0

    def test_long_term_memory_is_cleared_only_where_it_may_be_used(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory(features=wmem.Features.core())
        with pytest.raises(wmem.FeatureNotEnabledError):
            call(memory.clear, long_term=True)

    def test_nothing_is_cleared_where_a_policy_cannot_be_read(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        call(session.entries.set, "k", 1)
        handle: Any = session._handle
        handle.engine.replica(handle.path).state.policy = '{"long_term": 5}'  # as if somebody else had written it
        with pytest.raises(wmem.CorruptionError, match="policy"):
            call(memory.clear)

    def test_a_closed_memory_saves_restores_and_clears_nothing(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        snapshot = call(memory.snapshot)
        call(memory.close)
        for use in (memory.snapshot, lambda: memory.restore(snapshot), memory.clear):
            with pytest.raises(InvalidInputError, match="closed"):
                call(use)


def _tokens_alone(call: Call, memory: Any, text: str) -> int:
    call(memory.scope("counted").messages.append, {"role": "user", "content": text})
    return int(call(memory.scope("counted").stats).tokens)
