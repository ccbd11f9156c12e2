"""Recognises packed views that frameworks pass back as the history, and finds the new messages.

A packed view leaves messages out. Frameworks still pass it to `set` as the history, so
a list that begins with one continues the conversation and does not replace it.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from llamaindex_wmem._convert import own_text
from llamaindex_wmem._match import Match, Shown
from wmem import Context, Message

__all__ = ["HANDED_OUT", "Views"]

_MOST = 4_096
_ENDS = 8
"""Number of newest message ids stored with a view to locate it; some may be removed before it comes back."""


class Views:
    """The packed views returned last, each as one digest; thread-safe.

    At most `most` views are held; the oldest are evicted first.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: OrderedDict[bytes, tuple[str | None, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, session: tuple[str, ...], context: Context, newest: Sequence[Message]) -> None:
        """Record a packed view, so that it is recognised later; a view that leaves nothing out is not recorded.

        Args:
            newest: The newest messages of the session when it was packed, oldest first.
        """
        made_up = any(message.id is None for message in context.messages)
        left_out = context.note or context.truncated or context.dropped.count or made_up
        if not left_out or not context.messages:
            return
        *_, digest = _digests(session, [own_text(message) for message in context.messages])
        with self._lock:
            self._known[digest] = tuple(message.id for message in newest[-_ENDS:])
            self._known.move_to_end(digest)
            while len(self._known) > self._most:
                self._known.popitem(last=False)

    def continued(
        self, session: tuple[str, ...], stored: Sequence[Message], given: Sequence[Message], *, noted: bool
    ) -> list[Message] | None:
        """What to append to `stored` when `given` begins with a view of it; None when it replaces `stored`.

        If no view is known, a note next to `given` or a truncated message shows that it
        was packed. Then it is matched with `stored` from the end.

        Args:
            noted: Whether a note of recalled text was among the given messages.
        """
        if noted and not given:
            return []
        texts = [own_text(message) for message in given]
        shown = self._known_start(session, stored, texts)
        if shown is not None:
            before = [own_text(message) for message in stored[: shown.upto]] if shown.upto == shown.length else None
            if before == texts[: shown.length]:
                return None  # nothing was left out: a list that lacks later messages removes them
        else:
            shown = Match(stored, given, texts).shown(noted=noted)
        if shown is None:
            return None
        # A message may already be stored, if it was put since, or set before.
        there = Counter(map(own_text, stored[shown.upto :]))
        new = []
        for message, text in zip(given[shown.length :], texts[shown.length :], strict=True):
            if there[text]:
                there[text] -= 1
            else:
                new.append(message)
        return new

    def _known_start(self, session: tuple[str, ...], stored: Sequence[Message], texts: Sequence[str]) -> Shown | None:
        """The longest known view that the texts begin with, if one of its newest messages is still stored."""
        with self._lock:
            found = [
                (length, self._known[digest])
                for length, digest in enumerate(_digests(session, texts), start=1)
                if digest in self._known
            ]
        if not found:
            return None
        places = {message.id: place for place, message in enumerate(stored)}
        for length, ends in reversed(found):
            if left := [places[id_] for id_ in ends if id_ in places]:
                return Shown(length, max(left) + 1)
        return None


HANDED_OUT = Views()
"""One for the process: one web request reads a session, and the next sets it through another memory object."""


def _digests(session: tuple[str, ...], texts: Sequence[str]) -> Iterator[bytes]:
    """Digests of every prefix of the texts of a session, shortest first."""
    running = blake2b(repr(session).encode("utf-8", "surrogatepass"), digest_size=16)
    for text in texts:  # JSON, so without line breaks
        running.update(f"\n{text}".encode())
        yield running.copy().digest()
