"""The session follows the path of its thread: what the state took back is not sent, what it trimmed is memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware
from tests.counting import count_calls
from wmem.errors import InvalidInputError

THREAD: Any = {"configurable": {"thread_id": "t"}}


def user(text: str, message_id: str | None = None) -> Any:
    return {"messages": [HumanMessage(text, id=message_id)]}


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def stored(memory: wmem.AgentMemory, session: str = "t") -> list[str]:
    return [message.text for message in memory.scope(session).messages.all()]


def remembering(memory: wmem.AgentMemory, **options: Any) -> WmemMiddleware:
    return WmemMiddleware(memory, **{"budget": 4_000, **options})


async def checkpoint_before(agent: Any, text: str) -> Any:
    """The newest checkpoint whose state ends with a text."""
    return next(
        state.config
        for state in agent.get_state_history(THREAD)
        if state.values.get("messages") and state.values["messages"][-1].text == text
    )


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "restarted"])
async def test_an_answer_that_is_regenerated_is_withdrawn_and_comes_back_with_its_branch(
    run: Any, script: Any, opened: wmem.AgentMemory, restarted: bool
) -> None:
    saver, model = InMemorySaver(), script("One", "Two", "Other two", "Three", "Three again")
    agent = create_agent(model, middleware=[remembering(opened)], checkpointer=saver)
    await run(agent, user("First"), config=THREAD)
    await run(agent, user("Second"), config=THREAD)
    old_branch = agent.get_state(THREAD).config
    asked = await checkpoint_before(agent, "Second")
    if restarted:
        agent = create_agent(model, middleware=[remembering(opened)], checkpointer=saver)
    await run(agent, None, config=asked)
    assert texts(model.prompts[2]) == ["First", "One", "Second"]
    assert stored(opened) == ["First", "One", "Second", "Other two"]
    assert [message.text for message in opened.scope("t").messages.withdrawn()] == ["Two"]
    await run(agent, user("Third"), config=THREAD)
    assert texts(model.prompts[3]) == ["First", "One", "Second", "Other two", "Third"]
    if restarted:
        agent = create_agent(model, middleware=[remembering(opened)], checkpointer=saver)
    await run(agent, user("Third"), config=old_branch)
    assert texts(model.prompts[4]) == ["First", "One", "Second", "Two", "Third"]
    assert stored(opened) == ["First", "One", "Second", "Two", "Third", "Three again"]


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "restarted"])
async def test_a_first_message_that_is_asked_anew_takes_everything_back(
    run: Any, script: Any, opened: wmem.AgentMemory, restarted: bool
) -> None:
    saver, model = InMemorySaver(), script("One", "Two", "New one")
    agent = create_agent(model, middleware=[remembering(opened)], checkpointer=saver)
    await run(agent, user("First"), config=THREAD)
    await run(agent, user("Second"), config=THREAD)
    first = [state.config for state in agent.get_state_history(THREAD)][-1]
    if restarted:
        agent = create_agent(model, middleware=[remembering(opened)], checkpointer=saver)
    await run(agent, user("Another first"), config=first)
    assert texts(model.prompts[2]) == ["Another first"]
    assert stored(opened) == ["Another first", "New one"]


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "restarted"])
async def test_messages_that_are_removed_from_the_state_are_not_sent(
    run: Any, script: Any, opened: wmem.AgentMemory, restarted: bool
) -> None:
    saver, model = InMemorySaver(), script()
    agent = create_agent(model, middleware=[remembering(opened)], checkpointer=saver)
    for number in range(3):
        await run(agent, user(f"Number {number}", f"q{number}"), config=THREAD)
    agent.update_state(THREAD, {"messages": [RemoveMessage(id="q1")]})
    if restarted:
        agent = create_agent(model, middleware=[remembering(opened)], checkpointer=saver)
    await run(agent, user("Number 3"), config=THREAD)
    assert texts(model.prompts[3]) == ["Number 0", "Fine.", "Fine.", "Number 2", "Fine.", "Number 3"]
    agent.update_state(THREAD, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})
    await run(agent, user("Number 4"), config=THREAD)
    assert texts(model.prompts[4]) == ["Number 4"]
    assert len(opened.scope("t").messages.withdrawn()) == 8


async def test_what_the_state_trimmed_is_still_memory(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    model = script()
    agent = create_agent(model, middleware=[remembering(memory)], checkpointer=InMemorySaver())
    for number in range(3):
        await run(agent, user(f"Number {number}", f"q{number}"), config=THREAD)
    oldest = [RemoveMessage(id=message.id) for message in agent.get_state(THREAD).values["messages"][:3]]
    agent.update_state(THREAD, {"messages": oldest})
    await run(agent, user("Number 3"), config=THREAD)
    assert texts(model.prompts[3])[:3] == ["Number 0", "Fine.", "Number 1"]
    assert not memory.scope("t").messages.withdrawn()


async def test_a_checkpointer_that_forgot_the_thread_takes_nothing_back(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    model = script()
    for number in range(3):
        agent = create_agent(model, middleware=[remembering(opened)], checkpointer=InMemorySaver())
        await run(agent, user(f"Number {number}"), config=THREAD)
    assert texts(model.prompts[2]) == ["Number 0", "Fine.", "Number 1", "Fine.", "Number 2"]


async def test_without_a_checkpointer_a_shorter_list_takes_nothing_back(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    model = script("One", "Two", "Three")
    agent = create_agent(model, middleware=[remembering(memory)])
    first = (await run(agent, user("First"), config=THREAD))["messages"]
    second = (await run(agent, {"messages": [*first, HumanMessage("Second")]}, config=THREAD))["messages"]
    await run(agent, {"messages": [second[0], second[-1], HumanMessage("Third")]}, config=THREAD)
    assert texts(model.prompts[2]) == ["First", "One", "Second", "Two", "Third"]


async def test_messages_of_others_in_the_session_stay(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    model = script("One", "Two", "Again")
    agent = create_agent(model, middleware=[remembering(memory, session="s")], checkpointer=InMemorySaver())
    await run(agent, user("First"), config=THREAD)
    WmemChatMessageHistory("s", memory=memory).add_messages([HumanMessage("By the way"), AIMessage("Noted")])
    other: Any = {"configurable": {"thread_id": "other"}}
    await run(agent, user("From elsewhere"), config=other)
    await run(agent, None, config=await checkpoint_before(agent, "First"))
    assert stored(memory, "s") == ["First", "By the way", "Noted", "From elsewhere", "Two", "Again"]


async def test_recall_search_and_other_frameworks_see_the_path_last_taken(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    model = script("The harbour closes at nine.", "The harbour closes at ten.")
    agent = create_agent(model, middleware=[remembering(memory)], checkpointer=InMemorySaver())
    await run(agent, user("When does the harbour close?"), config=THREAD)
    await run(agent, None, config=await checkpoint_before(agent, "When does the harbour close?"))
    scope = memory.scope("t")
    assert "at nine" not in str(scope.recall("harbour closes"))
    assert "at nine" not in str(scope.pack("harbour closes", budget=500).to_openai())
    assert texts(WmemChatMessageHistory("t", memory=memory).messages)[-1] == "The harbour closes at ten."


@pytest.mark.parametrize(
    "rewritten",
    [
        lambda messages: [*messages[:2], HumanMessage("New", id="n"), *messages[2:]],
        lambda messages: [HumanMessage("New", id="n"), *messages],
        lambda messages: [*messages[2:], *messages[:2]],
    ],
    ids=["inserted", "in front", "swapped"],
)
async def test_a_state_that_was_rewritten_is_sent_and_stored_in_its_order(
    run: Any, script: Any, opened: wmem.AgentMemory, rewritten: Any
) -> None:
    model = script("One", "Two", "Three")
    agent = create_agent(model, middleware=[remembering(opened)], checkpointer=InMemorySaver())
    await run(agent, user("First"), config=THREAD)
    await run(agent, user("Second"), config=THREAD)
    made = rewritten(agent.get_state(THREAD).values["messages"])
    agent.update_state(THREAD, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *made]}, as_node="model")
    await run(agent, user("Third"), config=THREAD)
    assert texts(model.prompts[2]) == [*texts(made), "Third"]
    assert stored(opened) == [*texts(made), "Third", "Three"]


async def test_an_answer_whose_question_was_removed_keeps_its_place(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    model = script("One", "Two", "More")
    agent = create_agent(model, middleware=[remembering(memory)], checkpointer=InMemorySaver())
    await run(agent, user("First"), config=THREAD)
    await run(agent, user("Second", "second"), config=THREAD)
    agent.update_state(THREAD, {"messages": [RemoveMessage(id="second")]}, as_node="__start__")
    await run(agent, None, config=THREAD)
    await run(agent, user("Third"), config=THREAD)
    assert texts(model.prompts[3]) == ["First", "One", "Two", "More", "Third"]


async def test_with_keep_nothing_is_taken_back(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    model = script("One", "Two")
    agent = create_agent(model, middleware=[remembering(memory, removed="keep")], checkpointer=InMemorySaver())
    await run(agent, user("First"), config=THREAD)
    await run(agent, None, config=await checkpoint_before(agent, "First"))
    assert stored(memory) == ["First", "One", "Two"]
    with pytest.raises(InvalidInputError, match="unknown removed 'forget'; known: follow, keep"):
        remembering(memory, removed="forget")


@pytest.mark.parametrize("failing", ["model", "model after a tool", "tool"])
async def test_a_run_that_is_repeated_whole_stores_its_question_once(
    run: Any, script: Any, memory: wmem.AgentMemory, failing: str
) -> None:
    def look(town: str) -> str:
        """Look at a town."""
        if failing == "tool" and not memory.scope("tried").entries.get("once"):
            memory.scope("tried").entries.set("once", 1)
            raise ConnectionError("gone")
        return "rain"

    call = AIMessage("", tool_calls=[{"name": "look", "args": {"town": "Bern"}, "id": "c"}])
    replies = {
        "model": [ConnectionError("gone"), "Fine."],
        "model after a tool": [call, ConnectionError("gone"), call.model_copy(update={"id": "x"}), "Fine."],
        "tool": [call, call.model_copy(update={"id": "x"}), "Fine."],
    }[failing]
    model = script(*replies)
    agent = create_agent(model, [look], middleware=[remembering(memory, session="t")])
    again = agent.with_retry(
        retry_if_exception_type=(ConnectionError,), stop_after_attempt=3, wait_exponential_jitter=False
    )
    await run(again, {"messages": [("user", "Rain?")]})
    assert stored(memory).count("Rain?") == 1
    assert stored(memory)[-1] == "Fine."
    assert [message.text for message in model.prompts[-1]].count("Rain?") == 1


async def test_a_window_keeps_the_state_short_and_the_session_whole(
    run: Any, script: Any, url: str, tmp_path: Path
) -> None:
    model = script()
    with wmem.open(url, agent_id="a") as memory:
        agent = create_agent(model, middleware=[remembering(memory, window=4)], checkpointer=InMemorySaver())
        for number in range(6):
            result = await run(agent, user(f"Number {number}"), config=THREAD)
            assert len(result["messages"]) <= 4
        assert texts(result["messages"]) == ["Number 4", "Fine.", "Number 5", "Fine."]
        whole = [text for number in range(6) for text in (f"Number {number}", "Fine.")]
        assert stored(memory) == whole
        assert texts(model.prompts[-1]) == whole[:-1]


async def test_a_window_removes_no_answer_that_a_later_hook_kept_from_being_stored(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    class Guarding(AgentMiddleware[Any, Any, Any]):
        @hook_config(can_jump_to=["end"])
        def before_agent(self, state: Any, runtime: Any) -> Any:
            return {"jump_to": "end"} if "secret" in state["messages"][-1].text else None

        def after_agent(self, state: Any, runtime: Any) -> None:
            return None

    model = script("One", "Two")
    guards = [Guarding(), remembering(memory, window=1)]
    agent = create_agent(model, middleware=guards, checkpointer=InMemorySaver())
    for asked in ("First", "The secret", "Second"):
        await run(agent, user(asked), config=THREAD)
    assert stored(memory)[:2] == ["First", "One"]
    assert texts(model.prompts[1])[:2] == ["First", "One"]


class BusySaver(InMemorySaver):
    """A checkpointer that a thread writes to while its checkpoints are listed, for the first few lists."""

    busy = 0

    def list(self, *args: Any, **kwargs: Any) -> Any:
        self.busy -= 1
        if self.busy >= 0:
            raise RuntimeError("dictionary changed size during iteration")
        yield from super().list(*args, **kwargs)


@pytest.mark.parametrize(("busy", "left"), [(1, []), (99, ["First", "Fine."])])
async def test_a_checkpointer_that_is_written_to_meanwhile_ends_no_run(
    run: Any, script: Any, memory: wmem.AgentMemory, busy: int, left: list[str]
) -> None:
    saver = BusySaver()
    agent = create_agent(script(), middleware=[remembering(memory)], checkpointer=saver)
    await run(agent, user("First"), config=THREAD)
    saver.busy = busy
    anew = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("Anew")]
    await run(agent, {"messages": anew}, config=THREAD)
    assert stored(memory) == [*left, "Anew", "Fine."]


async def test_an_earlier_branch_that_comes_back_takes_the_later_one_with_it(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    saver = InMemorySaver()
    agent = create_agent(script(), middleware=[remembering(memory)], checkpointer=saver)
    await run(agent, user("First"), config=THREAD)
    before = agent.get_state(THREAD).config
    anew = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("Anew")]
    await run(agent, {"messages": anew}, config=THREAD)
    await run(agent, user("Rather this"), config=before)
    assert stored(memory) == ["First", "Fine.", "Rather this", "Fine."]


@pytest.mark.slow
def test_a_new_thread_of_a_session_that_many_share_costs_nothing_for_what_is_old(script: Any) -> None:
    def cost(messages: int) -> int:
        with wmem.open("memory://", agent_id="a") as memory:
            memory.scope("s").messages.append([wmem.Message.of("user", f"Number {n}") for n in range(messages)])
            ours = remembering(memory, session="s", budget=500, recall=False)
            agent = create_agent(script(), middleware=[ours], checkpointer=InMemorySaver())
            agent.invoke(user("Hello"), {"configurable": {"thread_id": "warm"}})
            return count_calls(lambda: agent.invoke(user("Hello"), THREAD))

    assert cost(5_000) < 1.1 * cost(500)


async def test_a_checkpointer_that_lists_nothing_ends_no_run(
    run: Any, script: Any, memory: wmem.AgentMemory, caplog: pytest.LogCaptureFixture
) -> None:
    class Unlisted(InMemorySaver):
        def list(self, *args: Any, **kwargs: Any) -> Any:
            raise PermissionError

        def alist(self, *args: Any, **kwargs: Any) -> Any:
            raise PermissionError

    model = script("One", "Two")
    agent = create_agent(model, middleware=[remembering(memory)], checkpointer=Unlisted())
    await run(agent, user("First"), config=THREAD)
    await run(agent, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("Second")]}, config=THREAD)
    assert stored(memory) == ["First", "One", "Second", "Two"]
    assert "PermissionError" in caplog.text


async def test_workers_that_serve_a_thread_in_turn_follow_each_other_s_branches(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    saver, model = InMemorySaver(), script("One", "Two", "Three", "Four", "Five")
    one, other = (create_agent(model, middleware=[remembering(opened)], checkpointer=saver) for _ in range(2))
    await run(one, user("First"), config=THREAD)
    first = one.get_state(THREAD).config
    await run(other, user("Second"), config=THREAD)
    second = one.get_state(THREAD).config
    await run(one, user("Third"), config=first)
    assert texts(model.prompts[2]) == ["First", "One", "Third"]
    await run(other, user("Fourth"), config=second)
    assert texts(model.prompts[3]) == ["First", "One", "Second", "Two", "Fourth"]
    await run(one, user("Fifth"), config=THREAD)
    assert texts(model.prompts[4]) == ["First", "One", "Second", "Two", "Fourth", "Four", "Fifth"]


async def test_a_worker_whose_run_failed_follows_the_branch_that_another_took_since(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    saver, model = InMemorySaver(), script("One", "Two", ConnectionError("gone"), "Other", "Four")
    one, other = (create_agent(model, middleware=[remembering(opened)], checkpointer=saver) for _ in range(2))
    await run(one, user("First"), config=THREAD)
    first = one.get_state(THREAD).config
    await run(one, user("Second"), config=THREAD)
    with pytest.raises(ConnectionError):
        await run(one, user("Third"), config=THREAD)
    third = one.get_state(THREAD).config
    await run(other, user("Aside"), config=first)
    assert texts(model.prompts[3]) == ["First", "One", "Aside"]
    await run(one, user("Fourth"), config=third)
    assert texts(model.prompts[4]) == ["First", "One", "Second", "Two", "Third", "Fourth"]
