"""A memory type that is no part of wmem: a full-text table of SQLite, sync and async."""

import asyncio
import sqlite3
import threading
import uuid
from collections.abc import Sequence

from wmem import Capacity, Filters, Forgotten, ItemDraft, Memorized, MemoryItem, Remembered, Summary
from wmem.model.filters import NO_FILTERS

ITEM_TYPES = ("fact", "note")


class SqliteNotes:
    """Notes in a full-text table; it accepts facts and notes."""

    name = "notes"

    def __init__(self, path: str = ":memory:") -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False)
        self._db.execute("CREATE VIRTUAL TABLE note USING fts5 (content, item UNINDEXED)")
        self._clock = 0.0

    def accepts(self, draft: ItemDraft, /) -> bool:
        return draft.type in ITEM_TYPES

    def memorize(self, draft: ItemDraft, /) -> Memorized:
        with self._lock:
            self._clock += 1.0
            item = draft.to_item(uuid.uuid4().hex, self._clock)
            item = item.model_copy(update={"tokens": len(item.content.split())})
            self._db.execute("INSERT INTO note VALUES (?, ?)", (item.content, item.model_dump_json()))
        items, tokens, *_ = self.capacity()
        return Memorized(item, items - 1, (), items, tokens)

    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        words = [f'"{word}"' for word in query.replace('"', " ").split()]
        with self._lock:
            rows = (
                self._db.execute("SELECT item, -bm25(note) FROM note(?) ORDER BY rank", [" OR ".join(words)])
                if words
                else self._db.execute("SELECT item, 0.0 FROM note ORDER BY rowid DESC")
            ).fetchall()
        found = [Remembered(MemoryItem.model_validate_json(item), score) for item, score in rows]
        return [each for each in found if filters.accepts(each.item)][:limit]

    def forget(self, ids: Sequence[str], /) -> Forgotten:
        with self._lock:
            rows = self._db.execute("SELECT rowid, item FROM note").fetchall()
            place = {MemoryItem.model_validate_json(item).id: rowid for rowid, item in rows}
            gone = [id for id in dict.fromkeys(ids) if id in place]
            self._db.executemany("DELETE FROM note WHERE rowid = ?", [(place[id],) for id in gone])
        return Forgotten(tuple(gone), *self.capacity()[:2])

    def summarize(self, token_limit: int = 256, /) -> Summary:
        newest = [each.item for each in self.remember("", limit=1) if (each.item.tokens or 0) * 3 <= token_limit]
        text = "".join(item.content for item in newest)
        return Summary(text, sum((item.tokens or 0) * 3 for item in newest), tuple(item.id for item in newest))

    def capacity(self) -> Capacity:
        items = [each.item for each in self.remember("", limit=1_000)]
        return Capacity(len(items), sum(item.tokens or 0 for item in items))


class AsyncSqliteNotes:
    """The same for coroutines: each call in a thread."""

    name = "notes"

    def __init__(self, path: str = ":memory:") -> None:
        self._notes = SqliteNotes(path)

    def accepts(self, draft: ItemDraft, /) -> bool:
        return self._notes.accepts(draft)

    async def memorize(self, draft: ItemDraft, /) -> Memorized:
        return await asyncio.to_thread(self._notes.memorize, draft)

    async def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        return await asyncio.to_thread(self._notes.remember, query, filters=filters, limit=limit)

    async def forget(self, ids: Sequence[str], /) -> Forgotten:
        return await asyncio.to_thread(self._notes.forget, ids)

    async def summarize(self, token_limit: int = 256, /) -> Summary:
        return await asyncio.to_thread(self._notes.summarize, token_limit)

    async def capacity(self) -> Capacity:
        return await asyncio.to_thread(self._notes.capacity)
