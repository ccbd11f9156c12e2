"""What traces and callbacks are told of a model call's prompt: numbers and ids, in the metadata of its run."""

import json
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage

import wmem
from langchain_wmem import WmemMiddleware
from tests.adapters.langchain.conftest import Scripted
from tests.adapters.langchain.test_usage import Metered, long_talk

LIMIT, RESERVE = 1_000, 100


class Listener(BaseCallbackHandler):
    """Keeps the metadata of each run of a model."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def on_chat_model_start(self, *_: Any, metadata: dict[str, Any] | None = None, **__: Any) -> None:
        self.told.append(metadata or {})


def user(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def remembering(memory: wmem.AgentMemory, **options: Any) -> WmemMiddleware:
    return WmemMiddleware(memory, **{"budget": LIMIT, "reserve": RESERVE, "session": "s", **options})


async def test_a_model_s_run_says_what_its_prompt_was_made_of(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory, turns=40)
    listener, model, middleware = Listener(), Scripted(), remembering(memory)
    agent = create_agent(model, middleware=[middleware])
    await run(agent, user("What of the fair in town 7?"), config={"callbacks": [listener], "metadata": {"tenant": "x"}})
    [metadata], context = listener.told, middleware.last_context("s")
    assert context is not None
    told = metadata["wmem"]
    assert told == {
        "session": "s",
        "receipt": context.receipt,
        "tokens": context.tokens,
        "budget": LIMIT,
        "sizes": {name: tokens for name, tokens in context.sizes.items() if tokens},
        "kept": len(context.included) + len(context.truncated),
        "cut": 0,
        "dropped": context.dropped.count,
        "recalled": told["recalled"],
        "shortened": [],
    }
    assert 0 < len(told["recalled"]) <= 20
    assert told["dropped"] > 0
    assert set(told["recalled"]) <= {message.id for message in memory.scope("s").messages.all()}
    assert metadata["tenant"] == "x"
    assert json.loads(json.dumps(told)) == told


async def test_a_message_that_was_cut_is_named(run: Any, memory: wmem.AgentMemory) -> None:
    listener = Listener()
    agent = create_agent(Scripted(), middleware=[remembering(memory)])
    await run(
        agent, {"messages": [HumanMessage("So it went on. " * 2_000, id="long")]}, config={"callbacks": [listener]}
    )
    told = listener.told[0]["wmem"]
    assert (told["cut"], told["shortened"]) == (1, ["long"])


async def test_each_attempt_and_each_instance_tells_its_own(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory, turns=40)
    listener, model = Listener(), Metered(window=600)
    middleware: list[Any] = [remembering(memory, name="outer"), remembering(memory, name="inner")]
    await run(create_agent(model, middleware=middleware), user("And the fair?"), config={"callbacks": [listener]})
    assert len(listener.told) == len(model.took) > 1
    for metadata, took in zip(listener.told, model.took, strict=True):
        assert metadata["inner"]["tokens"] - RESERVE == took
        assert metadata["outer"]["session"] == "s"


async def test_nothing_is_told_beyond_the_call_and_nothing_is_sent(run: Any, memory: wmem.AgentMemory) -> None:
    listener, own = Listener(), Listener()
    plain, model = Scripted(), Scripted(callbacks=[own])
    await run(create_agent(plain), user("Hi"), config={"callbacks": [listener]})
    agent = create_agent(model, middleware=[remembering(memory)])
    await run(agent, user("Hi"))
    assert [[m.text for m in p] for p in model.prompts] == [[m.text for m in p] for p in plain.prompts]
    assert model.schemas == plain.schemas
    assert "wmem" in own.told[0]
    assert "wmem" not in listener.told[0]


async def test_without_a_listener_no_report_is_written(run: Any, memory: wmem.AgentMemory) -> None:
    middleware = remembering(memory)
    await run(create_agent(Scripted(), middleware=[middleware]), user("Hi"))
    context: Any = middleware.last_context("s")
    assert context.included._build is not None


async def test_a_stream_of_events_has_it_with_the_model_s(memory: wmem.AgentMemory) -> None:
    agent = create_agent(Scripted(), middleware=[remembering(memory)])
    events: list[Any] = [event async for event in agent.astream_events(user("Hi"), version="v2")]
    models = [event for event in events if event["event"] == "on_chat_model_end"]
    assert [event["metadata"]["wmem"]["kept"] for event in models] == [1]


async def test_a_stream_of_tokens_has_it_beside_each(memory: wmem.AgentMemory) -> None:
    agent = create_agent(Scripted(), middleware=[remembering(memory)])
    streamed: list[Any] = [told async for told in agent.astream(user("Hi"), stream_mode="messages")]
    assert all(metadata["wmem"]["session"] == "s" for _, metadata in streamed)
    assert streamed
