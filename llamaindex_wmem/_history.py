"""Helpers for lists of messages: the question, messages without notes, and reuse of stored messages."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from llamaindex_wmem._convert import canonical_json, from_llamaindex
from llamaindex_wmem._recent_views import RecentViews
from wmem import InvalidInputError, Message


def question_text(input: object) -> str | None:
    """The text of a question, in any form in which engines and models hand one over; None if it has none.

    That is text or a message; what was asked, as in a `QueryBundle`; a model's reply, by its message; or
    a list of messages, by the newest of its user.

    Raises:
        InvalidInputError: It is none of these.
    """
    message, text = getattr(input, "message", None), getattr(input, "query_str", None)
    if isinstance(input, list | tuple) and all(isinstance(each, ChatMessage) for each in input):
        input = next((each for each in reversed(input) if each.role == MessageRole.USER), None)
    elif isinstance(message, ChatMessage):
        input = message
    elif isinstance(text, str):
        input = text
    if not isinstance(input, str | ChatMessage | None):
        msg = f"a question is text, a ChatMessage, a list of these, or a QueryBundle, not {type(input).__name__!r}"
        raise InvalidInputError(msg)
    text = input.content if isinstance(input, ChatMessage) else input
    return text if text and text.strip() else None


def last_user_text(messages: Sequence[Message]) -> str | None:
    """The text of the newest user message that has any."""
    return next(
        (message.text for message in reversed(messages) if message.role == "user" and message.text.strip()), None
    )


def to_storable(messages: Iterable[ChatMessage], views: RecentViews) -> list[Message]:
    """The messages in wmem's form, without notes, whose text is in the session already."""
    return drop_notes(from_llamaindex(messages), views)


def drop_notes(messages: Sequence[Message], views: RecentViews) -> list[Message]:
    """The messages that are not notes of recalled text.

    The newest user message is one only if this process has shown it: a user may have pasted such a text.
    """
    newest = max((at for at, message in enumerate(messages) if message.role == "user"), default=-1)
    kept = []
    for at, message in enumerate(messages):
        if not message.recalled:
            kept.append(message)
        elif at == newest and not views.has_shown(message.text):
            kept.append(message.model_copy(update={"metadata": {}}))
    return kept


def reuse_stored(stored: Sequence[Message], incoming: Sequence[Message]) -> list[Message]:
    """The given messages, replaced in order by stored ones of equal text, so that these keep ids and times."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place in reversed(range(len(stored))):
        places[canonical_json(stored[place])].append(place)
    kept: list[Message] = []
    past = -1
    for message in incoming:
        later = places[canonical_json(message)]
        while later and later[-1] <= past:
            later.pop()
        if later:
            past = later.pop()
            kept.append(stored[past])
        else:
            kept.append(message)
    return kept
