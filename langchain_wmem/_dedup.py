"""Deduplication of messages by id, so that each is stored once.

Frameworks pass the same messages again and again, and sometimes an edited one
under its old id. New and edited messages are told from those already stored.
"""

import hashlib
import json
import marshal
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage

from langchain_wmem._convert import is_note
from langchain_wmem._pieces import count_pieces, holds_results_alone, is_piece, whole_id
from wmem import Message
from wmem.adapter import Steps
from wmem.errors import CorruptionError
from wmem.types import AsyncMessages, Messages

MIN_LOOKBACK = 64
_CONTENT_FIELDS = {"role", "parts", "tool_calls", "tool_call_id", "name", "native"}


def is_conversation(message: BaseMessage) -> bool:
    """Whether a message is part of the conversation, not a note of recalled text or a summary."""
    return not _is_summary(message) and not is_note(message)


def _is_summary(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "summarization"


def newest_human_index(messages: Sequence[BaseMessage]) -> int:
    """Index of the newest message of a person, which begins the turn; 0 if there is none."""
    return next((at for at in range(len(messages) - 1, -1, -1) if _begins_turn(messages[at])), 0)


def _begins_turn(message: BaseMessage) -> bool:
    return isinstance(message, HumanMessage) and is_conversation(message) and not holds_results_alone(message)


def lookback(messages: Sequence[BaseMessage]) -> int:
    """Number of newest stored messages to read in order to recognise these."""
    return max(MIN_LOOKBACK, 2 * len(messages))


class _Fingerprint(NamedTuple):
    """Hashes of a message when it was last seen: of the LangChain object, and of its wmem form, by their ids."""

    object_hash: int
    content_hashes: Mapping[str | None, int]


class SeenMessages:
    """Ids and hashes of the messages of one session that are known to be stored."""

    def __init__(self, stored: Iterable[Message]) -> None:
        self._content_hashes: dict[str | None, int] = {}
        self._piece_ids: set[str] = set()
        self._fingerprints: dict[str, _Fingerprint] = {}
        self._object_refs: dict[str, weakref.ref[BaseMessage]] = {}
        self.add(stored)

    def __contains__(self, message_id: str | None) -> bool:
        return message_id in self._content_hashes

    def add(self, stored: Iterable[Message]) -> None:
        """Add messages that are stored now."""
        for message in stored:
            if message.id is not None:
                self._content_hashes[message.id] = _content_hash(message)
                if is_piece(message):
                    self._piece_ids.add(message.id)

    def discard(self, message_id: str) -> None:
        """Take out a message that is stored no longer."""
        self._content_hashes.pop(message_id, None)
        self._piece_ids.discard(message_id)

    def find_stale_pieces(self, stored: Iterable[Message]) -> list[str]:
        """Ids of stored pieces that LangChain's messages had before they were edited, but have no longer."""
        stale: list[str] = []
        for message in stored:
            place = count_pieces(message)
            while place and (id := f"{message.id}.{place}") in self._piece_ids:
                stale.append(id)
                place += 1
        return stale

    def find_new(
        self,
        messages: Sequence[BaseMessage],
        convert: Callable[[BaseMessage], Sequence[Message]],
        *,
        summaries: bool = False,
        trust_objects: bool = False,
    ) -> list[Message]:
        """The messages that are not stored yet or were edited since, in order.

        Args:
            convert: Converts a message to wmem's form, in which it may be several.
            summaries: Include summaries even if the messages they cover are stored.
            trust_objects: Take an object from before this turn that was seen already as unchanged.
        """
        # If none of the messages was stored, their summary is all that is left of them.
        summaries = summaries or not self._content_hashes
        begun = newest_human_index(messages)
        found: dict[object, Message] = {}
        for place, given in enumerate(messages):
            message_id = given.id or ""
            looked = self._fingerprints.get(message_id)
            if looked is not None and looked.content_hashes.items() <= self._content_hashes.items():
                if trust_objects and place < begun and self._object_refs[message_id]() is given:
                    continue
                if looked.object_hash == _object_hash(given):
                    self._object_refs[message_id] = weakref.ref(given)
                    continue
            if is_note(given) or (_is_summary(given) and not summaries and given.id not in self):
                continue
            pieces = convert(given)
            made = {message.id: _content_hash(message) for message in pieces}
            if given.id:
                self._object_refs[given.id] = weakref.ref(given)
                self._fingerprints[given.id] = _Fingerprint(_object_hash(given), made)
            for message in pieces:
                if message.id is None or self._content_hashes.get(message.id) != made[message.id]:
                    found[message.id or place] = message
        return list(found.values())

    def is_stored(self, message: Message) -> bool:
        """Whether the message is known to be stored with this content."""
        return message.id is not None and self._content_hashes.get(message.id) == _content_hash(message)


def _content_hash(message: Message) -> int:
    said = message.model_dump(mode="json", include=_CONTENT_FIELDS)
    if message.native is not None and isinstance(beside := said["native"]["data"], dict):
        # A checkpoint revives documents as dictionaries; that is no edit.
        beside.pop("documents", None)
    # Sorted: a store may keep the keys of an object in another order.
    return hash(json.dumps(said, sort_keys=True))


def _object_hash(original: BaseMessage) -> int:
    """Hash of a LangChain message's fields, a hundred times faster than that of its wmem form."""
    held = (original.__dict__, original.__pydantic_extra__)
    try:
        # Version 2 has no back references, which would make equal values differ by object identity.
        return hash((type(original), marshal.dumps(held, 2)))
    except ValueError:
        return hash((type(original), repr(held)))


def assign_ids(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """The messages, blank ids replaced by a hash of the turn and the content.

    LangGraph assigns an id to a message without one, but leaves a blank id as it is.
    """
    if all(message.id is None or message.id.strip() for message in messages):
        return messages
    turn: str | None = None
    made: list[BaseMessage] = []
    for message in messages:
        if _begins_turn(message):
            turn = message.id
        if message.id is None or message.id.strip():
            made.append(message)
            continue
        said = repr((turn, message.type, message.content, getattr(message, "tool_calls", None)))
        name = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        made.append(message.model_copy(update={"id": name}))
    return made


def assign_turn_ids(new: Iterable[Message], messages: Iterable[BaseMessage]) -> list[Message]:
    """The new messages with their turn id: the id of the human message in `messages` that began the turn.

    Results that such a message holds are of the turn before it.
    """
    turn: str | None = None
    turns: dict[str | None, tuple[str | None, str | None]] = {}
    for message in messages:
        before, turn = turn, message.id if _begins_turn(message) else turn
        turns[message.id] = before, turn
    none = None, None
    return [
        message.model_copy(update={"turn_id": turns.get(whole_id(message), none)[message.role != "tool"]})
        for message in new
    ]


def _keep_stored_metadata(messages: Iterable[Message], stored: Iterable[Message]) -> list[Message]:
    """The messages, edited ones with the pin, metadata, turn, thread and time they have in the store."""
    old = {message.id: message for message in stored}
    return [
        message.model_copy(
            update={
                "pinned": old[message.id].pinned,
                "metadata": {**old[message.id].metadata, **message.metadata},
                "turn_id": old[message.id].turn_id or message.turn_id,
                "thread_id": old[message.id].thread_id,
                "created_at": old[message.id].created_at,
            },
        )
        if message.id in old
        else message
        for message in messages
    ]


def append_new(session: Messages | AsyncMessages, fresh: list[Message], seen: SeenMessages, newest: int) -> Steps[None]:
    """Store new and edited messages; those that are stored already keep their pin, metadata, turn, thread and time.

    Args:
        newest: Number of newest stored messages to look for edited ones in; older ones are looked up by id.
    """
    old: list[Message] = []
    for message in fresh:
        if message.id is not None and message.id not in seen:
            with suppress(CorruptionError):  # which prevents knowing
                found: Message | None = yield session.get(message.id)
                old += [found] if found is not None else []
    if old:
        seen.add(old)
        fresh = [message for message in fresh if not seen.is_stored(message)]
    if any(message.id in seen for message in fresh):
        fresh = _keep_stored_metadata(fresh, [*(yield session.all(limit=newest)), *old])
    if fresh:
        yield session.append(fresh)
        seen.add(fresh)
        for id in seen.find_stale_pieces(fresh):
            yield session.remove(id)
            seen.discard(id)
