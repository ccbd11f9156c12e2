"""Stretches of a text that are to be hidden, and the marks that stand for them."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_MARK = re.compile(r"\[REDACTED_[A-Z0-9_]{1,64}(?:_[0-9a-f]{16})?\]")
_MARK_START = "[REDACTED_"
_PLAIN_MARK = re.compile(r"\[REDACTED_[A-Z0-9_]{1,64}\]")


class Span(NamedTuple):
    """A stretch of a text, in characters.

    Attributes:
        start: The first character.
        end: One past the last.
        kind: What stands there: a lower-case word, such as ``"email"``.
    """

    start: int
    end: int
    kind: str


def find_marks(text: str) -> Sequence[tuple[int, int]]:
    """Where marks stand."""
    return [match.span() for match in _MARK.finditer(text)] if _MARK_START in text else []


def mark_pattern() -> "re.Pattern[str]":
    """What matches a mark."""
    return _MARK


def is_full(text: str) -> bool:
    """Whether a text says nothing but marks."""
    return not any(char.isalnum() for char in _MARK.sub("", text))


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Spans in order that do not overlap: of those that did, one over all of them, with the kind of the longest."""
    merged: list[Span] = []
    longest = 0
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            before = merged[-1]
            kind = before.kind if longest >= span.end - span.start else span.kind
            longest = max(longest, span.end - span.start)
            merged[-1] = Span(before.start, max(before.end, span.end), kind)
        elif span.start < span.end:
            merged.append(span)
            longest = span.end - span.start
    return merged


def spare_marks(spans: Sequence[Span], marks: Sequence[tuple[int, int]], text: str) -> list[Span]:
    """Spans without what they share with marks; what has no letter and no digit left goes."""
    if not marks:
        return list(spans)
    rest: list[Span] = []
    at = 0
    for span in spans:
        start = span.start
        while at < len(marks) and marks[at][1] <= start:
            at += 1
        for mark_start, mark_end in marks[at:]:
            if mark_start >= span.end:
                break
            rest.append(Span(start, max(start, mark_start), span.kind))
            start = mark_end
        rest.append(Span(start, max(start, span.end), span.kind))
    return [span for span in rest if any(char.isalnum() for char in text[span.start : span.end])]


def has_plain_mark(text: str) -> bool:
    """Whether a text has a mark without the digest that a vault gives it: nobody knows if two stand for the same value."""
    return _MARK_START in text and _PLAIN_MARK.search(text) is not None
