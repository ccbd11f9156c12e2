"""A session in which everything occurs that a prompt may hold, and packs of it in every way there is."""

import random
from collections.abc import Iterator
from typing import Any, get_args

import wmem
from wmem.model.part import Native, Part, ToolCall
from wmem.testing.calls import Call
from wmem.types import ProviderProfile

__all__ = ["Packs", "say_turn"]

_TOPICS = ("the boiler", "train tickets", "a birthday", "the tax form", "our garden", "Lisbon", "chess", "日本 の 旅")
_REQUESTS = (
    "From now on answer only in French.",
    "Please always give prices in Swiss francs. And what is the weather like?",
    "Never use emojis in your answers.",
    "I prefer trains to planes.",
)
_CITIES = ("Berlin", "Lisbon", "Oslo", "Rome", "Kyoto")
_PROFILES: tuple[ProviderProfile, ...] = get_args(ProviderProfile)
_ZONES = ("UTC", "Europe/Berlin", "Asia/Kathmandu")


def say_turn(random: random.Random, number: int) -> Iterator[dict[str, Any] | wmem.Message]:
    """The messages of one turn."""
    topic = random.choice(_TOPICS)
    asked = random.choice(
        (
            f"What about {topic}, part {number}?",
            f"I live in {random.choice(_CITIES)} now. Could you look into {topic} again? Number {number} this time.",
            random.choice(_REQUESTS),
            f"Remember <recalled> number {number}: {topic}.\r\nIt is \u201cdone\u201d 🦊.\n\n"
            + "A long story. " * random.randint(0, 90),
        )
    )
    yield {"role": "user", "content": asked, "name": random.choice((None, "Ada"))}
    if random.random() < 0.1:
        yield {"role": "system", "content": f"It is turn {number}."}
    if random.random() < 0.5:
        yield from _call_tools(random, number, topic)
    if random.random() < 0.1:
        return  # never answered
    parts = [
        Part(
            text=f"For number {number} I would take {topic}. It costs {random.randint(1, 90)} francs. "
            * random.randint(1, 6)
        )
    ]
    if random.random() < 0.2:
        parts.insert(0, Part(kind="reasoning", text=f"They ask for {topic}.", signature=random.choice((None, "c2ln"))))
    native = Native(framework="langchain", data={"type": "ai", "data": {}}) if random.random() < 0.1 else None
    yield wmem.Message(role="assistant", parts=tuple(parts), native=native)


def _call_tools(random: random.Random, number: int, topic: str) -> Iterator[dict[str, Any] | wmem.Message]:
    count = random.randint(1, 3)
    calls = tuple(
        ToolCall(id=f"call {number % 5}:{at}", name="look.up", arguments=f'{{"topic": "{topic}", "n": {number}}}')
        for at in range(count)
    )
    words = (Part(text="Let me look."),) if random.random() < 0.5 else ()
    yield wmem.Message(role="assistant", parts=words, tool_calls=calls)
    for at, call in enumerate(calls):
        if random.random() < 0.1:
            continue  # it never answered
        rows = "".join(
            f'{{"id": {number}{row}, "topic": "{topic}", "price": {row * 3}}},\n'
            for row in range(random.choice((1, 5, 80)))
        )
        picture = (Part(kind="image", url="https://example.org/a.png"),) if random.random() < 0.1 else ()
        yield wmem.Message(
            role="tool", parts=(Part(text=f"[{rows}]"), *picture), tool_call_id=call.id, name=f"look.up {at}"[:7]
        )


class Packs:
    """Packs of one scope in ever other ways."""

    def __init__(self, seed: int, call: Call) -> None:
        self._random = random.Random(seed)
        self._call = call

    def pack(self, scope: wmem.Scope) -> tuple[wmem.Context, str]:
        """One more pack, and the system text that it was given."""
        chance = self._random
        topic = chance.choice(_TOPICS)
        system = chance.choice(("", "You are careful.", "Tu es \ud83e gentil."[:7]))
        budget = chance.choice((600, 1_200, 3_000, 12_000))
        options: dict[str, Any] = {
            "query": chance.choice((None, f"What did {topic} cost?", f"Where do I live, and what of {topic}?", topic)),
            "budget": budget,
            "system": system,
            "profile": chance.choice(_PROFILES),
            "roles": chance.choice(("free", "free", "alternate")),
            "orphans": chance.choice(("drop", "synthesize")),
            "note_role": chance.choice(("user", "system")),
            "stable": chance.random() < 0.2,
            "summary": chance.choice((False, False, True)),
            "tail": chance.choice((0.0, 0.5, 0.5, 1.0)),
            "recent": chance.choice((0, 4)),
            "reasoning": chance.choice(("tools", "in-flight", "all", "none")),
            "scoring": chance.choice((None, "balanced", wmem.RecallProfile.evidence(recency=0.2))),
            "zone": chance.choice(_ZONES),
            "inherit": chance.random() < 0.8,
            "long_term": chance.random() < 0.8,
        }
        while True:
            try:
                return self._call(scope.pack, **options), system
            except wmem.BudgetError:
                options["budget"] *= 2
