"""The two parts of a conversation that LlamaIndex's `Memory` tells apart: what is active, and the archive."""

from collections.abc import Sequence
from itertools import chain

from llama_index.core.storage.chat_store.base_db import MessageStatus

from wmem import Context, InvalidInputError, Message
from wmem.adapter import describe


def read_status(status: MessageStatus | str | None) -> MessageStatus | None:
    """The status, from its value as well.

    Raises:
        InvalidInputError: There is no such status.
    """
    known = {each.value: each for each in MessageStatus}
    if status is None:
        return None
    if not isinstance(status, str) or status not in known:
        raise InvalidInputError(f"status must be {' or '.join(map(repr, known))}, or None, not {describe(status)}")
    return known[status]


def select_messages(stored: Sequence[Message], context: Context, status: MessageStatus) -> list[Message]:
    """The messages of a status.

    Active are those from the oldest on that the context shows as a message, and pinned ones,
    so nothing is archived that is newer than what is shown, such as a call without its result yet.
    """
    pinned, shown = set[str](), set[str]()
    for unit in chain(context.included, context.truncated):
        if unit.placed == "messages":
            (pinned if unit.rule == "pinned" else shown).update(unit.ids)
    begin = next((place for place, message in enumerate(stored) if message.id in shown), len(stored))
    return [
        message
        for place, message in enumerate(stored)
        if (place >= begin or message.id in pinned) == (status is MessageStatus.ACTIVE)
    ]
