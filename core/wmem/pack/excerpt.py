"""Excerpts of a memory that is too long to be quoted whole: a passage that bears on the query, else its two ends."""

from datetime import UTC, tzinfo

from wmem.fork import cached_property
from wmem.model.message import Message
from wmem.pack.passage import LongText, PassageTerms, passage
from wmem.pack.ranges import cut_mark
from wmem.pack.render import NoteEntry, format_day, quote_block, speaker_in_front
from wmem.pack.request import Candidate, Quote
from wmem.pack.truncation import truncate_text
from wmem.pack.wording import is_plain_text, message_text, normalize_text
from wmem.rules.nearness import gist_of_plain
from wmem.tokens.counter import Counter

_MAX_CHARS_PER_TOKEN = 8


class LongMemory:
    """A long memory, and what all its excerpts are made of: made once, for whatever queries.

    Attributes:
        recalled: Whether it is a note itself, which is quoted in none.
    """

    def __init__(self, candidate: Candidate, message: Message, count: Counter, zone: tzinfo = UTC) -> None:
        self.recalled = message.recalled
        self._text = LongText(message_text(message), count)
        self._is_plain = is_plain_text(message)
        self._speaker = speaker_in_front(candidate, message)
        self._day = format_day(candidate.at, zone)
        self._last: tuple[tuple[int, int, int], Quote, int, str | None] | None = None

    @property
    def characters(self) -> int:
        """Characters of its text."""
        return len(self._text.text)

    @cached_property
    def _normal_form(self) -> str:
        # Duplicates are detected by the whole text: a part of what a message says is a duplicate, too.
        return normalize_text(self._text.text)

    def to_note_entry(self, candidate: Candidate, max_tokens: int, terms: PassageTerms | None) -> NoteEntry:
        """The memory as an entry of the note; above `max_tokens` only its passage that matches the query.

        If no sentence matches, its middle is cut out. An agent's calls in one turn ask the same: the last one is kept.

        Args:
            candidate: The memory.
            terms: The query's; None if there is no query.
        """
        wanted = candidate.tokens, max_tokens, hash(terms)  # not the terms: an erased question stays nowhere
        last = self._last
        if last is None or last[0] != wanted:
            last = self._last = wanted, *self._quote(candidate.tokens, max_tokens, terms)
        _, quote, tokens_cut, excerpt = last
        return NoteEntry(candidate, quote, tokens_cut, "recalled", excerpt=excerpt)

    def _quote(self, size: int, max_tokens: int, terms: PassageTerms | None) -> tuple[Quote, int, str | None]:
        """A quote, how many tokens it leaves out of so many, and what it says of the text if that is not all."""
        whole, tokens_cut = self._text, 0
        text, count = whole.text, whole.count
        excerpt: str | None = None
        if not self._is_plain and len(text) <= _MAX_CHARS_PER_TOKEN * max_tokens:
            size = whole.tokens  # in words it takes less: a picture its name only
        if size > max_tokens:
            if terms is not None and (found := passage(whole, terms, max_tokens)) is not None:
                head, tail, tokens = found.text, "", found.tokens
            else:
                head, tail, tokens = truncate_text(text, max_tokens, count)
            tokens_cut = max(0, size - tokens)
            text = excerpt = f"{head} {cut_mark(tokens_cut)} {tail}".rstrip()
        block, normal = quote_block(f"{self._speaker}{text}"), self._normal_form
        return Quote(self._day, block, normal, count(f"{block}\n"), gist_of_plain(normal)), tokens_cut, excerpt
