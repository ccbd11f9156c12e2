"""What a prompt holds, in order: pinned, newest user message, exchange in flight, tail, requests, recalled, summary.

Room that is left goes to the tail again.
"""

from wmem.pack.flight import add_required
from wmem.pack.note import Note
from wmem.pack.selection import Selection
from wmem.pack.shares import Shares, divide_room
from wmem.pack.stable_prefix import StablePrefix
from wmem.pack.standing import (
    add_standing_requests,
    estimate_request_tokens,
    remove_repeated_requests,
    request_share,
)
from wmem.pack.summary import MAX_COVERED_MESSAGES
from wmem.pack.tail import Tail

_UNKNOWN_TOKENS = 2**62


def fill(selection: Selection, prefix: StablePrefix | None) -> None:
    """Select messages and recalled memories within the room, beside the pinned units.

    Args:
        prefix: Start points of a prompt whose prefix is to stay stable; None to take what fits.

    Raises:
        BudgetError: Not even the newest message fits.
    """
    options = selection.options
    note, tail = Note(selection), Tail(selection, prefix)
    note.add_pinned_items()
    room = selection.tokens_left
    shares = _divide_room(selection)
    all_units = tail.list_all()
    whole = all_units is not None
    add_required(selection, room if whole else None)
    summary = min(options.summary_tokens, max(selection.tokens_left, 0))
    if all_units is not None:
        tail.add_all(all_units)
    elif prefix is not None:
        add_standing_requests(selection)
        tail.add_history(prefix)
        tail.add_newest(max(room - int(room * options.tail), summary))
    else:
        tail.add_newest(max(room - shares.tail, summary))
    divides = prefix is None and not whole
    reserved, least = tail.add_recent(estimate_request_tokens(selection) if divides else 0)
    if divides:
        # Requests take their room from the newest messages rather than from what was recalled.
        reserved = max(least, reserved - add_standing_requests(selection))
    summary = min(summary, selection.tokens_left)
    left = selection.tokens_left - summary - (reserved if prefix is None else 0)
    # Where all fits, what is not sent has no place in a prompt: a call without a result, say.
    beside = selection.conversation.read_ids if whole else frozenset()
    note_left = note.add_recalled(left if whole else min(left, shares.note), beside=beside)
    divided = divides and bool(shares.tail and shares.note)
    if prefix is None:
        if divided:
            tail.add_unquoted_recent(max(_tail_left(selection, shares), reserved))
        free = max(selection.tokens_left - _tail_left(selection, shares) if divided else 0, summary)
        tail.expand(free)
        tail.fill(free, divided=divided)
        note.remove_duplicates()
    if divided:
        note.expand_passages(min(note_left, selection.tokens_left - summary))
        note.quote_older(selection.tokens_left - _tail_left(selection, shares) - summary, shares.note)
    if summary and prefix is not None:
        note.add_summary(summary)
    elif summary:
        _add_all_or_summary(selection, note, tail, summary)
    remove_repeated_requests(selection)
    if not divided:
        # What is left over is spent on passages; with a tail the note keeps to its share.
        left = selection.tokens_left
        note.expand_passages(left if whole or not options.tail else min(note_left, left))


def _divide_room(selection: Selection) -> Shares:
    request, messages = selection.request, selection.tokens_beside_pins
    return divide_room(
        selection.tokens_left,
        tail=selection.options.tail,
        conversation=_UNKNOWN_TOKENS if messages is None else messages,
        standing=request_share(selection) if request.standing else 0,
        has_query=bool(request.query.strip()),
        items=request.has_items,
    )


def _tail_left(selection: Selection, shares: Shares) -> int:
    """What the messages have not yet taken of the tail's share."""
    return max(0, shares.tail - sum([each.rendered.tokens for each in selection.selected.values()]))


def _add_all_or_summary(selection: Selection, note: Note, tail: Tail, room: int) -> None:
    """Include everything left out if it fits after all, else a summary of it."""
    left_out = note.list_left_out()
    whole = selection.conversation.exhausted and len(left_out) < MAX_COVERED_MESSAGES
    if not whole or sum(candidate.tokens for candidate, _ in left_out) > selection.tokens_left:
        note.add_summary(room)
    if selection.summary is None:
        selection.dropped = {unit: reason for unit, reason in selection.dropped.items() if reason != "budget"}
        tail.fill()
        note.remove_duplicates()
