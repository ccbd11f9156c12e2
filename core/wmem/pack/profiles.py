"""Message order that each provider accepts: where system text stands, which role comes first.

Every provider wants results directly after their call; units guarantee that.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from wmem.model.context import Profile
from wmem.model.message import Message

__all__ = ["SYSTEM", "by_turns", "leading_system", "newest_user", "valid_for"]

Unit = TypeVar("Unit")
_OPENING = "[Earlier messages were left out.]"
SYSTEM = ("system", "developer")


def by_turns(units: Iterable[tuple[str | None, Unit]], *, last: str | None = None) -> list[Unit]:
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


def valid_for(profile: Profile, messages: Sequence[Message], *, opened: bool) -> list[Message]:
    """The messages in an order the provider accepts; their text is unchanged.

    ``anthropic`` and ``gemini`` take system text only in front, then a user message first.

    Args:
        opened: Whether a user message already stands before these.
    """
    if profile == "openai":
        return list(messages)
    front = [_as_system(message) for message in messages if message.role in SYSTEM]
    rest = [message for message in messages if message.role not in SYSTEM]
    if rest and rest[0].role != "user" and not opened:
        # Marked as recalled: no adapter stores it.
        front.append(Message.recall("user", _OPENING))
    return [*front, *rest]


def leading_system(messages: Sequence[Message]) -> int:
    """How many system messages come first."""
    return next((at for at, message in enumerate(messages) if message.role not in SYSTEM), len(messages))


def newest_user(messages: Sequence[Message]) -> int:
    """Position of the newest user message, else of the newest assistant message, else the end."""
    spoken = [at for at, each in enumerate(messages) if each.role in ("user", "assistant") and not each.recalled]
    asked = [at for at in spoken if messages[at].role == "user"]
    return (asked or spoken or [len(messages)])[-1]


def _as_system(message: Message) -> Message:
    return message if message.role == "system" else message.model_copy(update={"role": "system", "native": None})
