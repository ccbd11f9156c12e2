"""Suite of session items: priority, time to live, and an importance that rises with use."""

from typing import Any

import pytest

from wmem import ExpiredError, InvalidInputError, NotFoundError, Scope, SerializationError
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

__all__ = ["ItemsSuite"]

HOUR = 3_600


PRIORITIES: dict[Any, int] = {"low": 1, "medium": 4, "high": 12, "critical": 24}


class ItemsSuite(FacetSuite):
    """Items from addition to expiry or removal."""

    def test_what_is_added_is_there_with_everything_it_was_given(self, session: Scope, call: Call) -> None:
        added = call(
            session.items.add,
            "prefers short answers",
            priority="high",
            tags=["style", "style"],
            metadata={"from": {"page": 3}},
            type="fact",
            kind="preference",
            confidence="high",
            source="user",
            participants=["ada"],
            task_id="t1",
            thread_id="th",
            turn_id="tu",
            relations=[{"type": "supports", "target_id": "x"}],
            valid_from=NOON,
            retention="episodic",
        )
        found = call(session.items.get, added.id)
        assert found == added
        assert (found.content, found.priority, found.tags, found.metadata) == (
            "prefers short answers",
            "high",
            ("style",),
            {"from": {"page": 3}},
        )
        assert (found.type, found.kind, found.confidence) == ("fact", "preference", 0.75)
        assert (found.source, found.participants, found.task_id) == ("user", ("ada",), "t1")
        assert (found.thread_id, found.turn_id, found.retention) == ("th", "tu", "episodic")
        assert (found.relations[0].type, found.relations[0].target_id) == ("supports", "x")
        assert (found.key, found.message, found.access_count) == (None, None, 1)
        assert (found.created_at, found.expires_at) == (NOON, NOON + 12 * HOUR)
        assert (found.tokens or 0) > 0

    def test_an_item_written_here_reads_the_same_in_another_process(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        added = call(
            open_memory().scope("s").items.add, "é日本\ud83d", tags=["t"], metadata={"a": [1, None]}, importance=0.5
        )
        assert call(open_memory.in_other_process().scope("s").items.get, added.id) == added

    def test_an_absent_item_is_none_to_get_and_an_error_to_fetch_and_update(self, session: Scope, call: Call) -> None:
        assert call(session.items.get, "nothing") is None
        assert call(session.items.exists, "nothing") is False
        assert call(session.items.remove, "nothing") is False
        with pytest.raises(NotFoundError, match="'nothing'"):
            call(session.items.fetch, "nothing")
        with pytest.raises(NotFoundError, match="'nothing'"):
            call(session.items.update, "nothing", content="x")

    def test_items_are_listed_as_they_were_added_and_recent_ones_backwards(self, session: Scope, call: Call) -> None:
        for number in range(5):
            call(session.items.add, str(number))
        assert [item.content for item in call(session.items.all)] == ["0", "1", "2", "3", "4"]
        assert [item.content for item in call(session.items.recent, 2)] == ["4", "3"]
        assert call(session.items.recent, 0) == []
        assert len(call(session.items.recent)) == 5
        assert call(session.items.count) == 5

    def test_entries_messages_and_the_parents_items_are_no_items_of_this_scope(
        self, session: Scope, call: Call
    ) -> None:
        child = session.child("c")
        call(session.items.add, "the parent's")
        call(child.entries.set, "k", 1)
        call(child.messages.append, {"role": "user", "content": "hi", "id": "m"})
        assert call(child.items.all) == []
        assert call(child.items.count) == 0
        assert call(child.items.get, "m") is None
        assert call(child.items.get, call(child.entries.entry, "k").id) is None
        assert call(child.items.remove, "m") is False
        assert call(child.messages.count) == 1

    def test_a_priority_decides_how_long_an_item_lives(self, session: Scope, call: Call) -> None:
        for priority, hours in PRIORITIES.items():
            assert call(session.items.add, "x", priority=priority).expires_at == NOON + hours * HOUR
        assert call(session.items.add, "x").expires_at == NOON + 4 * HOUR
        assert call(session.items.add, "x", ttl_s=60).expires_at == NOON + 60
        assert call(session.items.add, "x", ttl_s=None).expires_at is None
        assert call(session.items.add, "x", pinned=True).expires_at is None

    def test_an_expired_item_is_invisible_at_once_to_every_verb(self, session: Scope, call: Call, clock: Clock) -> None:
        item = call(session.items.add, "x", priority="low")
        clock.advance(HOUR - 0.001)
        assert call(session.items.exists, item.id) is True
        clock.advance(0.001)
        assert call(session.items.get, item.id) is None
        assert call(session.items.exists, item.id) is False
        assert call(session.items.all) == []
        assert call(session.items.recent) == []
        assert call(session.items.count) == 0
        assert call(session.items.clear) == 0
        assert call(call(session.view).items.all) == []

    def test_an_expired_item_says_so_and_is_listed_only_if_asked_for(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        item = call(session.items.add, "x", ttl_s=1)
        clock.advance(1)
        with pytest.raises(ExpiredError, match="expired"):
            call(session.items.fetch, item.id)
        with pytest.raises(ExpiredError):
            call(session.items.update, item.id, content="y")
        assert [each.id for each in call(session.items.all, include_expired=True)] == [item.id]

    def test_the_documents_example_scores_as_its_formula_says(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, "Meeting notes from team standup...", priority="high")
        assert round(item.importance, 4) == 0.4934

    def test_importance_follows_use_age_priority_and_length(self, session: Scope, call: Call, clock: Clock) -> None:
        item = call(session.items.add, "x" * 500, priority="critical")
        assert item.importance == pytest.approx(0.4 * 0.1 + 0.3 + 0.2 + 0.05)
        clock.advance(12 * HOUR)
        assert call(session.items.get, item.id).importance == pytest.approx(0.4 * 0.1 + 0.15 + 0.2 + 0.05)
        for _ in range(12):
            fetched = call(session.items.fetch, item.id)
        assert fetched.importance == pytest.approx(0.4 + 0.15 + 0.2 + 0.05)
        assert call(session.items.add, "x" * 5_000, priority="low", ttl_s=None).importance == pytest.approx(
            0.04 + 0.3 + 0.05 + 0.1
        )

    def test_a_given_importance_overrides_the_formula_until_it_is_taken_back(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, "x", importance=0.1)
        assert item.importance == 0.1
        assert call(session.items.fetch, item.id).importance == 0.1
        assert call(session.items.update, item.id, importance=0.2).importance == 0.2
        assert call(session.items.update, item.id, importance=None).importance > 0.4

    def test_an_update_changes_what_it_names_and_leaves_the_rest(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        item = call(session.items.add, "x", priority="low", tags=["t"], metadata={"a": 1}, source="user")
        clock.advance(10)
        updated = call(session.items.update, item.id, content="longer text", source="tool")
        assert (updated.content, updated.source, updated.tags, updated.metadata) == (
            "longer text",
            "tool",
            ("t",),
            {"a": 1},
        )
        assert (updated.created_at, updated.updated_at, updated.expires_at) == (NOON, NOON + 10, NOON + HOUR)
        assert updated.tokens != item.tokens
        assert call(session.items.get, item.id) == updated
        assert call(session.items.update, item.id, tags=["u"]).tags == ("u",)
        assert call(session.items.update, item.id, priority="high").expires_at == NOON + HOUR
        assert call(session.items.update, item.id, ttl_s=5).expires_at == NOON + 15
        assert call(session.items.update, item.id, ttl_s=None).expires_at is None
        assert call(session.items.count) == 1

    def test_an_update_to_a_default_takes_what_was_there_away(self, session: Scope, call: Call) -> None:
        given: dict[str, Any] = {
            "kind": "insight",
            "metadata": {"a": 1},
            "participants": ["ada"],
            "relations": [{"type": "supports", "target_id": "x"}],
        }
        item = call(session.items.add, "x", **given, importance=0.9)
        for name, default in {"kind": "fact", "metadata": {}, "participants": (), "relations": ()}.items():
            changed: dict[str, Any] = {name: default}
            assert getattr(call(session.items.update, item.id, **changed), name) == default
        assert call(session.items.get, item.id).importance == 0.9

    def test_none_takes_a_field_away_where_there_may_be_none_and_is_no_answer_elsewhere(
        self, session: Scope, call: Call
    ) -> None:
        given: dict[str, Any] = {"task_id": "t", "turn_id": "u", "step_index": 3, "confidence": 0.5, "valid_to": NOON}
        item = call(session.items.add, "x", **given, agent_id="ada", metadata={"a": 1})
        nothing: dict[str, Any] = dict.fromkeys(given)
        updated = call(session.items.update, item.id, **nothing, agent_id=None)
        assert [getattr(updated, name) for name in given] == [None] * len(given)
        assert (updated.agent_id, updated.agent_fingerprint) == (None, None)
        no_answer: dict[str, Any] = {"metadata": None, "kind": None}
        assert call(session.items.update, item.id, **no_answer).metadata == {"a": 1}
        assert call(session.items.get, item.id) == updated

    def test_pinning_an_item_ends_its_expiry(self, session: Scope, call: Call, clock: Clock) -> None:
        item = call(session.items.add, "x")
        call(session.items.update, item.id, pinned=True)
        clock.advance(1e9)
        assert call(session.items.get, item.id).pinned is True

    def test_remove_is_hard_and_happens_once(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, "x")
        kept = call(session.items.add, "y")
        assert call(session.items.remove, item.id) is True
        assert call(session.items.remove, item.id) is False
        assert call(session.items.get, item.id) is None
        assert [each.id for each in call(session.items.all)] == [kept.id]

    def test_clear_leaves_entries_and_messages(self, session: Scope, call: Call) -> None:
        call(session.items.add, "x")
        call(session.items.add, "y")
        call(session.entries.set, "k", 1)
        call(session.messages.append, {"role": "user", "content": "hi"})
        assert call(session.items.clear) == 2
        assert call(session.items.count) == 0
        assert (call(session.entries.count), call(session.messages.count)) == (1, 1)

    def test_adds_at_once_are_all_there(self, session: Scope, call: Call) -> None:
        def adding(number: int) -> Any:
            return lambda: session.items.add(str(number))

        added = call.run_concurrently([adding(number) for number in range(30)])
        assert len({item.id for item in added}) == 30
        assert {item.id for item in call(session.items.all)} == {item.id for item in added}

    def test_a_content_may_take_a_hundred_kibibytes_of_utf8(self, session: Scope, call: Call) -> None:
        call(session.items.add, "x" * 102_400)
        call(session.items.add, "é" * 51_200)
        with pytest.raises(InvalidInputError, match="102402"):
            call(session.items.add, "é" * 51_201)
        assert call(session.items.count) == 2

    def test_bad_input_gets_the_typed_error_and_changes_nothing(self, session: Scope, call: Call) -> None:
        bad_content: list[Any] = ["", None, 5, b"x", ["x"]]
        for content in bad_content:
            with pytest.raises(InvalidInputError, match="content"):
                call(session.items.add, content)
        bad: list[dict[str, Any]] = [
            {"priority": "urgent"},
            {"priority": None},
            {"priority": []},
            {"ttl_s": 0},
            {"ttl_s": float("nan")},
            {"ttl_s": True},
            {"importance": 1.1},
            {"importance": "high"},
            {"confidence": "certain"},
            {"confidence": 2},
            {"confidence": "nan"},
            {"tags": "word"},
            {"tags": [""]},
            {"metadata": 3},
            {"metadata": {"a": object()}},
            {"kind": "nonsense"},
            {"source": "nobody"},
            {"relations": [{"type": "x"}]},
            {"created_at": 5},
            {"nonsense": 5},
        ]
        for fields in bad:
            with pytest.raises(InvalidInputError):
                call(session.items.add, "x", **fields)
        assert call(session.items.count) == 0
        item = call(session.items.add, "x")
        for fields in bad[:-2]:
            if fields != {"priority": None}:
                with pytest.raises(InvalidInputError):
                    call(session.items.update, item.id, **fields)
        assert call(session.items.get, item.id) == item
        bad_limits: list[Any] = [-1, 1.5, "2", True]
        for limit in bad_limits:
            with pytest.raises(InvalidInputError, match="limit"):
                call(session.items.recent, limit)
        bad_ids: list[Any] = ["", " ", 5, None, "a\x00"]
        for each in bad_ids:
            with pytest.raises(InvalidInputError, match="an id"):
                call(session.items.get, each)

    @pytest.mark.parametrize("unreadable", [{"n": [10**5_000]}, {"a": {"\ud83d": 1}}], ids=["long", "surrogate"])
    def test_what_would_not_be_read_as_it_was_given_is_refused(
        self, session: Scope, call: Call, unreadable: Any
    ) -> None:
        item = call(session.items.add, "x")
        document = call(session.export)
        for fields in ({"metadata": unreadable}, {"sources": [unreadable]}):
            with pytest.raises(InvalidInputError):
                call(session.items.add, "y", **fields)
            with pytest.raises(InvalidInputError):
                call(session.items.update, item.id, **fields)
            with pytest.raises(InvalidInputError):
                call(session.import_, {**document, "memories": [{**document["memories"][0], **fields}]})
        with pytest.raises(InvalidInputError):
            call(session.items.relate, item.id, "references", "z", unreadable)
        with pytest.raises(InvalidInputError):
            call(session.entries.set, "k", 1, metadata=unreadable)
        with pytest.raises(SerializationError):
            call(session.messages.append, {"role": "user", "content": "x", "metadata": unreadable})
        assert call(session.items.all) == [item]
        assert call(session.messages.all) == []
        assert call(session.entries.all) == {}

    def test_tags_that_are_no_list_are_refused_with_a_typed_error(self, session: Scope, call: Call) -> None:
        bad: list[Any] = [5, None]
        for tags in bad:
            with pytest.raises(InvalidInputError):
                call(session.items.add, "x", tags=tags)
