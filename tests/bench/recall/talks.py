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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import wmem

__all__ = ["Question", "Score", "Talk", "ask", "list_talk_files", "read_talk", "talk_table"]

BUDGETS = (512, 1_024, 4_096)
_VARIABLE = "WMEM_TALKS"
_DEFAULT = "../shared/data/talks"


class Question(NamedTuple):
    """A question, and what must be in the prompt to answer it."""

    text: str
    kind: str
    needles: tuple[str, ...]
    evidence: tuple[str, ...]


class Talk(NamedTuple):
    """A session as an agent stores it, and questions asked at its end."""

    name: str
    messages: Sequence[Mapping[str, Any]]
    questions: Sequence[Question]

    @property
    def family(self) -> str:
        """The name without the number of its file."""
        return self.name.removesuffix("-open").rstrip("-0123456789")


@dataclass
class Score:
    """The share of the conditions that hold, question by question."""

    name: str
    shares: dict[tuple[int, str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    """By budget, family of talks and kind of question."""
    over: int = 0
    """Prompts above their budget."""

    def mean(self, budget: int, family: str, kind: str | None = None) -> float:
        """In per cent; nan where nothing was asked."""
        shares = [
            share
            for (at, of, what), each in self.shares.items()
            if (at, of) == (budget, family) and kind in (None, what)
            for share in each
        ]
        return 100 * statistics.fmean(shares) if shares else float("nan")


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
    return Talk(given["name"], given["messages"], questions)


def ask(talk: Talk, systems: Mapping[str, Mapping[str, Any]], scores: Mapping[str, Score]) -> None:
    """Ask all questions about a talk in each way to pack, at each budget.

    Args:
        systems: Options of `Scope.pack`, by the name of the way.
        scores: Where the results go, by the same names.
    """
    copies = defaultdict(set)
    for each in talk.messages:
        copies[_fold(each)].add(each["id"])
    by_id = {each["id"]: each for each in talk.messages}
    with wmem.open("memory://", agent_id="bench") as memory:
        session = memory.scope("session")
        for each in talk.messages:
            session.messages.append(dict(each))
        for budget in BUDGETS:
            for question in talk.questions:
                for name, options in systems.items():
                    packed = session.pack(question.text, budget=budget, **options)
                    ids = {id for unit in (*packed.included, *packed.truncated) for id in unit.ids}
                    holds = [bool(copies[_fold(by_id[id])] & ids) for id in question.evidence]
                    if question.needles:
                        sent = json.dumps(packed.to_openai(), ensure_ascii=False)
                        holds.append(all(needle in sent for needle in question.needles))
                    scores[name].shares[budget, talk.family, question.kind].append(statistics.fmean(holds))
                    scores[name].over += packed.tokens > budget


def _fold(message: Mapping[str, Any]) -> tuple[str, str]:
    """What makes two messages copies of one another."""
    return message["role"], " ".join(str(message.get("content") or json.dumps(message.get("tool_calls"))).split())


def talk_table(scores: Iterable[Score]) -> str:
    """The scores for people: a row for each family, and for each kind where there are several."""
    scores = list(scores)
    keys = sorted({(of, what) for each in scores for _, of, what in each.shares})
    head = "".join(f"{each.name:>{8 * len(BUDGETS)}}" for each in scores)
    budgets = "".join(f"{budget:>8,}" for budget in BUDGETS) * len(scores)
    lines = [f"{'conditions that hold, %':34}{head}", f"{'':34}{budgets}"]
    for family in dict.fromkeys(of for of, _ in keys):
        kinds = [what for of, what in keys if of == family]
        for kind in [None, *(kinds if len(kinds) > 1 else ())]:
            row = "".join(f"{each.mean(budget, family, kind):8.1f}" for each in scores for budget in BUDGETS)
            lines.append(f"{family if kind is None else f'  {kind}':34}{row}")
    return "\n".join(lines)
