"""Embeds a query for retrieval, and backfills the vectors of texts that have none yet.

The embedder is called outside all locks, in batches, for vectors neither in memory nor stored.
When it fails, retrieval goes by words alone; the pack never fails.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from wmem.analysis.query_intent import remove_names
from wmem.analysis.query_terms import condense_query
from wmem.engine.guard import Guard, GuardedCallError
from wmem.engine.replica import Replica
from wmem.engine.write_queue import Pause, backoff
from wmem.errors import DisposedError, StoreError
from wmem.flow import Flow, ask
from wmem.log import find_logger
from wmem.model.row import Row
from wmem.model.sendable import to_sendable
from wmem.model.validation import describe_error
from wmem.retrieval.embedder import fingerprint
from wmem.retrieval.retriever import QueryVector, add_vectors, list_speakers, rows_without_vectors
from wmem.retrieval.vectors import to_unit_rows
from wmem.scope.erasure import compact_and_purge, log_remaining
from wmem.scope.handle import Handle
from wmem.scope.redaction import clean_text, redact_text
from wmem.scope.vector_store import find_vectors, load_store, store_vectors, vector_store_handle

if TYPE_CHECKING:
    from wmem.retrieval.vectors import Floats

EMBED_BATCH = 64
MAX_NEW_TEXTS = 512  # texts embedded for one pack; the others wait for later packs
MAX_ITEMS = 100_000  # of one scope: the cosine of every one is computed
MAX_CHARACTERS = 8_000  # of a text: few models read more, and one too long would fail its whole batch

_log = find_logger("wmem.scope")


class _Text(NamedTuple):
    """A row without a vector, with its replica's depth, its redacted text, and the id its vector is stored under."""

    depth: int
    row: Row
    text: str
    id: str


def embed_query(
    handle: Handle, replicas: Sequence[Replica[Any]], query: str
) -> Flow[tuple[QueryVector | None, Sequence[str]]]:
    """Embed a query, and first the texts it is compared with that have no vector.

    Of a long query its beginning and its end are embedded, without the names of speakers of the scope.

    Args:
        replicas: The scope's, then its parents' and those of long-term memory, whose messages are not retrieved.

    Returns:
        The embedding, None to rank by words alone; and warnings that say why, none if there is no embedder.
    """
    embedding = handle.settings.embedding
    if embedding is None:
        return None, ()
    most = max(len(replica.state.rows) for replica in replicas)
    if most > MAX_ITEMS:
        told = f"recalled by words alone: {most:,} items in a scope are more than the {MAX_ITEMS:,} with vectors"
        return None, _warn_once(handle, told, f"{MAX_ITEMS}")
    if (left := embedding.disabled_until - handle.settings.clock()) > 0:
        told = f"recalled by words alone: the embedder {embedding.name!r} failed and is left alone for {left:.0f} s"
        return None, (told,)
    query = redact_text(handle.settings.redaction, condense_query(query))
    query = remove_names(query, list_speakers(replicas[0]))
    try:
        vector = yield from _embed_query_text(handle, embedding, query)
        if embedding.disabled_until <= handle.settings.clock():
            yield from _Backfill(handle, embedding, replicas, query, vector).run()
    except GuardedCallError as exc:
        embedding.record_failure(handle.settings.clock())
        return None, _warn_once(
            handle, f"recalled by words alone: the embedder {embedding.name!r} {exc}", embedding.name
        )
    return QueryVector(embedding.name, vector), ()


def _embed_query_text(handle: Handle, embedding: Guard, query: str) -> "Flow[Floats]":
    vector: Floats = (yield from _embed_texts(handle, embedding, [query]))[0]
    if not vector.any():
        raise GuardedCallError("returned only zeros for the query")
    return vector


def _warn_once(handle: Handle, warning: str, reason: str) -> Sequence[str]:
    if handle.engine.warn_once(("words alone", handle.path[0], reason)):
        _log.warning("agent %s: %s", handle.path[0], warning)
    return (warning,)


class _Backfill:
    """Backfills rows without a vector: from the vector store, then some from the embedder, the newest first."""

    def __init__(
        self, handle: Handle, embedding: Guard, replicas: Sequence[Replica[Any]], query: str, vector: "Floats"
    ) -> None:
        self._handle = handle
        self._embedding = embedding
        self._replicas = replicas
        self._width = len(vector)
        self._zero_vector = vector * 0
        self._started_at = handle.settings.clock()
        self._store = vector_store_handle(handle)
        # The query is mostly the newest message, too: it is embedded once.
        self._known_vectors: Mapping[str, Floats] = {fingerprint(query, embedding.name): vector}

    def run(self) -> Flow[None]:
        """Run the backfill, within the timeout of one call of the embedder."""
        waiting = [
            (depth, row)
            for depth, replica in enumerate(self._replicas)
            for row in rows_without_vectors(
                replica, self._embedding.name, self._width, self._started_at, include_messages=not depth
            )
        ]
        if not waiting:
            return
        replica = yield from load_store(self._store, text_count=len(waiting), few_texts=EMBED_BATCH)
        new: dict[str, list[_Text]] = {}
        texts = self._iter_texts(waiting)
        # In slices: reading all of a large scope takes seconds, and the newest may be enough.
        while len(new) < MAX_NEW_TEXTS and self._has_time() and (some := list(islice(texts, MAX_NEW_TEXTS))):
            found = find_vectors(replica, dict.fromkeys(text.id for text in some), self._width)
            self._index_vectors(some, found)
            for text in some:
                if text.id not in found:
                    new.setdefault(text.id, []).append(text)
        wanted = dict(islice(new.items(), MAX_NEW_TEXTS))
        root, engine = self._handle.path[0], self._handle.engine
        mine: list[tuple[str, str]] = []
        try:
            engine.claim(((root, id) for id in wanted), mine)
            # Another pack may have stored them since they were looked up.
            found = find_vectors(replica, [id for _, id in mine], self._width)
            self._index_vectors([text for id in found for text in wanted[id]], found)
            yield from self._embed_and_store({id: wanted[id] for _, id in mine if id not in found})
        finally:
            engine.release(mine)
        if others := wanted.keys() - {id for _, id in mine}:
            yield from self._await_others([text for id in others for text in wanted[id]])

    def _iter_texts(self, waiting: Sequence[tuple[int, Row]]) -> Iterator[_Text]:
        for depth, row in waiting:
            said = self._read(row)
            if said.strip():
                yield _Text(depth, row, said, fingerprint(said, self._embedding.name))
            else:
                add_vectors(self._replicas[depth], self._embedding.name, [(row, self._zero_vector)])

    def _index_vectors(self, texts: Sequence[_Text], vectors: Mapping[str, "Floats"]) -> None:
        for depth, replica in enumerate(self._replicas):
            if found := [(text.row, vectors[text.id]) for text in texts if text.depth == depth and text.id in vectors]:
                self._handle.engine.track_growth(add_vectors(replica, self._embedding.name, found))

    def _embed_and_store(self, texts_by_id: Mapping[str, Sequence[_Text]]) -> Flow[None]:
        """Embed texts, store their vectors and index them, batch by batch."""
        made = {id: vector for id, vector in self._known_vectors.items() if id in texts_by_id}
        left = iter([id for id in texts_by_id if id not in made])
        while True:
            batch = list(islice(left, EMBED_BATCH)) if self._has_time() else []
            if batch:
                said = [texts_by_id[id][0].text for id in batch]
                made |= zip(batch, (yield from _embed_texts(self._handle, self._embedding, said)), strict=True)
            if not made:
                return
            texts = [text for id in made for text in texts_by_id[id]]
            self._index_vectors(texts, made)
            if (yield from store_vectors(self._store, made)):
                yield from self._purge_removed(texts)
            made = {}

    def _has_time(self) -> bool:
        now = self._handle.settings.clock()
        return now - self._started_at < self._embedding.timeout_s and self._embedding.disabled_until <= now

    def _purge_removed(self, texts: Sequence[_Text]) -> Flow[None]:
        """Purge again if a text was removed while it was embedded: its removal did not see the vector."""
        try:
            replicas = yield from self._handle.replicas_to_recall(inherit=True, long_term=True)
        except DisposedError:
            gone = True
        except StoreError:
            return
        else:
            known = {replica.path: replica for replica in replicas}
            gone = any(not self._is_unchanged(known.get(self._replicas[text.depth].path), text) for text in texts)
        if gone:
            log_remaining(self._handle, "gone while its vector was made", (yield from compact_and_purge(self._handle)))

    def _read(self, row: Row) -> str:
        """The text that is embedded: neither the embedder nor a vector, or its id, has what is to be redacted."""
        return clean_text(self._handle.settings.redaction, row)

    def _is_unchanged(self, replica: Replica[Any] | None, text: _Text) -> bool:
        row = None if replica is None else replica.state.rows.get(text.row.id)
        return row is text.row or (row is not None and self._read(row) == text.text)

    def _await_others(self, texts: Sequence[_Text]) -> Flow[None]:
        """Wait for the vectors that another pack is making, and index them."""
        works = [(self._handle.path[0], text.id) for text in texts]
        until, tries = time.monotonic() + self._embedding.timeout_s, 0
        while self._handle.engine.is_any_claimed(works) and time.monotonic() < until:
            tries += 1
            yield from ask(Pause.sleep, backoff(tries))
        replica = yield from load_store(self._store, text_count=len(texts), few_texts=EMBED_BATCH)
        self._index_vectors(texts, find_vectors(replica, {text.id: None for text in texts}, self._width))


def _embed_texts(handle: Handle, embedding: Guard, texts: Sequence[str]) -> "Flow[Floats]":
    """Embed texts: vectors of length 1, or all zeros where the embedder returns zeros.

    Raises:
        GuardedCallError: It raised, took too long, or returned no matrix of numbers.
    """
    clock = handle.settings.clock
    began = clock()
    given = yield from embedding.ask([to_sendable(text[:MAX_CHARACTERS]) for text in texts])
    try:
        made = to_unit_rows(given, len(texts))
    except (TypeError, ValueError) as exc:
        raise GuardedCallError(f"failed: {describe_error(exc)}") from exc
    except Exception as exc:  # a tensor on another device, say: its conversion to an array is foreign code
        raise GuardedCallError(f"returned a {type(given).__name__} that is no array: {type(exc).__name__}") from exc
    if (took := clock() - began) > embedding.timeout_s:
        embedding.record_failure(clock())
        _warn_once(handle, f"the embedder {embedding.name!r} took {took:.1f} s and is left alone for a while", "slow")
    else:
        embedding.record_success()
    return made
