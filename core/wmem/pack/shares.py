"""Shares of the room: at least so much for the tail, at most so much for the note.

They depend on the conversation, the options and what the memory has, never on what recall found: so
a prompt moves only with what comes in. What recall leaves unused of the note's share holds quotes
of the messages before the tail; as messages they would come and go with each question.
"""

from typing import NamedTuple

STANDING_DIVISOR = 10
"""The room divided by this is the most that standing requests take."""
_ITEMS_DIVISOR = 10  # the room divided by this is the least share of a note while the memory has items
_ITEMS_TOKENS = 80  # and as much as this, for one or two in a small room,
_ITEMS_LARGEST_DIVISOR = 4  # of which it is never more than this part
_GROWTH_DIVISOR = 2  # the note grows by one token for so many that no longer fit
_FIRST_NOTE_DIVISOR = 10  # the room divided by this is the note's as soon as anything is left out
_FIRST_NOTE_TOKENS = 160  # and as much as this, for a few memories in a small room


class Shares(NamedTuple):
    """Tokens of the room by part.

    Attributes:
        tail: The newest messages get these, the exchange in flight included, and more only if there is no note.
        note: Recalled memories and quotes of older messages get at most these.
    """

    tail: int
    note: int


def recalls_messages(tail: float) -> bool:
    """Whether the tail leaves a share for recalled messages; if not, only items are recalled."""
    return tail + 1 / STANDING_DIVISOR < 1


def divide_room(
    room: int, *, tail: float, conversation: int, standing: int = 0, has_query: bool = False, items: bool = False
) -> Shares:
    """Divide the room between the tail and the note.

    With a tail of 0 recall comes first. Otherwise the note has what tail and standing requests leave,
    two fifths at the default of 0.5, and a tenth at least for items, which somebody added on purpose.
    While little of the conversation is left out there is little to recall of it, and the note grows with
    what is left out. Without a query there is no note, and all is the tail's.

    Args:
        room: Tokens for all but the fixed and pinned parts.
        tail: The tail's share, 0 to 1.
        conversation: Tokens of the whole conversation.
        standing: Tokens that standing requests may take, at most a tenth of the room.
        has_query: Whether something is asked.
        items: Whether recall might find items or entries.
    """
    if not tail:
        return Shares(0, room)
    for_all = max(0, room - int(room * tail) - room // STANDING_DIVISOR)
    note = 0
    if has_query:
        first = max(room // _FIRST_NOTE_DIVISOR, _FIRST_NOTE_TOKENS)
        grown = max(0, conversation - room) // _GROWTH_DIVISOR
        for_items = min(max(room // _ITEMS_DIVISOR, _ITEMS_TOKENS), room // _ITEMS_LARGEST_DIVISOR) if items else 0
        most = max(for_all, for_items)
        note = max(0, min(most, max(grown, first)))
    return Shares(room - note - standing, note)
