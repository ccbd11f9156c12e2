"""Evidence recall of LoCoMo's questions: the mean share of the annotated turns that the context holds.

The all-evidence rate counts the questions of which it holds every one. Which turns are in it
is told by their ids; of wmem's contexts it is checked that their texts are there, too.
"""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.bench.recall.conversations import CATEGORIES, Conversation
from tests.bench.recall.options import Options
from tests.bench.recall.systems import PEERS, Answer, Bounded, Dialogue, Memory, Wmem, open_memories
from wmem.analysis.analyzer import to_terms

__all__ = ["Result", "ask_all", "measure_evidence", "table"]

_AT = 1_024


@dataclass
class Result:
    """What one system held of the evidence, question by question."""

    name: str
    shares: dict[tuple[int, int, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    """By budget, category and conversation."""
    tokens: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    answers: list[float] = field(default_factory=list)
    """Of temporal questions at 1,024 tokens, the share of the words of the answer that are in the text."""
    adds_s: list[float] = field(default_factory=list)
    packs_s: list[float] = field(default_factory=list)
    over: int = 0
    """Contexts above their budget."""
    astray: int = 0
    """Turns that are said to be in a context whose text lacks them."""

    def recall(self, budget: int, *categories: int, talk: str | None = None) -> float:
        """Evidence recall in per cent, of all categories and conversations or of some."""
        return 100 * statistics.fmean(self._of(budget, categories, talk))

    def complete(self, budget: int) -> float:
        """The all-evidence rate in per cent."""
        return 100 * statistics.fmean(share == 1 for share in self._of(budget, (), None))

    def _of(self, budget: int, categories: Sequence[int], talk: str | None) -> list[float]:
        return [
            share
            for (at, category, name), shares in self.shares.items()
            if at == budget and category in (categories or CATEGORIES) and talk in (None, name)
            for share in shares
        ] or [0.0]


def ask_all(result: Result, talk: Conversation, memory: Memory, budgets: Sequence[int] = Options().budgets) -> None:
    """Ask a memory all questions about its conversation at each budget."""
    result.adds_s.append(memory.add_s)
    said = {turn.id: " ".join(turn.text.split()) for turn in talk.turns}
    for budget in budgets:
        held: Answer | None = None
        for question in talk.questions:
            if held is None or memory.asks:
                began = time.perf_counter()
                held = memory.context(question.text, budget)
                result.packs_s.append(time.perf_counter() - began)
                result.tokens[budget].append(held.tokens)
                result.over += held.tokens > budget
            found = question.evidence & held.ids
            if held.text:
                text = " ".join(held.text.replace("\n> ", " ").split())
                found -= {id for id in found & held.cut if said[id] not in text}
                result.astray += sum(said[id] not in text for id in found)
                if question.category == 2 and budget == _AT:
                    result.answers.append(_told(question.answer, text))
            result.shares[budget, question.category, talk.name].append(len(found) / len(question.evidence))


def _told(answer: str, text: str) -> float:
    """The share of the words of an answer that a text holds."""
    wanted = set(to_terms(answer))
    return len(wanted & set(to_terms(text))) / len(wanted) if wanted else 1.0


def table(results: Sequence[Result], budgets: Sequence[int] = Options().budgets) -> str:
    """The results for people."""
    head = f"{'':30}" + "".join(f"{budget:>8,}" for budget in budgets)
    lines = ["", f"evidence recall, %{head[18:]}   all of it at {_AT:,}    add µs   pack ms"]
    for each in results:
        row = f"{each.name:30}" + "".join(f"{each.recall(budget):8.1f}" for budget in budgets)
        add, pack = statistics.median(each.adds_s), statistics.median(each.packs_s)
        lines.append(f"{row}{each.complete(_AT):19.1f}{add * 1e6:10.0f}{pack * 1e3:10.2f}")
    lines += [
        "",
        f"{f'at {_AT:,} by category':30}" + "".join(f"{name:>13}" for name in CATEGORIES.values()) + "   tokens",
    ]
    for each in results:
        row = "".join(f"{each.recall(_AT, category):13.1f}" for category in CATEGORIES)
        lines.append(f"{each.name:30}{row}{statistics.fmean(each.tokens[_AT]):9.0f}")
    return "\n".join(lines)


def measure_evidence(talks: Sequence[Conversation], options: Options) -> Mapping[str, float]:
    """Ask about all conversations in every way, print what holds, and return wmem's figures."""
    make_wmem = partial(Wmem, scoring=options.scoring)
    systems: list[Callable[[Dialogue], Memory]] = [make_wmem, partial(make_wmem, tail=0), Bounded]
    if not options.ours:
        systems += [partial(Bounded, eviction="oldest"), partial(Wmem, tail=0, scoring="balanced"), *PEERS]
    results = []
    for make in systems:
        result = Result("")
        for talk, memory in open_memories(make, talks):
            result.name = memory.name
            ask_all(result, talk, memory, options.budgets)
        if result.name:
            results.append(result)
    print(f"{sum(len(talk.questions) for talk in talks)} questions about {len(talks)} conversations")
    print(table(results, options.budgets))
    figures = dict(_figures(results[0], results[1], results[2], options.budgets))
    by_talk = {
        f"locomo, {talk.name} at {budget:,}": results[1].recall(budget, talk=talk.name)
        for talk in talks
        for budget in options.budgets
    }
    print("", *(f"{name:30}{value:8.1f}" for name, value in by_talk.items()), sep="\n")
    return figures | by_talk


def _figures(default: Result, first: Result, bounded: Result, budgets: Sequence[int]) -> Iterable[tuple[str, float]]:
    for budget in budgets:
        yield f"locomo, as it comes, at {budget:,}", default.recall(budget)
        yield f"locomo at {budget:,}", first.recall(budget)
    for category, name in CATEGORIES.items():
        yield f"locomo, {name} at {_AT:,}", first.recall(_AT, category)
    yield "locomo, answer words in the text, temporal", 100 * statistics.fmean(first.answers or [0.0])
    yield f"locomo, half evicted, at {_AT:,}", bounded.recall(_AT)
    yield "locomo, contexts above their budget", default.over + first.over
    yield "locomo, turns counted whose text is not there", default.astray + first.astray
