"""Suite of redaction in its places: sessions hold what was said, and what is kept long has marks instead."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

import wmem
from tests.external_types import SqliteNotes
from tests.suites.embedders import Embedder, EmbedderSuite
from wmem import Policy, Redaction, Scope
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.model.history import ORIGIN, Path
from wmem.scope.summaries.flows import summarize_texts
from wmem.testing.suite import Call, MemoryOpener

__all__ = ["RedactionSuite", "read_payloads"]

MAIL, CARD = "ada.lovelace@mail.example.org", "4929 1234 5678 9015"
SAID = f"Ada writes from {MAIL} and pays with {CARD}"
REDACTED = "Ada writes from [REDACTED_EMAIL] and pays with [REDACTED_CARD]"
WHO = "Who pays with which card?"
FIELDS: dict[str, Any] = {
    "metadata": {"contact": MAIL, "nested": [{"card": CARD}], "count": 3},
    "tags": ["customer", MAIL],
    "participants": ["Ada", MAIL],
    "sources": [{"id": "m-1", "quote": SAID}],
    "relations": [{"type": "about", "target_id": "m-1", "metadata": {"note": MAIL}}],
}


def read_payloads(memory: wmem.AgentMemory, call: Call) -> Mapping[Path, bytes]:
    """All that a memory's store holds of the agent, by scope: records, checkpoints, and their ids."""

    def read() -> Flow[Mapping[Path, bytes]]:
        paths = yield from ask(Journal.paths, (memory.agent_id,))
        tails = yield from ask(Journal.read, dict.fromkeys(paths, ORIGIN))
        return {path: b"\n".join(_to_bytes(tail)) for path, tail in tails.items()}

    payloads: Mapping[Path, bytes] = call(memory.working._drive, read())  # what is stored, in whichever mode
    return payloads


def _to_bytes(tail: Any) -> Iterator[bytes]:
    for payload in (tail.snapshot, *(record.payload for record in tail.records)):
        if payload is not None:
            # In memory a journal holds the changes themselves.
            yield payload if isinstance(payload, bytes) else repr(payload).encode("utf-8", "surrogatepass")


def expect_clean(memory: wmem.AgentMemory, call: Call) -> None:
    """All scopes of wmem's own are free of what is to be redacted."""
    stored = read_payloads(memory, call)
    kept_long = {path: data for path, data in stored.items() if any(each.startswith("~") for each in path)}
    assert kept_long
    for path, data in kept_long.items():
        assert not any(value.encode() in data for value in (MAIL, CARD)), path


def fail(text: str) -> Iterable[wmem.Span]:
    raise RuntimeError(text)


class RedactionSuite(EmbedderSuite):
    """What is redacted where, and what stays as it is."""

    # -- promotion

    def test_a_session_holds_what_was_said_and_its_promoted_copy_is_redacted(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        item = call(session.items.add, SAID, type="fact", **FIELDS)
        kept = call(session.items.promote, item.id)
        assert (item.content, item.redaction_status) == (SAID, "none")
        assert call(session.items.get, item.id).content == SAID
        assert (kept.content, kept.redaction_status) == (REDACTED, "partial")
        assert kept.metadata["contact"] == "[REDACTED_EMAIL]"
        assert kept.metadata["nested"] == [{"card": "[REDACTED_CARD]"}]
        assert (kept.metadata["count"], kept.metadata["working_memory_id"]) == (3, item.id)
        assert kept.tags == ("customer", "[REDACTED_EMAIL]")
        assert kept.participants == ("Ada", "[REDACTED_EMAIL]")
        assert kept.sources == ({"id": "m-1", "quote": REDACTED},)
        assert [dict(each.metadata) for each in kept.relations] == [{"note": "[REDACTED_EMAIL]"}]
        assert kept.tokens == memory.counter(REDACTED)
        assert call(memory.semantic.items.get, kept.id) == kept
        expect_clean(memory, call)

    def test_promoting_again_finds_the_redacted_copy_and_both_are_recalled_once(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        item = call(session.items.add, SAID, type="fact")
        kept = call(session.items.promote, item.id)
        assert call(session.items.promote, item.id).id == kept.id
        assert [hit.id for hit in call(session.recall, WHO)] == [item.id]
        assert SAID in call(session.pack, WHO, budget=600).note
        other = memory.scope("another")
        assert [hit.text for hit in call(other.recall, WHO)] == [REDACTED]
        assert REDACTED in call(other.pack, WHO, budget=600).note

    def test_the_memory_of_a_scope_that_a_policy_names_is_redacted(self, memory: wmem.AgentMemory, call: Call) -> None:
        scope = memory.scope("s", policy=Policy(long_term=(("team",),)))
        call(scope.items.promote, call(scope.items.add, SAID, type="fact").id)
        call(scope.items.promote, call(scope.items.add, SAID).id)
        hits = call(memory.scope("t", policy=Policy(long_term=(("team",),))).recall, WHO)
        assert [hit.text for hit in hits] == [REDACTED] * 2
        expect_clean(memory, call)

    def test_while_a_recognizer_fails_the_session_goes_on_and_promotion_waits(
        self, open_memory: MemoryOpener, call: Call, caplog: pytest.LogCaptureFixture
    ) -> None:
        failing = open_memory(redaction=Redaction(recognizers=(fail,))).scope("s")
        item = call(failing.items.add, SAID, priority="critical")
        call(failing.messages.append, {"role": "user", "content": SAID})
        with pytest.raises(wmem.InvalidInputError, match="recognizer"):
            call(failing.items.promote, item.id)
        assert call(failing.items.fetch, item.id).promoted_to is None
        assert [each.id for each in call(failing.items.pending)] == [item.id]
        assert MAIL not in caplog.text
        sound = open_memory.in_other_process().scope("s")
        assert call(sound.items.fetch, item.id).promoted_to is not None

    def test_while_a_recognizer_fails_nothing_that_is_kept_long_is_lost_or_stored_without_it(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        kept = call(open_memory().semantic.items.add, "Biscuit is a dog.", type="fact")
        snapshot = call(open_memory().snapshot)
        memory = open_memory.in_other_process(redaction=Redaction(recognizers=(fail,)))
        items = memory.semantic.items
        for act in (
            lambda: call(items.add, SAID),
            lambda: call(items.update, kept.id, content=SAID),
            lambda: call(items.relate, kept.id, "about", "x"),
            lambda: call(memory.semantic.entries.set, "k", SAID),
            lambda: call(memory.memorize, {"content": SAID, "type": "fact"}),
            lambda: call(memory.restore, snapshot),
        ):
            with pytest.raises(wmem.InvalidInputError, match="recognizer"):
                act()
        call(items.expire, kept.id)
        call(items.extend_ttl, kept.id, 60)
        call(items.forget, kept.id)
        call(items.undelete, kept.id)
        assert call(memory.track_tool_invocation, "pay", {"to": MAIL}, "ok") is None
        assert call(items.get, kept.id).content == "Biscuit is a dog."
        assert call(items.count) == 1
        assert call(memory.episodic.items.count) == 0

    def test_while_a_recognizer_fails_a_strict_talk_goes_on_without_its_texts_and_keeps_what_it_has(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        before = open_memory(redaction=Redaction.strict()).scope("s")
        call(before.messages.append, {"role": "user", "content": "Hello.", "id": "m-1"})
        scope = open_memory.in_other_process(redaction=Redaction.strict(recognizers=(fail,))).scope("s")
        call(scope.messages.append, {"role": "user", "content": SAID, "id": "m-2"})
        call(scope.messages.move_to_end, "m-1")
        assert [each.text for each in call(scope.messages.all)] == ["[REDACTED_WITHHELD]", "Hello."]
        with pytest.raises(wmem.InvalidInputError, match="recognizer"):
            call(scope.items.add, SAID)

    # -- long-term memory

    def test_what_is_added_or_changed_in_long_term_memory_is_redacted_and_so_is_the_reply(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        items = memory.semantic.items
        added = call(items.add, SAID, id="mine", **FIELDS)
        assert call(items.add, SAID, id="mine", **FIELDS) == added == call(items.get, "mine")
        assert (added.content, added.tags, added.redaction_status) == (
            REDACTED,
            ("customer", "[REDACTED_EMAIL]"),
            "partial",
        )
        clean = call(
            items.update, added.id, content="none", tags=[], participants=[], sources=[], relations=[], metadata={}
        )
        assert (clean.content, clean.redaction_status, clean.metadata) == ("none", "none", {})
        whole = call(items.update, added.id, content=MAIL, metadata={"a": CARD})
        assert (whole.content, whole.redaction_status) == ("[REDACTED_EMAIL]", "full")
        assert whole.metadata == {"a": "[REDACTED_CARD]"}
        related = call(items.relate, added.id, "about", "x", metadata={"note": SAID})
        assert [dict(each.metadata) for each in related.relations] == [{"note": REDACTED}]
        expect_clean(memory, call)

    def test_a_status_tells_of_each_field_that_is_redacted(self, memory: wmem.AgentMemory, call: Call) -> None:
        added = {name: call(memory.semantic.items.add, f"about {name}", **{name: FIELDS[name]}) for name in FIELDS}
        assert {name: item.redaction_status for name, item in added.items()} == dict.fromkeys(FIELDS, "partial")
        clean = call(memory.semantic.items.update, added["tags"].id, tags=["customer"])
        assert clean.redaction_status == "none"

    def test_entries_and_messages_in_long_term_memory_are_redacted(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.episodic.entries.set, "k", {"said": [SAID], "n": 1})
        appended = call(memory.episodic.messages.append, {"role": "user", "content": SAID, "id": "m"})
        assert appended.text == REDACTED
        assert call(memory.episodic.entries.get, "k") == {"said": [REDACTED], "n": 1}
        assert call(memory.episodic.messages.all) == [appended]
        expect_clean(memory, call)

    def test_an_export_of_a_session_is_redacted_when_it_is_imported_into_long_term_memory(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        item = call(session.items.add, SAID, **FIELDS)
        call(session.entries.set, "k", SAID)
        call(session.messages.append, {"role": "user", "content": f"From now on always write to {MAIL}."})
        call(memory.semantic.import_, call(session.export))
        assert call(memory.semantic.items.get, item.id).content == REDACTED
        expect_clean(memory, call)

    def test_a_turn_memorizes_and_tracks_tools_redacted_where_it_is_kept_long(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        turn = memory.turn("s")
        plan = call(turn.memorize, {"content": SAID, "type": "plan"})
        fact = call(turn.memorize, {"content": SAID, "type": "fact", "metadata": {"who": MAIL}})
        tool = call(turn.track_tool_invocation, "charge", {"card": CARD, "to": {"mail": MAIL}}, {"ok": MAIL})
        call(turn.track_tool_invocation, "charge", {}, None, error=ValueError(SAID))
        call(turn.commit)
        assert plan.item.content == SAID
        assert (fact.item.content, fact.item.metadata) == (REDACTED, {"who": "[REDACTED_EMAIL]"})
        assert tool.metadata["parameters"] == {"card": "[REDACTED_CARD]", "to": {"mail": "[REDACTED_EMAIL]"}}
        assert json.loads(tool.content.partition("returned: ")[2]) == {"ok": "[REDACTED_EMAIL]"}
        expect_clean(memory, call)

    def test_a_tool_call_is_redacted_by_its_fields_and_before_it_is_parted(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        turn = memory.turn("s")
        text = json.dumps({"card_number": 4929123456789015, "n": 7})
        tool = call(turn.track_tool_invocation, "pay", {"args": text}, {"text": text})
        assert tool.content.count('\\"card_number\\": \\"[REDACTED_CARD]\\"') == 2
        limit = memory.episodic.policy.max_content_bytes
        long = f"{'a word ' * (limit // 7 - 4)}{CARD} ends here"
        call(turn.track_tool_invocation, "read", {}, long)
        assert dict(call(turn.commit).redactions) == {"card": 3}
        parts = [each.content for each in call(memory.episodic.items.all)]
        assert len(parts) == 3
        assert "".join(parts).count("[REDACTED_CARD]") == 3
        expect_clean(memory, call)

    def test_a_job_on_request_redacts_what_was_written_without_redaction_and_purges_its_bytes(
        self, open_memory: MemoryOpener, embedder: Embedder, call: Call
    ) -> None:
        plain = open_memory(redaction=Redaction.off(), embedder=embedder)
        item = call(plain.scope("s").items.add, SAID, type="fact", **FIELDS)
        kept = call(plain.scope("s").items.promote, item.id)
        call(plain.episodic.messages.append, {"role": "user", "content": SAID, "id": "m"})
        call(plain.scope("t").pack, WHO, budget=600)
        memory = open_memory(embedder=embedder)
        assert "redact" not in call(memory.maintain).jobs
        assert call(memory.semantic.items.get, kept.id).content == SAID
        assert call(memory.maintain, ["redact"]).jobs["redact"] == (2, {"redacted": 2}, "")
        expect_clean(memory, call)
        made = call(memory.semantic.items.get, kept.id)
        assert (made.content, made.created_at, made.origins) == (REDACTED, kept.created_at, kept.origins)
        assert call(memory.scope("s").items.promote, item.id).id == kept.id
        assert call(memory.maintain, ["redact"]).jobs["redact"].changed == 0
        assert call(open_memory(redaction=Redaction.off()).maintain, ["redact"]).jobs["redact"].changed == 0

    def test_the_job_leaves_what_a_recognizer_fails_on_as_it_is(self, open_memory: MemoryOpener, call: Call) -> None:
        kept = call(open_memory(redaction=Redaction.off()).semantic.items.add, SAID, type="fact")
        failing = open_memory(redaction=Redaction(recognizers=(fail,)))
        assert call(failing.maintain, ["redact"]).jobs["redact"] == (0, {"failed": 1}, "")
        assert call(failing.semantic.items.get, kept.id).content == SAID

    def test_erasing_what_was_said_erases_its_redacted_copy(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        item = call(session.items.add, SAID, type="fact")
        kept = call(session.items.promote, item.id)
        assert call(session.erase, item.id).complete
        assert call(memory.semantic.items.get, kept.id) is None
        assert b"REDACTED" not in b"".join(read_payloads(memory, call).values())

    def test_a_prompt_that_quotes_a_redacted_copy_is_replayed_as_it_was(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        call(session.items.promote, call(session.items.add, SAID, type="fact").id)
        other = memory.scope("other")
        call(other.messages.append, {"role": "user", "content": WHO})
        context = call(other.pack, WHO, budget=600)
        receipt = call(memory.record, context)
        replayed = call(memory.replay, receipt)
        assert REDACTED in context.note
        assert replayed.context is not None
        assert list(replayed.context.prompt()) == list(context.prompt())

    def test_a_vault_gives_back_what_a_copy_has_marks_for(self, open_memory: MemoryOpener, call: Call) -> None:
        redaction = Redaction(vault=wmem.MemoryVault(b"a key of ours"))
        memory = open_memory(redaction=redaction)
        item = call(memory.scope("s").items.add, SAID, type="fact", **FIELDS)
        kept = call(memory.scope("s").items.promote, item.id)
        assert MAIL not in kept.content
        assert redaction.restore(kept.content) == SAID
        added = [call(memory.semantic.items.add, SAID, id="mine") for _ in range(2)]
        assert added[0] == added[1]
        expect_clean(memory, call)

    # -- everywhere, or nowhere

    def test_strict_redacts_what_a_session_stores_and_leaves_ids_and_structure(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(redaction=Redaction.strict())
        scope = memory.scope("s")
        arguments = json.dumps({"to": MAIL, "n": 1.50, "deep": [CARD]})
        calling = {
            "role": "assistant",
            "content": SAID,
            "id": "m-1",
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": arguments}}],
            "metadata": {"note": MAIL},
        }
        result = {"role": "tool", "content": json.dumps({"card": CARD}), "tool_call_id": "call_1", "id": "m-2"}
        messages: Any = [calling, result]
        appended: Any = call(scope.messages.append, messages)
        again: Any = call(scope.messages.append, messages)
        stored = call(scope.messages.all)
        assert appended == again == stored
        [one] = stored[0].tool_calls
        assert (one.id, one.name, stored[1].tool_call_id) == ("call_1", "pay", "call_1")
        assert one.args == {"to": "[REDACTED_EMAIL]", "n": 1.5, "deep": ["[REDACTED_CARD]"]}
        assert json.loads(stored[1].text) == {"card": "[REDACTED_CARD]"}
        assert (stored[0].text, stored[0].metadata) == (REDACTED, {"note": "[REDACTED_EMAIL]"})
        call(scope.items.add, SAID, **FIELDS)
        call(scope.queue.memorize, SAID)
        call(scope.child("below").items.add, SAID)
        call(scope.child("below").merge_to_parent, items=True)
        assert len(read_payloads(memory, call)) > 1
        for path, data in read_payloads(memory, call).items():
            assert not any(value.encode() in data for value in (MAIL, CARD)), path

    def test_what_a_strict_session_stored_before_is_sealed_in_long_term_memory_all_the_same(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(redaction=Redaction.strict())
        assert call(memory.scope("s").items.add, "the same").checksum is None
        assert call(memory.semantic.items.add, "the same").checksum

    def test_strict_entries_keep_their_types_and_reply_as_stored(self, open_memory: MemoryOpener, call: Call) -> None:
        scope = open_memory(redaction=Redaction.strict()).scope("s")
        value = {
            "at": datetime(2026, 1, 1, tzinfo=UTC),
            "price": Decimal(4929123456789015),
            "raw": SAID.encode(),
            "pair": (MAIL, 1),
        }
        expected = {**value, "pair": ("[REDACTED_EMAIL]", 1)}
        assert call(scope.entries.get_or_set, "k", lambda: value) == expected
        assert call(scope.entries.update, "k", lambda known: {**known, "more": SAID}) == {**expected, "more": REDACTED}
        assert call(scope.entries.get, "k") == {**expected, "more": REDACTED}
        assert call(scope.entries.entry, "k").redaction_status == "partial"

    def test_off_stores_all_as_it_is(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory(redaction=Redaction.off())
        item = call(memory.scope("s").items.add, SAID, type="fact")
        kept = call(memory.scope("s").items.promote, item.id)
        assert (kept.content, kept.redaction_status) == (SAID, "none")

    # -- what leaves a memory

    def test_a_redacted_export_has_marks_and_a_plain_one_what_was_said(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, SAID, **FIELDS)
        call(session.entries.set, "card", 4929123456789015, metadata={"m": MAIL})
        call(session.messages.append, {"role": "user", "content": f"From now on always write to {MAIL}.", "id": "m"})
        told, plain = call(session.export, redacted=True), call(session.export)
        assert told["redacted"] is True
        assert not any(value in json.dumps(told) for value in (MAIL, CARD, "4929123456789015"))
        assert json.dumps(plain).count(MAIL) > 1
        [memory] = told["memories"]
        assert (memory["id"], memory["content"], memory["redaction_status"]) == (item.id, REDACTED, "partial")
        assert [each["key"] for each in told["entries"]] == ["card"]
        assert [each["standing"][0][1] for each in told["messages"]] == [
            "From now on always write to [REDACTED_EMAIL]."
        ]

    def test_a_redacted_export_is_imported_with_its_ids(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        item = call(session.items.add, SAID, **FIELDS)
        call(session.messages.append, {"role": "user", "content": SAID, "id": "m"})
        told = call(session.export, redacted=True)
        other = memory.scope("other")
        call(other.import_, told)
        assert call(other.items.get, item.id).content == REDACTED
        assert call(other.messages.get, "m").text == REDACTED
        again = call(other.export, redacted=True)
        assert {**again, "policy": None, "merged": None} == {**told, "policy": None, "merged": None}

    def test_a_snapshot_without_a_key_is_redacted(self, memory: wmem.AgentMemory, session: Scope, call: Call) -> None:
        item = call(session.items.add, SAID, type="fact", **FIELDS)
        call(session.items.promote, item.id)
        call(session.entries.set, "k", {"card": CARD})
        call(session.messages.append, {"role": "user", "content": f"From now on always write to {MAIL}."})
        snapshot = call(memory.snapshot)
        assert not any(snapshot.count(value.encode()) for value in (MAIL, CARD))
        call(memory.restore, snapshot)
        said = SAID if snapshot.is_encrypted else REDACTED
        assert call(memory.scope("session").items.get, item.id).content == said

    def test_what_is_restored_is_redacted_where_all_that_is_written_is(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        plain = open_memory(redaction=Redaction.off())
        item = call(plain.scope("s").items.add, SAID, type="fact")
        kept = call(plain.scope("s").items.promote, item.id)
        call(plain.scope("s").messages.append, {"role": "user", "content": SAID, "id": "m"})
        snapshot = call(plain.snapshot)
        memory = open_memory()
        call(memory.restore, snapshot)
        assert call(memory.semantic.items.get, kept.id).content == REDACTED
        assert call(memory.scope("s").items.get, item.id).content == SAID
        strict = open_memory(redaction=Redaction.strict())
        call(strict.restore, snapshot)
        assert call(strict.scope("s").items.get, item.id).content == REDACTED
        assert call(strict.scope("s").messages.get, "m").text == REDACTED

    def test_a_memory_whose_redaction_is_off_exports_nothing_as_redacted(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        scope = open_memory(redaction=Redaction.off()).scope("s")
        call(scope.items.add, SAID)
        with pytest.raises(wmem.InvalidInputError, match="redaction that is off"):
            call(scope.export, redacted=True)

    def test_summaries_are_redacted_and_keep_their_limit(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        for text in (SAID, f"The dog is called Biscuit; ask {MAIL}.", "Nothing else was said."):
            call(session.queue.memorize, text)
            call(session.messages.append, {"role": "user", "content": text})
        conversation = memory.types.session("session")["conversation"]
        for made in (call(session.queue.summarize, "all", 60), call(conversation.summarize, 60)):
            assert "[REDACTED_EMAIL]" in made.text
            assert not any(value in made.text for value in (MAIL, CARD))
            assert made.tokens == memory.counter(made.text) <= 60

    def test_a_summarizer_gets_marks_and_so_has_its_summary(self, open_memory: MemoryOpener, call: Call) -> None:
        seen: list[str] = []

        def summarize(texts: Sequence[str], _: int) -> str:
            seen.extend(texts)
            return texts[0][:40]

        scope = open_memory(summarizer=summarize).scope("s")
        made = call(scope._drive, summarize_texts(scope._handle, [SAID, "more"], 60))  # no verb has it alone
        assert (seen, made.by_model) == ([REDACTED, "more"], True)
        plain = call(open_memory().scope("t")._drive, summarize_texts(scope._handle, [SAID], 60))  # as above
        assert MAIL not in made.text + plain.text

    def test_a_finder_of_standing_requests_gets_marks_and_its_clauses_say_what_was_said(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        seen: list[str] = []

        def find(text: str) -> list[str]:
            seen.append(text)
            return [each for each in text.split(". ") if each.startswith("Always")]

        policy = Policy.session(find_standing_requests=find)
        scope = open_memory(policy=policy).scope("s")
        said = f"Hi, I am {MAIL}. Always write to {MAIL} first. Then charge {CARD}"
        call(scope.messages.append, {"role": "user", "content": said})
        assert seen == [
            "Hi, I am [REDACTED_EMAIL]. Always write to [REDACTED_EMAIL] first. Then charge [REDACTED_CARD]"
        ]
        [told] = call(scope.export)["messages"]
        assert told["standing"] == [["custom", f"Always write to {MAIL} first"]]

    def test_an_embedder_gets_marks_and_a_copy_shares_its_vector_with_the_original(
        self, memory: wmem.AgentMemory, session: Scope, embedder: Embedder, call: Call
    ) -> None:
        item = call(session.items.add, SAID, type="fact")
        call(session.messages.append, {"role": "user", "content": f"The other card is {CARD}."})
        call(session.pack, f"Which card has {MAIL}?", budget=600)
        call(session.items.promote, item.id)
        call(memory.scope("other").pack, WHO, budget=600)
        texts = embedder.pop_texts()
        assert sorted(texts).count(REDACTED) == 1
        assert "Which card has [REDACTED_EMAIL]?" in texts
        assert not any(value in text for value in (MAIL, CARD) for text in texts)
        call(memory.scope("other").dispose)
        call(memory.maintain)
        call(session.recall, WHO)
        assert embedder.pop_texts() == [WHO]
        expect_clean(memory, call)

    def test_memory_types_of_others_get_marks(self, open_memory: MemoryOpener, call: Call) -> None:
        seen: list[object] = []

        class Spying(SqliteNotes):
            blocks = False

            def accepts(self, draft: wmem.ItemDraft, /) -> bool:
                seen.append(draft)
                return super().accepts(draft)

            def remember(self, query: str, /, **options: Any) -> Any:
                seen.append(query)
                return super().remember(query, **options)

        memory = open_memory(memory_types=[Spying()])
        turn = memory.turn("s")
        routed = call(turn.memorize, {"content": SAID, "type": "fact", "metadata": {"m": MAIL}, "tags": [CARD]})
        found = call(turn.assemble_context, f"What of {MAIL}?", budget=600)
        assert routed.stored["notes"].item.content == REDACTED
        assert routed.stored["notes"].item.tags == ("[REDACTED_CARD]",)
        assert len(seen) > 1
        assert not any(value in str(each) for value in (MAIL, CARD) for each in seen)
        assert REDACTED in found.context.note
