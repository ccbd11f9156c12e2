"""Recall with an embedder: it adds what words cannot tell, and takes nothing away."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from wmem.retrieval import bm25
from wmem.retrieval.vectors import VectorIndex, decode_vector, encode_vector, to_unit_rows

WORDS = st.sampled_from(["dog", "cat", "boat", "when", "did", "Anna", "sail", "May", "2023", "yesterday", "I", "we"])
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


class Embedder:
    name = "given"

    def __init__(self, embed: Callable[[str], Sequence[float]]) -> None:
        self._embed = embed

    def __call__(self, texts: Sequence[str], /) -> list[Sequence[float]]:
        return [self._embed(text) for text in texts]


def packed(texts: Sequence[str], query: str, embedder: wmem.Embedder | None, budget: int) -> wmem.Context:
    with wmem.open("memory://", agent_id="a", embedder=embedder, clock=lambda: 1_764_288_000.0) as memory:
        session = memory.scope("s")
        for place, text in enumerate(texts):
            session.messages.append({"id": f"m{place}", "role": ("user", "assistant")[place % 2], "content": text})
        return session.pack(query, budget=budget)


@given(texts=st.lists(TEXTS, min_size=1, max_size=12), query=TEXTS, budget=st.integers(60, 400))
def test_with_vectors_that_say_nothing_a_pack_is_that_of_words_alone(texts: list[str], query: str, budget: int) -> None:
    plain = packed(texts, query, None, budget)
    zeros = packed(texts, query, Embedder(lambda _: [0.0] * 8), budget)
    blind = packed(texts, query, Embedder(lambda text: [float(text == query), float(text != query)]), budget)
    for each in (zeros, blind) if query not in texts else (zeros,):
        assert (each.to_openai(), each.included, each.dropped) == (plain.to_openai(), plain.included, plain.dropped)
    assert (zeros.warnings != (), blind.warnings) == (True, ())


def _draw_vector(text: str) -> list[float]:
    """What has nothing to do with the text, and is always the same."""
    return [float(number) - 127.5 for number in blake2b(text.encode(), digest_size=8).digest()]


@given(texts=st.lists(TEXTS, min_size=1, max_size=12), query=TEXTS)
@example(texts=["dog", "boat", "cat"], query="dog")
@examples(0.6)
def test_nonsense_of_an_embedder_puts_nothing_without_a_word_of_the_query_first(texts: list[str], query: str) -> None:
    profile = wmem.RecallProfile()
    assert profile.vector < profile.similarity
    for embedder in (Embedder(_draw_vector), Embedder(lambda _: [1.0, 0.0])):
        with wmem.open("memory://", agent_id="a", embedder=embedder) as memory:
            scope = memory.scope("s")
            for text in texts:
                scope.items.add(text)
            hits = scope.recall(query, limit=100)
        assert all(0 <= hit.parts.get("vector", 0.0) <= profile.vector + 1e-6 for hit in hits)
        if any("bm25" in hit.parts for hit in hits):
            assert "bm25" in hits[0].parts


@given(texts=st.lists(TEXTS, min_size=1, max_size=12), query=TEXTS)
@examples(0.6)
def test_vectors_and_words_rank_alike_by_lists_and_by_arrays(texts: list[str], query: str) -> None:
    ranked = []
    for least in (0, 10**9):
        with (
            pytest.MonkeyPatch.context() as patch,
            wmem.open("memory://", agent_id="a", embedder=Embedder(_draw_vector), clock=lambda: 1.0e9) as memory,
        ):
            patch.setattr(bm25, "_NUMPY_MIN_TEXTS", least)
            scope = memory.scope("s")
            for place, text in enumerate(texts):
                asks = "?" * (place % 3 == 0)
                role = ("user", "assistant")[place % 2]
                scope.messages.append(
                    {"id": f"m{place}", "role": role, "name": f"P{place % 2}", "content": text + asks}
                )
            ranked.append([(hit.id, hit.score, hit.parts) for hit in scope.recall(query, limit=100)])
    assert [id for id, _, _ in ranked[0]] == [id for id, _, _ in ranked[1]]
    for one, other in zip(*ranked, strict=True):
        assert one[1] == pytest.approx(other[1])
        assert one[2] == pytest.approx(other[2])


@given(
    steps=st.lists(
        st.tuples(st.sampled_from("abcdefgh"), st.none() | st.lists(st.integers(-3, 3), min_size=3, max_size=3))
    )
)
def test_vectors_kept_write_by_write_find_what_those_made_at_once_find(
    steps: list[tuple[str, list[int] | None]],
) -> None:
    kept, model = VectorIndex(), dict[str, Any]()
    for id, numbers in steps:
        model.pop(id, None)
        if numbers is None:
            kept.remove(id)
        else:
            model[id] = to_unit_rows([numbers], 1)[0]
            kept.put(id, model[id])
    asked = to_unit_rows([[1, 7, 50]], 1)[0]  # across which no such row lies, but for rounding
    near = kept.similarities(asked)
    cosines = {id: max(0.0, float(vector @ asked)) for id, vector in model.items()}
    best = max(cosines.values(), default=0.0)
    assert len(kept) == len(model)
    if near is None:
        assert best == 0
        return
    assert {id: near.score(id) for id in model} == pytest.approx(
        {id: (each / best) ** 1.5 for id, each in cosines.items()}
    )
    assert near.top(100, len).keys() == {id for id, each in cosines.items() if each > 0}
    assert list(near.top(2, len).values()) == sorted(near.top(100, len).values(), reverse=True)[:2]


@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=8))
def test_a_stored_vector_reads_as_it_was_written(numbers: list[float]) -> None:
    (vector,) = to_unit_rows([numbers], 1)
    read = decode_vector(encode_vector(vector), len(vector))
    assert read is not None
    assert np.array_equal(read, vector)
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0 if any(numbers) else 0.0, abs=1e-5)
    assert decode_vector(encode_vector(vector), len(vector) + 1) is None


def test_what_is_too_large_for_a_float_is_refused_without_a_warning_of_numpy_s() -> None:
    with pytest.raises(ValueError, match="finite"):
        to_unit_rows([[1e300, 1.0]], 1)


def test_what_a_parent_knows_is_found_by_its_vector_however_many_of_its_messages_are_as_like() -> None:
    alike = Embedder(lambda _: [1.0, 0.5])
    with wmem.open("memory://", agent_id="a", embedder=alike, clock=lambda: 1_764_288_000.0) as memory:
        session = memory.scope("s")
        session.entries["shed"] = "lanterns stand in sheds"
        session.messages.append([{"role": "user", "content": f"where is the lamp {number}"} for number in range(300)])
        session.recall("lamp")
        assert [hit.kind for hit in session.child("task").recall("bulb")] == ["entry"]


TOPICS = ("dog cat hamster leash vet", "boat sail harbour mast tide", "bread oven flour yeast dough")


def _embed_by_topic(text: str) -> list[float]:
    """A direction for each topic, one for all other texts, and some that have nothing to do with what is said."""
    words, number = text.lower().split(), sum(map(ord, text)) % 9
    own = [float(sum(word in topic.split() for word in words)) for topic in TOPICS]
    return [*own, 0.0 if any(own) else 3.0, 0.5, *(1.5 * (each == number) for each in range(9))]


def _remember_topics(scope: wmem.Scope) -> None:
    for number in range(30):
        scope.messages.append({"role": "user", "content": f"{TOPICS[number % 3]} on day {number}"})


def test_with_an_embedder_a_question_far_from_all_texts_finds_nothing() -> None:
    with wmem.open("memory://", agent_id="a", embedder=Embedder(_embed_by_topic)) as memory:
        session = memory.scope("s")
        _remember_topics(session)
        foreign = "Which parliament passed those quarterly budgets?"
        assert not session.pack(foreign, budget=300, tail=0).note
        assert session.recall(foreign)  # what is alike at all can still be listed


def test_with_an_embedder_a_question_near_a_text_finds_it_without_a_common_word() -> None:
    def embed(text: str) -> list[float]:
        return _embed_by_topic(text.replace("schooner", "boat sail harbour"))

    with wmem.open("memory://", agent_id="a", embedder=Embedder(embed)) as memory:
        session = memory.scope("s")
        _remember_topics(session)
        assert "boat sail harbour" in session.pack("Any schooner?", budget=300, tail=0).note
