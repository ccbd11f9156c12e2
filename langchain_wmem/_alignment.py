"""Ids for messages that come without, from what is stored: chains hand the same list over again and again.

Messages are compared by what they say, in order. Nothing is taken for stored that is not.
"""

import uuid
from collections.abc import Hashable, Sequence

from langchain_core.messages import BaseMessage

from langchain_wmem._dedup import newest_human_index


def align_ids(messages: Sequence[BaseMessage], stored: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages, those without an id with the one of their stored equal, or with a new one.

    The list may be all that was said, its newest part, or the newest message alone; examples
    may stand in front. What goes on from the newest stored message is the same
    conversation; else, what is before the newest question is looked for in its order, and
    the question itself is new: somebody says the same again.

    Args:
        stored: The newest stored messages.
    """
    if all(message.id for message in messages):
        return list(messages)
    keys, known = [*map(_key, messages)], [*map(_key, stored)]
    begun = newest_human_index(messages)
    places: dict[int, int] = {}
    if goes_on := _overlap(known, keys):
        places = {at: len(known) - goes_on + at for at in range(goes_on)}
    else:
        places = _find_in_order(keys[:begun], known)
        again = _overlap(known, keys[begun:])
        places |= {begun + at: len(known) - again + at for at in range(again)}
    made = []
    for at, message in enumerate(messages):
        id = message.id or (stored[places[at]].id if at in places else None) or str(uuid.uuid4())
        made.append(message if message.id else message.model_copy(update={"id": id}))
    return made


def _key(message: BaseMessage) -> Hashable:
    """What a message says, as one value."""
    calls = [(call["name"], call["args"], call["id"]) for call in getattr(message, "tool_calls", ())]
    return repr((message.type, message.name, message.content, calls, getattr(message, "tool_call_id", None)))


def _overlap(known: Sequence[Hashable], keys: Sequence[Hashable]) -> int:
    """How many of the first keys are the newest known ones."""
    most = min(len(known), len(keys))
    return next((size for size in range(most, 0, -1) if known[-size:] == keys[:size]), 0)


def _find_in_order(keys: Sequence[Hashable], known: Sequence[Hashable]) -> dict[int, int]:
    """Where keys are among the known ones, newest first, each before the one that follows it."""
    places: dict[int, int] = {}
    end = len(known)
    for at in range(len(keys) - 1, -1, -1):
        found = next((place for place in range(end - 1, -1, -1) if known[place] == keys[at]), None)
        if found is not None:
            places[at] = end = found
    return places
