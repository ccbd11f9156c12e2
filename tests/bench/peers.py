"""What an agent's memory takes and keeps in a long talk, beside what the frameworks bring."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Literal

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory

import wmem
from llamaindex_wmem import WmemMemory
from tests.bench.measure import Figure, interleaved
from tests.bench.talk import Tally, hold_talks, write_script
from tests.bench.talkers import AGENT, ENGINE, WINDOWED, open_agents, open_engines

__all__ = ["agents_beside_langchain", "engines_beside_llamaindex", "puts_and_gets_by_length"]


def agents_beside_langchain(*, quick: bool) -> list[Figure]:
    """Agents of `create_agent` in one long talk: what a turn takes, what is stored, what the prompts hold."""
    script = write_script(60 if quick else 200)
    with open_agents() as talkers:
        tallies = hold_talks(talkers, script)
        stored = {name: talker.stored_bytes() for name, talker in talkers.items()}
    figures = _compare(tallies, AGENT, "trim_messages", "SummarizationMiddleware")
    figures += _compare(tallies, WINDOWED, "SummarizationMiddleware")
    for name, peer in ((AGENT, "trim_messages"), (WINDOWED, "SummarizationMiddleware"), (WINDOWED, AGENT)):
        note = f"all checkpoints of {len(script)} turns"
        figures.append(
            Figure(name=f"{name}: checkpoints", ours=stored[name], unit="B", peer=peer, theirs=stored[peer], note=note)
        )
    return figures


def engines_beside_llamaindex(*, quick: bool) -> list[Figure]:
    """Chat engines of LlamaIndex in the same talk, without tools."""
    with open_engines() as talkers:
        tallies = hold_talks(talkers, write_script(60 if quick else 200))
    return _compare(tallies, ENGINE, "Memory", "ChatMemoryBuffer")


def _compare(tallies: Mapping[str, Tally], name: str, *peers: str) -> list[Figure]:
    """One of ours beside each of theirs."""
    ours = tallies[name]
    turns = len(ours.seconds)
    # Not what somebody measured: what is promised.
    assert ours.largest_share <= 1, f"{name}: a prompt of {ours.largest_share:.0%} of the limit"
    assert all(ours.requests), f"{name}: a prompt without the standing request"
    assert all(ours.questions), f"{name}: a prompt without the question"
    figures = []
    for peer in peers:
        theirs = tallies[peer]
        times = f"medians of {turns} turns; of the last 20: {_newest(ours)} against {_newest(theirs)}"
        rows: list[tuple[str, float, float, Literal["s", "%"], float | None, str]] = [
            ("a turn", statistics.median(ours.seconds), statistics.median(theirs.seconds), "s", None, times),
            ("largest prompt, of the limit", 100 * ours.largest_share, 100 * theirs.largest_share, "%", 100, ""),
            ("facts there when asked for", _percent(ours.facts), _percent(theirs.facts), "%", None, ""),
            ("turns with the standing request", _percent(ours.requests), _percent(theirs.requests), "%", None, ""),
        ]
        figures += [
            Figure(name=f"{name}: {what}", ours=a, peer=peer, theirs=b, unit=unit, at_most=at_most, note=note)
            for what, a, b, unit, at_most, note in rows
        ]
    return figures


def _percent(held: Sequence[bool]) -> float:
    return 100 * statistics.fmean(held)


def _newest(tally: Tally) -> str:
    return f"{statistics.median(tally.seconds[-20:]) * 1e3:.1f} ms"


def puts_and_gets_by_length(*, quick: bool) -> list[Figure]:
    """`put` and `get` of `WmemMemory` beside `Memory`, both with so many messages, all of which `get` returns."""
    figures = []
    for count in (100, 1_000) if quick else (100, 1_000, 5_000):
        said = [
            ChatMessage(role="assistant" if number % 2 else "user", content=turn.answer)
            for number, turn in enumerate(write_script(count))
        ]
        whole = 100 * count  # tokens: more than all of them have
        theirs = Memory.from_defaults(session_id=f"{count}", token_limit=whole, chat_history=said)
        with wmem.open("memory://", agent_id="bench") as opened:
            ours = WmemMemory.from_defaults(memory=opened, session_id="talk", token_limit=whole)
            ours.put_messages(said)
            cost = interleaved(
                {
                    "ours.put": lambda number: ours.put(said[number].model_copy()),  # noqa: B023  # called here
                    "put": lambda number: theirs.put(said[number].model_copy()),  # noqa: B023
                    "ours.get": lambda _: ours.get(),  # noqa: B023
                    "get": lambda _: theirs.get(),  # noqa: B023
                },
                rounds=10 if quick else 30,
                warm=2,
            )
            assert len(ours.get()) == len(theirs.get()), "the two do not return the same"
        for verb, at_most_times in (("put", 1 / 7), ("get", 1.0)):
            figures.append(
                Figure(
                    name=f"WmemMemory.{verb}, {count:,} messages",
                    ours=cost[f"ours.{verb}"].median,
                    peer=f"Memory.{verb}",
                    theirs=cost[verb].median,
                    at_most_times=at_most_times,
                    note=f"all returned; medians of {cost[verb].calls}",
                )
            )
    return figures
