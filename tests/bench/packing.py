"""What it costs to remember a long conversation and to pack it, beside LlamaIndex's memories."""

import random
from collections.abc import Sequence

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer, Memory

import wmem
from llamaindex_wmem import WmemMemory
from tests.bench.measure import Cost, Figure, interleaved

__all__ = ["beside_llamaindex", "beside_llamaindex_uncut", "packs_by_length"]

_SESSION = 2_000
_LIMITS = (3_000, 30_000)  # a small window, and LlamaIndex's own default
_SAID = (
    "the agent wrote that our plan for Thursday needs a second look because shipping costs rose again "
    "and Mira asked whether the new supplier could send samples before the fair opens in Leipzig"
)
_WORDS_EACH = 30


def _conversation(count: int) -> list[dict[str, str]]:
    """So many messages of 30 words, the user and the assistant in turns; the same at every run."""
    chance, words = random.Random(20), _SAID.split()
    return [
        {"role": "assistant" if number % 2 else "user", "content": " ".join(chance.choices(words, k=_WORDS_EACH))}
        for number in range(count)
    ]


def beside_llamaindex(*, quick: bool) -> list[Figure]:
    """A session of 2,000 messages under one token limit: one message more, and the prompt, by each memory.

    All begin with the same messages. LlamaIndex counts with the tokenizer it comes
    with and wmem with its own; both are tiktoken. `WmemMemory` is the same engine
    behind LlamaIndex's interface, its messages converted on the way.
    """
    return [figure for limit in _LIMITS for figure in _limited(limit, quick=quick)]


def _limited(limit: int, *, quick: bool) -> list[Figure]:
    said = _conversation(_SESSION)
    theirs = [ChatMessage(role=each["role"], content=each["content"]) for each in said]
    memory = Memory.from_defaults(session_id=f"session-{limit}", token_limit=limit, chat_history=theirs)
    memory.put(ChatMessage(role="user", content="What is above the limit is archived now."))
    buffer = ChatMemoryBuffer.from_defaults(token_limit=limit, chat_history=list(theirs))
    with wmem.open("memory://", agent_id="agent") as opened:
        session = opened.scope("session")
        session.messages.append(said)
        adapter = WmemMemory.from_defaults(memory=opened, session_id="session", token_limit=limit, recall=False)
        cost = interleaved(
            {
                "append": lambda number: session.messages.append(said[number]),
                "put": lambda number: memory.put(theirs[number].model_copy()),
                "adapter.put": lambda number: adapter.put(theirs[number].model_copy()),
                "pack": lambda _: session.pack(budget=limit),
                "get": lambda _: memory.get(),
                "adapter.get": lambda _: adapter.get(),
            },
            rounds=10 if quick else 100,
            warm=2,
        )
        # It takes seconds a call: fewer rounds.
        slow = interleaved(
            {"pack": lambda _: session.pack(budget=limit), "buffer": lambda _: buffer.get()},
            rounds=1 if quick else 3,
            warm=0,
        )
        packed = len(session.pack(budget=limit).messages)
        adapted = len(adapter.get())
    kept = {"Memory": len(memory.get()), "buffer": len(buffer.get())}
    both = f"{packed} messages against {kept['Memory']}"
    where = f"limit {limit:,}"
    return [
        _beside(f"append, {where}", (cost["append"],), "Memory.put", (cost["put"],), note="a session of 2,000"),
        _beside(f"pack, {where}", (cost["pack"],), "Memory.get", (cost["get"],), note=both),
        _beside(
            f"append and pack, {where}",
            (cost["append"], cost["pack"]),
            "Memory.put and get",
            (cost["put"], cost["get"]),
            at_most_times=1 / 50,
            note=both,
        ),
        _beside(
            f"pack, {where}",
            (slow["pack"],),
            "ChatMemoryBuffer.get",
            (slow["buffer"],),
            at_most_times=1 / 100,
            note=f"{packed} messages against {kept['buffer']}",
        ),
        _beside(
            f"WmemMemory.put and get, {where}",
            (cost["adapter.put"], cost["adapter.get"]),
            "Memory.put and get",
            (cost["put"], cost["get"]),
            note=f"{adapted} messages against {kept['Memory']}",
        ),
    ]


def beside_llamaindex_uncut(*, quick: bool) -> list[Figure]:
    """The same session, of which LlamaIndex keeps all 2,000 messages active and wmem sends what fits 3,000 tokens.

    This is what a long session costs where nothing was archived: there it grows with
    the session, here with the budget. The two do not return the same.
    """
    budget = _LIMITS[0]
    said = _conversation(_SESSION)
    theirs = [ChatMessage(role=each["role"], content=each["content"]) for each in said]
    memory = Memory.from_defaults(session_id="uncut", token_limit=1_000_000, chat_history=theirs)
    with wmem.open("memory://", agent_id="agent") as opened:
        session = opened.scope("session")
        session.messages.append(said)
        cost = interleaved(
            {
                "append": lambda number: session.messages.append(said[number]),
                "put": lambda number: memory.put(theirs[number].model_copy()),
                "pack": lambda _: session.pack(budget=budget),
                "get": lambda _: memory.get(),
            },
            rounds=10 if quick else 30,
            warm=2,
        )
        packed = len(session.pack(budget=budget).messages)
    return [
        _beside(
            f"append and pack to {budget:,}",
            (cost["append"], cost["pack"]),
            "Memory.put and get, all active",
            (cost["put"], cost["get"]),
            at_most_times=1 / 50,
            note=f"{packed} messages against {len(memory.get())}",
        )
    ]


def packs_by_length(*, quick: bool) -> list[Figure]:
    """`pack` with recall off, of a long session beside one of 1,000 messages."""
    few, many = 1_000, 10_000 if quick else 100_000
    with wmem.open("memory://", agent_id="agent") as memory:
        short, long = memory.scope("short"), memory.scope("long")
        said = _conversation(few)
        short.messages.append(said)
        for _ in range(many // few):
            long.messages.append(said)
        cost = interleaved(
            {"long": lambda _: long.pack(budget=3_000), "short": lambda _: short.pack(budget=3_000)},
            rounds=50 if quick else 300,
            warm=5,
        )
    return [
        _beside(
            f"pack of {many:,} messages",
            (cost["long"],),
            f"pack of {few:,}",
            (cost["short"],),
            at_most_times=2,
            note="recall off, budget 3,000, memory://",
        )
    ]


def _beside(
    name: str,
    ours: Sequence[Cost],
    peer: str,
    theirs: Sequence[Cost],
    *,
    at_most_times: float | None = None,
    note: str = "",
) -> Figure:
    return Figure(
        name=name,
        ours=sum(each.median for each in ours),
        peer=peer,
        theirs=sum(each.median for each in theirs),
        at_most_times=at_most_times,
        note=f"{note}; medians of {ours[0].calls:,}",
        details={
            "wmem": [each._asdict() for each in ours],
            "peer": [each._asdict() for each in theirs],
        },
    )
