"""Which beginning of a list is a packed view of what is stored, told from what stands in it alone."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from llamaindex_wmem._convert import own_text
from wmem import Message

__all__ = ["Match", "Shown"]

_CUT = re.compile(r"\n?\[… \d+ tokens left out[^\]]*…\]\n?")
"""What a pack puts in place of what it cut out of a message."""


class Shown(NamedTuple):
    """The beginning of a list that was shown, and what of the stored it stands for.

    Attributes:
        length: How many messages of the list.
        upto: How many of the stored messages there were then.
    """

    length: int
    upto: int


class Match:
    """Finds given messages among the stored, in order and from the end."""

    def __init__(self, stored: Sequence[Message], given: Sequence[Message], texts: Sequence[str]) -> None:
        self._stored = stored
        self._given = given
        self._texts = texts
        self._places: defaultdict[str, list[int]] = defaultdict(list)

    def shown(self, *, noted: bool) -> Shown | None:
        """The beginning of the given that is best explained as a view of the stored.

        A message that is found speaks for it and one that is not against it, as a pack
        makes up very few; and it ends where the stored end, unless more was put since.
        """
        if not noted and all(self._cut(message, len(self._stored)) is None for message in self._given):
            return None
        for at, message in enumerate(self._stored):
            self._places[own_text(message)].append(at)
        best, found = 0, None
        for length in range(len(self._given), 0, -1):
            if best >= length + 2:
                break  # no shorter one can be better
            last = self._place(length - 1, len(self._stored))
            if last is None:
                continue
            score, before = 3 if last == len(self._stored) - 1 else 1, last
            for index in reversed(range(length - 1)):
                place = self._place(index, before)
                score += -2 if place is None else 1
                before = before if place is None else place
            if score > best:
                best, found = score, Shown(length, last + 1)
        return found

    def _place(self, index: int, before: int) -> int | None:
        """Where the given message stands last among the first `before` stored."""
        places = self._places.get(self._texts[index], [])
        if at := bisect_left(places, before):
            return places[at - 1]
        return self._cut(self._given[index], before)

    def _cut(self, message: Message, before: int) -> int | None:
        """Where the message stands of which this is what a pack left over."""
        if (mark := _CUT.search(message.text)) is None:
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
