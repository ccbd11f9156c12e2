"""Long talks, turn by turn: templated ones, and natural ones where their files are there; and what trimming keeps."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, trim_messages

from tests.bench.recall.talks import list_talk_files, read_talk
from wmem.model.message import Message, parse_messages
from wmem.tokens.counter import default_counter, message_tokens

__all__ = ["REQUESTS", "Stored", "Turn", "natural_talk", "templated_talk", "to_stored", "trim"]

Json = Mapping[str, Any]

REQUESTS: Mapping[int, str] = {
    2: "From now on answer only in French.",
    23: "Please always give prices in Swiss francs.",
    41: "Never use emojis in your answers.",
}
"""What the user of a templated talk wants followed from then on, by the number of the turn."""

_TOPICS = ("the boiler", "train tickets", "a birthday", "the tax form", "our garden", "Lisbon", "the new lamp", "chess")
_QUESTIONS = (
    "What about {topic}, part {n}?",
    "Could you look into {topic} again? It is about number {n} this time, and I am in a bit of a hurry.",
    "Number {n}: which would you take for {topic}?",
    "ok, and {topic}?",
)
_ANSWERS = (
    "For number {n} I would take the second one. It costs {price} and comes with a warranty for {topic}.",
    "Sure. {topic} number {n} is done; it took {price} minutes, and nothing else has to change for now.",
    "Yes.",
)
_LIST = "Five ideas for {topic}:\n" + "\n".join(f"{n}. idea {{n}}-{n}, about {{price}} francs" for n in range(1, 6))
_WORDS = [
    "shelf",
    "order",
    "light",
    "river",
    "stone",
    "paper",
    "board",
    "winter",
    "music",
    "train",
    "letter",
    "garden",
    "window",
    "number",
]


class Turn(NamedTuple):
    """One turn: the prompts an agent asks for lie before each of its replies.

    Attributes:
        steps: What comes in before each prompt: the user's message, then the results of tools
            with the calls before them.
        answer: What the assistant says at the end.
    """

    steps: Sequence[Sequence[Json]]
    answer: Sequence[Json]


def templated_talk(turns: int, *, seed: int = 7) -> Iterator[Turn]:
    """Small talk with lists, single and parallel tool calls, pastes of 3,000 tokens and `REQUESTS`."""
    chance = random.Random(seed)
    for n in range(turns):
        fields = {"n": n, "topic": chance.choice(_TOPICS), "price": chance.randint(2, 900)}
        question = REQUESTS.get(n) or chance.choice(_QUESTIONS).format(**fields)
        if n % 50 == 31:
            question += " " + _filler(chance, 3_000)
        answer = (_LIST if n % 7 == 3 else chance.choice(_ANSWERS)).format(**fields)
        steps = [[_user(n, question)]]
        if n % 5 == 4:
            steps += [_tool_round(n, rounds, chance) for rounds in range(chance.choice((1, 1, 3)))]
        yield Turn(steps, [{"role": "assistant", "content": answer, "id": f"a{n}"}])


def natural_talk(name: str, turns: int) -> list[Turn] | None:
    """The first turns of a talk that people had; None where its file is not there."""
    path = next((path for path in list_talk_files() if path.stem == name), None)
    if path is None:
        return None
    steps: list[list[Json]] = []
    made: list[Turn] = []
    waiting: list[Json] = []
    for message in read_talk(path).messages:
        if message["role"] == "user":
            if steps:
                made.append(Turn(steps, waiting))
            steps, waiting = [[message]], []
        elif steps:
            waiting.append(message)
            if message["role"] == "tool":
                steps.append(waiting)
                waiting = []
    return [*made, Turn(steps, waiting)][:turns]


def _user(n: int, text: str) -> Json:
    return {"role": "user", "content": text, "id": f"u{n}"}


def _tool_round(n: int, rounds: int, chance: random.Random) -> list[Json]:
    names = [f"c{n}-{rounds}-{call}" for call in range(chance.choice((1, 1, 2)))]
    calls = [
        {"id": name, "type": "function", "function": {"name": "look_up", "arguments": f'{{"key": "{name}"}}'}}
        for name in names
    ]
    results = [
        {
            "role": "tool",
            "tool_call_id": name,
            "id": f"t{name}",
            "content": _filler(chance, chance.choice((20, 60, 300))),
        }
        for name in names
    ]
    return [{"role": "assistant", "content": None, "tool_calls": calls, "id": f"k{n}-{rounds}"}, *results]


def _filler(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


class Stored(NamedTuple):
    """A message of a session, and its tokens."""

    message: Message
    tokens: int


def to_stored(messages: Sequence[Json]) -> list[Stored]:
    """The messages as a session stores them."""
    count = default_counter()
    return [Stored(each, message_tokens(each, count)) for each in parse_messages([dict(each) for each in messages])]


def trim(newest: Sequence[Stored], tokens: int) -> list[Message]:
    """The messages that LangChain's `trim_messages` keeps of a conversation, at so many tokens."""
    at, left = len(newest), 2 * tokens
    while at and left >= 0:  # older ones cannot matter
        at -= 1
        left -= newest[at].tokens
    by_id = {each.message.id: each for each in newest[at:]}
    kept = trim_messages(
        [SystemMessage("", id="system"), *(_to_langchain(each.message) for each in by_id.values())],
        max_tokens=tokens,
        token_counter=lambda given: sum(by_id[each.id].tokens for each in given if each.id in by_id),
        strategy="last",
        start_on="human",
        include_system=True,
    )
    return [by_id[each.id].message for each in kept if each.id in by_id]


def _to_langchain(message: Message) -> BaseMessage:
    if message.role == "user":
        return HumanMessage(message.text, id=message.id)
    if message.role == "tool":
        return ToolMessage(message.text, tool_call_id=message.tool_call_id or "", id=message.id)
    calls = [{"name": call.name, "args": {}, "id": call.id} for call in message.tool_calls]
    return AIMessage(message.text, tool_calls=calls, id=message.id)
