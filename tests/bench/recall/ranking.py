"""LoCoMo in the form of LMEB: which turns a ranked list has in front, by NDCG@10 and recall@10.

Each conversation is searched for itself, the figures are means over the five categories. wmem ranks by
`Scope.recall`; what is said is indexed with the captions of images, and who said it is the message's name.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import wmem
from tests.bench.recall.conversations import ADVERSARIAL, Conversation
from tests.bench.recall.options import Options
from tests.bench.recall.systems import Bm25s, Wmem
from wmem.types import Scoring

__all__ = ["Ranking", "measure_ranking", "ndcg", "rank_by_wmem", "ranking_table", "recall", "to_figures"]

_AT = 10
_WHAT = ("NDCG", "recall")
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
    """What one system ranks first, question by question.

    Attributes:
        ndcg: By category.
        recall: By category.
    """

    name: str
    ndcg: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    recall: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def join(cls, name: str, parts: Iterable["Ranking"]) -> Self:
        """One of the questions of several."""
        made = cls(name)
        for part in parts:
            for category in part.ndcg:
                made.ndcg[category] += part.ndcg[category]
                made.recall[category] += part.recall[category]
        return made

    def ask(self, talk: Conversation, rank: Rank) -> None:
        """Rank for all questions about a conversation."""
        for question in (*talk.questions, *talk.adversarial):
            ranked = rank(question.text)
            self.ndcg[question.category].append(ndcg(ranked, question.evidence))
            self.recall[question.category].append(recall(ranked, question.evidence))

    def by_category(self) -> dict[int, tuple[float, float]]:
        """NDCG and recall in per cent, of each category that something was asked of."""
        return {
            category: (100 * statistics.fmean(self.ndcg[category]), 100 * statistics.fmean(self.recall[category]))
            for category in _NAMES
            if category in self.ndcg
        }

    def mean(self) -> tuple[float, float]:
        """The mean over the categories."""
        ndcgs, recalls = zip(*self.by_category().values(), strict=True)
        return statistics.fmean(ndcgs), statistics.fmean(recalls)


def rank_by_wmem(
    talks: Iterable[Conversation], scoring: Scoring = "evidence", embedder: wmem.Embedder | None = None
) -> list[Ranking]:
    """How `Scope.recall` ranks the turns of each conversation."""
    rankings = []
    for talk in talks:
        memory = Wmem(talk, scoring=scoring, embedder=embedder)
        rankings.append(Ranking(talk.name))
        rankings[-1].ask(talk, memory.rank)
        memory.close()
    return rankings


def _rank_by_bm25s(talks: Sequence[Conversation]) -> Ranking:
    """How LMEB's baseline ranks: one index of all conversations, each turn with its date, then those of one."""
    turns = [
        turn._replace(id=f"{talk.name} {turn.id}", text=f"{turn.text} {turn.at:{_DATE}}")
        for talk in talks
        for turn in talk.turns
    ]
    peer, ranking = Bm25s(talks[0]._replace(turns=turns)), Ranking("bm25s, as LMEB has it")

    def rank(name: str, text: str) -> list[str]:
        ids = (turns[place].id.split() for place in peer.rank(text))
        return [id for talk, id in ids if talk == name]

    for talk in talks:
        ranking.ask(talk, partial(rank, talk.name))
    return ranking


def measure_ranking(talks: Sequence[Conversation], options: Options) -> dict[str, float]:
    """Rank the turns of all conversations for their questions, print it, and return wmem's figures."""
    by_talk = rank_by_wmem(talks, options.scoring)
    results = [Ranking.join("wmem, scope.recall", by_talk)]
    if not options.ours:
        try:
            results.append(_rank_by_bm25s(talks))
        except ImportError as exc:
            print(f"left out: {exc.name} is not installed")
    print(ranking_table([*results, *by_talk]))
    figures = to_figures(results[0], "lmeb")
    return figures | {name: value for each in by_talk for name, value in to_figures(each, f"lmeb, {each.name}").items()}


def to_figures(result: Ranking, name: str) -> dict[str, float]:
    """All figures, each name with this in front."""
    by_name = {name: result.mean()}
    by_name |= {f"{name}, {_NAMES[category]}": each for category, each in result.by_category().items()}
    return {f"{name} {what}@10": each for name, pair in by_name.items() for what, each in zip(_WHAT, pair, strict=True)}


def ranking_table(results: Iterable[Ranking]) -> str:
    """The results for people."""
    lines = [f"{' / '.join(_WHAT)} at 10, %{'':8}{'all':>14}" + "".join(f"{name:>14}" for name in _NAMES.values())]
    for each in results:
        by_category = each.by_category()
        pairs = (each.mean(), *(by_category.get(category) for category in _NAMES))
        cells = (f"{f'{pair[0]:.1f} / {pair[1]:.1f}' if pair else '':>14}" for pair in pairs)
        lines.append(f"{each.name:30}{''.join(cells)}")
    return "\n".join(lines)
