"""Where a prompt begins when its front is to stay as it is for many turns.

A conversation may begin only at a few of its places, one in each third of the room
or so. They hang on what was said before them and on nothing that comes after, so
packs of a growing conversation begin at the same place until they must go on to the
next one, whichever process makes them. Then the front loses a third at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from wmem.pack.units import Unit

__all__ = ["Front", "begun_at"]

_STEPS = 3
"""Places to begin in as many tokens as there is room."""
_ALOUD = 8
"""One part in so many stays free for recalled memories, when something is asked of memory."""
_SILENT = 32
"""The same when nothing is asked: what a provider's own count or an opening adds."""
_LEAST_SPAN = 512
_TOKENS_FOR_ONE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """What decides where a prompt may begin.

    Attributes:
        room: Tokens for everything but what is fixed and pinned, before anything was tried.
        asked: Whether memory is asked, and answers in a note behind the conversation.
        aside: Tokens that are set aside for a summary.
    """

    room: int
    asked: bool
    aside: int = 0

    @property
    def step(self) -> int:
        """Tokens from one place to begin to the next; a unit above it is cut to it."""
        return max(1, self.room // _STEPS)

    @property
    def span(self) -> int:
        """Messages after which places are counted anew: so many are read beyond what is sent, at most."""
        return 1 << max(_LEAST_SPAN - 1, self.room // _TOKENS_FOR_ONE).bit_length()

    def limit(self, room: int) -> int:
        """Tokens that the conversation may take of what room there is now.

        It falls in large steps too: a provider that counts dearer does so by a little
        more or less for each prompt.
        """
        most = self.room - self.room // (_ALOUD if self.asked else _SILENT) - self.aside
        if room >= most:
            return most
        grain = max(1, self.room // (2 * _STEPS))
        return room // grain * grain


def begun_at(front: Front, total: int, history: Iterable[tuple[Unit, int]], limit: int) -> list[Unit]:
    """The units of the longest history, newest first, that begins at a place to begin and costs at most `limit`.

    Args:
        total: Messages of the conversation, read or not.
        history: Units and what they cost, newest first; read as far as the places need it.
    """
    read: list[tuple[Unit, int, int]] = []
    upto = span = 0
    for unit, cost in history:
        begun, span = span, (total - 1 - unit.place) // front.span
        # What fits is read, and then on to where the span begins in which it does.
        if upto > limit and span < begun:
            break
        upto += min(cost, front.step)
        if upto > limit and not read:
            return []
        read.append((unit, span, upto))
    before, steps = 0, -1
    for index in reversed(range(len(read))):
        _, span, upto = read[index]
        if index + 1 == len(read) or read[index + 1][1] != span:
            steps, before = -1, upto
        # What of its span was said before the unit, in whole steps.
        if (before - upto) // front.step > steps and upto <= limit:
            return [unit for unit, _, _ in read[: index + 1]]
        steps = (before - upto) // front.step
    return []
