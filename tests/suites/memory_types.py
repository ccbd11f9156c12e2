"""Suite of the memory types of an agent: its registry, threads and episodes, and turns of closed sessions."""

from collections.abc import Callable
from typing import Any

import pytest

import wmem
from tests.external_types import SqliteNotes
from wmem import ConversationSettings, EpisodicSettings, Filters, InvalidInputError, ItemDraft, NotFoundError, Policy
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener
from wmem.types import EpisodicMemory, MemoryTypes, Relation

__all__ = ["MemoryTypesSuite"]

HOUR = 3_600
ANN = Policy.session(long_term=[("users", "ann")])
BOB = Policy.session(long_term=[("users", "bob")])


def contents(replies: Any) -> list[str]:
    return [each.item.content for each in replies]


def said(role: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **fields}


class MemoryTypesSuite(FacetSuite):
    """What the built-in types promise beyond the protocol; that is proven by `wmem.testing.MemoryTypeSuite`."""

    @pytest.fixture
    def episodic(self, memory: wmem.AgentMemory) -> EpisodicMemory:
        return memory.types["episodic"]

    # -- the registry

    def test_the_registry_is_a_mapping_from_names_to_types(self, memory: wmem.AgentMemory) -> None:
        assert list(memory.types) == ["working", "conversation", "episodic", "semantic"]
        assert [memory.types[name].name for name in memory.types] == list(memory.types)
        assert "unknown" not in memory.types
        with pytest.raises(KeyError):
            memory.types["unknown"]

    def test_the_scopes_of_types_are_those_of_the_memory(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.types["semantic"].memorize, "a fact")
        call(memory.types["episodic"].memorize, "an event")
        call(memory.types["working"].memorize, "a thought")
        for scope, text in ((memory.semantic, "a fact"), (memory.episodic, "an event"), (memory.working, "a thought")):
            assert [item.content for item in call(scope.items.all)] == [text]
        assert memory.types["semantic"].scope.path == memory.semantic.path
        assert memory.types["conversation"].scope.path == ("agent", "~conversation")

    def test_an_item_goes_to_the_types_that_accept_it_and_needs_no_table(self, memory: wmem.AgentMemory) -> None:
        routes = {
            "thought": ["working"],
            "plan": ["working"],
            "user_message": ["conversation"],
            "assistant_message": ["conversation"],
            "fact": ["semantic"],
            "Skill": ["semantic"],
            "summary": ["semantic"],
            "pattern": ["semantic"],
            "observation": ["episodic"],
            "action": ["episodic"],
            "tool_call": ["episodic"],
            "tool_result": ["episodic"],
            "metric": ["episodic"],
            "anything": ["episodic"],
        }
        for item_type, names in routes.items():
            draft = ItemDraft("x", fields={"type": item_type})
            assert [name for name in memory.types if memory.types[name].accepts(draft)] == names, item_type
        important: Any = {"importance": "0.9"}  # as some models give it
        assert memory.types["episodic"].accepts(ItemDraft("x", fields=important))
        preference = ItemDraft("x", fields={"type": "user_message", "kind": "preference"})
        assert [name for name in memory.types if memory.types[name].accepts(preference)] == ["conversation", "semantic"]

    def test_settings_live_with_the_memory_and_are_not_stored(self, open_memory: MemoryOpener, call: Call) -> None:
        strict = open_memory(memory_types=[EpisodicSettings(min_importance=0.5, pool=3)])
        other = open_memory()
        weak = ItemDraft("x", fields={"importance": 0.4})
        assert (strict.types["episodic"].accepts(weak), other.types["episodic"].accepts(weak)) == (False, True)
        assert (strict.types["episodic"].pool, other.types["episodic"].pool) == (3, 20)
        refused = call(strict.types["episodic"].memorize, weak)
        assert refused.rejected == ("importance", 0.4, 0.5)
        assert call(strict.episodic.stats).active_count == 0
        assert call(other.types["episodic"].memorize, weak).rejected is None

    @pytest.mark.parametrize(
        "memory_types",
        ["working", [None], [3], [EpisodicSettings(), EpisodicSettings()], [object()], EpisodicSettings()],
    )
    def test_what_is_no_memory_type_is_refused(self, open_memory: MemoryOpener, memory_types: Any) -> None:
        with pytest.raises(InvalidInputError, match="memory"):
            open_memory(memory_types=memory_types)

    def test_a_session_shares_long_term_memory_and_has_its_own_items(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        first, second = memory.types.session("a"), memory.types.session("b")
        call(first["working"].memorize, "a plan")
        call(first["semantic"].memorize, "a fact")
        assert contents(call(second["working"].remember, "")) == []
        assert contents(call(second["semantic"].remember, "")) == ["a fact"]
        assert [item.content for item in call(memory.scope("a").items.all)] == ["a plan"]

    # -- isolation

    @pytest.mark.parametrize("name", ["conversation", "episodic", "semantic"])
    def test_what_is_memorized_for_one_user_is_no_other_users(
        self, open_memory: MemoryOpener, call: Call, name: str
    ) -> None:
        memory = open_memory()
        ann = memory.types.session("ann-1", policy=ANN)
        draft = ItemDraft("the cellar code is 4711", fields={"type": "user_message"})
        call(ann[name].memorize, draft)
        call(ann["conversation"].close)
        for other in (
            memory.types.session("bob-1", policy=BOB),
            memory.types.session("nobody-1"),
            memory.types,
            open_memory("agent-2").types,
        ):
            assert contents(call(other[name].remember, "cellar code")) == []
            assert call(other[name].capacity)[:2] == (0, 0)
            assert call(other[name].summarize).text == ""
        again = memory.types.session("ann-2", policy=ANN)
        assert contents(call(again[name].remember, "cellar code")) == [draft.content]
        # The policy is stored: who opens the session without it is in the same place.
        reopened = open_memory.in_other_process().types.session("ann-1")
        assert contents(call(reopened[name].remember, "cellar code")) == [draft.content]
        assert reopened["semantic"].scope.path == ("agent", "users", "ann", "~semantic")

    @pytest.mark.parametrize("name", ["conversation", "episodic", "semantic"])
    def test_what_is_forgotten_is_in_no_byte_of_the_store(
        self,
        open_memory: MemoryOpener,
        call: Call,
        store_bytes: Callable[[], bytes],
        is_plaintext: bool,
        name: str,
    ) -> None:
        memory = open_memory()
        ann = memory.types.session("ann-1", policy=ANN)
        draft = ItemDraft("the zanzibarian cellar code", fields={"type": "user_message"})
        id = call(ann[name].memorize, draft).item.id
        call(ann["conversation"].close)
        assert (b"zanzibarian" in store_bytes()) is is_plaintext
        call(memory.types.session("ann-2", policy=ANN)[name].forget, [id])
        call(memory.close)
        assert b"zanzibarian" not in store_bytes()

    # -- episodes

    def test_items_of_a_session_are_one_thread_and_go_on_with_its_episode(
        self, memory: wmem.AgentMemory, call: Call, episodic: EpisodicMemory
    ) -> None:
        first, second = memory.types.session("a")["episodic"], memory.types.session("b")["episodic"]
        replies = [call(each.memorize, f"event {at}").item for at, each in enumerate((first, second, first, second))]
        assert [item.thread_id for item in replies] == ["a", "b", "a", "b"]
        assert replies[0].episode_id == replies[2].episode_id != replies[1].episode_id == replies[3].episode_id
        one, other = call(episodic.episodes)
        assert (one.thread_ids, one.item_ids) == (("a",), (replies[0].id, replies[2].id))
        assert call(episodic.episodes, "b") == [other]
        assert [item.content for item in call(episodic.episode_items, one.id)] == ["event 0", "event 2"]
        assert call(episodic.episode_items, "none such") == []

    def test_an_idle_gap_begins_an_episode_and_its_last_second_does_not(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock, episodic: EpisodicMemory
    ) -> None:
        call(episodic.memorize, "a")
        clock.advance(4 * HOUR)
        call(episodic.memorize, "b")
        clock.advance(4 * HOUR + 1)
        call(episodic.memorize, "c")
        assert [len(each.item_ids) for each in call(episodic.episodes)] == [2, 1]
        assert call(episodic.episodes)[0].ended_at - call(episodic.episodes)[0].started_at == 4 * HOUR

    def test_so_many_steps_or_tokens_begin_an_episode(self, open_memory: MemoryOpener, call: Call) -> None:
        by_steps = open_memory("one", memory_types=[EpisodicSettings(max_steps=2)]).types["episodic"]
        for step in (1, 1, 2, 3, None, None):
            call(by_steps.memorize, ItemDraft("x", fields={"step_index": step}))
        assert [(len(each.item_ids), each.steps) for each in call(by_steps.episodes)] == [(3, 2), (2, 2), (1, 1)]
        by_tokens = open_memory("two", memory_types=[EpisodicSettings(max_tokens=10)]).types["episodic"]
        for text in ("four words are here", "four words are here", "four words are here", "word " * 40):
            call(by_tokens.memorize, text)
        episodes = call(by_tokens.episodes)
        assert [len(each.item_ids) for each in episodes] == [2, 1, 1]
        assert episodes[0].tokens <= 10 < episodes[2].tokens

    def test_an_explicit_episode_is_kept_and_gone_on_with(self, call: Call, episodic: EpisodicMemory) -> None:
        call(episodic.memorize, ItemDraft("a", fields={"episode_id": "trip"}))
        assert call(episodic.memorize, "b").item.episode_id == "trip"
        call(episodic.memorize, ItemDraft("c", fields={"episode_id": "home"}))
        call(episodic.memorize, ItemDraft("d", fields={"episode_id": "trip", "thread_id": "mail"}))
        assert [(each.id, each.thread_ids, len(each.item_ids)) for each in call(episodic.episodes)] == [
            ("trip", ("mail",), 3),
            ("home", (), 1),
        ]

    def test_a_blank_episode_or_thread_is_none(self, call: Call, episodic: EpisodicMemory) -> None:
        first = call(episodic.memorize, ItemDraft("a", fields={"episode_id": "", "thread_id": ""})).item
        second = call(episodic.memorize, "b").item
        assert first.episode_id == second.episode_id != ""
        assert [each.thread_ids for each in call(episodic.episodes)] == [()]
        call(episodic.scope.items.add, "c", episode_id="", thread_id="")
        assert [len(each.item_ids) for each in call(episodic.episodes)] == [2, 1]

    def test_two_processes_agree_on_episodes_also_when_both_write_at_once(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        here, there = open_memory().types["episodic"], open_memory.in_other_process().types["episodic"]
        clock.advance(1)

        def memorizing(number: int) -> Callable[[], Any]:
            return lambda: (here, there)[number % 2].memorize(f"event {number}")

        ids = {reply.item.episode_id for reply in call.run_concurrently([memorizing(number) for number in range(8)])}
        assert len(ids) == 1
        assert call(here.episodes) == call(there.episodes)
        assert len(call(here.episodes)[0].item_ids) == 8

    def test_what_was_promoted_is_grouped_by_the_same_rule(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock, episodic: EpisodicMemory
    ) -> None:
        session = memory.scope("s")
        for at, text in enumerate(("a", "b", "c")):
            clock.advance(5 * HOUR if at == 2 else 1)
            item = call(session.items.add, text, ttl_s=None)
            call(session.items.promote, item.id)
        call(episodic.memorize, "d")
        assert [len(each.item_ids) for each in call(episodic.episodes)] == [2, 1, 1]
        assert call(episodic.episodes) == call(episodic.episodes)

    def test_an_episode_is_summarized_alone(self, call: Call, episodic: EpisodicMemory) -> None:
        first = call(episodic.memorize, ItemDraft("The kiln cracked.", fields={"episode_id": "one"})).item
        call(episodic.memorize, ItemDraft("The dog barked.", fields={"episode_id": "two"}))
        summary = call(episodic.summarize, 50, episode_id="one")
        assert (summary.text, summary.sources) == ("The kiln cracked.", (first.id,))
        assert call(episodic.summarize, 50, episode_id="none such").text == ""

    # -- append-only, links

    def test_the_face_has_nothing_that_changes_or_removes_but_by_erasure(self, episodic: EpisodicMemory) -> None:
        verbs = {name for name in dir(episodic) if not name.startswith("_")}
        assert verbs == {
            *(
                "accepts",
                "capacity",
                "close_episode",
                "episode_items",
                "episodes",
                "forget",
                "link",
                "links",
                "memorize",
            ),
            *("name", "pool", "remember", "scope", "summarize", "transcript"),
        }

    def test_links_are_found_from_both_ends_and_survive_reopening(
        self, open_memory: MemoryOpener, call: Call, episodic: EpisodicMemory
    ) -> None:
        a, b = (call(episodic.memorize, ItemDraft(text, fields={"episode_id": text})).item for text in ("one", "two"))
        assert call(episodic.link, a.id, b.id, "caused", {"by": "hand"}).type == "caused"
        for _ in range(2):
            call(episodic.link, "two", "one", "continues")
        other = open_memory.in_other_process().types["episodic"]
        for each in (episodic, other):
            assert [link[:3] for link in call(each.links, b.id)] == [(a.id, "caused", b.id)]
            assert [link[:3] for link in call(each.links, "one")] == [("two", "continues", "one")]
            assert call(each.links, "one") == call(each.links, "two")
            assert call(each.links, a.id)[0].metadata == {"by": "hand"}
        assert [item.content for item in call(episodic.scope.items.all)] == ["one", "two"]
        with pytest.raises(NotFoundError):
            call(episodic.link, "none such", a.id)

    def test_a_draft_may_bring_its_links(self, call: Call, episodic: EpisodicMemory) -> None:
        first = call(episodic.memorize, "asked for a crate").item
        relation = Relation(type="answers", target_id=first.id)
        second = call(episodic.memorize, ItemDraft("the crate arrived", fields={"relations": [relation]})).item
        assert [link[:3] for link in call(episodic.links, first.id)] == [(second.id, "answers", first.id)]

    # -- the conversation

    @pytest.fixture
    def monday(self, memory: wmem.AgentMemory, call: Call) -> MemoryTypes:
        """A session that was closed after two turns."""
        session = memory.scope("monday")
        call(
            session.messages.append,
            [
                said("user", "My dog is called Biscuit.", id="m1"),
                said("assistant", "A good name.", id="m2"),
                said("user", "The crate arrives on Friday.", id="m3"),
            ],
        )
        types = memory.types.session("monday")
        assert call(types["conversation"].close) == 2
        return types

    def test_a_closed_session_is_remembered_elsewhere_as_pointers_without_text(
        self, memory: wmem.AgentMemory, call: Call, monday: MemoryTypes
    ) -> None:
        conversation = memory.types.session("tuesday")["conversation"]
        best = call(conversation.remember, "What is my dog called?")[0]
        assert (best.item.id, best.item.content, best.item.thread_id) == ("m1", "My dog is called Biscuit.", "monday")
        first, second = call(conversation.turns)
        assert ([message.id for message in first.messages], first.session) == (["m1", "m2"], ("monday",))
        assert ([message.text for message in second.messages], second.missing) == (["The crate arrives on Friday."], ())
        assert call(conversation.turns, 1) == [second]
        stored = str(call(monday["conversation"].scope.export))
        assert not any(word in stored for word in ("Biscuit", "good name", "crate"))

    def test_an_open_session_is_no_other_sessions(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.scope("monday").messages.append, said("user", "My dog is called Biscuit."))
        assert contents(call(memory.types.session("tuesday")["conversation"].remember, "dog")) == []
        assert contents(call(memory.types.session("monday")["conversation"].remember, "dog")) != []

    def test_a_session_that_began_anew_and_was_closed_again_is_remembered_as_it_is_now(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock, monday: MemoryTypes
    ) -> None:
        call(memory.scope("monday").dispose)
        clock.advance(1)
        call(memory.scope("monday").messages.append, said("user", "My cat is called Minka."))
        call(memory.types.session("monday")["conversation"].close)
        tuesday = memory.types.session("tuesday")["conversation"]
        assert contents(call(tuesday.remember, "Minka Biscuit")) == ["My cat is called Minka."]
        assert contents(call(tuesday.remember, "")) == ["My cat is called Minka."]

    def test_sessions_that_began_anew_take_the_place_of_no_others(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory(memory_types=[ConversationSettings(sessions=2)])
        for name, text in (("a", "My dog is called Biscuit."), ("b", "one"), ("b", "two"), ("b", "three")):
            clock.advance(1)
            call(memory.scope(name).dispose)
            call(memory.scope(name).messages.append, said("user", text))
            call(memory.types.session(name)["conversation"].close)
        found = contents(call(memory.types.session("c")["conversation"].remember, "What is my dog called?"))
        assert found == ["My dog is called Biscuit."]

    @pytest.mark.parametrize("bad", [None, 3, b"x", [], object()], ids=["None", "3", "bytes", "list", "object"])
    def test_what_is_no_draft_is_accepted_by_none_and_no_name_finds_another(
        self, memory: wmem.AgentMemory, call: Call, bad: Any
    ) -> None:
        for memory_type in memory.types.values():
            with pytest.raises(wmem.InvalidInputError):
                memory_type.accepts(bad)
        with pytest.raises(wmem.NotFoundError, match="known: working"):
            memory.types[bad]
        assert bad not in [*memory.types]
        if bad is not None:
            with pytest.raises(wmem.InvalidInputError):
                call(memory.types["episodic"].episodes, bad)

    def test_closing_again_adds_what_is_new_whoever_does_it(
        self, open_memory: MemoryOpener, call: Call, monday: MemoryTypes
    ) -> None:
        assert call(monday["conversation"].close) == 0
        there = open_memory.in_other_process().types.session("monday")["conversation"]
        assert call(there.close) == 0
        messages = open_memory().scope("monday").messages
        call(messages.append, [said("assistant", "Noted."), said("user", "And a bowl.")])
        assert call(there.close) == 2  # the last turn went on, and one is new
        assert [len(turn.messages) for turn in call(monday["conversation"].turns)] == [2, 2, 1]

    def test_reading_says_what_is_gone_and_what_came_back(
        self, memory: wmem.AgentMemory, call: Call, monday: MemoryTypes
    ) -> None:
        conversation, session = memory.types.session("tuesday")["conversation"], memory.scope("monday")
        call(session.messages.withdraw, "m1")
        assert call(conversation.turns)[0].missing == ("m1",)
        assert contents(call(conversation.remember, "dog Biscuit")) == []
        call(session.messages.restore, "m1")
        assert call(conversation.turns)[0].missing == ()
        call(session.erase, "m1")
        assert [message.id for message in call(conversation.turns)[0].messages] == ["m2"]
        assert call(conversation.turns)[0].missing == ("m1",)
        assert contents(call(conversation.remember, "dog Biscuit")) == []
        # What was taken out of the session is closed no longer once it is closed again.
        call(monday["conversation"].close)
        assert [turn.missing for turn in call(conversation.turns)] == [(), ()]

    def test_a_session_that_ended_is_missing_and_a_new_one_of_its_name_is_another(
        self, memory: wmem.AgentMemory, call: Call, monday: MemoryTypes
    ) -> None:
        call(memory.scope("monday").dispose)
        call(memory.scope("monday").messages.append, said("user", "Biscuit again", id="m1"))
        conversation = memory.types.session("tuesday")["conversation"]
        assert [turn.missing for turn in call(conversation.turns)] == [("m1", "m2"), ("m3",)]
        assert contents(call(conversation.remember, "Biscuit")) == []
        assert contents(call(conversation.remember, "")) == []

    def test_what_is_forgotten_from_another_session_is_erased_where_it_lies(
        self, memory: wmem.AgentMemory, call: Call, monday: MemoryTypes
    ) -> None:
        conversation = memory.types.session("tuesday")["conversation"]
        before = call(conversation.capacity)
        reply = call(conversation.forget, ["m1", "none such"])
        assert (reply.ids, reply.items) == (("m1",), 2)
        assert call(conversation.capacity)[:2] == reply[1:]
        assert reply.tokens < before.tokens
        assert [message.id for message in call(memory.scope("monday").messages.all)] == ["m2", "m3"]
        assert [turn.missing for turn in call(conversation.turns)] == [(), ()]

    def test_one_ranking_finds_the_best_of_several_sessions(self, memory: wmem.AgentMemory, call: Call) -> None:
        texts = {
            "a": "We talked about tides and boats.",
            "b": "The lighthouse opens at nine.",
            "c": "Boats need paint.",
        }
        for name, text in texts.items():
            call(memory.scope(name).messages.append, [said("user", text), said("assistant", f"Yes, {name}.")])
            call(memory.types.session(name)["conversation"].close)
        here = memory.types.session("now")["conversation"]
        call(here.memorize, ItemDraft("Good morning.", fields={"type": "user_message"}))
        assert contents(call(here.remember, "When does the lighthouse open?"))[0] == texts["b"]
        assert set(contents(call(here.remember, "boats"))) >= {texts["a"], texts["c"]}
        assert contents(call(here.remember, ""))[0] == "Good morning."
        assert call(here.capacity).items == 7
        assert "lighthouse" in call(here.summarize, 200).text

    def test_what_else_a_scope_holds_does_not_crowd_out_what_a_type_remembers(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        session = memory.scope("s")
        call(session.messages.append, said("user", "The kiln, at last, reaches 980 degrees."))
        for number in range(220):
            call(session.items.add, f"kiln {number}", ttl_s=None)
            call(memory.semantic.entries.set, f"kiln {number}", "kiln kiln")
        call(memory.types["semantic"].memorize, "The kiln, at last, is cold.")
        here = memory.types.session("s")
        assert contents(call(here["conversation"].remember, "kiln")) == ["The kiln, at last, reaches 980 degrees."]
        assert contents(call(here["semantic"].remember, "kiln")) == ["The kiln, at last, is cold."]

    def test_a_turn_of_very_many_messages_is_pointed_to_in_parts(self, memory: wmem.AgentMemory, call: Call) -> None:
        messages = [said("user", "go")] + [said("assistant", f"line {number}") for number in range(600)]
        call(memory.scope("s").messages.append, messages)
        conversation = memory.types.session("s")["conversation"]
        assert call(conversation.close) == 2
        assert [len(turn.messages) for turn in call(conversation.turns)] == [512, 89]

    def test_the_conversation_holds_messages_alone(self, memory: wmem.AgentMemory, call: Call) -> None:
        with pytest.raises(InvalidInputError, match="user_message"):
            call(memory.types["conversation"].memorize, "a plain text")
        recalled = ItemDraft("x", fields={"type": "user_message", "metadata": {"wmem": "note"}})
        with pytest.raises(InvalidInputError, match="recalled"):
            call(memory.types["conversation"].memorize, recalled)

    def test_pointers_are_counted_nowhere_and_heard_by_nobody(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        call(session.messages.append, said("user", "hello"))
        before = call(memory.stats)
        events: list[Any] = []
        memory.subscribe(events.append)
        call(memory.types.session("s")["conversation"].close)
        after = call(memory.stats)
        assert events == []
        assert (after.items, after.messages, after.active_working_scopes) == (
            before.items,
            before.messages,
            before.active_working_scopes,
        )
        assert after.total_entries_long_term == before.total_entries_long_term
        assert call(memory.working.children) == ["s"]
        assert "hello" not in call(memory.scope("t").pack, "hello", budget=1_000).note

    def test_maintenance_closes_idle_sessions_where_it_is_told_to(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory(memory_types=[ConversationSettings(idle_s=HOUR)])
        for path in (("a",), ("b", "deep"), ()):
            call(memory.scope(*path).messages.append, said("user", f"hello from {path}"))
        call(memory.scope("c").items.add, "no message")
        clock.advance(HOUR - 1)
        call(memory.scope("a").messages.append, said("assistant", "hello"))
        clock.advance(1)
        assert call(memory.maintain).closed == 2
        assert [turn.session for turn in call(memory.types["conversation"].turns)] == [(), ("b", "deep")]
        assert call(memory.maintain).closed == 0
        clock.advance(HOUR)
        assert call(memory.maintain).closed == 1
        call(memory.scope("a").messages.append, said("user", "once more"))
        clock.advance(HOUR)
        assert (call(open_memory().maintain).closed, call(memory.maintain).closed) == (0, 1)
        assert len(call(memory.types["conversation"].turns)) == 4

    def test_without_long_term_memory_the_conversation_is_the_sessions_own(
        self, open_memory: MemoryOpener, call: Call, monday: MemoryTypes
    ) -> None:
        assert len(monday) == 4
        core = open_memory(features=wmem.Features.core())
        conversation = core.types.session("tuesday")["conversation"]
        draft = ItemDraft("The kiln is hot.", fields={"type": "user_message"})
        id = call(conversation.memorize, draft).item.id
        assert contents(call(conversation.remember, "")) == ["The kiln is hot."]
        assert call(conversation.capacity).items == 1
        assert call(conversation.forget, [id, "m1"])[:2] == ((id,), 0)
        for refused in (conversation.close, conversation.turns, core.types["semantic"].capacity):
            with pytest.raises(wmem.FeatureNotEnabledError):
                call(refused)

    # -- arguments

    @pytest.mark.parametrize("name", ["working", "conversation", "episodic", "semantic"])
    def test_what_is_out_of_range_is_refused_and_nothing_is_stored(
        self, memory: wmem.AgentMemory, call: Call, name: str
    ) -> None:
        here: Any = memory.types[name]
        for refused in ((here.memorize, ""), (here.memorize, 3), (here.remember, None), (here.forget, "id")):
            with pytest.raises(InvalidInputError):
                call(*refused)
        for options in ({"limit": -1}, {"limit": True}, {"filters": {"tags": ["a"]}}):
            with pytest.raises(InvalidInputError):
                call(here.remember, "x", **options)
        with pytest.raises(InvalidInputError):
            call(here.summarize, 0)
        with pytest.raises(InvalidInputError):
            call(here.forget, [""])
        assert call(here.capacity)[:2] == (0, 0)

    @pytest.mark.parametrize(
        ("arguments", "word"),
        [
            ({"content": ""}, "content"),
            ({"content": "x", "priority": "urgent"}, "priority"),
            ({"content": "x", "fields": {"unknown": 1}}, "unknown"),
            ({"content": "x", "fields": {"access_count": 1}}, "access_count"),
            ({"content": "x", "fields": {"importance": 2}}, "importance"),
            ({"content": "x", "fields": ["tags"]}, "fields"),
            ({"content": "x", "ttl_s": -1}, "ttl_s"),
            ({"content": "x", "ttl_s": True}, "ttl_s"),
            ({"content": "x", "session": "s"}, "session"),
        ],
    )
    def test_a_draft_is_checked_when_it_is_made(self, arguments: dict[str, Any], word: str) -> None:
        with pytest.raises(InvalidInputError, match=word):
            ItemDraft(arguments.pop("content"), **arguments)

    def test_top_k_is_a_limit_too(self, memory: wmem.AgentMemory, call: Call) -> None:
        for text in ("parcel one", "parcel two", "parcel three"):
            call(memory.types["semantic"].memorize, text)
        assert len(call(memory.types["semantic"].remember, "parcel", filters=Filters(top_k=2))) == 2
        assert len(call(memory.types["semantic"].remember, "", filters=Filters(top_k=2), limit=1)) == 1

    def test_a_type_of_ones_own_needs_the_right_mode(self, memory: wmem.AgentMemory, mode: str, call: Call) -> None:
        notes = SqliteNotes()
        if mode == "sync":
            memory.types.register(notes)
            assert memory.types["notes"] is notes
            return
        with pytest.raises(InvalidInputError, match="blocks"):
            memory.types.register(notes)
