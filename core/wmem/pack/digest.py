"""Extractive summary of messages that the budget leaves out: their best sentences, verbatim, in the note.

Each pack makes it anew and stores nothing. The text read is bounded, so a session of
any length costs the same.
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
"""Messages a summary covers at most: the newest of those left out."""
_TOKENS_FOR_ONE = 32
"""Tokens of messages read per token of the summary, at most."""
_CHARACTERS = 4_000
"""Characters read of one message, from its beginning."""
_WEIGHTS = {"user": 1.0, "assistant": 0.8}
_RESULT = 0.4
_ASKED = 0.5
"""Weight added to a message that has every term of the query."""


class Digest(NamedTuple):
    """A summary as an entry of the note, and the ids of its source messages."""

    noted: Noted
    sources: tuple[str, ...]
    covered: int
    """How many of the newest messages left out were read for it."""


def digest(left_out: Sequence[Candidate], limit: int, query: str, larder: Larder, note: Note) -> Digest | None:
    """Summarize messages in at most `limit` tokens, frame and heading included; None when no sentence fits.

    User messages weigh most, then assistant messages, then tool results; within a role
    the share of the query's terms counts, then the rarity of the terms.

    Args:
        left_out: Newest first; as many are covered as the bounds allow.
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
