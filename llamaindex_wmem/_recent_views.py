"""Recognises packed views that frameworks pass back as the history, and finds the new messages.

A packed view leaves messages out. Frameworks still pass it to `set` as the history, whole or
without its beginning, so a list that begins with one continues the conversation and does not
replace it. So does one that begins with the end of what is stored.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from llamaindex_wmem._convert import canonical_json
from llamaindex_wmem._view_matcher import ViewMatch, ViewMatcher
from wmem import Context, Message
from wmem.adapter import LruCache

_MAX_VIEWS = 4_096
_DIGEST_SIZE = 8  # bytes, of one message of a view
_ANCHOR_COUNT = 8
"""Number of newest message ids stored with a view to locate it; some may be removed before it comes back."""
END_COUNT = 2
"""Number of messages by which the end of something is known: one alone may begin anything."""


class RecentViews:
    """The packed views returned last, as digests; thread-safe.

    At most `most` views are held; the oldest are evicted first.
    """

    def __init__(self, max_views: int = _MAX_VIEWS) -> None:
        self._anchor_ids: LruCache[bytes, tuple[str | None, ...]] = LruCache(max_views)
        self._ends: LruCache[bytes, tuple[bytes, tuple[str | None, ...]]] = LruCache(max_views)
        """By how a view ends, the digests of its messages: it may come back without its beginning."""
        self._notes: LruCache[bytes, bool] = LruCache(max_views)

    def record(self, session: tuple[str, ...], context: Context, newest: Sequence[Message]) -> None:
        """Record a packed view, so that it is recognised later; one that shows all as it is stored is not recorded.

        Args:
            newest: The newest messages of the session when it was packed, oldest first.
        """
        if context.note:
            self._notes.put(_note_key(context.note), True)  # noqa: FBT003  # the value says nothing
        made_up = any(message.id is None for message in context.messages)
        left_out = context.note or context.truncated or context.dropped.count or made_up
        # As it comes back: a note that stands alone is dropped when it is read, so nothing is joined to it here.
        shown = [message for message in context.prompt() if not message.recalled or message.text != context.note]
        joined = len(shown) != len(context.messages)
        if not (left_out or context.is_fitted or joined) or not context.messages:
            return
        texts = [canonical_json(message) for message in shown]
        *_, digest = _prefix_digests(session, texts)
        anchor_ids = tuple(message.id for message in newest[-_ANCHOR_COUNT:])
        self._anchor_ids.put(digest, anchor_ids)
        end, digests = _end_key(session, texts), _join_digests(texts)
        longest, _ = self._ends.get(end) or (b"", ())
        self._ends.put(end, (longest if longest.endswith(digests) else digests, anchor_ids))

    def has_shown(self, note: str) -> bool:
        """Whether a view that was recorded had this note."""
        return self._notes.get(_note_key(note)) is not None

    def find_continuation(
        self, session: tuple[str, ...], stored: Sequence[Message], incoming: Sequence[Message], *, has_note: bool
    ) -> list[Message] | None:
        """What to append to `stored` when `incoming` begins with a view of it; None when it replaces `stored`.

        If no view is known, a note next to `incoming` or a truncated message shows that it
        was packed. Then it is matched with `stored` from the end. Else it may begin with the
        end of `stored`.

        Args:
            has_note: Whether a note of recalled text was among the given messages.
        """
        if has_note and not incoming:
            return []
        texts = [canonical_json(message) for message in incoming]
        shown = self.find_known_view(session, stored, texts) or self._find_known_end(session, stored, texts)
        if shown is not None:
            begun = texts[: shown.length]
            if shown.stored_count == shown.length and [*map(canonical_json, stored[: shown.length])] == begun:
                return None  # nothing was left out: a list that lacks later messages removes them
        else:
            matcher = ViewMatcher(stored, incoming)
            shown = matcher.find_view(has_note=has_note) or matcher.find_end(END_COUNT)
        if shown is None:
            return None
        # A message may already be stored, if it was put since, or set before.
        there = Counter(map(canonical_json, stored[shown.stored_count :]))
        new = []
        for message, text in zip(incoming[shown.length :], texts[shown.length :], strict=True):
            if there[text]:
                there[text] -= 1
            else:
                new.append(message)
        return new

    def find_known_view(
        self, session: tuple[str, ...], stored: Sequence[Message], texts: Sequence[str]
    ) -> ViewMatch | None:
        """The longest known view that the texts begin with, if one of its newest messages is still stored.

        Args:
            texts: The messages' `canonical_json`, without notes.
        """
        found = [
            (length, ends)
            for length, digest in enumerate(_prefix_digests(session, texts), start=1)
            if (ends := self._anchor_ids.get(digest)) is not None
        ]
        return _find_longest(found, stored)

    def _find_known_end(
        self, session: tuple[str, ...], stored: Sequence[Message], texts: Sequence[str]
    ) -> ViewMatch | None:
        """The longest end of a known view that the texts begin with, as `find_known_view` finds a whole one."""
        digests, found = _join_digests(texts), []
        for length in range(END_COUNT, len(texts) + 1):
            view, ends = self._ends.get(_end_key(session, texts[:length])) or (b"", ())
            if view.endswith(digests[: length * _DIGEST_SIZE]):
                found.append((length, ends))
        return _find_longest(found, stored)


RECENT_VIEWS = RecentViews()
"""One for the process: one web request reads a session, and the next sets it through another memory object."""


def _find_longest(views: Sequence[tuple[int, tuple[str | None, ...]]], stored: Sequence[Message]) -> ViewMatch | None:
    """The longest of the views, of which the lengths and newest ids are given, that is still stored in part."""
    places = {message.id: place for place, message in enumerate(stored)} if views else {}
    for length, ends in reversed(views):
        if left := [places[id_] for id_ in ends if id_ in places]:
            return ViewMatch(length, max(left) + 1)
    return None


def _note_key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _end_key(session: tuple[str, ...], texts: Sequence[str]) -> bytes:
    *_, digest = _prefix_digests(session, texts[-END_COUNT:])
    return digest


def _join_digests(texts: Sequence[str]) -> bytes:
    return b"".join(blake2b(text.encode(), digest_size=_DIGEST_SIZE).digest() for text in texts)


def _prefix_digests(session: tuple[str, ...], texts: Sequence[str]) -> Iterator[bytes]:
    """Digests of every prefix of the texts of a session, shortest first."""
    running = blake2b(repr(session).encode("utf-8", "surrogatepass"), digest_size=16)
    for text in texts:  # JSON, so without line breaks
        running.update(f"\n{text}".encode())
        yield running.copy().digest()
