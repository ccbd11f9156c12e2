"""Whatever happens to messages in an agent's state, the session keeps up and the thread goes on."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain.agents.middleware.summarization import SummarizationMiddleware
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, from_langchain, to_langchain
from tests.counting import count_calls
from wmem.errors import SerializationError

THREAD: Any = {"configurable": {"thread_id": "t"}}


def user(text: str, message_id: str | None = None) -> Any:
    return {"messages": [HumanMessage(text, id=message_id)]}


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def stored(memory: wmem.AgentMemory) -> list[str]:
    return [message.text for message in memory.scope("t").messages.all()]


def remembering(memory: wmem.AgentMemory, **options: Any) -> WmemMiddleware:
    return WmemMiddleware(memory, **{"budget": 4_000, **options})


# --- Edits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "restarted"])
async def test_an_old_message_that_is_redacted_in_the_thread_reaches_neither_model_nor_store(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
    restarted: bool,
) -> None:
    saver = InMemorySaver()
    model = script()
    agent = create_agent(model, middleware=[remembering(opened)], checkpointer=saver)
    await run(agent, user("My password is hunter2.", "old"), config=THREAD)
    await run(agent, user("Second"), config=THREAD)
    agent.update_state(THREAD, {"messages": [HumanMessage("My password is [redacted].", id="old")]})
    if restarted:
        agent = create_agent(model, middleware=[remembering(opened)], checkpointer=saver)
    await run(agent, user("Third"), config=THREAD)
    whole = ["My password is [redacted].", "Fine.", "Second", "Fine.", "Third"]
    assert texts(model.prompts[2]) == whole
    assert stored(opened) == [*whole, "Fine."]


class RedactingEarlier(AgentMiddleware[Any, Any, Any]):
    """Takes a secret out of earlier turns when the model is about to be asked again."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        edited = [
            message.model_copy(update={"content": message.text.replace("1234", "[redacted]")})
            for message in state["messages"][:-1]
            if "1234" in message.text
        ]
        return {"messages": edited}


async def test_an_earlier_turn_that_middleware_redacts_in_a_run_reaches_neither_model_nor_store(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    model = script()
    agent = create_agent(
        model,
        middleware=[RedactingEarlier(), remembering(memory)],
        checkpointer=InMemorySaver(),
    )
    await run(agent, user("My code is 1234."), config=THREAD)
    await run(agent, user("Second"), config=THREAD)
    assert texts(model.prompts[1]) == ["My code is [redacted].", "Fine.", "Second"]
    assert stored(memory)[0] == "My code is [redacted]."


async def test_a_message_that_is_edited_in_place_between_runs_is_noticed(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    model = script()
    agent = create_agent(model, middleware=[remembering(memory, session="t")])
    messages = (await run(agent, user("My code is 1234.")))["messages"]
    messages[0].content = "My code is [redacted]."
    await run(agent, {"messages": [*messages, HumanMessage("Second")]})
    assert texts(model.prompts[1]) == ["My code is [redacted].", "Fine.", "Second"]
    assert stored(memory)[0] == "My code is [redacted]."


async def test_an_edit_whose_storing_failed_is_stored_by_the_next_run(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OSError

    agent = create_agent(script(), middleware=[remembering(memory, session="t")])
    messages = (await run(agent, user("My code is 1234.")))["messages"]
    messages[0].content = "My code is [redacted]."
    with monkeypatch.context() as broken:
        for messages_type in (type(memory.scope("t").messages), type(memory.aio().scope("t").messages)):
            broken.setattr(messages_type, "append", failing)
        with pytest.raises(OSError):  # noqa: PT011  # any will do
            await run(agent, {"messages": messages})
    await run(agent, {"messages": messages})
    assert stored(memory)[0] == "My code is [redacted]."


class Copying(AgentMiddleware[Any, Any, Any]):
    """Shows the model copies of all messages, as middleware does that may change some."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(messages=[each.model_copy() for each in request.messages]))


@pytest.mark.slow
@pytest.mark.parametrize("around", [(), (Copying(),)], ids=["the state", "copies"])
def test_a_long_thread_that_did_not_change_is_compared_and_not_converted(
    script: Any, memory: wmem.AgentMemory, around: Any
) -> None:
    long: list[BaseMessage] = [
        made
        for number in range(1_000)
        for made in (
            HumanMessage(f"Question {number} " + "lorem ipsum " * 20, id=f"h{number}"),
            AIMessage(
                f"Answer {number} " + "lorem ipsum " * 40,
                id=f"a{number}",
                usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
                response_metadata={"model_name": "scripted", "finish_reason": "stop"},
            ),
        )
    ]
    agent = create_agent(script(), middleware=[*around, remembering(memory, session="t")])
    whole: Any = {"messages": [*long, HumanMessage("Last", id="last")]}
    agent.invoke(whole)

    # As a checkpointer hands them out: equal, and none the same object.
    state: Any = {"messages": [message.model_copy(deep=True) for message in (*long, HumanMessage("Next", id="next"))]}
    plain = count_calls(lambda: create_agent(script(), middleware=around).invoke(state))
    compared = count_calls(lambda: agent.invoke(state)) - plain
    assert compared < count_calls(lambda: from_langchain(long)) / 5
    assert memory.scope("t").messages.count() == 2_004


# --- Summaries --------------------------------------------------------------------------------------------------------


def summing(script: Any, **options: Any) -> SummarizationMiddleware:
    return SummarizationMiddleware(script(*["Ada has a dog."] * 9), **options)


async def test_a_summary_of_what_was_never_stored_is_all_there_is_and_is_kept(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
) -> None:
    saver = InMemorySaver()
    model = script()
    alone = summing(script, trigger=("messages", 4), keep=("messages", 2))
    agent = create_agent(model, middleware=[alone], checkpointer=saver)
    for number in range(4):
        await run(agent, user(f"Fact {number}."), config=THREAD)
    agent = create_agent(model, middleware=[remembering(opened)], checkpointer=saver)
    await run(agent, user("What do I have?"), config=THREAD)
    assert sum("Ada has a dog." in text for text in texts(model.prompts[-1])) == 1
    assert sum("Ada has a dog." in text for text in stored(opened)) == 1
    # Known from now on: neither a later run nor another process takes it for something new.
    for middleware in (remembering(opened), remembering(opened)):
        agent = create_agent(model, middleware=[middleware], checkpointer=saver)
        await run(agent, user("And now?"), config=THREAD)
        assert sum("Ada has a dog." in text for text in texts(model.prompts[-1])) == 1
    assert sum("Ada has a dog." in text for text in stored(opened)) == 1


async def test_a_later_summary_covers_what_is_stored_and_is_not_kept(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    saver = InMemorySaver()
    model = script()
    alone = summing(script, trigger=("messages", 4), keep=("messages", 2))
    agent = create_agent(model, middleware=[alone], checkpointer=saver)
    for number in range(4):
        await run(agent, user(f"Fact {number}."), config=THREAD)
    agent = create_agent(model, middleware=[remembering(memory)], checkpointer=saver)
    await run(agent, user("Fact 4."), config=THREAD)
    again = SummarizationMiddleware(script(*["Nothing new."] * 9), trigger=("messages", 4), keep=("messages", 2))
    agent = create_agent(model, middleware=[again, remembering(memory)], checkpointer=saver)
    for number in range(5, 8):
        await run(agent, user(f"Fact {number}."), config=THREAD)
    assert sum("Ada has a dog." in text for text in stored(memory)) == 1
    assert not any("Nothing new." in text for text in stored(memory))
    assert [text for text in texts(model.prompts[-1]) if text.startswith("Fact")][-4:] == [
        f"Fact {number}." for number in range(4, 8)
    ]


async def test_a_history_stores_a_summary_it_is_given(opened: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("t", memory=opened)
    summary = HumanMessage("Ada has a dog.", id="m2", additional_kwargs={"lc_source": "summarization"})
    history.add_messages([HumanMessage("Hello", id="m1")])
    history.add_messages([summary])
    await history.aadd_messages([summary.model_copy(update={"id": "m3"})])
    assert texts(history.messages) == ["Hello", "Ada has a dog.", "Ada has a dog."]


# --- What JSON cannot carry -------------------------------------------------------------------------------------------


@dataclass
class Plot:
    points: list[int]


@pytest.mark.parametrize(
    "artifact",
    [{"when": datetime.now(UTC)}, Document("A"), Plot([1]), b"\x00", object()],
    ids=["datetime", "document", "dataclass", "bytes", "object"],
)
async def test_B79_an_artifact_that_cannot_be_stored_is_left_out_with_one_warning_and_the_thread_goes_on(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
    caplog: pytest.LogCaptureFixture,
    artifact: Any,
) -> None:
    @tool(response_format="content_and_artifact")
    def draw() -> tuple[str, Any]:
        """Draw."""
        return "Drawn.", artifact

    model = script(AIMessage("", tool_calls=[{"name": "draw", "args": {}, "id": "c"}]), "Done.")
    agent = create_agent(model, [draw], middleware=[remembering(memory, session="t")])
    with caplog.at_level(logging.WARNING, "langchain_wmem"):
        result = await run(agent, user("Draw."))
        for _ in range(2):
            again = {"messages": [*result["messages"], HumanMessage("And now?")]}
            result = await run(agent, again)
    assert result["messages"][2].artifact is artifact, "the state is left alone"
    assert [message.text for message in model.prompts[1] if message.type == "tool"] == ["Drawn."]
    assert stored(memory)[:4] == ["Draw.", "", "Drawn.", "Done."]
    assert len(stored(memory)) == 8
    [warned] = [record.getMessage() for record in caplog.records if record.name == "langchain_wmem"]
    assert "'artifact'" in warned


async def test_B79_documents_of_a_retriever_are_kept_as_such_though_a_checkpoint_forgets_their_class(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
) -> None:
    @tool(response_format="content_and_artifact")
    def retrieve() -> tuple[str, Any]:
        """Look something up."""
        return "A hit.", [Document("A", metadata={"page": 1})]

    model = script(AIMessage("", tool_calls=[{"name": "retrieve", "args": {}, "id": "c"}]), "Done.")
    agent = create_agent(model, [retrieve], middleware=[remembering(opened)], checkpointer=InMemorySaver())
    for text in ("Look.", "And?"):
        await run(agent, user(text), config=THREAD)
        [result] = [each for each in WmemChatMessageHistory("t", memory=opened).messages if each.type == "tool"]
        assert isinstance(result, ToolMessage)
        assert result.artifact == [Document("A", metadata={"page": 1})]


class Whisper(HumanMessage):
    """Somebody's own message."""

    volume: int = 3
    raw: Any = None


async def test_a_subclass_in_the_state_is_kept_as_its_base_with_what_it_adds(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = script()
    agent = create_agent(model, middleware=[remembering(memory, session="t")])
    whisper = Whisper(
        content="Psst.",
        id="w",
        raw=object(),
        additional_kwargs={"price": Decimal(1), "kept": 1},
        response_metadata={"at": Decimal(1)},
    )
    messages: list[BaseMessage] = [whisper]
    with caplog.at_level(logging.WARNING, "langchain_wmem"):
        for _ in range(2):
            messages = [*(await run(agent, {"messages": messages}))["messages"], HumanMessage("And?")]
    assert texts(model.prompts[1]) == ["Psst.", "Fine.", "And?"]
    [back] = to_langchain(memory.scope("t").messages.all())[:1]
    assert type(back) is HumanMessage
    assert (back.additional_kwargs, back.model_dump()["volume"]) == ({"kept": 1}, 3)
    [warned] = [record.getMessage() for record in caplog.records if record.name == "langchain_wmem"]
    for what in ("'Whisper'", "'raw'", "'additional_kwargs.price'", "'response_metadata.at'"):
        assert what in warned


class Stranger(BaseMessage):
    """A message that is none of LangChain's kinds."""

    type: str = "stranger"


@pytest.mark.parametrize(
    "message",
    [Stranger(content="?"), HumanMessage([{"type": "image", "data": b"\x00"}])],
    ids=["of no kind", "bytes that are said"],
)
async def test_what_a_message_says_is_refused_and_not_left_out(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
    message: BaseMessage,
) -> None:
    model = script()
    with pytest.raises(SerializationError):
        await run(create_agent(model, middleware=[remembering(memory, session="t")]), {"messages": [message]})
    assert model.prompts == []


# --- Ids and notes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blank", ["", " "])
async def test_messages_with_a_blank_id_are_stored_and_sent_once(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
    blank: str,
) -> None:
    call = AIMessage("", id=blank, tool_calls=[{"name": "look", "args": {}, "id": "c"}])

    @tool
    def look() -> str:
        """Look."""
        return "Seen."

    model = script(call, "Done.", "Fine.")
    agent = create_agent(model, [look], middleware=[remembering(opened, session="t")])
    result = await run(agent, {"messages": [HumanMessage("Look.", id=blank)]})
    await run(agent, {"messages": [*result["messages"], HumanMessage("And?")]})
    assert texts(model.prompts[-1])[-2:] == ["Done.", "And?"]
    assert stored(opened).count("Look.") <= 1
    assert stored(opened).count("Seen.") == 1
    assert [text for text in stored(opened) if text in ("Done.", "And?", "Fine.")] == ["Done.", "And?", "Fine."]


async def test_an_answer_with_a_blank_id_is_stored_once(run: Any, script: Any, opened: wmem.AgentMemory) -> None:
    model = script(AIMessage("Hi Ada.", id=""), "Ada.")
    agent = create_agent(model, middleware=[remembering(opened, session="t")])
    await run(agent, user("I am Ada."))
    await run(agent, user("Who am I?"))
    assert texts(model.prompts[1]) == ["I am Ada.", "Hi Ada.", "Who am I?"]
    assert stored(opened) == ["I am Ada.", "Hi Ada.", "Who am I?", "Ada."]


@pytest.mark.parametrize("kind", [HumanMessage, SystemMessage])
async def test_B113_a_note_that_lost_its_mark_on_the_way_is_still_no_conversation(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
    kind: type[BaseMessage],
) -> None:
    memory.scope("t").items.add("The umbrella is in the hall.")
    note = memory.scope("t").pack("Where is the umbrella?", budget=1_000).note
    assert "hall" in note
    model = script()
    agent = create_agent(model, middleware=[remembering(memory, session="t", recall=False)])
    await run(agent, {"messages": [kind(content=note, id="n"), HumanMessage("Hello", id="m")]})
    assert stored(memory) == ["Hello", "Fine."]
    assert texts(model.prompts[0]) == ["Hello"]
    # Alone and from a person it is what that person says; behind anything else it is an echo.
    WmemChatMessageHistory("t", memory=memory).add_messages([kind(content=note), HumanMessage("Thanks", id="h")])
    assert stored(memory) == ["Hello", "Fine.", "Thanks"]


async def test_a_message_from_long_ago_keeps_its_pin_and_metadata_when_the_thread_hands_it_back(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    scope = memory.scope("t")
    old = wmem.Message.of("user", "I am Ada.", id="old", pinned=True, metadata={"mine": 1})
    scope.messages.append(old)
    scope.messages.append([wmem.Message.of("user", f"between {number}") for number in range(150)])
    agent = create_agent(script(), middleware=[remembering(memory, session="t")])
    await run(agent, {"messages": [HumanMessage("I am Ada.", id="old"), HumanMessage("Hello", id="m")]})
    kept = scope.messages.get("old")
    assert kept is not None
    assert kept.pinned
    assert kept.metadata["mine"] == 1


# --- Requests that other middleware makes anew ------------------------------------------------------------------------


class Anew(AgentMiddleware[Any, Any, Any]):
    """Makes a request of its own, as LangChain's tests do: without a runtime, and without the state."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._state = state

    def _make(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        state: Any = self._state
        return ModelRequest(model=request.model, messages=request.messages, state=state, runtime=None)

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(self._make(request))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(self._make(request))


@pytest.mark.parametrize("state", [{}, {"messages": []}], ids=["no state", "no messages"])
async def test_a_request_made_anew_without_its_run_is_one_of_the_thread(
    run: Any, script: Any, memory: wmem.AgentMemory, state: dict[str, Any]
) -> None:
    model = script("Hi Ada.", "Ada.")
    agent = create_agent(model, middleware=[Anew(state), remembering(memory)], checkpointer=InMemorySaver())
    await run(agent, user("I am Ada."), config=THREAD)
    await run(agent, user("Who am I?"), config=THREAD)
    assert texts(model.prompts[1]) == ["I am Ada.", "Hi Ada.", "Who am I?"]
    assert stored(memory) == ["I am Ada.", "Hi Ada.", "Who am I?", "Ada."]
