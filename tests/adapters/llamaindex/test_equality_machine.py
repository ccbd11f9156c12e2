"""Random acts on a session, side by side with LlamaIndex's own memories: below the limit all send and show the same."""

import asyncio
import copy
import json
import tempfile
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer, Memory
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent, JsonSerializer
from pydantic import Field

from llamaindex_wmem import WmemMemory
from tests.adapters.llamaindex.test_engines import WAYS, Script, asked, condense, context, simple
from tests.matrix import examples
from tests.openai_talks import texts

pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::workflows.context.state_store.UnserializableKeyWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]
LIMIT = 100_000
OPTIONS: list[dict[str, Any]] = [{}, {"recall": False, "recent": 0}, {"stable": True}, {"summary": True}]
ENGINES: dict[str, Callable[..., Any]] = {"simple": simple, "context": context, "condense": condense}


class DownError(RuntimeError):
    """What a model raises when it is told to."""


class DictStore(AsyncDBChatStore):
    """A chat store for LlamaIndex's `Memory` that holds lists and nothing else; its own is an SQL database."""

    held: dict[str, list[ChatMessage]] = Field(default_factory=dict)

    async def get_messages(self, key: str, *_: Any, **__: Any) -> list[ChatMessage]:
        return list(self.held.get(key, []))

    async def add_message(self, key: str, message: ChatMessage, *_: Any, **__: Any) -> None:
        self.held.setdefault(key, []).append(message)

    async def add_messages(self, key: str, messages: list[ChatMessage], *_: Any, **__: Any) -> None:
        self.held.setdefault(key, []).extend(messages)

    async def set_messages(self, key: str, messages: list[ChatMessage], *_: Any, **__: Any) -> None:
        self.held[key] = list(messages)

    async def delete_messages(self, key: str, *_: Any, **__: Any) -> None:
        self.held.pop(key, None)

    async def count_messages(self, key: str, *_: Any, **__: Any) -> int:
        raise NotImplementedError

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        raise NotImplementedError

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        raise NotImplementedError

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        raise NotImplementedError

    async def get_keys(self) -> list[str]:
        raise NotImplementedError


# Tools are coroutines: LlamaIndex runs others in threads, and lists their results as they end.
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def fail(a: int, b: object) -> str:
    """Raise an error."""
    raise ValueError("the tool is broken")


async def ask_person(ctx: Context, question: str) -> str:
    """Ask a person."""
    answer = await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(prefix=question))  # type: ignore[call-arg]  # events take any field
    return str(answer.response)


# --- what is drawn ---------------------------------------------------------------------------------------------------


def _call(number: int, id_: str) -> ToolCallBlock:
    """A call of one of the tools, one of which does not exist and one of which fails."""
    kwargs: dict[str, Any] = {"a": number, "b": "x" if number % 2 else 2}
    return ToolCallBlock(tool_call_id=id_, tool_name=["add", "add", "fail", "none"][number % 4], tool_kwargs=kwargs)


@st.composite
def rounds(draw: st.DrawFn, *, usable: bool = True) -> ChatMessage:
    """An assistant's message with calls of tools, under ids that a provider takes, or not."""
    numbers = draw(st.lists(st.integers(0, 7), min_size=1, max_size=3, unique=True))
    made = draw(st.sampled_from(["call", "call", "c1", "c2", "c3", "c4"]))
    ids = [f"{made}_{number}" for number in numbers] if usable else [draw(st.sampled_from(["", "same"]))] * len(numbers)
    before = [TextBlock(text="I add.")] if draw(st.booleans()) else []
    blocks = [*before, *(_call(number, id_) for number, id_ in zip(numbers, ids, strict=True))]
    return ChatMessage(role="assistant", blocks=blocks)


def _results(call: ChatMessage) -> list[ChatMessage]:
    ids = [block.tool_call_id for block in call.blocks if isinstance(block, ToolCallBlock)]
    return [
        ChatMessage(role="tool", content=f"r{at}", additional_kwargs={"tool_call_id": i}) for at, i in enumerate(ids)
    ]


@st.composite
def units(draw: st.DrawFn) -> list[ChatMessage]:
    """Messages that stand or fall together."""
    kind = draw(st.sampled_from(["user", "user", "assistant", "system", "round", "blocks"]))
    if kind == "round":
        call = draw(rounds())
        return [call, *draw(st.permutations(_results(call)))]
    if kind == "blocks":
        blocks = [TextBlock(text=draw(texts)), TextBlock(text=draw(texts))]
        return [ChatMessage(role="user", blocks=blocks, additional_kwargs={"name": "ann"})]
    return [ChatMessage(role=kind, content=draw(texts))]


conversations = st.lists(units(), min_size=1, max_size=3).map(lambda drawn: [one for unit in drawn for one in unit])
questions = st.sampled_from(["What is my dog called?", "add", "yes", "yes", "東京?"])
answers = st.lists(rounds(), max_size=2).flatmap(
    lambda calls: st.sampled_from(["Fine.", "yes", "3 and 7", "  blanks\n"]).map(lambda end: [*calls, end])
)


# --- two sides -------------------------------------------------------------------------------------------------------


class Side:
    """A memory, the context of an agent that uses it, and every prompt that a model was sent with it."""

    def __init__(self, memory: BaseMemory, open_again: Callable[[BaseMemory], BaseMemory]) -> None:
        self.memory: Any = memory
        self.open_again = open_again
        self.saved: dict[str, Any] | None = None
        self.prompts: list[list[ChatMessage]] = []

    def script(self, *answers: Any) -> Script:
        """A model that answers in turn, and whose prompts are this side's."""
        made = Script(*copy.deepcopy(answers))
        made.prompts = self.prompts
        return made

    async def run_agent(self, agent: FunctionAgent | ReActAgent | AgentWorkflow, *, kept: bool, **given: Any) -> None:
        """Run an agent, on its context of before if it is to be kept; a failure of its model ends the run."""
        ctx = await self.restored(agent) if kept else Context(agent)
        try:
            await agent.run(memory=self.memory, ctx=ctx, **given)
        except DownError:
            return
        self.saved = ctx.to_dict(serializer=JsonSerializer())

    async def restored(self, agent: Any) -> Context:
        """The saved context, if there is one; our memory is in it, LlamaIndex's own is not."""
        if self.saved is None:
            return Context(agent)
        ctx = Context.from_dict(agent, self.saved, serializer=JsonSerializer())
        if isinstance(self.memory, WmemMemory):
            self.memory = await ctx.store.get("memory")
        return ctx


def _plain_buffer() -> Side:
    def again(memory: BaseMemory) -> BaseMemory:
        assert isinstance(memory, ChatMemoryBuffer)
        return ChatMemoryBuffer.from_defaults(chat_store=memory.chat_store, token_limit=LIMIT)

    return Side(ChatMemoryBuffer.from_defaults(token_limit=LIMIT), again)


def _plain_memory() -> Side:
    def again(memory: BaseMemory) -> BaseMemory:
        assert isinstance(memory, Memory)
        return Memory.from_defaults(session_id=memory.session_id, chat_store=memory.sql_store, token_limit=LIMIT)

    return Side(Memory.from_defaults(token_limit=LIMIT, chat_store=DictStore()), again)


PLAIN: dict[str, Callable[[], Side]] = {"buffer": _plain_buffer, "memory": _plain_memory}


def shape(message: ChatMessage, *, ids: bool = True) -> str:
    """A message as JSON, with or without the ids of calls."""
    written = message.model_dump(mode="json")
    if not ids:
        written["additional_kwargs"].pop("tool_call_id", None)
        for block in written["blocks"]:
            block.pop("tool_call_id", None)
    return json.dumps(written, sort_keys=True)


def is_paired(prompt: Sequence[ChatMessage]) -> bool:
    """Whether each call is answered once, right behind it, under an id of its own."""
    waiting: set[str | None] = set()
    for message in prompt:
        if message.role == MessageRole.TOOL:
            id_ = message.additional_kwargs.get("tool_call_id")
            if id_ not in waiting:
                return False
            waiting.remove(id_)
            continue
        ids = [block.tool_call_id for block in message.blocks if isinstance(block, ToolCallBlock)]
        if waiting or len(set(ids)) < len(ids) or not all(ids):
            return False
        waiting = set(ids)
    return not waiting


def find_end(held: Sequence[ChatMessage], given: Sequence[ChatMessage]) -> int:
    """How many messages of a list are the end of a history, which goes on with the rest; 0 if the list replaces it.

    See `WmemMemory.set`: the end is the whole list, or two messages of it at least. What begins as the history begins
    is an edit of it.
    """
    said, wanted = ([shape(one, ids=False) for one in each] for each in (held, given))
    length = next((n for n in range(min(len(wanted), len(said) - 1), 0, -1) if wanted[:n] == said[-n:]), 0)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(wanted[:length], said, strict=False)))
    is_end = length > min(alike, 1) if length == len(wanted) else length > max(alike, 1)
    return length if is_end else 0


class Machine(RuleBasedStateMachine):
    """Plays each act on LlamaIndex's memory and on ours, and compares all that a model was sent or a caller shown."""

    plain_kind = "buffer"

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.place = tempfile.TemporaryDirectory()
        self.ids = True
        self.rule_count = 0
        self.opened: list[WmemMemory] = []

    @initialize(options=st.sampled_from(OPTIONS), on_disk=st.booleans())
    def open(self, options: dict[str, Any], on_disk: bool) -> None:
        name = uuid4().hex
        url = f"sqlite://{self.place.name}/store.db" if on_disk else f"memory://{name}"

        def again(_: object = None) -> WmemMemory:
            self.opened.append(
                WmemMemory.from_defaults(
                    session_id="s", url=url, agent_id="a", token_limit=LIMIT, profile="openai", **options
                )
            )
            return self.opened[-1]

        self.plain, self.ours = PLAIN[self.plain_kind](), Side(again(), again)

    def teardown(self) -> None:
        for memory in self.opened:
            memory.close()
        self.runner.close()
        self.place.cleanup()

    # -- comparing

    def play(self, act: Callable[[Side], Any]) -> None:
        """Let both sides act, each in its way, and compare."""
        results = []
        for side in (self.plain, self.ours):
            result = act(side)
            results.append(self.runner.run(result) if asyncio.iscoroutine(result) else result)
        self.compare(*([result] if isinstance(result, list) else [] for result in results))
        self.compare(self.plain.prompts, self.ours.prompts)
        assert is_paired(self.ours.memory.get())
        for side in (self.plain, self.ours):
            side.prompts.clear()
        self.compare([self.plain.memory.get_all()], [self.ours.memory.get_all()])

    def compare(self, plain: list[list[ChatMessage]], ours: list[list[ChatMessage]]) -> None:
        shown = [[[shape(one, ids=self.ids) for one in prompt] for prompt in prompts] for prompts in (plain, ours)]
        assert shown[1] == shown[0]

    def distinguish(self, messages: Sequence[ChatMessage]) -> None:
        """Number system texts: a program stores its own anew at each start, and it is sent once."""
        for message in messages:
            if message.role == MessageRole.SYSTEM:
                self.rule_count += 1
                message.blocks = [TextBlock(text=f"Rule {self.rule_count}. {message.content}")]

    # -- the memory alone

    @rule(messages=conversations, how=st.sampled_from(["put", "aput", "put_messages", "aput_messages"]))
    def put(self, messages: list[ChatMessage], how: str) -> None:
        self.distinguish(messages)

        def act(side: Side) -> Any:
            given = copy.deepcopy(messages)
            if how == "put":
                return [side.memory.put(each) for each in given] and None
            return self._put_async(side, given) if how == "aput" else getattr(side.memory, how)(given)

        self.play(act)

    @staticmethod
    async def _put_async(side: Side, given: Sequence[ChatMessage]) -> None:
        for each in given:
            await side.memory.aput(each)

    @rule(question=st.none() | texts, how=st.sampled_from(["get", "aget"]))
    def get(self, question: str | None, how: str) -> None:
        self.play(lambda side: getattr(side.memory, how)(question))

    @rule(
        data=st.data(),
        begins=st.sampled_from(["all", "view", "nothing"]),
        new=st.just([]) | conversations,
        how=st.sampled_from(["set", "aset"]),
    )
    def set(self, data: st.DataObject, begins: str, new: list[ChatMessage], how: str) -> None:
        """Edit the history as an application does: take it, leave some of it out, say it in other words, go on.

        The one difference: what is only the end of the history continues it with us, and loses nothing.
        """
        self.distinguish(new)
        held = self.plain.memory.get_all() if begins != "nothing" else []
        edit = data.draw(st.sampled_from(["none", "shorten", "edit", "remove"]))
        places = [at for at, each in enumerate(held) if each.role in (MessageRole.USER, MessageRole.SYSTEM)]
        place = data.draw(st.sampled_from(places)) if places else None

        def act(side: Side) -> Any:
            taken = [] if begins == "nothing" else side.memory.get_all() if begins == "all" else side.memory.get()
            messages = copy.deepcopy(taken)
            if place is not None:
                if edit == "shorten":
                    del messages[place:]
                elif edit == "remove":
                    del messages[place]
                elif edit == "edit":
                    messages[place] = ChatMessage(
                        role=messages[place].role, content=f"In other words: {len(messages)}."
                    )
            messages += copy.deepcopy(new)
            if side is self.plain and (length := find_end(stored := side.memory.get_all(), messages)):
                messages = [*stored, *messages[length:]]
            return getattr(side.memory, how)(messages)

        self.play(act)

    @rule(how=st.sampled_from(["reset", "areset"]))
    def reset(self, how: str) -> None:
        self.play(lambda side: getattr(side.memory, how)())

    @rule()
    def open_again(self) -> None:
        """Go on with a second memory of the same session, as another worker does."""
        for side in (self.plain, self.ours):
            side.memory = side.open_again(side.memory)

    # -- agents and engines

    @rule(
        question=questions,
        said=answers,
        streaming=st.booleans(),
        kept=st.booleans(),
        handed=st.sampled_from([None, None, "all", "view"]),
    )
    def run_agent(self, question: str, said: list[Any], streaming: bool, kept: bool, handed: str | None) -> None:
        self._run_agent(question, said, streaming=streaming, kept=kept, handed=handed)

    @rule(question=questions, call=rounds(usable=False), streaming=st.booleans())
    def run_agent_whose_model_names_calls_badly(self, question: str, call: ChatMessage, streaming: bool) -> None:
        self.ids = False
        self._run_agent(question, [call, "Fine."], streaming=streaming)

    @rule(question=questions, said=st.lists(rounds(), max_size=1), streaming=st.booleans())
    def run_agent_whose_model_fails(self, question: str, said: list[Any], streaming: bool) -> None:
        self._run_agent(question, [*said, DownError("down")], streaming=streaming)
        self._run_agent(question, [*said, "Up again."], streaming=streaming)

    def _run_agent(
        self, question: str, said: list[Any], *, streaming: bool, kept: bool = False, handed: str | None = None
    ) -> None:
        async def act(side: Side) -> None:
            agent = FunctionAgent(
                tools=[add, fail], llm=side.script(*said).llm, streaming=streaming, system_prompt="Be brief."
            )
            given = {}
            if handed:
                given["chat_history"] = await (side.memory.aget() if handed == "view" else side.memory.aget_all())
            await side.run_agent(agent, user_msg=question, kept=kept, **given)

        self.play(act)

    @rule(question=questions, tries=st.integers(0, 2), streaming=st.booleans())
    def run_agent_that_reasons_in_text(self, question: str, tries: int, streaming: bool) -> None:
        call = 'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}'
        said = [call, "no form at all", call][:tries]

        async def act(side: Side) -> None:
            script = side.script(*said, "Thought: done.\nAnswer: 3")
            await side.run_agent(
                ReActAgent(tools=[add], llm=script.llm, streaming=streaming), kept=False, user_msg=question
            )

        self.play(act)

    @rule(question=questions, call=rounds())
    def run_agents_that_hand_over(self, question: str, call: ChatMessage) -> None:
        handing = ToolCallBlock(
            tool_call_id="h1", tool_name="handoff", tool_kwargs={"to_agent": "second", "reason": "it knows"}
        )

        async def act(side: Side) -> None:
            first = FunctionAgent(
                name="first",
                description="asks",
                tools=[add, fail],
                llm=side.script(call, ChatMessage(role="assistant", blocks=[handing])).llm,
                can_handoff_to=["second"],
            )
            second = FunctionAgent(
                name="second", description="knows", tools=[add, fail], llm=side.script(call, "I know.").llm
            )
            await side.run_agent(
                AgentWorkflow(agents=[first, second], root_agent="first"), kept=False, user_msg=question
            )

        self.play(act)

    @rule(question=questions, answer=texts)
    def ask_a_person_in_another_process(self, question: str, answer: str) -> None:
        """A run that waits for a person is saved, and goes on with a memory that was made from what was saved."""
        call = ToolCallBlock(tool_call_id="p1", tool_name="ask_person", tool_kwargs={"question": "Sure?"})

        async def act(side: Side) -> None:
            asking = side.script(ChatMessage(role="assistant", blocks=[call]))
            handler = FunctionAgent(tools=[ask_person], llm=asking.llm).run(question, memory=side.memory)
            async for event in handler.stream_events():
                if isinstance(event, InputRequiredEvent):
                    side.saved = handler.ctx.to_dict(serializer=JsonSerializer())
                    await handler.cancel_run()
                    break
            agent = FunctionAgent(tools=[ask_person], llm=side.script("Thanks.").llm)
            handler = agent.run(ctx=await side.restored(agent))
            if side is self.plain:
                await handler.ctx.store.set("memory", side.memory)
            handler.ctx.send_event(HumanResponseEvent(response=answer))  # type: ignore[call-arg]  # as above
            await handler
            side.saved = None

        self.play(act)

    @rule(
        question=questions,
        engine=st.sampled_from([*ENGINES]),
        how=st.sampled_from(WAYS),
        answer=st.sampled_from(["Fine.", "yes", "one two three"]),
        handed=st.booleans(),
    )
    def chat(self, question: str, engine: str, how: str, answer: str, handed: bool) -> None:
        async def act(side: Side) -> None:
            script = side.script(answer)
            if "stream" in how:
                script_of: Any = type(
                    "Streaming", (), {"llm": script.word_by_word, "word_by_word": script.word_by_word}
                )
            else:
                script_of = type("Whole", (), {"llm": script.llm, "word_by_word": script.llm})
            given = {"chat_history": await side.memory.aget_all()} if handed else {}
            await asked(ENGINES[engine](side.memory, script_of), how, question, **given)

        self.play(act)


@pytest.mark.parametrize("plain_kind", [*PLAIN])
def test_a_model_is_sent_the_same_messages_whatever_was_done_to_the_memory(plain_kind: str) -> None:
    class Against(Machine):
        pass

    Against.plain_kind = plain_kind
    run_state_machine_as_test(Against, settings=examples(0.16, stateful_step_count=10))
