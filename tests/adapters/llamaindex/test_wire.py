"""What really leaves for a provider: LlamaIndex's OpenAI client against a server in this process."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.llms.openai_like import OpenAILike  # type: ignore[import-untyped]  # ships no types

from llamaindex_wmem import WmemMemory

# LlamaIndex's own agents use what pydantic has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")


class Provider:
    """Answers chat completions in turn and keeps the requests, as a provider sees them."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                provider.requests.append(asked)
                answer = provider.answers.pop(0) if provider.answers else {"content": "ok"}
                choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **answer}}
                body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
                sent = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def llm(self) -> OpenAILike:
        return OpenAILike(
            model="m",
            api_base=f"http://127.0.0.1:{self.server.server_port}/v1",
            api_key="none",
            is_chat_model=True,
            is_function_calling_model=True,
            max_retries=0,
        )

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def provider() -> Iterator[Callable[..., Provider]]:
    made: list[Provider] = []

    def _make(*answers: dict[str, Any]) -> Provider:
        made.append(Provider(*answers))
        return made[-1]

    yield _make
    for each in made:
        each.close()


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def calling(*calls: tuple[str, str]) -> dict[str, Any]:
    asked = [
        {"id": id_, "type": "function", "function": {"name": "add", "arguments": arguments}} for id_, arguments in calls
    ]
    return {"content": None, "tool_calls": asked}


def _on_the_wire(calls: object) -> str:
    return json.dumps(calls, separators=(",", ":"))


def agent(provider: Provider) -> FunctionAgent:
    return FunctionAgent(tools=[add], llm=provider.llm, streaming=False)


@pytest.mark.slow
async def test_B75_a_session_of_one_provider_is_replayed_to_another(
    make: Callable[..., WmemMemory], provider: Callable[..., Provider]
) -> None:
    memory = make()
    first = provider(calling(("c1", '{"a":1,"b":2}'), ("c2", '{"a":3,"b":4}')), {"content": "3 and 7"})
    await agent(first).run("add", memory=memory)
    asked = memory.get_all()[1]
    assert [block.tool_call_id for block in asked.blocks if isinstance(block, ToolCallBlock)] == ["c1", "c2"]
    assert asked.additional_kwargs == {}, "the first provider's objects stay behind"
    json.dumps(asked.model_dump(mode="json"))

    second = provider({"content": "yes"})
    await agent(second).run("sure?", memory=memory)
    sent = second.requests[0]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert [call["id"] for call in sent[1]["tool_calls"]] == ["c1", "c2"]
    assert [call["function"]["arguments"] for call in sent[1]["tool_calls"]] == ['{"a":1,"b":2}', '{"a":3,"b":4}']
    assert [message.get("tool_call_id") for message in sent[2:4]] == ["c1", "c2"]


@pytest.mark.slow
async def test_no_request_for_a_new_question_exceeds_the_limit(
    make: Callable[..., WmemMemory], provider: Callable[..., Provider]
) -> None:
    memory = make(token_limit=300)
    for turn in range(6):
        asked = provider(calling((f"c{turn}", '{"a":1,"b":2}')), {"content": f"It is 3. {'Really. ' * 20 * turn}"})
        await agent(asked).run(f"What is 1 + 2, asked the {turn}. time?", memory=memory)
        sent = asked.requests[0]["messages"]
        tokens = sum(len(memory.tokenizer_fn(message["content"] or "")) for message in sent)
        tokens += sum(len(memory.tokenizer_fn(_on_the_wire(m["tool_calls"]))) for m in sent if "tool_calls" in m)
        assert tokens <= 300
        answered = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
        called = [call["id"] for message in sent for call in message.get("tool_calls", ())]
        assert answered == called
    assert len(memory.get_all()) == 24
