"""Suite of turns: what they store and where, their contexts, their budget, and every way in which they end."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

import wmem
from wmem import DisposedError, Filters, InvalidInputError, ItemDraft, Message, TurnBudget, TurnBudgetError
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener
from wmem.types import MemorizeTraced, RouteTraced

__all__ = ["TurnSuite"]


class CutError(Exception):
    """What a block raises."""


def sources(context: wmem.Assembled) -> dict[str, str]:
    """What a context quotes, with the memory type it is from."""
    return {each.item.content: each.source for each in context.items}


def _cut(call: Call, act: Any, *args: Any) -> None:
    call(act, *args)
    raise CutError


def _verbs(turn: wmem.Turn) -> list[tuple[Any, tuple[Any, ...]]]:
    """What a turn with the goal "g" takes."""
    return [
        (turn.memorize, ("x",)),
        (turn.assemble_context, ("x", 100)),
        (turn.track_tool_invocation, ("t",)),
        (turn.report_progress, ("g", 0.1)),
    ]


class TurnSuite(FacetSuite):
    """One turn after another, on one memory."""

    # -- routes

    @pytest.mark.parametrize(
        ("item", "store"),
        [
            ("the build failed", "episodic"),
            ({"content": "the build failed", "type": "observation"}, "episodic"),
            ({"text": "deploys run on Friday", "type": "fact"}, "semantic"),
            ({"content": "likes short answers", "kind": "preference"}, "semantic"),
            (ItemDraft("first look, then leap", fields={"type": "plan"}), "working"),
            (ItemDraft("hm", fields={"type": "Thought"}), "working"),
            ({"role": "user", "content": "hello"}, "conversation"),
            (Message.of("assistant", "hello"), "conversation"),
            ({"content": "hello", "type": "assistant_message"}, "conversation"),
        ],
        ids=str,
    )
    def test_an_item_is_stored_where_its_type_belongs_with_the_id_of_the_turn(
        self, memory: wmem.AgentMemory, call: Call, item: Any, store: str
    ) -> None:
        turn = memory.turn("s", task_id="release")
        reply = call(turn.memorize, item, {"from": "test"})
        assert list(reply.stored) == [store]
        assert reply.item.turn_id == turn.id
        said = reply.item.metadata if reply.item.message is None else reply.item.message.metadata
        assert said == {"from": "test"}
        if store == "conversation":
            assert call(memory.scope("s").messages.all)[0].turn_id == turn.id
        else:
            assert (reply.item.task_id, reply.item.agent_id) == ("release", "agent")
            scope: Any = {"episodic": memory.episodic, "semantic": memory.semantic, "working": memory.scope("s")}[store]
            assert [each.id for each in call(scope.items.all)] == [reply.item.id]

    def test_what_a_turn_writes_has_the_step_of_its_session(self, memory: wmem.AgentMemory, call: Call) -> None:
        for step in range(3):
            with call.enter(memory.turn("s")) as turn:
                types = ("fact", "thought", "event")
                items: list[Any] = [call(turn.memorize, {"content": "x", "type": each}).item for each in types]
                items.append(call(turn.track_tool_invocation, "t"))
                assert [each.step_index for each in items] == [step] * 4

    def test_a_store_is_named_or_found_and_an_unknown_one_is_an_error(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        turn = memory.turn("s")
        assert list(call(turn.memorize, "hm", store="semantic").stored) == ["semantic"]
        for item, store in (("x", "attic"), ("x", "conversation"), ({"role": "user", "content": "x"}, "semantic")):
            with pytest.raises(InvalidInputError, match="store"):
                call(turn.memorize, item, store=store)
        assert call(turn.commit).stores == {"semantic": 1}

    @pytest.mark.parametrize(
        "bad",
        ["", 3, None, {"type": "fact"}, {"content": "x", "colour": "red"}, {"role": "cook", "content": "x"}],
        ids=repr,
    )
    def test_what_is_no_item_is_refused_and_nothing_is_stored(
        self, memory: wmem.AgentMemory, call: Call, bad: Any
    ) -> None:
        turn = memory.turn("s")
        with pytest.raises(InvalidInputError):
            call(turn.memorize, bad)
        assert (call(turn.commit).writes, turn.budget_status().events) == ((), 0)

    # -- tool calls

    def test_a_tool_call_is_an_episode_of_its_turn(self, memory: wmem.AgentMemory, call: Call) -> None:
        turn = memory.turn("s")
        item = call(turn.track_tool_invocation, "search", {"words": "biscuit"}, {"hits": [1, 2]})
        assert item is not None
        assert item.content == 'search({"words": "biscuit"})\nreturned: {"hits": [1, 2]}'
        assert (item.type, item.source, item.turn_id, item.thread_id) == ("tool_result", "tool", turn.id, "s")
        assert item.metadata == {"tool_name": "search", "failed": False, "parameters": {"words": "biscuit"}}
        assert [each.id for each in call(memory.episodic.items.all)] == [item.id]
        failed = call(turn.track_tool_invocation, "search", error=TimeoutError("after 3 s"))
        assert failed is not None
        assert failed.content == "search()\nfailed: TimeoutError: after 3 s"
        assert failed.metadata == {"tool_name": "search", "failed": True}

    @pytest.mark.parametrize(
        "result",
        [float("nan"), {(1, 2): "x"}, object, b"\xff", {"a": {"b": [None, True]}}, "naïve 世界 🦊 \ud800", ""],
        ids=repr,
    )
    def test_whatever_a_tool_returned_is_tracked(self, memory: wmem.AgentMemory, call: Call, result: Any) -> None:
        item = call(memory.turn("s").track_tool_invocation, "t", {"n": result}, result)
        assert item is not None
        assert call(memory.episodic.items.get, item.id).content == item.content

    @pytest.mark.slow
    def test_a_result_that_is_too_long_for_an_item_is_stored_in_parts_that_make_it_whole(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        text = "".join(f"line {number}: naïve 世界 🦊\n" for number in range(12_000))
        first = call(memory.turn("s").track_tool_invocation, "read", {"file": "x"}, text)
        parts = call(memory.episodic.items.all)
        assert first is not None
        assert len(parts) > 2
        assert parts[0].id == first.id
        assert [each.parent_id for each in parts[1:]] == [first.id] * (len(parts) - 1)
        assert [each.chunk_index for each in parts[1:]] == [*range(1, len(parts))]
        assert "".join(each.content for each in parts) == f'read({{"file": "x"}})\nreturned: {text}'

    @pytest.mark.parametrize("bad", [{"tool_name": " "}, {"tool_name": None}, {"tool_name": "t", "parameters": [1]}])
    def test_a_call_of_no_tool_is_refused(self, memory: wmem.AgentMemory, call: Call, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInputError):
            call(memory.turn("s").track_tool_invocation, **bad)

    def test_tool_calls_are_not_stored_where_that_is_off(self, open_memory: MemoryOpener, call: Call) -> None:
        turn = open_memory(enable_tool_tracking=False).turn("s")
        assert call(turn.track_tool_invocation, "search", {"q": 1}, "found") is None
        assert call(turn.commit).writes == ()

    # -- contexts

    def test_a_context_has_what_each_memory_type_knows_and_says_where_it_is_from(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        turn = memory.turn("s")
        call(turn.memorize, {"role": "user", "content": "When does the train to Basel leave?"})
        call(turn.memorize, {"content": "The train to Basel leaves at noon", "type": "fact"})
        call(turn.memorize, "Missed the train to Basel last week")
        call(turn.memorize, {"content": "Look up the train, then answer", "type": "plan"})
        context = call(turn.assemble_context, "When does the train to Basel leave?", 1_000)
        assert sources(context) == {
            "The train to Basel leaves at noon": "semantic",
            "Missed the train to Basel last week": "episodic",
            "Look up the train, then answer": "working",
        }
        assert set(context.sources) == {"", "conversation", "semantic", "episodic", "working"}
        assert sum(context.sources.values()) == context.tokens == context.context.tokens <= 1_000
        assert all(each.item.content in context.text for each in context.items)
        assert [message.role for message in context.messages] == ["user", "user"]
        assert str(context.explanation).startswith(f"{context.tokens} of 1000 tokens")

    def test_equal_memories_give_equal_contexts(self, open_memory: MemoryOpener, call: Call) -> None:
        texts = []
        for agent in ("one", "two"):
            turn = open_memory(agent).turn("s", goals=["ship the release"], id="t")
            for number in range(20):
                call(turn.memorize, f"The release needs step {number}")
                call(turn.memorize, {"content": f"think of step {number}", "type": "thought"})
            first, again = (call(turn.assemble_context, "What does the release need?", 300) for _ in range(2))
            assert first.text == again.text
            texts.append(first.text)
        assert texts[0] == texts[1]

    def test_goals_the_plan_and_working_memory_find_what_the_question_does_not_name(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        for number in range(40):
            call(memory.semantic.items.add, f"The archive holds record {number} of the town", type="fact")
        call(memory.semantic.items.add, "Lisbon is warm in October, says the archive", type="fact")
        call(memory.semantic.items.add, "The ferry rocks, says the archive", type="fact")
        asked = "What does the archive hold?"
        plain = call(memory.turn("a").assemble_context, asked, 180)
        with_goal = call(memory.turn("b", goals=["Travel to Lisbon"]).assemble_context, asked, 180)
        assert not any("Lisbon" in each for each in sources(plain))
        assert any("Lisbon" in each for each in sources(with_goal))
        turn = memory.turn("c")
        call(turn.memorize, {"content": "Take the ferry", "type": "plan"})
        assert any("ferry rocks" in each for each in sources(call(turn.assemble_context, asked, 180)))

    def test_closed_sessions_are_asked_too_and_open_ones_are_not(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        for name, secret in (("closed", "seven"), ("open", "eight")):
            talk = [("user", "What is the code of the vault?"), ("assistant", f"The code of the vault is {secret}.")]
            call(memory.scope(name).messages.append, [{"role": role, "content": text} for role, text in talk])
        call(memory.working.messages.append, {"role": "assistant", "content": "The code of the vault is nine."})
        call(memory.types.session("closed")["conversation"].close)
        clock.advance(3_600)
        elsewhere = open_memory.in_other_process()
        turn = elsewhere.turn("now")
        question = "Tell me the code of the vault"
        context = call(turn.assemble_context, question, 500)
        assert "seven" in context.text
        assert not {"eight", "nine"} & set(context.text.replace(".", " ").split())
        assert {each.source for each in context.items} == {"conversation"}
        assert context.sources["conversation"] > 0
        assert context.context.sources["agent/closed"] > 0
        without = call(turn.assemble_context, question, 500, Filters(include=["semantic", "working"]))
        assert without.items == ()
        call(turn.memorize, {"role": "user", "content": question})
        again = call(turn.assemble_context, question, 500)
        assert "seven" in again.text
        call(turn.commit)
        replayed = call(elsewhere.replay, again.context.receipt).context
        assert replayed is not None
        assert replayed.to_openai() == again.to_openai()
        call(elsewhere.scope("closed").erase, *[each.id or "" for each in call(elsewhere.scope("closed").messages.all)])
        assert "seven" not in call(elsewhere.turn("now").assemble_context, question, 500).text

    def test_a_blank_prompt_looks_for_the_goals(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.semantic.items.add, "Lisbon is warm in October", type="fact")
        turn = memory.turn("s", goals=["Travel to Lisbon"])
        assert sources(call(turn.assemble_context, " ", 500)) == {"Lisbon is warm in October": "semantic"}
        assert sources(call(memory.turn("s").assemble_context, " ", 500)) == {}

    def test_a_goal_finds_what_it_is_about_though_the_request_says_nothing(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        for number in range(40):
            call(memory.semantic.items.add, f"The archive holds record {number} of the town", type="fact")
        call(memory.semantic.items.add, "Lisbon is warm in October", type="fact")
        asked = "Please proceed with it"
        assert sources(call(memory.turn("a").assemble_context, asked, 500)) == {}
        aiming = memory.turn("b", goals=["Travel to Lisbon"])
        assert sources(call(aiming.assemble_context, asked, 500)) == {"Lisbon is warm in October": "semantic"}
        of_else = memory.turn("c", goals=["Paint the fence"])
        assert sources(call(of_else.assemble_context, asked, 500)) == {}

    def test_the_newest_of_working_memory_is_there_whatever_the_question_and_what_repeats_it_is_not(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        turn = memory.turn("s")
        call(memory.semantic.items.add, "the user wants tea", type="fact")
        call(memory.semantic.items.add, "The user wants no tea", type="fact")
        call(turn.memorize, {"content": "Noted: the user wants tea.", "type": "thought"})
        context = call(turn.assemble_context, "What does the user want: tea?", 500)
        assert sources(context) == {"Noted: the user wants tea.": "working", "The user wants no tea": "semantic"}
        assert context.context.dropped.totals["duplicate"] == 1
        assert "Noted: the user wants tea." in sources(call(turn.assemble_context, "Is Paris large?", 500))

    @pytest.mark.parametrize(
        ("filters", "wanted"),
        [
            (Filters(), {"red", "blue", "pink", "grey"}),
            (Filters(include=["semantic"]), {"red", "blue"}),
            (Filters(include=["episodic", "working"]), {"pink", "grey"}),
            (Filters(tags=["x"]), {"red", "pink"}),
            (Filters(task_id="t"), {"blue", "pink"}),
            (Filters(agent_id="ada"), {"grey"}),
            (Filters(agent_id="ada", tags=["x"]), set()),
            (Filters(top_k=2), 2),
        ],
    )
    def test_filters_leave_out_what_does_not_pass(
        self, memory: wmem.AgentMemory, call: Call, filters: Filters, wanted: Any
    ) -> None:
        turn, text = memory.turn("s"), "the cat sleeps"
        for name, type_name, fields in (
            ("red", "fact", {"tags": ["x"]}),
            ("blue", "fact", {"task_id": "t"}),
            ("pink", "observation", {"tags": ["x"], "task_id": "t"}),
            ("grey", "thought", {"agent_id": "ada"}),
        ):
            call(turn.memorize, {"content": f"{text} in room {name}", "type": type_name, **fields})
        call(turn.memorize, {"role": "user", "content": "Where does the cat sleep?"})
        context = call(turn.assemble_context, "Where does the cat sleep?", 800, filters)
        found = {each.rsplit(" ", 1)[1] for each in sources(context)}
        assert found == wanted if isinstance(wanted, set) else len(found) == wanted
        assert bool(context.context.messages) is (filters.include is None)

    @pytest.mark.parametrize("filters", [Filters(include=["WM", "EM"]), Filters(include=["working", "conversations"])])
    def test_a_memory_type_that_there_is_not_is_no_filter(
        self, open_memory: MemoryOpener, call: Call, filters: Filters
    ) -> None:
        with pytest.raises(InvalidInputError, match="known: working, conversation, episodic, semantic"):
            call(open_memory().turn("s").assemble_context, "x", 100, filters)
        turn = open_memory(default_filters=filters).turn("s")
        with pytest.raises(InvalidInputError, match="unknown memory type"):
            call(turn.assemble_context, "x", 100)
        assert turn.budget_status().events == 0

    @pytest.mark.parametrize("bad", [{"a": object()}, {1: 2}], ids=["no JSON", "no name"])
    @pytest.mark.parametrize("item", ["x", {"role": "user", "content": "x"}], ids=["item", "message"])
    def test_metadata_that_are_none_are_refused_and_nothing_is_stored(
        self, memory: wmem.AgentMemory, call: Call, item: Any, bad: Any
    ) -> None:
        turn = memory.turn("s")
        with pytest.raises(wmem.WmemError):
            call(turn.memorize, item, bad)
        assert not call(memory.scope("s").exists)

    @pytest.mark.parametrize("top_k", [0, 1, 3])
    def test_no_more_items_than_asked_for_are_quoted(self, memory: wmem.AgentMemory, call: Call, top_k: int) -> None:
        turn = memory.turn("s")
        for number in range(6):
            call(turn.memorize, {"content": f"cat {number} sleeps", "type": "fact"})
            call(turn.memorize, {"content": f"think of cat {number}", "type": "thought"})
        assert len(call(turn.assemble_context, "Which cat sleeps?", 800, Filters(top_k=top_k)).items) == top_k

    def test_default_filters_hold_where_none_are_given(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory(default_filters=Filters(tags=["x"]))
        turn = memory.turn("s")
        call(turn.memorize, {"content": "the cat sleeps", "type": "fact"})
        assert sources(call(turn.assemble_context, "the cat", 500)) == {}
        assert sources(call(turn.assemble_context, "the cat", 500, Filters())) == {"the cat sleeps": "semantic"}

    def test_a_pool_is_how_much_a_memory_type_gives(self, memory: wmem.AgentMemory, call: Call) -> None:
        turn = memory.turn("s")
        for number in range(5):
            call(turn.memorize, {"content": f"cat {number} sleeps", "type": "fact"})
            call(turn.memorize, f"saw cat {number} asleep")
        context = call(turn.assemble_context, "Which cat sleeps?", 800, pools={"semantic": 2, "episodic": 1})
        assert sorted(sources(context).values()) == ["episodic", "semantic", "semantic"]
        refused: list[Any] = [{"attic": 1}, {"semantic": -1}, 3]
        for bad in refused:
            with pytest.raises(InvalidInputError, match="pools"):
                call(turn.assemble_context, "x", 800, pools=bad)

    def test_mandates_are_in_every_prompt_whole(self, memory: wmem.AgentMemory, call: Call) -> None:
        turn = memory.turn("s")
        mandates = ["Never promise a date.", "Answer in French."]
        context = call(turn.assemble_context, "hi", 100, system="You are kind.", mandates=mandates)
        assert context.messages[0].text == "You are kind.\n\nNever promise a date.\n\nAnswer in French."
        with pytest.raises(wmem.BudgetError, match="system"):
            call(turn.assemble_context, "hi", 10, mandates=mandates)
        refused: list[Any] = ["Never.", [""], [3]]
        for bad in refused:
            with pytest.raises(InvalidInputError, match="mandate"):
                call(turn.assemble_context, "hi", 100, mandates=bad)

    def test_a_template_stands_around_the_note_within_the_budget(self, memory: wmem.AgentMemory, call: Call) -> None:
        turn = memory.turn("s")
        for number in range(40):
            call(turn.memorize, {"content": f"cat {number} sleeps in the attic", "type": "fact"})
        template = "What you know:\n{memories}\nSay {so} if it helps."
        context = call(turn.assemble_context, "Which cat sleeps?", 200, template=template)
        note = context.context.note
        assert context.messages[0].text == template.replace("{memories}", note)
        assert context.messages[0].recalled
        assert context.context.tokens < context.tokens <= 200
        assert context.tokens >= wmem.EstimateCounter()(context.messages[0].text)
        assert sum(context.sources.values()) == context.tokens
        plain = call(
            memory.turn("other").assemble_context, "Anything?", 200, Filters(include=["working"]), template=template
        )
        assert plain.messages == ()
        refused: list[Any] = ["none", "{memories} {memories}", 3]
        for bad in refused:
            with pytest.raises(InvalidInputError, match="template"):
                call(turn.assemble_context, "x", 200, template=bad)

    # -- the budget

    @pytest.mark.parametrize("bad", [{"tokens": -1}, {"events": 1.5}, {"seconds": 0}, {"seconds": "1"}], ids=repr)
    def test_a_budget_that_is_none_is_refused(self, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInputError):
            TurnBudget(**bad)

    def test_events_are_limited_and_nothing_is_lost(self, memory: wmem.AgentMemory, call: Call) -> None:
        turn = memory.turn("s", budget=TurnBudget(events=2))
        call(turn.memorize, "one")
        call(turn.assemble_context, "one", 100)
        assert turn.budget_status()[3:] == (None, 0, None, ("events",))
        for verb, args in _verbs(turn)[:2]:
            with pytest.raises(TurnBudgetError, match="2 of 2 events"):
                call(verb, *args)
        assert call(turn.track_tool_invocation, "t", None, "what has happened is stored") is not None
        assert call(turn.commit).writes[0].item.content == "one"
        assert turn.budget_status().events == 3
        assert len(call(memory.episodic.items.all)) == 2

    def test_seconds_are_limited_by_the_clock_of_the_memory(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        turn = memory.turn("s", budget=TurnBudget(seconds=30))
        clock.advance(29)
        call(turn.memorize, "one")
        assert (turn.budget_status().seconds, turn.budget_status().seconds_left) == (29, 1)
        clock.advance(1)
        with pytest.raises(TurnBudgetError, match="30 of 30 s"):
            call(turn.memorize, "two")
        done = call(turn.commit)
        clock.advance(100)
        assert turn.budget_status() == done.budget
        assert done.budget.seconds == 30

    def test_tokens_are_limited_over_all_the_prompts_of_a_turn(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        for number in range(30):
            call(session.messages.append, {"role": "user", "content": f"message {number} of a long talk"})
        turn = memory.turn("s", budget=TurnBudget(tokens=150))
        first = call(turn.assemble_context, "talk", 100)
        second = call(turn.assemble_context, "talk", 100)
        status = turn.budget_status()
        assert first.tokens + second.tokens == status.tokens <= 150
        assert second.context.budget == 150 - first.tokens
        assert any("left of the turn's budget" in warning for warning in second.context.warnings)
        assert first.context.warnings == ()
        with pytest.raises(TurnBudgetError, match="tokens"):
            call(
                turn.assemble_context, "talk", 100, system="A long text that surely takes more than what is left. " * 9
            )
        call(turn.memorize, "what was written is stored")
        assert call(turn.commit).step == 1

    # -- goals

    def test_progress_is_stored_and_exported(self, memory: wmem.AgentMemory, call: Call) -> None:
        turn = memory.turn("s", goals=["ship", "rest"])
        progress = call(turn.report_progress, "ship", 0.25, "tests are green")
        assert (progress.goal, progress.delta, progress.note) == ("ship", 0.25, "tests are green")
        call(turn.report_progress, "rest", -1)
        done = call(turn.commit)
        assert [(each.goal, each.delta) for each in done.exports.goals] == [("ship", 0.25), ("rest", -1.0)]
        items = call(memory.scope("s").items.all)
        assert [each.content for each in items] == ["ship: +25% (tests are green)", "rest: -100%"]
        assert items[0].metadata == {"goal": "ship", "delta": 0.25}
        for bad in (("other", 0.5), ("ship", 2), ("ship", True), ("ship", "much"), ("ship", 0.1, 3)):
            with pytest.raises(InvalidInputError):
                call(memory.turn("s", goals=["ship"]).report_progress, *bad)

    def test_an_error_quotes_no_goal(self, memory: wmem.AgentMemory, call: Call) -> None:
        turn = memory.turn("s", goals=["ship", "write to ada@example.org"])
        with pytest.raises(wmem.InvalidInputError, match="known: 'ship', str of 24 characters"):
            call(turn.report_progress, "write to bob@example.org", 0.5)

    # -- the end

    def test_a_commit_tells_what_was_written_and_is_one_step_however_often(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        with call.enter(memory.turn("s")) as turn:
            call(turn.memorize, {"role": "user", "content": "hello"})
            fact = call(turn.memorize, {"content": "a fact", "type": "fact"}).item
            tool = call(turn.track_tool_invocation, "t", None, "r")
            done = call(turn.commit)
            assert call(turn.commit) is done
        assert (done.turn_id, done.step) == (turn.id, 1)
        assert done.stores == {"conversation": 1, "semantic": 1, "episodic": 1}
        assert (done.exports.semantic, done.exports.episodic, done.exports.goals) == ((fact,), (tool,), ())
        assert call(turn.commit) is done
        assert call(memory.scope("s").queue.advance_step) == 2

    def test_a_turn_that_was_committed_takes_nothing_more(self, memory: wmem.AgentMemory, call: Call) -> None:
        turn = memory.turn("s", goals=["g"])
        call(turn.commit)
        for verb, args in _verbs(turn):
            with pytest.raises(InvalidInputError, match="committed"):
                call(verb, *args)
        assert turn.budget_status().events == 0

    def test_a_block_that_raises_is_no_step_and_what_it_wrote_stays(self, memory: wmem.AgentMemory, call: Call) -> None:
        turn = memory.turn("s")
        with pytest.raises(CutError), call.enter(turn):
            _cut(call, turn.memorize, {"content": "kept", "type": "fact"})
        with pytest.raises(InvalidInputError, match="exception"):
            call(turn.commit)
        with pytest.raises(InvalidInputError, match="exception"):
            call(turn.memorize, "x")
        assert [each.content for each in call(memory.semantic.items.all)] == ["kept"]
        assert call(memory.scope("s").queue.advance_step) == 1

    def test_a_block_that_raises_after_its_commit_was_committed(self, memory: wmem.AgentMemory, call: Call) -> None:
        turn = memory.turn("s")
        with pytest.raises(CutError), call.enter(turn):
            _cut(call, turn.commit)
        assert call(turn.commit).step == 1

    def test_turns_within_and_beside_each_other_are_a_step_each(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        with call.enter(here.turn("s")) as outer:
            call(outer.memorize, {"content": "a", "type": "thought"})
            with call.enter(here.turn("s")) as inner, call.enter(there.turn("s")) as other:
                call(inner.memorize, {"content": "b", "type": "thought"})
                call(other.memorize, {"content": "c", "type": "thought"})
            call(outer.memorize, {"content": "d", "type": "thought"})
        items = call(here.scope("s").items.all)
        assert [each.turn_id for each in items] == [outer.id, inner.id, other.id, outer.id]
        assert sorted(call(each.commit).step for each in (outer, inner, other)) == [1, 2, 3]

    def test_turns_of_one_session_at_once_lose_nothing(self, open_memory: MemoryOpener, call: Call) -> None:
        memories = [open_memory(), open_memory.in_other_process()]
        turns = [memories[number % 2].turn("s") for number in range(8)]
        drafts = [{"content": turn.id, "type": "thought"} for turn in turns]
        call.run_concurrently([partial(turn.memorize, draft) for turn, draft in zip(turns, drafts, strict=True)])
        steps = [each.step for each in call.run_concurrently([turn.commit for turn in turns])]
        assert max(steps) == 8
        assert {each.content for each in call(memories[0].scope("s").items.all)} == {turn.id for turn in turns}
        assert call(memories[1].scope("s").queue.advance_step) == 9

    def test_one_id_is_one_step_whoever_commits_it(self, open_memory: MemoryOpener, call: Call) -> None:
        memories = [open_memory(), open_memory.in_other_process()]
        turns = [memory.turn("s", id="message-7") for memory in memories]
        assert {call(turn.commit).step for turn in turns} == {1}
        assert call(memories[0].scope("s").queue.advance_step, turn_id="message-7") == 1
        assert call(memories[1].turn("s").commit).step == 2

    def test_a_turn_of_a_closed_memory_says_so(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        turn = memory.turn("s", goals=["g"])
        call(turn.memorize, "x")
        call(memory.close)
        for verb, args in (*_verbs(turn), (turn.commit, ())):
            with pytest.raises(InvalidInputError, match="closed"):
                call(verb, *args)
        with pytest.raises(InvalidInputError, match="closed"):
            memory.turn("s")
        with pytest.raises(CutError), call.enter(turn):
            raise CutError

    def test_a_turn_of_a_disposed_session_says_so_and_long_term_memory_stays(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        turn = memory.turn("s")
        call(turn.memorize, {"content": "hm", "type": "thought"})
        call(turn.memorize, {"content": "a fact", "type": "fact"})
        call(memory.scope("s").dispose)
        verbs: list[tuple[Any, tuple[Any, ...]]] = [
            (turn.memorize, ({"content": "hm", "type": "thought"},)),
            (turn.assemble_context, ("y", 100)),
            (turn.commit, ()),
        ]
        for verb, args in verbs:
            with pytest.raises(DisposedError):
                call(verb, *args)
        assert [each.content for each in call(memory.semantic.items.all)] == ["a fact"]
        assert call(memory.turn("s").commit).step == 1

    @pytest.mark.parametrize(
        "bad",
        [
            {"goals": "ship"},
            {"goals": [""]},
            {"budget": 3},
            {"task_id": 3},
            {"id": " "},
            {"id": 3},
            {"id": "x" * 9_999},
        ],
    )
    def test_a_turn_that_makes_no_sense_is_refused(self, memory: wmem.AgentMemory, bad: Mapping[str, Any]) -> None:
        with pytest.raises(InvalidInputError):
            memory.turn("s", **bad)
        for name in ("", "~trace"):
            with pytest.raises(InvalidInputError):
                memory.turn(name)

    def test_a_turn_that_ends_has_a_name_as_any_other(self, memory: wmem.AgentMemory, call: Call) -> None:
        session, long = memory.scope("s"), "x" * 9_999
        context = call(session.pack, budget=100)
        for act in (partial(session.queue.advance_step, turn_id=long), partial(memory.record, context, turn=long)):
            with pytest.raises(InvalidInputError):
                call(act)
        assert not call(session.exists)
        bad: Any
        for bad in (3, b"x", [3], object()):
            with pytest.raises(InvalidInputError):
                call(memory.trace, "t", session=bad)

    # -- the same names on the memory

    def test_the_verbs_of_a_memory_act_on_a_turn_of_its_own_scope(self, memory: wmem.AgentMemory, call: Call) -> None:
        item = call(memory.memorize, {"content": "the cat sleeps", "type": "thought"}).item
        assert sources(call(memory.assemble_context, "the cat", 500)) == {"the cat sleeps": "working"}
        tool = call(memory.track_tool_invocation, "t", None, "r")
        assert memory.budget_status().events == 3
        done = call(memory.commit)
        assert {item.turn_id, tool.turn_id} == {done.turn_id}
        assert call(memory.commit) is done  # nothing happened since
        assert [each.id for each in call(memory.working.items.all)] == [item.id]
        call(memory.memorize, "more")
        again = call(memory.commit)
        assert (done.step, again.step) == (1, 2)
        assert again.turn_id != done.turn_id

    def test_a_memory_that_is_closed_in_a_turn_of_its_own_still_tells_what_happened(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        item = call(memory.memorize, {"content": "the cat sleeps", "type": "thought"}).item
        call(memory.close)
        again = open_memory()
        assert call(again.trace, item.turn_id or "").events == (
            MemorizeTraced(item.id, "working"),
            RouteTraced(item.id, "working", "reasoning"),
        )
        assert call(again.commit).step == 1

    def test_a_memory_of_fewer_features_has_turns_of_its_sessions_alone(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        turn = open_memory(features=wmem.Features.core()).turn("s", goals=["sleep"])
        for item in ("saw the cat", {"content": "the cat sleeps", "type": "fact"}):
            assert list(call(turn.memorize, item).stored) == ["working"]
        assert call(turn.track_tool_invocation, "look", None, "the cat sleeps on") is not None
        context = call(turn.assemble_context, "the cat", 500)
        assert set(sources(context).values()) == {"working"}
        assert len(context.items) == 3
        assert call(turn.commit).stores == {"working": 3}

    # -- memory types of others

    def test_a_memory_type_of_ones_own_is_used_like_any_other(self, open_memory: MemoryOpener, call: Call) -> None:
        from tests.external_types import AsyncSqliteNotes, SqliteNotes

        notes: Any = SqliteNotes() if call.mode == "sync" else AsyncSqliteNotes()
        turn = open_memory(memory_types=[notes]).turn("s")
        reply = call(turn.memorize, {"content": "The cat sleeps in the attic", "type": "note"})
        assert {"notes"} <= set(reply.stored)
        context = call(turn.assemble_context, "Where does the cat sleep?", 500)
        assert context.sources["notes"] > 0
        assert "notes" in sources(context).values()
        other = call(turn.assemble_context, "Where does the cat sleep?", 500, Filters(include=["semantic"]))
        assert "notes" not in other.sources

    @pytest.mark.parametrize("name", ["my/notes", "50%", "~external"])
    def test_a_memory_type_may_have_any_name_that_prints(
        self, open_memory: MemoryOpener, call: Call, name: str
    ) -> None:
        from tests.external_types import AsyncSqliteNotes, SqliteNotes

        notes: Any = SqliteNotes() if call.mode == "sync" else AsyncSqliteNotes()
        notes.name = name
        turn = open_memory(memory_types=[notes]).turn("s")
        call(turn.memorize, {"content": "The cat sleeps in the attic", "type": "note"}, store=name)
        for filters, pools in ((None, None), (Filters(include=[name]), {name: 1})):
            context = call(turn.assemble_context, "Where does the cat sleep?", 500, filters, pools=pools)
            assert sources(context) == {"The cat sleeps in the attic": name}
            assert context.sources[name] > 0
        assert sources(call(turn.assemble_context, "Where does the cat sleep?", 500, pools={name: 0})) == {}

    @pytest.mark.parametrize("name", ["auto", "working", "", "a\nb", "\ud800", "x" * 9_999, None])
    def test_a_memory_type_without_a_usable_name_is_refused(
        self, open_memory: MemoryOpener, call: Call, name: Any
    ) -> None:
        from tests.external_types import AsyncSqliteNotes, SqliteNotes

        notes: Any = SqliteNotes() if call.mode == "sync" else AsyncSqliteNotes()
        notes.name = name
        with pytest.raises(InvalidInputError):
            open_memory(memory_types=[notes])

    def test_a_memory_type_that_fails_is_left_out_with_a_warning(self, open_memory: MemoryOpener, call: Call) -> None:
        from tests.external_types import AsyncSqliteNotes, SqliteNotes

        class Broken(SqliteNotes):
            def remember(self, *_: Any, **__: Any) -> Any:
                raise OSError("secret")

        class AsyncBroken(AsyncSqliteNotes):
            async def remember(self, *_: Any, **__: Any) -> Any:
                raise OSError("secret")

        broken: Any = Broken() if call.mode == "sync" else AsyncBroken()
        turn = open_memory(memory_types=[broken]).turn("s")
        call(turn.memorize, {"content": "The cat sleeps", "type": "thought"})
        context = call(turn.assemble_context, "the cat", 500)
        assert sources(context) == {"The cat sleeps": "working"}
        assert context.context.warnings == ("the memory type 'notes' failed (OSError), so nothing of it is here",)
