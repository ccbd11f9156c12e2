"""A prompt goes through the providers' own packages: what their converters make of it is what the providers take.

Packages that are not installed are left out here; `tests/validators.py` has their converters in short, and the
property tests run on those.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

import wmem
from langchain_wmem import WmemMiddleware, from_langchain, to_langchain
from tests.adapters.langchain.conftest import Scripted
from tests.validators import (
    PROVIDERS,
    Provider,
    anthropic_violations,
    bedrock_violations,
    gemini_violations,
    mistral_violations,
    openai_violations,
    violations,
)
from wmem import Message
from wmem.tokens.counter import PROMPT_OVERHEAD, default_counter, message_tokens


def _openai(prompt: Sequence[BaseMessage]) -> list[str]:
    base = pytest.importorskip("langchain_openai.chat_models.base")
    return openai_violations([base._convert_message_to_dict(message) for message in prompt])


def _anthropic(prompt: Sequence[BaseMessage]) -> list[str]:
    models = pytest.importorskip("langchain_anthropic.chat_models")
    return anthropic_violations(*models._format_messages(prompt, model=None))


def _gemini(prompt: Sequence[BaseMessage]) -> list[str]:
    models = pytest.importorskip("langchain_google_genai.chat_models")
    system, contents = models._parse_chat_history(prompt)
    parts = [] if system is None else _to_dictionary(system)["parts"]
    return gemini_violations(parts, [_to_dictionary(each) for each in contents])


def _to_dictionary(content: Any) -> dict[str, Any]:
    """A `Content` of Google's SDK, or of the older one, as a dictionary with snake case."""
    dump = getattr(content, "model_dump", None)
    told: dict[str, Any] = type(content).to_dict(content) if dump is None else dump(mode="json", exclude_none=True)
    return told


def _mistral(prompt: Sequence[BaseMessage]) -> list[str]:
    models = pytest.importorskip("langchain_mistralai.chat_models")
    return mistral_violations([models._convert_message_to_mistral_chat_message(message) for message in prompt])


def _bedrock(prompt: Sequence[BaseMessage]) -> list[str]:
    models = pytest.importorskip("langchain_aws.chat_models.bedrock_converse")
    messages, system = models._messages_to_bedrock(list(prompt))
    return bedrock_violations(system, messages)


PACKAGES: dict[Provider, Callable[[Sequence[BaseMessage]], list[str]]] = dict(
    zip(PROVIDERS, (_openai, _anthropic, _gemini, _mistral, _bedrock), strict=True)
)
"""What each provider refuses of a list of LangChain messages, by its package's own converter."""

_PLAIN = {"role": "user", "content": "hi"}
_ANSWER = {"role": "assistant", "content": "hello"}
_CALL: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "functions.look:0", "type": "function", "function": {"name": "look up", "arguments": "{}"}}],
}
_RESULT = {"role": "tool", "tool_call_id": "functions.look:0", "content": "found"}


@pytest.mark.parametrize(
    ("provider", "fault", "said"),
    [
        ("openai", "name", [{**_PLAIN, "name": "José García"}]),
        ("openai", "name", [_PLAIN, _CALL, _RESULT]),
        ("openai", "not answered", [_PLAIN, _CALL, _PLAIN]),
        ("anthropic", "not the user's", [_ANSWER, _PLAIN]),
        ("anthropic", "twice", [_PLAIN, _CALL, _RESULT, _CALL, _RESULT]),
        ("gemini", "not directly behind", [_PLAIN, _ANSWER, _CALL, _RESULT]),
        ("mistral", "system after assistant", [_PLAIN, _ANSWER, {"role": "system", "content": "Be brief."}, _PLAIN]),
        ("mistral", "neither content nor calls", [_PLAIN, {"role": "assistant", "content": ""}, _PLAIN]),
        ("bedrock", "breaks the alternation", [_ANSWER, _PLAIN]),
    ],
)
def test_a_fault_is_found_in_the_dictionaries_as_in_what_the_package_makes_of_them(
    provider: Provider, fault: str, said: Sequence[dict[str, Any]]
) -> None:
    messages = [Message.from_openai(each) for each in said]
    assert any(fault in each for each in violations(provider, [message.to_openai() for message in messages]))
    assert any(fault in each for each in PACKAGES[provider](to_langchain(messages)))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_ordinary_conversation_has_no_fault(provider: Provider) -> None:
    system = {"role": "system", "content": "Be kind."}
    function = {"name": "look_up", "arguments": '{"q": 1}'}
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    said: list[dict[str, Any]] = [system, _PLAIN, call, {**_RESULT, "tool_call_id": "c1"}, _ANSWER, _PLAIN]
    messages = [Message.from_openai(each) for each in said]
    assert violations(provider, [message.to_openai() for message in messages]) == []
    assert PACKAGES[provider](to_langchain(messages)) == []


_BLOCKS: dict[str, tuple[set[Provider], dict[str, Any]]] = {
    "thinking": (
        {"anthropic", "gemini", "bedrock"}, {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    ),
    "redacted": ({"anthropic"}, {"type": "redacted_thinking", "data": "c2ln"}),
    "Converse reasoning": (
        {"bedrock"}, {"type": "reasoning_content", "reasoning_content": {"text": "Hm.", "signature": "c2ln"}},
    ),
    "Mistral's thinking": ({"mistral"}, {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}),
    "v1 reasoning": ({"gemini"}, {"type": "reasoning", "reasoning": "Hm."}),
    "server tool": ({"anthropic"}, {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
    "result of one": (
        {"anthropic"},
        {
            "type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1",
            "content": {"type": "code_execution_result", "stdout": "42", "return_code": 0, "content": []},
        },
    ),
    "compaction": ({"anthropic"}, {"type": "compaction", "content": "They spoke of kilns."}),
    "code": ({"gemini"}, {"type": "executable_code", "executable_code": "6 * 7", "language": "PYTHON"}),
}  # fmt: skip
_USER_BLOCKS: dict[str, tuple[set[Provider], dict[str, Any]]] = {
    "document": ({"anthropic"}, {"type": "document", "source": {"type": "text", "data": "Kilns are hot."}}),
    "text-plain": ({"anthropic"}, {"type": "text-plain", "text": "Kilns are hot.", "mime_type": "text/plain"}),
    "uploaded": ({"anthropic"}, {"type": "document", "source": {"type": "file", "file_id": "file_1"}}),
    "search result": (
        {"anthropic", "bedrock"},
        {"type": "search_result", "source": "https://a.b", "title": "T", "content": [{"type": "text", "text": "hot"}]},
    ),
    "input_file": (
        set(), {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
    ),
    "cache point": ({"bedrock"}, {"cachePoint": {"type": "default"}}),
}  # fmt: skip


@pytest.mark.parametrize("name", [*_BLOCKS, *_USER_BLOCKS])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_b132_the_package_takes_what_is_made_of_a_block_of_another_provider(
    memory: wmem.AgentMemory, provider: Provider, name: str
) -> None:
    takers, block = {**_BLOCKS, **_USER_BLOCKS}[name]
    words = {"type": "text", "text": "It is hot."}
    said = [HumanMessage("How hot?"), AIMessage([block, words])] if name in _BLOCKS else [HumanMessage([words, block])]
    session = memory.scope("s")
    session.messages.append(from_langchain(said))
    packed = session.pack(budget=5_000, profile=provider, reasoning="all")
    prompt = packed.to_langchain()
    assert PACKAGES[provider](prompt) == []
    assert "It is hot." in str(prompt[-1].content)
    assert (prompt[-1].content == said[-1].content) == (provider in takers)
    assert session.pack(budget=5_000, reasoning="all").to_langchain()[-1].content == said[-1].content
    assert packed.tokens == PROMPT_OVERHEAD + sum(message_tokens(each, default_counter()) for each in packed.messages)


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"{at} is blue"


async def test_b134_an_agents_state_keeps_the_ids_that_its_prompts_do_not_have(
    run: Any, memory: wmem.AgentMemory
) -> None:
    use = {"type": "tool_use", "id": "functions.look:0", "name": "look", "input": {"at": "sky"}}
    call = AIMessage([use], tool_calls=[{"name": "look", "args": {"at": "sky"}, "id": "functions.look:0"}])
    model = Scripted(replies=[call, AIMessage("Blue.")])
    agent = create_agent(model, [look], middleware=[WmemMiddleware(memory, budget=5_000, session="s")])
    state = await run(agent, {"messages": [HumanMessage("What colour has the sky?", name="José García")]})
    assert [each.tool_call_id for each in state["messages"] if isinstance(each, ToolMessage)] == ["functions.look:0"]
    assert state["messages"][0].name == "José García"
    assert "functions.look:0" not in str(model.prompts[1])
    assert "sky is blue" in str(model.prompts[1])
    assert memory.scope("s").messages.all()[1].tool_calls[0].id == "functions.look:0"
    assert PACKAGES["openai"](model.prompts[1]) == []
