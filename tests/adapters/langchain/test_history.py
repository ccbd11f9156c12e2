"""A session is LangChain's chat message history, on every backend and sync and async."""

import asyncio
import json
import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    message_to_dict,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

import wmem
from langchain_wmem import WmemChatMessageHistory
from wmem.errors import InvalidInputError, SerializationError

TURN: list[BaseMessage] = [
    HumanMessage("Rain in Zürich and Bern?", id="h1"),
    AIMessage(
        "",
        id="a1",
        tool_calls=[{"name": "rain", "args": {"in": "Zürich"}, "id": "c1"}, {"name": "rain", "args": {}, "id": "c2"}],
        usage_metadata={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7},
    ),
    ToolMessage("yes", id="t1", tool_call_id="c1", name="rain"),
    ToolMessage("no such town", id="t2", tool_call_id="c2", name="rain", status="error", artifact={"code": 404}),
    AIMessage("Yes in Zürich.", id="a2"),
]


def wire(messages: Sequence[BaseMessage]) -> list[str]:
    return [json.dumps(message_to_dict(message)) for message in messages]


@pytest.fixture(params=["sync", "async"])
def add(request: pytest.FixtureRequest) -> Any:
    """Adds messages in one mode or the other."""

    async def adding(history: WmemChatMessageHistory, messages: Sequence[BaseMessage]) -> None:
        if request.param == "async":
            await history.aadd_messages(messages)
        else:
            history.add_messages(messages)

    return adding


async def test_what_is_added_is_read_byte_equal_in_both_modes(add: Any, opened: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    await add(history, TURN)
    assert wire(history.messages) == wire(TURN)
    assert wire(await history.aget_messages()) == wire(TURN)
    assert type(history.messages) is list


async def test_B10_a_session_with_tools_is_whole_when_another_worker_opens_it(add: Any, tmp_path: Path) -> None:
    history = WmemChatMessageHistory("s", url=f"disk://{tmp_path}", agent_id="agent-7")
    await add(history, TURN)
    history.close()
    later = WmemChatMessageHistory("s", url=f"disk://{tmp_path}", agent_id="agent-7")
    assert wire(later.messages) == wire(TURN)
    await later.aclose()


async def test_B110_history_that_is_handed_back_with_new_input_adds_only_the_new(
    add: Any,
    opened: wmem.AgentMemory,
) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    await add(history, TURN)
    await add(history, [*history.messages, HumanMessage("And Basel?", id="h2")])
    await add(history, [*TURN, HumanMessage("And Basel?", id="h2")])
    assert [message.id for message in history.messages] == ["h1", "a1", "t1", "t2", "a2", "h2"]


async def test_messages_without_an_id_are_new_each_time_and_come_back_with_one(
    add: Any,
    opened: wmem.AgentMemory,
) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    await add(history, [HumanMessage("Yes."), HumanMessage("Yes.")])
    first, second = history.messages
    assert first.id
    assert second.id
    assert first.id != second.id
    await add(history, history.messages)
    assert len(history.messages) == 2


async def test_a_message_that_changed_under_its_id_keeps_its_place_and_what_only_the_store_knows(
    add: Any,
    opened: wmem.AgentMemory,
) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    await add(history, TURN)
    messages = opened.scope("s").messages
    first = messages.all()[0]
    messages.append(first.model_copy(update={"pinned": True, "metadata": {"from": "phone"}}))
    await add(history, [HumanMessage("Rain in Zürich?", id="h1"), *TURN[1:]])
    stored = messages.all()
    assert [message.id for message in stored] == ["h1", "a1", "t1", "t2", "a2"]
    assert stored[0].text == "Rain in Zürich?"
    assert (stored[0].pinned, stored[0].metadata) == (True, {"from": "phone"})
    assert stored[0].created_at == first.created_at


async def test_clear_forgets_the_session_and_no_other(opened: wmem.AgentMemory) -> None:
    mine, other = WmemChatMessageHistory("s", memory=opened), WmemChatMessageHistory("other", memory=opened)
    for history in (mine, other):
        history.add_messages(TURN)
    mine.clear()
    assert (len(mine.messages), len(other.messages)) == (0, 5)
    await other.aclear()
    assert await other.aget_messages() == []


def test_the_conveniences_of_the_base_class_work(opened: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    history.add_user_message("Hello")
    history.add_ai_message("Hi")
    history.add_message(SystemMessage("Be brief."))
    assert [(message.type, message.text) for message in history.messages] == [
        ("human", "Hello"),
        ("ai", "Hi"),
        ("system", "Be brief."),
    ]
    assert "Hello" in str(history)
    assert [len(turn) for turn in opened.scope("s").messages.turns()] == [3]


async def test_an_answer_ends_a_turn_and_is_one_step_of_the_session(add: Any, opened: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    await add(history, TURN[:4])
    assert opened.scope("s").queue.memorize("a thought").item.step_index == 0
    for _ in range(2):
        await add(history, TURN)
        assert opened.scope("s").queue.memorize("a thought").item.step_index == 1
    await add(history, [HumanMessage("And in Bern?"), AIMessage("No.")])
    assert opened.scope("s").queue.memorize("a thought").item.step_index == 2


def test_B113_recalled_text_is_not_added(opened: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    history.add_messages([HumanMessage("My dog is called Biscuit.")])
    recalled = wmem.Message.of("user", "Biscuit is a dog.", metadata={"wmem": "note"})
    from langchain_wmem import to_langchain

    history.add_messages(to_langchain([recalled]))
    assert [message.text for message in history.messages] == ["My dog is called Biscuit."]


async def test_a_batch_with_something_that_cannot_be_stored_stores_nothing(add: Any, opened: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    with pytest.raises(SerializationError):
        await add(history, [HumanMessage("Hello"), ToolMessage("x", tool_call_id="c", artifact=object())])
    assert history.messages == []


@pytest.mark.parametrize("make", [tuple, iter], ids=["tuple", "iterator"])
async def test_any_iterable_of_messages_is_added_whole(add: Any, opened: wmem.AgentMemory, make: Any) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    await add(history, make(TURN))
    await add(history, make(TURN))
    assert wire(history.messages) == wire(TURN)


@pytest.mark.parametrize(
    "wrong",
    [
        [None],
        [HumanMessage("Hello"), {"role": "nobody", "content": "Hello"}],
        [HumanMessage("Hello"), {"content": "Hello"}],
        [("human",)],
        [HumanMessage("Hello"), 7],
        None,
        "Hello",
        {"role": "user", "content": "Hello"},
        HumanMessage("Hello"),
        7,
    ],
    ids=["none in a list", "role", "no role", "pair", "number in a list", "none", "text", "form", "one", "number"],
)
async def test_what_is_no_list_of_messages_is_refused_and_nothing_stored(
    add: Any,
    opened: wmem.AgentMemory,
    wrong: Any,
) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    with pytest.raises(InvalidInputError, match="expected a"):
        await add(history, wrong)
    assert history.messages == []


FORMS: list[Any] = [
    ("system", "Be brief."),
    "What is my dog called?",
    {"role": "assistant", "content": "Biscuit.", "id": "a"},
    ("human", "And my cat?"),
]


async def test_messages_are_taken_in_every_form_that_langchain_takes(add: Any, opened: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    await add(history, FORMS)
    there = history.messages
    assert [(each.type, each.content) for each in there] == [
        (each.type, each.content) for each in convert_to_messages(FORMS)
    ]
    assert there[2].id == "a"


LATER: list[BaseMessage] = [HumanMessage("And now?", id="h2"), AIMessage("Now, too.", id="a3")]
MARKERS: dict[str, list[BaseMessage]] = {
    "one that is stored": [RemoveMessage(id="a2")],
    "several": [RemoveMessage(id="h1"), HumanMessage("Other", id="h3"), RemoveMessage(id="t1"), RemoveMessage(id="a1")],
    "one of the same list": [*LATER, RemoveMessage(id="a3")],
    "one that comes again": [RemoveMessage(id="a2"), AIMessage("Again.", id="a2")],
    "all": [RemoveMessage(id=REMOVE_ALL_MESSAGES)],
    "all, and others": [*LATER, RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("A fresh start.", id="h4")],
    "all, and some again": [RemoveMessage(id=REMOVE_ALL_MESSAGES), TURN[0], AIMessage("A summary.", id="a5")],
}


@pytest.mark.parametrize("given", MARKERS.values(), ids=MARKERS)
async def test_what_is_removed_is_what_langgraph_would_remove_and_stays_stored(
    add: Any, opened: wmem.AgentMemory, given: list[BaseMessage]
) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    await add(history, TURN)
    for _ in range(2):  # a run that is repeated says the same again
        await add(history, given)
        assert wire(history.messages) == wire(add_messages(list[Any](TURN), list[Any](given)))  # type: ignore[arg-type]
    stored = [*opened.scope("s").messages.all(), *opened.scope("s").messages.withdrawn()]
    assert {each.id for each in TURN} <= {each.id for each in stored}


async def test_a_message_of_several_results_is_removed_whole(add: Any, opened: wmem.AgentMemory) -> None:
    results: list[Any] = [{"type": "tool_result", "tool_use_id": id, "content": "yes"} for id in ("c1", "c2")]
    history = WmemChatMessageHistory("s", memory=opened)
    await add(history, [*TURN[:2], HumanMessage(results, id="r")])
    assert opened.scope("s").messages.count() == 4
    await add(history, [RemoveMessage(id="r")])
    assert [message.id for message in opened.scope("s").messages.all()] == ["h1", "a1"]


async def test_the_removal_of_a_message_that_is_not_there_is_refused_and_nothing_stored(
    add: Any, opened: wmem.AgentMemory
) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    with pytest.raises(InvalidInputError, match="'nobody'"):
        await add(history, [HumanMessage("Hello"), RemoveMessage(id="nobody")])
    assert history.messages == []


def test_messages_can_be_set(opened: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    history.add_messages(TURN)
    history.messages = [*history.messages[:1], HumanMessage("Another end.", id="h9")]
    assert [message.id for message in history.messages] == ["h1", "h9"]
    history.messages = []
    assert history.messages == []


def open_files(place: Path) -> list[str]:
    """The files of a place that this process has open."""
    found = []
    for each in os.listdir("/proc/self/fd"):  # noqa: PTH208  # itself open while it is read
        with suppress(FileNotFoundError):
            found.append(str(Path("/proc/self/fd", each).readlink()))
    return [name for name in found if name.startswith(str(place))]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="nothing says here which files are open")
async def test_a_history_is_a_context_manager_that_closes_what_it_opened(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/memory.db"
    with WmemChatMessageHistory("s", url=url, agent_id="a") as history:
        history.add_user_message("Hello")
        assert open_files(tmp_path)
    assert not open_files(tmp_path)
    async with WmemChatMessageHistory("s", url=url, agent_id="a") as history:
        assert [message.text for message in await history.aget_messages()] == ["Hello"]
    assert not open_files(tmp_path)


def test_a_repr_names_the_session_and_no_store(opened: wmem.AgentMemory) -> None:
    assert repr(WmemChatMessageHistory("s", memory=opened)) == "<WmemChatMessageHistory 's'>"
    secret = WmemChatMessageHistory("s", url="redis://:secret@127.0.0.1:1/0", agent_id="a")
    assert "secret" not in repr(secret)


@pytest.mark.parametrize("session_id", [None, "", "  ", 7])
def test_B22_no_session_is_an_error_and_not_a_default_session(session_id: Any, opened: wmem.AgentMemory) -> None:
    with pytest.raises(InvalidInputError, match="session_id"):
        WmemChatMessageHistory(session_id, memory=opened)


def test_no_agent_or_no_place_is_an_error(opened: wmem.AgentMemory) -> None:
    for wrong in ({"url": "memory://"}, {"url": "memory://", "agent_id": " "}, {}, {"agent_id": "agent-7"}):
        with pytest.raises(InvalidInputError):
            WmemChatMessageHistory("s", **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="'agent-7', not of 'agent-8'"):
        WmemChatMessageHistory("s", memory=opened, agent_id="agent-8")
    with pytest.raises(InvalidInputError, match="one of url, memory and store"):
        WmemChatMessageHistory("s", memory=opened, url="memory://")
    with pytest.raises(InvalidInputError, match="'dict'"):
        WmemChatMessageHistory("s", memory={})  # type: ignore[arg-type]


def test_B23_two_users_of_one_factory_see_their_own_turns(opened: wmem.AgentMemory) -> None:
    ada, bob = (WmemChatMessageHistory(session, memory=opened) for session in ("ada", "bob"))
    for turn in range(3):
        ada.add_user_message(f"ada {turn}")
        bob.add_user_message(f"bob {turn}")
    assert [message.text for message in ada.messages] == ["ada 0", "ada 1", "ada 2"]
    assert [message.text for message in bob.messages] == ["bob 0", "bob 1", "bob 2"]


class AsyncOnly(WmemChatMessageHistory):
    """Whoever calls a sync method of this from async code blocks the loop, and is told so."""

    @property
    def messages(self) -> list[BaseMessage]:
        raise AssertionError

    @messages.setter
    def messages(self, _: Sequence[BaseMessage]) -> None:
        raise AssertionError

    def add_messages(self, messages: Sequence[MessageLikeRepresentation]) -> None:
        raise AssertionError

    def clear(self) -> None:
        raise AssertionError


async def test_B101_async_entry_uses_async_methods_only_and_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def hop(*_: object) -> None:
        raise AssertionError

    async with await wmem.aopen("memory://", agent_id="agent-7") as memory:
        history = AsyncOnly("s", memory=memory)
        with monkeypatch.context() as patched:
            patched.setattr(asyncio.get_running_loop(), "run_in_executor", hop)
            patched.setattr(asyncio, "to_thread", hop)
            await history.aadd_messages(TURN)
            await history.aadd_messages(TURN)
            assert wire(await history.aget_messages()) == wire(TURN)
            await history.aclear()
            assert await history.aget_messages() == []


async def test_a_url_is_opened_once_for_both_modes_and_closed_again() -> None:
    history = WmemChatMessageHistory("s", url="memory://", agent_id="agent-7")
    await asyncio.gather(*(history.aadd_messages([HumanMessage(str(n), id=str(n))]) for n in range(5)))
    history.add_messages([HumanMessage("5", id="5")])
    assert sorted(message.text for message in await history.aget_messages()) == ["0", "1", "2", "3", "4", "5"]
    await history.aclose()
    history.close()


def test_a_memory_that_was_handed_in_stays_open(opened: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    history.add_user_message("Hello")
    history.close()
    assert opened.scope("s").messages.count() == 1


# --- RunnableWithMessageHistory ---------------------------------------------------------------------------------------


def remembering(bound: Any, factory: Any, **keys: Any) -> RunnableWithMessageHistory:
    with warnings.catch_warnings():
        # LangChain points to LangGraph; until its 2.0 this is what existing chains are built on.
        warnings.simplefilter("ignore", LangChainDeprecationWarning)
        return RunnableWithMessageHistory(bound, factory, **keys)


CONFIG: RunnableConfig = {"configurable": {"session_id": "s"}}


async def test_a_chat_model_with_message_history_remembers(run: Any, script: Any, opened: wmem.AgentMemory) -> None:
    model = script("Hi Ada.", "Ada.")
    chain = remembering(model, lambda session_id: WmemChatMessageHistory(session_id, memory=opened))
    await run(chain, [HumanMessage("I am Ada.")], config=CONFIG)
    await run(chain, [HumanMessage("Who am I?")], config=CONFIG)
    assert [message.text for message in model.prompts[1]] == ["I am Ada.", "Hi Ada.", "Who am I?"]
    said = [(message.role, message.text) for message in opened.scope("s").messages.all()]
    assert said == [("user", "I am Ada."), ("assistant", "Hi Ada."), ("user", "Who am I?"), ("assistant", "Ada.")]


async def test_a_prompt_with_a_place_for_history_remembers(run: Any, script: Any, opened: wmem.AgentMemory) -> None:
    model = script("Hi Ada.", "Ada.")
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be brief."), MessagesPlaceholder("past"), ("human", "{ask}")]
    )
    chain = remembering(
        prompt | model,
        lambda session_id: WmemChatMessageHistory(session_id, memory=opened),
        input_messages_key="ask",
        history_messages_key="past",
    )
    await run(chain, {"ask": "I am Ada."}, config=CONFIG)
    await run(chain, {"ask": "Who am I?"}, config=CONFIG)
    assert [message.text for message in model.prompts[1]] == ["Be brief.", "I am Ada.", "Hi Ada.", "Who am I?"]
    assert opened.scope("s").messages.count() == 4


async def test_what_a_chain_streams_is_added_whole(memory: wmem.AgentMemory) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("It rains in Bern."), AIMessage("And in Basel.")]))
    chain = remembering(model, lambda session_id: WmemChatMessageHistory(session_id, memory=memory))
    assert len(list(chain.stream([HumanMessage("Bern?")], CONFIG))) > 1
    async for _ in chain.astream([HumanMessage("Basel?")], CONFIG):
        pass
    texts = [message.text for message in memory.scope("s").messages.all()]
    assert texts == ["Bern?", "It rains in Bern.", "Basel?", "And in Basel."]


async def test_a_run_sees_one_history_although_others_write_meanwhile(run: Any, opened: wmem.AgentMemory) -> None:
    def answer(_: object) -> str:
        opened.scope("s").messages.append(
            [{"role": "user", "content": "Meanwhile"}, {"role": "assistant", "content": "!"}]
        )
        return "Hi Ada."

    chain = remembering(RunnableLambda(answer), lambda session_id: WmemChatMessageHistory(session_id, memory=opened))
    await run(chain, [HumanMessage("I am Ada.")], config=CONFIG)
    texts = [message.text for message in opened.scope("s").messages.all()]
    # A history that grew between the two reads would have cost the input: "I am Ada." is the one at stake.
    assert texts == ["Meanwhile", "!", "I am Ada.", "Hi Ada."]


def test_outside_a_run_every_read_is_fresh(opened: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    assert history.messages == []
    opened.scope("s").messages.append({"role": "user", "content": "Meanwhile"})
    assert [message.text for message in history.messages] == ["Meanwhile"]


async def test_a_history_that_serves_run_after_run_sees_what_each_added(run: Any, opened: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("s", memory=opened)
    chain = remembering(RunnableLambda(lambda said: str(len(said))), lambda: history)
    assert [await run(chain, [HumanMessage("More?")]) for _ in range(3)] == ["1", "3", "5"]


async def test_a_run_that_fails_adds_nothing_and_the_next_one_works(run: Any, script: Any, url: str) -> None:
    with wmem.open(url, agent_id="agent-7") as memory:
        chain = remembering(
            script(RuntimeError("overloaded"), "Hi Ada."),
            lambda session_id: WmemChatMessageHistory(session_id, memory=memory),
        )
        with pytest.raises(RuntimeError):
            await run(chain, [HumanMessage("I am Ada.")], config=CONFIG)
        await run(chain, [HumanMessage("I am Ada.")], config=CONFIG)
        assert [message.text for message in memory.scope("s").messages.all()] == ["I am Ada.", "Hi Ada."]


def test_it_is_a_chat_message_history_and_says_nothing_of_deprecation() -> None:
    assert issubclass(WmemChatMessageHistory, BaseChatMessageHistory)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WmemChatMessageHistory("s", url="memory://", agent_id="agent-7")
