"""What a query means, for recall: its vector, and those of the texts that have none yet.

The embedder is asked outside all locks, in batches, for what is neither here nor stored.
Whatever goes wrong with it costs the meaning, never the pack.
"""

import logging
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from wmem.engine import Timed
from wmem.flow import Flow, ask
from wmem.model.row import Row
from wmem.replica import Replica
from wmem.scope.handle import Handle
from wmem.scope.recall import Dense, shelved, text_of, unshelved
from wmem.scope.vectors import kept, stored
from wmem.text.embedding import OFF_S, Embedding, fingerprint
from wmem.text.vectors import as_rows

if TYPE_CHECKING:
    from wmem.text.vectors import Floats

__all__ = ["meaning"]

BATCH = 64
MOST_NEW = 512  # texts embedded for one pack; the others wait for the next ones
MOST_ITEMS = 100_000  # of one scope, whose cosines are computed one and all

_log = logging.getLogger("wmem.scope")


class _Text(NamedTuple):
    """A row without a vector, what it says, and what its vector is stored under."""

    replica: Replica[Any]
    row: Row
    said: str
    id: str


class _Failed(Exception):  # noqa: N818  # a signal inside this module
    """The embedder did not do what it is for; the sentence says what."""


def meaning(handle: Handle, replicas: Sequence[Replica[Any]], query: str) -> Flow[tuple[Dense | None, Sequence[str]]]:
    """What a query means, once what it is compared with has vectors.

    Args:
        replicas: The scope's, then its parents', whose messages are not recalled.

    Returns:
        None where recall goes by words alone, and the warnings that say why; no embedder is no reason for one.
    """
    embedding = handle.settings.embedding
    if embedding is None:
        return None, ()
    most = max(len(replica.state.rows) for replica in replicas)
    if most > MOST_ITEMS:
        told = f"recalled by words alone: {most:,} items in a scope are more than the {MOST_ITEMS:,} with vectors"
        return None, _told(handle, told, f"{MOST_ITEMS}")
    if handle.settings.clock() < embedding.off_until:
        return None, (f"recalled by words alone: the embedder {embedding.name!r} failed within the last {OFF_S:.0f} s",)
    try:
        vector = yield from _asked(handle, embedding, query)
        if embedding.off_until <= handle.settings.clock():
            yield from _supplied(handle, embedding, replicas, len(vector))
    except _Failed as exc:
        embedding.off_until = handle.settings.clock() + OFF_S
        return None, _told(handle, f"recalled by words alone: the embedder {embedding.name!r} {exc}", embedding.name)
    return Dense(embedding.name, vector), ()


def _asked(handle: Handle, embedding: Embedding, query: str) -> "Flow[Floats]":
    vector: Floats = (yield from _embedded(handle, embedding, [query]))[0]
    if not vector.any():
        msg = "returned only zeros for the query"
        raise _Failed(msg)
    return vector


def _told(handle: Handle, warning: str, what: str) -> Sequence[str]:
    if handle.engine.first_time(("words alone", handle.path[0], what)):
        _log.warning("agent %s: %s", handle.path[0], warning)
    return (warning,)


def _supplied(handle: Handle, embedding: Embedding, replicas: Sequence[Replica[Any]], width: int) -> Flow[None]:
    """Give what is stored to what has no vector, and make new ones for some of the rest, the newest first."""
    now = handle.settings.clock()
    texts = [
        _Text(replica, row, said, fingerprint(said, embedding.name))
        for depth, replica in enumerate(replicas)
        for row in unshelved(replica, embedding.name, now, messages=not depth)
        if (said := text_of(row)).strip()
    ]
    if not texts:
        return
    known = yield from kept(handle, dict.fromkeys(text.id for text in texts), width)
    _taken(embedding, texts, known)
    new = {text.id: text.said for text in texts if text.id not in known}
    left = iter(islice(new.items(), MOST_NEW))
    while (batch := dict(islice(left, BATCH))) and handle.settings.clock() - now < embedding.timeout_s:
        made = dict(zip(batch, (yield from _embedded(handle, embedding, list(batch.values()))), strict=True))
        yield from stored(handle, made)
        _taken(embedding, texts, made)


def _taken(embedding: Embedding, texts: Sequence[_Text], made: "Any") -> None:
    by_replica: dict[int, tuple[Replica[Any], list[tuple[Row, Floats]]]] = {}
    for text in texts:
        if text.id in made:
            by_replica.setdefault(id(text.replica), (text.replica, []))[1].append((text.row, made[text.id]))
    for replica, found in by_replica.values():
        shelved(replica, embedding.name, found)


def _embedded(handle: Handle, embedding: Embedding, texts: list[str]) -> "Flow[Floats]":
    """Vectors of length 1, or of zeros where the embedder has nothing to say.

    Raises:
        _Failed: It raised, took too long for coroutines, or returned what is no matrix of numbers.
    """
    clock = handle.settings.clock
    began = clock()
    try:
        given = yield from ask(Timed.within, partial(embedding.call, texts), embedding.timeout_s)
    except TimeoutError as exc:
        msg = f"took longer than {embedding.timeout_s:g} s"
        raise _Failed(msg) from exc
    except Exception as exc:  # a user's function: whatever it raises, the pack goes on
        msg = f"raised {type(exc).__name__}"
        raise _Failed(msg) from exc
    if (took := clock() - began) > embedding.timeout_s:
        embedding.off_until = clock() + OFF_S
        _told(handle, f"the embedder {embedding.name!r} took {took:.1f} s and is left alone for a while", "slow")
    try:
        return as_rows(given, len(texts))
    except (TypeError, ValueError) as exc:
        msg = f"failed: {exc}"
        raise _Failed(msg) from exc
