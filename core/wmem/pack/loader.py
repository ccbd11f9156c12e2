"""Load candidates on demand, each decoded once, and render units as messages."""

from collections.abc import Sequence
from typing import NamedTuple

from wmem.model.message import Message
from wmem.pack.request import Candidate, Orphans
from wmem.pack.truncation import allocate_tokens, min_tokens, truncate_message
from wmem.pack.units import Unit
from wmem.tokens.counter import Counter, message_tokens

_INTERRUPTED_TEXT = "[interrupted: no result was recorded]"
# Truncated first: tool results, then user messages, then assistant messages.
_TRUNCATION_ORDER = ("tool", "user", "assistant")


class Rendered(NamedTuple):
    """A unit as it is sent: its messages, their tokens, and how many tokens were cut."""

    messages: tuple[Message, ...]
    tokens: int
    tokens_cut: int = 0


class MessageLoader:
    """Decodes candidates once and renders units, whole or truncated."""

    def __init__(self, count: Counter, orphans: Orphans) -> None:
        self.count = count
        self.orphans = orphans
        self._decoded: dict[tuple[str, int], Message] = {}
        self._min_tokens_by_id: dict[str, int] = {}
        self._interrupted_results: dict[str, tuple[Message, int]] = {}

    def load(self, candidate: Candidate) -> Message:
        """The message of a candidate, decoded once; one that recall found may be here with other reasoning."""
        key = candidate.id, candidate.reasoning
        message = self._decoded.get(key)
        if message is None:
            message = self._decoded[key] = candidate.load()
        return message

    def cost(self, unit: Unit) -> int:
        """Tokens of the whole unit, synthetic results included; decodes nothing."""
        if not unit.missing:
            return unit.tokens
        return unit.tokens + sum(self._make_interrupted_result(call)[1] for call in unit.missing)

    def render(self, unit: Unit) -> Rendered:
        """Render the unit whole."""
        if len(unit.members) == 1 and not unit.missing:
            return Rendered((self.load(unit.head),), unit.tokens)
        made_up = tuple(self._make_interrupted_result(call)[0] for call in unit.missing)
        return Rendered((*[self.load(member) for member in unit.members], *made_up), self.cost(unit))

    def render_without_calls(self, unit: Unit) -> Rendered | None:
        """The text of an assistant message without its calls; None when it has no text."""
        message = self.load(unit.head)
        if not message.parts:
            return None
        # The framework's own JSON still holds the calls.
        spoken = message.model_copy(update={"tool_calls": (), "native": None})
        return Rendered((spoken,), message_tokens(spoken, self.count))

    def min_cost(self, unit: Unit) -> int:
        """Tokens of the unit with all its messages truncated to their minimum."""
        return self.cost(unit) - unit.tokens + sum(self._min_tokens(member) for member in unit.members)

    def truncate(self, units: Sequence[Unit], room: int) -> list[Rendered] | None:
        """Truncate the units to fit within `room`: tool results first, then user, then assistant messages.

        None when they do not fit even so.
        """
        members = [member for unit in units for member in unit.members]
        rigid = sum(self.cost(unit) - unit.tokens for unit in units)
        rooms = self._allocate(members, room - rigid)
        return None if rooms is None else [self._render_truncated(unit, rooms) for unit in units]

    def _allocate(self, members: Sequence[Candidate], room: int) -> dict[str, int] | None:
        rooms = {member.id: member.tokens for member in members}
        for role in _TRUNCATION_ORDER:
            soft = [member for member in members if member.role == role]
            rest = room - (sum(rooms.values()) - sum(rooms[member.id] for member in soft))
            least = {member.id: self._min_tokens(member) for member in soft}
            if sum(least.values()) <= rest:
                return rooms | allocate_tokens({member.id: member.tokens for member in soft}, least, rest)
            rooms |= least
        return None

    def _render_truncated(self, unit: Unit, limits: dict[str, int]) -> Rendered:
        messages: list[Message] = []
        tokens = lost = 0
        for member in unit.members:
            message, cost = self.load(member), member.tokens
            if limits[member.id] < member.tokens:
                message, cost = truncate_message(message, member.tokens, limits[member.id], self.count)
                lost += max(1, member.tokens - cost)
            messages.append(message)
            tokens += cost
        return Rendered(
            (*messages, *(self._make_interrupted_result(call)[0] for call in unit.missing)),
            tokens + self.cost(unit) - unit.tokens,
            lost,
        )

    def _min_tokens(self, candidate: Candidate) -> int:
        if candidate.role not in _TRUNCATION_ORDER:
            return candidate.tokens
        if candidate.id not in self._min_tokens_by_id:
            self._min_tokens_by_id[candidate.id] = min_tokens(self.load(candidate), candidate.tokens, self.count)
        return self._min_tokens_by_id[candidate.id]

    def _make_interrupted_result(self, call: str) -> tuple[Message, int]:
        if call not in self._interrupted_results:
            message = Message.recall("tool", _INTERRUPTED_TEXT, tool_call_id=call)
            self._interrupted_results[call] = message, message_tokens(message, self.count)
        return self._interrupted_results[call]
