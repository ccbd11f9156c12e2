"""Suite of lone surrogates: stored as they came, read back as they came, replaced in what is sent to a model."""

import json
import logging
from typing import Any

import pytest

from wmem import AgentMemory, Context, Message, Scope
from wmem.testing.suite import Call, FacetSuite, MemoryOpener

__all__ = ["SurrogatesSuite"]

LONE = "a\ud800b"
SENT = "a\ufffdb"
CALL = {"id": LONE, "type": "function", "function": {"name": "look", "arguments": f'{{"q": "{LONE}"}}'}}
TOOL = {"type": "function", "function": {"name": "look", "description": LONE, "parameters": {}}}
CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": f"system {LONE}"},
    {"role": "user", "content": f"user {LONE}", "name": LONE, "metadata": {"note": LONE}},
    {"role": "assistant", "content": [{"type": "text", "text": LONE}], "tool_calls": [CALL]},
    {"role": "tool", "content": LONE, "tool_call_id": LONE},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"https://a.b/{LONE}"}}]},
    {"role": "assistant", "content": [{"type": "strange", "text": LONE, LONE: [LONE]}]},
    {"role": "user", "content": f"elephant {LONE}"},
]


def encoded(context: Context) -> str:
    """What is sent, as JSON; raises where an encoder would."""
    sent: dict[str, Any] = {"openai": context.to_openai(), "system": context.system, "note": context.note}
    text = json.dumps(sent, ensure_ascii=False)
    for shown in (text, context._repr_html_(), str(context.explain(all=True)), repr(context)):
        shown.encode()
    return text


class SurrogatesSuite(FacetSuite):
    """Lone surrogates in every text."""

    def test_a_lone_surrogate_is_read_back_as_it_came(
        self, memory: AgentMemory, session: Scope, call: Call, open_memory: MemoryOpener
    ) -> None:
        told: dict[str, Any] = {"tags": [LONE], "metadata": {"note": LONE}, "participants": [LONE], "agent_id": LONE}
        item = call(session.items.add, LONE, **told)
        call(session.entries.set, "k", {LONE: [LONE]}, metadata={"note": LONE}, tags=[LONE])
        said = [message for message in CONVERSATION if "strange" not in str(message)]
        call(session.messages.append, said)
        for reader in (session, open_memory.in_other_process().scope(*session.path[1:])):
            held = call(reader.items.get, item.id)
            assert (held.content, held.tags, held.metadata) == (LONE, (LONE,), {"note": LONE})
            assert (held.participants, held.agent_id) == ((LONE,), LONE)
            assert call(reader.entries.get, "k") == {LONE: [LONE]}
            stored = call(reader.messages.all)
            assert [each.model_dump(exclude={"id", "created_at"}) for each in stored] == [
                Message.from_openai(each).model_dump(exclude={"id", "created_at"}) for each in said
            ]

    def test_what_is_sent_can_be_encoded(self, memory: AgentMemory, session: Scope, call: Call) -> None:
        call(session.items.add, f"The elephant {LONE} left.", pinned=True)
        call(session.entries.set, "elephant", {LONE: LONE})
        said = [message for message in CONVERSATION if "strange" not in str(message)]
        call(session.messages.append, said)
        for budget in (200, 400, 2_000):
            context = call(
                session.pack,
                f"elephant {LONE}",
                budget=budget,
                system=LONE,
                tools=[TOOL],
                summary=60,
                orphans="synthesize",
            )
            assert "\ufffd" in encoded(context)
            assert context.tokens <= budget
        assert context.to_openai()[0]["content"] == SENT
        for message in call(session.messages.all):
            json.dumps(message.to_openai(), ensure_ascii=False).encode()

    def test_messages_that_are_not_stored_are_sent_without_surrogates(self, session: Scope, call: Call) -> None:
        live = [{"role": "user", "content": f"live {LONE}"}]
        context = call(session.pack, None, budget=500, messages=live)
        assert context.to_openai() == [{"role": "user", "content": f"live {SENT}"}]

    def test_two_halves_that_belong_together_become_one_character(self, session: Scope, call: Call) -> None:
        halves = "\ud83d" + "\ude00"
        call(session.messages.append, Message.of("user", f"hi {halves}"))
        call(session.items.add, json.loads('"\\ud83d\\ude00"'))
        assert call(session.messages.all)[0].text == "hi 😀"
        assert call(session.items.all)[0].content == "😀"
        assert call(session.pack, None, budget=100).to_openai() == [{"role": "user", "content": "hi 😀"}]

    def test_an_export_with_surrogates_is_imported_unchanged(
        self, memory: AgentMemory, session: Scope, call: Call
    ) -> None:
        call(session.items.add, LONE, metadata={"note": LONE})
        call(session.entries.set, "k", {LONE: LONE})
        call(session.messages.append, {"role": "user", "content": LONE})
        document = call(session.export)
        copy = memory.scope("copy")
        call(copy.import_, json.loads(json.dumps(document)))
        assert call(copy.export) == document

    def test_counts_are_those_of_what_is_sent(self, call: Call, open_memory: MemoryOpener) -> None:
        class Encoder:
            """As a tokenizer in Rust: it refuses a surrogate."""

            name = "encoder"

            def __call__(self, text: str, /) -> int:
                return len(text.encode())

        session = open_memory(counter=Encoder()).scope("s")
        call(session.messages.append, {"role": "user", "content": LONE})
        call(session.items.add, LONE)
        context = call(session.pack, LONE, budget=500, system=LONE, tools=[TOOL])
        assert context.sizes["messages"] == 4 + len(SENT.encode())

    def test_the_embedder_is_given_text_that_encodes(self, call: Call, open_memory: MemoryOpener) -> None:
        texts: list[str] = []

        class Embedder:
            name = "e"

            def __call__(self, given: list[str], /) -> list[list[float]]:
                texts.extend(given)
                return [[1.0, 0.0] for _ in given]

        session = open_memory(embedder=Embedder()).scope("s")
        call(session.items.add, f"elephant {LONE}")
        call(session.pack, f"elephant {LONE}", budget=500)
        assert set(texts) == {f"elephant {SENT}"}

    def test_one_warning_says_so_without_content(
        self, session: Scope, call: Call, caplog: pytest.LogCaptureFixture
    ) -> None:
        from wmem.model.sendable import _warn_once

        _warn_once.cache_clear()  # another test may have been told
        call(session.messages.append, [{"role": "user", "content": LONE}] * 2)
        with caplog.at_level(logging.WARNING, logger="wmem"):
            for _ in range(2):
                call(session.pack, None, budget=100)
        assert [record.getMessage() for record in caplog.records if "surrogate" in record.getMessage()] == [
            "A text holds half of a character (a lone surrogate); it is stored as it is, and sent as U+FFFD"
        ]
