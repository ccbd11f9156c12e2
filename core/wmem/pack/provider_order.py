"""Message order that each provider accepts: where system text stands, which role comes first.

Every provider wants results directly after their call; units guarantee that.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from wmem.model.context import ProviderProfile
from wmem.model.message import Message
from wmem.tokens.counter import Counter

Unit = TypeVar("Unit")
_OPENING = "[Earlier messages were left out.]"
_REMINDER = "<system-reminder>\n{}\n</system-reminder>"
_JOINTS = 2  # tokens that joining a text to what is around it can add
SYSTEM_ROLES = ("system", "developer")


def group_by_turn(units: Iterable[tuple[str | None, Unit]], *, last: str | None = None) -> list[Unit]:
    """Units in their order, each turn grouped where it began.

    Args:
        units: The turn and the unit, oldest first.
        last: The turn that goes to the end: the one that waits for the model.
    """
    turns: dict[object, list[Unit]] = {}
    for turn, unit in units:
        turns.setdefault(object() if turn is None else turn, []).append(unit)
    if last is not None and last in turns:
        turns[last] = turns.pop(last)
    return [unit for turn in turns.values() for unit in turn]


def to_provider_messages(profile: ProviderProfile, messages: Sequence[Message], *, follows_user: bool) -> list[Message]:
    """The messages in an order the provider accepts; their text is unchanged.

    ``anthropic`` and ``gemini`` take system text only in front, then a user message first. System
    text further on stays where it was said, as a reminder in a user message.

    Args:
        follows_user: Whether a user message already stands before these.
    """
    if profile == "openai":
        return list(messages)
    begun = count_leading_system(messages)
    front = [_to_system_message(message) for message in messages[:begun]]
    rest = [_to_reminder(message) if message.role in SYSTEM_ROLES else message for message in messages[begun:]]
    if rest and rest[0].role != "user" and not follows_user:
        # Marked as recalled: no adapter stores it.
        front.append(Message.recall("user", _OPENING))
    return [*front, *rest]


def count_leading_system(messages: Sequence[Message]) -> int:
    """How many system messages come first."""
    return next((at for at, message in enumerate(messages) if message.role not in SYSTEM_ROLES), len(messages))


def newest_user_position(messages: Sequence[Message]) -> int:
    """Position of the newest user message, else of the newest assistant message, else the end."""
    spoken = [at for at, each in enumerate(messages) if each.role in ("user", "assistant") and not each.recalled]
    user_positions = [at for at in spoken if messages[at].role == "user"]
    return (user_positions or spoken or [len(messages)])[-1]


def reminder_tokens(count: Counter) -> int:
    """Tokens that a reminder takes beside its text."""
    return count(_REMINDER.format("")) + _JOINTS


def _to_reminder(message: Message) -> Message:
    """System text as a user message, marked so that nothing stores it as the user's own."""
    reminder = Message.recall("user", _REMINDER.format(message.text))
    return reminder.model_copy(update={"id": message.id, "turn_id": message.turn_id})


def _to_system_message(message: Message) -> Message:
    return message if message.role == "system" else message.model_copy(update={"role": "system", "native": None})
