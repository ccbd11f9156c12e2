"""The same with vectors: `make bench-recall-dense`, by a packaged MiniLM that is no dependency of wmem."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tests.bench.recall.conversations import conversations, where
from tests.bench.recall.evidence import Result, ask_all, table
from tests.bench.recall.minilm import MiniLM
from tests.bench.recall.ranking import Ranking, rank_by_wmem, ranking_table, to_figures
from tests.bench.recall.run import judge
from tests.bench.recall.systems import Dialogue, LangGraphStore, Memory, Wmem

if TYPE_CHECKING:
    from collections.abc import Callable

WANTED: Mapping[str, float] = {
    "locomo at 1,024": 86,
    "lmeb NDCG@10": 57,
    "lmeb recall@10": 74,
    "lmeb, multi-hop recall@10": 54,
}
AT = 1_024


def main() -> int:
    """Measure and print; 1 if what is wanted does not hold."""
    talks = conversations(where())
    try:
        model = MiniLM()
    except ImportError as exc:
        print(f"left out: {exc.name} is not installed")
        return 1
    systems: list[Callable[[Dialogue], Memory]] = [
        lambda talk: Wmem(talk, tail=0, embedder=model),
        lambda talk: Wmem(talk, tail=0),
        lambda talk: LangGraphStore(talk, embedder=model),
    ]
    results = [Result("") for _ in systems]
    for talk in talks:
        # Once for all: what is measured is what is found, and how quickly with vectors at hand.
        model([turn.text for turn in talk.turns] + [question.text for question in (*talk.questions, *talk.adversarial)])
        for made, result in zip(systems, results, strict=True):
            memory = made(talk)
            result.name = memory.name
            ask_all(result, talk, memory)
            memory.close()
    print(f"{sum(len(talk.questions) for talk in talks)} questions about {len(talks)} conversations")
    print(table(results))
    ranking = Ranking.join("wmem, scope.recall, with vectors", rank_by_wmem(talks, embedder=model))
    print(f"\n{ranking_table([ranking])}\n")
    figures = {
        "locomo at 1,024": results[0].recall(AT),
        **to_figures(ranking, "lmeb"),
        "contexts above their budget": results[0].over,
    }
    lines, held = judge(figures, WANTED)
    print(*lines, sep="\n")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
