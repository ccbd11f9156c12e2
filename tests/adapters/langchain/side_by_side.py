"""Two agents that are treated alike, one of them with wmem: what was done to them, and whether they send the same."""

import asyncio
import copy
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    message_to_dict,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, StateSnapshot, interrupt

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, WmemPack
from langchain_wmem._fields import CUT_SOURCE
from tests.adapters.langchain.conftest import Scripted

THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}
BUDGET = 200_000
UPDATED_AS = "tools"
"""The node that a change from outside is put down to: LangChain's own agent fails on some as its model node."""
FOREIGN = "said by somebody else"

Middlewares = Callable[[], tuple[Sequence[Any], Sequence[Any]]]


class DownError(RuntimeError):
    """What a model or a tool raises when it is told to."""


class Side:
    """An agent on a checkpointer with a model that says what it is told to say and keeps every prompt.

    Args:
        middlewares: Makes what stands before and behind wmem.
    """

    def __init__(self, middlewares: Middlewares, **options: Any) -> None:
        self.saver = InMemorySaver()
        self.model = Scripted()
        self.tool_failures = 0
        self.meanwhile: Callable[[], None] = lambda: None
        self._middlewares = middlewares
        self._options = options
        self.build()

    def wmem(self) -> list[Any]:
        """The middleware of wmem; none here."""
        return []

    def build(self) -> None:
        """Make the agent, as a process does when it starts."""

        @tool
        def rain(town: str) -> str:
            """Whether it rains in a town."""
            self.meanwhile()
            if self.tool_failures:
                self.tool_failures -= 1
                raise DownError
            return f"It rains in {town}."

        @tool
        def ask(town: str) -> str:
            """Ask a person about a town."""
            return f"A person says {interrupt(town)}."

        self.agent: Any = self.make_agent([rain, ask])

    def make_agent(self, tools: list[BaseTool]) -> Any:
        """The agent, with what stands around it."""
        before, behind = self._middlewares()
        middleware = [*before, *self.wmem(), *behind]
        return create_agent(self.model, tools, middleware=middleware, checkpointer=self.saver, **self._options)

    def messages(self) -> list[BaseMessage]:
        """The messages of the thread's state; those of a step that has not ended are not yet in it."""
        checkpoint = self.saver.get(THREAD)
        found: list[BaseMessage] = checkpoint["channel_values"].get("messages", []) if checkpoint else []
        return found

    def history(self, node: str | None) -> list[StateSnapshot]:
        """Checkpoints before a node ran, or behind a finished run, newest first."""
        history = self.agent.get_state_history(THREAD)
        return [each for each in history if (node in each.next if node else not each.next)]


class WmemSide(Side):
    """The same with wmem, on a store that another process could open.

    Args:
        url: Of the store.
        handle: Whether the middleware is given an open memory and not the URL.
    """

    def __init__(self, middlewares: Middlewares, url: str, *, handle: bool, **options: Any) -> None:
        self._url = url
        self._handle = handle
        self._wmem_options = options.pop("wmem_options", {})
        self.other = wmem.open(url, agent_id="agent-7")
        self._opened: wmem.AgentMemory | None = None
        self.middleware: WmemMiddleware | WmemPack | None = None
        self._other_process: Any = None
        super().__init__(middlewares, **options)

    def wmem(self) -> list[Any]:
        self.middleware = WmemMiddleware(**self.open_options())
        return [self.middleware]

    def open_options(self) -> dict[str, Any]:
        """Arguments for what packs; what packed before is closed."""
        self.close_middleware()
        given: dict[str, Any] = {"memory": self._url, "agent_id": "agent-7"}
        if self._handle:
            self._opened = wmem.open(self._url, agent_id="agent-7")
            given = {"memory": self._opened}
        return {**given, "budget": BUDGET, "profile": "openai", **self._wmem_options}

    def switch(self) -> None:
        """Go on in the other one of two processes that stay alive."""
        here = self.agent, self.middleware, self._opened
        self.middleware = self._opened = None
        if self._other_process is None:
            self.build()
        else:
            self.agent, self.middleware, self._opened = self._other_process
        self._other_process = here

    def close_middleware(self) -> None:
        """Close what the middleware stands on."""
        if self.middleware is not None:
            self.middleware.close()
        if self._opened is not None:
            self._opened.close()

    def close(self) -> None:
        """Close everything."""
        if self._other_process is not None:
            self.switch()
            self.close_middleware()
            self.switch()
        self.close_middleware()
        self.other.close()

    def stored(self) -> list[str]:
        """The texts of the session that are not withdrawn."""
        return [message.text for message in self.other.scope("t").messages.all()]


# --- comparing -------------------------------------------------------------------------------------------------------


def repair(prompt: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The prompt as a provider takes it: without results of no call, and without calls that have no result.

    An assistant's words outlive its calls.
    """
    answered = {each.tool_call_id for each in prompt if isinstance(each, ToolMessage)}
    called: set[str | None] = set()
    repaired: list[BaseMessage] = []
    for message in prompt:
        if isinstance(message, AIMessage) and message.tool_calls:
            calls = [call for call in message.tool_calls if call["id"] in answered]
            called.update(call["id"] for call in calls)
            if calls or message.text:
                repaired.append(message.model_copy(update={"tool_calls": calls}))
        elif not isinstance(message, ToolMessage) or message.tool_call_id in called:
            repaired.append(message)
    return repaired


class Shape:
    """Messages as text, in which an id says which message it names, not how: each process draws others."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {}

    def write(self, messages: Sequence[BaseMessage]) -> list[str]:
        """One line for each message."""
        calls: dict[str, str] = {}
        return [self._write(place, message, calls) for place, message in enumerate(messages)]

    def _write(self, place: int, message: BaseMessage, calls: dict[str, str]) -> str:
        written = copy.deepcopy(message_to_dict(message))
        data = written["data"]
        if data["additional_kwargs"].get("lc_source") == CUT_SOURCE:  # says of a call left out that nobody edited it
            del data["additional_kwargs"]["lc_source"]
        if message.type != "system":
            data["id"] = self._numbers.setdefault(data["id"], len(self._numbers))
        for at, call in enumerate(data.get("tool_calls", [])):
            calls[call["id"]] = f"call {at} of {place}"
            call["id"] = calls[call["id"]]
        if "tool_call_id" in data:
            data["tool_call_id"] = calls.get(data["tool_call_id"], "of no call")
        return json.dumps(written, sort_keys=True, default=repr)


def is_foreign(message: BaseMessage) -> bool:
    """Whether another writer than the agent said it."""
    return FOREIGN in message.text


def is_summary(message: BaseMessage) -> bool:
    """Whether LangChain's middleware made it of what it took out of the state."""
    return message.additional_kwargs.get("lc_source") == "summarization"


# --- what is done to both --------------------------------------------------------------------------------------------


class Pair:
    """An agent without wmem and one with it; each act is done to both, and what they send is compared.

    Args:
        in_async: Draws, for each call, whether it is a coroutine's; by default every second one is.
    """

    plain_side: type[Side] = Side
    wmem_side: type[WmemSide] = WmemSide

    def __init__(
        self,
        url: str,
        middlewares: Middlewares = lambda: ((), ()),
        *,
        in_async: Callable[[], bool] | None = None,
        handle: bool = False,
        wmem_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.plain = self.plain_side(middlewares, **options)
        self.ours = self.wmem_side(middlewares, url, handle=handle, wmem_options=wmem_options or {}, **options)
        self.sides = (self.plain, self.ours)
        self.foreign: list[str] = []
        self._there: list[str] = []  # of them, when the newest run began
        self.compared = 0
        self._in_async = in_async or itertools.cycle([False, True]).__next__
        self._runner = asyncio.Runner()
        self._shapes = (Shape(), Shape())
        self._numbers = itertools.count()
        self._is_state_kept = "window" not in (wmem_options or {})
        self._is_summarised = False  # once, at least
        self._held: list[str | None] = []
        self._taken_back: set[str | None] = set()
        self._trimmed: set[str | None] = set()
        self._begun_with: set[str | None] = set()  # what the newest run's checkpoint held

    def close(self) -> None:
        """Close the store."""
        self.ours.close()
        self._runner.close()

    def name(self, kind: str = "h") -> str:
        """A fresh id of a message."""
        return f"{kind}{next(self._numbers)}"

    def person(self, text: str, *, named: bool = True) -> HumanMessage:
        """What a person says, under an id of its own or without one."""
        return HumanMessage(text, id=self.name() if named else None)

    def compare(self) -> None:
        """Demand that both were sent, and hold, the same."""
        prompts = [side.model.prompts for side in self.sides]
        assert len(prompts[0]) == len(prompts[1])
        if prompts[1] and self._is_state_kept:
            self._follow()
        self._is_summarised |= any(map(is_summary, self.plain.messages()))
        for plain, ours in zip(*prompts, strict=True):
            expected = [message for message in repair(plain) if not is_summary(message)]
            sent = [message for message in ours if not is_foreign(message)]
            front, sent = sent[: len(sent) - len(expected)], sent[len(sent) - len(expected) :]
            # What a summary covers is still memory; it may have been said in this very run.
            assert self._is_summarised or {message.id for message in front} <= self._trimmed
            shown = [shape.write(each) for shape, each in zip(self._shapes, (expected, sent), strict=True)]
            assert shown[1] == shown[0]
            assert not self._taken_back.intersection(message.id for message in ours)
            assert [text for text in self._there if text not in [each.text for each in ours]] == []
            self.compared += 1
        if self._is_state_kept:
            states = [shape.write(side.messages()) for shape, side in zip(self._shapes, self.sides, strict=True)]
            assert states[1] == states[0]
        for side in self.sides:
            side.model.prompts.clear()

    def _follow(self) -> None:
        """Note what our state lost since the last run: taken back is what is newer than something it still holds.

        What is older was trimmed, and is still memory. A state that holds nothing of before took all of it back.
        """
        state = self.ours.messages()
        now = {message.id for message in state}
        oldest = next((at for at, id_ in enumerate(self._held) if id_ in now), None)
        if oldest is not None or any(map(is_summary, state)):
            self._trimmed.update(self._held[:oldest])
            self._taken_back.update(self._held[oldest or len(self._held) :])
        else:
            self._taken_back.update(self._held, self._trimmed)
        self._trimmed -= now | self._taken_back
        self._taken_back -= now | self._begun_with
        self._held = [message.id for message in state]

    # -- running

    def run(
        self,
        given: Callable[[Side], Any],
        *replies: Any,
        config: Callable[[Side], RunnableConfig | None] = lambda _: THREAD,
        retry: bool = False,
        spoilt: Callable[[AIMessage], AIMessage] = lambda message: message,
    ) -> None:
        """Run both agents; a failure of a model or a tool ends the run.

        Args:
            given: The input of a side.
            replies: What the model says, an exception among them is raised.
            config: Where a side begins; nowhere at all if it is None.
            retry: Repeat a run that failed, once.
            spoilt: What our model says instead of the same reply.
        """
        in_async = self._in_async()
        self._there = [*self.foreign]
        where = config(self.ours)
        held = self.ours.agent.get_state(where).values.get("messages", []) if where is not None else []
        self._begun_with = {message.id for message in held}
        begun = [(side, given(side), config(side)) for side in self.sides]  # before either runs
        for side, input_, where in begun:
            if where is None:
                continue
            replied = [AIMessage(each, id=None) if isinstance(each, str) else copy.deepcopy(each) for each in replies]
            if side is self.ours:
                replied = [spoilt(each) if isinstance(each, AIMessage) else each for each in replied]
            side.model.replies = replied
            agent: Any = side.agent
            if retry:
                agent = agent.with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
            with suppress(DownError):
                if in_async:
                    self._runner.run(agent.ainvoke(input_, where))
                else:
                    agent.invoke(input_, where)
        self.compare()

    def say(self, *replies: Any, text: str = "What is my dog called?", named: bool = True, **options: Any) -> None:
        """A person says something."""
        said = self.person(text, named=named)
        self.run(lambda _: {"messages": [said.model_copy()]}, *(replies or ["Fine."]), **options)

    def call(self, *towns: str, text: str = "", tools: Sequence[str] = ("rain",)) -> AIMessage:
        """A model's message that calls a tool for each town."""
        calls = [
            {"name": tools[at % len(tools)], "args": {"town": town}, "id": self.name("c")}
            for at, town in enumerate(towns)
        ]
        return AIMessage(text, tool_calls=calls)

    def resume(self, *replies: Any, answer: object = "yes") -> None:
        """Go on with a run that waits: for a person, or because it failed."""

        def given(side: Side) -> Any:
            waiting = side.agent.get_state(THREAD).interrupts
            if not waiting:
                return None
            return Command(resume={each.id: _decide(each.value, answer) for each in waiting})

        if not self.plain.agent.get_state(THREAD).next:
            return
        self.run(given, *(replies or ["Fine."]))

    # -- rewriting

    def update(self, made: Callable[[Side], Sequence[BaseMessage]]) -> None:
        """Change the thread's state from outside."""
        changes = [list(made(side)) for side in self.sides]  # before either changes
        for side, change in zip(self.sides, changes, strict=True):
            side.agent.update_state(THREAD, {"messages": change}, as_node=UPDATED_AS)
        self.compare()

    def edited(self, side: Side, place: int, text: str) -> list[BaseMessage]:
        """The message at a place of the state in other words, under its id; none if there is none to edit."""
        found = [each for each in side.messages() if each.type in ("human", "ai") and each.text]
        if not found:
            return []
        message = found[place % len(found)]
        return [message.model_copy(update={"content": text})]

    def removed(self, side: Side, place: int, *, whole: bool = True) -> list[BaseMessage]:
        """Removals of a message at a place of the state; of a call together with its results, if it is to be whole."""
        messages = self.plain.messages()  # whose calls have ids that tell them apart
        if not messages:
            return []
        message = messages[place % len(messages)]
        if isinstance(message, ToolMessage) and whole:
            message = next((each for each in messages if message.tool_call_id in _call_ids(each)), message)
        ids = _call_ids(message) if whole else []
        places = [
            at
            for at, each in enumerate(messages)
            if each is message or (isinstance(each, ToolMessage) and each.tool_call_id in ids)
        ]
        return [RemoveMessage(id=side.messages()[at].id or "") for at in places]

    def edit(self, place: int, text: str = "In other words.") -> None:
        """Edit a message under its id."""
        self.update(lambda side: self.edited(side, place, text))

    def edit_as_it_says(self, place: int, *replies: Any) -> None:
        """Edit a message in the input that brings the next question."""
        said = self.person("And now?")
        self.run(
            lambda side: {"messages": [*self.edited(side, place, "In yet other words."), said.model_copy()]},
            *(replies or ["Fine."]),
        )

    def remove(self, place: int, *, whole: bool = True) -> None:
        """Remove a message by its id."""
        self.update(lambda side: self.removed(side, place, whole=whole))

    def remove_as_it_says(self, place: int, *replies: Any) -> None:
        """Remove a message in the input that brings the next question."""
        said = self.person("And now?")
        self.run(
            lambda side: {"messages": [*self.removed(side, place), said.model_copy()]},
            *(replies or ["Fine."]),
        )

    def remove_all(self) -> None:
        """Remove everything."""
        if self.plain.messages():
            self.update(lambda _: [RemoveMessage(id=REMOVE_ALL_MESSAGES)])

    def begin_anew(self, *replies: Any) -> None:
        """Remove everything in the input that brings the next question."""
        said = self.person("From the start.")
        self.run(
            lambda _: {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), said.model_copy()]},
            *(replies or ["Fine."]),
        )

    def rewrite(self, made: Callable[[list[BaseMessage]], list[BaseMessage]]) -> None:
        """Set the whole list of messages, made of the one that is there, unless a summary stands in it."""
        if self.plain.messages() and not any(map(is_summary, self.plain.messages())):
            self.update(lambda side: [RemoveMessage(id=REMOVE_ALL_MESSAGES), *made(side.messages())])

    def insert(self, turn: int) -> None:
        """Put a message in front of an earlier turn."""
        new = self.person("By the way.")

        def add(messages: list[BaseMessage]) -> list[BaseMessage]:
            begun = [place for place, message in enumerate(messages) if message.type == "human"][1:]
            place = begun[turn % len(begun)] if begun else len(messages)
            return [*messages[:place], new.model_copy(), *messages[place:]]

        self.rewrite(add)

    def swap_turns(self) -> None:
        """Put the newest turn in front of all others."""

        def swap(messages: list[BaseMessage]) -> list[BaseMessage]:
            begun = [place for place, message in enumerate(messages) if message.type == "human"]
            if begun[:1] != [0]:
                return messages  # an answer whose question was trimmed goes with it
            return [*messages[begun[-1] :], *messages[: begun[-1]]]

        self.rewrite(swap)

    def keep_newest(self, turns: int) -> None:
        """Trim the state to its newest turns, as LangGraph's own documentation does it."""

        def trim(messages: list[BaseMessage]) -> list[BaseMessage]:
            begun = [place for place, message in enumerate(messages) if message.type == "human"]
            return messages[begun[-turns] :] if len(begun) >= turns else messages

        self.rewrite(trim)

    # -- going back

    def regenerate(self, *replies: Any) -> None:
        """Have the last answer made again, from the checkpoint before it."""
        self.run(lambda _: None, *(replies or ["Another answer."]), config=lambda side: _config(side, "model", 0))

    def replay(self, *replies: Any) -> None:
        """Run again from the newest checkpoint where a call was pending."""
        self.run(lambda _: None, *(replies or ["Replayed."]), config=lambda side: _config(side, "tools", 0))

    def fork(self, back: int, *replies: Any) -> None:
        """Say something else behind an earlier turn."""
        said = self.person("Rather this.")
        self.run(
            lambda _: {"messages": [said.model_copy()]},
            *(replies or ["Fine."]),
            config=lambda side: _config(side, None, back),
        )

    def fork_by_update(self, back: int) -> None:
        """Make an earlier checkpoint the newest, with a message of it in other words."""
        for side in self.sides:
            where = _config(side, None, back)
            if where is None:
                continue
            held = side.agent.get_state(where).values.get("messages", [])
            changed = [each.model_copy(update={"content": "Forked."}) for each in held[:1] if each.type == "human"]
            side.agent.update_state(where, {"messages": changed}, as_node=UPDATED_AS)
        self.compare()

    # -- around the thread

    def append_from_elsewhere(self, *, through_history: bool) -> None:
        """Another writer says something in the session."""
        text = f"{FOREIGN}, {next(self._numbers)}"
        if through_history:
            WmemChatMessageHistory("t", memory=self.ours.other).add_messages([HumanMessage(text)])
        else:
            self.ours.other.scope("t").messages.append({"role": "user", "content": text})
        self.foreign.append(text)

    def append_amid_a_turn(self, *, through_history: bool) -> None:
        """Another writer says something in the session while a tool runs."""
        self.ours.meanwhile = lambda: self.append_from_elsewhere(through_history=through_history)
        try:
            self.say(self.call("Oslo"), "It does.", text="Does it rain?")
        finally:
            self.ours.meanwhile = lambda: None
        self.say()

    def say_in_another_thread(self, *, shared: bool) -> None:
        """The same agent serves another thread, whose session is the same one if it is shared."""
        said, answer = (f"{FOREIGN if shared else 'elsewhere'}, {next(self._numbers)}" for _ in range(2))
        self.ours.model.replies = [AIMessage(answer)]
        self.ours.agent.invoke({"messages": [HumanMessage(said)]}, {"configurable": {"thread_id": self.name("t")}})
        self.ours.model.prompts.clear()
        self.foreign += [said, answer] if shared else []

    def switch(self) -> None:
        """Go on in another process; this one stays, and may serve the thread again."""
        self.ours.switch()

    def restart(self) -> None:
        """Go on in another process: a new agent, a new middleware, a store that is opened again."""
        for side in self.sides:
            side.build()

    def delete(self) -> None:
        """Delete the thread and what wmem has of it."""
        for side in self.sides:
            side.saver.delete_thread("t")
        assert self.ours.middleware is not None
        if self._in_async():
            self._runner.run(self.ours.middleware.aforget("t"))
        else:
            self.ours.middleware.forget("t")
        self.foreign.clear()

    def fail(self, *, in_tool: bool, retry: bool) -> None:
        """A run whose model or tool fails once; it is run again by `with_retry`, or not at all."""
        for side in self.sides:
            side.tool_failures = int(in_tool)
        call = self.call("Oslo")
        replies = [call, self.call("Oslo"), "Up again."] if in_tool else [call, DownError(), self.call("Rome"), "Up."]
        self.say(*replies, text="Does it rain?", named=False, retry=retry)
        for side in self.sides:
            side.tool_failures = 0


def _config(side: Side, node: str | None, back: int) -> RunnableConfig | None:
    found = side.history(node)
    return found[back % len(found)].config if found else None


def _decide(asked: Any, answer: object) -> Any:
    """What a person answers to an interrupt: of a tool, or of the middleware that has calls reviewed."""
    if not isinstance(asked, dict) or "action_requests" not in asked:
        return answer
    decisions: dict[object, Any] = {
        "yes": {"type": "approve"},
        "no": {"type": "reject", "message": "No."},
    }
    edit = {"type": "edit", "edited_action": {"name": "rain", "args": {"town": "Paris"}}}
    return {"decisions": [decisions.get(answer, edit)] * len(asked["action_requests"])}


def _call_ids(message: BaseMessage) -> list[str | None]:
    return [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
