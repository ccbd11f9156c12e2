"""The exchange in flight: the newest user message, and the calls and results since, which a prompt always holds.

A result that does not fit is truncated; the newest is whole as long as it can be, the oldest is cut most.
"""

from collections.abc import Iterable
from typing import NamedTuple

from wmem.errors import BudgetError
from wmem.model.alternation import SYSTEM_ROLES
from wmem.pack.budget_errors import list_sizes
from wmem.pack.selection import Selection
from wmem.pack.standing import estimate_request_tokens
from wmem.pack.units import ConversationReader, Unit
from wmem.pack.wording import message_text, normalize_text

LOOK_BACK = 2_000
"""Messages read to find the newest user message."""
_EXCHANGE_LOOK_BACK = 256  # further messages read to complete a tool exchange that a user interrupted


class _Exchange(NamedTuple):
    """The newest user message, the units in flight since, oldest first, and whether it was answered."""

    user: Unit | None
    flight: list[Unit]
    answered: bool


def add_required(selection: Selection, room: int | None = None) -> None:
    """Include the newest user message and the exchange in flight since, truncated if need be.

    Args:
        room: Tokens that they may take; None for the share that leaves room for others.

    Raises:
        BudgetError: Not even the newest message fits, truncated to its minimum.
    """
    loader, left = selection.loader, selection.tokens_left
    user, flight, answered = _find_exchange(selection)
    first = flight if user is None else [user, *flight]
    if not first:
        return
    part = 4 if answered else 2 if user is not None and not flight and _recall_query_differs(selection, user) else 1
    if room is None:
        room = min(left, max(selection.options.budget // part, int(left * selection.options.tail)))
        # What the user wants followed from now on is not cut for the end of a long result.
        room = min(room, left - estimate_request_tokens(selection))
    if sum(loader.cost(unit) for unit in first) <= room:
        served = [loader.render(unit) for unit in first]
    else:
        least = {unit: loader.min_cost(unit, in_flight=True) for unit in first}
        needed = sum(least.values())
        # Old rounds, of which hardly a trace is left, do not take the newest one's two thirds.
        newest = min(loader.cost(first[-1]), 2 * left // 3)
        spare = max(0, newest - least[first[-1]])
        # The oldest rounds of the exchange are dropped first, the newest and the user's message never.
        for unit in () if user is None else flight[:-1]:
            if needed + spare <= left:
                break
            needed -= least[unit]
            selection.dropped[unit] = "in-flight"
            first.remove(unit)
        served = loader.truncate(first, max(room, min(needed, left)), in_flight=True) or []
        if not served:
            raise BudgetError(_explain_need(selection, first))
    for unit, rendered in zip(first, served, strict=True):
        selection.add(unit, "newest" if unit is user else "in-flight", rendered)


def _explain_need(selection: Selection, first: list[Unit]) -> str:
    sizes = selection.loader.least_sizes(first)
    flight_too = " with what is in flight" if len(first) > 1 else ""
    return (
        f"the newest message{flight_too} needs at least {sum(sizes.values())} tokens, however much is cut "
        f"({list_sizes(sizes)}), and {max(selection.tokens_left, 0)} of the budget of {selection.options.budget} are "
        "left for it"
    )


def _find_exchange(selection: Selection) -> _Exchange:
    """The newest user message and what is in flight since.

    An answered message is no longer the question and must not take the room of memories
    recalled for the current one; if nothing was recalled, the last exchange counts as unanswered.
    """
    conversation = selection.conversation
    user = None
    flight: list[Unit] = []
    for unit in conversation:
        if conversation.messages_read > LOOK_BACK:
            break
        if not selection.is_paired(unit) or not selection.is_sendable(unit):
            continue
        if unit.head.role == "user":
            user = unit
            break
        flight.append(unit)
    if user is None:
        # No user message: the newest unit at least, so that a prompt is never silently empty.
        return _Exchange(None, flight[:1], answered=False)
    bound = conversation.messages_read + _EXCHANGE_LOOK_BACK
    while conversation.messages_read < bound and _has_open_results(conversation, user) and conversation.advance():
        pass
    broken_into = [
        unit for unit in conversation.units if unit.newest < user.place < unit.place and selection.is_paired(unit)
    ]
    answer = _final_answer(flight) if selection.request.recalled else None
    if answer is not None:
        # A finished exchange ranks by recency only. Calls in flight in another turn stay in flight.
        flight = [unit for unit in flight if unit.head.calls and unit.head.turn_id != answer.head.turn_id]
    flight = sorted((*flight, *broken_into), key=lambda unit: -unit.place)
    return _Exchange(user, flight, answered=answer is not None and not flight)


def _recall_query_differs(selection: Selection, user: Unit) -> bool:
    """Whether memories were recalled for a query other than the newest user message, its beginning or its end."""
    if not selection.request.recalled:
        return False
    query, text = selection.request.query, message_text(selection.loader.load(user.head))
    if query.strip() == text.strip():
        return False
    query, text = normalize_text(query), normalize_text(text)
    return not (text.startswith(query) or text.endswith(query) or text in query)


def _has_open_results(conversation: ConversationReader, user: Unit) -> bool:
    """Whether results newer than the user's message wait for their call."""
    return any(place < user.place for results in conversation.open_results.values() for place, _ in results)


def _final_answer(newest_first: Iterable[Unit]) -> Unit | None:
    """The assistant's answer if it is the newest unit, system text aside."""
    spoken = [unit for unit in newest_first if unit.head.role not in SYSTEM_ROLES]
    last = min(spoken, key=lambda unit: unit.newest, default=None)
    return last if last is not None and last.head.role == "assistant" and not last.head.calls else None
