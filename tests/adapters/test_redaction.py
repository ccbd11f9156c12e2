"""Redaction and features of memories that an adapter opens by a URL, and of copies: none is opened with less of one."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.base.llms.types import ChatMessage

import llamaindex_wmem
import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, wmem_pack, wmem_tools
from llamaindex_wmem import WmemMemory
from wmem import Features, InvalidInputError, Redaction
from wmem.adapter import LazyMemory

MAIL = "ada.lovelace@mail.example.org"
STRICT: dict[str, Any] = {"features": Features.core(), "redaction": Redaction.strict()}


def run_agent(url: str) -> None:
    middleware = WmemMiddleware(url, budget=2_000, agent_id="a", session="s", **STRICT)
    agent = create_agent(FakeListChatModel(responses=[f"I write to {MAIL}"]), middleware=[middleware])
    agent.invoke({"messages": [HumanMessage(f"Write to {MAIL}")]})


def run_chain(url: str) -> None:
    pack = wmem_pack(url, budget=2_000, agent_id="a", session="s", **STRICT)
    (pack | FakeListChatModel(responses=[f"I write to {MAIL}"]) | pack.store_reply).invoke([HumanMessage(MAIL)])


def run_history(url: str) -> None:
    with WmemChatMessageHistory("s", url=url, agent_id="a", **STRICT) as history:
        history.add_user_message(f"Write to {MAIL}")
        history.add_ai_message("I do")
        assert [each.content for each in history.messages] == ["Write to [REDACTED_EMAIL]", "I do"]


def run_tool(url: str) -> None:
    tools = {each.name: each for each in wmem_tools(url, agent_id="a", session="s", keep="session", **STRICT)}
    tools["remember"].invoke({"text": f"Ada has {MAIL}"})


def run_llamaindex(url: str) -> None:
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", **STRICT)
    memory.put(ChatMessage(role="user", content=f"Write to {MAIL}"))
    assert memory.get_all()[0].content == "Write to [REDACTED_EMAIL]"
    memory.close()


def run_llamaindex_tool(url: str) -> None:
    made = llamaindex_wmem.wmem_tools(url=url, agent_id="a", session_id="s", keep="session", **STRICT)
    assert not {each.metadata.name: each for each in made}["remember"].call(text=f"Ada has {MAIL}").is_error


@pytest.mark.parametrize("run", [run_agent, run_chain, run_history, run_tool, run_llamaindex, run_llamaindex_tool])
def test_what_an_adapter_opens_by_a_url_has_the_redaction_and_features_that_it_was_given(
    run: Callable[[str], None], tmp_path: Path
) -> None:
    run(f"sqlite://{tmp_path}/m.db")
    stored = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert b"[REDACTED_EMAIL]" in stored
    assert MAIL.encode() not in stored


def test_features_hold_in_an_adapter(tmp_path: Path) -> None:
    with WmemChatMessageHistory("s", url=f"sqlite://{tmp_path}/m.db", agent_id="a", **STRICT) as history:
        item = history.scope().items.add("x")
        with pytest.raises(wmem.FeatureNotEnabledError):
            history.scope().items.promote(item.id)


@pytest.mark.parametrize("option", STRICT)
def test_an_open_memory_or_a_name_has_its_own(option: str) -> None:
    one: dict[str, Any] = {option: STRICT[option]}
    wmem.register("own redaction", lambda: wmem.open("memory://", agent_id="a"), replace=True)
    with wmem.open("memory://", agent_id="a") as memory:
        for make in (
            lambda: WmemMiddleware(memory, budget=500, **one),
            lambda: WmemChatMessageHistory("s", memory=memory, **one),
            lambda: WmemMemory.from_defaults(session_id="s", memory=memory, **one),
            lambda: WmemMemory.from_defaults(session_id="s", store="own redaction", **one),
            lambda: LazyMemory(None, None, store="own redaction", **one),
        ):
            with pytest.raises(InvalidInputError, match=option):
                make()


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("redaction", [Redaction.strict(), Redaction.off()])
def test_a_copy_is_opened_with_the_same_redaction_or_not_at_all(
    redaction: Redaction, used: bool, tmp_path: Path
) -> None:
    url = f"sqlite://{tmp_path}/m.db"
    history = WmemChatMessageHistory("s", url=url, agent_id="a", redaction=redaction)
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", redaction=redaction)
    if used:
        history.add_user_message("hello")
    pickled, written = pickle.dumps(history), memory.to_dict()
    twin = copy.deepcopy(history)
    twin.add_user_message(MAIL)
    assert memory.get_all()[-1].content == ("[REDACTED_EMAIL]" if redaction.on_every_put else MAIL)
    for make in (lambda: pickle.loads(pickled).messages, lambda: WmemMemory.from_dict(written).get_all()):
        assert len(make()) == 1 + used, "it is open in this process"
    for each in (history, twin, memory):
        each.close()
    for make in (lambda: pickle.loads(pickled).messages, lambda: WmemMemory.from_dict(written).get_all()):
        with pytest.raises(InvalidInputError, match=r"opened with redaction.*wmem\.register"):
            make()


def test_a_copy_of_a_memory_with_the_default_redaction_opens_by_itself(tmp_path: Path) -> None:
    history = WmemChatMessageHistory("s", url=f"sqlite://{tmp_path}/m.db", agent_id="a", redaction=Redaction())
    history.add_user_message("hello")
    pickled = pickle.dumps(history)
    history.close()
    assert len(pickle.loads(pickled).messages) == 1


@pytest.mark.parametrize("comes_first", [True, False])
@pytest.mark.parametrize("redaction", [Redaction(), Redaction.strict()])
def test_beside_langchains_own_redaction_each_message_is_stored_once_with_the_marks_of_both(
    redaction: Redaction, comes_first: bool
) -> None:
    card, hidden = "4929 1234 5678 9015", "[REDACTED_CARD]"
    with wmem.open("memory://", agent_id="a", redaction=redaction) as memory:
        ours = WmemMiddleware(memory, budget=2_000, session="s")
        theirs = PIIMiddleware("email", strategy="mask", apply_to_input=True, apply_to_output=True)
        agent = create_agent(
            FakeListChatModel(responses=[f"I write to {MAIL}", "yes", "no"]),
            middleware=[theirs, ours] if comes_first else [ours, theirs],
            checkpointer=InMemorySaver(),
        )
        for text in (f"Write to {MAIL}, and pay with {card}.", "Did you?", "And not?"):
            agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t"}})
        shown = hidden if redaction.on_every_put else card
        said = [f"Write to ada.lovelace@****.org, and pay with {shown}.", "I write to ada.lovelace@****.org"]
        session = memory.scope("s")
        assert [each.text for each in session.messages.all()] == [*said, "Did you?", "yes", "And not?", "no"]
        kept = session.items.promote(session.items.add(said[0], type="fact").id)
        assert kept.content == said[0].replace(card, hidden)
