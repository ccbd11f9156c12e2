"""Memories that are asked: wmem through its public surface, and what else fills a context in this field.

Each is given a conversation turn by turn, and then says for a question and a budget which
turns are in the context. A peer that ignores the question answers once for each budget.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

import wmem
from tests.bench.recall.conversations import Conversation
from wmem.analysis.stopwords import STOP_WORDS
from wmem.tokens.bpe import TiktokenCounter

__all__ = ["PEERS", "Answer", "Bounded", "LangGraphStore", "Memory", "Wmem"]

_count = TiktokenCounter("o200k_base")


class Answer(NamedTuple):
    """What is in a context: the ids of its turns, its tokens, and its text where the system renders one.

    Attributes:
        cut: Those of the turns of which a part is left out; what counts is whether the text is there.
    """

    ids: frozenset[str]
    tokens: int
    text: str = ""
    cut: frozenset[str] = frozenset()


class Memory(Protocol):
    """A memory of one conversation, complete when it is made."""

    name: str
    add_s: float
    """Seconds that one turn took to add, on average."""
    asks: bool
    """Whether the question makes a difference."""

    def context(self, question: str, budget: int) -> Answer: ...

    def close(self) -> None: ...


class Wmem:
    """A session of wmem; speakers have names, sessions are threads with a time.

    Args:
        tail: As of `Scope.pack`; None for its default.
    """

    asks = True

    def __init__(
        self,
        talk: Conversation,
        *,
        tail: float | None = None,
        scoring: Literal["evidence", "balanced"] = "evidence",
        policy: wmem.Policy | None = None,
        embedder: wmem.Embedder | None = None,
    ) -> None:
        way = "as it comes" if tail is None else "recall first" if tail == 0 else f"tail {tail}"
        self.name = f"wmem, {way}{'' if scoring == 'evidence' else f', {scoring}'}"
        self.name += "" if embedder is None else ", with vectors"
        self._options: dict[str, Any] = {"scoring": scoring} if tail is None else {"scoring": scoring, "tail": tail}
        self._stack = ExitStack()
        memory = self._stack.enter_context(wmem.open("memory://", agent_id="bench", embedder=embedder))
        self.session = memory.scope("session", policy=policy)
        began = time.perf_counter()
        for turn in talk.turns:
            self.session.messages.append(
                {
                    "id": turn.id,
                    "role": "user" if turn.speaker == talk.first_speaker else "assistant",
                    "name": turn.speaker,
                    "content": turn.text,
                    "created_at": turn.at.isoformat(),
                    "thread_id": turn.session,
                }
            )
        for _ in talk.turns[:: len(talk.turns) if embedder is None else 512]:  # so many are embedded for one pack
            self.session.pack("anything", budget=1_000)  # what a first search makes is a part of adding
        self.add_s = (time.perf_counter() - began) / len(talk.turns)

    def context(self, question: str, budget: int) -> Answer:
        packed = self.session.pack(question, budget=budget, **self._options)
        ids = frozenset(id for unit in (*packed.included, *packed.truncated) for id in unit.ids)
        text = "\n".join((packed.note, *(message.text for message in packed.messages)))
        return Answer(ids, packed.tokens, text, frozenset(id for unit in packed.truncated for id in unit.ids))

    def close(self) -> None:
        self._stack.close()


class LangGraphStore:
    """LangGraph's store in memory, with an embedder."""

    name = "LangGraph InMemoryStore"
    asks = True

    def __init__(self, talk: Conversation, *, embedder: Callable[[Sequence[str]], Any]) -> None:
        from langgraph.store.memory import InMemoryStore

        self._lines = _Lines(talk)

        def embed(texts: Sequence[str]) -> list[list[float]]:
            return [[float(each) for each in row] for row in embedder(texts)]

        width = len(embed(["how wide?"])[0])
        self._store = InMemoryStore(index={"dims": width, "embed": embed, "fields": ["text"]})
        began = time.perf_counter()
        for place, turn in enumerate(talk.turns):
            self._store.put(("bench",), f"{place}", {"text": f"{turn.speaker}: {turn.text}"})
        self.add_s = (time.perf_counter() - began) / len(talk.turns)
        self._count = len(talk.turns)

    def context(self, question: str, budget: int) -> Answer:
        found = self._store.search(("bench",), query=question, limit=self._count)
        return self._lines.filled([int(each.key) for each in found], budget)

    def close(self) -> None:
        """Nothing is held."""


class Bounded:
    """A queue of wmem that holds half of the turns; the other half was evicted while it was filled."""

    asks = True

    def __init__(self, talk: Conversation, *, eviction: Literal["guarded", "oldest"] = "guarded") -> None:
        self.name = f"wmem, half evicted, {eviction}"
        self._stack = ExitStack()
        memory = self._stack.enter_context(wmem.open("memory://", agent_id="bench"))
        # What a user sets who bounds a store by its size alone: nothing turns stale.
        half = len(talk.turns) // 2
        bounds = {"max_items": half, "max_tokens": None, "step_ttl": None, "wall_ttl_s": None}
        self.session = memory.scope("session", policy=wmem.Policy.queue(eviction=eviction, **bounds))
        self._turns: dict[str, str] = {}
        began = time.perf_counter()
        for turn in talk.turns:
            self._turns[self.session.items.add(f"{turn.speaker}: {turn.text}").id] = turn.id
        self.add_s = (time.perf_counter() - began) / len(talk.turns)

    def context(self, question: str, budget: int) -> Answer:
        packed = self.session.pack(question, budget=budget)
        held = {self._turns[id] for unit in (*packed.included, *packed.truncated) for id in unit.ids}
        return Answer(frozenset(held), packed.tokens)

    def close(self) -> None:
        self._stack.close()


class _Lines:
    """Turns as lines, best first, until the budget is full: what a retriever alone gives."""

    def __init__(self, talk: Conversation) -> None:
        self._turns = talk.turns
        self._costs = [_count(f"{turn.speaker}: {turn.text}\n") for turn in talk.turns]

    def filled(self, ranked: Sequence[int], budget: int) -> Answer:
        left, ids = budget, set()
        for place in ranked:
            if self._costs[place] <= left:
                left -= self._costs[place]
                ids.add(self._turns[place].id)
        return Answer(frozenset(ids), budget - left)


class Fts5:
    """SQLite's full-text search, with its stemmer; stop words are left out of the question."""

    name = "SQLite FTS5"
    asks = True

    def __init__(self, talk: Conversation) -> None:
        self._lines = _Lines(talk)
        self._base = sqlite3.connect(":memory:")
        self._base.execute("CREATE VIRTUAL TABLE turn USING fts5(text, tokenize='porter unicode61')")
        began = time.perf_counter()
        for turn in talk.turns:
            self._base.execute("INSERT INTO turn VALUES (?)", (f"{turn.speaker}: {turn.text}",))
        self.add_s = (time.perf_counter() - began) / len(talk.turns)

    def context(self, question: str, budget: int) -> Answer:
        words = [word for word in _words(question) if word not in STOP_WORDS["english"]]
        if not words:
            return Answer(frozenset(), 0)
        wanted = " OR ".join(f'"{word}"' for word in words)
        found = self._base.execute("SELECT rowid FROM turn WHERE turn MATCH ? ORDER BY rank, rowid", (wanted,))
        return self._lines.filled([rowid - 1 for (rowid,) in found], budget)

    def close(self) -> None:
        self._base.close()


class Bm25s:
    """bm25s with stop words and a stemmer; it has no way to add: every turn means a new index, the last is measured."""

    name = "bm25s, stemmed"
    asks = True

    def __init__(self, talk: Conversation) -> None:
        import bm25s
        import snowballstemmer

        stems = snowballstemmer.stemmer("english").stemWords
        self._tokens = partial(bm25s.tokenize, stopwords="en", stemmer=stems, show_progress=False)
        self._lines = _Lines(talk)
        began = time.perf_counter()
        self._index = bm25s.BM25()
        self._index.index(self._tokens([f"{turn.speaker}: {turn.text}" for turn in talk.turns]), show_progress=False)
        self.add_s = time.perf_counter() - began
        self._size = len(talk.turns)

    def context(self, question: str, budget: int) -> Answer:
        places, scores = self._index.retrieve(self._tokens([question]), k=self._size, show_progress=False)
        found = [int(place) for place, score in zip(places[0], scores[0], strict=True) if score > 0]
        return self._lines.filled(found, budget)

    def close(self) -> None: ...


class _Framework:
    """A framework's own memory: it hands out messages, and the question makes no difference."""

    asks = False
    add_s = 0.0

    def __init__(self, talk: Conversation) -> None:
        self._ids = {turn.text: turn.id for turn in reversed(talk.turns)}

    def close(self) -> None: ...

    def answer(self, texts: Sequence[str]) -> Answer:
        return Answer(frozenset(self._ids[text] for text in texts), sum(_count(text) + 4 for text in texts) + 3)


class LangChain(_Framework):
    name = "LangChain trim_messages"

    def __init__(self, talk: Conversation) -> None:
        from langchain_core.messages import AIMessage, HumanMessage

        super().__init__(talk)
        self._messages = [
            HumanMessage(turn.text) if turn.speaker == talk.first_speaker else AIMessage(turn.text)
            for turn in talk.turns
        ]

    def context(self, question: str, budget: int) -> Answer:
        from langchain_core.messages import trim_messages

        del question
        kept = trim_messages(
            self._messages,
            max_tokens=budget,
            token_counter=lambda given: sum(_count(str(each.content)) + 4 for each in given) + 3,
            strategy="last",
        )
        return self.answer([str(each.content) for each in kept])


class _LlamaIndex(_Framework):
    def __init__(self, talk: Conversation) -> None:
        super().__init__(talk)
        from llama_index.core.llms import ChatMessage

        self._messages = [
            ChatMessage(role="user" if turn.speaker == talk.first_speaker else "assistant", content=turn.text)
            for turn in talk.turns
        ]

    def _made(self, budget: int) -> Any:
        raise NotImplementedError

    def context(self, question: str, budget: int) -> Answer:
        del question
        return self.answer([str(each.content) for each in self._made(budget).get()])


class Buffer(_LlamaIndex):
    name = "LlamaIndex ChatMemoryBuffer"

    def _made(self, budget: int) -> Any:
        from llama_index.core.memory import ChatMemoryBuffer

        return ChatMemoryBuffer.from_defaults(
            chat_history=self._messages, token_limit=budget, tokenizer_fn=lambda text: [0] * _count(text)
        )


class LlamaMemory(_LlamaIndex):
    name = "LlamaIndex Memory"

    def _made(self, budget: int) -> Any:
        from llama_index.core.memory import Memory as Theirs

        made = Theirs.from_defaults(
            session_id="bench",
            token_limit=budget,
            chat_history_token_ratio=1.0,
            token_flush_size=budget // 10,  # its default empties the window by up to 0.7 of it at once
            tokenizer_fn=lambda text: [0] * _count(text),
        )
        made.put_messages(self._messages)
        return made


def _words(text: str) -> list[str]:
    from wmem.analysis.analyzer import to_words

    return to_words(text)


PEERS: Sequence[Callable[[Conversation], Memory]] = (Fts5, Bm25s, LangChain, Buffer, LlamaMemory)
