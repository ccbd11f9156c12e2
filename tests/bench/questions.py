"""What questions cost that are long, that are the first of a process, or whose answer is long."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import wmem
from tests.bench.measure import Cost, Figure, interleaved
from tests.bench.recalling import Talk

__all__ = ["first_packs", "packs_for_long_questions", "packs_of_long_answers"]

_BUDGET = 1_024
_CHUNK = 1_000
_MOST_S = 0.3
_MESSAGES_S = 0.1
_ANSWERS = 100


def packs_for_long_questions(*, quick: bool) -> list[Figure]:
    """A prompt for a question of 100 kB, as a pasted log is, beside one of 100 bytes, in a session of 1,000."""
    talk, rounds = Talk(), 5 if quick else 30
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        session.messages.append(talk.messages(_CHUNK))
        short = [f"{each} {each}"[:100] for each in talk.questions(rounds + 1)]
        pastes = [" ".join(each["content"] for each in talk.messages(600))[:100_000] for _ in range(rounds + 1)]
        lines = [(f"{each}\n" * 1_000)[:100_000] for each in short]
        cost = interleaved(
            {
                "short": lambda number: session.pack(short[number], budget=_BUDGET),
                "paste": lambda number: session.pack(pastes[number], budget=_BUDGET),
                "line": lambda number: session.pack(lines[number], budget=_BUDGET),
            },
            rounds=rounds,
            warm=1,
        )
    return [
        _figure(f"pack for a question of 100 kB, {what}", cost[name], "of 100 bytes", cost["short"], times=3)
        for name, what in (("paste", "all words"), ("line", "one line again and again"))
    ]


def first_packs(*, quick: bool) -> list[Figure]:
    """The first prompt for a question after a file was opened, beside reading its scope.

    In a file to which a question was put before, and in one to which none was: what is made for questions may be kept.
    """
    items, messages = (2_000, 1_000) if quick else (20_000, 5_000)
    rounds = 3 if quick else 7
    figures = []
    for asked in (False, True):
        with _files("items", items, rounds + 1, ask=asked) as files:
            read, pack = _first(files, rounds)
        times = max(1.5, _MOST_S / read.median)
        before = "a question was put before" if asked else "the first question ever"
        name = f"first pack of {items:,} items, sqlite, {before}"
        figures.append(_figure(name, pack, "reading the scope", read, times=times))
        with _files("messages", messages, rounds + 1, ask=asked) as files:
            read, pack = _first(files, rounds)
        name = f"first pack of {messages:,} messages, sqlite, {before}"
        figures.append(_figure(name, pack, "reading the scope", read, most=_MESSAGES_S))
    return figures


@contextmanager
def _files(kind: str, count: int, copies: int, *, ask: bool) -> Iterator[list[Path]]:
    """Copies of a file with so many items or messages of 20 to 40 words."""
    talk = Talk()
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "0.db"
        with wmem.open(f"sqlite:///{first}", agent_id="agent") as memory:
            session = memory.scope("session")
            for _ in range(0, count, _CHUNK):
                messages = talk.messages(_CHUNK)
                if kind == "messages":
                    session.messages.append(messages)
                else:
                    for each in messages:
                        session.items.add(each["content"])
            if ask:
                session.pack(talk.questions(1)[0], budget=_BUDGET)
        files = [first, *(Path(folder) / f"{number}.db" for number in range(1, copies))]
        for file in files[1:]:
            shutil.copy(first, file)
        yield files


def _first(files: list[Path], rounds: int) -> tuple[Cost, Cost]:
    """What it takes to open a file and read its scope, and to open one and pack for a question."""
    question = Talk().questions(1)[0]

    def read(number: int) -> None:
        with wmem.open(f"sqlite:///{files[number]}", agent_id="agent") as memory:
            memory.scope("session").stats()

    def pack(number: int) -> None:
        with wmem.open(f"sqlite:///{files[number]}", agent_id="agent") as memory:
            memory.scope("session").pack(question, budget=_BUDGET)

    cost = interleaved({"read": read}, rounds=rounds, warm=1) | interleaved({"pack": pack}, rounds=rounds, warm=1)
    return cost["read"], cost["pack"]


def packs_of_long_answers(*, quick: bool) -> list[Figure]:
    """A prompt for a question whose answer takes 4,000 tokens, beside one whose answer is as long as what is quoted."""
    talk, rounds = Talk(), 10 if quick else 50
    lines = [each["content"] for each in talk.messages(_ANSWERS)]
    answers = [" ".join(f"{each['content']}." for each in talk.messages(78)) for _ in lines]

    with wmem.open("memory://", agent_id="agent") as memory:
        long, short = memory.scope("long"), memory.scope("short")
        for line, answer in zip(lines, answers, strict=True):
            for session, text in ((long, answer), (short, " ".join(answer.split()[:60]))):
                session.messages.append([{"role": "user", "content": line}, {"role": "assistant", "content": text}])
        questions = [f"What did you say about {' '.join(answer.split()[:12])}?" for answer in answers]
        cost = interleaved(
            {
                "long": lambda number: long.pack(questions[number], budget=_BUDGET, tail=0),
                "short": lambda number: short.pack(questions[number], budget=_BUDGET, tail=0),
            },
            rounds=rounds,
            warm=2,
        )
    name = "pack that recalls an answer of 4,000 tokens"
    return [_figure(name, cost["long"], "of 100 tokens", cost["short"], times=1.25)]


def _figure(
    name: str, cost: Cost, peer: str, theirs: Cost, *, times: float | None = None, most: float | None = None
) -> Figure:
    return Figure(
        name=name,
        ours=cost.median,
        peer=peer,
        theirs=theirs.median,
        at_most=most,
        at_most_times=times,
        note=f"budget {_BUDGET:,}; medians of {cost.calls:,}",
        details={"wmem": cost._asdict(), "peer": theirs._asdict()},
    )
