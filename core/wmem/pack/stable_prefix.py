"""Stable prefix: where a prompt's history starts, so that a provider's prompt cache hits for many turns.

A history may start only at a few start points, about one in each fifth of the room.
They depend only on the messages before them, so packs of a growing conversation start
at the same point, in any process, until they must move on to the next one. Then the
prefix loses a fifth of the room at once, and three quarters of what it may take stay.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from wmem.pack.units import Unit

_START_POINTS = 5  # start points per room: with 3 a cut left 62 %, with 8 half as many tokens repeat in small rooms
_FREE_PART_WITH_QUERY = 8  # one part in so many stays free for recalled memories, when there is a query
_FREE_PART_WITHOUT_QUERY = 32  # the same without a query: for what a provider's own count or an opening adds
_MIN_SPAN = 512
_TOKENS_PER_MESSAGE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class StablePrefix:
    """What decides where a prompt's history may start.

    Attributes:
        room: Tokens for all but the fixed and pinned parts, at the first attempt.
        has_query: Whether there is a query, whose note stands behind the conversation.
        tail: The share of the room that the newest messages are sure of.
        summary_tokens: Tokens reserved for a summary.
    """

    room: int
    has_query: bool
    tail: float = 0.0
    summary_tokens: int = 0

    @property
    def step(self) -> int:
        """Tokens from one start point to the next; a unit that is too large is truncated to it."""
        return max(1, self.room // _START_POINTS)

    @property
    def largest(self) -> int:
        """Tokens of the largest unit that is sent whole."""
        return max(self.step, int(self.room * self.tail))

    @property
    def span(self) -> int:
        """Messages after which steps are counted anew: the most that are read beyond what is sent."""
        return 1 << max(_MIN_SPAN - 1, self.room // _TOKENS_PER_MESSAGE).bit_length()

    def conversation_limit(self, room: int) -> int:
        """Tokens the conversation may take of the room there is now.

        It falls in large steps too: by how much a provider counts more than we do differs
        a little from prompt to prompt.
        """
        most = (
            self.room
            - self.room // (_FREE_PART_WITH_QUERY if self.has_query else _FREE_PART_WITHOUT_QUERY)
            - self.summary_tokens
        )
        if room >= most:
            return most
        grain = max(1, self.room // (2 * _START_POINTS))
        return room // grain * grain


def longest_history(prefix: StablePrefix, total: int, history: Iterable[tuple[Unit, int]], limit: int) -> list[Unit]:
    """The units of the longest history, newest first, that starts at a start point and costs at most `limit`.

    Args:
        total: Messages of the conversation, read or not.
        history: Units and their cost, newest first; read as far as the start points need it.
    """
    step, largest, length = prefix.step, prefix.largest, prefix.span
    read: list[tuple[Unit, int, int]] = []
    upto = span = 0
    for unit, cost in history:
        begun, span = span, (total - 1 - unit.place) // length
        # Read what fits, and on to the beginning of the span that holds the oldest of it.
        if upto > limit and span < begun:
            break
        upto += cost if cost <= largest else step
        if upto > limit and not read:
            return []
        read.append((unit, span, upto))
    before, steps = 0, -1
    for index in reversed(range(len(read))):
        _, span, upto = read[index]
        if index + 1 == len(read) or read[index + 1][1] != span:
            steps, before = -1, upto
        # Compares the tokens of its span before the unit, in whole steps.
        if (before - upto) // step > steps and upto <= limit:
            return [unit for unit, _, _ in read[: index + 1]]
        steps = (before - upto) // step
    return []
