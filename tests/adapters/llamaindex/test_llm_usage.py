"""What `WmemLLM` learns from replies and refusals; OpenAI's integration and client call an endpoint in here."""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias
from uuid import uuid4

import httpx
import openai
import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse
from llama_index.core.llms.llm import LLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.llms.openai import OpenAI
from pydantic import BaseModel

import wmem
from llamaindex_wmem import PromptTooLargeError, WmemLLM, WmemMemory
from llamaindex_wmem._provider import is_overflow, read_prompt_tokens
from tests.adapters.llamaindex.test_engines import Make, Script, talk
from wmem.errors import BudgetError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")]
COUNT = wmem.TiktokenCounter()
BUDGET, RESERVE = 1_200, 100


class Endpoint:
    """OpenAI's chat completions: counts a prompt, refuses what is above its window, and reports usage.

    Args:
        window: The most tokens of a prompt.
        factor: Its tokens for one of wmem's.
    """

    def __init__(self, window: int = 10**9, factor: float = 1.0) -> None:
        self.window = window
        self.factor = factor
        self.prompts: list[int] = []
        """Tokens of each prompt, refused ones included."""
        self.requests: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        told = json.loads(request.content)
        self.requests.append(told)
        tokens = int(self.factor * (3 + sum(self._tokens(each) for each in told["messages"]) + self._tools(told)))
        self.prompts.append(tokens)
        if tokens > self.window:
            message = f"This model's maximum context length is {self.window} tokens."
            error = {"message": message, "type": "invalid_request_error", "code": "context_length_exceeded"}
            return httpx.Response(400, json={"error": error})
        usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
        base = {"id": "x", "created": 1, "model": "gpt-4o"}
        if not told.get("stream"):
            text = '{"name": "Ann"}' if "response_format" in told else "ok"
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            return httpx.Response(200, json={**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        piece = {"index": 0, "finish_reason": None, "delta": {"role": "assistant", "content": "ok"}}
        pieces = [{**base, "object": "chat.completion.chunk", "choices": [piece]}]
        pieces.append({**base, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        body = "".join(f"data: {json.dumps(each)}\n\n" for each in pieces) + "data: [DONE]\n\n"
        return httpx.Response(200, text=body, headers={"content-type": "text/event-stream"})

    def _tokens(self, message: dict[str, Any]) -> int:
        return 4 + COUNT(str(message.get("content") or ""))

    def _tools(self, told: dict[str, Any]) -> int:
        return sum(COUNT(json.dumps(tool)) for tool in told.get("tools") or ())

    @property
    def llm(self) -> OpenAI:
        transport = httpx.MockTransport(self)
        return OpenAI(
            model="gpt-4o",
            api_key="none",
            max_retries=0,
            http_client=httpx.Client(transport=transport),
            async_http_client=httpx.AsyncClient(transport=transport),
            additional_kwargs={},
        )


@pytest.fixture
def url() -> str:
    """A store in memory."""
    return f"memory://{uuid4().hex}"


@pytest.fixture
def memory(make: Make) -> WmemMemory:
    held = make()
    held.put_messages([*talk(120), ChatMessage(role="user", content="And now?")])
    return held


Way: TypeAlias = Callable[[LLM, Sequence[ChatMessage]], Any]


async def chat(llm: LLM, messages: Sequence[ChatMessage]) -> None:
    llm.chat(messages)


async def achat(llm: LLM, messages: Sequence[ChatMessage]) -> None:
    await llm.achat(messages)


async def stream_chat(llm: LLM, messages: Sequence[ChatMessage]) -> None:
    assert [each.delta for each in llm.stream_chat(messages, stream_options={"include_usage": True})] == ["ok", ""]


async def astream_chat(llm: LLM, messages: Sequence[ChatMessage]) -> None:
    stream = await llm.astream_chat(messages, stream_options={"include_usage": True})
    assert [each.delta async for each in stream] == ["ok", ""]


WAYS = [chat, achat, stream_chat, astream_chat]


@pytest.mark.parametrize("way", WAYS)
async def test_usage_that_a_reply_reports_keeps_later_prompts_below_the_budget_in_the_models_tokens(
    memory: WmemMemory, way: Way
) -> None:
    endpoint = Endpoint(factor=1.6)
    llm = WmemLLM(endpoint.llm, memory, budget=BUDGET, reserve=RESERVE)
    for _ in range(3):
        await way(llm, memory.get())
    first, *later = endpoint.prompts
    assert first > BUDGET - RESERVE
    assert max(later) <= BUDGET - RESERVE
    assert min(later) > (BUDGET - RESERVE) / 2
    assert llm.calibrations.factor("gpt-4o") >= 1.5


@pytest.mark.parametrize("way", WAYS)
async def test_a_prompt_that_the_provider_refuses_is_sent_once_more_with_half_of_the_conversation(
    memory: WmemMemory, way: Way
) -> None:
    endpoint = Endpoint(window=BUDGET - RESERVE, factor=1.6)
    llm = WmemLLM(endpoint.llm, memory, budget=BUDGET, reserve=RESERVE)
    await way(llm, memory.get())
    assert [tokens > endpoint.window for tokens in endpoint.prompts] == [True, False]
    await way(llm, memory.get())
    assert [tokens > endpoint.window for tokens in endpoint.prompts] == [True, False, False]


@pytest.mark.parametrize("way", WAYS)
async def test_a_prompt_that_fits_the_budget_and_is_refused_is_packed(memory: WmemMemory, way: Way) -> None:
    endpoint = Endpoint(window=1_500)
    llm = WmemLLM(endpoint.llm, memory)
    await way(llm, memory.get())
    assert [tokens > 1_500 for tokens in endpoint.prompts] == [True, False]
    assert endpoint.requests[1]["messages"][-1]["content"] == "And now?"


@pytest.mark.parametrize("way", WAYS)
async def test_the_second_refusal_is_the_callers(memory: WmemMemory, way: Way) -> None:
    endpoint = Endpoint(window=10)
    llm = WmemLLM(endpoint.llm, memory, budget=BUDGET, reserve=RESERVE)
    with pytest.raises(openai.BadRequestError, match="maximum context length"):
        await way(llm, memory.get())
    assert len(endpoint.prompts) == 2


@pytest.mark.parametrize("way", WAYS)
async def test_a_refused_prompt_that_cannot_be_made_smaller_is_not_sent_again(memory: WmemMemory, way: Way) -> None:
    endpoint = Endpoint(window=10)
    with pytest.raises(openai.BadRequestError, match="maximum context length") as raised:
        await way(WmemLLM(endpoint.llm, memory), [ChatMessage(role="system", content="word " * 50), memory.get()[-1]])
    assert isinstance(raised.value.__cause__, BudgetError)
    assert len(endpoint.prompts) == 1


@pytest.mark.parametrize("way", WAYS)
async def test_another_error_is_not_retried(memory: WmemMemory, way: Way) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(429, json={"error": {"message": "Rate limit: tokens per minute", "code": "rate_limit"}})

    asked: list[httpx.Request] = []
    transport = httpx.MockTransport(refuse)
    inner = OpenAI(
        model="gpt-4o",
        api_key="none",
        max_retries=0,
        http_client=httpx.Client(transport=transport),
        async_http_client=httpx.AsyncClient(transport=transport),
    )
    with pytest.raises(openai.RateLimitError):
        await way(WmemLLM(inner, memory, budget=BUDGET, reserve=RESERVE), memory.get())
    assert len(asked) == 1


async def test_an_agent_recovers_from_a_refusal_in_the_middle_of_a_turn(memory: WmemMemory) -> None:
    endpoint = Endpoint(window=BUDGET - RESERVE, factor=1.6)
    llm = WmemLLM(endpoint.llm, memory, budget=BUDGET, reserve=RESERVE)
    for streaming in (True, False):
        answer = await FunctionAgent(llm=llm, tools=[], streaming=streaming).run("And?", memory=memory)
        assert str(answer) == "ok"
    assert [tokens > endpoint.window for tokens in endpoint.prompts] == [True, False, False]


class Form(BaseModel):
    name: str


async def test_a_structured_reply_is_asked_for_as_the_wrapped_model_does(memory: WmemMemory) -> None:
    sent = []
    for wrapped in (False, True):
        endpoint = Endpoint()
        llm: LLM = WmemLLM(endpoint.llm, memory) if wrapped else endpoint.llm
        answer = llm.as_structured_llm(Form).chat(memory.get()[-3:])
        assert answer.raw == Form(name="Ann")
        assert (await llm.as_structured_llm(Form).achat(memory.get()[-3:])).raw == Form(name="Ann")
        sent.append(endpoint.requests)
    assert sent[0] == sent[1]
    endpoint = Endpoint()
    WmemLLM(endpoint.llm, memory, budget=BUDGET, reserve=RESERVE).as_structured_llm(Form).chat(memory.get())
    assert max(endpoint.prompts) <= BUDGET - RESERVE
    assert "response_format" in endpoint.requests[0]


def test_what_leaves_no_room_is_an_error_with_sizes(memory: WmemMemory) -> None:
    endpoint = Endpoint()
    llm = WmemLLM(endpoint.llm, memory, budget=300, reserve=100)
    with pytest.raises(PromptTooLargeError, match=r"system \d+.*budget") as raised:
        llm.chat([ChatMessage(role="system", content="word " * 400), *memory.get()])
    assert isinstance(raised.value.__cause__, BudgetError)
    assert endpoint.prompts == []


# --- usage and refusals of others ------------------------------------------------------------------------------------

REPORTS: dict[str, tuple[dict[str, Any], int]] = {
    "openai": ({"usage": {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}}, 7),
    "anthropic": (
        {"usage": {"input_tokens": 7, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 100}},
        127,
    ),
    "gemini": ({"usage_metadata": {"prompt_token_count": 7, "cached_content_token_count": 3}}, 7),
    "bedrock": ({"usage": {"inputTokens": 7, "cacheReadInputTokens": 20}}, 27),
    "ollama": ({"prompt_eval_count": 7}, 7),
    "none": ({"usage": None}, 0),
    "nonsense": ({"usage": {"prompt_tokens": "many"}}, 0),
}


@pytest.mark.parametrize(
    "schemas",
    [
        {"tools": [{"name": "look"}]},
        {"functions": [{"name": "look"}]},
        {"response_format": Form},
        {"response_format": {"type": "json_object"}},
        {"tools": [object()]},
    ],
)
def test_what_is_sent_beside_the_messages_counts(memory: WmemMemory, schemas: dict[str, Any]) -> None:
    llm = WmemLLM(Script().llm, memory)
    llm.chat(memory.get(), **schemas)
    told = llm.last_context()
    assert told is not None
    assert told.sizes["tools"] > 8


@pytest.mark.parametrize("provider", REPORTS)
def test_the_tokens_of_a_prompt_are_read_from_every_providers_report(provider: str) -> None:
    raw, tokens = REPORTS[provider]
    assert read_prompt_tokens(ChatResponse(message=ChatMessage(), raw=raw)) == tokens
    assert read_prompt_tokens(CompletionResponse(text="", raw=raw)) == tokens


def test_usage_that_comes_with_the_message_is_read() -> None:
    message = ChatMessage(role="assistant", additional_kwargs={"usage": {"input_tokens": 7, "output_tokens": 1}})
    assert read_prompt_tokens(ChatResponse(message=message, raw={"type": "message_delta"})) == 7


class ProviderError(Exception):
    """As the clients of providers raise it."""

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code


@pytest.mark.parametrize(
    ("error", "is_refusal"),
    [
        (ProviderError("prompt is too long: 210000 tokens > 200000 maximum", 400), True),
        (ProviderError("The input token count (9) exceeds the maximum number of tokens allowed (8).", 400), True),
        (ProviderError("Prompt contains 9 tokens, too large for model with 8 maximum context length", 400), True),
        (ProviderError("An error occurred (ValidationException): Input is too long for requested model."), True),
        (ProviderError("the request exceeds the available context size, try increasing it", 400), True),
        (ProviderError("Please reduce the length of the messages or completion.", 413), True),
        (ValueError("The prompt has 9 tokens, which is too long for the model."), True),
        (ProviderError("Too many tokens, please wait before trying again.", 429), False),
        (ProviderError("Rate limit reached: maximum context tokens per minute", 429), False),
        (ProviderError("Invalid schema for function", 400), False),
        (ProviderError("maximum context", 500), False),
    ],
)
def test_a_refusal_is_known_by_what_providers_say(error: Exception, is_refusal: bool) -> None:
    assert is_overflow(error) is is_refusal


def test_a_reply_without_usage_teaches_nothing(memory: WmemMemory) -> None:
    llm = WmemLLM(MockFunctionCallingLLM(is_chat_model=True), memory, budget=BUDGET)
    llm.chat(memory.get())
    assert llm.calibrations.factor() == 1.0
