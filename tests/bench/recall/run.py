"""How much of the evidence for a question is in the context: `make bench-recall`.

Evidence recall is the mean share of the annotated turns that the context holds; the
all-evidence rate counts the questions of which it holds every one. Which turns are in it
is told by their ids; of wmem's contexts it is checked that their texts are there, too.
"""

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.bench.recall.conversations import CATEGORIES, Conversation, conversations, where
from tests.bench.recall.systems import PEERS, Answer, Bounded, Memory, Wmem

__all__ = ["Result", "asked", "table"]

BUDGETS = (512, 1_024, 2_048, 4_096)
_WANTED = {512: 76, 1_024: 84, 2_048: 87, 4_096: 91}
_WANTED_BY_CATEGORY = {4: 93, 2: 86, 1: 57}
_WANTED_ANSWERS = 68
_WANTED_BOUNDED = 55
_AT = 1_024


@dataclass
class Result:
    """What one system held of the evidence, question by question."""

    name: str
    shares: dict[tuple[int, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    """By budget and category."""
    tokens: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    answers: list[float] = field(default_factory=list)
    """Of temporal questions at 1,024 tokens, the share of the words of the answer that are in the text."""
    adds_s: list[float] = field(default_factory=list)
    packs_s: list[float] = field(default_factory=list)
    over: int = 0
    """Contexts above their budget."""
    astray: int = 0
    """Turns that are said to be in a context whose text lacks them."""

    def recall(self, budget: int, *categories: int) -> float:
        """Evidence recall in per cent."""
        return 100 * statistics.fmean(self._of(budget, categories))

    def complete(self, budget: int) -> float:
        """The all-evidence rate in per cent."""
        return 100 * statistics.fmean(share == 1 for share in self._of(budget, ()))

    def _of(self, budget: int, categories: Sequence[int]) -> list[float]:
        return [share for each in categories or CATEGORIES for share in self.shares[budget, each]] or [0.0]


def asked(result: Result, talk: Conversation, memory: Memory, budgets: Sequence[int] = BUDGETS) -> None:
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
            result.shares[budget, question.category].append(len(found) / len(question.evidence))
            if held.text:
                text = " ".join(held.text.replace("\n> ", " ").split())
                result.astray += sum(said[id] not in text for id in found)
                if question.category == 2 and budget == _AT:
                    result.answers.append(_told(question.answer, text))


def _told(answer: str, text: str) -> float:
    """The share of the words of an answer that a text holds."""
    from wmem.analysis.analyzer import to_terms

    wanted = set(to_terms(answer))
    return len(wanted & set(to_terms(text))) / len(wanted) if wanted else 1.0


def table(results: Sequence[Result]) -> str:
    """The results for people."""
    head = f"{'':30}" + "".join(f"{budget:>8,}" for budget in BUDGETS)
    lines = ["", f"evidence recall, %{head[18:]}   all of it at {_AT:,}    add µs   pack ms"]
    for each in results:
        row = f"{each.name:30}" + "".join(f"{each.recall(budget):8.1f}" for budget in BUDGETS)
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


def _verdict(ours: Result, bounded: Result) -> tuple[str, bool]:
    """What was wanted of wmem's default, and whether it holds."""
    checks = [(f"recall at {budget:,}", ours.recall(budget), least) for budget, least in _WANTED.items()]
    checks += [
        (f"{CATEGORIES[category]} at {_AT:,}", ours.recall(_AT, category), least)
        for category, least in _WANTED_BY_CATEGORY.items()
    ]
    checks.append(("answer words in the text, temporal", 100 * statistics.fmean(ours.answers), _WANTED_ANSWERS))
    checks.append((f"recall at {_AT:,}, half evicted", bounded.recall(_AT), _WANTED_BOUNDED))
    lines = [
        f"  {'held' if value >= least else 'MISSED':7}{name}: {value:.1f} (wanted {least})"
        for name, value, least in checks
    ]
    held = all(value >= least for _, value, least in checks)
    for name, count in (
        ("contexts above their budget", ours.over),
        ("turns counted whose text is not there", ours.astray),
    ):
        lines.append(f"  {'MISSED' if count else 'held':7}{name}: {count}")
        held = held and not count
    return "\n".join(lines), held


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 if what is wanted does not hold. ``--ours`` leaves the peers out."""
    talks = conversations(where())
    systems: list[Callable[[Conversation], Memory]] = [Wmem, Bounded]
    if "--ours" not in arguments:
        systems += [
            lambda talk: Bounded(talk, eviction="oldest"),
            lambda talk: Wmem(talk, scoring="balanced"),
            *PEERS,
        ]
    results = []
    for made in systems:
        result = Result("")
        for talk in talks:
            try:
                memory = made(talk)
            except ImportError as exc:
                print(f"left out: {exc.name} is not installed")
                break
            result.name = memory.name
            asked(result, talk, memory)
            memory.close()
        if result.name:
            results.append(result)
    print(f"{sum(len(talk.questions) for talk in talks)} questions about {len(talks)} conversations")
    print(table(results))
    told, held = _verdict(*results[:2])
    print(f"\n{told}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
