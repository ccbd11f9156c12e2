"""The order of a prompt, and what a provider refuses: where system text stands, who begins.

Results directly after their call are the rule of every provider; units see to it.
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
    """Units in their order, each turn brought together where it began.

    Args:
        units: The turn and the unit, oldest first.
        last: A turn that goes to the end: the one that waits for the model.
    """
    turns: dict[object, list[Unit]] = {}
    for turn, unit in units:
        turns.setdefault(object() if turn is None else turn, []).append(unit)
    if last is not None and last in turns:
        turns[last] = turns.pop(last)
    return [unit for turn in turns.values() for unit in turn]


def valid_for(profile: Profile, messages: Sequence[Message], *, opened: bool) -> list[Message]:
    """The messages as the provider takes them; nothing that was said is changed.

    ``anthropic`` and ``gemini`` take system text only in front, and a user first.

    Args:
        opened: A user message stands before these already.
    """
    if profile == "openai":
        return list(messages)
    front = [_as_system(message) for message in messages if message.role in SYSTEM]
    rest = [message for message in messages if message.role not in SYSTEM]
    if rest and rest[0].role != "user" and not opened:
        # Marked as a note: no adapter stores it.
        front.append(Message.recall("user", _OPENING))
    return [*front, *rest]


def leading_system(messages: Sequence[Message]) -> int:
    """How many system messages stand in front."""
    return next((at for at, message in enumerate(messages) if message.role not in SYSTEM), len(messages))


def newest_user(messages: Sequence[Message]) -> int:
    """Where the newest user message stands; the newest that an assistant said where nobody asked, else the end."""
    spoken = [at for at, each in enumerate(messages) if each.role in ("user", "assistant") and not each.recalled]
    asked = [at for at in spoken if messages[at].role == "user"]
    return (asked or spoken or [len(messages)])[-1]


def _as_system(message: Message) -> Message:
    return message if message.role == "system" else message.model_copy(update={"role": "system", "native": None})
