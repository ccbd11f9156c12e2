"""Random acts on a thread, side by side with an agent without wmem: below the budget both send the same."""

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from langchain.agents.middleware import HumanInTheLoopMiddleware, PIIMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage

from tests.adapters.langchain.conftest import Scripted
from tests.adapters.langchain.side_by_side import DownError, Middlewares, Pair
from tests.matrix import examples

RAW = "ann@example.org"
QUESTIONS = ["What is my dog called?", "My dog is called Biscuit.", "yes", "Does it rain?", f"Write to {RAW}."]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"session": "t"},
    {"session": "t", "recall": False, "recent": 0},
    {"stable": True},
    {"summary": True},
]


def _summing() -> SummarizationMiddleware:
    model = Scripted(replies=[AIMessage("Summed up.") for _ in range(99)])
    return SummarizationMiddleware(model, trigger=("messages", 7), keep=("messages", 3))


def _masking() -> list[Any]:
    return [PIIMiddleware("email", strategy="redact", apply_to_input=True, apply_to_output=True)]


def _reviewing() -> list[Any]:
    return [HumanInTheLoopMiddleware(interrupt_on={"rain": True})]


AROUND: dict[str, Middlewares] = {
    "nothing": lambda: ((), ()),
    "masking before": lambda: (_masking(), ()),
    "masking behind": lambda: ((), _masking()),
    "review before": lambda: (_reviewing(), ()),
    "review behind": lambda: ((), _reviewing()),
    "a summary before": lambda: ([_summing()], ()),
    "a summary behind": lambda: ((), [_summing()]),
}


def _with_ids(*ids: str | None) -> Callable[[AIMessage], AIMessage]:
    """The same message, its calls under these ids."""

    def spoilt(message: AIMessage) -> AIMessage:
        calls = [{**call, "id": id_} for call, id_ in zip(message.tool_calls, itertools.cycle(ids), strict=False)]
        return message.model_copy(update={"tool_calls": calls})

    return spoilt


SPOILT: dict[str, Callable[[AIMessage], AIMessage]] = {
    "usable": lambda message: message,
    "blank": _with_ids(""),
    "absent": _with_ids(None),
    "equal": _with_ids("same"),
}

towns = st.lists(st.sampled_from(["Oslo", "Rome", "Nice"]), min_size=1, max_size=3)
tool_names = st.sampled_from([("rain",), ("rain",), ("ask",), ("rain", "ask"), ("snow",)])
places = st.integers(-4, 4)
endings = st.sampled_from(["Fine.", "yes", f"I wrote to {RAW}."])


class Talk(RuleBasedStateMachine):
    """Plays each act on both agents: what is said, by whom, and what goes wrong."""

    pair_type: type[Pair] = Pair
    around = "nothing"
    stops: Sequence[str] = ()
    window: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()

    @initialize(data=st.data(), on_disk=st.booleans(), handle=st.booleans(), options=st.sampled_from(OPTIONS))
    def open(self, data: st.DataObject, on_disk: bool, handle: bool, options: dict[str, Any]) -> None:
        self.is_shared = "session" in options
        self.pair = self.pair_type(
            f"sqlite://{self.place.name}/store.db" if on_disk else f"memory://{uuid4().hex}",
            AROUND[self.around],
            in_async=lambda: data.draw(st.booleans(), label="in async"),
            handle=handle,
            wmem_options=options if self.window is None else {**options, "window": self.window},
            interrupt_before=list(self.stops),
        )
        self.pair.say("Hello Ann.", text="I am Ann.")  # there is something to change
        self.pair.say(self.pair.call("Oslo", "Rome"), "In both.", text="Does it rain?")

    def teardown(self) -> None:
        self.pair.close()
        self.place.cleanup()

    def replies(self, calls: Sequence[Sequence[str]], tools: Sequence[str], end: str) -> list[Any]:
        """What the model says in a run: messages with calls, then the answer."""
        return [*(self.pair.call(*each, tools=tools, text="I look." if len(each) > 1 else "") for each in calls), end]

    @rule(text=st.sampled_from(QUESTIONS), end=endings, named=st.booleans())
    def say(self, text: str, end: str, named: bool) -> None:
        self.pair.say(end, text=text, named=named)

    @rule(
        calls=st.lists(towns, min_size=1, max_size=2),
        tools=tool_names,
        end=endings,
        ids=st.sampled_from(["usable", "usable", *SPOILT]),
        text=st.sampled_from(QUESTIONS),
    )
    def call_tools(self, calls: list[list[str]], tools: tuple[str, ...], end: str, ids: str, text: str) -> None:
        self.pair.say(*self.replies(calls, tools, end), text=text, spoilt=SPOILT[ids])

    @rule(calls=st.lists(towns, max_size=1), answer=st.sampled_from(["yes", "no", "edit"]))
    def resume(self, calls: list[list[str]], answer: str) -> None:
        self.pair.resume(*self.replies(calls, ["rain"], "Fine."), answer=answer)

    @rule(through_history=st.booleans())
    def append_from_elsewhere(self, through_history: bool) -> None:
        self.pair.append_from_elsewhere(through_history=through_history)

    @rule(through_history=st.booleans())
    def append_amid_a_turn(self, through_history: bool) -> None:
        self.pair.append_amid_a_turn(through_history=through_history)

    @rule()
    def say_in_another_thread(self) -> None:
        self.pair.say_in_another_thread(shared=self.is_shared)

    @rule()
    def switch_processes(self) -> None:
        self.pair.switch()

    @rule()
    def restart(self) -> None:
        self.pair.restart()

    @rule()
    def delete(self) -> None:
        self.pair.delete()

    @rule(in_tool=st.booleans(), retry=st.booleans())
    def fail(self, in_tool: bool, retry: bool) -> None:
        self.pair.fail(in_tool=in_tool, retry=retry)


class Machine(Talk):
    """With acts by which a thread takes back what was said, or goes on from an earlier checkpoint."""

    @rule(place=places)
    def edit(self, place: int) -> None:
        self.pair.edit(place, f"In other words: {self.pair.name()}.")

    @rule(place=places)
    def edit_in_the_input(self, place: int) -> None:
        self.pair.edit_as_it_says(place)

    @rule(place=places)
    def remove(self, place: int) -> None:
        self.pair.remove(place)

    @rule(place=places)
    def remove_in_the_input(self, place: int) -> None:
        self.pair.remove_as_it_says(place)

    @rule()
    def remove_all(self) -> None:
        self.pair.remove_all()

    @rule()
    def begin_anew(self) -> None:
        self.pair.begin_anew()

    @rule(turn=st.integers(0, 3))
    def insert(self, turn: int) -> None:
        self.pair.insert(turn)

    @rule()
    def swap_turns(self) -> None:
        self.pair.swap_turns()
        self.pair.say()  # what is removed before wmem has seen the new order counts as trimmed in the old one

    @rule(turns=st.integers(1, 3))
    def keep_newest(self, turns: int) -> None:
        self.pair.keep_newest(turns)

    @rule(calls=st.lists(towns, max_size=1))
    def regenerate(self, calls: list[list[str]]) -> None:
        self.pair.regenerate(*self.replies(calls, ["rain"], "Another answer."))

    @rule()
    def replay_a_pending_call(self) -> None:
        self.pair.replay()

    @rule(back=st.integers(0, 3), calls=st.lists(towns, max_size=1))
    def fork(self, back: int, calls: list[list[str]]) -> None:
        self.pair.fork(back, *self.replies(calls, ["rain"], "Fine."))

    @rule(back=st.integers(0, 3))
    def fork_by_update(self, back: int) -> None:
        self.pair.fork_by_update(back)


@pytest.mark.parametrize(
    "around",
    # Counted once: around all of them the acts are the same.
    [
        each if each == "nothing" else pytest.param(each, marks=[pytest.mark.slow, pytest.mark.no_cover])
        for each in AROUND
    ],
)
def test_a_model_is_sent_the_same_messages_whatever_was_done_to_the_thread(around: str) -> None:
    class Around(Machine):
        pass

    Around.around = around
    share = 0.3 if around == "nothing" else 0.08
    run_state_machine_as_test(Around, settings=examples(share, stateful_step_count=12))


def test_a_model_is_sent_the_same_messages_when_runs_stop_before_tools() -> None:
    class Stopping(Machine):
        stops = ("tools",)

    run_state_machine_as_test(Stopping, settings=examples(0.08, stateful_step_count=10))


@pytest.mark.parametrize("window", [1, 5])
def test_a_model_is_sent_the_same_messages_although_wmem_trims_the_state(window: int) -> None:
    class Trimming(Talk):
        pass

    Trimming.window = window
    run_state_machine_as_test(Trimming, settings=examples(0.08, stateful_step_count=10))


# --- what random acts found, in short --------------------------------------------------------------------------------


@pytest.fixture(params=["sync", "async"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    made = Pair(f"sqlite://{tmp_path}/store.db", in_async=lambda: request.param == "async")
    yield made
    made.close()


def talk_long(pair: Pair) -> None:
    """More messages than a process that starts looks back at."""
    talk = [
        made
        for turn in range(50)
        for made in (HumanMessage(f"q{turn}", id=f"q{turn}"), AIMessage(f"a{turn}", id=f"a{turn}"))
    ]
    pair.run(lambda _: {"messages": [*talk, HumanMessage("last", id="last")]}, "Fine.")


@pytest.mark.parametrize("keeps", [0, 4])
def test_a_process_that_starts_takes_back_of_a_long_thread_all_that_the_state_lost(pair: Pair, keeps: int) -> None:
    talk_long(pair)
    pair.restart()
    pair.rewrite(lambda messages: messages[:keeps])
    pair.say()
    assert len(pair.ours.stored()) == keeps + 2


def test_what_another_living_process_stored_is_taken_back(pair: Pair) -> None:
    pair.say()
    pair.switch()
    pair.say()
    pair.switch()
    pair.fork(1)
    assert len(pair.ours.stored()) == 4


def test_a_branch_comes_back_behind_a_run_that_broke_off(pair: Pair) -> None:
    pair.say()
    pair.say()
    pair.run(lambda _: None, DownError(), config=lambda side: side.history("model")[-1].config)
    pair.fork(0)
    assert len(pair.ours.stored()) == 6


def test_a_branch_that_began_anew_does_not_keep_the_one_it_took_the_place_of(pair: Pair) -> None:
    pair.say()
    pair.begin_anew()
    pair.fork(1)
    pair.fork(1)
    assert pair.ours.stored()[0] == "From the start."


def test_a_message_that_is_removed_after_turns_were_swapped_is_taken_back(pair: Pair) -> None:
    pair.say()
    pair.say(text="And now?")
    pair.swap_turns()
    pair.say()
    pair.remove(2)
    pair.say()
    assert "What is my dog called?" not in pair.ours.stored()[:3]
