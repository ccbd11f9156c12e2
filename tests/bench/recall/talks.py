"""Sessions in the chat form with questions about them, and how much of what answers these a prompt holds.

A file holds ``messages`` in OpenAI's form, each with ``id``, ``thread_id`` and
``created_at``, and ``questions`` with ``text``, ``kind``, ``needles`` (texts that must all
stand in the prompt: one condition) and ``evidence`` (ids of messages that must be in the
context, whole or cut: a condition each). A copy, of the same role and text, is as good.
"""

import json
import os
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import wmem
from tests.bench.recall.conversations import Said
from tests.bench.recall.options import Options
from tests.bench.recall.systems import TALK_PEERS, Answer, Dialogue, Memory, Wmem, open_memories
from wmem.types import Scoring

__all__ = ["Question", "Score", "Talk", "ask", "list_talk_files", "measure_talks", "read_talk", "talk_table", "to_text"]

_VARIABLE = "WMEM_TALKS"
_DEFAULT = "../shared/data/talks"


class Question(NamedTuple):
    """A question, and what must be in the prompt to answer it."""

    text: str
    kind: str
    needles: tuple[str, ...]
    evidence: tuple[str, ...]


class Talk(NamedTuple):
    """A session as an agent stores it, and questions asked at its end.

    Attributes:
        family: The name without the number of its file.
    """

    name: str
    family: str
    messages: Sequence[Mapping[str, Any]]
    questions: Sequence[Question]
    first_speaker: str = "user"

    @property
    def turns(self) -> list[Said]:
        """The messages as plain text, for systems that know no tools."""
        return [
            Said(each["id"], each["role"], to_text(each), _to_time(each["created_at"]), str(each["thread_id"]))
            for each in self.messages
        ]


@dataclass
class Score:
    """The share of the conditions that hold, question by question."""

    name: str
    shares: dict[tuple[int, str, str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    """By budget, family of talks, kind of question and talk."""
    over: int = 0
    """Prompts above their budget."""

    def mean(self, budget: int, family: str, kind: str | None = None, talk: str | None = None) -> float:
        """In per cent, the mean of a family's talks, or of the questions of a kind or talk; nan if none was asked."""
        by_talk: dict[str, list[float]] = defaultdict(list)
        for (at, of, what, name), each in self.shares.items():
            if (at, of) == (budget, family) and kind in (None, what) and talk in (None, name):
                by_talk[name if kind is None else ""] += each
        return 100 * statistics.fmean(map(statistics.fmean, by_talk.values())) if by_talk else float("nan")


def list_talk_files() -> list[Path]:
    """The files of `WMEM_TALKS`, a folder; none where it is not there."""
    return sorted(Path(os.environ.get(_VARIABLE) or _DEFAULT).glob("*.json"))


def read_talk(path: Path) -> Talk:
    """One file."""
    given = json.loads(path.read_text("utf-8"))
    questions = [
        Question(each["text"], each["kind"], tuple(each["needles"]), tuple(each["evidence"]))
        for each in given["questions"]
    ]
    name = given["name"].removesuffix("-open")
    return Talk(name, name.rstrip("-0123456789"), given["messages"], questions)


def to_text(message: Mapping[str, Any]) -> str:
    """What a message says, its calls as their names and arguments."""
    calls = [f"{each['function']['name']} {each['function']['arguments']}" for each in message.get("tool_calls") or ()]
    return "\n".join((message.get("content") or "", *calls)).strip()


def ask(talk: Talk, memory: Memory, score: Score, budgets: Sequence[int]) -> None:
    """Ask a memory all questions about its talk at each budget."""
    copies = defaultdict(set)
    for each in talk.messages:
        copies[_fold(each)].add(each["id"])
    by_id = {each["id"]: each for each in talk.messages}
    for budget in budgets:
        answer: Answer | None = None
        for question in talk.questions:
            if answer is None or memory.asks:
                answer = memory.context(question.text, budget)
                score.over += answer.tokens > budget
            holds = [bool(copies[_fold(by_id[id])] & answer.ids) for id in question.evidence]
            if question.needles:
                sent = answer.text or "\n".join(to_text(by_id[id]) for id in answer.ids)
                holds.append(all(needle in sent for needle in question.needles))
            score.shares[budget, talk.family, question.kind, talk.name].append(statistics.fmean(holds))


def _fold(message: Mapping[str, Any]) -> tuple[str, str]:
    """What makes two messages copies of one another."""
    return message["role"], " ".join(to_text(message).split())


def _to_time(created_at: float | str) -> datetime:
    return (
        datetime.fromisoformat(created_at) if isinstance(created_at, str) else datetime.fromtimestamp(created_at, UTC)
    )


def measure_talks(talks: Sequence[Talk], options: Options) -> dict[str, float]:
    """Ask about all talks of one family in every way, print what holds, and return the figures of recall first."""
    budgets, scoring = options.budgets, options.scoring
    systems: list[Callable[[Dialogue], Memory]] = [
        partial(Wmem, tail=0, scoring=scoring),
        partial(Wmem, scoring=scoring),
        partial(_RecallAlone, scoring=scoring),
        *(() if options.ours else TALK_PEERS),
    ]
    scores = []
    for make in systems:
        score = Score("")
        for talk, memory in open_memories(make, talks):
            score.name = memory.name
            ask(talk, memory, score, budgets)
        if score.name:
            scores.append(score)
    print(talk_table(scores, budgets))
    first, default, alone = scores[:3]
    family = talks[0].family
    figures: dict[str, float] = {}
    kinds = sorted({question.kind for talk in talks for question in talk.questions})
    for budget in budgets:
        figures |= {
            f"{family} at {budget:,}": first.mean(budget, family),
            f"{family}, by recall alone, at {budget:,}": alone.mean(budget, family),
            **{f"{family}, {kind} at {budget:,}": first.mean(budget, family, kind) for kind in kinds},
        }
        if len(talks) > 1:
            by_talk = {talk.name: first.mean(budget, family, talk=talk.name) for talk in talks}
            print(f"by talk at {budget:,}: " + ", ".join(f"{name} {value:.1f}" for name, value in by_talk.items()))
            figures |= {f"{family}, {name} at {budget:,}": value for name, value in by_talk.items()}
    return figures | {f"{family}, contexts above their budget": first.over + default.over + alone.over}


def talk_table(scores: Iterable[Score], budgets: Sequence[int]) -> str:
    """The scores for people: a row for each family, and for each kind where there are several."""
    scores = list(scores)
    keys = sorted({(of, what) for each in scores for _, of, what, _ in each.shares})
    widths = [max(8 * len(budgets), len(each.name) + 2) for each in scores]
    head = "".join(f"{each.name:>{width}}" for each, width in zip(scores, widths, strict=True))
    columns = "".join(f"{budget:>8,}" for budget in budgets)
    lines = [f"{'conditions that hold, %':34}{head}", f"{'':34}{''.join(f'{columns:>{width}}' for width in widths)}"]
    for family in dict.fromkeys(of for of, _ in keys):
        kinds = [what for of, what in keys if of == family]
        for kind in [None, *(kinds if len(kinds) > 1 else ())]:
            cells = ("".join(f"{each.mean(budget, family, kind):8.1f}" for budget in budgets) for each in scores)
            row = "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
            lines.append(f"{family if kind is None else f'  {kind}':34}{row}")
    return "\n".join(lines)


class _RecallAlone(Wmem):
    """Recall first, without standing requests."""

    def __init__(self, talk: Dialogue, *, scoring: Scoring) -> None:
        super().__init__(talk, tail=0, scoring=scoring, policy=wmem.Policy(standing_requests=False))
        self.name = "wmem, recall alone"
