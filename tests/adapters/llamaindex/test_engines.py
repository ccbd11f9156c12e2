"""`WmemMemory` inside LlamaIndex's own chat engines and agents, with a scripted model that records its prompts."""

import asyncio
import copy
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.workflow import Context, JsonSerializer

from llamaindex_wmem import WmemMemory

# LlamaIndex's own agents use what pydantic has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")

Make = Callable[..., WmemMemory]


class Script:
    """Answers in turn, and every prompt the model was sent."""

    def __init__(self, *answers: str | ChatMessage | Exception) -> None:
        self.answers = list(answers)
        self.prompts: list[list[ChatMessage]] = []

    def __call__(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self.prompts.append(copy.deepcopy(list(messages)))
        answer = self.answers.pop(0) if self.answers else "ok"
        if isinstance(answer, Exception):
            raise answer
        return ChatMessage(role="assistant", content=answer) if isinstance(answer, str) else answer

    @property
    def llm(self) -> MockFunctionCallingLLM:
        return MockFunctionCallingLLM(response_generator=self, is_chat_model=True)

    @property
    def word_by_word(self) -> MockFunctionCallingLLM:
        """The same, streamed; only for answers of words."""
        return MockFunctionCallingLLM(response_generator=self._words, is_chat_model=True)

    def _words(self, messages: Sequence[ChatMessage], **_: Any) -> Any:
        return Words(self(messages).content or "")


class Words:
    """What the mock model streams from, whichever mode it is asked in."""

    def __init__(self, text: str) -> None:
        self.words = [f"{word} " for word in text.split()]

    def __iter__(self) -> Iterator[ChatMessage]:
        yield from (ChatMessage(role="assistant", content=word) for word in self.words)

    async def __aiter__(self) -> AsyncGenerator[ChatMessage, None]:
        for word in self.words:
            await asyncio.sleep(0)
            yield ChatMessage(role="assistant", content=word)


def said(messages: Sequence[ChatMessage]) -> list[tuple[str, str | None]]:
    return [(message.role.value, message.content) for message in messages]


def talk(turns: int) -> list[ChatMessage]:
    return [
        message
        for turn in range(turns)
        for message in (
            ChatMessage(role="user", content=f"question {turn} about the weather"),
            ChatMessage(role="assistant", content=f"answer {turn}: it rains again today"),
        )
    ]


def calling(*calls: tuple[str, str, dict[str, Any]]) -> ChatMessage:
    blocks = [ToolCallBlock(tool_call_id=id_, tool_name=name, tool_kwargs=told) for id_, name, told in calls]
    return ChatMessage(role="assistant", blocks=blocks)


def tokens_of(memory: WmemMemory, prompt: Sequence[ChatMessage]) -> int:
    return sum(len(memory.tokenizer_fn(message.content or "")) for message in prompt)


async def asked(engine: Any, how: str, question: str, **given: Any) -> str:
    """Put a question to a chat engine in one of its four ways and wait until all is written."""
    if how == "chat":
        return str(engine.chat(question, **given))
    if how == "achat":
        return str(await engine.achat(question, **given))
    if how == "stream_chat":
        streamed = engine.stream_chat(question, **given)
        return "".join(streamed.response_gen)  # its end waits for the thread that writes
    streamed = await engine.astream_chat(question, **given)
    return "".join([token async for token in streamed.async_response_gen()])  # its end waits for the task that writes


WAYS = ["chat", "achat", "stream_chat", "astream_chat"]


class Facts(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text="Rain is wet."), score=1.0)]


def simple(memory: WmemMemory, script: Script, **given: Any) -> Any:
    return SimpleChatEngine.from_defaults(memory=memory, llm=script.word_by_word, **given)


def context(memory: WmemMemory, script: Script, **given: Any) -> Any:
    return ContextChatEngine.from_defaults(retriever=Facts(), memory=memory, llm=script.llm, **given)


def condense(memory: WmemMemory, script: Script, **given: Any) -> Any:
    return CondensePlusContextChatEngine.from_defaults(
        retriever=Facts(), memory=memory, llm=script.llm, skip_condense=True, **given
    )


# --- chat engines ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", WAYS)
async def test_a_chat_engine_remembers_its_turns(make: Make, how: str) -> None:
    memory, script = make(), Script("hello Ann", "you are Ann")
    engine = SimpleChatEngine.from_defaults(
        memory=memory, llm=script.llm if "stream" not in how else script.word_by_word
    )
    await asked(engine, how, "I am Ann")
    await asked(engine, how, "who am I?")
    turns = [("user", "I am Ann"), ("assistant", "hello Ann"), ("user", "who am I?"), ("assistant", "you are Ann")]
    assert said(memory.get_all()) == turns
    assert said(script.prompts[1]) == turns[:3]


@pytest.mark.parametrize("how", ["chat", "achat"])
@pytest.mark.parametrize("engine_of", [context, condense])
async def test_engines_that_retrieve_show_the_history_and_store_the_question_once(
    make: Make, engine_of: Callable[..., Any], how: str
) -> None:
    memory, script = make(), Script("hello Ann", "you are Ann")
    engine = engine_of(memory, script)
    await asked(engine, how, "I am Ann")
    await asked(engine, how, "who am I?")
    turns = [("user", "I am Ann"), ("assistant", "hello Ann"), ("user", "who am I?"), ("assistant", "you are Ann")]
    assert said(memory.get_all()) == turns
    assert "I am Ann" in str(script.prompts[-1])


@pytest.mark.parametrize("how", ["chat", "achat"])
async def test_no_prompt_of_a_chat_engine_exceeds_the_limit(make: Make, how: str) -> None:
    memory, script = make(token_limit=300), Script()
    engine = SimpleChatEngine.from_defaults(memory=memory, llm=script.llm, system_prompt="You are terse. " * 20)
    for turn in range(15):
        await asked(engine, how, f"question {turn}: {'why ' * turn * 5}")
    assert len(memory.get_all()) == 30
    assert max(tokens_of(memory, prompt) for prompt in script.prompts) <= 300
    assert all(prompt[-1].role == MessageRole.USER for prompt in script.prompts)


async def test_a_session_goes_on_after_a_restart_and_recalls_what_no_longer_fits(tmp_path: Path) -> None:
    url = f"disk://{tmp_path / 'store'}"
    for turn in range(20):
        memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", token_limit=250)
        engine = SimpleChatEngine.from_defaults(memory=memory, llm=Script("noted").llm)
        await asked(engine, WAYS[turn % 2], f"It rained {turn} hours again." if turn else "My dog is called Biscuit.")
        memory.close()
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", token_limit=250)
    script = Script("Biscuit")
    SimpleChatEngine.from_defaults(memory=memory, llm=script.llm).chat("What is my dog called?")
    assert "Biscuit" in str(script.prompts[0])
    assert tokens_of(memory, script.prompts[0]) <= 250
    memory.close()


@pytest.mark.parametrize("how", ["stream_chat", "astream_chat"])
async def test_B85_the_question_is_stored_though_the_reader_leaves_the_stream(make: Make, how: str) -> None:
    memory, script = make(), Script("one two three four")
    engine = simple(memory, script)
    if how == "stream_chat":
        streamed = engine.stream_chat("count")
        tokens = streamed.response_gen
        assert [next(tokens), next(tokens)] == ["one ", "two "]
        streamed.write_response_to_history_thread.join()
    else:
        streamed = await engine.astream_chat("count")
        atokens = streamed.async_response_gen()
        assert [await anext(atokens), await anext(atokens)] == ["one ", "two "]
        await streamed.awrite_response_to_history_task
    # LlamaIndex reads the model's stream to its end by itself: the whole answer is what was said.
    assert said(memory.get_all()) == [("user", "count"), ("assistant", "one two three four")]


@pytest.mark.parametrize("how", ["chat", "achat"])
async def test_B89_a_question_that_got_no_answer_is_there_once_when_the_next_one_comes(make: Make, how: str) -> None:
    memory, script = make(), Script(RuntimeError("the model is down"), "now it works")
    engine = SimpleChatEngine.from_defaults(memory=memory, llm=script.llm)
    with pytest.raises(RuntimeError, match="down"):
        await asked(engine, how, "first")
    await asked(engine, how, "second")
    assert said(memory.get_all()) == [("user", "first"), ("user", "second"), ("assistant", "now it works")]


# --- agents ----------------------------------------------------------------------------------------------------------


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent(script: Script, *, streaming: bool = True, **given: Any) -> FunctionAgent:
    return FunctionAgent(tools=[add], llm=script.llm, streaming=streaming, system_prompt="Be brief.", **given)


ADDING = calling(("c1", "add", {"a": 1, "b": 2}), ("c2", "add", {"a": 3, "b": 4}))
STORED = [("user", "add"), ("assistant", None), ("tool", "3"), ("tool", "7"), ("assistant", "3 and 7")]


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_agent_with_parallel_calls_is_remembered_with_calls_and_results(make: Make, streaming: bool) -> None:
    memory, script = make(), Script(ADDING, "3 and 7", "still 3 and 7")
    await agent(script, streaming=streaming).run("add", memory=memory)
    await agent(script, streaming=streaming).run("again?", memory=memory)
    history = memory.get_all()
    assert said(history) == [*STORED, ("user", "again?"), ("assistant", "still 3 and 7")]
    assert history[1].blocks == ADDING.blocks
    assert [message.additional_kwargs for message in history[2:4]] == [{"tool_call_id": "c1"}, {"tool_call_id": "c2"}]
    assert said(script.prompts[2]) == [("system", "Be brief."), *STORED, ("user", "again?")]


@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")
async def test_an_agent_that_reasons_in_text_is_remembered(make: Make) -> None:
    memory = make()
    script = Script(
        'Thought: I must add.\nAction: add\nAction Input: {"a": 1, "b": 2}',
        "Thought: I can answer.\nAnswer: It is 3.",
        "Thought: I can answer.\nAnswer: I said 3.",
    )
    reasoning = ReActAgent(tools=[add], llm=script.llm, streaming=False)
    await reasoning.run("What is 1 + 2?", memory=memory)
    await reasoning.run("What did you say?", memory=memory)
    history = memory.get_all()
    assert history[0] == ChatMessage(role="user", content="What is 1 + 2?")
    assert "I said 3." in (history[-1].content or "")
    assert "What is 1 + 2?" in str(script.prompts[-1])


async def test_a_workflow_of_agents_hands_one_memory_over(make: Make) -> None:
    memory = make()
    handing = calling(("h1", "handoff", {"to_agent": "second", "reason": "it knows"}))
    first = FunctionAgent(
        name="first", description="asks", tools=[add], llm=Script(handing).llm, can_handoff_to=["second"]
    )
    last = Script("I am the second")
    second = FunctionAgent(name="second", description="answers", tools=[add], llm=last.llm)
    answer = await AgentWorkflow(agents=[first, second], root_agent="first").run("who?", memory=memory)
    assert str(answer) == "I am the second"
    assert said(memory.get_all())[0] == ("user", "who?")
    assert said(memory.get_all())[-1] == ("assistant", "I am the second")


async def test_history_that_an_agent_is_handed_back_is_not_stored_twice(make: Make) -> None:
    memory, script = make(), Script(ADDING, "3 and 7", "yes")
    await agent(script).run("add", memory=memory)
    await agent(script).run("sure?", chat_history=await memory.aget(), memory=memory)
    assert said(memory.get_all()) == [*STORED, ("user", "sure?"), ("assistant", "yes")]


@pytest.mark.parametrize("saved", [False, True])
async def test_B110_an_agent_that_is_handed_what_memory_shows_removes_nothing_of_the_rest(
    make: Make, saved: bool
) -> None:
    memory, said_before = make(token_limit=300), talk(50)
    memory.put_messages(said_before)
    script = Script(ADDING, "3 and 7", "yes")
    before = agent(script)
    running = Context(before)
    history = await memory.aget()
    assert len(history) < 20
    await before.run("add", chat_history=history, memory=memory, ctx=running)
    if saved:
        running = Context.from_dict(before, running.to_dict(serializer=JsonSerializer()), serializer=JsonSerializer())
    # A client that keeps its own list goes on with it: what it was shown, and what was said since.
    since = [ChatMessage(role="user", content="add"), ChatMessage(role="assistant", content="3 and 7")]
    await before.run("sure?", chat_history=[*history, *since], memory=memory, ctx=running)
    assert said(memory.get_all()) == [*said(said_before), *STORED, ("user", "sure?"), ("assistant", "yes")]


@pytest.mark.parametrize("how", WAYS)
async def test_B110_a_chat_engine_that_is_handed_what_memory_shows_removes_nothing_of_the_rest(
    make: Make, how: str
) -> None:
    memory, said_before = make(token_limit=300), talk(50)
    memory.put_messages(said_before)
    script = Script("yes")
    engine = SimpleChatEngine.from_defaults(
        memory=memory, llm=script.llm if "stream" not in how else script.word_by_word
    )
    await asked(engine, how, "sure?", chat_history=memory.get("weather"))
    assert said(memory.get_all())[:-1] == [*said(said_before), ("user", "sure?")]
    assert tokens_of(memory, script.prompts[0]) <= 300


async def test_a_context_that_was_saved_as_json_goes_on_with_the_session(make: Make) -> None:
    memory, script = make(), Script(ADDING, "3 and 7", "yes")
    before = agent(script)
    running = Context(before)
    await before.run("add", ctx=running, memory=memory)
    saved = running.to_dict(serializer=JsonSerializer())
    after = agent(script)
    await after.run("sure?", ctx=Context.from_dict(after, saved, serializer=JsonSerializer()))
    assert said(memory.get_all()) == [*STORED, ("user", "sure?"), ("assistant", "yes")]
    assert said(script.prompts[-1])[1:] == [*STORED, ("user", "sure?")]


async def test_no_prompt_an_agent_gets_from_memory_exceeds_the_limit(make: Make) -> None:
    memory = make(token_limit=250)
    for turn in range(8):
        script = Script(ADDING, f"3 and 7, {'well ' * 10 * turn}")
        await agent(script).run(f"add, round {turn}", memory=memory)
        fresh = script.prompts[0][1:]  # without the agent's own system prompt
        assert tokens_of(memory, fresh) <= 250
        called = [b.tool_call_id for m in fresh for b in m.blocks if isinstance(b, ToolCallBlock)]
        answered = [m.additional_kwargs["tool_call_id"] for m in fresh if m.role == MessageRole.TOOL]
        assert called == answered
    assert len(memory.get_all()) == 8 * 5


async def test_agents_of_many_users_run_at_once(make: Make) -> None:
    memories = {name: make(session_id=name) for name in ("ann", "ben", "cleo")}
    scripts = {name: Script(ADDING, f"hello {name}") for name in memories}
    await asyncio.gather(*(agent(scripts[name]).run(f"I am {name}", memory=memories[name]) for name in memories))
    for name, memory in memories.items():
        history = said(memory.get_all())
        assert (history[0], history[-1]) == (("user", f"I am {name}"), ("assistant", f"hello {name}"))


async def test_B88_an_answer_that_was_never_given_is_not_replayed_and_the_next_run_works(make: Make) -> None:
    memory, script = make(), Script(ADDING, RuntimeError("blocked"), "fine")
    with pytest.raises(Exception, match="blocked"):
        await agent(script).run("add", memory=memory)
    await agent(script).run("again", memory=memory)
    assert said(script.prompts[-1])[1:] == [("user", "add"), ("user", "again")]


def handed_back(memory: WmemMemory) -> dict[str, list[ChatMessage]]:
    """What clients keep of a conversation."""
    view, stored = memory.get("weather"), memory.get_all()
    return {"view": view, "cut view": view[3:], "end": stored[-6:], "last": stored[-1:], "all": stored}


@pytest.mark.parametrize("which", ["view", "cut view", "end", "last", "all"])
async def test_an_agent_that_is_handed_a_part_of_what_is_stored_deletes_nothing(make: Make, which: str) -> None:
    memory, said_before = make(token_limit=300, stable=False), talk(50)
    memory.put_messages(said_before)
    script = Script("It rains.", "yes")
    await agent(script).run("weather?", chat_history=handed_back(memory)[which], memory=memory)
    assert said(memory.get_all()) == [*said(said_before), ("user", "weather?"), ("assistant", "It rains.")]
    # Without a message of its own it answers the last of the history.
    history = [*handed_back(memory)[which], ChatMessage(role="user", content="sure?")]
    if which != "last":
        await agent(script).run(chat_history=history, memory=memory)
        assert said(memory.get_all())[-2:] == [("user", "sure?"), ("assistant", "yes")]
        assert len(memory.get_all()) == len(said_before) + 4


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("which", ["cut view", "end", "last"])
async def test_an_engine_that_is_handed_a_part_of_what_is_stored_deletes_nothing(
    make: Make, how: str, which: str
) -> None:
    memory, said_before = make(token_limit=300), talk(50)
    memory.put_messages(said_before)
    script = Script("yes")
    engine = SimpleChatEngine.from_defaults(
        memory=memory, llm=script.llm if "stream" not in how else script.word_by_word
    )
    await asked(engine, how, "sure?", chat_history=handed_back(memory)[which])
    assert said(memory.get_all())[:-1] == [*said(said_before), ("user", "sure?")]
