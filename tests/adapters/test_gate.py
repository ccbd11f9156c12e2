"""The gate of memories that an adapter opens by a URL, and of what a model remembers itself."""

import copy
from pathlib import Path
from typing import Any

import pytest

import llamaindex_wmem
import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, wmem_pack, wmem_tools
from llamaindex_wmem import WmemMemory
from wmem import Gate, InvalidInputError
from wmem.adapter import LazyMemory

STRICT = Gate(min_importance=0.3, min_novelty=0.2)


def call(tools: Any, text: str) -> str:
    [remember] = [each for each in tools if each.name == "remember"]
    return str(remember.invoke({"text": text}))


@pytest.mark.parametrize("keep", ["session", "long_term"])
def test_what_a_model_remembers_passes_the_gate(keep: Any, tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/m.db"
    tools = wmem_tools(url, agent_id="a", session="s", keep=keep, gate=STRICT)
    assert "Remembered, as " in call(tools, "The user's budget for Lisbon is 3,000 euros")
    assert "remembered already, as " in call(tools, "the user's budget for Lisbon is 3000 euros!")
    assert "Remembered, as " in call(tools, "The user's budget for Lisbon is 4,000 euros")
    assert "not important enough" in call(tools, "ok")
    with wmem.open(url, agent_id="a") as memory:
        scope = memory.scope("s") if keep == "session" else memory.semantic
        assert scope.items.count() == 2


def test_what_a_model_remembers_through_llamaindex_passes_the_gate(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/m.db"
    tools = llamaindex_wmem.wmem_tools(
        url=url,
        agent_id="a",
        session_id="s",
        gate=STRICT,
        summarizer=lambda _texts, _tokens: "In short.",
        enable_skill_extraction=False,
    )
    [remember] = [each for each in tools if each.metadata.name == "remember"]
    assert "Remembered, as " in remember.call(text="The user's budget for Lisbon is 3,000 euros").content
    assert "not important enough" in remember.call(text="ok").content
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a")
    options: list[dict[str, Any]] = [{"gate": STRICT}, {"summarizer": repr}, {"enable_skill_extraction": False}]
    for option in options:
        with pytest.raises(InvalidInputError, match="pass none of these"):
            llamaindex_wmem.wmem_tools(memory, **option)
    memory.close()


def test_what_an_adapter_opens_by_a_url_has_the_gate_that_it_was_given(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/m.db"
    with WmemChatMessageHistory("s", url=url, agent_id="a", gate=STRICT) as history:
        assert history.scope()._handle.settings.gates.gate == STRICT
        with copy.deepcopy(history) as twin:
            assert twin.scope()._handle.settings.gates.gate == STRICT
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", gate=STRICT)
    assert memory.scope()._handle.settings.gates.gate == STRICT
    memory.close()
    lazy = LazyMemory(url, "a", gate=STRICT)
    assert lazy.memory().scope("s")._handle.settings.gates.gate == STRICT
    lazy.close()
    wmem_pack(url, budget=500, agent_id="a", session="s", gate=STRICT)
    WmemMiddleware(url, budget=500, agent_id="a", session="s", gate=STRICT)


@pytest.mark.parametrize("bad", ["no", 0, 1])
def test_whether_skills_are_made_is_yes_or_no(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="enable_skill_extraction"):
        WmemMemory.from_defaults(session_id="s", url="memory://", agent_id="a", enable_skill_extraction=bad)
    with pytest.raises(InvalidInputError, match="enable_skill_extraction"):
        WmemChatMessageHistory("s", url="memory://", agent_id="a", enable_skill_extraction=bad)


def test_an_open_memory_or_a_name_has_its_own() -> None:
    one: dict[str, Any] = {"gate": STRICT}
    wmem.register("own gate", lambda: wmem.open("memory://", agent_id="a"), replace=True)
    with wmem.open("memory://", agent_id="a") as memory:
        for make in (
            lambda: WmemMiddleware(memory, budget=500, **one),
            lambda: WmemChatMessageHistory("s", memory=memory, **one),
            lambda: WmemMemory.from_defaults(session_id="s", memory=memory, **one),
            lambda: WmemMemory.from_defaults(session_id="s", store="own gate", **one),
            lambda: LazyMemory(None, None, store="own gate", **one),
        ):
            with pytest.raises(InvalidInputError, match="gate"):
                make()


def test_a_registered_memory_and_its_copies_have_the_gate_of_the_opener(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/m.db"
    wmem.register("gated", lambda: wmem.open(url, agent_id="a", gate=STRICT), replace=True)
    for _ in range(2):
        lazy = LazyMemory(None, None, store="gated")
        refused = lazy.memory().memorize({"content": "ok", "type": "fact"})
        assert refused.item is None
        lazy.close()
    with wmem.open(url, agent_id="a", gate=STRICT) as memory:
        assert memory.aio().sync().memorize({"content": "ok", "type": "fact"}).item is None
