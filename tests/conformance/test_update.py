"""`entries.update`: the function runs outside every lock, and no update is lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from typing import Any, TypeVar

import pytest

from tests.conformance.conftest import Call, Opening
from wmem import ConflictError, InvalidInputError, NotFoundError, Scope

R = TypeVar("R")


def plain(scope: Scope) -> Scope:
    """The face that a plain function can use."""
    return scope if isinstance(scope, Scope) else scope.sync()


def in_time(act: Callable[[], R]) -> R:
    """What another thread gets done while this one waits for it; a lock that this one holds shows as a timeout."""
    threads = ThreadPoolExecutor(1)
    try:
        return threads.submit(act).result(timeout=5)
    finally:
        threads.shutdown(wait=False)


def test_an_updates_function_may_read_the_scope_it_updates(session: Scope, call: Call) -> None:
    call(session.messages.append, {"role": "user", "content": "a"})
    call(session.entries.set, "k", 1)
    reads = plain(session)

    def counted(value: int) -> int:
        assert in_time(reads.messages.count) == reads.messages.count() == 1
        assert in_time(lambda: reads.entries.get("k")) == reads.view().entries.get("k") == value
        return value + reads.messages.count()

    assert call(session.entries.update, "k", counted) == 2
    assert call(session.entries.get, "k") == 2


def test_an_updates_function_may_write_another_key_of_the_scope_and_runs_once(session: Scope, call: Call) -> None:
    call(session.entries.set, "k", 1)
    writes, seen = plain(session), []

    def noted(value: int) -> int:
        seen.append(value)
        in_time(lambda: writes.entries.set("before", value))
        writes.messages.append({"role": "user", "content": "on the way"})
        return value + 1

    assert call(session.entries.update, "k", noted) == 2
    assert seen == [1]
    assert (call(session.entries.get, "before"), call(session.messages.count)) == (1, 1)


def test_a_slow_function_keeps_no_other_thread_waiting(session: Scope, call: Call) -> None:
    call(session.entries.set, "k", 1)
    other = plain(session)

    def others_work(value: int) -> int:
        in_time(lambda: other.entries.set("j", 1))
        in_time(lambda: other.entries.update("j", lambda held: held + 1))
        assert in_time(lambda: other.entries.get("j")) == 2
        assert in_time(other.entries.keys) == ["k", "j"]
        return value + 1

    assert call(session.entries.update, "k", others_work) == 2


def test_a_function_that_writes_its_own_key_ends_in_a_conflict_and_loses_nothing(
    session: Scope, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wmem.scope.entry_flows.RETRY_S", 0.05)
    call(session.entries.set, "k", 0)
    own, tries = plain(session), []

    def restless(value: int) -> str:
        tries.append(value)
        own.entries.set("k", value + 1)
        return "never stored"

    with pytest.raises(ConflictError, match="'k'"):
        call(session.entries.update, "k", restless)
    assert tries == list(range(len(tries)))
    assert call(session.entries.get, "k") == len(tries) > 1


def test_an_update_that_another_came_before_begins_again_with_what_is_there(opening: Opening, call: Call) -> None:
    here, there = opening().scope("s"), plain(opening.elsewhere().scope("s"))
    call(here.entries.set, "k", 1)
    seen: list[int] = []

    def overtaken(value: int) -> int:
        seen.append(value)
        if len(seen) == 1:
            there.entries.update("k", lambda held: held + 10)
        return value + 1

    assert call(here.entries.update, "k", overtaken) == 12
    assert seen == [1, 11]
    assert call(opening.elsewhere().scope("s").entries.get, "k") == 12


def test_an_update_does_not_bring_back_what_was_removed_on_the_way(session: Scope, call: Call) -> None:
    call(session.entries.set, "k", 1)
    other = plain(session)

    def removed(value: int) -> int:
        other.entries.remove("k")
        return value + 1

    with pytest.raises(NotFoundError):
        call(session.entries.update, "k", removed)
    assert call(session.entries.contains, "k") is False


def test_increments_at_once_are_counted_exactly(session: Scope, call: Call) -> None:
    def one_more() -> Any:
        return session.entries.update("k", lambda value: value + 1, 0)

    for _ in range(4):
        call.together([one_more] * 8)
    assert call(session.entries.get, "k") == 32


def test_a_coroutine_function_is_refused_and_nothing_is_stored(session: Scope, call: Call) -> None:
    async def one_more(value: int) -> int:
        return value + 1

    with pytest.raises(InvalidInputError, match="plain function"):
        call(session.entries.update, "k", one_more, 0)
    assert call(session.entries.contains, "k") is False


def test_an_update_keeps_metadata_and_kind_whatever_the_type_of_the_value(session: Scope, call: Call) -> None:
    call(session.entries.set, "k", date(2026, 12, 4), metadata={"by": "ada"}, kind="event")
    call(session.entries.update, "k", lambda due: due + timedelta(days=1))
    entry = call(session.entries.entry, "k")
    assert (entry.value, entry.metadata, entry.kind) == (date(2026, 12, 5), {"by": "ada"}, "event")


def test_an_update_leaves_nothing_of_the_type_before(session: Scope, call: Call) -> None:
    call(session.entries.set, "k", date(2026, 12, 4))
    call(session.entries.update, "k", str)
    call(session.entries.set, "j", "2026-12-04")
    assert call(session.entries.entry, "k").value == "2026-12-04"
    assert call(session.entries.entry, "k").type_name == call(session.entries.entry, "j").type_name
