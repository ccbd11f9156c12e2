"""Suite of recall profiles: a scope's choice is recorded, and every handle of the scope follows it."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

import wmem
from wmem import DisposedError, InvalidInputError, Policy, RecallProfile, RecallUse, Scope, propose_profile
from wmem.model.change import Event, PolicyChanged
from wmem.testing.suite import NOON, Call, FacetSuite, MemoryOpener

__all__ = ["ProfilesSuite"]

DAY = 86_400.0
FRESH = RecallProfile.balanced(name="fresh", recency=9.0)


def add_notes(scope: Scope, call: Call) -> None:
    """Add notes on the lake; the older, the more often they mention it."""
    for days in range(8):
        text = "the lake " * (days + 1) + f"and what else was seen {days} days ago"
        call(scope.messages.append, {"role": "user", "content": text, "id": f"{days}", "created_at": NOON - days * DAY})
    for number in range(6):
        call(scope.messages.append, {"role": "user", "content": f"nothing of note {number}", "created_at": NOON})


def rank_notes(scope: Scope, call: Call, **options: Any) -> list[str]:
    """Ids of the notes that recall finds, best first."""
    units = call(scope.pack, "lake", budget=2_000, recent=0, **options).explain(all=True).units
    return [unit.ids[0] for unit in sorted(units, key=lambda unit: -(unit.score or 0)) if unit.score is not None]


def policy_changes(memory: wmem.AgentMemory, call: Call) -> list[Policy]:
    """The policy changes in the agent's journals, in order."""
    changes = [event.change for event in call(memory.changes).events]
    return [Policy(**json.loads(each.policy)) for each in changes if isinstance(each, PolicyChanged)]


class ProfilesSuite(FacetSuite):
    """`use_profile`, and scopes opened after it."""

    def test_a_chosen_profile_is_what_every_handle_packs_by_from_the_next_read_on(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        scope = here.scope("s")
        add_notes(scope, call)
        twin = scope.aio().sync() if isinstance(scope, Scope) else scope
        others = [here.scope("s"), there.scope("s"), twin]
        before = [rank_notes(each, call) for each in (scope, *others)]
        for profile in (FRESH, "balanced", "evidence"):
            wanted = rank_notes(scope, call, scoring=profile)
            assert call(scope.use_profile, profile) == scope.policy == Policy.session(recall=profile)
            found = [rank_notes(each, call) for each in (scope, *others, open_memory.in_other_process().scope("s"))]
            assert found == [wanted] * 5
            assert [each.policy for each in others] == [scope.policy] * 3
            assert (found[:4] == before) is (profile == "evidence")

    def test_a_change_is_recorded_once_and_heard_once(self, memory: wmem.AgentMemory, call: Call) -> None:
        scope = memory.scope("s", policy=Policy.queue(max_items=7))
        call(scope.entries.set, "k", 1)
        heard: list[Event] = []
        memory.subscribe(heard.append)
        call(scope.use_profile, "balanced")
        after = Policy.queue(max_items=7, recall="balanced")
        assert policy_changes(memory, call) == [after]
        assert [(event.path, type(event.change)) for event in heard] == [(scope.path, PolicyChanged)]
        assert isinstance(heard[0].change, PolicyChanged)
        assert heard[0].change.at == NOON
        assert scope.policy == after
        assert call(memory.scope("s").queue.capacity).max_items == 7

    def test_the_profile_that_is_followed_already_writes_nothing(self, memory: wmem.AgentMemory, call: Call) -> None:
        scope = memory.scope("s")
        call(scope.entries.set, "k", 1)
        there = call(scope.view).cursor
        assert call(scope.use_profile, "evidence") == call(scope.use_profile, RecallProfile()) == Policy.session()
        assert call(scope.view).cursor == there
        call(scope.use_profile, FRESH)
        there = call(scope.view).cursor
        call(memory.scope("s").use_profile, FRESH.model_copy())
        assert call(scope.view).cursor == there
        assert len(policy_changes(memory, call)) == 1

    @pytest.mark.parametrize("profile", ["evidence", "balanced", FRESH], ids=["evidence", "balanced", "own"])
    def test_a_scope_may_begin_with_its_profile(self, open_memory: MemoryOpener, call: Call, profile: Any) -> None:
        scope = open_memory(policy=Policy.session(recall="evidence")).scope(
            "s", policy=Policy.session(recall="evidence")
        )
        assert call(scope.use_profile, profile) == scope.policy == Policy.session(recall=profile)
        other = open_memory.in_other_process(policy=Policy.session(recall="balanced")).scope("s")
        assert call(other.entries.get, "k") is None
        assert other.policy == Policy.session(recall=profile)
        assert len(policy_changes(open_memory(), call)) == 1

    def test_a_policy_that_names_no_profile_opens_with_the_recorded_one(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        scope = open_memory().scope("s", policy=Policy.queue(max_items=7))
        call(scope.use_profile, FRESH)
        for memory in (open_memory(), open_memory.in_other_process()):
            for read in (True, False):
                again = memory.scope("s", policy=Policy.queue(max_items=7))
                if read:
                    call(again.entries.get, "k")
                call(again.entries.set, "k", 1)
                assert again.policy == Policy.queue(max_items=7, recall=FRESH)
            named = memory.scope("s", policy=Policy.queue(max_items=7, recall=FRESH))
            call(named.entries.set, "k", 2)
            with pytest.raises(InvalidInputError, match=r"max_items 7 not 8$"):
                call(memory.scope("s", policy=Policy.queue(max_items=8)).entries.get, "k")

    def test_a_policy_that_names_another_profile_is_refused_and_told_how_it_is_changed(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        scope = open_memory().scope("s", policy=Policy.session(recall="balanced"))
        call(scope.entries.set, "k", 1)
        there = call(scope.view).cursor
        for memory in (open_memory(), open_memory.in_other_process()):
            for named in ("evidence", FRESH):
                attempts: list[Callable[[Scope], Any]] = [
                    lambda other: call(other.entries.get, "k"),
                    lambda other: call(other.entries.set, "k", 2),
                    lambda other: call(other.use_profile, "balanced"),
                ]
                for attempt in attempts:
                    with pytest.raises(InvalidInputError, match=r"recall .* not .*use_profile"):
                        attempt(memory.scope("s", policy=Policy.session(recall=named)))
        assert call(scope.view).cursor == there
        assert (
            call(open_memory().scope("s", policy=Policy.session(recall=RecallProfile.balanced())).entries.get, "k") == 1
        )

    def test_a_handle_that_named_its_profile_follows_when_another_chooses_anew(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        named = open_memory().scope("s", policy=Policy.session(recall="balanced"))
        add_notes(named, call)
        call(open_memory.in_other_process().scope("s").use_profile, FRESH)
        assert (
            rank_notes(named, call)
            == rank_notes(named, call, scoring=FRESH)
            != rank_notes(named, call, scoring="balanced")
        )
        call(named.entries.update, "k", lambda count: count + 1, 0)
        assert named.policy == Policy.session(recall=FRESH)

    def test_what_is_flushed_goes_to_the_same_function_whatever_the_profile(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        flushed: list[int] = []
        policy = Policy.buffer(flush_threshold=2, on_flush=lambda items: flushed.append(len(items)))
        call(open_memory().scope("s", policy=policy).use_profile, "balanced")
        for memory in (open_memory(), open_memory.in_other_process(policy=policy)):
            scope = memory.scope("s", policy=policy if len(flushed) == 0 else None)
            call(scope.items.add, "one")
            call(scope.items.add, "two")
            call(scope.items.clear)
        assert flushed == [2, 2]

    @pytest.mark.parametrize(
        "bad",
        [
            "best",
            "",
            None,
            3,
            ["balanced"],
            {"recency": 1},
            RecallProfile().model_copy(update={"recency": -1.0}),
            RecallProfile().model_copy(update={"half_life_s": float("nan")}),
            RecallProfile().model_copy(update={"name": 7}),
            RecallProfile().model_copy(update={"recency": "much"}),
        ],
        ids=lambda bad: f"{bad!r:.30}",
    )
    def test_what_is_no_profile_is_refused_and_nothing_is_written(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, bad: Any
    ) -> None:
        with pytest.raises(InvalidInputError):
            call(session.use_profile, bad)
        assert call(memory.changes).events == ()
        call(session.entries.set, "k", 1)
        there = call(session.view).cursor
        with pytest.raises(InvalidInputError):
            call(session.use_profile, bad)
        assert call(session.view).cursor == there
        assert session.policy == Policy.session()

    def test_a_disposed_scope_has_no_profile_to_choose_and_its_next_life_begins_as_any(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        scope = open_memory().scope("s")
        call(scope.use_profile, "balanced")
        other = open_memory.in_other_process().scope("s")
        call(other.entries.set, "k", 1)
        call(scope.dispose)
        for handle in (scope, other):
            with pytest.raises(DisposedError):
                call(handle.use_profile, FRESH)
        assert policy_changes(open_memory(), call) == []
        new = open_memory().scope("s")
        call(new.entries.set, "k", 1)
        assert new.policy == Policy.session()

    def test_scopes_below_follow_their_own_profile(self, memory: wmem.AgentMemory, call: Call) -> None:
        parent = memory.scope("s")
        child = parent.child("c")
        call(child.entries.set, "k", 1)
        call(parent.use_profile, "balanced")
        call(parent.items.add, "the lake was cold")
        (inherited,) = [unit for unit in call(child.pack, "lake", budget=500).included if unit.score is not None]
        (own,) = [unit for unit in call(parent.pack, "lake", budget=500).included if unit.score is not None]
        assert "recency" in own.parts
        assert "recency" not in inherited.parts
        later = parent.child("later")
        call(later.entries.set, "k", 1)
        assert (child.policy, later.policy) == (Policy.session(), Policy.session())

    def test_a_profile_outlasts_clearing_and_compaction(self, open_memory: MemoryOpener, call: Call) -> None:
        scope = open_memory().scope("s")
        add_notes(scope, call)
        call(scope.use_profile, FRESH)
        call(scope.erase, "7")  # compacts
        assert policy_changes(open_memory(), call) == []
        compacted = open_memory.in_other_process().scope("s")
        assert rank_notes(compacted, call)[:3] == ["0", "1", "2"]
        assert compacted.policy == Policy.session(recall=FRESH)
        call(scope.clear)
        emptied = open_memory.in_other_process().scope("s")
        call(emptied.entries.get, "k")
        assert emptied.policy == scope.policy == Policy.session(recall=FRESH)

    def test_a_document_brings_what_a_scope_holds_and_not_its_profile(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        source, target = memory.scope("source"), memory.scope("target")
        add_notes(source, call)
        call(source.use_profile, "balanced")
        call(target.use_profile, FRESH)
        call(target.import_, call(source.export))
        assert target.policy == Policy.session(recall=FRESH)
        assert rank_notes(target, call)[:3] == ["0", "1", "2"]

    def test_of_those_who_choose_at_once_all_are_recorded_and_the_last_is_followed(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memories = [open_memory(), open_memory.in_other_process()]
        scopes = [memory.scope("s") for memory in memories]
        profiles = [RecallProfile(name=f"number {number}", recency=float(number)) for number in range(8)]

        def choosing(number: int) -> Callable[[], Any]:
            return lambda: scopes[number % 2].use_profile(profiles[number])

        call.run_concurrently([choosing(number) for number in range(8)])
        told = policy_changes(memories[0], call)
        assert sorted(each.recall_profile.name for each in told) == [profile.name for profile in profiles]
        for scope in (*scopes, open_memory.in_other_process().scope("s")):
            call(scope.entries.get, "k")
            assert scope.policy == told[-1]

    def test_the_log_tells_of_a_change_by_name(
        self, session: Scope, call: Call, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO, "wmem"):
            call(session.use_profile, "balanced")
            call(session.use_profile, "balanced")
        assert [each.getMessage() for each in caplog.records if "profile" in each.getMessage()] == [
            "Working memory scope agent/session recalls by the profile 'balanced', until now by 'evidence'"
        ]

    def test_what_answers_made_use_of_proposes_a_profile_for_the_scope(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        scope = open_memory().scope("s")
        add_notes(scope, call)
        call(scope.use_profile, "balanced")
        before = scope.policy.recall_profile
        trace: list[RecallUse] = []
        for _ in range(5):  # a budget too small for everything: units included anyway prove nothing
            trace += call(scope.pack, "lake", budget=200, tail=0, recent=0).uses(["0", "1"])
        call(scope.use_profile, propose_profile(trace, scope.policy.recall))
        there = open_memory.in_other_process().scope("s")
        call(there.entries.get, "k")
        assert there.policy.recall_profile.name == "balanced, tuned"
        assert there.policy.recall_profile.recency > before.recency
        assert there.policy.recall_profile.similarity < before.similarity
