"""Messages in the forms of other APIs: read as what they say, or refused with a sentence that says what to do."""

from collections.abc import Mapping
from typing import Any, get_args

import pytest

from tests.validators import PROVIDERS, Provider, violations
from wmem import InvalidInputError, Message, Scope
from wmem.errors import BudgetError
from wmem.testing.suite import Call, FacetSuite
from wmem.types import ProviderProfile

__all__ = ["ForeignFormsSuite"]

Talk = list[dict[str, Any]]

_ANTHROPIC: Talk = [
    {"role": "user", "content": "What is the weather in Bonn and in Kiel?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look it up."},
            {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Bonn"}},
            {"type": "tool_use", "id": "t2", "name": "weather", "input": {"city": "Kiel"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "sunny"},
            {
                "type": "tool_result",
                "tool_use_id": "t2",
                "content": [{"type": "text", "text": "rain"}],
                "is_error": True,
            },
            {"type": "text", "text": "In one sentence, please."},
        ],
    },
]
_BEDROCK: Talk = [
    {"role": "user", "content": [{"text": "What is the weather in Bonn and in Kiel?"}]},
    {
        "role": "assistant",
        "content": [
            {"text": "I look it up."},
            {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Bonn"}}},
            {"toolUse": {"toolUseId": "t2", "name": "weather", "input": {"city": "Kiel"}}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "t1", "content": [{"text": "sunny"}], "status": "success"}},
            {"toolResult": {"toolUseId": "t2", "content": [{"text": "rain"}], "status": "error"}},
            {"text": "In one sentence, please."},
        ],
    },
]
_VERCEL: Talk = [
    {"role": "user", "content": [{"type": "text", "text": "What is the weather in Bonn and in Kiel?"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look it up."},
            {"type": "tool-call", "toolCallId": "t1", "toolName": "weather", "input": {"city": "Bonn"}},
            {"type": "tool-call", "toolCallId": "t2", "toolName": "weather", "args": {"city": "Kiel"}},
        ],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "t1",
                "toolName": "weather",
                "output": {"type": "text", "value": "sunny"},
            },
            {"type": "tool-result", "toolCallId": "t2", "toolName": "weather", "result": "rain", "isError": True},
        ],
    },
    {"role": "user", "content": "In one sentence, please."},
]
_VERCEL_PAGE: Talk = [
    {"role": "user", "parts": [{"type": "text", "text": "What is the weather in Bonn and in Kiel?"}]},
    {
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "text", "text": "I look it up.", "state": "done"},
            {
                "type": "tool-weather", "toolCallId": "t1", "state": "output-available",
                "input": {"city": "Bonn"}, "output": "sunny",
            },
            {
                "type": "dynamic-tool", "toolName": "weather", "toolCallId": "t2", "state": "output-error",
                "input": {"city": "Kiel"}, "errorText": "rain",
            },
        ],
    },
    {"role": "user", "parts": [{"type": "text", "text": "In one sentence, please."}]},
]  # fmt: skip
_GEMINI: Talk = [
    {"role": "user", "parts": [{"text": "What is the weather in Bonn and in Kiel?"}]},
    {
        "role": "model",
        "parts": [
            {"text": "I look it up."},
            {"functionCall": {"id": "t1", "name": "weather", "args": {"city": "Bonn"}}},
            {"function_call": {"id": "t2", "name": "weather", "args": {"city": "Kiel"}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "t1", "name": "weather", "response": {"output": "sunny"}}},
            {"function_response": {"id": "t2", "name": "weather", "response": {"output": "rain"}}},
        ],
    },
    {"role": "user", "parts": [{"text": "In one sentence, please."}]},
]
_RESPONSES: Talk = [
    {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "What is the weather in Bonn and in Kiel?"}],
    },
    {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "I look it up.", "annotations": []}],
    },
    {
        "type": "function_call",
        "call_id": "t1",
        "name": "weather",
        "arguments": '{"city": "Bonn"}',
        "status": "completed",
    },
    {"type": "function_call", "call_id": "t2", "name": "weather", "arguments": '{"city": "Kiel"}'},
    {"type": "function_call_output", "call_id": "t1", "output": "sunny"},
    {"type": "function_call_output", "call_id": "t2", "output": "rain"},
    {"role": "user", "content": "In one sentence, please."},
]
FORMS: Mapping[str, Talk] = {
    "anthropic": _ANTHROPIC, "bedrock": _BEDROCK, "vercel": _VERCEL, "vercel page": _VERCEL_PAGE, "gemini": _GEMINI,
    "responses": _RESPONSES,
}  # fmt: skip


class ForeignFormsSuite(FacetSuite):
    @pytest.mark.parametrize("form", FORMS)
    def test_b132_an_exchange_is_read_as_calls_and_results(self, session: Scope, call: Call, form: str) -> None:
        call(session.messages.append, FORMS[form])
        sent = call(session.pack, budget=2_000, profile="openai").to_openai()
        said = [each["content"] for each in sent if each["role"] in ("user", "assistant") and each["content"]]
        texts = [each if isinstance(each, str) else each[0]["text"] for each in said]
        assert texts == ["What is the weather in Bonn and in Kiel?", "I look it up.", "In one sentence, please."]
        calls = [made for each in sent for made in each.get("tool_calls", ())]
        assert [made["function"]["arguments"] for made in calls] == ['{"city": "Bonn"}', '{"city": "Kiel"}']
        results = [each for each in sent if each["role"] == "tool"]
        assert [each["tool_call_id"] for each in results] == [made["id"] for made in calls] == ["t1", "t2"]
        assert ["sunny" in str(each["content"]) for each in results] == [True, False]
        assert violations("openai", sent) == []

    @pytest.mark.parametrize("form", FORMS)
    def test_b132_no_prompt_holds_one_half_of_it(self, session: Scope, call: Call, form: str) -> None:
        talk = FORMS[form]
        call(session.messages.append, [*talk, {"role": "assistant", "content": "Sun and rain."}, *talk[:1]])
        for profile in get_args(ProviderProfile):
            for budget in range(60, 201, 20):
                try:
                    prompt = call(session.pack, budget=budget, profile=profile).to_openai()
                except BudgetError:
                    continue
                for provider in PROVIDERS if profile == "any" else [profile]:
                    assert violations(provider, prompt) == []

    def test_b132_storing_it_again_updates_it(self, session: Scope, call: Call) -> None:
        named = [{**each, "id": f"m{at}"} for at, each in enumerate(_ANTHROPIC)]
        call(session.messages.append, named)
        call(session.messages.append, named)
        stored = call(session.messages.all)
        assert [each.id for each in stored] == ["m0", "m1", "m2", "m2.1", "m2.2"]
        assert [each.role for each in stored] == ["user", "assistant", "tool", "tool", "user"]
        assert stored[3].metadata == {"is_error": True}

    def test_b132_a_call_where_there_can_be_none_is_refused_by_name(self, session: Scope, call: Call) -> None:
        wrong = {"role": "user", "content": [{"type": "tool_use", "id": "t", "name": "weather", "input": {}}]}
        with pytest.raises(InvalidInputError, match="a user message calls the tool 'weather'"):
            call(session.messages.append, [*_ANTHROPIC[:1], wrong])
        with pytest.raises(InvalidInputError, match="'web_search_call' is no message"):
            call(session.messages.append, {"type": "web_search_call", "id": "ws", "status": "completed"})
        assert call(session.messages.count) == 0

    def test_b133_keys_that_are_not_known_are_kept_as_metadata(self, session: Scope, call: Call) -> None:
        extra = {"weight": 1, "prefix": True, "logprobs": {"content": [1.5]}, "timestamp": "2026-03-07"}
        stored = call(session.messages.append, {"role": "assistant", "content": "hello", **extra, "metadata": {"a": 1}})
        assert call(session.messages.all)[0].metadata == stored.metadata == {**extra, "a": 1}
        assert call(session.pack, budget=500, profile="openai").to_openai() == [
            {"role": "assistant", "content": "hello"}
        ]
        with pytest.raises(InvalidInputError, match="unknown key 'contnet' in a message that says nothing"):
            call(session.messages.append, {"role": "user", "contnet": "hi"})

    def test_b133_pictures_beside_the_content_are_pictures(self, session: Scope, call: Call) -> None:
        call(session.messages.append, {"role": "user", "content": "what is this?", "images": ["iVBORw0KGgo="]})
        [sent] = call(session.pack, budget=3_000).to_openai()
        assert sent["content"] == [
            {"type": "text", "text": "what is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        ]

    @pytest.mark.parametrize(
        "content",
        [
            [
                {"type": "text", "text": "a long document", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "q"},
            ],
            [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
            [{"type": "text", "text": "alone"}],
            [{"type": "image_url", "image_url": {"url": "https://a.b/c.png", "format": "image/png", "detail": "low"}}],
            [{"type": "image_url", "image_url": {"url": "https://a.b/c.png"}, "cache_control": {"type": "ephemeral"}}],
            [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": "https://a.b/c.png", "detail": "low"},
            ],
            [{"type": "weird", "n": [1, None]}],
        ],
    )  # fmt: skip
    def test_b135_blocks_come_back_as_they_were(self, session: Scope, call: Call, content: list[Any]) -> None:
        call(session.messages.append, {"role": "user", "content": content})
        assert call(session.pack, budget=5_000).to_openai() == [{"role": "user", "content": content}]

    def test_pictures_and_thoughts_of_other_apis_are_read(self, session: Scope, call: Call) -> None:
        source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
        read = [
            Message.from_openai({"role": "user", "content": [{"type": "image", "source": source}]}),
            Message.from_openai(
                {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n"}}}]}
            ),
            Message.from_openai({"role": "user", "content": [{"type": "image", "image": "iVBORw0KGgo="}]}),
            Message.from_openai(
                {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]}
            ),
        ]
        assert {(part.kind, part.base64) for each in read for part in each.parts} == {("image", "iVBORw0KGgo=")}
        call(session.messages.append, {"role": "assistant", "content": [thought, {"type": "text", "text": "Yes."}]})
        [stored] = call(session.messages.all)
        assert [(part.kind, part.signature) for part in stored.parts] == [("reasoning", "c2ln"), ("text", None)]

    def test_b132_blocks_of_one_provider_are_told_or_left_out_for_another(self, session: Scope, call: Call) -> None:
        thought = {"type": "thinking", "thinking": "Hm. " * 400, "signature": "c2ln" * 400}
        asked = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_fetch", "input": {}}
        paper = {"type": "document", "title": "Kilns", "source": {"type": "text", "data": "A kiln needs 980 degrees."}}
        fetched = {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_1", "content": {"content": paper}}
        said = {"role": "assistant", "content": [thought, asked, fetched, {"type": "text", "text": "980 degrees."}]}
        talk: Talk = [{"role": "user", "content": [paper]}, {**said, "id": "a"}]
        call(session.messages.append, talk)
        others: tuple[Provider, ...] = ("openai", "mistral")
        for profile in others:
            packed = call(session.pack, budget=250, profile=profile)
            prompt = packed.to_openai()
            assert violations(profile, prompt) == []
            assert [block["text"] for each in prompt for block in each["content"]] == [
                "[document: Kilns]\nA kiln needs 980 degrees.",
                "[web_fetch_tool_result]\nKilns\nA kiln needs 980 degrees.",
                "980 degrees.",
            ]
            assert packed.tokens < 80
            [warning] = packed.warnings
            assert warning.startswith(
                f"{profile} takes no thinking, server_tool_use: left out of 'a'; they are sent to"
            )
            assert [each.blocks_left_out for each in packed.included] == [(), ("thinking", "server_tool_use")]
            assert "(without thinking, server_tool_use)" in str(packed.explain())
        own: tuple[ProviderProfile, ...] = ("any", "anthropic")
        for taker in own:
            packed = call(session.pack, budget=5_000, profile=taker)
            assert packed.to_openai() == [{"role": "user", "content": [paper]}, said]
            assert packed.warnings == ()

    def test_b132_a_picture_of_the_responses_api_is_one_for_every_named_provider(
        self, session: Scope, call: Call
    ) -> None:
        picture = {"type": "input_image", "image_url": "https://a.b/c.png", "detail": "low"}
        call(session.messages.append, {"role": "user", "content": [{"type": "input_text", "text": "see"}, picture]})
        for profile in PROVIDERS:
            packed = call(session.pack, budget=5_000, profile=profile)
            assert packed.to_openai()[0]["content"] == [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "https://a.b/c.png", "detail": "low"}},
            ]
            assert packed.warnings == ()

    def test_a_file_for_mistral_is_a_document_at_a_url(self, session: Scope, call: Call) -> None:
        file = {"type": "file", "file": {"filename": "kilns.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}}
        call(session.messages.append, {"role": "user", "content": [file]})
        packed = call(session.pack, budget=9_000, profile="mistral")
        [sent] = packed.to_openai()
        url = "data:application/pdf;base64,JVBERi0="
        document = {"type": "document_url", "document_url": url, "document_name": "kilns.pdf"}
        assert sent["content"] == [document]
        assert packed.tokens <= call(session.pack, budget=9_000).tokens + 9
        call(session.messages.append, {"role": "user", "content": [document]})
        for profile in PROVIDERS:
            prompt = call(session.pack, budget=20_000, profile=profile).to_openai()
            assert prompt[-1]["content"] == ([document] if profile == "mistral" else [file])
            assert violations(profile, prompt) == []
        assert call(session.pack, budget=20_000).to_openai()[-1]["content"] == [document]

    def test_b132_what_has_an_equal_form_is_converted(self, session: Scope, call: Call) -> None:
        talk: Talk = [
            {"role": "user", "content": [{"text": "A long handbook."}, {"cachePoint": {"type": "default"}}]},
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
                    {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {}}},
                ],
            },
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "sunny"}]}}]},
        ]
        call(session.messages.append, talk)
        sent = call(session.pack, budget=5_000, profile="anthropic").to_openai()
        assert violations("anthropic", sent) == []
        marked = {"type": "text", "text": "A long handbook.", "cache_control": {"type": "ephemeral"}}
        assert sent[0]["content"] == [marked]
        assert sent[1]["content"] == [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]
        plain = call(session.pack, budget=5_000, profile="openai")
        assert violations("openai", plain.to_openai()) == []
        [warning] = plain.warnings
        assert warning.startswith("openai takes no cachePoint, reasoningContent: left out of ")
        assert call(session.pack, budget=5_000, profile="bedrock").to_openai()[0]["content"][1] == talk[0]["content"][1]

    def test_b132_no_message_is_empty_for_what_was_left_out_of_it(self, session: Scope, call: Call) -> None:
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
        paper = {"type": "document", "title": "kilns.pdf", "source": {"type": "file", "file_id": "file_1"}}
        found = {"type": "tool_reference", "tool_name": "weather"}
        function = {"name": "search", "arguments": "{}"}
        talk: Talk = [
            {"role": "user", "content": [paper]},
            {"role": "assistant", "content": [thought]},
            {"role": "user", "content": [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}]},
            {"role": "user", "content": "And?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "t1", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "t1", "content": [found]},
        ]
        call(session.messages.append, talk)
        for profile in ("openai", "mistral", "gemini", "bedrock"):
            packed = call(session.pack, budget=5_000, profile=profile, reasoning="all")
            sent = packed.to_openai()
            told = [each["content"] for each in sent if each["role"] != "assistant"]
            assert [block[0]["text"] if isinstance(block, list) else block for block in told] == [
                "[document: kilns.pdf]", "And?", "[tool_reference]",
            ]  # fmt: skip
            assert violations(profile, sent) == []
            assert all(each["content"] or each.get("tool_calls") for each in sent)
            assert len(packed.warnings) == 1

    @pytest.mark.parametrize(
        "block",
        [
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "980 degrees"}},
            {"text": "980 degrees"},
        ],
    )
    def test_b132_a_result_that_holds_a_block_of_another_api_is_a_result(
        self, session: Scope, call: Call, block: dict[str, Any]
    ) -> None:
        function = {"name": "look", "arguments": "{}"}
        talk: Talk = [
            {"role": "user", "content": "How hot?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "t", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "t", "content": [{"type": "text", "text": "see"}, block]},
        ]
        call(session.messages.append, talk)
        assert [(each.role, each.tool_call_id) for each in call(session.messages.all)][1:] == [
            ("assistant", None),
            ("tool", "t"),
        ]
        for profile in get_args(ProviderProfile):
            prompt = call(session.pack, budget=9_000, profile=profile).to_openai()
            assert [each["role"] for each in prompt][:3] == ["user", "assistant", "tool"]
            assert violations("anthropic" if profile == "any" else profile, prompt) == []

    def test_b135_a_document_that_anthropic_alone_can_read_comes_back_as_it_was(
        self, session: Scope, call: Call
    ) -> None:
        pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
        linked = {"type": "document", "source": {"type": "url", "url": "https://a.b/kilns.pdf"}}
        cited = {"type": "document", "source": pdf, "title": "Kilns", "citations": {"enabled": True}}
        call(session.messages.append, {"role": "user", "content": [linked, cited]})
        assert call(session.pack, budget=20_000).to_openai()[0]["content"] == [linked, cited]
        file = {"type": "file", "file": {"filename": "Kilns", "file_data": "data:application/pdf;base64,JVBERi0="}}
        [sent] = call(session.pack, budget=20_000, profile="openai").to_openai()
        assert sent["content"] == [{"type": "text", "text": "[document]\nhttps://a.b/kilns.pdf"}, file]

    def test_b130_thoughts_that_are_not_sent_anyway_are_not_warned_of(self, session: Scope, call: Call) -> None:
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
        said = {"role": "assistant", "content": [thought, {"type": "text", "text": "Yes."}]}
        talk: Talk = [{"role": "user", "content": "Warm?"}, said, {"role": "user", "content": "Sure?"}]
        call(session.messages.append, talk)
        packed = call(session.pack, budget=500, profile="openai")
        assert packed.warnings == ()
        assert [each.blocks_left_out for each in packed.included] == [(), (), ()]
