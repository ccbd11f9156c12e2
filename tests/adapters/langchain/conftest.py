"""A chat model that says what it was told to say and remembers every prompt it was given."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

import wmem


class Scripted(BaseChatModel):
    """Answers with `replies` in order, then with "Fine."; an exception among them is raised."""

    # Any: validation would try to make messages of the exceptions.
    replies: list[Any] = Field(default_factory=list)
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    schemas: list[list[dict[str, Any]]] = Field(default_factory=list)
    max_tokens: int | None = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.prompts.append(list(messages))
        self.schemas.append(kwargs.get("tools", []))
        reply = self.replies.pop(0) if self.replies else AIMessage("Fine.")
        if isinstance(reply, Exception):
            raise reply
        return ChatResult(generations=[ChatGeneration(message=reply.model_copy())])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, None, **kwargs)


class Script(Protocol):
    """Makes a scripted model."""

    def __call__(self, *replies: str | AIMessage | Exception, **fields: Any) -> Scripted: ...


@pytest.fixture
def script() -> Script:
    def make(*replies: str | AIMessage | Exception, **fields: Any) -> Scripted:
        said = [AIMessage(reply) if isinstance(reply, str) else reply for reply in replies]
        return Scripted(replies=said, **fields)

    return make


Run = Callable[..., Awaitable[Any]]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    """Invokes an agent or a runnable in one mode or the other."""

    async def invoke(runnable: Any, given: Any, **options: Any) -> Any:
        if request.param == "async":
            return await runnable.ainvoke(given, **options)
        return runnable.invoke(given, **options)

    return invoke


@pytest.fixture(params=["memory", "disk"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a memory is that a second opening finds again."""
    return f"memory://{tmp_path.name}" if request.param == "memory" else f"disk://{tmp_path / 'store'}"


@pytest.fixture
def opened(url: str) -> Iterator[wmem.AgentMemory]:
    """An open memory; what it holds in process memory lives as long as it is open."""
    with wmem.open(url, agent_id="agent-7") as memory:
        yield memory


@pytest.fixture
def memory() -> Iterator[wmem.AgentMemory]:
    """An open memory for what does not depend on where it is kept."""
    with wmem.open("memory://", agent_id="agent-7") as memory:
        yield memory
