"""What other middleware removes, masks or blocks reaches no file, wherever it stands beside wmem's."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, PIIMiddleware, ShellToolMiddleware, hook_config
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, interrupt

import wmem
from langchain_wmem import WmemMiddleware
from langchain_wmem._run import may_have_guards
from tests.logs import own_records

SECRET = "ada@example.com"
THREAD: Any = {"configurable": {"thread_id": "t"}}

Guarded = Callable[[WmemMiddleware], list[Any]]


class Moderating(AgentMiddleware[Any, Any, Any]):
    """Replaces an answer that must not be given, in the hook of one kind, by a new message under its id."""

    def __init__(self, hook: str, *, in_place: bool = False) -> None:
        super().__init__()
        self._hook, self._in_place = hook, in_place

    @property
    def name(self) -> str:
        return f"moderating {self._hook}"

    def _moderate(self, hook: str, state: Any) -> dict[str, Any] | None:
        last = state["messages"][-1]
        if hook != self._hook or SECRET not in last.text:
            return None
        if self._in_place:  # as the framework's guide shows it
            last.content = "I cannot say that."
            return None
        return {"messages": [last.model_copy(update={"content": "I cannot say that."})]}

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._moderate("after_model", state)

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._moderate("after_agent", state)


class Removing(AgentMiddleware[Any, Any, Any]):
    """Removes a question from the state before the model is called."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"messages": [RemoveMessage(id=each.id) for each in state["messages"] if SECRET in each.text]}


class Blocking(AgentMiddleware[Any, Any, Any]):
    """Ends a run before its question reaches a model."""

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if SECRET not in state["messages"][-1].text:
            return None
        return {"messages": [AIMessage("I cannot answer that.")], "jump_to": "end"}


class MaskingCalls(AgentMiddleware[Any, Any, Any]):
    """Masks what the model is shown, and leaves the state as it is."""

    def _mask(self, request: Any) -> Any:
        shown = [each.model_copy(update={"content": each.text.replace(SECRET, "[mail]")}) for each in request.messages]
        return request.override(messages=shown)

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(self._mask(request))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(self._mask(request))


class DroppingFromCalls(MaskingCalls):
    """Does not show the model what has the secret, and leaves the state as it is."""

    def _mask(self, request: Any) -> Any:
        return request.override(messages=[each for each in request.messages if SECRET not in each.text])


class RewritingCalls(MaskingCalls):
    """Shows the model new messages, without ids, in the place of those that have the secret."""

    def _mask(self, request: Any) -> Any:
        shown = [
            HumanMessage(each.text.replace(SECRET, "[mail]")) if SECRET in each.text else each
            for each in request.messages
        ]
        return request.override(messages=shown)


class TrimmingCalls(MaskingCalls):
    """Shows the model the newest messages alone."""

    def _mask(self, request: Any) -> Any:
        return request.override(messages=request.messages[-2:])


def files_hold(folder: Path, text: str) -> bool:
    return any(text.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.fixture(params=["sqlite", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of a store in files, named after their kind."""
    return tmp_path / str(request.param)


def url_of(store: Path) -> str:
    return f"{store.name}://{store}/store"


def pii() -> PIIMiddleware[Any]:
    return PIIMiddleware(
        "email", strategy="redact", apply_to_input=True, apply_to_output=True, apply_to_tool_results=True
    )


def around(guard: Any, order: str) -> Guarded:
    return lambda ours: [guard, ours] if order == "guard first" else [ours, guard]


ORDERS = ["guard first", "wmem first"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "guard",
    [
        pii,
        lambda: Moderating("after_model"),
        lambda: Moderating("after_agent"),
    ],
    ids=["pii", "after_model", "after_agent"],
)
async def test_an_answer_that_a_guard_changes_is_in_no_file_as_it_was(
    run: Any, script: Any, store: Path, guard: Callable[[], Any], order: str
) -> None:
    with wmem.open(url_of(store), agent_id="a") as memory:
        model = script(f"Write to {SECRET}.", "Fine.")
        ours = WmemMiddleware(memory, budget=4_000)
        agent = create_agent(model, middleware=around(guard(), order)(ours), checkpointer=InMemorySaver())
        await run(agent, {"messages": [HumanMessage("Whom do I write to?")]}, config=THREAD)
        await run(agent, {"messages": [HumanMessage("Thank you.")]}, config=THREAD)
        answers = [each.text for each in memory.scope("t").messages.all() if each.role == "assistant"]
        assert answers[0] == [each.text for each in model.prompts[1]][1]
    assert not files_hold(store, SECRET)


@pytest.mark.parametrize("order", ORDERS)
async def test_an_answer_that_a_guard_changes_in_place_is_in_no_file_as_it_was(
    run: Any, script: Any, tmp_path: Path, order: str
) -> None:
    with wmem.open(f"sqlite://{tmp_path}/store", agent_id="a") as memory:
        ours = WmemMiddleware(memory, budget=4_000, session="s")
        guard = Moderating("after_agent", in_place=True)
        agent = create_agent(script(f"Write to {SECRET}."), middleware=around(guard, order)(ours))
        said = await run(agent, {"messages": [HumanMessage("Whom do I write to?")]})
        await run(agent, {"messages": [*said["messages"], HumanMessage("Thank you.")]})
        assert [each.text for each in memory.scope("s").messages.all()][1] == "I cannot say that."
    assert not files_hold(tmp_path, SECRET)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("guard", [pii, Removing, Blocking], ids=["pii", "removing", "blocking"])
async def test_a_question_that_a_guard_keeps_from_the_model_is_in_no_file(
    run: Any, script: Any, store: Path, guard: Callable[[], Any], order: str
) -> None:
    with wmem.open(url_of(store), agent_id="a") as memory:
        model = script()
        ours = WmemMiddleware(memory, budget=4_000, session="s")
        agent = create_agent(model, middleware=around(guard(), order)(ours))
        await run(agent, {"messages": [HumanMessage("Hello"), HumanMessage(f"I am {SECRET}.")]})
        await run(agent, {"messages": [HumanMessage("And now?")]})
        assert "And now?" in [each.text for each in memory.scope("s").messages.all()]
    assert not files_hold(store, SECRET)


@pytest.mark.parametrize("guard", [MaskingCalls, DroppingFromCalls, RewritingCalls])
async def test_what_middleware_around_hides_from_the_model_in_single_calls_is_in_no_file(
    run: Any, script: Any, tmp_path: Path, guard: Callable[[], Any]
) -> None:
    with wmem.open(f"sqlite://{tmp_path}/store", agent_id="a") as memory:
        ours = WmemMiddleware(memory, budget=4_000)
        agent = create_agent(script(), middleware=[guard(), ours], checkpointer=InMemorySaver())
        for said in ("Hello", f"I am {SECRET}.", "And now?"):
            await run(agent, {"messages": [HumanMessage(said)]}, config=THREAD)
        assert [each.text for each in memory.scope("t").messages.all()][-2:] == ["And now?", "Fine."]
    assert not files_hold(tmp_path, SECRET)


async def test_what_middleware_around_writes_anew_is_sent_in_the_place_of_what_it_hides(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    ours = WmemMiddleware(memory, budget=4_000)
    models = plain, wrapped = script("Hello.", "Yes."), script("Hello.", "Yes.")
    orders: list[list[Any]] = [[RewritingCalls()], [RewritingCalls(), ours]]
    for model, middleware in zip(models, orders, strict=True):
        agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())
        for said in (f"I am {SECRET}.", "Is that noted?"):
            await run(agent, {"messages": [HumanMessage(said)]}, config=THREAD)
    assert [[each.text for each in prompt] for prompt in wrapped.prompts] == [
        [each.text for each in prompt] for prompt in plain.prompts
    ]
    assert [each.text for each in memory.scope("t").messages.all()][:2] == ["I am [mail].", "Hello."]


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "restarted"])
async def test_what_was_masked_is_in_no_file_when_calls_are_trimmed(
    run: Any, script: Any, store: Path, restarted: bool
) -> None:
    with wmem.open(url_of(store), agent_id="a") as memory:
        saver = InMemorySaver()
        agent: Any = None
        for said in (f"I am {SECRET}.", "And now?", "And then?"):
            if restarted or agent is None:
                guards = [MaskingCalls(), TrimmingCalls(), WmemMiddleware(memory, budget=4_000)]
                agent = create_agent(script(), middleware=guards, checkpointer=saver)
            await run(agent, {"messages": [HumanMessage(said)]}, config=THREAD)
        assert memory.scope("t").messages.count() == 6
    assert not files_hold(store, SECRET)


class Approving(AgentMiddleware[Any, Any, Any]):
    """Lets a person look at each answer."""

    def after_model(self, state: Any, runtime: Any) -> None:
        interrupt("Is it right?")


@pytest.mark.parametrize("around", [MaskingCalls, DroppingFromCalls])
async def test_what_is_hidden_in_calls_is_in_no_file_though_another_process_ends_the_run(
    run: Any, script: Any, store: Path, around: Any
) -> None:
    with wmem.open(url_of(store), agent_id="a") as memory:
        model, saver = script("Fine."), InMemorySaver()

        def new_process() -> Any:
            guards = [around(), Approving(), WmemMiddleware(memory, budget=4_000)]
            return create_agent(model, middleware=guards, checkpointer=saver)

        await run(new_process(), {"messages": [HumanMessage("Hello."), HumanMessage(f"I am {SECRET}.")]}, config=THREAD)
        await run(new_process(), Command(resume=True), config=THREAD)
    assert not files_hold(store, SECRET)


async def test_the_answer_is_stored_though_another_process_ends_the_run(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    model, saver = script("Fine."), InMemorySaver()

    def new_process() -> Any:
        guards = [MaskingCalls(), Approving(), WmemMiddleware(memory, budget=4_000)]
        return create_agent(model, middleware=guards, checkpointer=saver)

    await run(new_process(), {"messages": [HumanMessage(f"I am {SECRET}.")]}, config=THREAD)
    await run(new_process(), Command(resume=True), config=THREAD)
    assert [each.text for each in memory.scope("t").messages.all()] == ["I am [mail].", "Fine."]


async def test_what_is_hidden_in_calls_is_in_no_file_though_others_run_in_the_session_meanwhile(
    script: Any, store: Path
) -> None:
    with wmem.open(url_of(store), agent_id="a") as memory:
        model, answered, told = script(), asyncio.Event(), asyncio.Event()

        class Waiting(AgentMiddleware[Any, Any, Any]):
            async def aafter_model(self, state: Any, runtime: Any) -> None:
                if SECRET in state["messages"][0].text:
                    answered.set()
                    await told.wait()

        guards = [MaskingCalls(), Waiting(), WmemMiddleware(memory, budget=4_000, session="s")]
        agent = create_agent(model, middleware=guards)
        task = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage(f"I am {SECRET}.")]}))
        await answered.wait()
        await agent.ainvoke({"messages": [HumanMessage("Hello.")]})
        told.set()
        await task
        said = [each.text for each in memory.scope("s").messages.all()]
    assert sorted(said) == ["Fine.", "Fine.", "Hello.", "I am [mail]."]
    assert not files_hold(store, SECRET)


async def test_what_middleware_adds_to_a_message_or_cuts_off_it_is_stored_as_it_was_said(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    class Shortening(MaskingCalls):
        def _mask(self, request: Any) -> Any:
            *before, last = request.messages
            longer = last.model_copy(update={"content": f"{last.text}\nToday is Monday."})
            shorter = [each.model_copy(update={"content": f"{each.text[:100]} [...]"}) for each in before]
            return request.override(messages=[*shorter, longer])

    agent = create_agent(
        script(), middleware=[Shortening(), WmemMiddleware(memory, budget=4_000)], checkpointer=InMemorySaver()
    )
    await run(agent, {"messages": [HumanMessage("word " * 200)]}, config=THREAD)
    await run(agent, {"messages": [HumanMessage("And now?")]}, config=THREAD)
    assert [each.text for each in memory.scope("t").messages.all()][::2] == ["word " * 200, "And now?"]


async def test_it_says_which_guard_keeps_an_answer_from_being_stored_at_once(
    run: Any, script: Any, memory: wmem.AgentMemory, caplog: pytest.LogCaptureFixture
) -> None:
    ours = WmemMiddleware(memory, budget=4_000, session="s")
    agent = create_agent(script(), middleware=[Moderating("after_agent"), ours])
    with caplog.at_level(logging.WARNING, "langchain_wmem"):
        await run(agent, {"messages": [HumanMessage("Hello")]})
        await run(agent, {"messages": [HumanMessage("Hello again")]})
    assert [record.getMessage() for record in own_records(caplog)] == [
        (
            "An answer is stored by the run after it, because 'moderating after_agent' may still change it: "
            "put wmem's middleware before"
        )
    ]
    assert [each.role for each in memory.scope("s").messages.all()] == ["user", "user"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the shell's pipes are not closed
async def test_an_answer_is_stored_at_once_behind_middleware_that_ends_without_touching_a_message(
    run: Any, script: Any, memory: wmem.AgentMemory, caplog: pytest.LogCaptureFixture
) -> None:
    middleware: list[Any] = [ShellToolMiddleware(), WmemMiddleware(memory, budget=4_000, session="s")]
    agent = create_agent(script("Hi Ada."), middleware=middleware)
    await run(agent, {"messages": [HumanMessage("I am Ada.")]})
    assert [each.text for each in memory.scope("s").messages.all()] == ["I am Ada.", "Hi Ada."]
    assert own_records(caplog) == []


async def test_it_is_one_node_whose_update_is_something_and_one_more_checkpoint_a_turn(
    script: Any, memory: wmem.AgentMemory
) -> None:
    def count(middleware: list[Any]) -> tuple[set[str], int, list[Any]]:
        saver = InMemorySaver()
        agent = create_agent(script(), middleware=middleware, checkpointer=saver)
        updates = list(agent.stream({"messages": [HumanMessage("Hi")]}, THREAD, stream_mode="updates"))
        return set(agent.get_graph().nodes), len(list(saver.list(THREAD))), updates

    plain, ours = count([]), count([WmemMiddleware(memory, budget=4_000)])
    assert ours[0] - plain[0] == {"wmem.after_agent"}
    assert ours[1] - plain[1] == 1
    assert all(update is not None for each in ours[2] for update in each.values())


async def test_what_a_checkpoint_keeps_of_wmem_stays_out_of_what_the_agent_returns(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    agent = create_agent(script(), middleware=[WmemMiddleware(memory, budget=4_000)], checkpointer=InMemorySaver())
    result = await run(agent, {"messages": [HumanMessage("Hi")]}, config=THREAD)
    assert set(result) == {"messages"}
    assert RemoveMessage(id=REMOVE_ALL_MESSAGES) not in result["messages"]


def test_where_it_cannot_be_known_guards_are_expected() -> None:
    assert may_have_guards("wmem")  # outside of a graph there is nothing to ask
