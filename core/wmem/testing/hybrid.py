"""Hybrid recall: vectors are made once, stored, made anew for another text, erased with it; failures cost no pack."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import pytest

import wmem
from wmem import Context, InvalidInputError, Scope
from wmem.scope.vectors import VECTORS
from wmem.testing.suite import Call, Clock, FacetSuite, Opening

__all__ = ["HybridSuite"]

_MEANINGS = {"dog": "pet", "puppy": "pet", "car": "vehicle", "automobile": "vehicle"}
_WIDTH = 64
PUPPY, RAIN = "the puppy sleeps on the sofa", "rain is expected"


class _Embedder:
    """Words by what they mean; it counts what it is asked."""

    name = "words"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failing: Callable[[list[list[float]]], Any] | None = None

    def __call__(self, texts: Sequence[str], /) -> Any:
        self.asked += texts
        made = [_vector(text) for text in texts]
        return made if self.failing is None else self.failing(made)

    def taken(self) -> list[str]:
        """What it was asked since the last time."""
        asked, self.asked = self.asked, []
        return asked


class _AsyncEmbedder(_Embedder):
    async def __call__(self, texts: Sequence[str], /) -> Any:
        await asyncio.sleep(0)
        made = super().__call__(texts)
        return await made if asyncio.iscoroutine(made) else made


def _vector(text: str) -> list[float]:
    made = [0.0] * _WIDTH
    for word in re.findall(r"\w+", text.lower()):
        told = _MEANINGS.get(word, word).encode()
        made[blake2b(told, digest_size=2).digest()[0] % _WIDTH] += 1.0
    return made


def _raises(_: object) -> Any:
    raise RuntimeError("no such model")


_FAULTS: Mapping[str, Callable[[list[list[float]]], Any]] = {
    "raises": _raises,
    "returns nothing": lambda _: None,
    "returns text": lambda _: "vectors",
    "returns a row too few": lambda made: made[1:],
    "returns rows of unlike length": lambda made: [row[: 3 + place] for place, row in enumerate([*made, made[0]])],
    "returns one row for all": lambda made: made[0],
    "returns rows of no length": lambda made: [[] for _ in made],
    "returns NaN": lambda made: [[float("nan"), *row[1:]] for row in made],
    "returns infinity": lambda made: [[float("inf"), *row[1:]] for row in made],
    "returns zeros": lambda made: [[0.0] * _WIDTH for _ in made],
}


def _prompt(context: Context) -> list[dict[str, Any]]:
    return context.to_openai()


def _recalled(context: Context) -> list[str]:
    """What was recalled, best first."""
    found = [unit for unit in context.included if unit.rule == "recalled"]
    return [unit.says for unit in sorted(found, key=lambda unit: -(unit.score or 0.0))]


class HybridSuite(FacetSuite):
    """An embedder of the test's colour, and one that any colour takes."""

    @pytest.fixture
    def embedder(self, call: Call) -> _Embedder:
        """Counts what it is asked; a coroutine function in the async colour."""
        return _Embedder() if call.colour == "sync" else _AsyncEmbedder()

    @pytest.fixture
    def memory(self, opening: Opening, embedder: _Embedder) -> wmem.AgentMemory:
        return opening(embedder=embedder)

    def _filled(self, session: Scope, call: Call) -> None:
        for text in (PUPPY, "an automobile needs petrol", RAIN):
            call(session.items.add, text, type="fact")

    def test_what_means_the_same_in_other_words_is_recalled(self, session: Scope, opening: Opening, call: Call) -> None:
        self._filled(session, call)
        found = call(session.pack, "dog", budget=1_000)
        assert _recalled(found)[:1] == [PUPPY]
        assert max(unit.parts["vector"] for unit in found.included) == pytest.approx(wmem.Recall().vector)
        assert found.warnings == ()
        plain = call(opening.elsewhere().scope("session").pack, "dog", budget=1_000)
        assert PUPPY not in _recalled(plain)

    def test_a_text_is_embedded_once_and_never_by_a_write(
        self, session: Scope, embedder: _Embedder, call: Call
    ) -> None:
        self._filled(session, call)
        assert embedder.taken() == []
        call(session.pack, "dog", budget=1_000)
        asked = embedder.taken()
        assert (asked[0], len(asked), len(set(asked))) == ("dog", 4, 4)
        call(session.pack, "car", budget=1_000)
        assert embedder.taken() == ["car"]
        call(session.items.add, RAIN, type="fact")
        call(session.pack, "car", budget=1_000)
        assert embedder.taken() == ["car"]  # that text is known

    def test_without_a_query_the_embedder_is_not_asked(self, session: Scope, embedder: _Embedder, call: Call) -> None:
        self._filled(session, call)
        call(session.pack, budget=1_000)
        call(session.pack, " ", budget=1_000)
        call(session.pack, "dog", budget=1_000, scoring=wmem.Recall(vector=0))
        assert embedder.taken() == []

    def test_another_process_embeds_nothing_again(
        self, session: Scope, embedder: _Embedder, opening: Opening, call: Call
    ) -> None:
        self._filled(session, call)
        here = call(session.pack, "dog", budget=1_000)
        embedder.taken()
        there = call(opening.elsewhere(embedder=embedder).scope("session").pack, "dog", budget=1_000)
        assert embedder.taken() == ["dog"]
        assert _prompt(there) == _prompt(here)

    def test_a_changed_text_is_embedded_again(self, session: Scope, embedder: _Embedder, call: Call) -> None:
        self._filled(session, call)
        call(session.entries.set, "animal", "a dog")
        call(session.pack, "dog", budget=1_000)
        embedder.taken()
        call(session.entries.set, "animal", "a car")
        call(session.pack, "dog", budget=1_000)
        assert embedder.taken() == ["dog", "animal: a car"]

    def test_vectors_of_another_model_are_not_mixed_in(
        self, session: Scope, embedder: _Embedder, opening: Opening, call: Call
    ) -> None:
        self._filled(session, call)
        call(session.pack, "dog", budget=1_000)
        embedder.taken()
        other = type(embedder)()
        other.name = "more words"
        found = call(opening(embedder=other).scope("session").pack, "dog", budget=1_000)
        assert (len(other.taken()), _recalled(found)[:1]) == (4, [PUPPY])
        narrow = type(embedder)()
        narrow.failing = lambda made: [row[:32] + row[32:] + [0.0] for row in made]  # the same name, another width
        found = call(opening.elsewhere(embedder=narrow).scope("session").pack, "dog", budget=1_000)
        assert (len(narrow.taken()), found.warnings, _recalled(found)[:1]) == (4, (), [PUPPY])

    # -- when it fails

    @pytest.mark.parametrize("fault", _FAULTS)
    def test_a_failing_embedder_costs_the_meaning_and_never_the_pack(
        self, fault: str, session: Scope, embedder: _Embedder, opening: Opening, call: Call
    ) -> None:
        self._filled(session, call)
        plain = call(opening.elsewhere().scope("session").pack, "dog petrol", budget=1_000)
        embedder.failing = _FAULTS[fault]
        found = call(session.pack, "dog petrol", budget=1_000)
        assert _prompt(found) == _prompt(plain)
        assert (found.included, found.dropped) == (plain.included, plain.dropped)
        (warning,) = found.warnings
        assert "words alone" in warning

    def test_a_failed_embedder_is_left_alone_for_a_minute_and_told_of_once(
        self, session: Scope, embedder: _Embedder, call: Call, clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        self._filled(session, call)
        embedder.failing = _raises
        call(session.pack, "dog petrol", budget=1_000)
        embedder.taken()
        assert call(session.pack, "dog petrol", budget=1_000).warnings != ()
        assert embedder.taken() == []  # it is left alone for a minute
        clock.pass_(61)
        call(session.pack, "dog petrol", budget=1_000)
        assert len(embedder.taken()) == 1
        assert sum("words alone" in record.getMessage() for record in caplog.records) == 1
        embedder.failing = None
        clock.pass_(61)
        found = call(session.pack, "dog", budget=1_000)
        assert (found.warnings, _recalled(found)[:1]) == ((), [PUPPY])

    def test_a_slow_embedder_is_left_alone_for_a_minute(
        self, session: Scope, embedder: _Embedder, call: Call, clock: Clock
    ) -> None:
        self._filled(session, call)

        def slow(made: list[list[float]]) -> list[list[float]]:
            clock.pass_(6)
            return made

        embedder.failing = slow
        call(session.pack, "dog", budget=1_000)
        assert embedder.taken() == ["dog"]
        found = call(session.pack, "dog", budget=1_000)
        assert (embedder.taken(), len(found.warnings)) == ([], 1)

    @pytest.mark.parametrize("colour", ["async"])  # a thread cannot be stopped
    def test_coroutines_do_not_wait_for_an_embedder_that_never_answers(
        self, opening: Opening, embedder: _Embedder, call: Call
    ) -> None:
        embedder.timeout_s = 0.02  # type: ignore[attr-defined]  # it may have one
        embedder.failing = lambda _: asyncio.sleep(3_600)
        session = opening(embedder=embedder).scope("session")
        self._filled(session, call)
        found = call(session.pack, "sofa", budget=1_000)
        assert "0.02 s" in found.warnings[0]
        assert _recalled(found) == [PUPPY]

    def test_coroutines_take_a_plain_embedder_too(self, opening: Opening, call: Call) -> None:
        session = opening(embedder=_Embedder()).scope("session")
        self._filled(session, call)
        assert _recalled(call(session.pack, "dog", budget=1_000))[:1] == [PUPPY]

    def test_what_is_no_embedder_for_this_colour_is_refused(self, opening: Opening, call: Call) -> None:
        class Nameless:
            def __call__(self, texts: Sequence[str], /) -> Any:
                return texts

        hasty = _Embedder()
        hasty.timeout_s = 0  # type: ignore[attr-defined]  # see above
        for bad in (5, "model", Nameless(), hasty):
            with pytest.raises(InvalidInputError):
                opening(embedder=bad)
        if call.colour == "sync":
            with pytest.raises(InvalidInputError, match="aopen"):
                opening(embedder=_AsyncEmbedder())

    # -- what is stored

    def test_vectors_are_no_part_of_what_is_remembered(
        self, session: Scope, memory: wmem.AgentMemory, call: Call
    ) -> None:
        self._filled(session, call)
        before = call(memory.stats)
        call(session.pack, "dog", budget=1_000)
        after = call(memory.stats)
        assert (after.items, after.active_working_scopes, after.total_entries_long_term) == (3, 1, 0)
        assert after.oldest_entry == before.oldest_entry
        assert call(memory.working.children) == ["session"]
        assert call(session.items.count) == 3

    def _stored(self, opening: Opening, call: Call) -> int:
        """How many vectors another process finds."""
        memory = opening.elsewhere()
        opened = memory._opened  # noqa: SLF001  # vectors have no public door
        scope = type(memory.working)(opened.long_term(VECTORS), opened.colours)
        return len(call(scope.items.all))

    def test_what_is_erased_leaves_no_vector_unless_another_has_the_text(
        self, session: Scope, embedder: _Embedder, opening: Opening, call: Call
    ) -> None:
        self._filled(session, call)
        call(session.messages.append, {"role": "user", "content": "my dog is Biscuit", "id": "m"})
        (rain,) = [item.id for item in call(session.items.all) if item.content == RAIN]
        twin = call(session.items.add, RAIN, type="fact")
        call(session.pack, "dog", budget=1_000)
        assert self._stored(opening, call) == 4
        call(session.erase, rain)
        assert self._stored(opening, call) == 4
        assert call(session.erase, twin.id, "m").complete
        assert self._stored(opening, call) == 2
        embedder.taken()
        call(session.pack, "dog", budget=1_000)
        assert embedder.taken() == ["dog"]

    def test_what_is_cleared_or_disposed_leaves_no_vector(
        self, session: Scope, memory: wmem.AgentMemory, opening: Opening, call: Call
    ) -> None:
        self._filled(session, call)
        other = memory.scope("other")
        call(other.items.add, "a car", type="fact")
        for each in (session, other):
            call(each.pack, "dog", budget=1_000)
        assert self._stored(opening, call) == 4
        call(session.items.clear)
        assert self._stored(opening, call) == 1
        call(other.dispose)
        assert self._stored(opening, call) == 0

    def test_the_vectors_of_what_expired_go_with_maintenance(
        self, session: Scope, memory: wmem.AgentMemory, opening: Opening, call: Call, clock: Clock
    ) -> None:
        call(session.items.add, "the puppy sleeps", type="fact", ttl_s=60)
        call(session.items.add, RAIN, type="fact", ttl_s=None)
        call(session.pack, "dog", budget=1_000)
        clock.pass_(61)
        call(memory.maintain)
        assert self._stored(opening, call) == 1

    def test_many_texts_are_embedded_in_batches_the_newest_first_over_several_packs(
        self, session: Scope, embedder: _Embedder, call: Call
    ) -> None:
        call(session.messages.append, [{"role": "user", "content": f"number {at}"} for at in range(600)])
        call(session.pack, "dog", budget=1_000)
        first = embedder.taken()
        assert first[:2] == ["dog", "number 599"]
        assert len(first) == 513
        call(session.pack, "dog", budget=1_000)
        assert len(embedder.taken()) == 89
