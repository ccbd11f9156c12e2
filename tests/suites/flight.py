"""Suite of the exchange in flight: what a model waits for is sent, whatever the budget, and nothing of it alone."""

from collections.abc import Sequence
from typing import Any

import pytest

import wmem
from wmem import BudgetError, Message, Part, Scope, ToolCall
from wmem.testing.suite import Call, FacetSuite

__all__ = ["FlightSuite"]

ASKED = {"role": "user", "content": "What is new?"}


def call_tool(id: str, text: str | None = None, name: str = "search", **fields: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    called = [{"id": id, "type": "function", "function": function}]
    return {"role": "assistant", "content": text, "tool_calls": called, **fields}


def returned(id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text}


def words(count: int) -> str:
    return " ".join(f"w{number % 10}" for number in range(count // 2))


def parallel_calls(results: Sequence[str]) -> list[dict[str, Any]]:
    ids = [f"c{number}" for number in range(len(results))]
    asking = {**call_tool("", "I look."), "tool_calls": [call_tool(id)["tool_calls"][0] for id in ids]}
    return [ASKED, asking, *map(returned, ids, results)]


def result_sizes(context: wmem.Context) -> list[int]:
    return [len(message.text) for message in context.messages if message.role == "tool"]


class FlightSuite(FacetSuite):
    """Results share the room, reasoning goes first, and words outlive their unanswered call."""

    @pytest.mark.parametrize("parallel", [False, True])
    def test_b143_of_ten_large_results_the_newest_is_whole_and_the_oldest_is_cut_most(
        self, session: Scope, call: Call, *, parallel: bool
    ) -> None:
        ids = [f"c{number}" for number in range(10)]
        rounds: list[dict[str, Any]] = [each for id in ids for each in (call_tool(id), returned(id, words(3_000)))]
        if parallel:
            calls = [each["tool_calls"][0] for each in rounds[::2]]
            rounds = [{"role": "assistant", "content": None, "tool_calls": calls}, *rounds[1::2]]
        call(session.messages.append, [ASKED, *rounds])
        context = call(session.pack, budget=12_000)
        sizes = result_sizes(context)
        assert len(sizes) == 10
        assert sizes[-1] == len(words(3_000))
        assert sizes == sorted(sizes)
        assert sizes[0] < sizes[-2] / 5
        assert 11_500 < context.tokens <= 12_000

    def test_b143_a_mark_is_left_of_results_that_hardly_fit(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        call(session.messages.append, parallel_calls([words(1_000)] * 10))
        marks, newest = memory.scope("marks"), memory.scope("newest")
        call(marks.messages.append, parallel_calls(["[…]"] * 10))
        call(newest.messages.append, parallel_calls([*["[…]"] * 9, words(1_000)]))
        least = call(marks.pack, budget=9_000).tokens
        for budget in (least, least + 30, least + 200, 2 * least):
            context = call(session.pack, budget=budget)
            sizes = result_sizes(context)
            assert len(sizes) == 10
            assert sizes == sorted(sizes)
            assert sizes[0] >= len("[…]")
            assert context.tokens <= budget
        sizes = result_sizes(call(session.pack, budget=call(newest.pack, budget=9_000).tokens))
        assert sizes == [*[len("[…]")] * 9, len(words(1_000))], "the newest is whole as long as it can be"
        with pytest.raises(BudgetError, match=r"at least \d+ tokens.*assistant messages \d+, tool results \d+"):
            call(session.pack, budget=least - 1)

    def test_b143_rounds_that_do_not_fit_even_cut_are_left_out_oldest_first(self, session: Scope, call: Call) -> None:
        rounds = [each for n in range(30) for each in (call_tool(f"c{n}"), returned(f"c{n}", words(3_000)))]
        call(session.messages.append, [ASKED, *rounds])
        context = call(session.pack, budget=900)
        sent = [message.tool_call_id for message in context.messages if message.role == "tool"]
        assert sent == [f"c{n}" for n in range(30 - len(sent), 30)]
        assert 0 < len(sent) < 30
        assert any(f"the oldest {30 - len(sent)} rounds" in warning for warning in context.warnings)
        assert context.tokens <= 900

    def test_b143_traces_of_old_rounds_do_not_take_the_room_of_the_newest(self, session: Scope, call: Call) -> None:
        rounds = [each for n in range(12) for each in (call_tool(f"c{n}"), returned(f"c{n}", words(500)))]
        call(session.messages.append, [ASKED, *rounds])
        context = call(session.pack, budget=900)
        sizes = result_sizes(context)
        assert len(sizes) > 1
        assert sizes[-1] == len(words(500))
        assert context.tokens <= 900

    def test_b143_the_newest_round_is_never_left_out(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [ASKED, call_tool("c1", words(10)), returned("c1", words(3_000))])
        for budget in range(20, 120, 5):
            try:
                context = call(session.pack, budget=budget)
            except BudgetError:
                continue
            assert [message.role for message in context.messages] == ["user", "assistant", "tool"]
            assert context.tokens <= budget

    @pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
    def test_b130_unsigned_reasoning_goes_before_any_call_or_result(self, session: Scope, call: Call, key: str) -> None:
        thought = {key: words(8_000)}
        call(session.messages.append, [ASKED, call_tool("c1", **thought), returned("c1", words(500))])
        context = call(session.pack, budget=2_000)
        assert [message.role for message in context.messages] == ["user", "assistant", "tool"]
        assert context.messages[2].text == words(500)
        assert key not in context.to_openai()[1]
        assert context.tokens <= 2_000
        assert [unit.ids for unit in context.truncated] == [tuple(each.id for each in context.messages[1:])]
        assert call(session.pack, budget=20_000).to_openai()[1][key] == words(8_000)

    def test_b130_the_oldest_reasoning_goes_first(self, session: Scope, call: Call) -> None:
        rounds = [
            each
            for n in range(4)
            for each in (call_tool(f"c{n}", reasoning_content=words(1_000)), returned(f"c{n}", "ok"))
        ]
        call(session.messages.append, [ASKED, *rounds])
        context = call(session.pack, budget=2_500)
        kept = ["reasoning_content" in message for message in context.to_openai() if message["role"] == "assistant"]
        assert kept == [False, False, True, True]
        assert [message.text for message in context.messages if message.role == "tool"] == ["ok"] * 4

    def test_b130_signed_reasoning_in_flight_is_sent_whole_or_its_round_is_not(
        self, session: Scope, call: Call
    ) -> None:
        def thinking(n: int) -> Message:
            thought = Part(kind="reasoning", text=words(1_000), signature="c2ln" * 20)
            return Message(role="assistant", parts=(thought,), tool_calls=(ToolCall(id=f"c{n}", name="search"),))

        said = [Message.of("user", "q")]
        for n in range(4):
            said += [thinking(n), Message.of("tool", "ok", tool_call_id=f"c{n}")]
        call(session.messages.append, said)
        context = call(session.pack, budget=2_500, profile="anthropic")
        sent = [message for message in context.messages if message.role == "assistant"]
        assert [message.tool_calls[0].id for message in sent] == ["c2", "c3"]
        assert all(message.parts[0].text == words(1_000) for message in sent)
        with pytest.raises(BudgetError):
            call(session.pack, budget=500, profile="anthropic")

    @pytest.mark.parametrize("stable", [False, True])
    def test_b144_words_outlive_their_unanswered_call(self, session: Scope, call: Call, *, stable: bool) -> None:
        done = "All done: port 8080 is now 9090."
        call(session.messages.append, [ASKED, call_tool("c1", done, "finish"), {"role": "user", "content": "thanks"}])
        context = call(session.pack, budget=400, stable=stable)
        assert [message.text for message in context.messages] == ["What is new?", done, "thanks"]
        assert not context.messages[1].tool_calls
        [unit] = [each for each in context.included if each.left_out]
        assert unit.left_out == ("finish",)
        assert any("finish" in warning for warning in context.warnings)
        assert "without calls of finish" in str(context.explain())
        answered = call(session.pack, budget=400, orphans="synthesize")
        assert [message.role for message in answered.messages] == ["user", "assistant", "tool", "user"]

    def test_b144_an_answered_call_stays_beside_an_unanswered_one(self, session: Scope, call: Call) -> None:
        both = call_tool("c1")
        both["tool_calls"] += call_tool("c2", name="book")["tool_calls"]
        call(session.messages.append, [ASKED, both, returned("c1", "found"), {"role": "user", "content": "and?"}])
        context = call(session.pack, budget=400)
        assert [message.role for message in context.messages] == ["user", "assistant", "tool", "user"]
        assert [each.id for each in context.messages[1].tool_calls] == ["c1"]

    def test_b144_such_words_are_recalled(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [ASKED, call_tool("c1", "The port of the relay is now 9090.", "finish")])
        fill = [{"role": role, "content": f"{words(40)} {n}"} for n in range(60) for role in ("user", "assistant")]
        call(session.messages.append, [*fill, {"role": "user", "content": "Which port has the relay?"}])
        assert "9090" in call(session.pack, "Which port has the relay?", budget=600).note

    def test_b144_such_words_are_summarised(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [ASKED, call_tool("c1", "The port of the relay is now 9090.", "finish")])
        fill = [{"role": role, "content": f"{words(300)} {n}"} for n in range(2) for role in ("user", "assistant")]
        call(session.messages.append, [*fill, {"role": "user", "content": "Go on."}])
        assert "9090" in call(session.pack, budget=400, summary=150, recent=0).note

    @pytest.mark.parametrize("orphans", ["drop", "synthesize"])
    def test_b08_a_session_that_ends_in_pending_calls_stays_usable(
        self, session: Scope, call: Call, orphans: Any
    ) -> None:
        call(session.messages.append, [ASKED, call_tool("c1", "Let me look."), returned("c1", "a"), call_tool("c2")])
        for question in ("Are you there?", "Hello?"):
            call(session.messages.append, {"role": "user", "content": question})
            for budget in (60, 4_000):
                prompt = call(session.pack, budget=budget, orphans=orphans).to_openai()
                calls = [each["id"] for one in prompt for each in one.get("tool_calls", ())]
                assert calls == [each["tool_call_id"] for each in prompt if each["role"] == "tool"]
                assert prompt[-1]["content"] == question
        call(session.messages.append, returned("c2", "late"))
        prompt = call(session.pack, budget=4_000).to_openai()
        assert "late" in [each["content"] for each in prompt if each["role"] == "tool"]

    @pytest.mark.parametrize("budget", [5_000, 150])
    def test_what_others_store_of_the_turn_in_flight_is_in_no_prompt_of_who_answers_it(
        self, session: Scope, call: Call, budget: int
    ) -> None:
        earlier = [{**ASKED, "id": "p", "turn_id": "p"}, {"role": "assistant", "content": "Rain.", "turn_id": "p"}]
        asked = {**ASKED, "id": "q", "turn_id": "q"}
        own = [{**call_tool("c1", turn_id="q"), "id": "c"}, {**returned("c1", "Snow."), "id": "r", "turn_id": "q"}]
        others = [call_tool("c2", turn_id="q"), {**returned("c2", "New hail."), "turn_id": "q"}]
        later = {"role": "assistant", "content": "Of a third.", "turn_id": "z"}
        call(session.messages.append, [*earlier, asked, others[0], own[0], others[1], own[1], later])
        context = call(session.pack, "What is new? Hail?", budget=budget, profile="openai", messages=[asked, *own])
        said = [(message.role, message.text) for message in context.messages]
        assert said[-3:] == [("user", "What is new?"), ("assistant", ""), ("tool", "Snow.")]
        assert "hail" not in str(context.to_openai()[:-1]).lower()
        if budget == 5_000:
            assert said[:-3] == [("user", "What is new?"), ("assistant", "Rain."), ("assistant", "Of a third.")]
            assert context.dropped.count == 0
        whole = call(session.pack, budget=5_000, profile="openai")
        assert "New hail." in [message.text for message in whole.messages]
