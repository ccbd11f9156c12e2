"""Suite of read-modify-write: the function runs outside all locks, and no update is lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from typing import Any, TypeVar

import pytest

from wmem import ConflictError, InvalidInputError, NotFoundError, Scope, SerializationError
from wmem.testing.suite import NOON, Call, FacetSuite, MemoryOpener, ToSync

__all__ = ["UpdatesSuite"]

R = TypeVar("R")


def run_in_thread(act: Callable[[], R]) -> R:
    """Run a function in another thread and wait for it; times out if this thread holds a lock it needs."""
    threads = ThreadPoolExecutor(1)
    try:
        return threads.submit(act).result(timeout=60)
    finally:
        threads.shutdown(wait=False)


class UpdatesSuite(FacetSuite):
    """`entries.update` and `entries.get_or_set`: single, concurrent, and from several processes."""

    def test_updates_at_once_all_count(self, session: Scope, call: Call) -> None:
        def add_one() -> Any:
            return session.entries.update("n", lambda value: value + 1, 0)

        replies = call.run_concurrently([add_one] * 24)
        assert sorted(replies) == list(range(1, 25))
        assert call(session.entries.get, "n") == 24

    def test_updates_from_two_processes_all_count(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory().scope("s").entries, open_memory.in_other_process().scope("s").entries
        for _ in range(10):
            call(here.update, "n", lambda value: value + 1, 0)
            call(there.update, "n", lambda value: value + 1, 0)
        assert call(here.get, "n") == 20

    def test_an_update_without_default_needs_the_key(self, session: Scope, call: Call) -> None:
        with pytest.raises(NotFoundError, match="'n'"):
            call(session.entries.update, "n", lambda value: value)
        assert call(session.entries.contains, "n") is False

    def test_an_update_begins_with_the_parents_value_and_writes_here(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        call(session.entries.set, "n", 5)
        assert call(child.entries.update, "n", lambda value: value + 1) == 6
        assert call(child.entries.get, "n") == 6
        assert call(session.entries.get, "n") == 5

    def test_an_update_keeps_tags_importance_and_expiry(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "n", 1, tags=["t"], importance=0.9, ttl_s=60, metadata={"a": 1})
        call(session.entries.update, "n", lambda value: value + 1)
        entry = call(session.entries.entry, "n")
        assert (entry.value, entry.tags, entry.importance, entry.expires_at) == (2, ("t",), 0.9, NOON + 60)
        assert entry.metadata == {"a": 1}

    def test_an_update_whose_function_fails_changes_nothing(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "n", 1)
        with pytest.raises(ZeroDivisionError):
            call(session.entries.update, "n", lambda value: value / 0)
        with pytest.raises(SerializationError):
            call(session.entries.update, "n", lambda _: object())
        assert call(session.entries.get, "n") == 1

    def test_get_or_set_stores_the_factorys_value_once(self, session: Scope, call: Call) -> None:
        made: list[int] = []

        def factory() -> int:
            made.append(1)
            return 7

        assert call(session.entries.get_or_set, "k", factory) == 7
        assert call(session.entries.get_or_set, "k", factory) == 7
        assert made == [1]
        assert call(session.entries.get, "k") == 7

    def test_of_many_factories_at_once_one_runs_for_all(self, session: Scope, call: Call) -> None:
        made: list[int] = []

        def asked(number: int) -> Any:
            def factory() -> int:
                made.append(number)
                return number

            return lambda: session.entries.get_or_set("k", factory)

        replies = call.run_concurrently([asked(number) for number in range(12)])
        assert set(replies) == set(made) == {call(session.entries.get, "k")}
        assert len(made) == 1

    def test_a_factorys_value_of_another_process_wins(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory().scope("s").entries, open_memory.in_other_process().scope("s").entries
        assert call(here.get_or_set, "k", lambda: "here") == call(there.get_or_set, "k", lambda: "there") == "here"

    def test_get_or_set_takes_the_parents_value(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "k", 1)
        child = session.child("c")
        assert call(child.entries.get_or_set, "k", lambda: 2) == 1
        assert call(child.entries.local.contains, "k") is False

    def test_get_or_set_awaits_a_coroutine_function_and_the_sync_face_refuses_it(
        self, session: Scope, call: Call, mode: str
    ) -> None:
        async def seven() -> int:
            return 7

        factory: Any = seven
        if mode == "async":
            assert call(session.entries.get_or_set, "k", factory) == 7
        else:
            with pytest.raises(InvalidInputError, match="aopen"):
                call(session.entries.get_or_set, "k", factory)
            assert call(session.entries.contains, "k") is False

    def test_an_updates_function_may_read_the_scope_it_updates(
        self, session: Scope, call: Call, to_sync: ToSync
    ) -> None:
        call(session.messages.append, {"role": "user", "content": "a"})
        call(session.entries.set, "k", 1)
        reads = to_sync(session)

        def counted(value: int) -> int:
            assert run_in_thread(reads.messages.count) == reads.messages.count() == 1
            assert run_in_thread(lambda: reads.entries.get("k")) == reads.view().entries.get("k") == value
            return value + reads.messages.count()

        assert call(session.entries.update, "k", counted) == 2
        assert call(session.entries.get, "k") == 2

    def test_an_updates_function_may_write_another_key_of_the_scope_and_runs_once(
        self, session: Scope, call: Call, to_sync: ToSync
    ) -> None:
        call(session.entries.set, "k", 1)
        writes, seen = to_sync(session), []

        def noted(value: int) -> int:
            seen.append(value)
            run_in_thread(lambda: writes.entries.set("before", value))
            writes.messages.append({"role": "user", "content": "on the way"})
            return value + 1

        assert call(session.entries.update, "k", noted) == 2
        assert seen == [1]
        assert (call(session.entries.get, "before"), call(session.messages.count)) == (1, 1)

    def test_a_slow_function_keeps_no_other_thread_waiting(self, session: Scope, call: Call, to_sync: ToSync) -> None:
        call(session.entries.set, "k", 1)
        other = to_sync(session)

        def others_work(value: int) -> int:
            run_in_thread(lambda: other.entries.set("j", 1))
            run_in_thread(lambda: other.entries.update("j", lambda held: held + 1))
            assert run_in_thread(lambda: other.entries.get("j")) == 2
            assert run_in_thread(other.entries.keys) == ["k", "j"]
            return value + 1

        assert call(session.entries.update, "k", others_work) == 2

    def test_a_function_that_writes_its_own_key_ends_in_a_conflict_and_loses_nothing(
        self, session: Scope, call: Call, monkeypatch: pytest.MonkeyPatch, to_sync: ToSync
    ) -> None:
        monkeypatch.setattr("wmem.scope.entries.flows.RETRY_S", 0.05)
        call(session.entries.set, "k", 0)
        own, tries = to_sync(session), []

        def restless(value: int) -> str:
            tries.append(value)
            own.entries.set("k", value + 1)
            return "never stored"

        with pytest.raises(ConflictError, match="'k'"):
            call(session.entries.update, "k", restless)
        assert tries == list(range(len(tries)))
        assert call(session.entries.get, "k") == len(tries) > 1

    def test_an_update_that_was_refused_late_is_tried_again(
        self, session: Scope, call: Call, monkeypatch: pytest.MonkeyPatch, to_sync: ToSync
    ) -> None:
        monkeypatch.setattr("wmem.scope.entries.flows.RETRY_S", 0.0)
        call(session.entries.set, "k", 0)
        own, seen = to_sync(session), []

        def met_once(value: int) -> int:
            seen.append(value)
            if len(seen) == 1:
                own.entries.set("k", 5)
            return value + 1

        assert call(session.entries.update, "k", met_once) == 6
        assert seen == [0, 5]

    def test_an_update_that_another_came_before_begins_again_with_what_is_there(
        self, open_memory: MemoryOpener, call: Call, to_sync: ToSync
    ) -> None:
        here, there = open_memory().scope("s"), to_sync(open_memory.in_other_process().scope("s"))
        call(here.entries.set, "k", 1)
        seen: list[int] = []

        def overtaken(value: int) -> int:
            seen.append(value)
            if len(seen) == 1:
                there.entries.update("k", lambda held: held + 10)
            return value + 1

        assert call(here.entries.update, "k", overtaken) == 12
        assert seen == [1, 11]
        assert call(open_memory.in_other_process().scope("s").entries.get, "k") == 12

    def test_an_update_does_not_bring_back_what_was_removed_on_the_way(
        self, session: Scope, call: Call, to_sync: ToSync
    ) -> None:
        call(session.entries.set, "k", 1)
        other = to_sync(session)

        def removed(value: int) -> int:
            other.entries.remove("k")
            return value + 1

        with pytest.raises(NotFoundError):
            call(session.entries.update, "k", removed)
        assert call(session.entries.contains, "k") is False

    def test_increments_at_once_are_counted_exactly(self, session: Scope, call: Call) -> None:
        def one_more() -> Any:
            return session.entries.update("k", lambda value: value + 1, 0)

        for _ in range(4):
            call.run_concurrently([one_more] * 8)
        assert call(session.entries.get, "k") == 32

    def test_a_coroutine_function_is_refused_and_nothing_is_stored(self, session: Scope, call: Call) -> None:
        async def one_more(value: int) -> int:
            return value + 1

        with pytest.raises(InvalidInputError, match="plain function"):
            call(session.entries.update, "k", one_more, 0)
        assert call(session.entries.contains, "k") is False

    def test_an_update_keeps_metadata_and_kind_whatever_the_type_of_the_value(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "k", date(2026, 12, 4), metadata={"by": "ada"}, kind="event")
        call(session.entries.update, "k", lambda due: due + timedelta(days=1))
        entry = call(session.entries.entry, "k")
        assert (entry.value, entry.metadata, entry.kind) == (date(2026, 12, 5), {"by": "ada"}, "event")

    def test_an_update_leaves_nothing_of_the_type_before(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "k", date(2026, 12, 4))
        call(session.entries.update, "k", str)
        call(session.entries.set, "j", "2026-12-04")
        assert call(session.entries.entry, "k").value == "2026-12-04"
        assert call(session.entries.entry, "k").type_name == call(session.entries.entry, "j").type_name
