"""A session below another scope: ``("user-7", "chat-3")``, in both adapters."""

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import ConfigurableFieldSpec
from langchain_core.runnables.history import RunnableWithMessageHistory
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms.mock import MockFunctionCallingLLM, MockLLM

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, wmem_pack
from llamaindex_wmem import WmemMemory
from wmem import InvalidInputError

# Both frameworks use what they have deprecated themselves.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

PATH = ("user-7", "chat-3")


@pytest.fixture
def opened() -> Iterator[wmem.AgentMemory]:
    with wmem.open("memory://nested", agent_id="a") as memory:
        yield memory
        memory.working.dispose()


async def test_both_adapters_meet_in_a_nested_session(opened: wmem.AgentMemory) -> None:
    memory = WmemMemory.from_defaults(session_id=PATH, memory=opened)
    history = WmemChatMessageHistory(PATH, memory=opened)
    memory.put(ChatMessage("a"))
    await memory.aput(ChatMessage("b"))
    history.add_messages([HumanMessage("c")])
    await history.aadd_messages([AIMessage("d")])
    assert [each.content for each in memory.get_all()] == [each.content for each in history.messages] == list("abcd")
    assert opened.scope(*PATH).messages.count() == 4
    assert memory.scope().path == history.scope().path == (await memory.ascope()).path == ("a", *PATH)
    assert opened.scope(PATH[0]).messages.count() == opened.scope("/".join(PATH)).messages.count() == 0


def test_a_nested_session_is_copied_and_written_as_it_is(opened: wmem.AgentMemory) -> None:
    memory = WmemMemory.from_defaults(session_id=PATH, memory=opened)
    memory.put(ChatMessage("a"))
    for copied in (WmemMemory.from_dict(json.loads(memory.to_json())), pickle.loads(pickle.dumps(memory))):
        assert copied == memory
        assert copied.session_id == PATH
        assert copied.get_all() == memory.get_all()
    history = pickle.loads(pickle.dumps(WmemChatMessageHistory(PATH, memory=opened)))
    assert (history.session_id, len(history.messages)) == (PATH, 1)
    assert repr(PATH) in repr(history)


def test_a_session_reads_what_its_user_is_known_by(opened: wmem.AgentMemory) -> None:
    """Values and items fall back to the scope above, as in every nested scope."""
    opened.scope("user-7").entries.set("name", "Ada")
    assert WmemMemory.from_defaults(session_id=PATH, memory=opened).scope().entries.get("name") == "Ada"


@pytest.mark.parametrize("wrong", [(), ("a", ""), ("a", 5), (" ",), 5, b"ab", {"a": 1}, ("~long-term",), "a\nb"])
def test_what_is_no_path_is_refused_by_name(opened: wmem.AgentMemory, wrong: Any) -> None:
    with pytest.raises(InvalidInputError):
        WmemMemory.from_defaults(session_id=wrong, memory=opened)
    with pytest.raises(InvalidInputError):
        WmemChatMessageHistory(wrong, memory=opened)


CONFIG: Any = {"configurable": {"session_id": PATH}}


@pytest.mark.parametrize("name", [PATH, [*PATH]], ids=["tuple", "list, as JSON has it"])
async def test_a_chain_with_message_history_keeps_a_nested_session(opened: wmem.AgentMemory, name: Any) -> None:
    model = FakeListChatModel(responses=["one", "two"])
    chain = RunnableWithMessageHistory(model, lambda each: WmemChatMessageHistory(each, memory=opened))
    config: Any = {"configurable": {"session_id": name}}
    assert chain.invoke([HumanMessage("a")], config).content == "one"
    assert (await chain.ainvoke([HumanMessage("b")], config)).content == "two"
    history = WmemChatMessageHistory(name, memory=opened)
    assert [each.content for each in history.messages] == ["a", "one", "b", "two"]
    assert (history.session_id, history.scope().path) == (PATH, ("a", *PATH))


def test_a_chain_names_a_nested_session_by_several_fields(opened: wmem.AgentMemory) -> None:
    fields = [ConfigurableFieldSpec(id=name, annotation=str) for name in ("user_id", "conversation_id")]
    chain = RunnableWithMessageHistory(
        FakeListChatModel(responses=["one"]),
        lambda user_id, conversation_id: WmemChatMessageHistory((user_id, conversation_id), memory=opened),
        history_factory_config=fields,
    )
    chain.invoke([HumanMessage("a")], {"configurable": {"user_id": PATH[0], "conversation_id": PATH[1]}})
    assert opened.scope(*PATH).messages.count() == 2


@pytest.mark.parametrize("named", ["by the middleware", "by a function", "by the context"])
async def test_an_agent_keeps_a_nested_session(opened: wmem.AgentMemory, named: str) -> None:
    sessions: dict[str, Any] = {"by the middleware": PATH, "by a function": lambda _: [*PATH], "by the context": None}
    middleware = WmemMiddleware(opened, session=sessions[named], budget=500)
    agent = create_agent(FakeListChatModel(responses=["one", "two"]), middleware=[middleware], context_schema=dict)
    context: Any = {"session_id": PATH}
    agent.invoke({"messages": [HumanMessage("a")]}, context=context)
    await agent.ainvoke({"messages": [HumanMessage("b")]}, context=context)
    assert [each.text for each in opened.scope(*PATH).messages.all()] == ["a", "one", "b", "two"]
    assert middleware.scope(PATH).path == middleware.scope([*PATH]).path == ("a", *PATH)  # type: ignore[arg-type]  # as JSON has it
    packed = middleware.last_context(PATH)
    assert packed is not None
    assert [each.text for each in packed.messages] == ["a", "one", "b"]
    middleware.forget(PATH)
    assert opened.scope(*PATH).exists() is False


@pytest.mark.parametrize("session", [PATH, None], ids=["by the packing", "by the configuration"])
async def test_a_packing_keeps_a_nested_session(opened: wmem.AgentMemory, session: Any) -> None:
    packing = wmem_pack(opened, session=session, budget=500, reserve=50)
    chain = packing | FakeListChatModel(responses=["one", "two"]) | packing.store_reply
    chain.invoke([HumanMessage("a")], CONFIG)
    await chain.ainvoke([HumanMessage("b")], CONFIG)
    assert [each.text for each in packing.scope(PATH).messages.all()] == ["a", "one", "b", "two"]
    assert packing.scope(PATH).path == ("a", *PATH)
    assert packing.last_context(PATH) is not None


async def test_an_engine_and_an_agent_of_llamaindex_keep_a_nested_session(opened: wmem.AgentMemory) -> None:
    memory = WmemMemory.from_defaults(session_id=[*PATH], memory=opened)  # type: ignore[arg-type]  # as JSON has it
    assert memory.session_id == PATH
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory)
    engine.chat("a")
    await engine.achat("b")
    agent = FunctionAgent(llm=MockFunctionCallingLLM())
    await agent.run("c", memory=memory)
    said = [each.text for each in opened.scope(*PATH).messages.all() if each.role == "user"]
    assert said == ["a", "b", "c"]
    assert opened.scope(PATH[0]).messages.count() == 0


async def test_a_turn_of_a_nested_session_is_seen_by_both_adapters(opened: wmem.AgentMemory) -> None:
    with opened.turn(*PATH) as turn:
        turn.memorize({"role": "user", "content": "hello"}, store="conversation")
    assert [each.content for each in WmemChatMessageHistory(PATH, memory=opened).messages] == ["hello"]
    assert [each.content for each in WmemMemory.from_defaults(session_id=PATH, memory=opened).get()] == ["hello"]
