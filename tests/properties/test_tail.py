"""However long a talk: the newest part is sent without a gap, requests that stand are there, and nothing jumps.

An agent with wmem is never worse off than one that trims its messages: what
`trim_messages` keeps at half the budget is in every prompt.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from tests.talks import REQUESTS, Stored, Turn, natural_talk, templated_talk, to_stored, trim
from wmem.model.message import Message, parse_messages
from wmem.tokens.counter import PROMPT_OVERHEAD, default_counter, message_tokens, tools_tokens

TURNS = 600
SYSTEM = "You are the assistant of a small shop. Be kind, be brief, and never promise a delivery date. " * 3
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Look something up.",
            "parameters": {"type": "object", "properties": {"key": {"type": "string"}}},
        },
    }
]
COUNT = default_counter()
DEFAULT_SHARE = 0.5
_ROUNDING = 2  # shares are whole tokens


class Step(NamedTuple):
    """A place in a talk where an agent asks for a prompt.

    Attributes:
        turn: Its number.
        question: What the user said last.
        stored: All messages so far.
        requests: What the user wanted followed from then on.
    """

    turn: int
    question: str
    stored: Sequence[Stored]
    requests: Sequence[str]

    @property
    def where(self) -> str:
        """For people."""
        return f"turn {self.turn}"


@dataclass
class Watch:
    """What is checked of every prompt of a growing session, and from one prompt to the next.

    Attributes:
        options: Of `Scope.pack`.
        share: The part of the room that `trim_messages` is given.
        asks: Whether the newest user message is the query.
    """

    options: Mapping[str, Any]
    share: float = 0.5
    asks: bool = True
    faults: list[str] = field(default_factory=list)
    _before: Mapping[str, Message] = field(default_factory=dict)
    _left_out_before: bool = False
    _turn_before: int = -1

    @property
    def room(self) -> int:
        """Tokens for note and messages; the tests pin nothing."""
        options = self.options
        system = options.get("system", "")
        fixed = message_tokens(Message.of("system", system), COUNT) if system else 0
        fixed += PROMPT_OVERHEAD + tools_tokens(options.get("tools", ()), COUNT) + int(options.get("reserve", 0))
        return int(options["budget"]) - fixed

    def see(self, session: wmem.Scope, step: Step) -> None:
        """Pack and check; faults are collected."""
        packed = session.pack(step.question if self.asks else None, **self.options)
        sent = {message.id: message for message in packed.messages if message.id}
        prompt = parse_messages(packed.to_openai())
        self._check_size(packed, prompt, step)
        kept = trim(step.stored, int(self.room * self.share))
        gone = [each.id for each in kept if each.id not in sent or sent[each.id].to_openai() != each.to_openai()]
        if gone:
            self._add(step, f"trimming keeps {len(kept)} messages, of which {len(gone)} are missing: {gone[:4]}")
        if [each.message.id for each in step.stored if each.message.id in sent] != list(sent):
            self._add(step, "not in the order of the session")
        text = " ".join(each.text for each in prompt)
        for request in step.requests:
            if request not in text:
                self._add(step, f"the prompt lacks {request!r}")
        self._check_jump(packed, sent, step)

    def _add(self, step: Step, fault: str) -> None:
        self.faults.append(f"{dict(self.options, system='')} {step.where}: {fault}")

    def _check_size(self, packed: wmem.Context, prompt: Sequence[Message], step: Step) -> None:
        system = self.options.get("system", "")
        fixed = int(self.options["budget"]) - self.room - (message_tokens(prompt[0], COUNT) if system else 0)
        tokens = fixed + sum(message_tokens(each, COUNT) for each in prompt)
        if max(tokens, packed.tokens) > packed.budget:
            self._add(step, f"{packed.tokens} tokens said, {tokens} sent")
        note = packed.sizes["note"]
        most = self.room * 2 // 5 + (self.room // 10 if step.requests else 0) + _ROUNDING
        most += self.room // 8 if self.options.get("summary") else 0
        if self.share == DEFAULT_SHARE and note > most:
            self._add(step, f"the note takes {note} of a room of {self.room}")

    def _check_jump(self, packed: wmem.Context, sent: Mapping[str, Message], step: Step) -> None:
        before = self._before
        lost = [Stored(each, message_tokens(each, COUNT)) for id, each in before.items() if id not in sent]
        # New messages, and those that were cut or left out while a larger exchange was in flight.
        came = sum(max(0, _tokens(each) - _tokens(before.get(id))) for id, each in sent.items())
        tokens = sum(each.tokens for each in lost)
        # The note grows by half of what comes in, and begins as soon as anything is left out.
        more = came + came // 2 + (0 if self._left_out_before else max(160, self.room // 10) + self.room // 10)
        # What was in flight gives back what it took beside the tail's share.
        more += max(0, _flight_tokens(before.values()) - int(self.room * self.share))
        # The last unit that had to go may be larger than what was needed; in the least part nothing is worth adding.
        excess = tokens - _last_unit_tokens(lost) - more - packed.budget // 16
        in_a_row = step.turn <= self._turn_before + 1
        if excess > 0 and in_a_row and self.share and not self.options.get("stable"):
            self._add(step, f"{len(lost)} messages of {tokens} tokens left, {came} came in")
        self._before, self._left_out_before, self._turn_before = sent, len(sent) < len(step.stored), step.turn


def _tokens(message: Message | None) -> int:
    return message_tokens(message, COUNT) if message else 0


def _flight_tokens(sent: Iterable[Message]) -> int:
    """Tokens from the newest user message on."""
    tokens = 0
    for message in sent:
        tokens = message_tokens(message, COUNT) + (0 if message.role == "user" else tokens)
    return tokens


def _last_unit_tokens(lost: Sequence[Stored]) -> int:
    """Tokens of the newest unit among lost messages, oldest first: a message, or a call with its results."""
    tokens = 0
    for each in reversed(lost):
        tokens += each.tokens
        if each.message.role != "tool":
            break
    return tokens


def walk(talk: Iterable[Turn], session: wmem.Scope, *, within: Container[int]) -> Iterator[Step]:
    """Store a talk, and stop where an agent asks for a prompt in the turns `within`."""
    known: list[Stored] = []
    requests: list[str] = []

    def take(messages: Sequence[Mapping[str, Any]]) -> None:
        new = to_stored(messages)
        session.messages.append([each.message for each in new])
        known.extend(new)

    for number, turn in enumerate(talk):
        question = str(turn.steps[0][0]["content"])
        if question in REQUESTS.values():
            requests.append(question)
        for step in turn.steps:
            take(step)
            if number in within:
                yield Step(number, question, known, requests)
        if turn.answer:
            take(turn.answer)


WATCHES = {
    "the least": Watch({"budget": 1_000}),
    "without a query": Watch({"budget": 1_000}, asks=False),
    "some": Watch({"budget": 2_000}),
    "with all that is fixed": Watch({"budget": 4_000, "system": SYSTEM, "tools": TOOLS, "reserve": 500}),
    "the most": Watch({"budget": 8_000}),
    "stable": Watch({"budget": 2_000, "stable": True}),
    "stable, without a query": Watch({"budget": 4_000, "stable": True}, asks=False),
    "a small tail": Watch({"budget": 4_000, "tail": 0.25}, 0.25),
    "nothing but a tail": Watch({"budget": 2_000, "tail": 1.0}, 0.85),
    "recall first": Watch({"budget": 1_000, "tail": 0}, 0),
    "the newest twelve": Watch({"budget": 2_000, "recent": 12}),
    "a summary": Watch({"budget": 2_000, "summary": True, "note_role": "system"}),
    "for Anthropic": Watch({"budget": 1_000, "profile": "anthropic"}),
    "for Gemini": Watch({"budget": 1_000, "profile": "gemini", "stable": True}),
}


def faults_of(talk: Iterable[Turn], watches: Iterable[Watch], *, within: Container[int]) -> list[str]:
    """What does not hold in a talk that grows, packed in each way."""
    watches = [replace(watch, faults=[]) for watch in watches]
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        for step in walk(talk, session, within=within):
            for watch in watches:
                watch.see(session, step)
    return [fault for watch in watches for fault in watch.faults]


@pytest.mark.slow
@pytest.mark.no_cover  # the same lines at each turn
def test_a_prompt_of_a_long_talk_holds_what_trimming_holds_and_more() -> None:
    """Some turns in a row: before anything is left out, around a paste of 3,000 tokens, and late."""
    within = {*range(21, 29), *range(80, 86), *range(118, 124)}
    assert faults_of(templated_talk(124), WATCHES.values(), within=within) == []


@pytest.mark.parametrize("budget", [1_000, 3_000])
def test_a_talk_that_just_outgrew_its_budget_loses_hardly_more_than_what_is_over(budget: int) -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        for step in walk(templated_talk(31), session, within=range(31)):
            packed = session.pack(step.question, budget=budget)
            said = sum(each.tokens for each in step.stored)
            over, room = max(0, said - budget), budget - PROMPT_OVERHEAD
            largest = max(_last_unit_tokens(step.stored[: at + 1]) for at in range(len(step.stored)))
            least = min(said, room - over // 2 - (room // 10 if step.requests else 0) - largest)
            assert packed.sizes["messages"] >= least, step.where


small_talk = st.sampled_from(["thanks", "ok", "and then?", "great!"])
questions = st.builds(
    lambda thing, words: f"What about the {thing}? {' '.join(['river stone'] * words)}",
    st.sampled_from(["boiler", "train", "tax form", "garden", "lamp"]),
    st.integers(0, 20),
)
exchanges = st.lists(st.tuples(small_talk | questions, st.integers(1, 40)), min_size=30, max_size=60)


@examples(0.3)
@given(
    talk=exchanges,
    budget=st.integers(300, 1_500),
    options=st.sampled_from([{}, {"tail": 0.25}, {"tail": 0.8}, {"tail": 1.0}, {"recent": 6}, {"summary": 60}]),
    items=st.integers(0, 3),
)
def test_what_recall_finds_moves_no_message(
    talk: list[tuple[str, int]], budget: int, options: dict[str, Any], items: int
) -> None:
    """From turn to turn no message comes back, and no more of them leave than what came in and the note's growth."""
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        for number in range(items):
            session.items.add(f"The lamp number {number} is in the garden.")
        sizes: list[int] = []  # of all messages, oldest first
        begin, left_out = 0, False
        for question, words in talk:
            session.messages.append({"role": "user", "content": question, "id": str(len(sizes))})
            sizes.append(message_tokens(Message.of("user", question), COUNT))
            packed = session.pack(question, budget=budget, **options)
            assert packed.tokens <= budget
            sent = [int(message.id) for message in packed.messages if message.id]
            assert sent == [*range(sent[0], len(sizes))], "the newest, without a gap"
            assert sent[0] >= begin, "none comes back"
            if left_out:
                came = sum(sizes[-2:])
                # The newest of those that left may be larger than what had to.
                assert sum(sizes[begin : sent[0] - 1]) <= came + came // 2 + budget // 16
            begin, left_out = sent[0], sent[0] > 0
            session.messages.append({"role": "assistant", "content": "word " * words, "id": str(len(sizes))})
            sizes.append(message_tokens(Message.of("assistant", "word " * words), COUNT))


@pytest.mark.slow
@pytest.mark.no_cover  # the same lines at each turn
@pytest.mark.parametrize("name", ["the least", "without a query"])
def test_no_prompt_of_600_turns_jumps(name: str) -> None:
    assert faults_of(templated_talk(TURNS, seed=8), [WATCHES[name]], within=range(TURNS)) == []


@pytest.mark.slow
@pytest.mark.no_cover  # the same lines at each turn
@pytest.mark.parametrize("name", ["crosswoz-open", "tau-open", "beam-04-open"])
def test_a_prompt_of_a_natural_talk_holds_what_trimming_holds_and_more(name: str) -> None:
    talk = natural_talk(name, TURNS)
    if talk is None:
        pytest.skip(f"no talk {name}: WMEM_TALKS names a folder of talks")
    watches = [WATCHES[each] for each in ("the least", "stable")]
    assert faults_of(talk, watches, within=range(len(talk) - 30, len(talk))) == []
