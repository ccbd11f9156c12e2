"""Which texts say nearly the same: one rule for the gate, for what repeats a prompt, and for what is merged."""

from wmem.rules.nearness.gist import adds_nothing, gist, gist_of_plain, may_stand_in
from wmem.rules.nearness.sameness import Saying, compare, find_nearest, nearness, says_the_same

__all__ = [
    "Saying",
    "adds_nothing",
    "compare",
    "find_nearest",
    "gist",
    "gist_of_plain",
    "may_stand_in",
    "nearness",
    "says_the_same",
]
