"""Default importance of items that were given none: TF-IDF of their terms, per token.

A rule is a pure function; the rows given are the documents of the IDF.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

from wmem.analysis.analyzer import Analyzer
from wmem.model.row import Row
from wmem.tokens.counter import MESSAGE_OVERHEAD


def tfidf_per_token(rows: Iterable[Row], analyzer: Analyzer | None = None) -> dict[str, float]:
    """TF-IDF of each item's terms among all items, per token it takes in a prompt, by id.

    Each term adds its inverse document frequency as often as it occurs. The overhead of
    a message is added to the tokens, so that a single word does not score too high.
    """
    rows = list(rows)
    analyzer = analyzer or Analyzer()
    terms = {row.id: analyzer.content_terms(row.content) for row in rows}
    held_by = Counter(chain.from_iterable(map(set, terms.values())))
    rarity = {term: math.log(1 + (len(terms) - count + 0.5) / (count + 0.5)) for term, count in held_by.items()}
    # `fsum`: the sum must not depend on the order of the terms.
    return {
        row.id: math.fsum(map(rarity.__getitem__, terms[row.id]))
        / (MESSAGE_OVERHEAD + (row.tokens or len(terms[row.id])))
        for row in rows
    }


def importance_by_id(rows: Iterable[Row], guard_high: float, analyzer: Analyzer | None = None) -> Mapping[str, float]:
    """The importance of each item, by id: the given one, else its percentile by TF-IDF among those without.

    Args:
        rows: All items to compare.
        guard_high: The importance from which an item is protected; only a given importance reaches it.

    Returns:
        Scores in [0, 1]; equal items share the middle of their ranks, so a single one has 0.5.
    """
    rows = list(rows)
    unscored = [row for row in rows if row.importance is None]
    scores = {row.id: row.importance for row in rows if row.importance is not None}
    if unscored:
        worths = tfidf_per_token(rows, analyzer)
        ordered = sorted(worths[row.id] for row in unscored)
        below = math.nextafter(guard_high, 0.0)
        for row in unscored:
            value = worths[row.id]
            rank = (bisect_left(ordered, value) + bisect_right(ordered, value)) / 2
            scores[row.id] = min(rank / len(ordered), below)
    return scores
