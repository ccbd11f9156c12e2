"""What a run of the recall bench is asked to do."""

from collections.abc import Sequence
from typing import NamedTuple

from wmem.types import Scoring

__all__ = ["Options"]


class Options(NamedTuple):
    """How to measure.

    Attributes:
        budgets: Tokens of a context.
        ours: Leave the peers out.
        scoring: How wmem ranks.
    """

    budgets: Sequence[int] = (1_024, 4_096)
    ours: bool = False
    scoring: Scoring = "evidence"
