"""Load candidates on demand, each decoded once, and render units as messages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from wmem.model._reasoning import is_signed
from wmem.model.layout import Cut
from wmem.model.message import Message
from wmem.model.part import ToolCall
from wmem.pack.request import Candidate, Orphans, Rendered
from wmem.pack.truncation import allocate_tokens, mark_tokens, min_tokens, truncate_message
from wmem.pack.units import Unit
from wmem.tokens.counter import Counter, message_tokens

_INTERRUPTED_TEXT = "[interrupted: no result was recorded]"


class _Truncation(NamedTuple):
    """A way to make messages smaller: whose role they are, and how far.

    Attributes:
        marked: A mark may be all that is left of them.
        newest_whole: Only while the newest of them stays whole.
    """

    role: str
    marked: bool = False
    newest_whole: bool = False


# Tried in this order: tool results first, then user messages, then assistant messages.
_TRUNCATIONS = (_Truncation("tool"), _Truncation("user"), _Truncation("assistant"))
# A model waits for these: they are sent whatever is left of them, but the user's words.
_TRUNCATIONS_IN_FLIGHT = (
    _Truncation("tool", newest_whole=True),
    _Truncation("tool", marked=True, newest_whole=True),
    *_TRUNCATIONS,
    _Truncation("tool", marked=True),
    _Truncation("assistant", marked=True),
)
_TRUNCATED_ROLES = tuple(each.role for each in _TRUNCATIONS)


class _Sent(NamedTuple):
    """A message as it is sent, its tokens, and how it was cut."""

    message: Message
    tokens: int
    cut: Cut | None = None


class MessageLoader:
    """Decodes candidates once and renders units, whole or truncated."""

    def __init__(self, count: Counter, orphans: Orphans) -> None:
        self.count = count
        self.orphans = orphans
        self._decoded: dict[tuple[str, int], Message] = {}
        self._least: dict[tuple[str, int, bool], int] = {}
        self._interrupted_results: dict[str, tuple[Message, int]] = {}

    def load(self, candidate: Candidate) -> Message:
        """The message of a candidate, decoded once; one that recall found may be here with other reasoning."""
        if candidate.plain is not None:
            return candidate.plain.messages[0]
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
        if unit.head.plain is not None:
            return unit.head.plain
        if len(unit.members) == 1 and not unit.missing:
            return Rendered((self.load(unit.head),), unit.tokens)
        made_up = tuple(self._make_interrupted_result(call)[0] for call in unit.missing)
        return Rendered((*[self.load(member) for member in unit.members], *made_up), self.cost(unit))

    def leave_out_unanswered(self, unit: Unit) -> Unit:
        """The unit without its calls that have no result; unchanged if nothing would be left of it."""
        message = self.load(unit.head)
        calls = tuple(call for call in message.tool_calls if call.id not in unit.missing)
        if not calls and not _has_words(message):
            return unit
        spoken = with_calls(message, calls)
        head = unit.head._replace(
            calls=spoken.answers, tokens=message_tokens(spoken, self.count), load=partial(_identity, spoken)
        )
        self._decoded[head.id, head.reasoning] = spoken
        return replace(
            unit,
            members=(head, *unit.members[1:]),
            tokens=unit.tokens - unit.head.tokens + head.tokens,
            missing=(),
            left_out=tuple(call.name for call in message.tool_calls if call.id in unit.missing),
        )

    def min_cost(self, unit: Unit, *, in_flight: bool = False) -> int:
        """Tokens of the unit without reasoning that may be left out, and its messages truncated to their minimum."""
        members = [self._without_reasoning(member, in_flight=in_flight) for member in unit.members]
        return self.cost(unit) - unit.tokens + sum(map(self._min_tokens, members))

    def least_sizes(self, units: Iterable[Unit]) -> dict[str, int]:
        """Tokens of units in flight by role, when hardly a mark is left of each message but the user's."""
        sizes: dict[str, int] = {}
        for unit in units:
            for member in unit.members:
                bare = self._without_reasoning(member, in_flight=True)
                name = "tool results" if member.role == "tool" else f"{member.role} messages"
                sizes[name] = sizes.get(name, 0) + self._min_tokens(bare, marked=member.role != "user")
            if made_up := self.cost(unit) - unit.tokens:
                sizes["tool results"] = sizes.get("tool results", 0) + made_up
        return sizes

    def truncate(self, units: Sequence[Unit], room: int, *, in_flight: bool = False) -> list[Rendered] | None:
        """Truncate the units, oldest first, to fit within `room`; None when they do not fit even so.

        Reasoning goes first, then the middle of tool results, then of user and of assistant messages.

        Args:
            in_flight: The provider awaits these messages, with the reasoning that it has signed: if need be
                nothing but a mark is left of results and of what the assistant said.
        """
        room -= sum(self.cost(unit) - unit.tokens for unit in units)
        members = self._drop_reasoning([member for unit in units for member in unit.members], room, in_flight=in_flight)
        limits = self._allocate(members, room, _TRUNCATIONS_IN_FLIGHT if in_flight else _TRUNCATIONS)
        if limits is None:
            return None
        sent = self._truncate_members(members, limits)
        return [self._join(unit, [sent[member.id] for member in unit.members]) for unit in units]

    def _drop_reasoning(self, members: Sequence[Candidate], room: int, *, in_flight: bool) -> list[Candidate]:
        """The messages, the oldest of them without their reasoning, as many as it takes."""
        excess = sum(member.tokens for member in members) - room
        sent = []
        for member in members:
            bare = self._without_reasoning(member, in_flight=in_flight) if excess > 0 else member
            excess -= member.tokens - bare.tokens
            sent.append(bare)
        return sent

    def _without_reasoning(self, member: Candidate, *, in_flight: bool) -> Candidate:
        """The message without its reasoning, if it may be left out: all of it, or none."""
        if not member.reasoning:
            return member
        message = self.load(member)
        bare = message.without_reasoning()
        if (in_flight and any(map(is_signed, message.parts))) or not (bare.parts or bare.tool_calls):
            return member
        return member._replace(tokens=member.tokens - member.reasoning, reasoning=0, load=partial(_identity, bare))

    def _allocate(self, members: Sequence[Candidate], room: int, ways: Iterable[_Truncation]) -> dict[str, int] | None:
        rooms = {member.id: member.tokens for member in members}
        for way in ways:
            soft = [member for member in members if member.role == way.role]
            rest = room - (sum(rooms.values()) - sum(rooms[member.id] for member in soft))
            least = {member.id: self._min_tokens(member, marked=way.marked) for member in soft}
            needed = sum(least.values())
            if way.newest_whole:
                needed += soft[-1].tokens - least[soft[-1].id] if soft else room + 1
            if needed <= rest:
                return rooms | allocate_tokens({member.id: member.tokens for member in soft}, least, rest)
            if not way.newest_whole:
                rooms |= least
        return None

    def _truncate_members(self, members: Sequence[Candidate], limits: Mapping[str, int]) -> dict[str, _Sent]:
        """The messages as they are sent; of one role, none that is cut is larger than a newer one that is cut."""
        sent: dict[str, _Sent] = {}
        most: dict[str | None, int] = {}
        for member in reversed(members):
            each = _Sent(self.load(member), member.tokens)
            if (limit := limits[member.id]) < each.tokens:
                limit = max(min(limit, most.get(member.role, limit)), min(limit, self._min_tokens(member)))
                each = _Sent(*truncate_message(each.message, each.tokens, limit, self.count))
                most[member.role] = each.tokens
            sent[member.id] = each
        return sent

    def _join(self, unit: Unit, sent: Sequence[_Sent]) -> Rendered:
        made_up = tuple(self._make_interrupted_result(call)[0] for call in unit.missing)
        tokens = sum(each.tokens for each in sent)
        shorter = [
            max(1, member.tokens - each.tokens)
            for member, each in zip(unit.members, sent, strict=True)
            if each.message is not self.load(member)
        ]
        return Rendered(
            (*(each.message for each in sent), *made_up),
            tokens + self.cost(unit) - unit.tokens,
            sum(shorter),
            cuts=tuple(each.cut for each in sent),
        )

    def _min_tokens(self, candidate: Candidate, *, marked: bool = False) -> int:
        if candidate.role not in _TRUNCATED_ROLES:
            return candidate.tokens
        key = candidate.id, candidate.reasoning, marked
        if key not in self._least:
            count = mark_tokens if marked else min_tokens
            self._least[key] = count(self.load(candidate), candidate.tokens, self.count)
        return self._least[key]

    def _make_interrupted_result(self, call: str) -> tuple[Message, int]:
        if call not in self._interrupted_results:
            message = to_interrupted_result(call)
            self._interrupted_results[call] = message, message_tokens(message, self.count)
        return self._interrupted_results[call]


def to_interrupted_result(call: str) -> Message:
    """A message that answers a call as interrupted."""
    return Message.recall("tool", _INTERRUPTED_TEXT, tool_call_id=call)


def with_calls(message: Message, calls: Sequence[ToolCall]) -> Message:
    """The message with these of its calls alone."""
    # The framework's own JSON still holds the others.
    return message.model_copy(update={"tool_calls": tuple(calls), "native": None})


def _has_words(message: Message) -> bool:
    """Whether the message has more than reasoning and blank text."""
    said = [part for part in message.parts if part.kind != "reasoning"]
    return any(part.kind not in ("text", "refusal") or (part.text or "").strip() for part in said)


def _identity(message: Message) -> Message:
    return message
