"""Who holds the talk: agents and chat engines, each with a memory of wmem's or with one that its framework brings."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer, Memory
from pydantic import Field

import wmem
from langchain_wmem import WmemMiddleware
from llamaindex_wmem import WmemMemory
from tests.bench.talk import BUDGET, LIMIT, RESERVE, Prompt, Talker, Turn
from wmem.analysis.summarize import WeightedText, extract
from wmem.tokens.counter import default_counter

__all__ = ["AGENT", "ENGINE", "WINDOWED", "count_bytes", "open_agents", "open_engines"]

AGENT, WINDOWED, ENGINE = "WmemMiddleware", "WmemMiddleware(window=20)", "WmemMemory"

_MESSAGE_TOKENS = 4  # what a provider adds to each message, about
_SUMMARY_TOKENS = 400
_WINDOW = 20  # messages, as many as SummarizationMiddleware keeps
_SYSTEM = "You help with the planning of a trade fair. Answer briefly, and say so when you do not know."


# --- LangChain -------------------------------------------------------------------------------------------------------


class _Speaker(BaseChatModel):
    """Says what the turn has it say, and keeps the prompts."""

    replies: list[AIMessage] = Field(default_factory=list)
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    schemas: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        self.schemas[:] = [convert_to_openai_tool(each) for each in tools]
        return self.bind(tools=self.schemas, **kwargs)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.prompts.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.replies.pop(0))])

    def pop_prompts(self) -> list[Prompt]:
        count, sent = default_counter(), self.prompts[:]
        self.prompts.clear()
        fixed = count(json.dumps(self.schemas))
        texts = [[f"{each.text}{_show_calls(each)}" for each in prompt] for prompt in sent]
        return [Prompt(each, fixed + sum(count(text) + _MESSAGE_TOKENS for text in each)) for each in texts]


def _show_calls(message: BaseMessage) -> str:
    return json.dumps(message.tool_calls) if isinstance(message, AIMessage) and message.tool_calls else ""


class _Trimming(AgentMiddleware[Any, Any, Any]):
    """`trim_messages` before each call, as LangChain's guides have it."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        trimmed = trim_messages(
            request.messages,
            max_tokens=self._limit,
            token_counter=count_tokens_approximately,
            strategy="last",
            start_on="human",
            end_on=("human", "tool"),
        )
        return handler(request.override(messages=trimmed))


def _summarize(messages: Sequence[BaseMessage]) -> str:
    """Their best sentences: an extract in place of what a model would write."""
    texts = [WeightedText(str(each.text), 1.0) for each in messages]
    return extract(texts, _SUMMARY_TOKENS, default_counter()).text


def _agent_talker(*middleware: AgentMiddleware[Any, Any, Any]) -> Talker:
    model, saver, answers = _Speaker(), InMemorySaver(), list[str]()

    @tool
    def archive(question: str) -> str:
        """Look something up in the archive of the fair."""
        return answers[-1]

    agent: Any = create_agent(model, [archive], system_prompt=_SYSTEM, middleware=middleware, checkpointer=saver)

    def say(turn: Turn) -> None:
        model.replies[:] = [AIMessage(turn.answer)]
        if turn.found:
            answers.append(turn.found)
            called = {"name": "archive", "args": {"question": "plans"}, "id": f"call-{len(answers)}"}
            model.replies.insert(0, AIMessage("", tool_calls=[called]))
        agent.invoke({"messages": [HumanMessage(turn.text)]}, {"configurable": {"thread_id": "fair"}})

    return Talker(say, model.pop_prompts, lambda: count_bytes((saver.storage, saver.writes, saver.blobs)))


def count_bytes(stored: object) -> int:
    """All bytes in nested containers."""
    if isinstance(stored, bytes):
        return len(stored)
    if isinstance(stored, Mapping):
        return count_bytes(tuple(stored.values()))
    return sum(map(count_bytes, stored)) if isinstance(stored, tuple | list) else 0


@contextmanager
def open_agents() -> Iterator[dict[str, Talker]]:
    """An agent with each of LangChain's ways to keep a limit, and with wmem's: all remember by a checkpointer."""
    # The peers are told what the system text and the tool's schema leave of the limit.
    fixed = _agent_talker()
    fixed.say(Turn("", "", ""))
    left = LIMIT - fixed.pop_prompts()[0].tokens
    with wmem.open("memory://", agent_id="bench") as memory, wmem.open("memory://", agent_id="bench") as other:
        whole = WmemMiddleware(memory, budget=BUDGET, reserve=RESERVE)
        trimmed = WmemMiddleware(other, budget=BUDGET, reserve=RESERVE, window=_WINDOW)
        summarizing = SummarizationMiddleware(_Speaker(), trigger=("tokens", left), summarizer=_summarize)
        yield {
            AGENT: _agent_talker(whole),
            WINDOWED: _agent_talker(trimmed),
            "trim_messages": _agent_talker(_Trimming(left)),
            "SummarizationMiddleware": _agent_talker(summarizing),
        }


# --- LlamaIndex ------------------------------------------------------------------------------------------------------


def _engine_talker(memory: BaseMemory) -> Talker:
    answers, prompts = list[str](), list[list[str]]()

    def respond(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        prompts.append([each.content or "" for each in messages])
        return ChatMessage(role="assistant", content=answers.pop(0))

    llm = MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory, system_prompt=_SYSTEM)

    def say(turn: Turn) -> None:
        answers[:] = [turn.answer]
        engine.chat(turn.text)

    def pop_prompts() -> list[Prompt]:
        count, sent = default_counter(), prompts[:]
        prompts.clear()
        return [Prompt(each, sum(count(text) + _MESSAGE_TOKENS for text in each)) for each in sent]

    return Talker(say, pop_prompts)


@contextmanager
def open_engines() -> Iterator[dict[str, Talker]]:
    """A chat engine with each of LlamaIndex's memories, and with wmem's."""
    with wmem.open("memory://", agent_id="bench") as memory:
        yield {
            ENGINE: _engine_talker(WmemMemory.from_defaults(memory=memory, session_id="fair", token_limit=LIMIT)),
            "Memory": _engine_talker(Memory.from_defaults(session_id="fair", token_limit=LIMIT)),
            "ChatMemoryBuffer": _engine_talker(ChatMemoryBuffer.from_defaults(token_limit=LIMIT)),
        }
