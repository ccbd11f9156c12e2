"""A bounded part of a query is read, and its rarest terms are searched."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from wmem.analysis.analyzer import Analysis, Analyzer, to_terms
from wmem.analysis.query_terms import MAX_TERMS, condense_query, read_ends, select_terms
from wmem.engine.replica import Replica
from wmem.retrieval import retriever
from wmem.retrieval.index import Index

texts = st.lists(st.sampled_from(["may", "Zoë ", "東京", "\ud83d", "🦊\u0301", "a b", "\n", "x" * 90]), max_size=60)


@given(text=texts.map(" ".join) | texts.map("".join) | st.text(), most=st.integers(2, 200))
def test_the_ends_of_a_text_are_read_in_whole_words(text: str, most: int) -> None:
    read = read_ends(text, most)
    size = len(text.encode("utf-8", "surrogatepass"))
    assert read == text if size <= most else len(read.encode("utf-8", "surrogatepass")) <= most + 1
    if read != text:
        head, tail = read[: read.index("\n")], read[read.rindex("\n") + 1 :]
        plain = text.encode("utf-8", "ignore").decode()
        assert plain.startswith(head)
        assert plain.endswith(tail)


def test_a_word_that_the_cut_parts_is_no_word_of_the_query() -> None:
    assert read_ends("one two three four five six", 14) == "one\nsix"
    assert condense_query("ab " * 2_000) == "ab " * 2_000
    assert set(condense_query("abcdefg " * 2_000).split()) == {"abcdefg"}


@given(st.lists(st.integers(0, 5), max_size=150))
def test_the_rarest_terms_that_some_text_has_are_searched(counts: list[int]) -> None:
    terms = [str(at) for at in range(len(counts))]
    chosen = select_terms(terms, counts)
    assert len(chosen) == min(MAX_TERMS, sum(map(bool, counts)))
    assert chosen == sorted(chosen, key=int)
    most = max((counts[int(each)] for each in chosen), default=0)
    assert all(not count or count >= most or str(at) in chosen for at, count in enumerate(counts))


@given(
    st.lists(st.sampled_from(["the", "cat", "cats", "東京タワー", "서울에서", "Ärger", "1", "a", "Кот"]), max_size=30)
)
def test_distinct_terms_are_those_of_the_text_once_each(words: Sequence[str]) -> None:
    assert Analyzer().analyze_distinct(" ".join(words)).terms == list(dict.fromkeys(to_terms(" ".join(words))))


def test_a_query_of_few_terms_is_searched_whole_in_its_order() -> None:
    index = Index()
    index.add("1", "zebra apple")
    assert index.query_terms("unknown zebra, apple zebra") == to_terms("unknown zebra apple")


def test_a_long_query_is_embedded_by_its_beginning_and_its_end() -> None:
    class Embedder:
        name = "lengths"

        def __init__(self) -> None:
            self.read: list[str] = []

        def __call__(self, texts: Sequence[str], /) -> list[list[float]]:
            self.read += texts
            return [[1.0, len(text)] for text in texts]

    embedder: Any = Embedder()
    with wmem.open("memory://", agent_id="a", embedder=embedder) as memory:
        session = memory.scope("s")
        session.messages.append({"role": "user", "content": "The sextant lies in the attic."})
        session.recall(f"First words. {'pasted log line ' * 8_000}. Last words?")
    query = next(text for text in embedder.read if "sextant" not in text)
    assert query.startswith("First words.")
    assert query.endswith("Last words?")
    assert len(query) <= 6_000


def test_a_pack_analyses_its_question_once_for_all_scopes(monkeypatch: pytest.MonkeyPatch) -> None:
    analysed: list[str] = []
    analyze = Analyzer.analyze_distinct

    def note(self: Analyzer, text: str, default_language: str = "english") -> Analysis:
        analysed.append(text)
        return analyze(self, text, default_language)

    with wmem.open("memory://", agent_id="agent") as memory:
        parent = memory.scope("parent")
        session = parent.child("session")
        for scope in (parent, session):
            scope.items.add("The boat lies at the quay.")
            scope.messages.append([{"role": "user", "content": f"The boat is in harbour {n}."} for n in range(20)])
        session.pack("Where is the boat?", budget=500)
        monkeypatch.setattr(Analyzer, "analyze_distinct", note)
        assert "quay" in session.pack("At which quay does the boat lie?", budget=500).note
        assert analysed == ["At which quay does the boat lie?"]
        session.recall("At which quay does the boat lie?")
        assert len(analysed) == 1


def test_what_is_seen_of_a_parent_is_listed_once_for_a_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    find = retriever._list_inherited

    def note(parent: Replica[Any]) -> Sequence[str] | None:
        listed.append(parent.path[-1])
        return find(parent)

    with wmem.open("memory://", agent_id="agent") as memory:
        parent = memory.scope("parent")
        session = parent.child("session")
        parent.items.add("The boat lies at the quay.")
        parent.messages.append({"role": "user", "content": "The boat is in the harbour."})
        monkeypatch.setattr(retriever, "_list_inherited", note)
        assert "quay" in session.pack("Where does the boat lie?", budget=500).note
        assert listed.count("parent") == 1
