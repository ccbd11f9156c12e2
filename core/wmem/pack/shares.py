"""Shares of the room: at least so much for the tail, at most so much for what recall found.

They depend on the conversation, the options and whether anything was recalled, never on what: so what
the tail is sure of moves only with what comes in. What the note leaves unused goes to the tail as well.
"""

from typing import NamedTuple

STANDING_DIVISOR = 10
"""The room divided by this is the most that standing requests take."""
_GROWTH_DIVISOR = 2  # the note grows by one token for so many that no longer fit
_FIRST_NOTE_DIVISOR = 10  # the room divided by this is the note's as soon as anything is left out
_FIRST_NOTE_TOKENS = 160  # and as much as this, for a few memories in a small room


class Shares(NamedTuple):
    """Tokens of the room by part; what a part leaves unused goes to the next.

    Attributes:
        tail: The newest messages get at least these, the exchange in flight included.
        note: Recalled memories get at most these.
    """

    tail: int
    note: int


def divide_room(room: int, *, tail: float, conversation: int, standing: bool, recalled: bool) -> Shares:
    """Divide the room between the tail and the note.

    With a tail of 0 recall comes first. Otherwise the note has what tail and standing requests leave,
    two fifths at the default of 0.5; while little of the conversation is left out there is little
    to recall of it, and the note grows with what is left out.

    Args:
        room: Tokens for all but the fixed and pinned parts.
        tail: The tail's share, 0 to 1.
        conversation: Tokens of the whole conversation.
        standing: Whether the user has standing requests.
        recalled: Whether recall found anything.
    """
    if not tail:
        return Shares(0, room)
    requests = room // STANDING_DIVISOR
    note = 0
    if recalled:
        first = max(room // _FIRST_NOTE_DIVISOR, _FIRST_NOTE_TOKENS)
        grown = max(0, conversation - room) // _GROWTH_DIVISOR
        note = max(0, min(room - int(room * tail) - requests, max(grown, first)))
    return Shares(room - note - (requests if standing else 0), note)
