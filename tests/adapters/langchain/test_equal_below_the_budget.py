"""Below the budget a model is sent, with wmem in the agent, exactly the messages that it would be sent without it."""

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import cycle
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain.agents.structured_output import ToolStrategy
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    message_to_dict,
    trim_messages,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, from_langchain
from tests.adapters.langchain.conftest import Scripted
from tests.matrix import examples
from tests.openai_talks import talks, without_own_keys
from tests.suites.foreign_forms import FORMS
from wmem.tokens.counter import PROMPT_OVERHEAD, default_counter, message_tokens

PIXEL = "iVBORw0KGgo="


def form(messages: Sequence[BaseMessage]) -> list[str]:
    return [json.dumps(message_to_dict(message), sort_keys=True, default=repr) for message in messages]


class Recorder(AgentMiddleware):
    """Notes what passes it on its way to the model."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.prompts: list[list[str]] = []

    @property
    def name(self) -> str:
        return self._name

    def _note(self, request: ModelRequest[Any]) -> None:
        front = [] if request.system_message is None else [request.system_message]
        self.prompts.append(form([*front, *request.messages]))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        self._note(request)
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        self._note(request)
        return await handler(request)


@tool
def rain(town: str) -> str:
    """Whether it rains in a town."""
    return "" if town == "nowhere" else f"It rains in {town}."


@tool
def photograph(town: str) -> list[dict[str, Any]]:
    """A picture of a town."""
    return [
        {"type": "text", "text": f"{town} from above"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
    ]


@tool(response_format="content_and_artifact")
def map_of(town: str) -> tuple[str, dict[str, Any]]:
    """A map of a town."""
    return f"A map of {town}.", {"town": town, "scale": 0.5}


def calling(*calls: tuple[str, str], text: Any = "", **fields: Any) -> AIMessage:
    asked = [
        {"name": name, "args": {"town": town}, "id": f"c-{name}-{town}-{at}"} for at, (name, town) in enumerate(calls)
    ]
    return AIMessage(text, tool_calls=asked, **fields)


def in_blocks(form: str, *, ids: tuple[str, str] = ("t1", "t2")) -> list[BaseMessage]:
    """An exchange as content of LangChain's messages: calls and results are blocks there alone."""
    kinds: dict[str, Any] = {
        "user": HumanMessage,
        "assistant": AIMessage,
        "tool": partial(ToolMessage, tool_call_id=ids[0]),
    }
    written = json.dumps(FORMS[form]).replace('"t1"', f'"{ids[0]}"').replace('"t2"', f'"{ids[1]}"')
    return [kinds[each["role"]](each["content"]) for each in json.loads(written)]


class Weather(BaseModel):
    """The weather of a town."""

    town: str
    rainy: bool


INSTRUCTED = SystemMessage([{"type": "text", "text": "Be good.", "cache_control": {"type": "ephemeral"}}])

TALKS: dict[str, tuple[list[Any], list[Any]]] = {
    "words": (["hello", "yes", "yes", "What did I say?"], ["Hi.", "Yes?", "Yes?", "You said yes twice."]),
    "a tool": (["Rain in Oslo?", "thanks"], [calling(("rain", "Oslo")), "Yes.", "Welcome."]),
    "parallel tools": (
        ["Rain in Oslo and Rome?", "thanks"],
        [calling(("rain", "Oslo"), ("rain", "Rome"), ("map_of", "Rome"), text="Let me see."), "Both.", "Welcome."],
    ),
    "one call after another": (
        ["Rain?"],
        [calling(("rain", "Oslo")), calling(("rain", "Rome")), calling(("rain", "nowhere")), "Two of three."],
    ),
    "a tool's picture": (["Show me Oslo.", "and?"], [calling(("photograph", "Oslo")), "There.", "That was all."]),
    "a tool that does not exist": (["Snow?", "oh"], [calling(("snow", "Oslo")), "I cannot know.", "Sorry."]),
    "arguments that are not JSON": (
        ["Rain?", "well?"],
        [
            AIMessage(
                "hm",
                invalid_tool_calls=[
                    {"name": "rain", "args": "{", "id": "c9", "error": "no JSON", "type": "invalid_tool_call"}
                ],
            ),
            "Sorry.",
        ],
    ),
    "thoughts, citations and usage": (
        ["Rain in Oslo?", "and?"],
        [
            calling(
                ("rain", "Oslo"),
                text=[
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "text", "text": "I look.", "citations": [{"title": "a"}]},
                ],
                response_metadata={"model_name": "m", "n": 1.0},
                usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
            ),
            AIMessage([{"type": "text", "text": "Yes.", "citations": [{"title": "a"}]}], name="weather"),
            AIMessage("No.", additional_kwargs={"refusal": None, "kept": {"a": [1, 2.0]}}),
        ],
    ),
    "calls within the content": (
        ["Rain?", "thanks"],
        [
            AIMessage(
                [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "toolu_1", "name": "rain", "input": {"town": "Oslo"}},
                ],
                tool_calls=[{"name": "rain", "args": {"town": "Oslo"}, "id": "toolu_1"}],
            ),
            "Yes.",
            "Welcome.",
        ],
    ),
    "raw calls beside the parsed": (
        ["Rain?", "thanks"],
        [
            AIMessage(
                "",
                additional_kwargs={
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "rain", "arguments": '{"town":"Oslo"}'}}
                    ]
                },
            ),
            "Yes.",
            "Welcome.",
        ],
    ),
    "pictures, sound and files": (
        [
            [
                HumanMessage(
                    [
                        {"type": "text", "text": "What is this?"},
                        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"}},
                        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                    ],
                    id="h1",
                    name="ann",
                    additional_kwargs={"seen": True},
                )
            ],
            [
                HumanMessage(
                    [
                        {"type": "image", "source_type": "base64", "data": PIXEL, "mime_type": "image/png"},
                        {"type": "file", "base64": "JVBERi0=", "mime_type": "application/pdf", "extras": {"a": 1}},
                        {"type": "text", "text": "And this?", "cache_control": {"type": "ephemeral"}},
                    ]
                )
            ],
            "and now?",
        ],
        ["A pixel.", "A page.", "Nothing."],
    ),
    "one block, strings as blocks, empty texts": (
        [
            [HumanMessage([{"type": "text", "text": "one block"}])],
            [HumanMessage(["a", {"type": "text", "text": ""}, "b"])],
            [HumanMessage("")],
        ],
        [AIMessage([]), AIMessage(""), AIMessage([{"type": "text", "text": "ok", "index": 0}])],
    ),
    "system messages among the others": (
        [
            [SystemMessage("Be brief."), HumanMessage("hello")],
            [SystemMessage("Be kind."), HumanMessage("and now?")],
            [HumanMessage("a"), HumanMessage("b")],
        ],
        ["Hi.", "Dear.", "c"],
    ),
    "an assistant that speaks first": ([[AIMessage("Welcome!"), HumanMessage("hello")], "yes"], ["Hi.", "Yes."]),
    "history of another program": (
        [
            [
                HumanMessage("Rain?"),
                calling(("rain", "Oslo"), ("rain", "Rome")),
                ToolMessage("Rome: no", tool_call_id="c-rain-Rome-1", name="rain", status="error"),
                ToolMessage("Oslo: yes", tool_call_id="c-rain-Oslo-0", artifact={"a": 1}),
                AIMessage("Only in Oslo."),
                HumanMessage("thanks"),
            ]
        ],
        ["Welcome."],
    ),
}


TALKS |= {
    f"exchanges in the blocks of {form}": (
        [[*in_blocks(form), AIMessage("Sun and rain.")], in_blocks(form, ids=("t3", "t4"))],
        ["So so.", "Yes."],
    )
    for form in ("anthropic", "bedrock", "vercel")
}


PROFILES = {
    "a tool's picture": "anthropic",
    "one block, strings as blocks, empty texts": "openai",
    "system messages among the others": "openai",
    "an assistant that speaks first": "openai",
}
"""The provider that takes what not all of them take."""
OPTIONS: list[dict[str, Any]] = [{}, {"recall": False, "recent": 0}, {"stable": True, "summary": True}]


PACK_OPTIONS = {"recall", "recent", "stable", "summary", "profile", "budget", "reserve"}


class Pair:
    """An agent with wmem between two recorders: what it wants to send, and what is sent."""

    def __init__(self, memory: wmem.AgentMemory, *replies: Any, before: Sequence[Any] = (), **options: Any) -> None:
        packing: dict[str, Any] = {"budget": 100_000, "session": "s"}
        packing |= {name: options.pop(name) for name in PACK_OPTIONS & options.keys()}
        self.model = Scripted(replies=[AIMessage(reply) if isinstance(reply, str) else reply for reply in replies])
        self.wanted, self.sent = Recorder("wanted"), Recorder("sent")
        self.agent = create_agent(
            self.model,
            [rain, photograph, map_of],
            middleware=[*before, self.wanted, WmemMiddleware(memory, **packing), self.sent],
            **{"checkpointer": InMemorySaver(), **options},
        )
        self.config: Any = {"configurable": {"thread_id": "t"}}

    def check(self) -> None:
        assert self.sent.prompts == self.wanted.prompts
        assert len(self.sent.prompts) == len(self.model.prompts) > 0


def human(said: Any) -> Any:
    return {"messages": said if isinstance(said, list) else [HumanMessage(said)]}


@pytest.mark.parametrize(("name", "options"), list(zip(TALKS, cycle(OPTIONS), strict=False)), ids=str)
async def test_an_agent_sends_the_same_messages(
    run: Any, memory: wmem.AgentMemory, name: str, options: dict[str, Any]
) -> None:
    said, replies = TALKS[name]
    pair = Pair(memory, *replies, system_prompt=INSTRUCTED, profile=PROFILES.get(name, "any"), **options)
    for each in said:
        await run(pair.agent, human(each), config=pair.config)
    pair.check()


@pytest.mark.parametrize("name", ["words", "parallel tools", "system messages among the others"])
async def test_an_agent_without_a_checkpointer_sends_the_same_messages(
    run: Any, memory: wmem.AgentMemory, name: str
) -> None:
    said, replies = TALKS[name]
    pair = Pair(memory, *replies, checkpointer=None, profile=PROFILES.get(name, "any"))
    messages: list[Any] = []
    for each in said:
        messages = (await run(pair.agent, {"messages": [*messages, *human(each)["messages"]]}))["messages"]
    pair.check()


@examples(0.25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(talk=talks(strict=True), options=st.sampled_from(OPTIONS))
def test_a_history_from_elsewhere_is_sent_as_it_was_given(talk: Any, options: Any) -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        pair = Pair(memory, profile="openai", **options)
        history = convert_to_messages([{"content": "", **without_own_keys(each)} for each in talk])
        pair.agent.invoke(human(history), pair.config)
        pair.agent.invoke(human("yes"), pair.config)
        pair.check()


async def test_an_agent_that_waits_for_approval_goes_on_with_the_same_messages(
    run: Any, memory: wmem.AgentMemory
) -> None:
    pair = Pair(
        memory,
        calling(("rain", "Oslo"), ("map_of", "Oslo"), text="May I?"),
        "Done.",
        "Welcome.",
        before=[HumanInTheLoopMiddleware(interrupt_on={"rain": True})],
    )
    await run(pair.agent, human("Rain in Oslo?"), config=pair.config)
    decided = {"type": "edit", "edited_action": {"name": "rain", "args": {"town": "Rome"}}}
    await run(pair.agent, Command(resume={"decisions": [decided]}), config=pair.config)
    await run(pair.agent, human("thanks"), config=pair.config)
    pair.check()


async def test_an_agent_whose_call_was_rejected_goes_on_with_the_same_messages(
    run: Any, memory: wmem.AgentMemory
) -> None:
    pair = Pair(
        memory,
        calling(("rain", "Oslo"), ("map_of", "Oslo")),
        "Then not.",
        "Welcome.",
        before=[HumanInTheLoopMiddleware(interrupt_on={"rain": True})],
    )
    await run(pair.agent, human("Rain in Oslo?"), config=pair.config)
    await run(pair.agent, Command(resume={"decisions": [{"type": "reject", "message": "no"}]}), config=pair.config)
    await run(pair.agent, human("thanks"), config=pair.config)
    pair.check()


async def test_an_agent_with_structured_output_sends_the_same_messages(run: Any, memory: wmem.AgentMemory) -> None:
    answer = {"name": "Weather", "args": {"town": "Oslo", "rainy": True}, "id": "c2"}
    wrong = {"name": "Weather", "args": {"town": "Oslo"}, "id": "c1"}
    pair = Pair(
        memory,
        calling(("rain", "Oslo")),
        AIMessage("", tool_calls=[wrong]),
        AIMessage("", tool_calls=[answer]),
        AIMessage("", tool_calls=[{**answer, "id": "c3"}]),
        response_format=ToolStrategy(Weather),
    )
    await run(pair.agent, human("Rain in Oslo?"), config=pair.config)
    await run(pair.agent, human("yes"), config=pair.config)
    pair.check()


@pytest.mark.parametrize("mode", ["updates", "messages", "values"])
async def test_a_streamed_agent_sends_the_same_messages(memory: wmem.AgentMemory, mode: Any) -> None:
    pair = Pair(memory, calling(("rain", "Oslo")), "Yes.", calling(("rain", "Rome")), "No.", "Welcome.")
    list(pair.agent.stream(human("Rain in Oslo?"), pair.config, stream_mode=mode))
    [each async for each in pair.agent.astream(human("And in Rome?"), pair.config, stream_mode=mode)]
    [each async for each in pair.agent.astream_events(human("yes"), pair.config, version="v2")]
    pair.check()


async def test_a_run_that_failed_is_told_again_with_the_same_messages(run: Any, memory: wmem.AgentMemory) -> None:
    pair = Pair(memory, calling(("rain", "Oslo")), ConnectionError("gone"), "Yes.", "Welcome.")
    with pytest.raises(ConnectionError):
        await run(pair.agent, human("Rain in Oslo?"), config=pair.config)
    await run(pair.agent, None, config=pair.config)
    await run(pair.agent, human("thanks"), config=pair.config)
    pair.check()


# --- histories -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning")
@pytest.mark.parametrize("name", TALKS)
async def test_a_runnable_sends_what_it_sends_with_a_history_in_memory(
    run: Any, memory: wmem.AgentMemory, name: str
) -> None:
    said, replies = TALKS[name]
    plain = InMemoryChatMessageHistory()
    sent: list[list[list[str]]] = []
    for make in (lambda _: plain, lambda _: WmemChatMessageHistory("s", memory=memory)):
        prompts: list[list[str]] = []
        answers = [AIMessage(reply) if isinstance(reply, str) else reply for reply in replies]

        def answer(prompt: Any, prompts: Any = prompts, answers: list[Any] = answers) -> Any:
            prompts.append(form(without_ids(prompt.to_messages())))
            return answers.pop(0)

        template = ChatPromptTemplate.from_messages(
            [INSTRUCTED, MessagesPlaceholder("history"), MessagesPlaceholder("q")]
        )
        chain = RunnableWithMessageHistory(
            template | RunnableLambda(answer), make, input_messages_key="q", history_messages_key="history"
        )
        for each in said:
            await run(chain, {"q": human(each)["messages"]}, config={"configurable": {"session_id": "s"}})
        sent.append(prompts)
    assert sent[0] == sent[1]


def without_ids(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """A message of a history comes back with an id."""
    return [message.model_copy(update={"id": None}) for message in messages]


# --- above the budget ------------------------------------------------------------------------------------------------


def count_tokens(messages: Sequence[BaseMessage]) -> int:
    return PROMPT_OVERHEAD + sum(message_tokens(message, default_counter()) for message in from_langchain(messages))


@examples(0.25, suppress_health_check=[HealthCheck.too_slow])
@given(
    talk=st.lists(talks(strict=True, plain=True), min_size=4, max_size=12),
    budget=st.sampled_from([600, 1_500, 4_000]),
    options=st.sampled_from(OPTIONS),
)
def test_what_trimming_keeps_at_half_the_budget_is_sent(talk: Any, budget: int, options: Any) -> None:
    said = [message for each in talk for message in each if message["role"] != "system"]
    read = convert_to_messages([{"content": "", **without_own_keys(message)} for message in said])
    history = [message.model_copy(update={"id": f"m{at}"}) for at, message in enumerate([*read, HumanMessage("and?")])]
    kept = trim_messages(
        history,
        max_tokens=budget // 2,
        token_counter=count_tokens,
        strategy="last",
        start_on="human",
        include_system=True,
    )
    with wmem.open("memory://", agent_id="a") as memory:
        pair = Pair(memory, **{"budget": budget, "reserve": 0, **options})
        pair.agent.invoke({"messages": history}, pair.config)
    sent = {json.loads(message)["data"]["id"] for message in pair.sent.prompts[0]}
    assert {message.id for message in kept} <= sent
