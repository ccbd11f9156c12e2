"""What the trace of a session takes beside the session: a pack for each call of the model, a record for each turn.

    python -m tests.bench.trace_share ../shared/data/talks/*.json
    python -m tests.bench.trace_share --budget 2000 --by-thread ../shared/data/talks/tau-open.json

Each talk is one session, or with ``--by-thread`` each of its threads: short chats. Before each message of the
assistant a prompt is packed for the newest question, and the turn is recorded when the user speaks again. Printed are
the bytes of the journals as they are stored, and how many of the receipts give the same prompt at the end.
"""

import argparse
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import wmem
from tests.bench.recall.talks import read_talk
from wmem.flow import run
from wmem.model.ids import new_ulid
from wmem.scope.trace import append_trace, trace_pack


class Share(NamedTuple):
    """What one session took, in bytes, and what its receipts gave."""

    session: int
    trace: int
    turns: int
    packs: int
    equal: int


def measure(messages: Sequence[Mapping[str, Any]], budget: int, file: Path) -> Share:
    """Store a talk turn by turn, with a prompt before each message of the assistant, and replay all prompts."""
    with wmem.open(f"sqlite://{file}", agent_id="agent") as memory:
        session, handle = memory.scope("session"), memory.scope("session")._handle
        prompts: list[tuple[str, list[dict[str, Any]]]] = []
        turns = 0
        for turn in _split_turns(messages):
            events = []
            query = next((str(each["content"]) for each in turn if each["role"] == "user"), None)
            for each in turn:
                if each["role"] == "assistant":
                    context = session.pack(query, budget=budget)
                    events.append(trace_pack(context))
                    prompts.append((context.receipt, context.to_openai()))
                session.messages.append(each)
            turns += 1
            run(
                append_trace(handle, new_ulid(handle.settings.clock()), events, handle.settings.clock()),
                memory._core.ports.sync,
            )
        equal = sum(_gives(memory, receipt, sent) for receipt, sent in prompts)
    with closing(sqlite3.connect(file)) as connection:
        sizes = dict(
            connection.execute(
                "SELECT scope.path, sum(length(payload)) FROM scope JOIN record ON place >> 32 = number GROUP BY number"
            ).fetchall()
        )
    trace = sum(size for path, size in sizes.items() if b"~trace" in path)
    return Share(sum(size for path, size in sizes.items() if b"~" not in path), trace, turns, len(prompts), equal)


def _gives(memory: wmem.AgentMemory, receipt: str, sent: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a receipt gives the same prompt again; not if the trace has given it up for newer ones."""
    try:
        context = memory.replay(receipt).context
    except wmem.NotFoundError:
        return False
    if context is None or context.to_openai() != sent:
        raise AssertionError(f"{receipt} gives another prompt")
    return True


def _split_turns(messages: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    turn: list[Mapping[str, Any]] = []
    for each in messages:
        if each["role"] == "user" and turn:
            yield turn
            turn = []
        turn.append(each)
    if turn:
        yield turn


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("talks", nargs="+", type=Path)
    parser.add_argument("--budget", type=int, default=8_000)
    parser.add_argument("--by-thread", action="store_true")
    options = parser.parse_args()
    for talk in options.talks:
        messages = read_talk(talk).messages
        sessions = [messages]
        if options.by_thread:
            sessions = [list(each) for _, each in groupby(messages, key=lambda each: each["thread_id"])]
        with tempfile.TemporaryDirectory() as place:
            shares = [measure(each, options.budget, Path(place, f"{at}.db")) for at, each in enumerate(sessions)]
        session, trace, turns, packs, equal = (sum(each) for each in zip(*shares, strict=True))
        print(  # it is a command
            f"{talk.stem:20} {len(sessions):4} sessions {turns:5} turns {packs:5} packs  session {session:9}  "
            f"trace {trace:8} bytes  {100 * trace / session:5.2f} %  {trace / max(1, turns):6.1f} a turn  "
            f"replayed {equal} of {packs}"
        )


if __name__ == "__main__":
    main()
