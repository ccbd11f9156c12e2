"""Tells what of a handed prompt a session holds from what it does not: system text, context, a scratchpad."""

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple
from uuid import uuid4

from llamaindex_wmem._convert import canonical_json
from llamaindex_wmem._history import drop_notes
from llamaindex_wmem._recent_views import RECENT_VIEWS
from llamaindex_wmem._view_matcher import ViewMatcher
from wmem import Message, ToolCall

_SYSTEM = ("system", "developer")
_SURE_COUNT = 4  # messages in a row that no two sessions end with
_OBSERVATIONS = ("Observation: ", "Result of executing the code given:")
"""How LlamaIndex's agents begin what they observed, if they tell it as the user's message."""


class Placement(NamedTuple):
    """What of a handed prompt goes into a pack of the session, and what it asks.

    Attributes:
        live: Messages for `Scope.pack`: those that the session does not hold, with the stored ones that they
            follow, and the whole turn in flight.
        question: What the turn in flight is about; None if the prompt has no user message.
        is_session: Whether the prompt is of the session at all: only then may a pack send what the session holds.
        is_sure: Whether all that is missing in the session came before or after what it holds. Otherwise
            more of the session should be looked at, if there is more.
        rounds: Messages that go as calls and results of tools, by the ids that they go under: see `_tell_rounds`.
    """

    live: list[Message]
    question: Message | None
    is_session: bool
    is_sure: bool
    rounds: Mapping[str | None, Message]

    def restore(self, message: Message) -> Message:
        """A message of the pack in the form in which it was handed, cut if the pack has cut it."""
        before = self.rounds.get(message.id)
        return message if before is None else before.model_copy(update={"parts": message.parts})


def place_in_session(session: tuple[str, ...], stored: Sequence[Message], handed: Sequence[Message]) -> Placement:
    """The prompt as a pack of the session takes it.

    Args:
        session: Key of the session, as in `RecentViews`.
        stored: Its newest messages, oldest first.
    """
    messages = drop_notes(handed, RECENT_VIEWS)
    lead = _count_leading_system(stored, messages)
    split = _split_at_view(session, stored, messages[lead:])
    if split is None:
        # A note in it was made for another session, and is text like any other.
        messages = [message.model_copy(update={"metadata": {}}) for message in handed]
        lead, stored = _count_leading_system((), messages), ()
    seen, since = split or ([], messages[lead:])
    stored_ids = {message.id for message in stored}
    begun, question = _find_question(seen, since, stored_ids)
    past, turn = (sequence := [*seen, *since])[:begun], sequence[begun:]
    turn, rounds = _tell_rounds(turn, stored_ids)
    live = [*messages[:lead], *_keep_unstored(past, stored_ids), *turn]
    is_sure = all(message.id in stored_ids for message in seen)
    return Placement(live, question, is_session=split is not None, is_sure=is_sure, rounds=rounds)


def _split_at_view(
    session: tuple[str, ...], stored: Sequence[Message], rest: Sequence[Message]
) -> tuple[list[Message], list[Message]] | None:
    """The part that is a view of the session, as it is stored, and what follows it; None if there is none.

    Two sessions may have the same words, and one must never be sent what only the other holds: of a
    view that was not recorded, the newest stored messages are at its end, and several, or all there are.
    """
    view = RECENT_VIEWS.find_known_view(session, stored, [canonical_json(message) for message in rest])
    if view is not None:  # what is not stored like this was made of what is
        return list(stored[: view.stored_count]), _reuse_stored(stored[view.stored_count :], rest[view.length :])
    matcher = ViewMatcher(stored, rest)
    if (view := matcher.find_best()) is None:
        return None
    places = matcher.list_places(view)
    since = _reuse_stored(stored[view.stored_count :], rest[view.length :])
    newest = range(view.stored_count - min(_SURE_COUNT, view.stored_count), view.stored_count)
    missing = {message.id for message in stored[view.stored_count :]} - {message.id for message in since}
    if missing or places[-len(newest) :] != list(newest):
        return None
    return [rest[at] if place is None else stored[place] for at, place in enumerate(places)], since


def _count_leading_system(stored: Sequence[Message], messages: Sequence[Message]) -> int:
    """How many messages of system text, which the session does not hold, the prompt begins with."""
    known = {canonical_json(message) for message in stored if message.role in _SYSTEM}
    for at, message in enumerate(messages):
        if message.role not in _SYSTEM or canonical_json(message) in known:
            return at
    return len(messages)


def _reuse_stored(stored: Sequence[Message], messages: Sequence[Message]) -> list[Message]:
    """The messages behind a view; those that were stored since as they are there, an edited question under its id."""
    if not stored or not messages:
        return list(messages)
    left: defaultdict[str, list[Message]] = defaultdict(list)
    for message in reversed(stored):
        left[canonical_json(message)].append(message)
    alike = [left[canonical_json(message)] for message in messages]
    reused = [others.pop() if others else message for message, others in zip(messages, alike, strict=True)]
    [first, *others], newest = reused, stored[-1]
    if first is messages[0] and first.role == newest.role == "user" and newest.text in first.text:
        first = first.model_copy(update={"id": newest.id})  # an agent tells its state around the question
    return [first, *others]


def _find_question(
    seen: Sequence[Message], since: Sequence[Message], stored_ids: Container[str | None]
) -> tuple[int, Message | None]:
    """Where the turn in flight begins, and the user's message that it began with.

    An agent stores the question first, and what follows it unstored is what the agent did. Of a
    prompt that goes on with a user's message that is not stored, as a chat engine's, it is the newest.
    """
    sequence = [*seen, *since]
    users = [
        at
        for at, message in enumerate(sequence)
        if message.role == "user" and (message.id in stored_ids or not message.text.startswith(_OBSERVATIONS))
    ]
    if not (since and since[0].role == "user" and since[0].id not in stored_ids):
        users = [at for at in users if sequence[at].id in stored_ids] or users
    return (users[-1], sequence[users[-1]]) if users else (len(seen), None)


def _keep_unstored(messages: Sequence[Message], stored_ids: Container[str | None]) -> list[Message]:
    """The messages that are not stored, each behind the stored one that it follows; if it follows none, before it."""
    kept: list[Message] = []
    behind: Message | None = None
    for message in messages:
        if message.id is None or message.id not in stored_ids:
            kept += [message] if behind is None else [behind, message]
            behind = None
        elif kept and all(other.id not in stored_ids for other in kept):
            kept.append(message)
        else:
            behind = message
    return kept


def _tell_rounds(
    turn: Sequence[Message], stored_ids: Container[str | None]
) -> tuple[list[Message], dict[str | None, Message]]:
    """A turn in flight in which an agent called tools in words, told as calls and results, and what was told so by id.

    Such an agent hands what it observed as the user's messages. As results they are cut by their
    age as others are; as messages the older ones would be left out.
    """
    told: list[Message] = list(turn[:1])
    rounds: dict[str | None, Message] = {}
    for message in turn[1:]:
        caller = next((at for at in reversed(range(1, len(told))) if told[at].role == "assistant"), None)
        if message.role != "user" or message.id in stored_ids or caller is None:
            told.append(message)
            continue
        call, id = ToolCall(id=uuid4().hex, name="tool", arguments="{}"), message.id or uuid4().hex
        before = told[caller]
        if before.id is None:
            before = before.model_copy(update={"id": uuid4().hex})
        rounds.setdefault(before.id, before)
        told[caller] = before.model_copy(update={"tool_calls": (*before.tool_calls, call)})
        rounds[id] = message
        told.append(message.model_copy(update={"id": id, "role": "tool", "tool_call_id": call.id}))
    return told, rounds
