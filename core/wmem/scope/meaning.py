"""Embeds a query for retrieval, and backfills the vectors of texts that have none yet.

The embedder is called outside all locks, in batches, for vectors neither in memory nor stored.
When it fails, retrieval goes by words alone; the pack never fails.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from wmem.engine import Timed
from wmem.errors import DisposedError, StoreError
from wmem.flow import Flow, ask
from wmem.model.row import Row
from wmem.replica import Replica
from wmem.scope.erasure import swept, tell_remaining
from wmem.scope.handle import Handle
from wmem.scope.recall import Dense, shelved, text_of, unshelved
from wmem.scope.vectors import kept, looked, store_of, stored
from wmem.text.embedding import Embedding, fingerprint
from wmem.text.vectors import as_rows
from wmem.waiting import Pause, backoff

if TYPE_CHECKING:
    from wmem.text.vectors import Floats

__all__ = ["meaning"]

BATCH = 64
MOST_NEW = 512  # texts embedded for one pack; the others wait for later packs
MOST_ITEMS = 100_000  # of one scope: the cosine of every one is computed
MOST_CHARACTERS = 8_000  # of a text: few models read more, and one too long would fail its whole batch

_log = logging.getLogger("wmem.scope")


class _Text(NamedTuple):
    """A row without a vector, with its replica's depth, its text, and the id its vector is stored under."""

    depth: int
    row: Row
    said: str
    id: str


class _Failed(Exception):  # noqa: N818  # a signal inside this module
    """The embedder failed; the message says how."""


def meaning(handle: Handle, replicas: Sequence[Replica[Any]], query: str) -> Flow[tuple[Dense | None, Sequence[str]]]:
    """Embed a query, and first the texts it is compared with that have no vector.

    Args:
        replicas: The scope's, then its parents', whose messages are not retrieved.

    Returns:
        The embedding, None to rank by words alone; and warnings that say why, none if there is no embedder.
    """
    embedding = handle.settings.embedding
    if embedding is None:
        return None, ()
    most = max(len(replica.state.rows) for replica in replicas)
    if most > MOST_ITEMS:
        told = f"recalled by words alone: {most:,} items in a scope are more than the {MOST_ITEMS:,} with vectors"
        return None, _told(handle, told, f"{MOST_ITEMS}")
    if (left := embedding.off_until - handle.settings.clock()) > 0:
        told = f"recalled by words alone: the embedder {embedding.name!r} failed and is left alone for {left:.0f} s"
        return None, (told,)
    try:
        vector = yield from _asked(handle, embedding, query)
        if embedding.off_until <= handle.settings.clock():
            yield from _Supply(handle, embedding, replicas, query, vector).flow()
    except _Failed as exc:
        embedding.failed(handle.settings.clock())
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


class _Supply:
    """Backfills rows without a vector: from the vector store, then some from the embedder, the newest first."""

    def __init__(
        self, handle: Handle, embedding: Embedding, replicas: Sequence[Replica[Any]], query: str, vector: "Floats"
    ) -> None:
        self._handle = handle
        self._embedding = embedding
        self._replicas = replicas
        self._width = len(vector)
        self._nothing = vector * 0
        self._began = handle.settings.clock()
        self._store = store_of(handle)
        # The query is mostly the newest message, too: it is embedded once.
        self._known: Mapping[str, Floats] = {fingerprint(query, embedding.name): vector}

    def flow(self) -> Flow[None]:
        """Run the backfill, within the timeout of one call of the embedder."""
        waiting = [
            (depth, row)
            for depth, replica in enumerate(self._replicas)
            for row in unshelved(replica, self._embedding.name, self._width, self._began, messages=not depth)
        ]
        if not waiting:
            return
        replica = yield from looked(self._store, texts=len(waiting), few=BATCH)
        new: dict[str, list[_Text]] = {}
        texts = self._read(waiting)
        # In slices: reading all of a large scope takes seconds, and the newest may be enough.
        while len(new) < MOST_NEW and self._in_time() and (some := list(islice(texts, MOST_NEW))):
            found = kept(replica, dict.fromkeys(text.id for text in some), self._width)
            self._take(some, found)
            for text in some:
                if text.id not in found:
                    new.setdefault(text.id, []).append(text)
        wanted = dict(islice(new.items(), MOST_NEW))
        root, engine = self._handle.path[0], self._handle.engine
        mine = engine.claim((root, id) for id in wanted)
        try:
            # Another pack may have stored them since they were looked up.
            found = kept(replica, [id for _, id in mine], self._width)
            self._take([text for id in found for text in wanted[id]], found)
            yield from self._make({id: wanted[id] for _, id in mine if id not in found})
        finally:
            engine.disclaim(mine)
        if others := wanted.keys() - {id for _, id in mine}:
            yield from self._await([text for id in others for text in wanted[id]])

    def _read(self, waiting: Sequence[tuple[int, Row]]) -> Iterator[_Text]:
        for depth, row in waiting:
            said = text_of(row)
            if said.strip():
                yield _Text(depth, row, said, fingerprint(said, self._embedding.name))
            else:
                shelved(self._replicas[depth], self._embedding.name, [(row, self._nothing)])

    def _take(self, texts: Sequence[_Text], made: Mapping[str, "Floats"]) -> None:
        for depth, replica in enumerate(self._replicas):
            if found := [(text.row, made[text.id]) for text in texts if text.depth == depth and text.id in made]:
                self._handle.engine.grow(shelved(replica, self._embedding.name, found))

    def _make(self, wanted: Mapping[str, Sequence[_Text]]) -> Flow[None]:
        """Embed texts, store their vectors and index them, batch by batch."""
        made = {id: vector for id, vector in self._known.items() if id in wanted}
        left = iter([id for id in wanted if id not in made])
        while True:
            batch = list(islice(left, BATCH)) if self._in_time() else []
            if batch:
                said = [wanted[id][0].said for id in batch]
                made |= zip(batch, (yield from _embedded(self._handle, self._embedding, said)), strict=True)
            if not made:
                return
            texts = [text for id in made for text in wanted[id]]
            self._take(texts, made)
            if (yield from stored(self._store, made)):
                yield from self._settle(texts)
            made = {}

    def _in_time(self) -> bool:
        now = self._handle.settings.clock()
        return now - self._began < self._embedding.timeout_s and self._embedding.off_until <= now

    def _settle(self, texts: Sequence[_Text]) -> Flow[None]:
        """Purge again if a text was removed while it was embedded: its removal did not see the vector."""
        try:
            replicas = yield from self._handle.replicas()
        except DisposedError:
            gone = True
        except StoreError:
            return
        else:
            gone = any(not _says(replicas[text.depth], text) for text in texts)
        if gone:
            tell_remaining(self._handle, "gone while its vector was made", (yield from swept(self._handle)))

    def _await(self, texts: Sequence[_Text]) -> Flow[None]:
        """Wait for the vectors that another pack is making, and index them."""
        works = [(self._handle.path[0], text.id) for text in texts]
        until, tries = time.monotonic() + self._embedding.timeout_s, 0
        while self._handle.engine.claimed(works) and time.monotonic() < until:
            tries += 1
            yield from ask(Pause.sleep, backoff(tries))
        replica = yield from looked(self._store, texts=len(texts), few=BATCH)
        self._take(texts, kept(replica, {text.id: None for text in texts}, self._width))


def _says(replica: Replica[Any], text: _Text) -> bool:
    row = replica.state.rows.get(text.row.id)
    return row is text.row or (row is not None and text_of(row) == text.said)


def _embedded(handle: Handle, embedding: Embedding, texts: Sequence[str]) -> "Flow[Floats]":
    """Embed texts: vectors of length 1, or all zeros where the embedder returns zeros.

    Raises:
        _Failed: It raised, took too long, or returned no matrix of numbers.
    """
    clock = handle.settings.clock
    began = clock()
    try:
        given = yield from ask(
            Timed.within, partial(embedding.call, [text[:MOST_CHARACTERS] for text in texts]), embedding.timeout_s
        )
    except TimeoutError as exc:
        msg = f"took longer than {embedding.timeout_s:g} s"
        raise _Failed(msg) from exc
    except Exception as exc:  # a user's function: whatever it raises, the pack goes on
        msg = f"raised {type(exc).__name__}"
        raise _Failed(msg) from exc
    try:
        made = as_rows(given, len(texts))
    except (TypeError, ValueError) as exc:
        msg = f"failed: {exc}"
        raise _Failed(msg) from exc
    except Exception as exc:  # a tensor on another device, say: its conversion to an array is foreign code
        msg = f"returned a {type(given).__name__} that is no array: {type(exc).__name__}"
        raise _Failed(msg) from exc
    if (took := clock() - began) > embedding.timeout_s:
        embedding.failed(clock())
        _told(handle, f"the embedder {embedding.name!r} took {took:.1f} s and is left alone for a while", "slow")
    else:
        embedding.served()
    return made
