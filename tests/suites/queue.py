"""Suite of the bounded queue: memorize, remember, forget, summarize, capacity."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import wmem
from tests.suites.eviction import contents, make_text
from wmem import InvalidInputError, NotFoundError, Policy, Scope
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["QueueSuite"]

HOUR = 3_600
INSTRUCTIONS = ("oldest", "least important", "position:N", "before:step_N")


class QueueSuite(FacetSuite):
    """The verbs of a queue."""

    @pytest.fixture
    def queue(self, memory: wmem.AgentMemory) -> Scope:
        """A scope whose queue has the limits of the document."""
        return memory.scope("queue", policy=Policy.queue())

    @pytest.fixture
    def small_queue(self, memory: wmem.AgentMemory) -> Scope:
        """A scope whose queue holds three items."""
        return memory.scope("small", policy=Policy.queue(max_items=3))

    # -- memorize

    def test_an_item_is_memorized_at_the_end_and_the_reply_says_where(self, queue: Scope, call: Call) -> None:
        first = call(queue.queue.memorize, "the deadline is Friday", tags=["plan"], importance=0.6)
        second = call(queue.queue.memorize, "the dog is called Biscuit", metadata={"from": "chat"})
        assert (first.position, second.position) == (0, 1)
        assert (first.items, second.items) == (1, 2)
        assert first.tokens == first.item.tokens
        assert second.tokens == (first.item.tokens or 0) + (second.item.tokens or 0)
        assert (first.evicted, second.evicted) == ((), ())
        assert (first.item.importance, first.item.tags, first.item.step_index) == (0.6, ("plan",), 0)
        assert second.item.metadata == {"from": "chat"}
        assert contents(call(queue.items.all)) == ["the deadline is Friday", "the dog is called Biscuit"]

    def test_an_item_of_the_queue_does_not_expire_by_default(self, queue: Scope, call: Call, clock: Clock) -> None:
        item = call(queue.queue.memorize, "x").item
        clock.advance(10_000 * HOUR)
        assert call(queue.items.exists, item.id) is True

    # -- steps

    def test_steps_are_counted_once_each_whoever_advances_them(self, open_memory: MemoryOpener, call: Call) -> None:
        scopes = [open_memory().scope("s"), open_memory.in_other_process().scope("s")]

        def advancing(number: int) -> Callable[[], int]:
            return scopes[number % 2].queue.advance_step

        assert sorted(call.run_concurrently([advancing(number) for number in range(8)])) == list(range(1, 9))
        assert call(scopes[0].queue.advance_step, 3) == 11

    @pytest.mark.parametrize("steps", [0, -1, 1.5, True, "1", None])
    def test_a_step_goes_forward(self, session: Scope, call: Call, steps: Any) -> None:
        with pytest.raises(InvalidInputError, match="steps"):
            call(session.queue.advance_step, steps)

    def test_a_turn_is_one_step_however_often_and_by_whomever_it_is_ended(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        scopes = [open_memory().scope("s"), open_memory.in_other_process().scope("s")]

        def ending(number: int) -> Callable[[], int]:
            return partial(scopes[number % 2].queue.advance_step, turn_id=f"turn {number // 4}")

        call.run_concurrently([ending(number) for number in range(12)])
        assert call(scopes[0].queue.advance_step, turn_id="turn 1") == 3
        assert call(scopes[1].queue.advance_step, turn_id="another") == 4
        assert call(open_memory.in_other_process().scope("s").queue.advance_step, turn_id="another") == 4

    @pytest.mark.parametrize("bad", [{"turn_id": ""}, {"turn_id": 3}, {"turn_id": "a", "steps": 2}], ids=repr)
    def test_what_names_no_turn_or_more_than_one_ends_none(
        self, session: Scope, call: Call, bad: dict[str, Any]
    ) -> None:
        with pytest.raises(InvalidInputError):
            call(session.queue.advance_step, **bad)
        assert call(session.queue.advance_step) == 1

    def test_a_turn_of_a_disposed_scope_does_not_end_in_the_next_one_of_its_name(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        old, new = memory.scope("s"), memory.scope("s")
        assert call(old.queue.advance_step, turn_id="t") == 1
        call(memory.scope("s").dispose)
        with pytest.raises(wmem.DisposedError):
            call(old.queue.advance_step, turn_id="t")
        call(new.items.add, "a new life")
        assert call(new.queue.advance_step, turn_id="t") == 1

    # -- remember

    def test_what_shares_a_word_with_the_prompt_is_remembered(self, queue: Scope, call: Call) -> None:
        for text in ("The dog is called BISCUIT", "The deadline is Friday", "Friday is fish day"):
            call(queue.queue.memorize, text, importance=0.5)
        assert contents(call(queue.queue.remember, "When is the deadline? Or biscuit?")) == [
            "The deadline is Friday",
            "The dog is called BISCUIT",
        ]
        assert contents(call(queue.queue.remember, "friday")) == ["Friday is fish day", "The deadline is Friday"]
        assert call(queue.queue.remember, "invoice") == []
        assert len(call(queue.queue.remember, "is the")) == 3

    @pytest.mark.parametrize("prompt", [None, "", " \n"])
    def test_without_a_prompt_all_are_remembered(self, queue: Scope, call: Call, prompt: str | None) -> None:
        for number in range(3):
            call(queue.queue.memorize, f"item {number}", importance=0.5)
        assert contents(call(queue.queue.remember, prompt)) == ["item 2", "item 1", "item 0"]
        assert contents(call(queue.queue.remember, prompt, limit=1)) == ["item 2"]
        assert call(queue.queue.remember, prompt, limit=0) == []

    def test_the_important_and_the_new_come_first(self, queue: Scope, call: Call) -> None:
        for name, importance in (("old, important", 1.0), ("old", 0.2), ("new", 0.2), ("new, important", 1.0)):
            call(queue.queue.memorize, name, importance=importance)
        assert contents(call(queue.queue.remember)) == ["new, important", "old, important", "new", "old"]
        assert contents(call(queue.queue.remember, min_importance=0.5)) == ["new, important", "old, important"]

    def test_filters_hold_together_and_any_tag_is_enough(self, queue: Scope, call: Call) -> None:
        call(queue.queue.memorize, "a", tags=["x"], agent_id="ada", metadata={"n": 1, "m": [2]}, importance=0.5)
        call(queue.queue.memorize, "b", tags=["y"], agent_id="bob", metadata={"n": True}, importance=0.5)
        call(queue.queue.memorize, "c", importance=0.5)
        assert contents(call(queue.queue.remember, tags=["x", "y"])) == ["b", "a"]
        assert contents(call(queue.queue.remember, agent_id="ada")) == ["a"]
        assert contents(call(queue.queue.remember, metadata={"n": 1})) == ["a"]
        assert contents(call(queue.queue.remember, metadata={"m": [2], "n": 1})) == ["a"]
        assert call(queue.queue.remember, tags=["x"], agent_id="bob") == []
        assert call(queue.queue.remember, tags=["X"]) == []

    @pytest.mark.parametrize(
        "bad",
        [{"prompt": 3}, {"limit": -1}, {"limit": "all"}, {"tags": "x"}, {"metadata": ["x"]}, {"min_importance": 2}],
        ids=repr,
    )
    def test_a_question_that_makes_no_sense_is_refused(self, queue: Scope, call: Call, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInputError):
            call(queue.queue.remember, **bad)

    # -- forget

    def test_the_oldest_is_forgotten_and_the_reply_says_what_is_left(self, queue: Scope, call: Call) -> None:
        items = [call(queue.queue.memorize, make_text(10, number), importance=0.5).item for number in range(3)]
        told = call(queue.queue.forget, "oldest")
        assert told == ((items[0].id,), 2, 20)
        assert contents(call(queue.items.all)) == [make_text(10, 1), make_text(10, 2)]

    @pytest.mark.parametrize("forget_mode", ["soft", "hard"])
    def test_each_instruction_forgets_what_it_says(self, queue: Scope, call: Call, forget_mode: Any) -> None:
        ids = []
        for number, importance in enumerate((0.5, 0.9, 0.2, 0.5, 0.4, 0.3)):
            ids.append(call(queue.queue.memorize, f"item {number}", importance=importance).item.id)
            call(queue.queue.advance_step)
        assert call(queue.queue.forget, "least important", forget_mode).ids == (ids[2],)
        assert call(queue.queue.forget, "position:1", forget_mode).ids == (ids[1],)
        assert call(queue.queue.forget, "Before: step 1", forget_mode).ids == (ids[0],)
        assert call(queue.queue.forget, "oldest", forget_mode).ids == (ids[3],)
        told = call(queue.queue.forget, "before:step_6", forget_mode)
        assert (told.ids, told.items, told.tokens) == ((ids[4], ids[5]), 0, 0)
        assert call(queue.items.all) == []
        assert call(queue.queue.memorize, "again").position == 0

    @pytest.mark.parametrize("instruction", ["oldest", "least important", "position:0", "before:step_9"])
    def test_nothing_there_to_forget_is_no_error(self, queue: Scope, call: Call, instruction: str) -> None:
        assert call(queue.queue.forget, instruction) == ((), 0, 0)
        call(queue.queue.memorize, "x")
        assert call(queue.queue.forget, "position:1").ids == ()
        assert call(queue.queue.forget, "before:step_0").ids == ()

    @pytest.mark.parametrize("bad", ["", "newest", "position:-1", "before:5", None, 3])
    def test_an_instruction_that_is_none_is_refused_with_those_that_are(
        self, queue: Scope, call: Call, bad: Any
    ) -> None:
        call(queue.queue.memorize, "x")
        with pytest.raises(InvalidInputError) as caught:
            call(queue.queue.forget, bad)
        assert all(instruction in str(caught.value) for instruction in INSTRUCTIONS)
        bad_mode: Any = "gently"
        with pytest.raises(InvalidInputError, match="mode"):
            call(queue.queue.forget, "oldest", bad_mode)
        assert call(queue.items.count) == 1

    def test_what_is_softly_forgotten_comes_back_until_its_room_is_needed(self, small_queue: Scope, call: Call) -> None:
        items = [call(small_queue.queue.memorize, f"item {number}", importance=0.9).item for number in range(3)]
        call(small_queue.queue.forget, "oldest")
        assert call(small_queue.items.get, items[0].id) is None
        assert call(small_queue.queue.capacity).free_items == 1
        assert call(small_queue.items.undelete, items[0].id).content == "item 0"
        call(small_queue.queue.forget, "position:1")
        told = call(small_queue.queue.memorize, "new", importance=0.1)
        assert contents(told.evicted) == ["item 1"]
        assert (told.items, told.position) == (3, 2)
        assert call(small_queue.queue.decisions)[0].rule == "deleted"
        with pytest.raises(NotFoundError):
            call(small_queue.items.undelete, items[1].id)

    def test_what_is_forgotten_for_good_does_not_come_back(self, small_queue: Scope, call: Call) -> None:
        item = call(small_queue.queue.memorize, "x").item
        assert call(small_queue.queue.forget, "oldest", "hard").ids == (item.id,)
        with pytest.raises(NotFoundError):
            call(small_queue.items.undelete, item.id)

    # -- summarize

    def test_a_summary_keeps_to_its_limit_and_quotes_the_important(self, queue: Scope, call: Call) -> None:
        call(queue.queue.memorize, "Some say it may rain. Others do not.", importance=0.1)
        deadline = call(queue.queue.memorize, "The deadline is Friday.", importance=0.9).item
        whole = call(queue.queue.summarize, token_limit=1_000)
        assert whole.text == "Some say it may rain.\nOthers do not.\nThe deadline is Friday."
        assert len(whole.sources) == 2
        short = call(queue.queue.summarize, "all", token_limit=deadline.tokens or 0)
        assert short == ("The deadline is Friday.", deadline.tokens, (deadline.id,))
        assert call(queue.queue.summarize, token_limit=1) == ("", 0, ())
        assert call(queue.queue.summarize, token_limit=1_000) == whole

    def test_a_summary_of_what_is_recent_leaves_out_earlier_steps(self, queue: Scope, call: Call) -> None:
        call(queue.queue.memorize, "Long ago.")
        call(queue.queue.advance_step, 5)
        late = call(queue.queue.memorize, "Just now.").item
        assert call(queue.queue.summarize, "recent", token_limit=100).sources == (late.id,)
        assert call(queue.queue.summarize, "all", token_limit=100).text == "Long ago.\nJust now."

    @pytest.mark.parametrize(
        "bad", [{"token_limit": 0}, {"token_limit": 1.5}, {"span": "most", "token_limit": 5}], ids=repr
    )
    def test_a_summary_of_no_size_is_refused(self, queue: Scope, call: Call, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInputError):
            call(queue.queue.summarize, **bad)

    # -- capacity

    def test_capacity_says_what_is_there_and_what_is_free(self, queue: Scope, session: Scope, call: Call) -> None:
        assert call(queue.queue.capacity) == (0, 0, 64, 4_000, 64, 4_000, Policy.queue())
        call(queue.queue.memorize, make_text(10, "a"))
        assert call(queue.queue.capacity)[:6] == (1, 10, 64, 4_000, 63, 3_990)
        call(session.queue.memorize, make_text(10, "a"))
        assert call(session.queue.capacity) == (1, 10, None, None, None, None, Policy.session())
        assert call(queue.view).queue.capacity().items == 1
