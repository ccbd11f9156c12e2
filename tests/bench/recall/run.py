"""How much of the evidence for a question is in the context: `make bench-recall`.

wmem is asked twice: as it comes, with a tail of the newest messages in half of the room, and with recall first
(``tail=0``), for questions about a long past. Then both are asked about talks in the chat form, where `WMEM_TALKS`
names some.

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
from functools import partial

from tests.bench.recall.conversations import CATEGORIES, Conversation, conversations, where
from tests.bench.recall.systems import PEERS, Answer, Bounded, Memory, Wmem
from tests.bench.recall.talks import Score, ask, list_talk_files, read_talk, talk_table

__all__ = ["Result", "asked", "table"]

BUDGETS = (512, 1_024, 2_048, 4_096)
_WANTED = {512: 60, 1_024: 72, 2_048: 82, 4_096: 88}
"""Of wmem as it comes; the rest is wanted of recall first."""
_WANTED_FIRST = {512: 77.5, 1_024: 84.5, 2_048: 89.6, 4_096: 93}
_WANTED_BY_CATEGORY = {4: 93, 2: 86, 1: 57}
_WANTED_OF_TALKS = {
    ("beam", None): 68,
    ("beam", "contradiction_resolution"): 83,
    ("beam", "information_extraction"): 64,
    ("beam", "instruction_following"): 85,
    ("beam", "preference_following"): 85,
    ("crosswoz", None): 100,
    ("glaive-zh", None): 99,
    ("tau", None): 17,
}
"""Of recall first at 1,024 tokens, by the talks' family and the questions' kind."""
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
            if held.text:
                text = " ".join(held.text.replace("\n> ", " ").split())
                found -= {id for id in found & held.cut if said[id] not in text}
                result.astray += sum(said[id] not in text for id in found)
                if question.category == 2 and budget == _AT:
                    result.answers.append(_told(question.answer, text))
            result.shares[budget, question.category].append(len(found) / len(question.evidence))


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


def _verdict(ours: Result, first: Result, bounded: Result, talks: Score | None) -> tuple[str, bool]:
    """What was wanted of wmem as it comes and with recall first, and whether it holds."""
    checks: list[tuple[str, float, float]] = [
        (f"as it comes, recall at {budget:,}", ours.recall(budget), least) for budget, least in _WANTED.items()
    ]
    checks += [(f"recall at {budget:,}", first.recall(budget), least) for budget, least in _WANTED_FIRST.items()]
    checks += [
        (f"{CATEGORIES[category]} at {_AT:,}", first.recall(_AT, category), least)
        for category, least in _WANTED_BY_CATEGORY.items()
    ]
    checks.append(("answer words in the text, temporal", 100 * statistics.fmean(first.answers), _WANTED_ANSWERS))
    checks.append((f"recall at {_AT:,}, half evicted", bounded.recall(_AT), _WANTED_BOUNDED))
    if talks is not None:
        checks += [
            (f"{family}{f', {kind}' if kind else ''} at {_AT:,}", talks.mean(_AT, family, kind), least)
            for (family, kind), least in _WANTED_OF_TALKS.items()
        ]
    lines = [
        f"  {'held' if value >= least else 'MISSED':7}{name}: {value:.1f} (wanted {least})"
        for name, value, least in checks
    ]
    held = all(value >= least for _, value, least in checks)
    for name, count in (
        ("contexts above their budget", ours.over + first.over + (talks.over if talks is not None else 0)),
        ("turns counted whose text is not there", ours.astray + first.astray),
    ):
        lines.append(f"  {'MISSED' if count else 'held':7}{name}: {count}")
        held = held and not count
    return "\n".join(lines), held


def _ask_talks() -> Score | None:
    """Ask wmem about all talks, print what holds, and return the score of recall first; None without talks."""
    files = list_talk_files()
    if not files:
        print("\nleft out: no talks in the chat form; WMEM_TALKS names a folder of them")
        return None
    scores = {"as it comes": Score("as it comes"), "recall first": Score("recall first")}
    for file in files:
        ask(read_talk(file), {"as it comes": {}, "recall first": {"tail": 0}}, scores)
    print(f"\n{talk_table(scores.values())}")
    return scores["recall first"]


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 if what is wanted does not hold. ``--ours`` leaves the peers out."""
    began = time.perf_counter()
    talks = conversations(where())
    systems: list[Callable[[Conversation], Memory]] = [Wmem, partial(Wmem, tail=0), Bounded]
    if "--ours" not in arguments:
        systems += [
            lambda talk: Bounded(talk, eviction="oldest"),
            lambda talk: Wmem(talk, tail=0, scoring="balanced"),
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
    score = _ask_talks()
    told, held = _verdict(results[0], results[1], results[2], score)
    print(f"\n{told}\n\ntook {time.perf_counter() - began:.0f} s")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
