"""Deduplication of messages by id, so that each is stored once.

Frameworks pass the same messages again and again, and sometimes an edited one
under its old id. New and edited messages are told from those already stored.
"""

import hashlib
import json
import marshal
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_wmem._convert import is_note
from langchain_wmem._pieces import count_pieces, holds_results_alone, is_piece, whole_id
from wmem import Message
from wmem.adapter import Steps
from wmem.errors import CorruptionError
from wmem.types import AsyncMessages, Messages

MIN_LOOKBACK = 64
MASKED = "masked"
"""Key of the metadata of a message that is stored as other middleware showed it, not as the state has it."""
_BLOCK = 64  # messages that are compared at once, to see quickly that a long list did not change
_FIELDS = attrgetter("__dict__")
_CONTENT_FIELDS = {"role", "parts", "tool_calls", "tool_call_id", "name", "native"}


def is_conversation(message: BaseMessage) -> bool:
    """Whether a message is part of the conversation, not a note of recalled text or a summary."""
    return not is_summary(message) and not is_note(message)


def is_summary(message: BaseMessage) -> bool:
    """Whether a message is a summary that LangChain's own middleware put in the place of others."""
    return message.additional_kwargs.get("lc_source") == "summarization"


def newest_human_index(messages: Sequence[BaseMessage]) -> int:
    """Index of the newest message of a person, which begins the turn; 0 if there is none."""
    return next((at for at in range(len(messages) - 1, -1, -1) if _begins_turn(messages[at])), 0)


def newest_answer_index(messages: Sequence[BaseMessage]) -> int:
    """Index of the newest message of a model; their number if there is none."""
    return next((at for at in range(len(messages) - 1, -1, -1) if isinstance(messages[at], AIMessage)), len(messages))


def find_trimmed(messages: Sequence[BaseMessage], window: int) -> list[str]:
    """Ids of the messages before the newest `window` ones; of a turn that reaches into these, none.

    None is older than a turn that is longer than the window.
    """
    places = [place for place, message in enumerate(messages) if _begins_turn(message)]
    within = [place for place in places if place >= len(messages) - window]
    begun = within[0] if within else places[-1] if places else 0
    return [message.id for message in messages[:begun] if message.id is not None]


def _begins_turn(message: BaseMessage) -> bool:
    return isinstance(message, HumanMessage) and is_conversation(message) and not holds_results_alone(message)


def lookback(messages: Sequence[BaseMessage]) -> int:
    """Number of newest stored messages to read in order to recognise these."""
    return max(MIN_LOOKBACK, 2 * len(messages))


class _Fingerprint(NamedTuple):
    """Hashes of a message when it was last seen: of the LangChain object, and of its wmem form, by their ids."""

    object_hash: int
    content_hashes: Mapping[str | None, int]


class Look(NamedTuple):
    """What looking at a state's messages showed.

    Attributes:
        same: How many, from the first on, are the very objects that were remembered.
        is_changed: More were remembered than that: what was there before is not all there.
        places: The places of those that may be new or edited.
        block_hashes: Hashes of the messages, in blocks from the first on.
    """

    same: int
    is_changed: bool
    places: Sequence[int]
    block_hashes: list[int]


class SeenMessages:
    """Ids and hashes of the messages of one session that are known to be stored.

    Args:
        stored: The session's newest messages.
        is_whole: These are all; a message that is none of them is stored nowhere else.
    """

    def __init__(self, stored: Iterable[Message], *, is_whole: bool = False) -> None:
        self.is_whole = is_whole
        self._content_hashes: dict[str | None, int] = {}
        self._piece_ids: set[str] = set()
        self.masked_ids: set[str | None] = set()
        self.turn_ids: dict[str | None, str | None] = {}
        self._fingerprints: dict[str, _Fingerprint] = {}
        self._object_refs: list[weakref.ref[BaseMessage]] = []
        self._block_hashes: list[int] = []
        self.add(stored)

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._content_hashes

    def add(self, stored: Iterable[Message]) -> None:
        """Add messages that are stored now."""
        for message in stored:
            if message.id is not None:
                self._content_hashes[message.id] = _content_hash(message)
                self.turn_ids[message.id] = message.turn_id
                if message.metadata.get(MASKED):
                    self.masked_ids.add(whole_id(message))
                if is_piece(message):
                    self._piece_ids.add(message.id)

    def discard(self, message_id: str) -> None:
        """Take out a message that is stored no longer."""
        self._content_hashes.pop(message_id, None)
        self._piece_ids.discard(message_id)
        self.turn_ids.pop(message_id, None)
        self.forget_list()

    def list_stored_ids(self, messages: Iterable[BaseMessage]) -> Iterator[tuple[str, str | None]]:
        """The ids under which messages are stored, those of each piece, each with its id in LangChain."""
        for message in messages:
            if message.id in self and message.id is not None:
                yield message.id, message.id
                place = 1
                while (id := f"{message.id}.{place}") in self._piece_ids:
                    yield id, message.id
                    place += 1

    def find_stale_pieces(self, stored: Iterable[Message]) -> list[str]:
        """Ids of stored pieces that LangChain's messages had before they were edited, but have no longer."""
        stale: list[str] = []
        for message in stored:
            place = count_pieces(message)
            while place and (id := f"{message.id}.{place}") in self._piece_ids:
                stale.append(id)
                place += 1
        return stale

    def look(self, messages: Sequence[BaseMessage], *, trust_objects: bool) -> Look:
        """Which of a state's messages may be new or edited; of the others it is known that they are not.

        Args:
            trust_objects: Take an object from before this turn that was seen already as unchanged.
        """
        if trust_objects:
            same = self._count_same_objects(messages)
            known = min(same, newest_human_index(messages))  # within this turn they may be edited in place
            is_changed = same < len(self._object_refs)
            return Look(same, is_changed, range(known, len(messages)), self._block_hashes[: known // _BLOCK])
        blocks = [messages[at : at + _BLOCK] for at in range(0, len(messages) - _BLOCK + 1, _BLOCK)]
        hashes = [*map(hash_objects, blocks)]
        places: list[int] = []
        for at, (now, then) in enumerate(zip(hashes, self._block_hashes, strict=False)):
            if now != then:
                places.extend(range(at * _BLOCK, (at + 1) * _BLOCK))
        known = min(len(hashes), len(self._block_hashes)) * _BLOCK
        return Look(0, is_changed=True, places=[*places, *range(known, len(messages))], block_hashes=hashes)

    def remember(self, messages: Sequence[BaseMessage], look: Look) -> None:
        """Remember a state's messages that were looked at, now that all of them are stored as they are."""
        hashes = look.block_hashes
        begun = len(hashes) * _BLOCK
        blocks = (messages[at : at + _BLOCK] for at in range(begun, len(messages) - _BLOCK + 1, _BLOCK))
        self._object_refs[look.same :] = map(weakref.ref, messages[look.same :])
        self._block_hashes = [*hashes, *map(hash_objects, blocks)]

    def forget_list(self) -> None:
        """Look at each of a state's messages the next time."""
        self._object_refs, self._block_hashes = [], []

    def _count_same_objects(self, messages: Sequence[BaseMessage]) -> int:
        """How many of the messages, from the first on, are the objects that were remembered last."""
        same = 0
        for ref, message in zip(self._object_refs, messages, strict=False):
            if ref() is not message:
                break
            same += 1
        return same

    def find_new(
        self,
        messages: Sequence[BaseMessage],
        convert: Callable[[BaseMessage], Sequence[Message]],
        *,
        summaries: bool = False,
        places: Iterable[int] | None = None,
    ) -> list[Message]:
        """The messages that are not stored yet or were edited since, in order.

        Args:
            convert: Converts a message to wmem's form, in which it may be several.
            summaries: Include summaries even if the messages they cover are stored.
            places: Where to look; everywhere by default.
        """
        # If none of the messages was stored, their summary is all that is left of them.
        summaries = summaries or not self._content_hashes
        found: dict[object, Message] = {}
        for place in range(len(messages)) if places is None else places:
            message = messages[place]
            looked = self._fingerprints.get(message.id or "")
            if (
                looked is not None
                and looked.object_hash == hash_objects([message])
                and looked.content_hashes.items() <= self._content_hashes.items()
            ):
                continue
            if is_note(message) or (is_summary(message) and not summaries and message.id not in self):
                continue
            pieces = convert(message)
            made = {piece.id: _content_hash(piece) for piece in pieces}
            if message.id:
                self._fingerprints[message.id] = _Fingerprint(hash_objects([message]), made)
            for piece in pieces:
                if piece.id is None or self._content_hashes.get(piece.id) != made[piece.id]:
                    found[piece.id or place] = piece
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


def hash_objects(messages: Sequence[BaseMessage]) -> int:
    """Hash of LangChain messages' fields, some hundred times faster than that of their wmem forms."""
    # Without the fields' names, which the values' number and kinds tell, it takes half the time.
    held = [[*each.__dict__.values(), each.__pydantic_extra__] for each in messages]
    try:
        # Version 2 has no back references, which would make equal values differ by object identity.
        return hash(marshal.dumps(held, 2))
    except ValueError:
        return hash(repr(held))


def list_ids(messages: Sequence[BaseMessage]) -> list[Any]:
    """The messages' ids; by their dictionaries, in a third of the time that their attributes take."""
    return [fields["id"] for fields in map(_FIELDS, messages)]


def assign_ids(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """The messages, blank ids replaced by a hash of the turn and the content.

    LangGraph assigns an id to a message without one, but leaves a blank id as it is.
    """
    try:
        if all(map(str.strip, list_ids(messages))):
            return messages
    except TypeError:  # one has no id at all
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


def assign_turn_ids(
    new: Iterable[Message],
    messages: Sequence[BaseMessage],
    thread: str | None,
    stored_ids: Mapping[str | None, str | None],
) -> list[Message]:
    """The new messages with their turn id: the id of the human message in `messages` that began the turn.

    Results that such a message holds are of the turn before it. What follows a message whose
    question was removed goes on in its turn.

    Args:
        thread: The name of the thread whose state holds the messages.
        stored_ids: The turn ids of messages that are stored.
    """
    wanted = [(message, whole_id(message)) for message in new]
    turn: str | None = None
    turns: dict[str | None, tuple[str | None, str | None]] = {}
    for message in messages[_find_turn(messages, {id for _, id in wanted}) :]:
        before, turn = turn, message.id if _begins_turn(message) else stored_ids.get(message.id) or turn
        turns[message.id] = before, turn
    none = None, None
    return [
        message.model_copy(update={"turn_id": turns.get(id, none)[message.role != "tool"], "thread_id": thread})
        for message, id in wanted
    ]


def mark_unanswered(new: list[Message], messages: Sequence[BaseMessage]) -> list[Message]:
    """The new messages, those incomplete whose calls were never answered before the next turn began."""
    if not any(message.tool_calls for message in new):
        return new
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    ended = {message.id for message in messages[: newest_human_index(messages)]}
    return [
        message.model_copy(update={"complete": False, "metadata": {**message.metadata, "stopped": "interrupted"}})
        if whole_id(message) in ended and not answered.issuperset(call.id for call in message.tool_calls)
        else message
        for message in new
    ]


def _find_turn(messages: Sequence[BaseMessage], ids: set[str | None]) -> int:
    """Where the turn begins before that of the first of these messages; 0 if there is none."""
    place = len(messages)
    while ids and place:
        place -= 1
        ids.discard(messages[place].id)
    turns = 0
    while place:
        turns += place < len(messages) and _begins_turn(messages[place])
        if turns == 2:  # noqa: PLR2004  # its own, and the one before
            break
        place -= 1
    return place


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


def append_new(
    session: Messages | AsyncMessages, fresh: list[Message], seen: SeenMessages, newest: int
) -> Steps[list[Message]]:
    """Store new and edited messages; those that are stored already keep their pin, metadata, turn, thread and time.

    Returns:
        The messages as they were stored.

    Args:
        newest: Number of newest stored messages to look for edited ones in; older ones are looked up by id.
    """
    old: list[Message] = []
    for message in () if seen.is_whole else fresh:
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
        stored: list[Message] = yield session.append(fresh)
        seen.add(fresh)
        for id in seen.find_stale_pieces(fresh):
            yield session.remove(id)
            seen.discard(id)
        return stored
    return []
