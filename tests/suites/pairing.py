"""Suite of tool calls without usable ids: each result finds its call, whenever and by whomever it is stored."""

from typing import Any

import pytest

from wmem import Message, Scope
from wmem.testing.suite import Call, FacetSuite, MemoryOpener

__all__ = ["PairingSuite"]

ASKED = {"role": "user", "content": "What is new?"}


def called(*calls: tuple[str, str | None], **fields: Any) -> dict[str, Any]:
    made = [
        {"type": "function", "function": {"name": name, "arguments": "{}"}, **({} if id == "absent" else {"id": id})}
        for name, id in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": made, **fields}


def returned(text: str, answers: str | None = None, name: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": answers, "name": name, **fields}


def answers(scope: Scope, call: Call) -> list[tuple[str, str]]:
    """The tool and the answer of each call, in the order of the calls, as a prompt has them."""
    prompt = call(scope.pack, budget=2_000).to_openai()
    calls = {each["id"]: each["function"]["name"] for one in prompt for each in one.get("tool_calls", ())}
    results = {each["tool_call_id"]: each["content"] for each in prompt if each["role"] == "tool"}
    assert len(calls) == sum(len(each.get("tool_calls", ())) for each in prompt), "two calls have one id"
    assert calls.keys() == results.keys()
    assert all(id.strip() for id in calls)
    return [(name, results[id]) for id, name in calls.items()]


class PairingSuite(FacetSuite):
    """B131: ids that are absent, blank or equal never cost a call its result."""

    @pytest.mark.parametrize("id", ["absent", None, "", " "])
    def test_b131_results_without_ids_find_their_calls_by_name_and_order(
        self, session: Scope, call: Call, id: str | None
    ) -> None:
        call(session.messages.append, [ASKED, called(("search", id), ("search", id), ("fetch", id))])
        given = None if id == "absent" else id
        for name, text in (("fetch", "c"), ("search", "a"), ("search", "b")):
            call(session.messages.append, returned(text, given, name))
        assert answers(session, call) == [("search", "a"), ("search", "b"), ("fetch", "c")]

    def test_b131_equal_ids_are_told_apart(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [ASKED, called(("search", "x"), ("fetch", "x"), ("search", "x"))])
        call(session.messages.append, [returned("a", "x"), returned("b", "x")])
        call(session.messages.append, returned("c", "x"))
        assert answers(session, call) == [("search", "a"), ("fetch", "b"), ("search", "c")]

    def test_b131_a_result_under_an_id_that_no_call_has_answers_a_call_without_id(
        self, session: Scope, call: Call
    ) -> None:
        call(session.messages.append, [ASKED, called(("search", ""), ("fetch", ""))])
        call(session.messages.append, [returned("b", "fetch"), returned("a", "7f1e")])
        assert answers(session, call) == [("search", "a"), ("fetch", "b")]

    @pytest.mark.parametrize("ids", [("7f1e",), ("7f1e", "7f1f"), ("7f1e", "c2"), ("c2", "7f1e"), ("7f1e", "c1")])
    def test_b131_results_under_ids_that_no_call_has_answer_the_calls_that_wait(
        self, open_memory: MemoryOpener, call: Call, ids: tuple[str, ...]
    ) -> None:
        here, there = (open_memory().scope("s") for _ in range(2))
        calls = [("search", "c1"), ("search", "c2")][: len(ids)]
        call(here.messages.append, [ASKED, called(*calls)])
        texts = {"c1": "a", "c2": "b", "7f1e": "b" if "c1" in ids else "a", "7f1f": "b"}
        for scope, id in zip((here, there), ids, strict=False):
            call(scope.messages.append, returned(texts[id], id))
        assert answers(here, call) == answers(there, call) == [("search", "a"), ("search", "b")][: len(ids)]
        before = call(here.messages.all)
        call(
            there.messages.append,
            [returned(each.text, id, id=each.id) for each, id in zip(before[2:], ids, strict=True)],
        )
        assert call(here.messages.all) == before

    def test_b131_a_late_result_answers_no_call_of_another_turn_or_tool(self, session: Scope, call: Call) -> None:
        asked = {**ASKED, "turn_id": "t1"}
        call(session.messages.append, [asked, called(("search", "c1"), turn_id="t1")])
        call(session.messages.append, returned("late", "7f1e", turn_id="t2"))
        call(session.messages.append, returned("strange", "7f1f", "fetch", turn_id="t1"))
        assert [each.tool_call_id for each in call(session.messages.all)[2:]] == ["7f1e", "7f1f"]
        call(session.messages.append, returned("a", "c1", turn_id="t1"))
        assert answers(session, call) == [("search", "a")]

    def test_b131_a_result_without_id_answers_a_call_that_has_one(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [ASKED, called(("search", "c1")), returned("a")])
        assert answers(session, call) == [("search", "a")]

    def test_b131_the_legacy_form_is_paired(self, session: Scope, call: Call) -> None:
        call(session.messages.append, ASKED)
        for round in "ab":
            legacy = {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": round}}
            said: list[dict[str, Any]] = [legacy, {"role": "function", "name": "search", "content": round}]
            call(session.messages.append, said)
        call(session.messages.append, [called(("fetch", "")), {"role": "function", "name": "fetch", "content": "c"}])
        prompt = call(session.pack, budget=2_000).to_openai()
        assert [each["content"] for each in prompt if each["role"] == "tool"] == ["a", "b", "c"]
        assert all(prompt[at]["tool_calls"][0]["id"] == prompt[at + 1]["tool_call_id"] for at in (1, 3, 5))

    def test_b131_a_message_that_is_stored_again_keeps_its_call(self, session: Scope, call: Call) -> None:
        calling = called(("search", ""), ("search", ""), id="calls")
        first, second = returned("a", "", id="first"), returned("b", "", id="second")
        call(session.messages.append, [ASKED, calling])
        call(session.messages.append, first)
        call(session.messages.append, second)
        before = call(session.messages.all)
        batches: list[list[dict[str, Any]]] = [[second], [first], [second, first], [calling, second, first]]
        for again in batches:
            call(session.messages.append, again)
            assert call(session.messages.all) == before
        edited = call(session.messages.append, returned("b, corrected", "", id="second"))
        assert edited.tool_call_id == before[-1].tool_call_id

    def test_b131_an_append_says_which_call_a_result_answers(self, session: Scope, call: Call) -> None:
        calling = call(session.messages.append, called(("search", "")))
        first = call(session.messages.append, returned("a"))
        assert first.answers == calling.answers
        assert call(session.messages.all) == [calling, first]

    def test_b131_results_that_two_handles_store_answer_different_calls(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = (open_memory().scope("s") for _ in range(2))
        call(here.messages.append, [ASKED])
        call(there.messages.count)
        call(here.messages.append, [called(("search", ""), ("search", ""))])
        call(there.messages.append, returned("a"))
        call(here.messages.append, returned("b"))
        assert answers(here, call) == answers(there, call) == [("search", "a"), ("search", "b")]

    def test_b131_equal_ids_are_told_apart_by_a_handle_that_did_not_see_the_calls(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = (open_memory().scope("s") for _ in range(2))
        call(there.messages.append, [ASKED])
        call(here.messages.append, [called(("search", "x"), ("search", "x"))])
        call(there.messages.append, returned("a", "x"))
        call(there.messages.append, returned("b", "x"))
        assert answers(here, call) == [("search", "a"), ("search", "b")]

    def test_b131_two_workers_on_one_session_each_answer_their_own_call(self, session: Scope, call: Call) -> None:
        for turn in ("t1", "t2"):
            asked = {**ASKED, "turn_id": turn}
            call(session.messages.append, [asked, called(("search", ""), ("fetch", turn), turn_id=turn)])
        for turn in ("t1", "t2"):
            call(
                session.messages.append,
                [returned(f"a {turn}", turn_id=turn), returned(f"b {turn}", turn, turn_id=turn)],
            )
        prompt = call(session.pack, budget=2_000)
        assert [each.text for each in prompt.messages if each.role == "tool"] == ["a t1", "b t1", "a t2", "b t2"]

    def test_b131_a_live_turn_is_paired_as_the_store_has_it(self, session: Scope, call: Call) -> None:
        turn = [ASKED, called(("search", ""), ("fetch", ""), id="calls"), returned("b", "", "fetch", id="r2")]
        live = [*turn, returned("a", "", "search", id="r1")]
        unstored = call(session.pack, budget=2_000, messages=live)
        assert [each.text for each in unstored.messages if each.role == "tool"] == ["b", "a"]
        call(session.messages.append, turn)
        call(session.messages.append, returned("a", "", "search", id="r1"))
        stored: list[Message] = call(session.messages.all)
        again = call(session.pack, budget=2_000, messages=[*live[:2], *live[:1:-1]])
        assert {each.tool_call_id for each in again.messages} == {each.tool_call_id for each in stored}

    def test_b131_replacing_the_conversation_pairs_it(self, session: Scope, call: Call) -> None:
        call(
            session.messages.replace,
            [ASKED, called(("search", "x"), ("search", "x")), returned("a", "x"), returned("b")],
        )
        assert answers(session, call) == [("search", "a"), ("search", "b")]
