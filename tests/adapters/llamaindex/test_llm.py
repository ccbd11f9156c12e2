"""`WmemLLM` in LlamaIndex's own agents and engines: the ceiling holds, and below it nothing changes."""

import copy
import json
import pickle
from collections.abc import AsyncGenerator, Callable, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata, ToolCallBlock
from llama_index.core.callbacks import CallbackManager, LlamaDebugHandler
from llama_index.core.llms.custom import CustomLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM, MockLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai.utils import to_openai_message_dicts
from pydantic import BaseModel

import wmem
from llamaindex_wmem import PromptTooLargeError, WmemLLM, WmemMemory
from llamaindex_wmem._recent_views import RECENT_VIEWS
from tests.adapters.llamaindex.test_engines import (
    WAYS,
    Make,
    Script,
    asked,
    calling,
    condense,
    context,
    simple,
    talk,
)
from wmem.errors import InvalidInputError

pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]
BUDGET, RESERVE = 2_400, 200
COUNT = wmem.TiktokenCounter()


async def look(place: int) -> str:
    """Look at a place, and tell all that is there."""
    return f"Place {place} holds the key number {place}{place}. " + f"There is dust on shelf {place}. " * 90


LOOK = FunctionTool.from_defaults(async_fn=look)


def tokens(prompt: Sequence[ChatMessage], *tools: FunctionTool) -> int:
    """Tokens of a prompt as OpenAI's integration renders it, without what a provider adds to each message."""
    told = [json.dumps(tool.metadata.to_openai_tool()) for tool in tools]
    rendered: Any = to_openai_message_dicts(prompt)
    for message in rendered:
        told += [str(message.get("content") or ""), *map(json.dumps, message.get("tool_calls", []))]
    return sum(map(COUNT, told))


@pytest.fixture
def url() -> str:
    """A store in memory: what a model needs of it, the memory's own tests prove on others."""
    return f"memory://{uuid4().hex}"


@pytest.fixture
def memory(make: Make) -> WmemMemory:
    """A session of forty turns, the first of which tells a name; all of it fits its own limit."""
    held = make()
    held.put_messages([ChatMessage(role="user", content="My dog is called Biscuit."), *talk(40)[1:]])
    return held


def wrap(script: Script, memory: WmemMemory, **options: Any) -> WmemLLM:
    return WmemLLM(script.llm, memory, **{"budget": BUDGET, "reserve": RESERVE, **options})


def looking(turns: int) -> list[str | ChatMessage]:
    return [*(calling((f"c{at}", "look", {"place": at})) for at in range(turns)), "done"]


def thinking(turns: int) -> list[str]:
    call = 'Thought: I look at {0}.\nAction: look\nAction Input: {{"place": {0}}}'
    return [*(call.format(at) for at in range(turns)), "Thought: done.\nAnswer: done"]


class Form(BaseModel):
    """A form with a name."""

    name: str


# --- the ceiling -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streaming", [True, False])
async def test_results_that_an_agent_holds_outside_memory_are_cut_to_the_budget(
    memory: WmemMemory, streaming: bool
) -> None:
    script = Script(*looking(6))
    agent = FunctionAgent(tools=[LOOK], llm=wrap(script, memory), streaming=streaming, system_prompt="Be brief.")
    await agent.run("Which keys are there? Look at six places.", memory=memory)
    assert max(tokens(prompt, LOOK) for prompt in script.prompts) <= BUDGET - RESERVE
    last = script.prompts[-1]
    assert [message.role.value for message in last][-13:] == ["user", *["assistant", "tool"] * 6]
    assert last[0].content == "Be brief."
    assert all(f"key number {place}{place}" in str(last) for place in range(6))
    assert len(memory.get_all()) == 80 + 1 + 12 + 1


@pytest.mark.parametrize("streaming", [True, False])
async def test_what_an_agent_that_reasons_in_text_observes_is_cut_to_the_budget(
    memory: WmemMemory, streaming: bool
) -> None:
    script = Script(*thinking(6))
    agent = ReActAgent(tools=[LOOK], llm=wrap(script, memory, budget=3_000), streaming=streaming)
    await agent.run("Which keys are there? Look at six places.", memory=memory)
    assert max(map(tokens, script.prompts)) <= 3_000 - RESERVE
    last = script.prompts[-1]
    assert [message.role.value for message in last] == ["system", "user", *["assistant", "user"] * 6]
    assert last[1].content == "Which keys are there? Look at six places."
    assert all(f"key number {place}{place}" in str(last) for place in range(6))
    assert [message.content for message in last[2::2]] == [
        each.replace('{"', "{'").replace('":', "':") for each in thinking(6)[:-1]
    ]


async def test_an_agent_with_another_memory_keeps_its_question_and_what_it_observed(memory: WmemMemory) -> None:
    script = Script(*thinking(6))
    agent = ReActAgent(tools=[LOOK], llm=wrap(script, memory, budget=3_000), streaming=False)
    await agent.run("Which keys are there? Look at six places.")
    last = script.prompts[-1]
    assert tokens(last) <= 3_000 - RESERVE
    assert [message.role.value for message in last] == ["system", "user", *["assistant", "user"] * 6]
    assert last[1].content == "Which keys are there? Look at six places."
    assert "Biscuit" not in str(last)


async def test_a_workflow_of_agents_stays_below_the_budget_with_its_state_around_the_question(
    memory: WmemMemory,
) -> None:
    handing = calling(("h1", "handoff", {"to_agent": "second", "reason": "it knows"}))
    scripts = Script(*looking(4)[:-1], handing), Script(*looking(4))
    first, second = (
        FunctionAgent(name=name, description=name, tools=[LOOK], llm=wrap(script, memory), can_handoff_to=["second"])
        for name, script in zip(("first", "second"), scripts, strict=True)
    )
    flow = AgentWorkflow(agents=[first, second], root_agent="first", initial_state={"mood": "calm"})
    await flow.run("Which keys are there?", memory=memory)
    prompts = scripts[0].prompts + scripts[1].prompts
    assert max(tokens(prompt, LOOK) for prompt in prompts) <= BUDGET - RESERVE
    assert all(str(prompt).count("Which keys are there?") == 1 for prompt in prompts)


async def test_a_question_with_an_agents_state_around_it_is_sent_once(memory: WmemMemory) -> None:
    script = Script("calm")
    agent = FunctionAgent(tools=[LOOK], llm=wrap(script, memory, budget=700), initial_state={"mood": "calm"})
    await agent.run("How is the mood?", memory=memory)
    [prompt] = script.prompts
    assert len(prompt) < 60
    assert [message.content for message in prompt if "How is the mood?" in (message.content or "")] == [
        prompt[-1].content
    ]
    assert "calm" in (prompt[-1].content or "")


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("engine_of", [simple, context, condense])
async def test_a_chat_engine_stays_below_the_budget_and_quotes_what_it_leaves_out(
    memory: WmemMemory, engine_of: Callable[..., Any], how: str
) -> None:
    script = Script("Biscuit")
    llm = WmemLLM(script.word_by_word if "stream" in how else script.llm, memory, budget=700, reserve=100)
    script_like: Any = SimpleNamespace(llm=llm, word_by_word=llm)
    memory.put_messages(talk(20))
    await asked(engine_of(memory, script_like), how, "What is my dog called?")
    [prompt] = script.prompts
    assert tokens(prompt) <= 600
    assert prompt[-1].content == "What is my dog called?"
    assert "Biscuit" in str(prompt)
    assert len(prompt) < 60


@pytest.mark.parametrize("mode", ["complete", "predict", "stream", "structured"])
async def test_a_prompt_that_is_not_of_the_session_is_cut_and_gets_nothing_of_it(memory: WmemMemory, mode: str) -> None:
    script = Script(*["done"] * 4)
    llm = wrap(script, memory, budget=500, reserve=100)
    text = "Sum up: " + "the weather in town 3 was grey. " * 300 + "End of text."
    if mode == "complete":
        # The mock's answer is what it was sent.
        sent = [llm.complete(text), await llm.acomplete(text), *llm.stream_complete(text)]
        sent += [each async for each in await llm.astream_complete(text)]
        script.prompts = [[ChatMessage(content=each.text)] for each in sent]
    elif mode == "predict":
        llm.predict(PromptTemplate("{text}"), text=text)
        await llm.apredict(PromptTemplate("{text}"), text=text)
    elif mode == "stream":
        "".join(llm.stream(PromptTemplate("{text}"), text=text))
        [each async for each in await llm.astream(PromptTemplate("{text}"), text=text)]
    else:
        for answer in (llm.structured_predict, llm.stream_structured_predict):
            script.answers = [calling(("c", "Form", {"name": "Ann"}))]
            found = answer(Form, PromptTemplate("{text}"), text=text)
            assert found == Form(name="Ann") if isinstance(found, Form) else list(found)
    assert len(script.prompts) == 2 if mode != "complete" else 4
    for prompt in script.prompts:
        assert tokens(prompt) <= 400
        assert len(prompt) == 1
        assert str(prompt[0].content).startswith("Sum up: ")
        assert str(prompt[0].content).endswith("End of text.")
        assert "Biscuit" not in str(prompt)


@pytest.mark.parametrize("fits", [True, False])
async def test_a_question_beside_the_history_is_sent_with_it(memory: WmemMemory, fits: bool) -> None:
    script = Script()
    llm = wrap(script, memory, budget=100_000 if fits else 700)
    question: dict[str, Any] = {"user_msg": "What is my dog called?", "chat_history": memory.get()}
    llm.chat_with_tools([LOOK], **question)
    await llm.achat_with_tools([LOOK], user_msg=ChatMessage(role="user", content="Called?"), chat_history=memory.get())
    list(llm.stream_chat_with_tools([LOOK], **question))
    [each async for each in await llm.astream_chat_with_tools([LOOK], **question)]
    llm.predict_and_call([LOOK], **question)
    assert len(script.prompts) == 5
    for prompt in script.prompts:
        assert (prompt[-1].content or "").endswith("alled?")
        assert (tokens(prompt, LOOK) <= 500) is not fits
        assert (len(prompt) == 81) is fits


class Completing(CustomLLM):
    """A model of completions, which notes what it was sent."""

    prompts: list[str]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text='{"name": "Ann"}')

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


async def test_a_form_that_is_asked_for_in_words_stays_below_the_budget(memory: WmemMemory) -> None:
    inner = Completing(prompts=[])
    llm = WmemLLM(inner, memory, budget=700, reserve=100)
    text = "Whose {name}? " + "the weather in town 3 was grey. " * 300 + "End."
    assert llm.structured_predict(Form, PromptTemplate("{text}"), text=text) == Form(name="Ann")
    assert await llm.astructured_predict(Form, PromptTemplate("{text}"), text=text) == Form(name="Ann")
    for prompt in inner.prompts:
        assert COUNT(prompt) <= 600
        assert "Whose {name}? " in prompt
        assert "JSON" in prompt


# --- below it --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streaming", [True, False])
async def test_below_the_budget_an_agent_sends_what_it_sends_without(make: Make, streaming: bool) -> None:
    sent = []
    for at, wrapped in enumerate((False, True)):
        memory = make(session_id=f"s{at}")
        script = Script(*looking(2), *thinking(2))
        llm = WmemLLM(script.llm, memory, budget=100_000) if wrapped else script.llm
        agent = FunctionAgent(tools=[LOOK], llm=llm, streaming=streaming, system_prompt="Be brief.")
        await agent.run("Look.", memory=memory)
        await ReActAgent(tools=[LOOK], llm=llm, streaming=streaming).run("Look again.", memory=memory)
        sent.append([[message.model_dump(mode="json") for message in prompt] for prompt in script.prompts])
        sent.append([[message.model_dump(mode="json") for message in memory.get_all()]])
    assert sent[0] == sent[2]
    assert sent[1] == sent[3]


async def test_below_the_budget_a_model_is_handed_the_very_objects(memory: WmemMemory) -> None:
    handed: list[Any] = []

    class Inner(MockFunctionCallingLLM):
        def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
            handed.append((messages, kwargs))
            answer: ChatResponse = super().chat(messages, **kwargs)
            return answer

    unusual = ChatMessage(role="user", content="hello", additional_kwargs={"odd": object()})
    messages = [*memory.get(), unusual]
    WmemLLM(Inner(), memory, budget=100_000).chat(messages, temperature=0.5)
    assert handed[0][0] is messages
    assert handed[0][1] == {"temperature": 0.5}


async def test_what_json_cannot_hold_is_sent_above_the_budget_too(memory: WmemMemory) -> None:
    script = Script("ok")
    odd = {"odd": object()}
    unusual = ChatMessage(role="user", content="hello", additional_kwargs=odd)
    wrap(script, memory, budget=500).chat([*memory.get(), unusual])
    assert script.prompts[0][-1].content == "hello"
    assert set(script.prompts[0][-1].additional_kwargs) == {"odd"}
    assert tokens([ChatMessage(role="user", content=each.content) for each in script.prompts[0]]) <= 300


async def test_a_stream_that_the_reader_leaves_is_closed_in_the_wrapped_model_too(memory: WmemMemory) -> None:
    closed: list[str] = []

    class Inner(MockFunctionCallingLLM):
        def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
            try:
                for word in ("one", "two"):
                    yield ChatResponse(message=ChatMessage(role="assistant", content=word), delta=word)
            finally:
                closed.append("sync")

        async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
            async def pieces() -> AsyncGenerator[ChatResponse, None]:
                try:
                    for word in ("one", "two"):
                        yield ChatResponse(message=ChatMessage(role="assistant", content=word), delta=word)
                finally:
                    closed.append("async")

            return pieces()

    llm = WmemLLM(Inner(), memory, budget=500, reserve=0)
    stream = llm.stream_chat(memory.get())
    assert next(stream).delta == "one"
    stream.close()
    assert closed == ["sync"]
    astream: Any = await llm.astream_chat(memory.get())
    assert (await anext(astream)).delta == "one"
    await astream.aclose()
    assert closed == ["sync", "async"]


@pytest.mark.parametrize("words", [[], ["one"], ["one", "two"]])
def test_a_stream_need_be_no_generator(memory: WmemMemory, words: list[str]) -> None:
    class Inner(MockFunctionCallingLLM):
        def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
            return [ChatResponse(message=ChatMessage(role="assistant", content=word), delta=word) for word in words]

    assert [each.delta for each in WmemLLM(Inner(), memory).stream_chat(memory.get())] == words


def test_calls_that_json_cannot_hold_are_sent_above_the_budget_too(memory: WmemMemory) -> None:
    script = Script("ok")
    odd = object()
    call = ChatMessage(
        role="assistant", blocks=[ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={"place": odd})]
    )
    result = ChatMessage(role="tool", content="dust " * 900, additional_kwargs={"tool_call_id": "c1"})
    wrap(script, memory, budget=700).chat([*memory.get(), ChatMessage(role="user", content="Look."), call, result])
    *_, asking, sent, found = script.prompts[0]
    assert asking.content == "Look."
    assert "place" in str(sent.blocks[0].tool_kwargs)
    assert found.additional_kwargs == {"tool_call_id": "c1"}
    assert COUNT(found.content or "") < 500


# --- what a session does not hold ------------------------------------------------------------------------------------


async def test_a_model_stores_nothing_of_what_it_is_handed(memory: WmemMemory) -> None:
    before = memory.get_all()
    script = Script("ok")
    wrap(script, memory, budget=500).chat([ChatMessage(role="system", content="x"), *memory.get(), *talk(30)])
    assert memory.get_all() == before
    assert memory.scope().stats().children == 0


@pytest.mark.parametrize("place", ["before", "within", "after"])
def test_messages_that_are_not_stored_stay_where_they_are(make: Make, place: str) -> None:
    memory, script = make(), Script("ok")
    memory.put_messages(talk(3))
    long = "why " * 150
    memory.put_messages(
        [
            ChatMessage(role="user", content=f"Old words: {long}"),
            ChatMessage(role="assistant", content="A"),
            *talk(6)[6:],
        ]
    )
    history = memory.get()
    at = {"before": 6, "within": 10, "after": len(history)}[place]
    example = [ChatMessage(role="user", content="Say moo."), ChatMessage(role="assistant", content="Moo.")]
    handed = [*history[:at], *example, *history[at:], ChatMessage(role="user", content="And now?")]
    WmemLLM(script.llm, memory, budget=tokens(handed) + 40, reserve=0).chat(handed)
    [prompt] = script.prompts
    assert prompt != handed
    contents = [message.content for message in prompt]
    if "Say moo." in contents:
        assert contents[contents.index("Say moo.") + 1] == "Moo."
    assert contents[-1] == "And now?"
    assert len(contents) == len(set(contents))


def test_a_session_is_recognised_by_a_process_that_never_showed_it(make: Make) -> None:
    memory = make(token_limit=400)
    memory.put_messages([ChatMessage(role="user", content="My dog is called Biscuit."), *talk(40)[1:]])
    memory.put(ChatMessage(role="user", content="What is my dog called?"))
    view = memory.get()
    assert view[0].content.startswith("<recalled>")
    RECENT_VIEWS.__init__()  # type: ignore[misc]  # as it is in another process
    script = Script("ok")
    WmemLLM(script.llm, memory, budget=300, reserve=0).chat([ChatMessage(role="system", content="Be brief."), *view])
    [prompt] = script.prompts
    assert "Biscuit" in (prompt[1].content or "")
    contents = [message.content for message in prompt]
    assert len(contents) == len(set(contents))
    assert tokens(prompt) <= 300


# --- in the place of the model ---------------------------------------------------------------------------------------


def test_a_function_calling_model_stays_one_and_another_does_not_become_one(memory: WmemMemory) -> None:
    calls, plain = WmemLLM(MockFunctionCallingLLM(), memory), WmemLLM(MockLLM(), memory)
    assert isinstance(calls, FunctionCallingLLM)
    assert isinstance(calls, WmemLLM)
    assert not isinstance(plain, FunctionCallingLLM)
    assert calls.class_name() == plain.class_name() == "WmemLLM"
    assert calls.metadata.is_function_calling_model
    assert not plain.metadata.is_function_calling_model


def test_its_window_is_the_budget_if_the_memory_leaves_room_for_retrieved_text(make: Make) -> None:
    for token_limit, window in ((400, 1_000), (3_000, 3_900)):
        memory = make(token_limit=token_limit)
        assert WmemLLM(MockLLM(), memory, budget=1_000).metadata.context_window == window
    assert WmemLLM(MockLLM(), memory, budget=100_000).metadata.context_window == 3_900


def test_retrieved_text_is_divided_among_calls_that_fit_the_budget(make: Make) -> None:
    script = Script()
    llm = WmemLLM(script.llm, make(token_limit=300), budget=1_200, reserve=300)
    nodes = [NodeWithScore(node=TextNode(text=f"Fact {at}: " + "it rained. " * 90), score=1.0) for at in range(8)]
    get_response_synthesizer(llm=llm, response_mode=ResponseMode.COMPACT).synthesize("Why?", nodes)
    assert len(script.prompts) > 1
    assert max(map(tokens, script.prompts)) <= 900
    assert all(f"Fact {at}: it rained." in str(script.prompts) for at in range(8))
    assert "left out" not in str(script.prompts)


def test_retrieved_text_that_leaves_no_room_is_an_error_and_no_empty_response(make: Make) -> None:
    memory, script = make(token_limit=30_000), Script()
    llm = WmemLLM(script.llm, memory, budget=300, reserve=100)
    nodes = [NodeWithScore(node=TextNode(text="it rained. " * 300), score=1.0)]
    script_like: Any = SimpleNamespace(llm=llm)
    engine = context(memory, script_like)
    with pytest.raises(PromptTooLargeError, match="system"):
        engine._get_response_synthesizer([]).synthesize("Why?", nodes)
    assert script.prompts == []


@pytest.mark.parametrize(("budget", "limit"), [(None, 3_900), (0.5, 1_950), (1.0, 3_900), (700, 700)])
def test_a_budget_is_a_number_a_share_of_the_window_or_all_of_it(make: Make, budget: float | None, limit: int) -> None:
    memory, script = make(token_limit=100_000), Script()
    memory.put_messages(talk(400))
    llm = WmemLLM(script.llm, memory, budget=budget, reserve=0)
    llm.chat(memory.get())
    told = llm.last_context()
    assert told is not None
    assert told.budget == limit
    assert limit * 0.8 < told.tokens <= limit


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": True}, "budget"),
        ({"budget": 1.5}, "budget"),
        ({"budget": 0.0}, "budget"),
        ({"budget": "1"}, "budget"),
        ({"reserve": -1}, "reserve"),
        ({"llm": "gpt-4o"}, "llm"),
        ({"memory": None}, "memory"),
    ],
)
def test_what_cannot_be_is_refused_by_name(memory: WmemMemory, wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        WmemLLM(**{"llm": MockLLM(), "memory": memory, **wrong})


@pytest.mark.parametrize(("said", "reserve"), [({"max_tokens": 300}, 300), ({"max_tokens": 10**6}, 600), ({}, 600)])
def test_room_is_kept_for_the_longest_reply_that_the_call_allows(
    memory: WmemMemory, said: dict[str, Any], reserve: int
) -> None:
    llm = WmemLLM(Script().llm, memory, budget=1_200)
    llm.chat(memory.get(), **said)
    told = llm.last_context()
    assert told is not None
    assert told.sizes["reserve"] == reserve


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda llm: pickle.loads(pickle.dumps(llm))])
@pytest.mark.parametrize("inner", [MockLLM, MockFunctionCallingLLM])
def test_a_copy_is_of_the_same_session_and_model(memory: WmemMemory, again: Any, inner: Any) -> None:
    llm = WmemLLM(inner(max_tokens=8) if inner is MockLLM else inner(), memory, budget=500, reserve=7)
    made = again(llm)
    assert type(made) is type(llm)
    assert type(made.llm) is inner
    assert (made.memory, made.budget, made.reserve) == (memory, 500, 7)
    assert made.chat(memory.get()).message.content
    made.memory.close()


def test_what_is_learned_is_shared_among_sessions_of_one_model(make: Make, memory: WmemMemory) -> None:
    llm = WmemLLM(MockLLM(), memory, budget=500)
    other = llm.for_memory(make(session_id="other"))
    assert other.memory.session_id == "other"
    assert other.calibrations is copy.deepcopy(llm).calibrations is llm.calibrations


def test_what_it_writes_down_has_neither_model_nor_session(memory: WmemMemory) -> None:
    assert {"llm", "memory"}.isdisjoint(WmemLLM(MockLLM(), memory, budget=500).to_dict())


def test_each_call_is_announced_once_with_what_was_sent(memory: WmemMemory) -> None:
    handler, script = LlamaDebugHandler(print_trace_on_end=False), Script()
    llm = wrap(script, memory, budget=500)
    llm.callback_manager = CallbackManager([handler])
    llm.chat(memory.get())
    [[start, end]] = handler.get_llm_inputs_outputs()
    assert (start.payload or {})["messages"] == script.prompts[0]
    assert (end.payload or {})["response"].message.content == "ok"


def test_fields_of_the_model_are_read_and_set_through_it(memory: WmemMemory) -> None:
    inner = MockLLM(max_tokens=8)
    llm: Any = WmemLLM(inner, memory)
    llm.max_tokens = 9
    assert inner.max_tokens == llm.max_tokens == 9
    llm.system_prompt = "Be brief."
    assert inner.system_prompt == "Be brief."
    with pytest.raises(AttributeError, match="no_such_field"):
        _ = llm.no_such_field


def test_the_newest_prompt_is_explained_whether_it_was_packed_or_not(memory: WmemMemory) -> None:
    llm = wrap(Script(), memory, budget=500)
    assert llm.last_context() is None
    assert "wmem_receipt" not in llm.chat(memory.get()[-3:]).additional_kwargs
    whole = llm.last_context()
    assert whole is not None
    assert len(whole.messages) == len(whole.included) == 3
    assert whole.tokens == sum(whole.sizes.values()) < 500
    reply = llm.chat(memory.get())
    packed = llm.last_context()
    assert packed is not None
    assert packed.dropped.count > 0
    assert packed.tokens <= 500
    assert reply.additional_kwargs["wmem_receipt"] == packed.receipt
    memory.put(reply.message)
    with wmem.open(memory.url, agent_id=memory.agent_id) as store:
        replay = store.replay(packed.receipt)
        assert replay.context is not None
        assert replay.context.to_llamaindex() == packed.to_llamaindex()
