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
from langchain_wmem import WmemMiddleware, to_langchain
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


def _openai(prompt: Sequence[BaseMessage]) -> list[str]:
    base = pytest.importorskip("langchain_openai.chat_models.base")
    return openai_violations([base._convert_message_to_dict(message) for message in prompt])


def _anthropic(prompt: Sequence[BaseMessage]) -> list[str]:
    models = pytest.importorskip("langchain_anthropic.chat_models")
    return anthropic_violations(*models._format_messages(prompt, model=None))


def _gemini(prompt: Sequence[BaseMessage]) -> list[str]:
    models = pytest.importorskip("langchain_google_genai.chat_models")
    system, contents = models._parse_chat_history(prompt)
    parts = [] if system is None else type(system).to_dict(system)["parts"]
    return gemini_violations(parts, [type(each).to_dict(each) for each in contents])


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
