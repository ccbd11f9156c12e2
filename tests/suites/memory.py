"""Suite of an agent's memory beyond the smoke suite: listeners, opening and closing."""

import logging
from typing import TYPE_CHECKING, Any

import pytest

import wmem
from wmem import InvalidInputError
from wmem.testing.suite import Call, FacetSuite, MemoryOpener, ToSync

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AgentMemorySuite"]


def change_kinds(events: Any) -> list[str]:
    return [type(event.change).__name__ for event in events]


def user_message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


class AgentMemorySuite(FacetSuite):
    """Events, changes and closing."""

    def test_a_listener_gets_every_change_once_and_in_order(self, memory: wmem.AgentMemory, call: Call) -> None:
        events: list[Any] = []
        stop = memory.subscribe(events.append)
        session = memory.scope("s")
        call(session.entries.set, "k", 1)
        call(session.entries.set, "k", 2)
        item = call(session.items.add, "x")
        call(session.messages.append, [user_message("a"), user_message("b")])
        call(session.items.remove, item.id)
        call(session.messages.clear)
        call(session.dispose)
        assert change_kinds(events) == [
            "ScopeOpened",
            *["ItemPut"] * 5,
            "ItemRemoved",
            "Cleared",
            "ScopeDisposed",
        ]
        assert {event.path for event in events} == {("agent", "s")}
        assert [event.updated for event in events[1:4]] == [False, True, False]
        versions = [event.cursor.version for event in events]
        assert versions == sorted(versions)
        stop()
        stop()
        call(memory.scope("s").entries.set, "k", 1)
        assert len(events) == 9

    def test_a_listener_hears_its_own_agent_alone(self, open_memory: MemoryOpener, call: Call) -> None:
        ada, bob = open_memory("ada"), open_memory("bob")
        events: list[Any] = []
        ada.subscribe(events.append)
        call(bob.scope("s").entries.set, "k", 1)
        assert events == []

    def test_a_failing_listener_breaks_nothing_and_is_logged(
        self, memory: wmem.AgentMemory, call: Call, caplog: pytest.LogCaptureFixture
    ) -> None:
        events: list[Any] = []

        def fails(_: Any) -> None:
            msg = "a listener's own trouble"
            raise RuntimeError(msg)

        memory.subscribe(fails)
        memory.subscribe(events.append)
        with caplog.at_level(logging.ERROR, "wmem"):
            call(memory.scope("s").entries.set, "k", "a secret value")
        assert change_kinds(events) == ["ScopeOpened", "ItemPut"]
        assert "a listener failed" in caplog.text
        assert call(memory.scope("s").entries.get, "k") == "a secret value"

    def test_a_listener_may_write(self, memory: wmem.AgentMemory, call: Call, to_sync: ToSync) -> None:
        events: list[Any] = []

        def echo(event: Any) -> None:
            events.append(event)
            if event.path[-1] == "s" and type(event.change).__name__ == "ItemPut":
                to_sync(memory.scope("echo")).entries.set("k", 1)

        memory.subscribe(echo)
        call(memory.scope("s").entries.set, "k", 1)
        assert [(event.path[-1], type(event.change).__name__) for event in events] == [
            ("s", "ScopeOpened"),
            ("s", "ItemPut"),
            ("echo", "ScopeOpened"),
            ("echo", "ItemPut"),
        ]

    def test_changes_of_another_agent_are_refused(self, open_memory: MemoryOpener, call: Call) -> None:
        ada, bob = open_memory("ada"), open_memory("bob")
        call(bob.scope("s").entries.set, "k", 1)
        with pytest.raises(InvalidInputError, match="ada"):
            call(ada.changes, call(bob.changes).cursors)

    def test_closing_is_counted_and_closing_twice_does_nothing(self, open_memory: MemoryOpener, call: Call) -> None:
        first, second = open_memory(), open_memory()
        call(first.scope("s").entries.set, "k", 1)
        call(first.close)
        call(first.close)
        assert call(second.scope("s").entries.get, "k") == 1
        call(second.scope("s").entries.set, "k", 2)
        with pytest.raises(InvalidInputError, match="closed"):
            first.scope("s")

    def test_two_openings_of_one_url_share_replicas(self, open_memory: MemoryOpener, call: Call) -> None:
        first, second = open_memory(), open_memory()
        events: list[Any] = []
        second.subscribe(events.append)
        call(first.scope("s").entries.set, "k", 1)
        # `second` has read nothing: a write of one updates the replica of both.
        assert change_kinds(events) == ["ScopeOpened", "ItemPut"]

    def test_both_faces_of_a_memory_share_it(self, open_memory: MemoryOpener, call: Call, mode: str) -> None:
        memory = open_memory()
        twin: Any = memory.aio() if mode == "sync" else memory.sync()  # type: ignore[attr-defined]  # the async face has it
        back = twin.sync() if mode == "sync" else twin.aio()
        call(back.scope("s").entries.set, "k", 1)
        assert call(memory.scope("s").entries.get, "k") == 1
        assert (twin.url, twin.agent_id) == (memory.url, "agent")
        call(memory.close)
        with pytest.raises(InvalidInputError, match="closed"):
            twin.scope("s")

    def test_a_url_that_a_memory_tells_opens_the_same_store(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        call(memory.scope("s").entries.set, "k", 1)
        again = open_memory.open_url(memory.url)
        assert again.url == memory.url
        assert call(again.scope("s").entries.get, "k") == 1

    def test_leaving_a_with_block_closes_and_deletes_nothing(self, open_memory: MemoryOpener, call: Call) -> None:
        with call.enter(open_memory()) as memory:
            call(memory.scope("s").entries.set, "k", 1)
        with pytest.raises(InvalidInputError, match="closed"):
            memory.scope("s")
        with call.enter(open_memory()) as again:
            assert call(again.scope("s").entries.get, "k") == 1

    def test_a_listener_hears_of_the_first_write_to_every_new_scope(self, memory: wmem.AgentMemory, call: Call) -> None:
        heard: list[tuple[str, ...]] = []
        memory.subscribe(lambda event: heard.append(event.path))
        names = [f"session-{number}" for number in range(70)]
        for name in names:
            call(memory.scope(name).entries.set, "k", 1)
        assert list(dict.fromkeys(heard)) == [("agent", name) for name in names]

    def test_a_closed_memory_and_all_its_scopes_serve_no_more(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        scope = memory.scope("s")
        item = call(scope.items.add, "x")
        call(scope.entries.set, "k", 1)
        view = call(scope.view)
        child = scope.child("c")
        call(memory.close)
        asked: list[Callable[[], Any]] = [
            lambda: memory.scope("s"),
            lambda: memory.working,
            lambda: memory.subscribe(print),
            lambda: call(memory.changes),
            lambda: scope.child("other"),
            lambda: call(scope.children),
            lambda: call(scope.entries.get, "k"),
            lambda: call(scope.entries.get, "missing"),
            lambda: call(scope.entries.set, "k", 2),
            lambda: call(scope.entries.keys),
            lambda: call(scope.items.add, "y"),
            lambda: call(scope.items.fetch, item.id),
            lambda: call(scope.items.all),
            lambda: call(scope.messages.append, user_message("a")),
            lambda: call(scope.messages.all),
            lambda: call(scope.messages.pop),
            lambda: call(scope.pack, budget=100),
            lambda: call(scope.view),
            lambda: call(scope.dispose),
            lambda: call(child.entries.set, "k", 1),
            lambda: call(child.merge_to_parent),
        ]
        for ask in asked:
            with pytest.raises(InvalidInputError, match="closed"):
                ask()
        # A list returned earlier belongs to the caller.
        assert call(view.entries.get, "k") == 1
        assert call(open_memory().scope("s").entries.get, "k") == 1
