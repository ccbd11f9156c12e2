"""Load candidates on demand, each decoded once, and render units as messages."""

from collections.abc import Sequence
from typing import NamedTuple

from wmem.model.message import Message
from wmem.pack.cut import cut_message, least_tokens, share
from wmem.pack.request import Candidate, Orphans
from wmem.pack.units import Unit
from wmem.text.tokens import Counter, message_tokens

__all__ = ["Larder", "Served", "is_blank"]

_INTERRUPTED = "[interrupted: no result was recorded]"
# Truncated first: tool results, then user messages, then assistant messages.
_CUT_ORDER = ("tool", "user", "assistant")


class Served(NamedTuple):
    """A unit as it is sent: its messages, their tokens, and how many tokens were cut."""

    messages: tuple[Message, ...]
    tokens: int
    cut: int = 0


class Larder:
    """Decodes candidates once and renders units, whole or truncated."""

    def __init__(self, count: Counter, orphans: Orphans) -> None:
        self.count = count
        self.orphans = orphans
        self._decoded: dict[str, Message] = {}
        self._leasts: dict[str, int] = {}
        self._synthetic: dict[str, tuple[Message, int]] = {}

    def message(self, candidate: Candidate) -> Message:
        """The message of a candidate, decoded once."""
        found = self._decoded.get(candidate.id)
        if found is None:
            found = self._decoded[candidate.id] = candidate.load()
        return found

    def cost(self, unit: Unit) -> int:
        """Tokens of the whole unit, synthetic results included; decodes nothing."""
        if not unit.missing:
            return unit.tokens
        return unit.tokens + sum(self._interrupted(call)[1] for call in unit.missing)

    def whole(self, unit: Unit) -> Served:
        """Render the unit whole."""
        if len(unit.members) == 1 and not unit.missing:
            return Served((self.message(unit.head),), unit.tokens)
        made_up = tuple(self._interrupted(call)[0] for call in unit.missing)
        return Served((*[self.message(member) for member in unit.members], *made_up), self.cost(unit))

    def without_calls(self, unit: Unit) -> Served | None:
        """The text of an assistant message without its calls; None when it has no text."""
        message = self.message(unit.head)
        if not message.parts:
            return None
        # The framework's own JSON still holds the calls.
        spoken = message.model_copy(update={"tool_calls": (), "native": None})
        return Served((spoken,), message_tokens(spoken, self.count))

    def least(self, unit: Unit) -> int:
        """Tokens of the unit with all its messages truncated to their minimum."""
        return self.cost(unit) - unit.tokens + sum(self._least(member) for member in unit.members)

    def cut(self, units: Sequence[Unit], room: int) -> list[Served] | None:
        """Truncate the units to fit within `room`: tool results first, then user, then assistant messages.

        None when they do not fit even so.
        """
        members = [member for unit in units for member in unit.members]
        rigid = sum(self.cost(unit) - unit.tokens for unit in units)
        rooms = self._rooms(members, room - rigid)
        return None if rooms is None else [self._served(unit, rooms) for unit in units]

    def _rooms(self, members: Sequence[Candidate], room: int) -> dict[str, int] | None:
        rooms = {member.id: member.tokens for member in members}
        for role in _CUT_ORDER:
            soft = [member for member in members if member.role == role]
            rest = room - (sum(rooms.values()) - sum(rooms[member.id] for member in soft))
            least = {member.id: self._least(member) for member in soft}
            if sum(least.values()) <= rest:
                return rooms | share({member.id: member.tokens for member in soft}, least, rest)
            rooms |= least
        return None

    def _served(self, unit: Unit, rooms: dict[str, int]) -> Served:
        messages: list[Message] = []
        tokens = lost = 0
        for member in unit.members:
            message, cost = self.message(member), member.tokens
            if rooms[member.id] < member.tokens:
                message, cost = cut_message(message, member.tokens, rooms[member.id], self.count)
                lost += max(1, member.tokens - cost)
            messages.append(message)
            tokens += cost
        return Served(
            (*messages, *(self._interrupted(call)[0] for call in unit.missing)),
            tokens + self.cost(unit) - unit.tokens,
            lost,
        )

    def _least(self, candidate: Candidate) -> int:
        if candidate.role not in _CUT_ORDER:
            return candidate.tokens
        if candidate.id not in self._leasts:
            self._leasts[candidate.id] = least_tokens(self.message(candidate), candidate.tokens, self.count)
        return self._leasts[candidate.id]

    def _interrupted(self, call: str) -> tuple[Message, int]:
        if call not in self._synthetic:
            made = Message.recall("tool", _INTERRUPTED, tool_call_id=call)
            self._synthetic[call] = made, message_tokens(made, self.count)
        return self._synthetic[call]


def is_blank(message: Message) -> bool:
    """Whether the message has no text, no media and no tool calls."""
    return not message.tool_calls and all(
        part.kind == "text" and not (part.text or "").strip() for part in message.parts
    )
