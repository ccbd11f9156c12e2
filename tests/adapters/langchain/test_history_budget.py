"""A history with a budget: `messages` are those that fit, all are kept, and nothing that was cut becomes an edit."""

import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

import wmem
from langchain_wmem import WmemChatMessageHistory
from langchain_wmem._convert import is_note
from tests.adapters.langchain.test_usage import long_talk, ours
from wmem.errors import InvalidInputError

CONFIG: Any = {"configurable": {"session_id": "s"}}


async def read(history: WmemChatMessageHistory, mode: str) -> list[BaseMessage]:
    return await history.aget_messages() if mode == "async" else history.messages


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def remembering(bound: Any, factory: Any, **keys: Any) -> RunnableWithMessageHistory:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangChainDeprecationWarning)
        return RunnableWithMessageHistory(bound, factory, **keys)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("budget", [150, 700, 3_000])
async def test_messages_are_those_that_fit_and_all_are_kept(memory: wmem.AgentMemory, budget: int, mode: str) -> None:
    long_talk(memory, turns=80)
    history = WmemChatMessageHistory("s", memory=memory, budget=budget)
    fitted, whole = await read(history, mode), history.all_messages()
    assert ours(fitted) <= budget
    assert ours(fitted) > budget // 2
    assert texts(fitted)[-2:] == texts(whole)[-2:]
    assert texts(whole) == texts(WmemChatMessageHistory("s", memory=memory).messages)
    assert texts(await history.aall_messages()) == texts(whole)


async def test_what_bears_on_the_newest_question_is_quoted_unless_it_is_not_wanted(memory: wmem.AgentMemory) -> None:
    session = memory.scope("s").messages
    session.append(
        [{"role": "user", "content": "The umbrella is in the hall."}, {"role": "assistant", "content": "Good."}]
    )
    long_talk(memory, turns=80)
    session.append([{"role": "user", "content": "Where is the umbrella?"}, {"role": "assistant", "content": "Wait."}])
    history = WmemChatMessageHistory("s", memory=memory, budget=600)
    [note] = [each for each in history.messages if is_note(each)]
    assert "in the hall" in note.text
    plain = WmemChatMessageHistory("s", memory=memory, budget=600, recall=False)
    assert not any("in the hall" in text for text in texts(plain.messages))


TALK: list[BaseMessage] = [
    HumanMessage("Rain in Zürich?", id="h1"),
    AIMessage(
        [{"type": "reasoning", "reasoning": "I must look."}, {"type": "text", "text": "I look."}],
        id="a1",
        tool_calls=[{"name": "rain", "args": {"in": "Zürich"}, "id": "c1"}],
    ),
    ToolMessage("yes", id="t1", tool_call_id="c1", name="rain"),
    AIMessage("Yes in Zürich.", id="a2"),
]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_below_the_budget_messages_are_what_a_history_without_one_has(
    opened: wmem.AgentMemory, mode: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangChainDeprecationWarning)
        plain = InMemoryChatMessageHistory()
    plain.add_messages(TALK)
    history = WmemChatMessageHistory("s", memory=opened, budget=2_000)
    history.add_messages(TALK)
    assert await read(history, mode) == plain.messages


@pytest.mark.parametrize("keys", ["messages", "input", "input and history"])
async def test_a_chain_with_history_sends_what_fits_and_stores_each_message_once(
    run: Any, script: Any, opened: wmem.AgentMemory, keys: str
) -> None:
    budget, model = 400, script()
    forms: dict[str, Any] = {
        "messages": (model, {}, lambda text: [HumanMessage(text)]),
        "input": (
            RunnableLambda(lambda given: given["messages"]) | model,
            {"input_messages_key": "messages"},
            lambda text: {"messages": [HumanMessage(text)]},
        ),
        "input and history": (
            ChatPromptTemplate.from_messages([MessagesPlaceholder("past"), ("human", "{question}")]) | model,
            {"input_messages_key": "question", "history_messages_key": "past"},
            lambda text: {"question": text},
        ),
    }
    bound, options, ask = forms[keys]
    chain = remembering(
        bound, lambda session_id: WmemChatMessageHistory(session_id, memory=opened, budget=budget), **options
    )
    asked = [f"And in town {turn}, {'what of the fair there ' * 4}?" for turn in range(14)]
    for question in asked:
        await run(chain, ask(question), config=CONFIG)
    stored = [message.text for message in opened.scope("s").messages.all()]
    assert stored == [text for question in asked for text in (question, "Fine.")]
    for turn, prompt in enumerate(model.prompts):
        assert prompt[-1].text == asked[turn]
        assert ours(prompt[:-1]) <= budget
    assert len(model.prompts[-1]) < len(stored)


async def test_a_message_that_was_cut_is_stored_whole_when_the_view_is_handed_back(
    run: Any, opened: wmem.AgentMemory
) -> None:
    long = "So it went on, and on. " * 500
    history = WmemChatMessageHistory("s", memory=opened, budget=500)
    history.add_messages([HumanMessage("Tell me.", id="h"), AIMessage(long, id="a")])
    [*_, cut] = history.messages
    assert (cut.id, len(cut.text) < len(long)) == ("a", True)
    await history.aadd_messages([*history.messages, HumanMessage("And then?", id="h2")])
    history.add_messages([*history.messages, HumanMessage("And then?", id="h2")])
    assert texts(history.all_messages()) == ["Tell me.", long, "And then?"]
    edited = cut.model_copy(update={"content": "Never mind.", "additional_kwargs": {}})
    history.add_messages([edited])
    assert texts(history.all_messages()) == ["Tell me.", "Never mind.", "And then?"]
    elsewhere = WmemChatMessageHistory("t", memory=opened)
    elsewhere.add_messages([cut])
    assert texts(elsewhere.messages) == [cut.text]


async def test_a_run_sees_one_view_although_others_write_meanwhile(run: Any, opened: wmem.AgentMemory) -> None:
    long_talk(opened, turns=40)
    seen: list[list[str]] = []

    def interfere(messages: list[BaseMessage]) -> AIMessage:
        seen.append(texts(messages))
        opened.scope("s").messages.append([{"role": "user", "content": "Meanwhile. " * 40}] * 8)
        return AIMessage("Fine.")

    chain = remembering(
        RunnableLambda(interfere), lambda session_id: WmemChatMessageHistory(session_id, memory=opened, budget=400)
    )
    await run(chain, [HumanMessage("Hello?")], config=CONFIG)
    stored = [message.text for message in opened.scope("s").messages.all()]
    assert stored[-2:] == ["Hello?", "Fine."]
    assert stored.count("Hello?") == 1


@pytest.mark.parametrize("wrong", [{"budget": 0}, {"budget": 0.5}, {"budget": True}, {"recall": "no"}])
def test_a_budget_that_cannot_be_is_refused(memory: wmem.AgentMemory, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        WmemChatMessageHistory("s", memory=memory, **wrong)


def test_a_session_without_a_past_has_no_messages(memory: wmem.AgentMemory) -> None:
    assert WmemChatMessageHistory("s", memory=memory, budget=10).messages == []
