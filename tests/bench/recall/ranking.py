"""LoCoMo in the form of LMEB: which turns a ranked list has in front, by NDCG@10 and recall@10.

Each conversation is searched for itself, the figures are means over the five categories. wmem ranks by
`Scope.recall`; what is said is indexed with the captions of images, and who said it is the message's name.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import wmem
from tests.bench.recall.conversations import ADVERSARIAL, Conversation
from tests.bench.recall.systems import Bm25s, Wmem

__all__ = ["Ranking", "figures_of", "measure_ranking", "ndcg", "rank_by_wmem", "ranking_table", "recall"]

_AT = 10
_DATE = "%I:%M %p on %d %B, %Y"
_NAMES = {4: "single-hop", 1: "multi-hop", 2: "temporal", 3: "open-domain", ADVERSARIAL: "adversarial"}

Rank = Callable[[str], Sequence[str]]
"""The ids of the turns that match a question, best first."""


def ndcg(ranked: Sequence[str], relevant: Collection[str], at: int = _AT) -> float:
    """Discounted gain of the first, of what the best order has."""
    gain = sum(1 / math.log2(place + 2) for place, id in enumerate(ranked[:at]) if id in relevant)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(at, len(relevant))))


def recall(ranked: Sequence[str], relevant: Collection[str], at: int = _AT) -> float:
    """The share of the relevant that is among the first."""
    return sum(id in relevant for id in ranked[:at]) / len(relevant)


@dataclass
class Ranking:
    """What one system ranks first, question by question."""

    name: str
    ndcg: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By category."""
    recall: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))

    def ask(self, talk: Conversation, rank: Rank) -> None:
        for question in (*talk.questions, *talk.adversarial):
            ranked = rank(question.text)
            self.ndcg[question.category].append(ndcg(ranked, question.evidence))
            self.recall[question.category].append(recall(ranked, question.evidence))

    def means(self) -> list[tuple[float, float]]:
        """NDCG and recall in per cent: the mean over the categories, then each of these."""
        each = [
            (100 * statistics.fmean(self.ndcg[category]), 100 * statistics.fmean(self.recall[category]))
            for category in _NAMES
            if category in self.ndcg
        ]
        return [(statistics.fmean(first for first, _ in each), statistics.fmean(second for _, second in each)), *each]


def rank_by_wmem(talk: Conversation, embedder: wmem.Embedder | None = None) -> tuple[Wmem, Rank]:
    """A memory of a conversation, and how it ranks."""
    memory = Wmem(talk, embedder=embedder)
    return memory, lambda text: [hit.id for hit in memory.session.recall(text, limit=_AT, kinds=["message"])]


def _rank_by_bm25s(talks: Sequence[Conversation]) -> Iterator[tuple[Conversation, Rank]]:
    """How LMEB's baseline ranks: one index of all conversations, each turn with its date, then those of one."""
    turns = [
        turn._replace(id=f"{number} {turn.id}", text=f"{turn.text} {turn.at:{_DATE}}")
        for number, talk in enumerate(talks)
        for turn in talk.turns
    ]
    peer = Bm25s(talks[0]._replace(turns=turns))

    def rank(number: int, text: str) -> list[str]:
        ids = (turns[place].id.split() for place in peer.rank(text))
        return [id for talk, id in ids if talk == str(number)]

    for number, talk in enumerate(talks):
        yield talk, partial(rank, number)


def measure_ranking(talks: Sequence[Conversation], *, ours: bool) -> dict[str, float]:
    """Rank the turns of all conversations for their questions, print it, and return wmem's figures."""
    results = [Ranking("wmem, scope.recall")]
    for talk in talks:
        memory, rank = rank_by_wmem(talk)
        results[0].ask(talk, rank)
        memory.close()
    if not ours:
        results.append(Ranking("bm25s, as LMEB has it"))
        for talk, by_bm25s in _rank_by_bm25s(talks):
            results[1].ask(talk, by_bm25s)
    print(f"conversations {', '.join(talk.name for talk in talks)}")
    print(ranking_table(results))
    return figures_of(results[0])


def figures_of(result: Ranking, name: str = "lmeb") -> dict[str, float]:
    """All figures by name."""
    figures: dict[str, float] = {}
    for category, (first, second) in zip(("", *_NAMES.values()), result.means(), strict=False):
        figures |= {f"{name}{category and f', {category}'} NDCG@10": first}
        figures |= {f"{name}{category and f', {category}'} recall@10": second}
    return figures


def ranking_table(results: Sequence[Ranking]) -> str:
    """The results for people."""
    lines = [f"{'NDCG@10 / recall@10, %':30}{'all':>14}" + "".join(f"{name:>14}" for name in _NAMES.values())]
    for each in results:
        cells = "".join(f"{f'{first:.1f} / {second:.1f}':>14}" for first, second in each.means())
        lines.append(f"{each.name:30}{cells}")
    return "\n".join(lines)
