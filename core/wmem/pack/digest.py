"""A summary of what the budget leaves out: its best sentences, as they were said, in the note.

It is made anew by each pack and stored nowhere. What it reads is bounded, so a session
of any length costs the same.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from wmem.model.message import Message
from wmem.pack.larder import Larder
from wmem.pack.render import IN_SHORT, Note, Noted, block_of, folded, said
from wmem.pack.request import Candidate, Quote
from wmem.text.index import terms_of
from wmem.text.summarize import Weighted, extract, sentences

__all__ = ["COVERED", "Digest", "digest"]

COVERED = 256
"""Messages a summary covers at most: the newest of those that are left out."""
_TOKENS_FOR_ONE = 32
"""Tokens of messages that are read for one of the summary, at most."""
_CHARACTERS = 4_000
"""Of one message, from its beginning."""
_WEIGHTS = {"user": 1.0, "assistant": 0.8}
_RESULT = 0.4
_ASKED = 0.5
"""What a message gains that says every word of the question."""


class Digest(NamedTuple):
    """The summary as it stands in the note, and the messages that its sentences are from."""

    noted: Noted
    sources: tuple[str, ...]
    covered: int
    """How many of the newest messages left out were read for it."""


def digest(left_out: Sequence[Candidate], limit: int, query: str, larder: Larder, note: Note) -> Digest | None:
    """At most `limit` tokens, frame and heading included, of what is left out; None when no sentence fits.

    What users said comes first, then what assistants said, then what tools returned;
    among these, what has most of the question's words, then the rarest words.

    Args:
        left_out: Newest first; as much of it is covered as the bounds allow.
    """
    covered: list[Candidate] = []
    tokens = 0
    for candidate in left_out[:COVERED]:
        tokens += min(candidate.tokens, _CHARACTERS)
        if covered and tokens > _TOKENS_FOR_ONE * limit:
            break
        covered.append(candidate)
    covered.reverse()
    asked = frozenset(terms_of(query))
    told: list[Weighted] = []
    places: list[Candidate] = []
    for candidate in covered:
        message = larder.message(candidate)
        text = "" if message.recalled else said(message)[:_CHARACTERS]
        weight = _WEIGHTS.get(message.role, _RESULT)
        if asked:
            weight += _ASKED * len(asked.intersection(terms_of(text))) / len(asked)
        for sentence in sentences(text):
            told.append(Weighted(f"{message.name or message.role}: {sentence}", weight))
            places.append(candidate)
    room = limit - note.price(_noted("", note).quote, ())
    while room > 0:
        found = extract(told, room, note.count)
        if not found.text:
            return None
        noted = _noted(found.text, note)
        if (over := note.price(noted.quote, ()) - limit) <= 0:
            sources = dict.fromkeys(places[place].id for place in found.places)
            return Digest(noted, tuple(sources), len(covered))
        room = min(room, found.tokens) - over
    return None


def _noted(text: str, note: Note) -> Noted:
    block = block_of(text)
    return Noted(
        candidate=Candidate(id="", role=None, tokens=0, at=0.0, load=partial(Message.of, "user", text)),
        quote=Quote(IN_SHORT, block, folded(text), note.count(block) + 1),
        cut=0,
        rule="summary",
    )
