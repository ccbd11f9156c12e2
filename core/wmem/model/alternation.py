"""Joining of messages that one speaker says in a row."""

from collections.abc import Iterable, Iterator

from wmem.model.message import Message
from wmem.model.part import Part

SYSTEM_ROLES = ("system", "developer")


def alternate(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages with those of one speaker in a row joined; calls and results stay as they are."""
    before: Message | None = None
    for message in messages:
        if before is not None and _is_same_turn(before, message):
            before = join_messages(before, message)
            continue
        if before is not None:
            yield before
        before = message
    if before is not None:
        yield before


def join_messages(first: Message, second: Message) -> Message:
    """One message that says what both say; text blocks become one text.

    What else it has, its calls among it, is the second one's, unless a pack made that.
    """
    parts: list[Part] = []
    for part in (*first.parts, *second.parts):
        if parts and _is_plain(part) and _is_plain(parts[-1]):
            parts[-1] = Part(text="\n\n".join(text for text in (parts[-1].text, part.text) if text))
        else:
            parts.append(part)
    name = second.name if first.name == second.name else None
    kept = first if second.recalled else second
    return kept.model_copy(update={"parts": tuple(parts), "name": name})


def _is_same_turn(before: Message, message: Message) -> bool:
    if before.role in SYSTEM_ROLES:
        return message.role in SYSTEM_ROLES
    return message.role == before.role != "tool" and not before.tool_calls


def _is_plain(part: Part) -> bool:
    return part.kind == "text" and part.data is None
