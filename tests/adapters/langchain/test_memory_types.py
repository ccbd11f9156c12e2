"""Stores of LangChain and LangGraph as memory types: each is wrapped in a few lines, and keeps the suite's promises."""

import itertools
import math
import re
import zlib
from collections.abc import Sequence
from typing import Any, cast

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.store.memory import InMemoryStore

import wmem
from wmem import Capacity, Filters, Forgotten, ItemDraft, Memorized, MemoryItem, Remembered, Summary, testing
from wmem.model.filters import NO_FILTERS

WIDTH = 512


class WordEmbeddings(Embeddings):
    """A vector of hashed words: texts with the same words are near."""

    def embed_query(self, text: str) -> list[float]:
        vector = [0.0] * WIDTH
        for word in re.findall(r"\w+", text.casefold()) or ["-"]:
            vector[zlib.crc32(word.encode()) % WIDTH] += 1.0
        length = math.sqrt(sum(value * value for value in vector))
        return [value / length for value in vector]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class _Wrapped:
    """What both types share: items in the order they came, their numbers and a summary."""

    blocks = False  # both stores are in memory: coroutines may call them

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._numbers = itertools.count()

    def accepts(self, draft: ItemDraft, /) -> bool:
        return draft.type == "note"

    def make_item(self, draft: ItemDraft) -> MemoryItem:
        number = next(self._numbers)
        item = draft.to_item(f"n{number}", float(number))
        self.ids.append(item.id)
        return item.model_copy(update={"tokens": len(item.content.split())})

    def load(self, ids: Sequence[str]) -> list[MemoryItem]:
        raise NotImplementedError

    def newest(self, filters: Filters, limit: int) -> list[Remembered]:
        items = filter(filters.accepts, self.load(self.ids[::-1]))
        return [Remembered(item, 0.0) for item in items][:limit]

    def summarize(self, token_limit: int = 256, /) -> Summary:
        items = [each.item for each in self.newest(NO_FILTERS, 1) if (each.item.tokens or 0) * 3 <= token_limit]
        tokens = sum((item.tokens or 0) * 3 for item in items)
        return Summary("".join(item.content for item in items), tokens, tuple(item.id for item in items))

    def capacity(self) -> Capacity:
        return Capacity(len(self.ids), sum(item.tokens or 0 for item in self.load(self.ids)))


class VectorStoreNotes(_Wrapped):
    """Notes in LangChain's vector store; the item lies in the metadata of its document."""

    name = "vectors"

    def __init__(self) -> None:
        super().__init__()
        self.store = InMemoryVectorStore(WordEmbeddings())

    def load(self, ids: Sequence[str]) -> list[MemoryItem]:
        return [_read(document) for document in self.store.get_by_ids(ids)]

    def memorize(self, draft: ItemDraft, /) -> Memorized:
        item = self.make_item(draft)
        document = Document(item.content, id=item.id, metadata={"item": item.model_dump(mode="json")})
        self.store.add_documents([document], ids=[item.id])
        items, tokens, *_ = self.capacity()
        return Memorized(item, items - 1, (), items, tokens)

    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        if not query.strip():
            return self.newest(filters, limit)
        found = self.store.similarity_search_with_score(
            query, k=limit, filter=lambda document: filters.accepts(_read(document))
        )
        return [Remembered(_read(document), float(score)) for document, score in found]

    def forget(self, ids: Sequence[str], /) -> Forgotten:
        gone = [id for id in dict.fromkeys(ids) if id in self.ids]
        self.store.delete(gone)
        self.ids = [id for id in self.ids if id not in gone]
        return Forgotten(tuple(gone), *self.capacity()[:2])


def _read(document: Document) -> MemoryItem:
    return MemoryItem.model_validate(document.metadata["item"])


class GraphStoreNotes(_Wrapped):
    """Notes in LangGraph's store, which finds them by their vectors."""

    name = "graph"
    namespace = ("notes",)

    def __init__(self) -> None:
        super().__init__()
        embed = WordEmbeddings()
        self.store = InMemoryStore(index={"dims": WIDTH, "embed": embed, "fields": ["content"]})

    def load(self, ids: Sequence[str]) -> list[MemoryItem]:
        found = (self.store.get(self.namespace, id) for id in ids)
        return [MemoryItem.model_validate(each.value) for each in found if each is not None]

    def memorize(self, draft: ItemDraft, /) -> Memorized:
        item = self.make_item(draft)
        self.store.put(self.namespace, item.id, item.model_dump(mode="json"))
        items, tokens, *_ = self.capacity()
        return Memorized(item, items - 1, (), items, tokens)

    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        if not query.strip():
            return self.newest(filters, limit)
        found = self.store.search(self.namespace, query=query, limit=len(self.ids) + 1)
        items = [Remembered(MemoryItem.model_validate(each.value), each.score or 0.0) for each in found]
        return [each for each in items if filters.accepts(each.item)][:limit]

    def forget(self, ids: Sequence[str], /) -> Forgotten:
        gone = [id for id in dict.fromkeys(ids) if id in self.ids]
        for id in gone:
            self.store.delete(self.namespace, id)
        self.ids = [id for id in self.ids if id not in gone]
        return Forgotten(tuple(gone), *self.capacity()[:2])


class TestVectorStore(testing.MemoryTypeSuite):
    @pytest.fixture
    def memory_type(self) -> wmem.MemoryType:
        return VectorStoreNotes()


class TestGraphStore(testing.MemoryTypeSuite):
    @pytest.fixture
    def memory_type(self) -> wmem.MemoryType:
        return GraphStoreNotes()


@pytest.mark.parametrize("kind", [VectorStoreNotes, GraphStoreNotes])
def test_what_such_a_store_remembers_is_in_the_context_of_a_turn(kind: Any) -> None:
    with wmem.open("memory://", agent_id="a", memory_types=[kind()]) as memory:
        with memory.turn("s") as turn:
            stored = turn.memorize({"content": "The kiln reaches 980 degrees.", "type": "note"}).stored
            turn.memorize({"content": "Biscuit sleeps under the table.", "type": "fact"})
        assert kind.name in stored
        with memory.turn("t") as turn:
            assembled = turn.assemble_context("How hot does the kiln get, in degrees?", 1_000)
        assert "980 degrees" in assembled.text
        assert cast("dict[str, int]", assembled.sources)[kind.name] > 0
