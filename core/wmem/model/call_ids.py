"""Ids of tool calls that a model left out or gave twice, and the call that each result answers.

An id is made from the call alone, and a result finds its call by name and order, so that all
processes agree, and storing a message again changes nothing.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from wmem.fork import cached_property
from wmem.model.part import ToolCall
from wmem.model.stray_results import CallRecord, Exchange, PastRecords, Stray, Timeline, match_strays

if TYPE_CHECKING:
    from wmem.model.message import Message


def make_call_id(call: ToolCall, place: int) -> str:
    """An id that every provider accepts, for the call at this place among those of its message."""
    said = json.dumps([place, call.name, call.arguments])
    return f"call_{blake2b(said.encode(), digest_size=12).hexdigest()}"


def with_usable_ids(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls, each with an id of its own: one that is blank or taken is replaced by a made one."""
    taken: set[str] = set()
    usable = []
    for place, call in enumerate(calls):
        id = call.id if call.id.strip() and call.id not in taken else make_call_id(call, place)
        taken.add(id)
        usable.append(call if id == call.id else call.model_copy(update={"id": id}))
    return tuple(usable)


class _Caller:
    """A message that calls tools, and which of its calls are answered."""

    def __init__(self, record: CallRecord, answered_ids: set[str]) -> None:
        self.record = record
        self.answered_ids = answered_ids

    @cached_property
    def ids_made_here(self) -> frozenset[str]:
        """The ids that its calls did not come with."""
        calls = enumerate(self.record.load().tool_calls)
        return frozenset(call.id for place, call in calls if call.id == make_call_id(call, place))

    def is_of_another_turn(self, turn_id: str | None) -> bool:
        """Whether both turns are known and differ: then the call is rather another worker's."""
        return turn_id is not None and self.record.turn_id not in (None, turn_id)

    def find_open(self, names: Sequence[str | None], *, without_ids: bool) -> str | None:
        """Its first call without an answer; of a tool with one of the names, if it calls one.

        Args:
            without_ids: Only calls that came without an id of their own; otherwise these merely come first.
        """
        calls = self.record.load().tool_calls
        wanted = [call for call in calls if call.name in names] or calls
        ids = [call.id for call in wanted if call.id not in self.answered_ids]
        made_first = [id for id in ids if id in self.ids_made_here]
        return next(iter(made_first if without_ids else [*made_first, *ids]), None)


class CallHistory:
    """The calls of a conversation, newest first, read only as far as results need them.

    Args:
        older: What was said before, newest first.
    """

    def __init__(self, older: Iterable[CallRecord] = ()) -> None:
        self._older = iter(older)
        self._callers: list[_Caller] = []
        self._unclaimed: dict[str, list[str | None]] = {}  # turns of results whose call was not read yet, by its id

    def add(self, record: CallRecord) -> None:
        """Add a message that calls tools, newer than all others."""
        self._callers.insert(0, _Caller(record, set()))

    def find_call(self, result: CallRecord, stored_id: str | None = None) -> str | None:
        """The id of the call that a result answers; its own id, if it has one, where no call is found.

        Args:
            stored_id: The call that it answers in the store, under the same message id.
        """
        own = result.ids[0] if result.ids and result.ids[0].strip() else None
        caller, id = self._choose_call(own, result, stored_id)
        if caller is not None and id is not None:
            caller.answered_ids.add(id)
        return id

    def has_call(self, id: str) -> bool:
        """Whether a message calls a tool under this id."""
        return self._find_caller(id, None) is not None

    def find_waiting(self, record: CallRecord) -> list[ToolCall]:
        """The calls of a message that no result answers."""
        answered = next(caller.answered_ids for caller in self if caller.record is record)
        return [call for call in record.load().tool_calls if call.id not in answered]

    def _choose_call(
        self, own: str | None, result: CallRecord, stored_id: str | None
    ) -> tuple[_Caller | None, str | None]:
        caller = None if own is None else self._find_caller(own, result.turn_id)
        if stored_id is not None and (caller is None or stored_id in caller.record.ids):
            return caller or self._find_caller(stored_id, result.turn_id), stored_id
        if caller is not None:
            if own not in caller.answered_ids or own in caller.ids_made_here:
                return caller, own
            # A further result under the id of two calls answers the second; else it replaces the first result.
            return caller, caller.find_open((result.load().name,), without_ids=True) or own
        name = result.load().name
        # An id that no call has was made up by a framework, for a call without one.
        unnamed = own is not None and own != f"call_{name}"
        callers = sorted(self, key=lambda caller: caller.is_of_another_turn(result.turn_id))
        return next(
            (
                (caller, id)
                for caller in callers
                if (id := caller.find_open((name, own), without_ids=unnamed)) is not None
            ),
            (None, own),
        )

    def _find_caller(self, id: str, turn_id: str | None) -> _Caller | None:
        """The nearest message with a call of this id, rather of this turn."""
        callers = (caller for caller in self if id in caller.record.ids)
        nearest = next(callers, None)
        if nearest is None or not nearest.is_of_another_turn(turn_id):
            return nearest
        return next((caller for caller in callers if not caller.is_of_another_turn(turn_id)), nearest)

    def __iter__(self) -> Iterator[_Caller]:
        at = 0
        while at < len(self._callers) or self._read_older():
            yield self._callers[at]
            at += 1

    def _read_older(self) -> bool:
        """Read on to the next message that calls tools; False at the end."""
        for record in self._older:
            if record.role == "tool":
                for id in record.ids:
                    self._unclaimed.setdefault(id, []).append(record.turn_id)
            elif record.ids:
                self._callers.append(_Caller(record, {id for id in record.ids if self._claim(id, record.turn_id)}))
                return True
        return False

    def _claim(self, id: str, turn_id: str | None) -> bool:
        """Take the results of the nearest call of an id, but another turn's: some providers reuse ids."""
        turns = self._unclaimed.pop(id, [])
        others: list[str | None] = [each for each in turns if turn_id is not None and each not in (None, turn_id)]
        if others:
            self._unclaimed[id] = others
        return len(others) < len(turns)


class Pairing(NamedTuple):
    """The calls that results answer, by position where the result itself does not say so.

    Attributes:
        past_call_ids: The same of what was said before, by how many of it are newer: see `wmem.model.stray_results`.
        certain: Every result says itself which call it answers, and the call was found.
    """

    call_ids: dict[int, str]
    past_call_ids: dict[int, str]
    certain: bool


def pair_records(
    records: Sequence[CallRecord], older: Iterable[CallRecord] = (), stored_ids: Sequence[str | None] = ()
) -> Pairing:
    """The calls that the results among these messages answer.

    Args:
        older: What was said before, newest first.
        stored_ids: For each message, the call that it answers in the store; empty if nothing is stored.
    """
    past = PastRecords(older)
    history = CallHistory(past)
    call_ids: dict[int, str] = {}
    certain = True
    for place, record in enumerate(records):
        if record.role == "tool":
            stored_id = stored_ids[place] if stored_ids else None
            id = history.find_call(record, stored_id)
            if id is not None and record.ids != (id,):
                call_ids[place] = id
            certain = certain and record.ids == (id,) and (id == stored_id or history.has_call(record.ids[0]))
        elif record.ids:
            history.add(record)
    timeline = Timeline(past, records)
    for exchange in timeline.find_exchanges():
        call_ids |= _pair_strays(exchange, timeline, history, call_ids)
    past_call_ids = {-1 - place: call_ids.pop(place) for place in [*call_ids] if place < 0}
    return Pairing(call_ids, past_call_ids, certain and not call_ids and not past_call_ids)


def _pair_strays(
    exchange: Exchange, timeline: Timeline, history: CallHistory, call_ids: Mapping[int, str]
) -> dict[int, str]:
    """The calls that results under an id that no call has answer, by their places."""
    strays: list[tuple[int, CallRecord]] = []
    for place in sorted(exchange.results):
        record = timeline.get(place)
        if record is None or not record.ids or place in call_ids or record.ids[0] in exchange.caller.ids:
            continue
        if not history.has_call(record.ids[0]):
            strays.append((place, record))
    if not strays:
        return {}
    waiting = history.find_waiting(exchange.caller)
    tools = {call.name for call in waiting}

    def name(record: CallRecord) -> str | None:
        return record.load().name or next((id for id in record.ids if id in tools), None)

    return match_strays([Stray(place, name(record)) for place, record in strays], waiting)


def to_call_record(message: "Message") -> CallRecord:
    """What pairing needs of a message."""
    return CallRecord(message.role, message.answers, message.turn_id, partial(_identity, message))


def _identity(message: "Message") -> "Message":
    return message


def pair_results(messages: "Sequence[Message]") -> "list[Message]":
    """The messages, each tool result with the id of the call among them that it answers.

    A result without a usable id, or with an id that two calls had, is paired by the name of its
    tool and by order. Nothing else changes.
    """
    if all(message.role != "tool" for message in messages):
        return list(messages)
    return with_call_ids(messages, pair_records([*map(to_call_record, messages)]))


def with_call_ids(messages: "Sequence[Message]", pairing: Pairing) -> "list[Message]":
    """The messages, the results with the calls of their pairing."""
    call_ids = pairing.call_ids
    return [
        message.model_copy(update={"tool_call_id": call_ids[place]}) if place in call_ids else message
        for place, message in enumerate(messages)
    ]
