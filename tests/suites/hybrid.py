"""Suite of hybrid recall: synonyms are found, a text is embedded once, and embedder failures never fail a pack."""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

import wmem
from tests.suites.embedders import (
    FAULTS,
    PUPPY,
    RAIN,
    AsyncEmbedder,
    Embedder,
    EmbedderSuite,
    list_recalled_texts,
    raise_error,
)
from wmem import Context, InvalidInputError, Scope
from wmem.testing.suite import Call, Clock, MemoryOpener

__all__ = ["HybridSuite"]

_PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/dog.png"}}


def _prompt(context: Context) -> list[dict[str, Any]]:
    return context.to_openai()


class HybridSuite(EmbedderSuite):
    """What a pack finds by meaning, which texts it embeds, and how it takes embedder failures."""

    def test_what_means_the_same_in_other_words_isrecalled(
        self, session: Scope, open_memory: MemoryOpener, call: Call
    ) -> None:
        self.add_facts(session, call)
        found = call(session.pack, "dog", budget=1_000)
        assert list_recalled_texts(found)[:1] == [PUPPY]
        assert max(unit.parts["vector"] for unit in found.included) == pytest.approx(wmem.RecallProfile().vector)
        assert found.warnings == ()
        plain = call(open_memory.in_other_process().scope("session").pack, "dog", budget=1_000)
        assert PUPPY not in list_recalled_texts(plain)

    def test_a_text_is_embedded_once_and_never_by_a_write(self, session: Scope, embedder: Embedder, call: Call) -> None:
        self.add_facts(session, call)
        assert embedder.pop_texts() == []
        call(session.pack, "dog", budget=1_000)
        asked = embedder.pop_texts()
        assert (asked[0], len(asked), len(set(asked))) == ("dog", 4, 4)
        call(session.pack, "car", budget=1_000)
        assert embedder.pop_texts() == ["car"]
        call(session.items.add, RAIN, type="fact")
        call(session.pack, "car", budget=1_000)
        assert embedder.pop_texts() == ["car"]  # RAIN is embedded already

    def test_a_question_is_embedded_without_the_names_of_those_who_speak(
        self, session: Scope, embedder: Embedder, call: Call
    ) -> None:
        for number in range(3):
            call(session.messages.append, {"role": "user", "name": "Ann", "content": f"a puppy {number}"})
        call(session.items.add, "a car of Grace", type="fact")
        call(session.pack, "has Ann's dog met Grace?", budget=1_000)
        assert "has dog met Grace?" in embedder.pop_texts(), "Grace never spoke"
        call(session.recall, "Ann", limit=3)
        assert embedder.pop_texts() == ["Ann"], "nothing else is left of it"

    def test_without_a_query_the_embedder_is_not_asked(self, session: Scope, embedder: Embedder, call: Call) -> None:
        self.add_facts(session, call)
        call(session.pack, budget=1_000)
        call(session.pack, " ", budget=1_000)
        call(session.pack, "dog", budget=1_000, scoring=wmem.RecallProfile(vector=0))
        assert embedder.pop_texts() == []

    def test_another_process_embeds_nothing_again(
        self, session: Scope, embedder: Embedder, open_memory: MemoryOpener, call: Call
    ) -> None:
        self.add_facts(session, call)
        here = call(session.pack, "dog", budget=1_000)
        embedder.pop_texts()
        there = call(open_memory.in_other_process(embedder=embedder).scope("session").pack, "dog", budget=1_000)
        assert embedder.pop_texts() == ["dog"]
        assert _prompt(there) == _prompt(here)

    def test_a_question_that_is_stored_as_a_message_is_embedded_once(
        self, session: Scope, embedder: Embedder, call: Call
    ) -> None:
        call(session.messages.append, {"role": "user", "content": "where is my dog"})
        for _ in range(2):
            call(session.pack, "where is my dog", budget=1_000)
            assert embedder.pop_texts() == ["where is my dog"]
        call(session.pack, "dog", budget=1_000)
        assert embedder.pop_texts() == ["dog"]

    def test_a_text_of_two_scopes_is_embedded_once(
        self, session: Scope, memory: wmem.AgentMemory, embedder: Embedder, call: Call
    ) -> None:
        other = memory.scope("other")
        for scope in (session, other):
            self.add_facts(scope, call)
        call(session.pack, "dog", budget=1_000)
        embedder.pop_texts()
        assert list_recalled_texts(call(other.pack, "dog", budget=1_000))[:1] == [PUPPY]
        assert embedder.pop_texts() == ["dog"]

    def test_packs_at_the_same_time_embed_a_text_once(
        self, session: Scope, memory: wmem.AgentMemory, embedder: Embedder, call: Call
    ) -> None:
        other = memory.scope("other")
        for scope in (session, other):
            self.add_facts(scope, call)

        def slow(made: list[list[float]]) -> Any:
            if call.mode == "async":
                return asyncio.sleep(0.02, made)
            time.sleep(0.02)
            return made

        embedder.fault = slow

        def packing(scope: Scope) -> Callable[[], Context]:
            return lambda: scope.pack("dog", budget=1_000)

        found = call.run_concurrently([packing(scope) for scope in (session, other, session)])
        assert [list_recalled_texts(each)[:1] for each in found] == [[PUPPY]] * 3
        assert sorted(embedder.pop_texts()) == sorted(["dog"] * 3 + [PUPPY, "an automobile needs petrol", RAIN])

    @pytest.mark.parametrize("mode", ["sync"])  # the other pack runs inside this one
    def test_what_another_pack_has_just_made_is_not_embedded_again(
        self,
        session: Scope,
        memory: wmem.AgentMemory,
        embedder: Embedder,
        call: Call,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        other = memory.scope("other")
        for scope in (session, other):
            self.add_facts(scope, call)
        engine = memory._core.store.engine  # to step in where it is closest
        claim = engine.claim

        def stepping_in(works: Any, mine: Any) -> None:
            monkeypatch.setattr(engine, "claim", claim)
            other.pack("dog", budget=1_000)
            claim(works, mine)

        monkeypatch.setattr(engine, "claim", stepping_in)
        assert list_recalled_texts(call(session.pack, "dog", budget=1_000))[:1] == [PUPPY]
        assert sorted(embedder.pop_texts()) == sorted(["dog", "dog", PUPPY, "an automobile needs petrol", RAIN])

    def test_parents_lend_the_meaning_of_their_items_and_not_of_their_messages(
        self, session: Scope, embedder: Embedder, call: Call
    ) -> None:
        self.add_facts(session, call)
        call(session.entries.set, "pet", "a puppy")
        call(session.messages.append, {"role": "user", "content": "no business of a child's"})
        child = session.child("task")
        call(child.items.add, "a car", type="fact")
        assert PUPPY not in list_recalled_texts(call(child.pack, "dog", budget=1_000, inherit=False))
        assert embedder.pop_texts() == ["dog", "a car"]
        assert PUPPY in list_recalled_texts(call(child.pack, "dog", budget=1_000))
        assert sorted(embedder.pop_texts()) == sorted(
            ["dog", "pet: a puppy", PUPPY, "an automobile needs petrol", RAIN]
        )

    def test_above_its_limit_a_scope_recalls_by_words_and_says_so_once(
        self,
        session: Scope,
        embedder: Embedder,
        call: Call,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        monkeypatch.setattr("wmem.scope.embedding_backfill.MAX_ITEMS", 3)
        self.add_facts(session, call)
        found = call(session.pack, "dog", budget=1_000)
        assert (found.warnings, list_recalled_texts(found)[:1]) == ((), [PUPPY])
        one_more = call(session.items.add, "a sofa", type="fact")
        embedder.pop_texts()
        for _ in range(2):
            found = call(session.pack, "sofa", budget=1_000)
            (warning,) = found.warnings
            assert "4 items" in warning
            assert set(list_recalled_texts(found)) == {PUPPY, "a sofa"}
        assert embedder.pop_texts() == []
        assert sum("words alone" in record.getMessage() for record in caplog.records) == 1
        call(session.items.remove, one_more.id)
        assert list_recalled_texts(call(session.pack, "dog", budget=1_000))[:1] == [PUPPY]

    def test_of_a_long_text_the_beginning_is_embedded_and_a_blank_one_not_at_all(
        self, session: Scope, embedder: Embedder, call: Call
    ) -> None:
        call(session.items.add, "dog " * 5_000, type="fact")
        call(session.messages.append, {"role": "user", "content": " "})
        call(session.messages.append, {"role": "user", "content": [_PICTURE]})
        for _ in range(2):
            assert call(session.pack, "petrol " * 5_000, budget=4_000).warnings == ()
        texts = embedder.pop_texts()
        assert [len(text) // 100 for text in texts if text.startswith("petrol")] == [59, 59], (
            "its beginning and its end"
        )
        assert [len(text) for text in texts if text.startswith("dog")] == [len("dog.png"), 8_000]
        assert "dog.png" in texts, "a picture is found by its name"

    def test_one_name_for_models_of_two_widths_finds_by_either(
        self, session: Scope, embedder: Embedder, open_memory: MemoryOpener, call: Call
    ) -> None:
        self.add_facts(session, call)
        narrow = type(embedder)()
        narrow.fault = lambda made: [[*row, 0.0] for row in made]
        both = [session, open_memory(embedder=narrow).scope("session")]
        for scope in both * 2:
            found = call(scope.pack, "dog", budget=1_000)
            assert (found.warnings, list_recalled_texts(found)[:1]) == ((), [PUPPY])

    def test_a_changed_text_is_embedded_again(self, session: Scope, embedder: Embedder, call: Call) -> None:
        self.add_facts(session, call)
        call(session.entries.set, "animal", "a dog")
        call(session.pack, "dog", budget=1_000)
        embedder.pop_texts()
        call(session.entries.set, "animal", "a car")
        call(session.pack, "dog", budget=1_000)
        assert embedder.pop_texts() == ["dog", "animal: a car"]

    def test_vectors_of_another_model_are_not_mixed_in(
        self, session: Scope, embedder: Embedder, open_memory: MemoryOpener, call: Call
    ) -> None:
        self.add_facts(session, call)
        call(session.pack, "dog", budget=1_000)
        embedder.pop_texts()
        other = type(embedder)()
        other.name = "more words"
        found = call(open_memory(embedder=other).scope("session").pack, "dog", budget=1_000)
        assert (len(other.pop_texts()), list_recalled_texts(found)[:1]) == (4, [PUPPY])
        narrow = type(embedder)()
        narrow.fault = lambda made: [row[:32] + row[32:] + [0.0] for row in made]  # same name, other width
        found = call(open_memory.in_other_process(embedder=narrow).scope("session").pack, "dog", budget=1_000)
        assert (len(narrow.pop_texts()), found.warnings, list_recalled_texts(found)[:1]) == (4, (), [PUPPY])

    # -- when it fails

    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_failing_embedder_costs_the_meaning_and_never_the_pack(
        self, fault: str, session: Scope, embedder: Embedder, open_memory: MemoryOpener, call: Call
    ) -> None:
        self.add_facts(session, call)
        plain = call(open_memory.in_other_process().scope("session").pack, "dog petrol", budget=1_000)
        embedder.fault = FAULTS[fault]
        found = call(session.pack, "dog petrol", budget=1_000)
        assert _prompt(found) == _prompt(plain)
        assert (found.included, found.dropped) == (plain.included, plain.dropped)
        (warning,) = found.warnings
        assert "words alone" in warning

    def test_a_failing_embedder_is_left_alone_for_a_minute_then_for_two_and_told_of_once(
        self, session: Scope, embedder: Embedder, call: Call, clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        self.add_facts(session, call)
        embedder.fault = raise_error
        call(session.pack, "dog petrol", budget=1_000)
        embedder.pop_texts()
        assert call(session.pack, "dog petrol", budget=1_000).warnings != ()
        assert embedder.pop_texts() == []  # it is not called for a minute
        clock.advance(61)
        call(session.pack, "dog petrol", budget=1_000)
        assert len(embedder.pop_texts()) == 1
        assert sum("words alone" in record.getMessage() for record in caplog.records) == 1
        embedder.fault = None
        clock.advance(61)
        call(session.pack, "dog", budget=1_000)
        assert len(embedder.pop_texts()) == 0  # it failed twice
        clock.advance(60)
        found = call(session.pack, "dog", budget=1_000)
        assert (found.warnings, list_recalled_texts(found)[:1]) == ((), [PUPPY])
        embedder.fault = raise_error
        call(session.pack, "dog petrol", budget=1_000)
        embedder.pop_texts()
        clock.advance(61)
        call(session.pack, "dog petrol", budget=1_000)
        assert len(embedder.pop_texts()) == 1  # a success resets the backoff to one minute

    def test_a_slow_embedder_is_left_alone_for_a_minute(
        self, session: Scope, embedder: Embedder, call: Call, clock: Clock
    ) -> None:
        self.add_facts(session, call)

        def slow(made: list[list[float]]) -> list[list[float]]:
            clock.advance(6)
            return made

        embedder.fault = slow
        call(session.pack, "dog", budget=1_000)
        assert embedder.pop_texts() == ["dog"]
        found = call(session.pack, "dog", budget=1_000)
        assert (embedder.pop_texts(), len(found.warnings)) == ([], 1)

    @pytest.mark.parametrize("mode", ["async"])  # a thread cannot be stopped
    def test_coroutines_do_not_wait_for_an_embedder_that_never_answers(
        self, open_memory: MemoryOpener, embedder: Embedder, call: Call
    ) -> None:
        embedder.timeout_s = 0.02  # type: ignore[attr-defined]  # it may have one
        embedder.fault = lambda _: asyncio.sleep(3_600)
        session = open_memory(embedder=embedder).scope("session")
        self.add_facts(session, call)
        found = call(session.pack, "sofa", budget=1_000)
        assert "0.02 s" in found.warnings[0]
        assert list_recalled_texts(found) == [PUPPY]

    def test_nobody_waits_for_a_plain_embedder_that_never_answers(self, open_memory: MemoryOpener, call: Call) -> None:
        embedder, never = Embedder(), threading.Event()
        embedder.timeout_s = 0.02  # type: ignore[attr-defined]  # it may have one
        embedder.fault = lambda _: never.wait()
        session = open_memory(embedder=embedder).scope("session")
        self.add_facts(session, call)
        found = call(session.pack, "sofa", budget=1_000)
        assert "0.02 s" in found.warnings[0]
        assert list_recalled_texts(found) == [PUPPY]
        never.set()

    def test_a_plain_embedder_that_may_take_for_ever_runs_in_the_thread_that_asks(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        embedder, threads = Embedder(), list[int]()
        embedder.timeout_s = math.inf  # type: ignore[attr-defined]  # it may have one

        def noted(made: list[list[float]]) -> list[list[float]]:
            threads.append(threading.get_ident())
            return made

        embedder.fault = noted
        session = open_memory(embedder=embedder).scope("session")
        self.add_facts(session, call)
        found = call(session.pack, "dog", budget=1_000)
        assert list_recalled_texts(found)[:1] == [PUPPY]
        assert (set(threads) == {threading.get_ident()}) is (call.mode == "sync")  # coroutines share their loop's

    @pytest.mark.parametrize("mode", ["async"])  # a thread cannot be cancelled
    def test_a_cancelled_pack_leaves_its_texts_to_the_next_one(
        self, session: Scope, embedder: Embedder, call: Call
    ) -> None:
        self.add_facts(session, call)
        begun = asyncio.Event()

        async def hanging(made: list[list[float]]) -> Any:
            if len(made) > 1:
                begun.set()
                await asyncio.sleep(3_600)
            return made

        async def cancelled() -> None:
            twin: Any = session
            packing = asyncio.ensure_future(twin.pack("dog", budget=1_000))
            await begun.wait()
            packing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await packing

        embedder.fault = hanging
        _: Any = call(cancelled)
        embedder.fault = None
        embedder.pop_texts()
        found = call(session.pack, "dog", budget=1_000)
        assert (len(embedder.pop_texts()), found.warnings, list_recalled_texts(found)[:1]) == (4, (), [PUPPY])

    def test_coroutines_take_a_plain_embedder_too(self, open_memory: MemoryOpener, call: Call) -> None:
        session = open_memory(embedder=Embedder()).scope("session")
        self.add_facts(session, call)
        assert list_recalled_texts(call(session.pack, "dog", budget=1_000))[:1] == [PUPPY]

    def test_what_is_no_embedder_for_this_mode_is_refused(self, open_memory: MemoryOpener, call: Call) -> None:
        class Nameless:
            def __call__(self, texts: Sequence[str], /) -> Any:
                return texts

        hasty = Embedder()
        hasty.timeout_s = 0  # type: ignore[attr-defined]  # see above
        for bad in (5, "model", Nameless(), hasty):
            with pytest.raises(InvalidInputError):
                open_memory(embedder=bad)

        async def embed(texts: Sequence[str], _model: str, /) -> Any:
            return texts

        part: Any = partial(embed, "model")
        part.name = "part"
        for coroutines in (AsyncEmbedder(), part):
            if call.mode == "sync":
                with pytest.raises(InvalidInputError, match="aopen"):
                    open_memory(embedder=coroutines)
            else:
                twin: Any = open_memory(embedder=coroutines)
                with pytest.raises(InvalidInputError, match="aopen"):
                    twin.sync().scope("session")

    def test_many_texts_are_embedded_in_batches_the_newest_first_over_several_packs(
        self, session: Scope, embedder: Embedder, call: Call
    ) -> None:
        call(session.messages.append, [{"role": "user", "content": f"number {at}"} for at in range(600)])
        call(session.pack, "dog", budget=1_000)
        first = embedder.pop_texts()
        assert first[:2] == ["dog", "number 599"]
        assert len(first) == 513
        call(session.pack, "dog", budget=1_000)
        assert len(embedder.pop_texts()) == 89
