"""A turn that failed, was cancelled or interrupted leaves what was said of its answer, told as incomplete, and why."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver

import wmem
from langchain_wmem import WmemMiddleware
from tests.adapters.langchain.conftest import Scripted

THREAD: Any = {"configurable": {"thread_id": "t"}}
QUESTION: Any = {"messages": [HumanMessage("When does it close?")]}


class Breaking(Scripted):
    """Streams the beginning of its first answer, and then fails, or waits for ever."""

    failure: Any = None
    reached: Any = None

    def _begin(self, messages: list[BaseMessage]) -> list[str]:
        self.prompts.append(list(messages))
        return ["The harbour ", "closes "] if len(self.prompts) == 1 else ["Fine."]

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        texts = self._begin(messages)
        yield from (ChatGenerationChunk(message=AIMessageChunk(content=text)) for text in texts)
        if len(texts) > 1:
            raise self.failure

    async def _astream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        texts = self._begin(messages)
        for text in texts:
            yield ChatGenerationChunk(message=AIMessageChunk(content=text))
        if len(texts) > 1:
            if self.reached is not None:
                self.reached.set()
                await asyncio.Event().wait()
            raise self.failure


@pytest.fixture(params=["sync", "async"])
def stream(request: pytest.FixtureRequest) -> Any:
    """Streams an agent's tokens to their end."""

    async def consume(agent: Any, given: Any) -> None:
        if request.param == "sync":
            for _ in agent.stream(given, THREAD, stream_mode="messages"):
                pass
        else:
            async for _ in agent.astream(given, THREAD, stream_mode="messages"):
                pass

    return consume


def newest(memory: wmem.AgentMemory) -> wmem.Message:
    return memory.scope("t").messages.all()[-1]


@pytest.mark.parametrize(("failure", "why"), [(ConnectionError("gone"), "error"), (TimeoutError(), "timeout")])
async def test_a_stream_that_breaks_off_leaves_what_it_said_until_the_question_is_answered(
    stream: Any, opened: wmem.AgentMemory, failure: Exception, why: str
) -> None:
    model = Breaking(failure=failure)
    agent = create_agent(model, middleware=[WmemMiddleware(opened, budget=4_000)], checkpointer=InMemorySaver())
    with pytest.raises(type(failure)):
        await stream(agent, QUESTION)
    left = newest(opened)
    assert (left.role, left.text, left.complete) == ("assistant", "The harbour closes ", False)
    assert left.metadata["stopped"] == why
    assert left.turn_id == opened.scope("t").messages.all()[0].id
    # As without wmem: the thread's state has no such answer.
    await stream(agent, {"messages": [HumanMessage("Please go on.")]})
    assert [each.text for each in model.prompts[1]] == ["When does it close?", "Please go on."]
    assert [each.text for each in opened.scope("t").messages.withdrawn()] == ["The harbour closes "]


async def test_a_run_that_is_cancelled_leaves_what_was_said(memory: wmem.AgentMemory) -> None:
    model = Breaking(reached=asyncio.Event())
    agent = create_agent(model, middleware=[WmemMiddleware(memory, budget=4_000)], checkpointer=InMemorySaver())

    async def consume() -> None:
        async for _ in agent.astream(QUESTION, THREAD, stream_mode="messages"):
            pass

    task = asyncio.create_task(consume())
    await model.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (newest(memory).text, newest(memory).metadata["stopped"]) == ("The harbour closes ", "cancelled")


async def test_of_a_run_that_is_repeated_only_the_whole_answer_stays(stream: Any, memory: wmem.AgentMemory) -> None:
    model = Breaking(failure=ConnectionError("gone"))
    agent = create_agent(model, middleware=[WmemMiddleware(memory, budget=4_000, session="t")])
    with pytest.raises(ConnectionError):
        await stream(agent, {"messages": [("user", "When does it close?")]})
    await stream(agent, {"messages": [("user", "When does it close?")]})
    assert [each.text for each in memory.scope("t").messages.all()] == ["When does it close?", "Fine."]


@pytest.mark.parametrize("new_saver", [lambda: None, InMemorySaver], ids=["no checkpointer", "checkpointer"])
async def test_of_a_call_that_is_repeated_only_the_whole_answer_stays(
    stream: Any, memory: wmem.AgentMemory, new_saver: Any
) -> None:
    model = Breaking(failure=ConnectionError("gone"))
    retrying: Any = ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    agent = create_agent(
        model, middleware=[retrying, WmemMiddleware(memory, budget=4_000, session="t")], checkpointer=new_saver()
    )
    await stream(agent, QUESTION)
    await stream(agent, {"messages": [HumanMessage("And when does it open?")]})
    assert [each.text for each in model.prompts[2]] == ["When does it close?", "Fine.", "And when does it open?"]


async def test_a_call_fails_with_its_own_error_though_what_was_said_cannot_be_stored(
    stream: Any, memory: wmem.AgentMemory
) -> None:
    class Closing(Breaking):
        def _begin(self, messages: list[BaseMessage]) -> list[str]:
            memory.close()
            return super()._begin(messages)

    agent = create_agent(
        Closing(failure=ConnectionError("gone")), middleware=[WmemMiddleware(memory, budget=4_000, session="t")]
    )
    with pytest.raises(ConnectionError):
        await stream(agent, QUESTION)


async def test_what_a_guard_would_have_looked_at_is_not_left(stream: Any, memory: wmem.AgentMemory) -> None:
    class Moderating(AgentMiddleware[Any, Any, Any]):
        def after_model(self, state: Any, runtime: Any) -> None:
            return None

    model = Breaking(failure=ConnectionError("gone"))
    agent = create_agent(
        model, middleware=[Moderating(), WmemMiddleware(memory, budget=4_000)], checkpointer=InMemorySaver()
    )
    with pytest.raises(ConnectionError):
        await stream(agent, QUESTION)
    assert newest(memory).text == "When does it close?"


async def test_listening_hides_no_callback_of_the_caller(memory: wmem.AgentMemory) -> None:
    class Counting(BaseCallbackHandler):
        tokens = 0

        def on_llm_new_token(self, token: Any, **_: Any) -> None:
            self.tokens += 1

    counting = Counting()
    agent = create_agent(
        Breaking(failure=ConnectionError()), middleware=[WmemMiddleware(memory, budget=4_000, session="t")]
    )
    with pytest.raises(ConnectionError):
        for _ in agent.stream(QUESTION, {"callbacks": [counting]}, stream_mode="messages"):
            pass
    assert counting.tokens == 2


async def test_a_call_that_nobody_answered_before_the_next_question_is_incomplete(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    def look(town: str) -> str:
        """Look at a town."""
        return town

    call = AIMessage("I look.", tool_calls=[{"name": "look", "args": {"town": "Bern"}, "id": "c"}])
    agent = create_agent(
        script(call, "Hello."),
        [look],
        middleware=[WmemMiddleware(memory, budget=4_000)],
        checkpointer=InMemorySaver(),
        interrupt_before=["tools"],
    )
    await run(agent, {"messages": [HumanMessage("Rain?")]}, config=THREAD)
    await run(agent, {"messages": [HumanMessage("Never mind.")]}, config=THREAD)
    left = memory.scope("t").messages.all()[1]
    assert (left.text, left.complete, left.metadata) == ("I look.", False, {"stopped": "interrupted"})
