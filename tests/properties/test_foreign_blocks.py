"""Blocks that one provider alone takes, in prompts for each of them: valid, charged as they are sent, never empty."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.charging import rendered_tokens
from tests.matrix import examples
from tests.validators import PROVIDERS, Provider, violations
from wmem.errors import BudgetError
from wmem.tokens.counter import default_counter
from wmem.types import Reasoning

COUNT = default_counter()
PROSE = "The kiln was fired again and the glaze came out too dark. "
PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
TEXT = {"type": "text", "text": PROSE}
SIGNATURE = "c2ln" * 60
shown: list[dict[str, Any]] = [
    {"type": "document", "title": "Kilns", "source": {"type": "text", "media_type": "text/plain", "data": PROSE * 20}},
    {"type": "document", "source": {"type": "content", "content": [TEXT]}, "context": "A handbook"},
    {"type": "document", "title": "Kilns", "source": PDF, "citations": {"enabled": True}},
    {"type": "document", "source": {"type": "url", "url": "https://a.b/kilns.pdf"}},
    {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
    {"type": "image", "source": {"type": "file", "file_id": "file_2"}},
    {"type": "search_result", "title": "Kilns", "source": "https://a.b", "content": [TEXT, TEXT]},
    {"type": "container_upload", "file_id": "file_3"},
    {"type": "input_image", "image_url": "https://a.b/kiln.png"},
    {"type": "input_file", "filename": "kilns.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
    {"guardContent": {"text": {"text": PROSE, "qualifiers": ["query"]}}},
    {"document": {"name": "kilns", "format": "txt", "source": {"text": PROSE}}},
    {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://kilns/one.png"}}}},
    {"cachePoint": {"type": "default"}},
    {**TEXT, "cache_control": {"type": "ephemeral"}},
]
thought: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": PROSE * 8, "signature": SIGNATURE},
    {"type": "redacted_thinking", "data": SIGNATURE},
    {"reasoningContent": {"reasoningText": {"text": PROSE, "signature": SIGNATURE}}},
    {"reasoningContent": {"redactedContent": SIGNATURE}},
    {"type": "thinking", "thinking": [TEXT]},
]
ran: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "kilns"}},
    {
        "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "title": "Kilns", "url": "a.b", "encrypted_content": SIGNATURE}],
    },
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "look", "server_name": "s", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [TEXT]},
    {"type": "compaction", "content": PROSE},
    {"citationsContent": {"content": [{"text": PROSE}], "citations": []}},
    {"type": "text", "text": PROSE, "citations": [{"type": "char_location", "cited_text": PROSE, "document_index": 0}]},
]  # fmt: skip
found: list[dict[str, Any]] = [shown[6], {"type": "tool_reference", "tool_name": "look"}, shown[0], TEXT]


def several(blocks: list[dict[str, Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(st.sampled_from([*blocks, TEXT]), min_size=1, max_size=3)


@st.composite
def exchanges(draw: st.DrawFn) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": f"t{draw(st.integers(0, 10**6))}", "name": "look", "input": {}}
    said = [*draw(st.lists(st.sampled_from(thought), max_size=1)), use]
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": draw(several(found))}
    return [{"role": "assistant", "content": said}, {"role": "user", "content": [result]}]


spoken = st.one_of(
    st.builds(lambda blocks: [{"role": "user", "content": blocks}], several(shown)),
    # Reasoning alone, if nobody signed it, is nothing said.
    st.builds(lambda blocks: [{"role": "assistant", "content": [*blocks, TEXT]}], several([*thought, *ran])),
)
turns = st.one_of(
    spoken, exchanges(), st.builds(lambda blocks: [{"role": "assistant", "content": blocks}], several([*thought, *ran]))
)


def to_talk(
    of: st.SearchStrategy[list[dict[str, Any]]],
) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(of, min_size=1, max_size=6).map(lambda each: [message for turn in each for message in turn])


@examples(2)
@given(
    talk=to_talk(turns),
    budget=st.integers(100, 6_000),
    provider=st.sampled_from(PROVIDERS),
    reasoning=st.sampled_from(["tools", "all"]),
    stable=st.booleans(),
)
def test_b132_a_prompt_for_another_is_valid_and_charged_as_it_is_sent(
    talk: list[dict[str, Any]], budget: int, provider: Provider, reasoning: Reasoning, stable: bool
) -> None:
    with wmem.open("memory://", agent_id="a", counter=COUNT) as memory:
        session = memory.scope("s")
        session.messages.append([*talk, {"role": "user", "content": "And how hot is it?"}])
        try:
            packed = session.pack("kilns", budget=budget, profile=provider, reasoning=reasoning, stable=stable)
        except BudgetError:
            return
        assert session.pack("kilns", budget=budget, profile=provider, reasoning=reasoning, stable=stable) == packed
    prompt = packed.to_openai()
    assert violations(provider, prompt) == []
    assert all(each["content"] or each.get("tool_calls") for each in prompt)
    sent = rendered_tokens(prompt, COUNT)
    assert 0.98 * sent <= packed.tokens <= min(budget, 1.25 * sent + 3)
    told = [warning for warning in packed.warnings if " takes no " in warning]
    lost = [each.blocks_left_out for each in (*packed.included, *packed.truncated)]
    assert len(told) == any(lost)


@examples(1)
@given(talk=to_talk(spoken))
def test_b135_below_the_budget_they_go_back_as_they_came(talk: list[dict[str, Any]]) -> None:
    talk = [{"role": "user", "content": "Hi"}, *talk]
    with wmem.open("memory://", agent_id="a", counter=COUNT) as memory:
        session = memory.scope("s")
        session.messages.append(talk)
        packed = session.pack(budget=100_000, reasoning="all")
    assert packed.to_openai() == talk
    assert packed.warnings == ()
