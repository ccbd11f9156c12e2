"""The ceiling of a model call: a number, a share of its window, by default all of it; and whose rules it obeys."""

import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelFallbackMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

import wmem
from langchain_wmem import WmemMiddleware
from langchain_wmem._models import bound_arguments, input_window, provider_profile
from tests.adapters.langchain.conftest import Scripted
from tests.adapters.langchain.test_usage import long_talk, ours
from wmem.errors import InvalidInputError

WINDOW, RESERVE = 2_000, 200


@tool
def rain(town: str) -> str:
    """Whether it rains in a town."""
    return f"No rain in {town}."


def user(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def windowed(tokens: int, *replies: object, **fields: Any) -> Scripted:
    return Scripted(replies=list(replies), profile={"max_input_tokens": tokens}, **fields)


def remembering(memory: wmem.AgentMemory, **options: Any) -> WmemMiddleware:
    return WmemMiddleware(memory, **{"reserve": RESERVE, "session": "s", **options})


class Claude(Scripted):
    """Speaks as Anthropic's models do."""

    @property
    def _llm_type(self) -> str:
        return "anthropic-chat"


class Gpt(Scripted):
    """Speaks as OpenAI's models do."""

    @property
    def _llm_type(self) -> str:
        return "openai-chat"


# --- A number, a share, the window ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "ceiling"), [(None, WINDOW), (1.0, WINDOW), (0.5, WINDOW // 2), (1_000, 1_000)])
async def test_a_budget_is_a_number_a_share_of_the_model_s_window_or_all_of_it(
    run: Any, memory: wmem.AgentMemory, budget: float | None, ceiling: int
) -> None:
    long_talk(memory, turns=70)
    model = windowed(WINDOW)
    agent = create_agent(model, [rain], middleware=[remembering(memory, budget=budget)], system_prompt="Be brief.")
    await run(agent, user("What of the fair in town 7?"))
    [prompt], [schemas] = model.prompts, model.schemas
    assert 0.85 * (ceiling - RESERVE) < ours(prompt, schemas) <= ceiling - RESERVE


async def test_each_call_has_the_window_of_the_model_that_it_is_routed_to(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory, turns=70)
    first, second = windowed(WINDOW, RuntimeError("down")), windowed(WINDOW // 2)
    middleware: list[Any] = [ModelFallbackMiddleware(second), remembering(memory)]
    await run(create_agent(first, middleware=middleware), user("What of the fair in town 7?"))
    [large], [small] = first.prompts, second.prompts
    assert WINDOW // 2 < ours(large) <= WINDOW - RESERVE
    assert WINDOW // 4 < ours(small) <= WINDOW // 2 - RESERVE


@pytest.mark.parametrize("told", [None, {}, {"max_input_tokens": 0}])
async def test_a_model_without_a_window_is_refused_before_it_is_called_and_nothing_is_lost(
    run: Any, memory: wmem.AgentMemory, told: Any
) -> None:
    model = Scripted(profile=told)
    with pytest.raises(InvalidInputError, match=r"Scripted.*pass budget= as a number"):
        await run(create_agent(model, middleware=[remembering(memory)]), {"messages": [HumanMessage("Hi", id="1")]})
    assert model.prompts == []
    await run(
        create_agent(windowed(WINDOW), middleware=[remembering(memory)]), {"messages": [HumanMessage("Hi", id="1")]}
    )
    assert [message.text for message in memory.scope("s").messages.all()] == ["Hi", "Fine."]


async def test_a_model_without_a_window_that_others_fall_back_to_gets_the_smallest_they_had(
    run: Any, memory: wmem.AgentMemory
) -> None:
    long_talk(memory, turns=70)
    first, second = windowed(WINDOW, RuntimeError("down")), Scripted()
    middleware: list[Any] = [ModelFallbackMiddleware(second), remembering(memory)]
    await run(create_agent(first, middleware=middleware), user("What of the fair in town 7?"))
    assert ours(second.prompts[0]) <= WINDOW - RESERVE


async def test_a_conversation_below_the_window_is_sent_as_it_is(run: Any, memory: wmem.AgentMemory) -> None:
    given: list[BaseMessage] = [HumanMessage("One", id="1"), AIMessage("Two", id="2"), HumanMessage("Three", id="3")]
    plain, model = windowed(WINDOW), windowed(WINDOW)
    await run(create_agent(plain), {"messages": list(given)})
    await run(create_agent(model, middleware=[remembering(memory)]), {"messages": list(given)})
    assert model.prompts == plain.prompts


# --- Whose rules ------------------------------------------------------------------------------------------------------


class Routing(AgentMiddleware[Any, Any, Any]):
    """Sends every call to another model."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(model=self.model))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(model=self.model))


def thinking() -> list[BaseMessage]:
    said: list[str | dict[Any, Any]] = [
        {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
        {"type": "text", "text": "It rains."},
    ]
    calls = [{"name": "rain", "args": {"town": "Bern"}, "id": "call-1"}]
    return [HumanMessage("Rain?", id="1"), AIMessage(said, tool_calls=calls, id="2")]


def kinds(prompt: Sequence[BaseMessage]) -> set[object]:
    blocks = [block for message in prompt if isinstance(message.content, list) for block in message.content]
    return {block["type"] for block in blocks if isinstance(block, dict)}


async def test_the_profile_auto_is_that_of_the_model_of_each_call(run: Any, memory: wmem.AgentMemory) -> None:
    talk = [*thinking(), ToolMessage("No.", tool_call_id="call-1", id="3")]
    claude, gpt, down = Claude(), Gpt(), Claude(replies=[RuntimeError("down")])
    routed = create_agent(Gpt(), middleware=[Routing(claude), remembering(memory, budget=WINDOW)])
    await run(routed, {"messages": list(talk)})
    fallen: list[Any] = [ModelFallbackMiddleware(gpt), remembering(memory, budget=WINDOW, session="t")]
    await run(create_agent(down, middleware=fallen), {"messages": list(talk)})
    assert "thinking" in kinds(claude.prompts[0])
    assert "thinking" in kinds(down.prompts[0])
    assert "thinking" not in kinds(gpt.prompts[0])


def gpt_5(**fields: Any) -> ChatOpenAI:
    return ChatOpenAI(model_name="gpt-5", openai_api_key=SecretStr("none"), **fields)


def test_the_model_is_found_behind_what_wraps_it() -> None:
    model, window = gpt_5(), gpt_5().profile["max_input_tokens"]  # type: ignore[index]  # it has a profile
    configurable: Any = model.configurable_fields(temperature=ConfigurableField("temperature"))
    alternatives: Any = Claude().configurable_alternatives(ConfigurableField("which"), gpt=model)
    for wrapped in (
        model,
        model.bind(stop=["x"]),
        model.bind_tools([rain]).with_config(tags=["a"]),
        model.with_retry(),
        model.with_structured_output({"title": "a", "type": "object", "properties": {}}),
        model.with_fallbacks([gpt_5()]),
        configurable,
        alternatives.with_config(configurable={"which": "gpt"}),
        alternatives.bind(stop=["x"]).with_config(configurable={"which": "gpt"}),
        model | RunnableLambda(str),
    ):
        assert (provider_profile(wrapped), input_window(wrapped)) == ("openai", window)
    assert provider_profile(alternatives) == "anthropic"
    assert provider_profile(model.with_fallbacks([Claude()])) == "any"
    assert input_window(model.with_fallbacks([windowed(WINDOW)])) == WINDOW
    assert [each["function"]["name"] for each in bound_arguments(model.bind_tools([rain]).with_retry())["tools"]] == [
        "rain"
    ]
    for no_model in (None, "gpt-5", RunnableLambda(str)):
        assert (provider_profile(no_model), input_window(no_model)) == ("any", None)


async def test_a_model_that_each_run_configures_is_known_in_that_run(run: Any, memory: wmem.AgentMemory) -> None:
    bodies: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Fine."}}
        return httpx.Response(
            200, json={"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        )

    async def aanswer(request: httpx.Request) -> httpx.Response:
        return answer(request)

    long_talk(memory, turns=70)
    model: Any = init_chat_model(
        model_provider="openai",
        configurable_fields=("model", "profile"),
        api_key="none",
        http_client=httpx.Client(transport=httpx.MockTransport(answer)),
        http_async_client=httpx.AsyncClient(transport=httpx.MockTransport(aanswer)),
    )
    config = {"configurable": {"model": "gpt-5", "profile": {"max_input_tokens": 1_000}}}
    middleware = remembering(memory, budget=1.0)
    await run(create_agent(model, middleware=[middleware]), user("What of the fair?"), config=config)
    context = middleware.last_context("s")
    assert context is not None
    assert (context.budget, bodies[0]["model"]) == (1_000, "gpt-5")
