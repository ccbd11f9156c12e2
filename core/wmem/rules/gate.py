"""How an item is weighed before it enters a memory: its importance and novelty, and what is too little of them."""

import math
from collections.abc import Iterable

from wmem.analysis.analyzer import Analyzer
from wmem.analysis.common_words import is_common
from wmem.model.gate import Minima, Rejected
from wmem.rules.nearness import find_nearest

_MEDIAN_WORDS = 6.0
"""Words of a text that says as much as most of what is remembered: facts, preferences, lines of talks."""


def fresh_importance(text: str, priority: str, analyzer: Analyzer | None = None) -> float:
    """The importance of an item that comes with none, before anybody has used it, from its text and priority.

    It is a share of what is ordinarily remembered: a text of medium priority that says as much as most has 0.5, "ok"
    nearly 0. A low priority halves it, a high one has 0.5 at least, and a critical one 1. It does not depend on what
    is stored, so that a stream is taken alike at its beginning and its end.
    """
    language, terms, _ = (analyzer or Analyzer()).analyze(text)
    words = sum(0.5 if is_common(term, language) else 1.0 + _has_digit(term) for term in set(terms))
    said = 1.0 - math.pow(0.5, words / _MEDIAN_WORDS)
    match priority:
        case "low":
            return said / 2
        case "high":
            return 0.5 + said / 2
        case "critical":
            return 1.0
        case _:
            return said


def _has_digit(term: str) -> bool:
    """Whether a term is a number, or has one: it says more than a word."""
    return any(map(str.isdecimal, term))


def novelty(text: str, others: Iterable[str]) -> float:
    """1 less the greatest nearness of a text to others; 1 if there are none."""
    return 1.0 - find_nearest(text, others)[0]


def find_fault(minima: Minima, importance: float, novelty: float) -> Rejected | None:
    """Why an item is refused; None if it is taken. What is as high as a minimum is taken."""
    for reason, value, minimum in (
        ("importance", importance, minima.importance),
        ("novelty", novelty, minima.novelty),
    ):
        if value < minimum and not math.isclose(value, minimum, abs_tol=1e-9):
            return Rejected(reason, value, minimum)
    return None
