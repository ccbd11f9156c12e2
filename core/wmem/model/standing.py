"""`StandingRequest`, one thing that a user asked to be followed from now on."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

TAKE_BACK = "take back"
"""Beginning of the rules whose clauses end earlier requests, and are not themselves to be followed."""
PREFERENCE = "prefer"
"""Rule of what a user likes, rather than asks for."""
RANKED_RULES = frozenset({"when I", "every", PREFERENCE})
"""Rules of what stands for some questions only; where room is short, those that bear on the query come first."""


class StandingRequest(NamedTuple):
    """A clause of a user's message that stands until it is taken back.

    Attributes:
        rule: Name of the row of the table that matched, such as ``from now on``. What begins with
            ``take back`` ends earlier requests; for `RANKED_RULES` the query decides where room is short.
        text: The clause, in the user's own words.
    """

    rule: str
    text: str

    @property
    def takes_back(self) -> bool:
        """Whether it ends earlier requests."""
        return self.rule.startswith(TAKE_BACK)


FindStandingRequests: TypeAlias = Callable[[str], Iterable[StandingRequest | str]]
"""The requests in the text of a user's message; a plain text is a clause under the rule ``custom``."""
