"""Suite of the consolidation of what happens: episodes that are over, transcripts, tails of sessions, and samples."""

from collections.abc import Callable
from typing import Any

import pytest

import wmem
from wmem import EpisodicSettings, ItemDraft, NotFoundError, Policy, WorkingSettings
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener
from wmem.types import EpisodicMemory

__all__ = ["EpisodesSuite"]

HOUR = 3_600
ANN = Policy.session(long_term=[("users", "ann")])
TOPICS = [
    *("kiln", "glaze", "anvil", "ferry", "orchard", "lantern", "marsh", "violin", "quarry", "beacon", "harbor"),
    *("thistle", "copper", "saddle", "gravel", "meadow"),
]


def tell(topic: str) -> str:
    """A text of some length, whose words no other topic has."""
    return (
        f"The {topic} stood open when we came. We measured the {topic} twice and wrote the {topic}-number down. "
        f"Nobody at the {topic} knew who had left it so, and the {topic}-keeper would not say a word about it."
    )


def said(role: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **fields}


def summaries(call: Call, scope: Any) -> list[Any]:
    return [item for item in call(scope.items.all) if item.type == "summary"]


KEY = wmem.KeyRing.new_key()


def add_event(call: Call, clock: Clock, memory: Any, at: int) -> Any:
    clock.advance(60)
    return call(memory.types["episodic"].memorize, ItemDraft(f"event {at}", fields={"importance": (at % 10) / 10})).item


class EpisodesSuite(FacetSuite):
    """Jobs `summarize-tails`, `close-episodes` and `thin-episodic`."""

    @pytest.fixture
    def episodic(self, memory: wmem.AgentMemory) -> EpisodicMemory:
        return memory.types["episodic"]

    # -- episodes of items

    def test_an_episode_that_is_over_gets_one_summary_that_points_to_its_items(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock, episodic: EpisodicMemory
    ) -> None:
        ids = [call(episodic.memorize, tell(topic)).item.id for topic in TOPICS[:4]]
        assert call(memory.maintain).jobs["close-episodes"].changed == 0
        clock.advance(4 * HOUR + 1)
        report = call(memory.maintain).jobs["close-episodes"]
        assert (report.changed, report.detail) == (1, {"summarized": 1, "covered": 4})
        [summary] = summaries(call, memory.episodic)
        [source] = summary.sources
        assert (source["scope"], source["items"]) == (["~episodic"], ids)
        originals: list[Any] = [call(memory.episodic.items.get, id) for id in ids]
        assert summary.tokens <= sum(item.tokens for item in originals) / 2
        assert summary.created_at == originals[-1].created_at
        [episode] = call(episodic.episodes)
        assert (episode.item_ids, episode.is_closed, episode.summary_id) == (tuple(ids), True, summary.id)
        [decision] = [each for each in call(memory.episodic.queue.decisions) if each.kind == "summarized"]
        assert (decision.id, decision.rule, decision.parts["covered"]) == (summary.id, "close-episodes", 4)

    def test_a_second_pass_of_any_process_changes_nothing(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        for topic in TOPICS[:4]:
            call(memory.types["episodic"].memorize, tell(topic))
        clock.advance(4 * HOUR + 1)
        call(memory.maintain)
        cursor = call(memory.episodic.view).cursor
        for other in (memory, open_memory.in_other_process()):
            assert call(other.maintain).jobs["close-episodes"].changed == 0
        assert call(memory.episodic.view).cursor == cursor

    def test_two_processes_at_once_make_one_summary(self, open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
        settings = [WorkingSettings(tail_items=1)]
        here, there = open_memory(memory_types=settings), open_memory.in_other_process(memory_types=settings)
        session = here.scope("s")
        for topic in TOPICS[:4]:
            call(here.types["episodic"].memorize, tell(topic))
            call(session.messages.append, said("user", tell(topic)))
            call(session.items.add, tell(topic), ttl_s=None)
        call(here.types.session("s")["conversation"].close)
        clock.advance(4 * HOUR + 1)
        done = call.run_concurrently([here.maintain, there.maintain, here.maintain, there.maintain])
        assert sum(each.jobs["close-episodes"].changed for each in done) == 2
        assert sum(each.jobs["summarize-tails"].changed for each in done) == 1
        assert len(summaries(call, here.episodic)) == 2
        assert len(summaries(call, session)) == 1

    def test_a_late_item_begins_an_episode_and_one_that_names_a_closed_one_opens_it_again(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock, episodic: EpisodicMemory
    ) -> None:
        first = call(episodic.memorize, tell("kiln")).item
        call(episodic.memorize, tell("ferry"))
        [episode] = call(episodic.episodes)
        assert call(episodic.close_episode, episode.id) is True
        assert call(episodic.close_episode, episode.id) is False
        late = call(episodic.memorize, tell("anvil")).item
        assert late.episode_id != first.episode_id
        call(memory.maintain)
        [summary] = summaries(call, memory.episodic)
        assert call(episodic.memorize, tell("glaze")).item.episode_id == late.episode_id
        named = call(episodic.memorize, ItemDraft(tell("marsh"), fields={"episode_id": first.episode_id})).item
        assert not call(episodic.episodes)[0].is_closed
        clock.advance(4 * HOUR + 1)
        call(memory.maintain)
        rolled, other = summaries(call, memory.episodic)
        assert rolled.id == summary.id
        assert named.id in rolled.sources[0]["items"]
        assert late.id in other.sources[0]["items"]
        covered = [id for each in (rolled, other) for id in each.sources[0]["items"]]
        assert len(covered) == len(set(covered)) == 5

    def test_what_is_too_short_to_be_told_in_half_is_left_as_it_is(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock, episodic: EpisodicMemory
    ) -> None:
        call(episodic.memorize, "The dog barked.")
        clock.advance(4 * HOUR + 1)
        report = call(memory.maintain).jobs["close-episodes"]
        assert (report.changed, report.detail) == (0, {"skipped": 1})
        [episode] = call(episodic.episodes)
        assert (episode.is_closed, episode.summary_id) == (True, None)

    def test_an_erased_item_takes_the_summary_with_it_and_the_next_one_is_of_the_rest(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock, episodic: EpisodicMemory
    ) -> None:
        ids = [call(episodic.memorize, tell(topic)).item.id for topic in TOPICS[:6]]
        clock.advance(4 * HOUR + 1)
        call(memory.maintain)
        [before] = summaries(call, memory.episodic)
        call(episodic.forget, [ids[0]])
        assert summaries(call, memory.episodic) == []
        call(memory.maintain)
        [after] = summaries(call, memory.episodic)
        assert after.id != before.id
        assert after.sources[0]["items"] == ids[1:]
        assert "kiln" not in after.content

    # -- conversations

    def test_a_closed_session_becomes_a_transcript_of_pointers_beside_one_summary(
        self,
        memory: wmem.AgentMemory,
        call: Call,
        episodic: EpisodicMemory,
        store_bytes: Callable[[], bytes],
        is_plaintext: bool,
    ) -> None:
        session = memory.scope("s")
        rows = [said("user" if at % 2 == 0 else "assistant", tell(topic)) for at, topic in enumerate(TOPICS[:6])]
        stored = call(session.messages.append, rows)
        call(memory.maintain)
        assert summaries(call, memory.episodic) == []
        call(memory.types.session("s")["conversation"].close)
        call(memory.maintain)
        [summary] = summaries(call, memory.episodic)
        [source] = summary.sources
        assert (source["scope"], source["messages"]) == (["s"], [message.id for message in stored])
        [episode] = call(episodic.episodes)
        assert (episode.is_closed, episode.thread_ids, episode.item_ids) == (True, ("s",), ())
        transcript = call(episodic.transcript, episode.id)
        assert transcript.ids == tuple(message.id for message in stored)
        assert transcript.text == "\n\n".join(f"{row['role']}: {row['content']}" for row in rows)
        assert (transcript.session, transcript.summary_id) == (("s",), summary.id)
        # No copy of a message: what is stored beside the session is a pointer.
        assert all(tell("kiln") not in item.content for item in call(memory.episodic.items.all))
        erased = stored[2].id
        assert erased is not None
        call(session.erase, erased)
        again = call(episodic.transcript, episode.id)
        assert (again.missing, again.summary_id) == ((erased,), None)
        assert "\n\n[1 gone]\n\n" in again.text
        assert "anvil" not in again.text
        call(memory.maintain)
        call(memory.close)
        assert b"anvil" not in store_bytes()
        assert (b"ferry" in store_bytes()) is is_plaintext

    def test_what_was_told_is_told_anew_after_a_restore_of_before(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        call(memory.types["episodic"].memorize, tell(TOPICS[6]))
        call(session.messages.append, [said("user", tell(topic)) for topic in TOPICS[:6]])
        call(memory.types.session("s")["conversation"].close)
        before = call(memory.snapshot, key=KEY)
        for _ in range(2):
            assert call(memory.maintain).jobs["close-episodes"].changed == 1
            assert call(memory.maintain).jobs["close-episodes"].changed == 0
            assert len(summaries(call, memory.episodic)) == 1
            call(memory.restore, before, key=KEY)

    def test_a_session_that_goes_on_is_told_on(
        self, memory: wmem.AgentMemory, call: Call, episodic: EpisodicMemory
    ) -> None:
        session, types = memory.scope("s"), memory.types.session("s")
        for part in (TOPICS[:4], TOPICS[4:8]):
            for topic in part:
                call(session.messages.append, said("user", tell(topic)))
            call(types["conversation"].close)
            call(memory.maintain)
        [summary] = summaries(call, memory.episodic)
        assert summary.sources[0]["messages"] == [message.id for message in call(session.messages.all)]

    def test_what_was_taken_back_in_a_session_is_told_no_longer_once_it_is_closed_again(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        session, types = memory.scope("s"), memory.types.session("s")
        stored = call(session.messages.append, [said("user", tell(topic)) for topic in TOPICS[:6]])
        ids = [message.id or "" for message in stored]
        call(types["conversation"].close)
        call(memory.maintain)
        call(session.messages.withdraw, *ids[:2])
        call(types["conversation"].close)
        call(memory.maintain)
        [summary] = summaries(call, memory.episodic)
        assert summary.sources[0]["messages"] == ids[2:]
        assert "kiln" not in summary.content
        call(session.messages.withdraw, *ids[2:])
        call(types["conversation"].close)
        call(memory.maintain)
        assert summaries(call, memory.episodic) == []

    def test_other_bounds_of_episodes_make_no_second_summary_of_what_has_one(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        session = memory.scope("s")
        call(session.messages.append, [said("user", tell(topic)) for topic in TOPICS])
        call(memory.types.session("s")["conversation"].close)
        call(memory.maintain)
        cursor = call(memory.episodic.view).cursor
        other = open_memory.in_other_process(memory_types=[EpisodicSettings(max_steps=3)])
        call(other.maintain)
        assert call(memory.episodic.view).cursor == cursor

    def test_the_summaries_of_a_users_sessions_are_that_users(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        session = memory.scope("ann-1", policy=ANN)
        for topic in TOPICS[:4]:
            call(session.messages.append, said("user", tell(topic)))
        call(memory.types.session("ann-1")["conversation"].close)
        call(memory.maintain)
        assert summaries(call, memory.episodic) == []
        other = memory.scope("ann-2", policy=ANN)
        assert "kiln" in call(other.pack, "who was at the kiln?", budget=1_000).note
        for stranger in (memory.scope("bob-1", policy=Policy.session(long_term=[("users", "bob")])), memory.scope("x")):
            assert "kiln" not in call(stranger.pack, "who was at the kiln?", budget=1_000).note

    def test_there_is_no_transcript_of_an_episode_that_is_none(self, call: Call, episodic: EpisodicMemory) -> None:
        for verb in (episodic.transcript, episodic.close_episode):
            with pytest.raises(NotFoundError, match="none-such"):
                call(verb, "none-such")

    # -- a sample of a long log

    def test_of_a_log_above_its_bound_a_sample_stays_that_can_be_brought_back(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory(memory_types=[EpisodicSettings(max_items=40, keep_items=5)])
        items = [add_event(call, clock, memory, at) for at in range(60)]
        report = call(memory.maintain, ["thin-episodic"]).jobs["thin-episodic"]
        assert (report.changed, report.detail["thinned"], report.detail.get("target_missed")) == (22, 22, None)
        left = [item.id for item in call(memory.episodic.items.all)]
        assert len(left) == 38
        assert [item.id for item in items[-5:]] == left[-5:]
        gone = call(memory.episodic.items.forgotten)
        assert len(gone) == 22
        assert all(item.removal.job == "thin-episodic" for item in gone)
        decisions = [each for each in call(memory.episodic.queue.decisions) if each.kind == "thinned"]
        assert {each.id for each in decisions} == {item.id for item in gone}
        assert call(memory.maintain).jobs["thin-episodic"].changed == 0
        back = call(memory.episodic.items.undelete, gone[0].id)
        for at in range(60, 100):
            add_event(call, clock, memory, at)
        call(memory.maintain)
        assert call(memory.episodic.items.exists, back.id)

    def test_the_same_log_is_thinned_alike_at_once_or_bit_by_bit_by_any_process(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        settings = [EpisodicSettings(max_items=20, keep_items=0)]
        memory, other = (open_memory(name, memory_types=settings) for name in ("one", "two"))
        for at in range(60):
            for each in (memory, other):
                id = f"item-{at}"
                call(each.episodic.items.add, f"event {at}", id=id, importance=(at % 10) / 10, type="observation")
            clock.advance(60)
            if at in (25, 40):
                call(memory.maintain, ["thin-episodic"])
        there = open_memory.in_other_process("two", memory_types=settings)
        done = call.run_concurrently([lambda: other.maintain(["thin-episodic"]), there.maintain])
        assert sum(each.jobs["thin-episodic"].changed for each in done) == 41
        call(memory.maintain, ["thin-episodic"])
        assert [item.id for item in call(memory.episodic.items.all)] == [
            item.id for item in call(other.episodic.items.all)
        ]

    def test_what_is_pinned_linked_or_pointed_at_stays(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory(memory_types=[EpisodicSettings(max_items=1, keep_items=0)])
        episodic = memory.types["episodic"]
        pinned, linked, linking, part, shown, free = (add_event(call, clock, memory, at).id for at in range(6))
        call(memory.episodic.items.update, pinned, pinned=True)
        call(episodic.link, linking, linked, "caused")
        call(memory.episodic.items.add, "chunk", parent_id=part, relations=[{"type": "x", "target_id": "elsewhere"}])
        call(memory.semantic.items.add, "a skill", type="skill", metadata={"example": shown})
        report = call(memory.maintain, ["thin-episodic"]).jobs["thin-episodic"]
        assert report.detail == {"thinned": 1, "tokens": 4, "target_missed": 1}
        assert [item.id for item in call(memory.episodic.items.forgotten)] == [free]
        again = call(memory.maintain, ["thin-episodic"]).jobs["thin-episodic"]
        assert (again.changed, again.detail) == (0, {"target_missed": 1})

    def test_b36_a_bound_that_cannot_be_reached_wipes_nothing_that_is_to_stay_and_is_reported(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory(memory_types=[EpisodicSettings(max_log_tokens=10, keep_items=30)])
        items = [add_event(call, clock, memory, at) for at in range(150)]
        report = call(memory.maintain).jobs["thin-episodic"]
        assert (report.changed, report.detail["target_missed"]) == (120, 1)
        left = [item for item in call(memory.episodic.items.all) if item.type != "summary"]
        assert [item.id for item in left] == [item.id for item in items[-30:]]
        # What is gone is told, and can be brought back.
        assert summaries(call, memory.episodic)
        assert len(call(memory.episodic.items.forgotten)) == 120

    @pytest.mark.parametrize("bounds", [{"max_items": 20}, {"max_log_tokens": 120}])
    def test_a_small_bound_bounds_by_itself(
        self, open_memory: MemoryOpener, call: Call, clock: Clock, bounds: dict[str, int]
    ) -> None:
        memory = open_memory(memory_types=[EpisodicSettings(**bounds)])
        items = [add_event(call, clock, memory, at) for at in range(60)]
        assert "target_missed" not in call(memory.maintain, ["thin-episodic"]).jobs["thin-episodic"].detail
        left = [item.id for item in call(memory.episodic.items.all)]
        assert len(left) <= 40
        assert [item.id for item in items[-5:]] == left[-5:]

    def test_what_a_summary_tells_goes_first_and_is_then_found_by_it(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory(memory_types=[EpisodicSettings(max_items=20, keep_items=4)])
        episodic = memory.types["episodic"]
        for topic in TOPICS[:6]:
            call(episodic.memorize, tell(topic))
        clock.advance(5 * HOUR)
        call(memory.maintain)
        [summary] = summaries(call, memory.episodic)
        for at in range(15):
            add_event(call, clock, memory, at)
        report = call(memory.maintain).jobs["thin-episodic"]
        gone = call(memory.episodic.items.forgotten)
        assert report.changed == len(gone) == 3
        assert {item.removal.into for item in gone} == {summary.id}
        [first, *_] = call(episodic.episodes)
        assert (len(first.item_ids), first.summary_id) == (3, summary.id)
        assert set(call(episodic.transcript, first.id).missing) == {item.id for item in gone}
        assert call(memory.maintain).jobs["close-episodes"].changed == 0

    def test_what_was_thinned_is_not_promoted_a_second_time(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory(memory_types=[EpisodicSettings(max_items=2, keep_items=0)])
        session = memory.scope("s")
        ids = [call(session.items.add, f"event {at}", ttl_s=None).id for at in range(6)]
        for id in ids:
            call(session.items.promote, id)
        call(memory.maintain)
        assert len(call(memory.episodic.items.all)) == 1
        for id in ids:
            call(session.items.promote, id)
        assert len(call(memory.episodic.items.all)) == 1
        assert len(call(memory.episodic.items.forgotten)) == 5

    def test_what_a_summary_tells_is_redacted_and_what_was_said_in_the_session_is_not(
        self, memory: wmem.AgentMemory, call: Call, episodic: EpisodicMemory
    ) -> None:
        session = memory.scope("s")
        rows = [said("user", f"{tell(topic)} Write to {topic}@pottery.example about it.") for topic in TOPICS[:3]]
        call(session.messages.append, rows)
        call(memory.types.session("s")["conversation"].close)
        call(memory.maintain)
        [summary] = summaries(call, memory.episodic)
        assert "pottery.example" not in summary.content
        [episode] = call(episodic.episodes)
        assert "kiln@pottery.example" in call(episodic.transcript, episode.id).text

    def test_a_summary_that_was_forgotten_softly_is_not_made_again(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory(memory_types=[WorkingSettings(tail_items=0)])
        session = memory.scope("s")
        for topic in TOPICS[:4]:
            call(memory.types["episodic"].memorize, tell(topic))
            call(session.items.add, tell(topic), ttl_s=None)
        clock.advance(5 * HOUR)
        call(memory.maintain)
        for scope in (session, memory.episodic):
            [summary] = summaries(call, scope)
            call(scope.items.forget, summary.id)
        call(open_memory.in_other_process(memory_types=[WorkingSettings(tail_items=0)]).maintain)
        for scope in (session, memory.episodic):
            assert summaries(call, scope) == []

    def test_a_pass_makes_so_many_summaries_and_the_next_ones_the_rest(
        self, memory: wmem.AgentMemory, call: Call, episodic: EpisodicMemory
    ) -> None:
        for at in range(70):
            fields: Any = {"episode_id": f"e{at}"}
            call(episodic.memorize, ItemDraft(tell(f"place-{at}"), fields=fields))
        made = [call(memory.maintain, ["close-episodes"]).jobs["close-episodes"].changed for _ in range(3)]
        assert made == [64, 5, 0]

    # -- recall: once

    def test_a_pack_has_what_is_covered_or_its_summary_and_never_both(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory(memory_types=[EpisodicSettings(max_items=3, keep_items=0)])
        episodic, session = memory.types["episodic"], memory.scope("s")
        for topic in TOPICS[:6]:
            call(episodic.memorize, tell(topic))
        clock.advance(5 * HOUR)
        call(memory.maintain, ["close-episodes"])
        [summary] = summaries(call, memory.episodic)
        before = call(session.recall, "Who left the kiln open?")
        assert summary.id not in [hit.id for hit in before]
        found = call(memory.episodic.items.search, "Who left the kiln open?")
        assert [item.content for item in found] == [tell("kiln")]
        assert (summary.id, "told by others") in [(each.id, each.reason) for each in found.below_floor]
        remembered = [each.item for each in call(episodic.remember, "Who left the kiln open?")]
        assert remembered[0].content == tell("kiln")
        assert summary.id not in [item.id for item in remembered]
        assert tell("kiln") in before[0].text
        call(memory.maintain, ["thin-episodic"])
        after = [hit.id for hit in call(session.recall, "Who left the kiln open? And the anvil, the glaze?")]
        assert summary.id in after
        assert not {*after} & {*summary.sources[0]["items"]}
        left = {item.content for item in call(memory.episodic.items.all)}
        asked = f"Who left the {next(topic for topic in TOPICS[:6] if tell(topic) not in left)} open?"
        assert [item.id for item in call(memory.episodic.items.search, asked)] == [summary.id]
        assert [each.item.id for each in call(episodic.remember, asked)] == [summary.id]
        assert "kiln" in call(session.pack, "Who left the kiln open?", budget=1_000).note

    def test_a_closed_session_speaks_for_itself_and_elsewhere_by_its_summary(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        session = memory.scope("s")
        for topic in TOPICS[:6]:
            call(session.messages.append, said("user", tell(topic)))
        call(memory.types.session("s")["conversation"].close)
        call(memory.maintain)
        [summary] = summaries(call, memory.episodic)
        own = [hit.id for hit in call(session.recall, "Who left the kiln open?")]
        assert summary.id not in own
        assert [hit.id for hit in call(memory.scope("other").recall, "Who left the kiln open?")] == [summary.id]
        # What a parent said is not seen from below, and neither is what is said of it.
        assert call(session.child("task").recall, "Who left the kiln open?") == []

    # -- the tail of a session

    @pytest.mark.parametrize("facet", ["items", "messages"])
    def test_b39_each_round_tells_all_that_fell_out_once_and_nothing_falls_between_rounds(
        self, open_memory: MemoryOpener, call: Call, facet: str
    ) -> None:
        memory = open_memory(memory_types=[WorkingSettings(tail_items=2, tail_tokens=120)])
        session = memory.scope("s")
        ids: list[Any] = []
        for part in (TOPICS[:6], TOPICS[6:9], TOPICS[9:16]):
            for topic in part:
                if facet == "items":
                    ids.append(call(session.items.add, tell(topic), ttl_s=None).id)
                else:
                    ids += [message.id for message in call(session.messages.append, [said("user", tell(topic))])]
            report = call(memory.maintain).jobs["summarize-tails"]
            assert (report.changed, report.detail["summarized"]) == (1, 1)
            [summary] = summaries(call, session)
            assert summary.sources[0][facet] == ids[:-2]
            assert summary.tokens <= 512
            # Originals stay readable.
            assert [each.id for each in call(getattr(session, facet).all) if each.id in ids] == ids
        cursor = call(session.view).cursor
        for other in (
            memory,
            open_memory.in_other_process(memory_types=[WorkingSettings(tail_items=2, tail_tokens=120)]),
        ):
            assert call(other.maintain).jobs["summarize-tails"].changed == 0
        assert call(session.view).cursor == cursor
        call(session.erase, ids[0])
        assert summaries(call, session) == []
        call(memory.maintain)
        [summary] = summaries(call, session)
        assert "kiln" not in summary.content
        assert summary.sources[0][facet] == ids[1:-2]

    def test_b33_a_window_of_answers_and_tool_results_alone_is_told_in_real_words_or_not_at_all(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(memory_types=[WorkingSettings(tail_tokens=0)])
        session, silent = memory.scope("s"), memory.scope("silent")
        for at, topic in enumerate(TOPICS[:6]):
            use = {"id": f"call-{at}", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
            call(session.messages.append, {"role": "assistant", "content": None, "tool_calls": [use]})
            call(session.messages.append, {"role": "tool", "tool_call_id": f"call-{at}", "content": tell(topic)})
            call(silent.messages.append, {"role": "assistant", "content": ""})
        call(memory.maintain)
        [summary] = summaries(call, session)
        lines = summary.content.split("\n")
        said_there = " ".join(f"tool: {tell(topic)} assistant: (used look_up)" for topic in TOPICS[:6])
        assert lines
        assert all(line in said_there for line in lines)
        assert summaries(call, silent) == []

    @pytest.mark.slow
    def test_b35_what_is_older_than_any_limit_of_reads_is_told_too_and_nothing_is_deleted(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(memory_types=[WorkingSettings(tail_tokens=200, pool=20)])
        session = memory.scope("s")
        stored = call(session.messages.append, [said("user", f"{at}: {tell(TOPICS[at % 12])}") for at in range(600)])
        call(memory.maintain)
        told = [id for summary in summaries(call, session) for id in summary.sources[0]["messages"]]
        ids = [message.id for message in stored]
        assert told == ids[: len(told)]
        assert len(told) > 580
        assert call(session.messages.count) == 600

    def test_a_session_that_evicts_has_told_what_it_evicts(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        session = memory.scope("s", policy=Policy.queue(max_items=16))
        ids = []
        for topic in TOPICS:
            ids.append(call(session.queue.memorize, tell(topic)).item.id)
            if len(ids) % 4 == 0:
                call(memory.maintain)
        [summary] = summaries(call, session)
        for at in range(12):
            call(session.queue.memorize, f"{tell('cellar')} {at}", importance=0.5)
        [same] = summaries(call, session)
        assert (same.id, same.sources[0]["items"]) == (summary.id, ids[: len(summary.sources[0]["items"])])
        left = [id for id in ids if call(session.items.exists, id)]
        assert not {*left} & {*ids[:8]}
        assert same.id in [hit.id for hit in call(session.recall, "Who left the kiln open?")]
        call(memory.maintain)
        [rolled] = summaries(call, session)
        assert {*summary.sources[0]["items"]} < {*rolled.sources[0]["items"]}

    def test_a_summary_outlives_nothing_that_expires_and_tells_nothing_that_was_taken_back(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory(memory_types=[WorkingSettings(tail_items=0, tail_tokens=0)])
        session = memory.scope("s")
        for topic in TOPICS[:4]:
            call(session.items.add, tell(topic), ttl_s=100 if topic == "kiln" else None)
        call(memory.maintain)
        assert "kiln" in summaries(call, session)[0].content
        clock.advance(100)
        assert summaries(call, session) == []
        call(memory.maintain)
        [summary] = summaries(call, session)
        assert "kiln" not in summary.content
        glaze = summary.sources[0]["items"][0]
        call(session.items.forget, glaze)
        call(memory.maintain)
        [summary] = summaries(call, session)
        assert "glaze" not in summary.content
        assert glaze not in summary.sources[0]["items"]
        for id in summary.sources[0]["items"]:
            call(session.items.forget, id)
        call(memory.maintain)
        assert summaries(call, session) == []

    def test_what_a_summary_of_the_session_tells_is_not_told_by_a_second_one(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(memory_types=[WorkingSettings(tail_tokens=60, tail_items=1)])
        session = memory.scope("s")
        for part in (TOPICS[:6], TOPICS[6:12]):
            call(session.messages.append, [said("user", tell(topic)) for topic in part])
            for topic in part:
                call(session.items.add, tell(f"{topic}-note"), ttl_s=None)
            call(session.summarize, keep=1)
            call(memory.maintain)
            sums = summaries(call, session)
            counts = {"items": call(session.items.count) - len(sums), "messages": call(session.messages.count)}
            for facet, count in counts.items():
                ids = [id for item in sums for source in item.sources for id in source.get(facet, ())]
                assert len(ids) == len(set(ids)) == count - 1

    @pytest.mark.parametrize("act", ["erase", "withdraw", "dispose"])
    def test_what_goes_while_a_model_sums_it_up_is_not_told(
        self, open_memory: MemoryOpener, call: Call, act: str
    ) -> None:
        other = open_memory.to_sync(open_memory.in_other_process().scope("s"))
        done: list[str] = []

        def answer(texts: Any, _: int) -> str:
            if not done:
                done.append(act)
                first = other.messages.all()[0].id
                assert first is not None
                acts: Any = {"erase": other.erase, "withdraw": other.messages.withdraw, "dispose": other.dispose}
                acts[act](*([] if act == "dispose" else [first]))
            return f"They talked of {' '.join(topic for topic in TOPICS if topic in str(texts))}."

        memory = open_memory(memory_types=[WorkingSettings(tail_tokens=None)], summarizer=answer)
        session = memory.scope("s")
        call(session.messages.append, [said("user", tell(topic)) for topic in TOPICS[:6]])
        call(memory.types.session("s")["conversation"].close)
        report = call(memory.maintain).jobs["close-episodes"]
        assert (report.changed, report.error) == (0, "")
        assert done
        assert summaries(call, memory.episodic) == []
        call(memory.maintain)
        told = [item.content for item in summaries(call, memory.episodic)]
        assert told == ([] if act == "dispose" else ["They talked of glaze anvil ferry orchard lantern."])

    def test_b32_a_failing_summarizer_changes_nothing_is_told_and_is_asked_again(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        answers: list[Any] = [RuntimeError("rate limit"), "", "word " * 2_000]

        def answer(texts: Any, most: int) -> str:
            each = answers.pop(0) if answers else f"They talked of {len(texts)} places in {most} tokens."
            if isinstance(each, Exception):
                raise each
            return str(each)

        memory = open_memory(memory_types=[WorkingSettings(tail_tokens=60)], summarizer=answer)
        session = memory.scope("s")
        call(session.messages.append, [said("user", tell(topic)) for topic in TOPICS[:6]])
        call(memory.types.session("s")["conversation"].close)
        cursor = call(session.view).cursor
        for _ in range(3):
            jobs = call(memory.maintain, ["summarize-tails", "close-episodes"]).jobs
            assert [jobs[name].detail for name in jobs] == [{"failed": 1}, {"failed": 1}]
            assert call(session.view).cursor == cursor
            assert summaries(call, memory.episodic) == []
            clock.advance(2 * HOUR)
        call(memory.maintain)
        for scope in (session, memory.episodic):
            [summary] = summaries(call, scope)
            assert summary.content.startswith("They talked of ")
