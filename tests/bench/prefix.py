"""What a provider's cache misses of the front of a prompt, turn by turn, beside the frameworks' trimming."""

import random
from collections.abc import Callable, Iterator, Sequence

from langchain_core.messages import BaseMessage, trim_messages
from llama_index.core.memory import ChatMemoryBuffer

import wmem
from langchain_wmem import to_langchain
from llamaindex_wmem import to_llamaindex
from tests.bench.measure import Figure
from wmem import Context, Message, ToolCall
from wmem.tokens.counter import default_counter, message_tokens

__all__ = ["prefixes"]

_TURNS = 100
_BUDGET = 8_000
_SYSTEM = "You are the agent of a small trading company. Answer briefly, and look things up before you say them. " * 4
_SAID = (
    "the agent wrote that our plan for Thursday needs a second look because shipping costs rose again "
    "and Mira asked whether the new supplier could send samples before the fair opens in Leipzig"
)
_COUNT = default_counter()

_Front = list[str]
"""The messages before the note and the newest user message, as text."""


def prefixes(*, quick: bool) -> list[Figure]:
    """100 tool-using turns at a budget of 8,000: the tokens of the front that are not those of the turn before."""
    figures = []
    for words in (40,) if quick else (40, 120):
        talk = [list(_turn(number, words)) for number in range(_TURNS)]
        ours = _missed(_wmem(talk, stable=True))
        peers = {
            "wmem, default trimming": _wmem(talk, stable=False),
            "LangChain trim_messages": _langchain(talk),
            "LlamaIndex ChatMemoryBuffer": _llamaindex(talk),
        }
        size = sum(_cost(message) for said in talk for message in said) // _TURNS
        for peer, fronts in peers.items():
            figures.append(
                Figure(
                    name=f"front that does not repeat, stable, turns of {size} tokens",
                    ours=ours,
                    unit="%",
                    peer=peer,
                    theirs=_missed(fronts),
                    at_most=5 if words == 40 else None,
                    note=f"{_TURNS} turns, budget {_BUDGET:,}, system text included",
                )
            )
    return figures


def _turn(number: int, words: int) -> Iterator[Message]:
    chance, words_of = random.Random(number), _SAID.split()

    def say(count: int) -> str:
        return " ".join(chance.choices(words_of, k=count))

    yield Message.of("user", say(16), id=f"q{number}")
    call = ToolCall(id=f"c{number}", name="look_up", arguments=f'{{"query":"{say(3)}"}}')
    yield Message(role="assistant", tool_calls=(call,), id=f"a{number}")
    yield Message.of(
        "tool", say(chance.randint(words // 2, words * 3 // 2)), tool_call_id=f"c{number}", id=f"t{number}"
    )
    yield Message.of("assistant", say(24), id=f"s{number}")


def _wmem(talk: Sequence[Sequence[Message]], *, stable: bool) -> Iterator[_Front]:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        for said in talk:
            session.messages.append(said[0])
            yield _before_newest(session.pack(said[0].text, budget=_BUDGET, system=_SYSTEM, stable=stable))
            session.messages.append(said[1:])


def _before_newest(context: Context) -> _Front:
    front: _Front = []
    for message in context.prompt():
        if message.id == context.messages[-1].id:
            break
        # Of the default, the note stands in front, and is no part of what should repeat.
        if not message.recalled:
            front.append(str(message.to_openai()))
    return front


def _langchain(talk: Sequence[Sequence[Message]]) -> Iterator[_Front]:
    costs: dict[str, int] = {}

    def count(messages: list[BaseMessage]) -> int:
        return sum(costs[str(message.id)] for message in messages)

    held = to_langchain([Message.of("system", _SYSTEM, id="system")])
    costs["system"] = _cost(Message.of("system", _SYSTEM))
    for said in talk:
        costs |= {str(message.id): _cost(message) for message in said}
        held += to_langchain(said[:1])
        kept = trim_messages(
            held, max_tokens=_BUDGET, token_counter=count, strategy="last", include_system=True, start_on="human"
        )
        yield [str(message.model_dump()) for message in kept[:-1]]
        held += to_langchain(said[1:])


def _llamaindex(talk: Sequence[Sequence[Message]]) -> Iterator[_Front]:
    system = _cost(Message.of("system", _SYSTEM))
    memory = ChatMemoryBuffer.from_defaults(token_limit=_BUDGET - system)
    for said in talk:
        memory.put_messages(to_llamaindex(said[:1]))
        yield [_SYSTEM, *(str(message.model_dump()) for message in memory.get()[:-1])]
        memory.put_messages(to_llamaindex(said[1:]))


def _missed(fronts: Iterator[_Front], count: Callable[[str], int] = _COUNT) -> float:
    """The mean percentage of the front of the turn before, in tokens, that the next one does not begin with."""
    missed: list[float] = []
    before: _Front | None = None
    for front in fronts:
        if before:
            same = next((at for at, text in enumerate(before) if front[at : at + 1] != [text]), len(before))
            costs = [count(text) for text in before]
            missed.append(sum(costs[same:]) / sum(costs))
        before = front
    return 100 * sum(missed) / len(missed)


def _cost(message: Message) -> int:
    return message_tokens(message, _COUNT)
