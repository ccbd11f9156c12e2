"""What the context of a turn costs with much in long-term memory, warm and for the first question of a process."""

import shutil
import tempfile
import time
from pathlib import Path

import wmem
from tests.bench.measure import Cost, Figure, interleaved
from tests.bench.recalling import Talk

__all__ = ["contexts_of_turns"]

_ITEMS, _QUICK_ITEMS = 100_000, 4_000
_BUDGET = 2_000
_WARM_S = 0.020
_MEMORIZE_S = 0.010
_GOALS = ("get the release out", "rest at the weekend")


def contexts_of_turns(*, quick: bool) -> list[Figure]:
    """The context of a turn with 100,000 items in long-term memory: plain, with aims, with a filter, and the first."""
    count = _QUICK_ITEMS if quick else _ITEMS
    talk = Talk()
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.db"
        _fill(file, talk, count)
        with wmem.open(f"sqlite:///{file}", agent_id="agent") as memory:
            questions = talk.questions(100)
            plain, aiming = memory.turn("s"), memory.turn("s", goals=_GOALS)
            for number in range(8):
                kind = "plan" if number == 4 else "thought"
                aiming.memorize({"content": talk.messages(1)[0]["content"], "type": kind})
            one_task = wmem.Filters(task_id="task-7")
            costs = interleaved(
                {
                    "plain": lambda number: plain.assemble_context(questions[number], _BUDGET),
                    "with goals, a plan and working memory": lambda number: aiming.assemble_context(
                        questions[number], _BUDGET
                    ),
                    "of one task": lambda number: aiming.assemble_context(questions[number], _BUDGET, one_task),
                },
                rounds=5 if quick else 40,
            )
        for name, cost in costs.items():
            figures.append(_figure(f"context of a turn, {count:,} items in long-term memory, {name}", cost, _WARM_S))
        figures += _memorizing(file, talk, count // 2, rounds=5 if quick else 40)
        read, first = _first(file, talk, rounds=2 if quick else 3)
        name = f"first context of a process, {count:,} items, sqlite, a question was put before"
        figures.append(Figure(name=name, ours=first.median, peer="reading the scopes", theirs=read.median))
    return figures


def _memorizing(file: Path, talk: Talk, count: int, *, rounds: int) -> list[Figure]:
    """What it costs to memorize a fact that is held against all that semantic memory holds."""
    texts = iter([each["content"] for each in talk.messages(8 * rounds + 64)])
    url, gate = f"sqlite:///{file}", wmem.Gate(min_importance=0.01, min_novelty=0.01)
    with wmem.open(url, agent_id="agent") as memory, wmem.open(url, agent_id="agent", gate=gate) as gated:
        for each in (memory, gated):
            each.memorize({"content": next(texts), "type": "fact"})
        costs = interleaved(
            {
                "takes all": lambda _: memory.memorize({"content": next(texts), "type": "fact"}),
                "asks for novelty": lambda _: gated.memorize({"content": next(texts), "type": "fact"}),
            },
            rounds=rounds,
        )
    name = f"memorizing a fact beside {count:,}, a gate that"
    return [_figure(f"{name} {told}", cost, _MEMORIZE_S) for told, cost in costs.items()]


def _fill(file: Path, talk: Talk, count: int) -> None:
    with wmem.open(f"sqlite:///{file}", agent_id="agent") as memory:
        for number, each in enumerate(talk.messages(count)):
            scope = memory.episodic if number % 2 else memory.semantic
            kind = "observation" if number % 2 else "fact"
            scope.items.add(each["content"], type=kind, task_id=f"task-{number % 100}")
        memory.turn("s").assemble_context(talk.questions(1)[0], _BUDGET)


def _figure(name: str, cost: Cost, wanted: float) -> Figure:
    return Figure(name=name, ours=cost.median, at_most=wanted)


def _first(file: Path, talk: Talk, *, rounds: int) -> tuple[Cost, Cost]:
    """Seconds that it takes to read the scopes, and to assemble the first context, in a store that was just opened."""
    reads, contexts = [], []
    for number in range(rounds):
        copy = file.with_name(f"{number}.db")
        shutil.copy(file, copy)
        with wmem.open(f"sqlite:///{copy}", agent_id="agent") as memory:
            began = time.perf_counter()
            memory.semantic.items.count()
            memory.episodic.items.count()
            reads.append(time.perf_counter() - began)
        with wmem.open(f"sqlite:///{copy}", agent_id="agent") as memory:
            began = time.perf_counter()
            memory.turn("s").assemble_context(talk.questions(1)[0], _BUDGET)
            contexts.append(time.perf_counter() - began)
    return Cost.of(reads), Cost.of(contexts)
