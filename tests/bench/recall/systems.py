"""Memories that are asked: wmem through its public surface, and what else fills a context in this field.

Each is given a conversation turn by turn, and then says for a question and a budget which
turns are in the context. A peer that ignores the question answers once for each budget.
"""

import math
import sqlite3
import statistics
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import wmem
from tests.bench.recall.conversations import Said
from wmem.analysis.analyzer import to_terms, to_words
from wmem.analysis.stopwords import STOP_WORDS
from wmem.tokens.bpe import TiktokenCounter
from wmem.types import Scoring

__all__ = [
    "PEERS",
    "TALK_PEERS",
    "Answer",
    "Bm25s",
    "Bounded",
    "Dialogue",
    "ExchangeBm25",
    "LangGraphStore",
    "Memory",
    "Wmem",
    "open_memories",
]

_count = TiktokenCounter("o200k_base")
_BM25S_WORD = r"[\u4e00-\u9fff]|\b[^\W\u4e00-\u9fff]{2,}\b"


class Answer(NamedTuple):
    """What is in a context: the ids of its turns, its tokens, and its text where the system renders one.

    Attributes:
        cut: Those of the turns of which a part is left out; what counts is whether the text is there.
    """

    ids: frozenset[str]
    tokens: int
    text: str = ""
    cut: frozenset[str] = frozenset()


class Dialogue(Protocol):
    """What is remembered: messages in OpenAI's form, and the same as turns of plain text."""

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]: ...

    @property
    def turns(self) -> Sequence[Said]: ...

    @property
    def first_speaker(self) -> str: ...


D = TypeVar("D", bound=Dialogue)


class Memory(Protocol):
    """A memory of one conversation, complete when it is made."""

    name: str
    add_s: float
    """Seconds that one turn took to add, on average."""
    asks: bool
    """Whether the question makes a difference."""

    def context(self, question: str, budget: int) -> Answer: ...

    def close(self) -> None: ...


def open_memories(make: Callable[[Dialogue], Memory], talks: Iterable[D]) -> Iterator[tuple[D, Memory]]:
    """A memory of each talk, closed when the next one is asked for; none where what they need is not installed."""
    for talk in talks:
        try:
            memory = make(talk)
        except ImportError as exc:
            print(f"left out: {exc.name} is not installed")
            return
        yield talk, memory
        memory.close()


class Wmem:
    """A session of wmem.

    Args:
        tail: As of `Scope.pack`; None for its default.
    """

    asks = True

    def __init__(
        self,
        talk: Dialogue,
        *,
        tail: float | None = None,
        scoring: Scoring = "evidence",
        policy: wmem.Policy | None = None,
        embedder: wmem.Embedder | None = None,
    ) -> None:
        way = "as it comes" if tail is None else "recall first" if tail == 0 else f"tail {tail}"
        self.name = f"wmem, {way}{f', {scoring}' if scoring == 'balanced' else ''}"
        self.name += "" if embedder is None else ", with vectors"
        self._options: dict[str, Any] = {} if tail is None else {"tail": tail}
        self._stack = ExitStack()
        memory = self._stack.enter_context(wmem.open("memory://", agent_id="bench", embedder=embedder))
        self.session = memory.scope("session", policy=(policy or wmem.Policy()).with_profile(scoring))
        began = time.perf_counter()
        for message in talk.messages:
            self.session.messages.append(dict(message))
        for _ in talk.turns[:: len(talk.turns) if embedder is None else 512]:  # so many are embedded for one pack
            self.session.pack("anything", budget=1_000)  # what a first search makes is a part of adding
        self.add_s = (time.perf_counter() - began) / len(talk.turns)

    def context(self, question: str, budget: int) -> Answer:
        packed = self.session.pack(question, budget=budget, **self._options)
        ids = frozenset(id for unit in (*packed.included, *packed.truncated) for id in unit.ids)
        calls = (call.arguments for message in packed.messages for call in message.tool_calls)
        text = "\n".join((packed.note, *(message.text for message in packed.messages), *calls))
        return Answer(ids, packed.tokens, text, frozenset(id for unit in packed.truncated for id in unit.ids))

    def rank(self, question: str) -> list[str]:
        """The ids of the ten messages that match the question best, best first."""
        return [hit.id for hit in self.session.recall(question, limit=10, kinds=["message"])]

    def close(self) -> None:
        self._stack.close()


class LangGraphStore:
    """LangGraph's store in memory, with an embedder."""

    name = "LangGraph InMemoryStore"
    asks = True

    def __init__(self, talk: Dialogue, *, embedder: Callable[[Sequence[str]], Any]) -> None:
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

    def __init__(self, talk: Dialogue, *, eviction: Literal["guarded", "oldest"] = "guarded") -> None:
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

    def __init__(self, talk: Dialogue) -> None:
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

    def __init__(self, talk: Dialogue) -> None:
        self._lines = _Lines(talk)
        self._base = sqlite3.connect(":memory:")
        self._base.execute("CREATE VIRTUAL TABLE turn USING fts5(text, tokenize='porter unicode61')")
        began = time.perf_counter()
        for turn in talk.turns:
            self._base.execute("INSERT INTO turn VALUES (?)", (f"{turn.speaker}: {turn.text}",))
        self.add_s = (time.perf_counter() - began) / len(talk.turns)

    def context(self, question: str, budget: int) -> Answer:
        words = [word for word in to_words(question) if word not in STOP_WORDS["english"]]
        if not words:
            return Answer(frozenset(), 0)
        wanted = " OR ".join(f'"{word}"' for word in words)
        found = self._base.execute("SELECT rowid FROM turn WHERE turn MATCH ? ORDER BY rank, rowid", (wanted,))
        return self._lines.filled([rowid - 1 for (rowid,) in found], budget)

    def close(self) -> None:
        self._base.close()


class Bm25s:
    """bm25s with stop words and a stemmer; it has no way to add: every turn means a new index, the last is measured.

    Its own pattern takes a Chinese sentence for one word; here each character is one.
    """

    name = "bm25s, stemmed"
    asks = True

    def __init__(self, talk: Dialogue) -> None:
        import bm25s
        import snowballstemmer

        stems = snowballstemmer.stemmer("english").stemWords
        self._tokens = partial(
            bm25s.tokenize, stopwords="en", stemmer=stems, token_pattern=_BM25S_WORD, show_progress=False
        )
        self._lines = _Lines(talk)
        began = time.perf_counter()
        self._index = bm25s.BM25()
        self._index.index(self._tokens([f"{turn.speaker}: {turn.text}" for turn in talk.turns]), show_progress=False)
        self.add_s = time.perf_counter() - began
        self._size = len(talk.turns)

    def rank(self, question: str) -> list[int]:
        """The places of the turns that share a word with the question, best first."""
        places, scores = self._index.retrieve(self._tokens([question]), k=self._size, show_progress=False)
        return [int(place) for place, score in zip(places[0], scores[0], strict=True) if score > 0]

    def context(self, question: str, budget: int) -> Answer:
        return self._lines.filled(self.rank(question), budget)

    def close(self) -> None: ...


class ExchangeBm25:
    """Plain BM25 over whole exchanges, a line of the user and all up to the next: a control, by wmem's own terms."""

    name = "BM25 over exchanges"
    asks = True

    def __init__(self, talk: Dialogue) -> None:
        self._turns = talk.turns
        self._exchanges: list[list[int]] = []
        began = time.perf_counter()
        for place, turn in enumerate(talk.turns):
            if turn.speaker == talk.first_speaker or not place or talk.turns[place - 1].session != turn.session:
                self._exchanges.append([])
            self._exchanges[-1].append(place)
        self._terms = [
            Counter(to_terms("\n".join(talk.turns[place].text for place in each))) for each in self._exchanges
        ]
        self._frequencies = Counter(term for terms in self._terms for term in terms)
        self._mean = statistics.fmean(each.total() for each in self._terms)
        self.add_s = (time.perf_counter() - began) / len(talk.turns)
        self._costs = [sum(_count(f"{talk.turns[at].text}\n") for at in each) for each in self._exchanges]

    def context(self, question: str, budget: int) -> Answer:
        scores = self._scores(set(to_terms(question)))
        left, ids = budget, set()
        for place in sorted(range(len(scores)), key=scores.__getitem__, reverse=True):
            if scores[place] and self._costs[place] <= left:
                left -= self._costs[place]
                ids |= {self._turns[at].id for at in self._exchanges[place]}
        return Answer(frozenset(ids), budget - left)

    def _scores(self, terms: Collection[str], k1: float = 1.2, b: float = 0.75) -> list[float]:
        count = len(self._terms)
        rarity = {
            term: math.log(1 + (count - self._frequencies[term] + 0.5) / (self._frequencies[term] + 0.5))
            for term in terms
        }
        return [
            sum(
                rarity[term] * each[term] * (k1 + 1) / (each[term] + k1 * (1 - b + b * each.total() / self._mean))
                for term in terms
                if term in each
            )
            for each in self._terms
        ]

    def close(self) -> None: ...


class _Framework:
    """A framework's own memory: it hands out messages, and the question makes no difference."""

    asks = False
    add_s = 0.0

    def __init__(self, talk: Dialogue) -> None:
        self._ids = {turn.text: turn.id for turn in reversed(talk.turns)}

    def close(self) -> None: ...

    def answer(self, texts: Sequence[str]) -> Answer:
        return Answer(frozenset(self._ids[text] for text in texts), sum(_count(text) + 4 for text in texts) + 3)


class LangChain(_Framework):
    name = "LangChain trim_messages"

    def __init__(self, talk: Dialogue) -> None:
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
    def __init__(self, talk: Dialogue) -> None:
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


PEERS: Sequence[Callable[[Dialogue], Memory]] = (Fts5, Bm25s, LangChain, Buffer, LlamaMemory)
TALK_PEERS: Sequence[Callable[[Dialogue], Memory]] = (ExchangeBm25, Bm25s, LangChain, LlamaMemory)
"""Those that are asked about talks with an assistant, too."""
