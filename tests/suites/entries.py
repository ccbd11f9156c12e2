"""Suite of entries: reads fall back to the parents, writes stay in their scope."""

from decimal import Decimal

import pytest

import wmem
from wmem import NotFoundError, Scope
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, ToSync

__all__ = ["EntriesSuite"]


class EntriesSuite(FacetSuite):
    """An entry is read back, in its scope or one below, until it is removed or expires."""

    def test_what_was_set_is_read_back(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "deadline", "Friday")
        assert call(session.entries.get, "deadline") == "Friday"
        call(session.entries.set, "deadline", "Monday")
        assert call(session.entries.get, "deadline") == "Monday"
        assert call(session.entries.count) == 1

    def test_an_absent_key_reads_as_the_default(self, session: Scope, call: Call) -> None:
        assert call(session.entries.get, "nothing") is None
        assert call(session.entries.get, "nothing", 7) == 7
        assert call(session.entries.entry, "nothing") is None
        assert call(session.entries.contains, "nothing") is False

    def test_a_stored_none_is_not_an_absent_key(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "nothing", None)
        assert call(session.entries.get, "nothing", 7) is None
        assert call(session.entries.contains, "nothing") is True

    def test_get_many_gives_the_keys_that_are_there(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "a", 1)
        call(session.entries.set, "b", 2)
        assert call(session.entries.get_many, ["a", "b", "c"]) == {"a": 1, "b": 2}

    def test_an_entry_carries_what_is_known_of_it(self, session: Scope, call: Call, clock: Clock) -> None:
        call(
            session.entries.set,
            "k",
            Decimal("1.10"),
            tags=["x", "y", "x"],
            importance=0.9,
            metadata={"source": "form"},
            kind="preference",
            ttl_s=60,
        )
        entry = call(session.entries.entry, "k")
        assert (entry.key, entry.value, entry.tags, entry.importance) == ("k", Decimal("1.10"), ("x", "y"), 0.9)
        assert (entry.metadata, entry.kind, entry.type_name) == ({"source": "form"}, "preference", "decimal.Decimal")
        assert (entry.created_at, entry.expires_at, entry.access_count) == (NOON, NOON + 60, 0)

    def test_setting_again_keeps_the_birthday_and_the_id(self, session: Scope, call: Call, clock: Clock) -> None:
        call(session.entries.set, "k", 1)
        before = call(session.entries.entry, "k")
        clock.advance(10)
        call(session.entries.set, "k", 2)
        after = call(session.entries.entry, "k")
        assert (after.id, after.created_at, after.updated_at) == (before.id, NOON, NOON + 10)

    def test_reads_fall_back_to_the_parents_and_the_nearest_wins(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        child = session.child("c")
        call(memory.working.entries.set, "who", "agent")
        call(memory.working.entries.set, "where", "root")
        call(session.entries.set, "who", "session")
        call(child.entries.set, "mine", 1)
        assert call(child.entries.get, "who") == "session"
        assert call(child.entries.get, "where") == "root"
        assert call(child.entries.keys) == ["mine", "who", "where"]
        assert {key: item.value for key, item in call(child.entries.all).items()} == {
            "mine": 1,
            "who": "session",
            "where": "root",
        }
        assert call(child.entries.count) == 3
        call(child.entries.set, "who", "child")
        assert call(child.entries.get, "who") == "child"
        assert call(session.entries.get, "who") == "session"

    def test_an_unborn_scope_reads_its_parents(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.working.entries.set, "k", 1)
        assert call(memory.scope("a", "b", "c").entries.get, "k") == 1

    def test_local_reads_leave_the_parents_out(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        call(session.entries.set, "k", 1)
        call(child.entries.set, "own", 2)
        local = child.entries.local
        assert call(local.get, "k", "absent") == "absent"
        assert call(local.contains, "k") is False
        assert call(local.entry, "k") is None
        assert call(local.keys) == ["own"]
        assert list(call(local.all)) == ["own"]
        assert call(local.count) == 1
        assert call(local.get_many, ["k", "own"]) == {"own": 2}

    def test_removing_a_shadow_uncovers_the_parents_value(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        call(session.entries.set, "k", "parent")
        call(child.entries.set, "k", "child")
        assert call(child.entries.remove, "k") is True
        assert call(child.entries.get, "k") == "parent"
        assert call(child.entries.remove, "k") is False
        assert call(session.entries.get, "k") == "parent"

    def test_clear_empties_this_scope_alone(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        call(session.entries.set, "k", 1)
        call(child.entries.set, "a", 1)
        call(child.entries.set, "b", 1)
        call(child.items.add, "an item stays")
        assert call(child.entries.clear) == 2
        assert call(child.entries.keys) == ["k"]
        assert call(child.items.count) == 1
        assert call(child.entries.clear) == 0

    def test_an_expired_entry_is_invisible_at_once_to_every_verb(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        call(session.entries.set, "k", "session", ttl_s=10)
        clock.advance(9.999)
        assert call(session.entries.get, "k") == "session"
        clock.advance(0.001)
        assert call(session.entries.get, "k", "gone") == "gone"
        assert call(session.entries.contains, "k") is False
        assert call(session.entries.entry, "k") is None
        assert call(session.entries.keys) == []
        assert call(session.entries.all) == {}
        assert call(session.entries.count) == 0
        assert call(session.entries.get_many, ["k"]) == {}
        assert call(session.entries.remove, "k") is False
        with pytest.raises(NotFoundError):
            call(session.entries.update, "k", str)
        assert call(session.entries.clear) == 0

    def test_an_expired_shadow_uncovers_the_parents_value(self, session: Scope, call: Call, clock: Clock) -> None:
        child = session.child("c")
        call(session.entries.set, "k", "parent")
        call(child.entries.set, "k", "child", ttl_s=1)
        clock.advance(1)
        assert call(child.entries.get, "k") == "parent"

    def test_setting_an_expired_key_makes_it_visible_again(self, session: Scope, call: Call, clock: Clock) -> None:
        call(session.entries.set, "k", 1, ttl_s=1)
        clock.advance(5)
        call(session.entries.set, "k", 2)
        assert call(session.entries.get, "k") == 2
        clock.advance(1e9)
        assert call(session.entries.get, "k") == 2

    def test_brackets_and_in_are_the_same_verbs(self, session: Scope, to_sync: ToSync) -> None:
        entries = to_sync(session).entries
        entries["k"] = 1
        assert entries["k"] == 1
        assert "k" in entries
        assert "j" not in entries
        assert 5 not in entries
        with pytest.raises(NotFoundError, match="'j'"):
            _ = entries["j"]
        del entries["k"]
        assert "k" not in entries
        with pytest.raises(KeyError):
            del entries["k"]
        assert not hasattr(entries, "__len__")

    def test_local_entries_answer_in_brackets(self, session: Scope, call: Call, to_sync: ToSync) -> None:
        child = to_sync(session).child("c")
        call(session.entries.set, "above", 1)
        child.entries.set("own", 2)
        assert "own" in child.entries.local
        assert "above" not in child.entries.local
        assert child.entries.local["own"] == 2
        with pytest.raises(NotFoundError):
            child.entries.local["above"]
