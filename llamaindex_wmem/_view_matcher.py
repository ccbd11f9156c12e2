"""Finds how much of the beginning of a list is a packed view of the stored messages, by content alone."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from llamaindex_wmem._convert import canonical_json
from wmem import Message
from wmem.adapter import to_sendable

# What truncation leaves in a message, or all that it leaves of it.
_TRUNCATION_MARK = re.compile(r"\n?\[… \d+ tokens left out[^\]]{0,80}…\]\n?|\A\[…\]\Z")


class ViewMatch(NamedTuple):
    """The beginning of a list that is a packed view, and the stored messages it covers.

    Attributes:
        length: Number of messages of the list.
        stored_count: Number of messages that were stored when it was packed.
    """

    length: int
    stored_count: int


class ViewMatcher:
    """Matches given messages with stored ones, in order and from the end."""

    def __init__(self, stored: Sequence[Message], incoming: Sequence[Message]) -> None:
        self._stored = stored
        self._incoming = incoming
        self._keys = [_match_key(message) for message in incoming]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self._stored_keys: dict[int, str] = {}

    def find_view(self, *, has_note: bool) -> ViewMatch | None:
        """The beginning of the given messages that is a view, if a note or a truncated message shows that it is one."""
        if not has_note and all(self._find_truncated(message, len(self._stored)) is None for message in self._incoming):
            return None
        return self.find_best()

    def find_best(self) -> ViewMatch | None:
        """The beginning of the given messages that scores best as a view of the stored ones.

        A message that is found scores for it and one that is not against it, since a pack
        adds very few of its own; ending at the newest stored message scores more.
        """
        for at, message in enumerate(self._stored):
            self._places[_match_key(message)].append(at)
        best, found = 0, None
        for length in range(len(self._incoming), 0, -1):
            if best >= length + 2:
                break  # no shorter one can be better
            last = self._find_place(length - 1, len(self._stored))
            if last is None:
                continue
            score, before = 3 if last == len(self._stored) - 1 else 1, last
            for index in reversed(range(length - 1)):
                place = self._find_place(index, before)
                score += -2 if place is None else 1
                before = before if place is None else place
            if score > best:
                best, found = score, ViewMatch(length, last + 1)
        return found

    def list_places(self, view: ViewMatch) -> list[int | None]:
        """For each message of a view that `find_best` found, its index among the stored ones; None if there is none."""
        places: list[int | None] = []
        before = len(self._stored)
        for index in reversed(range(view.length)):
            place = self._find_place(index, before)
            places.append(place)
            before = before if place is None else place
        return places[::-1]

    def find_end(self, least: int) -> ViewMatch | None:
        """The longest beginning of the given messages that is the end of the stored ones, but not all of them.

        A list that begins as the stored ones begin, and goes on, is an edit of the whole; one message
        that is their first as well as their last takes back the rest.

        Args:
            least: How many messages it has at least, if others follow it.
        """
        first = self._incoming[0] if self._incoming else None
        for length in range(min(len(self._keys), len(self._stored) - 1), 0, -1):
            begin = self._stored[-length]
            # Most are told apart by their text, which costs less than their keys.
            if first is None or begin.role != first.role or begin.text != first.text:
                continue
            if self._count_alike(len(self._stored) - length, length) == length:
                alike = self._count_alike(0, length)
                is_whole = length == len(self._keys) and length > min(alike, 1)
                return ViewMatch(length, len(self._stored)) if is_whole or length >= max(least, alike + 1) else None
        return None

    def _count_alike(self, begin: int, limit: int) -> int:
        """How many of the given messages are, from their first on, the stored ones from `begin` on; at most `limit`."""
        pairs = zip(self._keys[:limit], range(begin, begin + limit), strict=True)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == self._key_at(pair[1]), pairs))

    def _key_at(self, place: int) -> str:
        if place not in self._stored_keys:
            self._stored_keys[place] = _match_key(self._stored[place])
        return self._stored_keys[place]

    def _find_place(self, index: int, before: int) -> int | None:
        """Last index of the given message, whole or truncated, among the first `before` stored."""
        places = self._places.get(self._keys[index], [])
        if at := bisect_left(places, before):
            return places[at - 1]
        return self._find_truncated(self._incoming[index], before)

    def _find_truncated(self, message: Message, before: int) -> int | None:
        """Last index, below `before`, of the stored message that this one is a truncation of."""
        if (mark := _TRUNCATION_MARK.search(message.text)) is None:
            return None
        head, tail = message.text[: mark.start()], message.text[mark.end() :]
        for place in reversed(range(before)):
            whole = self._stored[place]
            if (
                whole.role == message.role
                and whole.text.startswith(head)
                and whole.text.endswith(tail)
                and len(whole.text) > len(head) + len(tail)
                and whole.text != message.text
            ):
                return place
        return None


def _match_key(message: Message) -> str:
    """What a message says, without the names and ids that a pack fits to providers."""
    if not message.tool_calls and all(part.kind == "text" for part in message.parts):  # nearly every message
        text = "\n".join((message.role, *(part.text or "" for part in message.parts)))
        return text if text.isascii() else to_sendable(text)
    calls = tuple(call.model_copy(update={"id": ""}) for call in message.tool_calls)
    bare = {"tool_calls": calls, "tool_call_id": None, "name": None, "native": None}
    return canonical_json(message.model_copy(update=bare))
