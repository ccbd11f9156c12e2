"""Suite of `items.search`: what matches, in what order, and that results are never stale."""

from typing import Any

import pytest

from wmem import InvalidInputError, Policy, RecallProfile, Scope
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

__all__ = ["SearchSuite"]


def contents(hits: Any) -> list[str]:
    return [item.content for item in hits]


class SearchSuite(FacetSuite):
    """`items.search` by text, tags, priority, metadata and confidence, in each order."""

    # -- what matches

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("Meeting Notes", "meeting notes"),
            ("meeting notes", "MEETING"),
            ("die Straße", "STRASSE"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
            ("日本語のメモ", "メモ"),
            ("a.*b", ".*"),
        ],
    )
    def test_case_makes_no_difference_to_a_query_and_nothing_else_is_special(
        self, session: Scope, call: Call, text: str, query: str
    ) -> None:
        call(session.items.add, text)
        call(session.items.add, "something else")
        assert contents(call(session.items.search, query)) == [text]

    def test_any_tag_is_enough_and_case_counts(self, session: Scope, call: Call) -> None:
        call(session.items.add, "one", tags=["standup", "team"])
        call(session.items.add, "two", tags=["Standup"])
        call(session.items.add, "three")
        assert contents(call(session.items.search, tags=["standup"])) == ["one"]
        assert set(contents(call(session.items.search, tags=["Standup", "team"]))) == {"one", "two"}
        assert contents(call(session.items.search, tags=["stand"])) == []

    def test_a_priority_is_exact(self, session: Scope, call: Call) -> None:
        call(session.items.add, "one", priority="high")
        call(session.items.add, "two", priority="critical")
        assert contents(call(session.items.search, priority="high")) == ["one"]
        assert contents(call(session.items.search, priority="low")) == []

    def test_B118_filters_are_checked_and_compared_alike_everywhere(self, session: Scope, call: Call) -> None:
        exact = 2**53
        held: list[dict[str, Any]] = [
            {"n": 9},
            {"n": 10},
            {"n": exact},
            {"n": exact + 1},
            {"n": [1, 2]},
            {"a.b": 1},
            {"a": {"b": 1}},
            {},
        ]
        for number, metadata in enumerate(held):
            call(session.items.add, f"note {number}", metadata=metadata)
        for place, metadata in enumerate(held[:-1]):
            assert contents(call(session.items.search, "note", metadata=metadata)) == [f"note {place}"], metadata
        for nothing in ({"n": "9"}, {"n": [2, 1]}, {"n": [1]}, {"n": None}, {"missing": 1}, {"n": exact + 2}):
            assert call(session.items.search, "note", metadata=nothing) == (), nothing
        wrong: list[Any] = [-1, 2.5, "3", None]
        for limit in wrong:
            with pytest.raises(InvalidInputError, match="limit"):
                call(session.items.search, "note", limit=limit)

    def test_metadata_pairs_must_all_be_there_and_a_truth_value_is_no_number(self, session: Scope, call: Call) -> None:
        call(session.items.add, "one", metadata={"page": 1, "on": True, "deep": {"a": [1, None]}})
        call(session.items.add, "two", metadata={"page": 2, "on": 1, "nothing": None})
        asked: list[tuple[dict[str, Any], list[str]]] = [
            ({"page": 1}, ["one"]),
            ({"page": 1.0}, ["one"]),
            ({"page": True}, []),
            ({"on": True}, ["one"]),
            ({"on": 1}, ["two"]),
            ({"deep": {"a": [1, None]}}, ["one"]),
            ({"deep": {"a": (1, None)}}, ["one"]),
            ({"deep": {"a": [True, None]}}, []),
            ({"nothing": None}, ["two"]),
            ({"absent": None}, []),
            ({"page": 1, "on": 1}, []),
            ({"page": "1"}, []),
        ]
        for pairs, found in asked:
            assert contents(call(session.items.search, metadata=pairs)) == found, pairs

    def test_an_unknown_confidence_fails_any_minimum(self, session: Scope, call: Call) -> None:
        call(session.items.add, "none")
        call(session.items.add, "low", confidence=0.0)
        call(session.items.add, "half", confidence="medium")
        asked: list[tuple[Any, set[str]]] = [
            (None, {"none", "low", "half"}),
            (0, {"low", "half"}),
            (0.5, {"half"}),
            ("0.5", {"half"}),
            ("medium", {"half"}),
            (0.51, set()),
        ]
        for least, found in asked:
            assert set(contents(call(session.items.search, min_confidence=least))) == found

    def test_filters_and_query_must_all_hold(self, session: Scope, call: Call) -> None:
        call(session.items.add, "notes", tags=["a"], priority="high", metadata={"p": 1}, confidence=1)
        call(session.items.add, "notes", tags=["b"], priority="high", metadata={"p": 1}, confidence=1)
        call(session.items.add, "other", tags=["a"], priority="high", metadata={"p": 1}, confidence=1)
        found = call(
            session.items.search, "note", tags=["a"], priority="high", metadata={"p": 1}, min_confidence="high"
        )
        assert (contents(found), found.total) == (["notes"], 1)

    @pytest.mark.parametrize("query", [None, "", "  ", "\n"])
    def test_a_blank_query_asks_for_the_filters_alone(self, session: Scope, call: Call, query: str | None) -> None:
        call(session.items.add, "one", tags=["a"])
        call(session.items.add, "two")
        assert set(contents(call(session.items.search, query))) == {"one", "two"}
        assert contents(call(session.items.search, query, tags=["a"])) == ["one"]

    def test_entries_messages_and_other_scopes_are_not_searched(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "k", "needle")
        call(session.messages.append, {"role": "user", "content": "needle"})
        call(session.child("c").items.add, "needle")
        assert call(session.items.search, "needle") == ()

    # -- order

    def test_relevance_is_between_0_and_1_and_falls_the_later_the_query_stands(
        self, session: Scope, call: Call
    ) -> None:
        for place in (30, 0, 60):
            call(session.items.add, "." * place + "needle" + "." * (60 - place), importance=0.5)
        found = call(session.items.search, "needle")
        assert [item.content.index("needle") for item in found] == [0, 30, 60]
        assert sorted(found.scores, reverse=True) == list(found.scores)
        assert all(0 <= score <= 1 for score in found.scores)
        assert len(set(found.scores)) == 3

    def test_relevance_grows_with_use_and_with_importance(self, session: Scope, call: Call) -> None:
        idle = call(session.items.add, "needle idle", importance=0.5)
        used = call(session.items.add, "needle used", importance=0.5)
        call(session.items.add, "needle vital", importance=0.9)
        call(session.items.fetch, used.id)
        found = call(session.items.search, "needle")
        assert contents(found) == ["needle vital", "needle used", "needle idle"]
        assert call(session.items.get, idle.id).access_count == 1

    def test_of_equal_scores_the_newest_comes_first(self, session: Scope, call: Call) -> None:
        for number in range(5):
            call(session.items.add, f"note {number}", importance=0.5)
        for order in ("relevance", "importance", "recency"):
            assert contents(call(session.items.search, "note", order=order)) == [f"note {n}" for n in range(4, -1, -1)]

    def test_each_order_ranks_by_what_it_says(self, session: Scope, call: Call, clock: Clock) -> None:
        call(session.items.add, "dog, and then dog and dog again", importance=0.3)
        clock.advance(1)
        call(session.items.add, "a cat that knows a dog in a long sentence about cats", importance=0.9)
        clock.advance(1)
        call(session.items.add, "the dog", importance=0.1)
        heads = {
            order: call(session.items.search, "dog", order=order)[0].content[:5]
            for order in ("relevance", "recency", "importance", "recall")
        }
        assert heads == {"relevance": "dog, ", "recency": "the d", "importance": "a cat", "recall": "dog, "}
        assert call(session.items.search, order="recency").scores == (NOON + 2, NOON + 1, NOON)

    @pytest.mark.parametrize(
        ("preset", "first"),
        [("session", "dog first, then more"), ("buffer", "then a dog"), ("queue", "the vital dog")],
    )
    def test_a_preset_brings_its_own_order(
        self, open_memory: MemoryOpener, call: Call, preset: str, first: str
    ) -> None:
        scope = open_memory().scope(preset, policy=getattr(Policy, preset)())
        call(scope.items.add, "dog first, then more", importance=0.1)
        call(scope.items.add, "the vital dog", importance=0.3)
        call(scope.items.add, "then a dog", importance=0.1)
        assert call(scope.items.search, "dog")[0].content == first

    def test_recall_finds_any_of_the_words_and_relevance_the_text_as_it_stands(
        self, session: Scope, call: Call
    ) -> None:
        call(session.items.add, "the deploy is on Friday")
        call(session.items.add, "Friday is pizza day")
        assert contents(call(session.items.search, "friday deploy", order="recall")) == [
            "the deploy is on Friday",
            "Friday is pizza day",
        ]
        assert contents(call(session.items.search, "friday deploy", order="relevance")) == []

    @pytest.mark.parametrize(
        "question",
        ["Where does my sister live?", "where does my SISTER live", "And what about the sister of mine?", "sister?"],
    )
    def test_a_natural_question_finds_its_answer_by_default(self, session: Scope, call: Call, question: str) -> None:
        call(session.items.add, "My sister lives in Lisbon")
        call(session.items.add, "The deploy is on Friday")
        assert contents(call(session.items.search, question)) == ["My sister lives in Lisbon"]
        assert call(session.items.search, question, order="relevance") == ()

    def test_a_question_in_a_script_without_spaces_finds_its_answer_by_default(
        self, session: Scope, call: Call
    ) -> None:
        call(session.items.add, "妹はリスボンに住んでいます")
        call(session.items.add, "金曜日にデプロイする")
        assert contents(call(session.items.search, "リスボンに住んでいるのは誰ですか")) == [
            "妹はリスボンに住んでいます"
        ]

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("a dogged cat", "dog"),
            ("see notes_v2.txt", "es_v2.tx"),
            ("ask a.b@example.org", "b@example"),
            ("日本語", "本"),
        ],
    )
    def test_one_word_is_found_as_it_stands_by_default(self, session: Scope, call: Call, text: str, query: str) -> None:
        call(session.items.add, text)
        assert contents(call(session.items.search, query)) == [text]
        assert call(session.items.search, query).scores == call(session.items.search, query, order="relevance").scores

    def test_words_that_are_typed_in_part_are_found_as_they_stand(self, session: Scope, call: Call) -> None:
        call(session.items.add, "Next Alpha begins in May")
        call(session.items.add, "The next of the neighbours")
        assert contents(call(session.items.search, "next alp")) == ["Next Alpha begins in May"]
        assert call(session.items.search, "next alp", order="recall") == ()

    @pytest.mark.parametrize("preset", ["buffer", "queue"])
    def test_a_preset_with_an_order_of_its_own_keeps_it_for_questions(
        self, open_memory: MemoryOpener, call: Call, preset: str
    ) -> None:
        scope = open_memory().scope(preset, policy=getattr(Policy, preset)())
        call(scope.items.add, "the dog barks, the dog is a good dog", importance=0.1)
        call(scope.items.add, "a cat and a dog", importance=0.9)
        assert contents(call(scope.items.search, "what of the dog?"))[0] == "a cat and a dog"
        assert contents(call(scope.items.search, "what of the dog?", order="recall"))[0].startswith("the dog")

    def test_a_policy_may_name_the_order_of_every_search(self, open_memory: MemoryOpener, call: Call) -> None:
        scope = open_memory().scope("s", policy=Policy.session(search_order="relevance"))
        call(scope.items.add, "the dog is called Biscuit")
        assert contents(call(scope.items.search, "is called")) == ["the dog is called Biscuit"]
        assert call(scope.items.search, "called dog") == ()

    # -- the floor of recall

    @pytest.mark.parametrize(
        "question",
        [
            "What would I like to drink with the fish?",  # "like" is in nearly every memory
            "Which day suits my dentist?",  # "day" is in a few, and common in the language
            "Do people fly to Oslo?",
        ],
    )
    def test_b145_a_weak_word_in_common_finds_nothing(self, session: Scope, call: Call, question: str) -> None:
        for number in range(30):
            call(session.items.add, f"I like subject{number} and topic{number}, and have for {number} years")
        call(session.items.add, "I like a day by the sea")
        call(session.items.add, "Some people say that you need salt")
        found = call(session.items.search, question)
        assert (contents(found), found.total) == ([], 0)
        assert found.below_floor_total > 0
        assert {each.reason for each in found.below_floor} == {"weak words"}

    def test_b145_a_weak_word_of_another_language_finds_nothing(self, session: Scope, call: Call) -> None:
        for number in range(30):
            call(session.items.add, f"Das ist der Ort{number} und die Zahl{number}, aber nicht für mich")
        call(session.items.add, "Ich möchte im Herbst nach Lissabon, und das mit dem Zug")
        assert call(session.items.search, "Was möchte ich mit dem Auto?") == ()
        assert call(session.items.search, "Was möchte ich mit dem Zug?").total == 1

    def test_a_word_in_every_item_hides_no_answer(self, session: Scope, call: Call) -> None:
        for number in range(20):
            call(session.items.add, f"User has subject{number}")
        call(session.items.add, "User lives in Berlin")
        assert contents(call(session.items.search, "Where does the user live?")) == ["User lives in Berlin"]
        assert call(session.items.search, "Where was the user born?") == ()
        assert call(session.items.search, "the user").total == 21

    def test_a_slip_in_a_long_word_is_forgiven_where_no_item_has_it(self, session: Scope, call: Call) -> None:
        call(session.items.add, "The Kubernetes cluster is in Frankfurt")
        call(session.items.add, "Mongo is the database")
        assert contents(call(session.items.search, "where is kuberentes?")) == [
            "The Kubernetes cluster is in Frankfurt"
        ]
        assert call(session.items.search, "where are mangos?") == ()
        call(session.items.add, "Kuberentes was a slip in the title")
        assert contents(call(session.items.search, "where is kuberentes?")) == ["Kuberentes was a slip in the title"]

    def test_b145_a_weak_pair_of_characters_finds_nothing(self, session: Scope, call: Call) -> None:
        for text in ("我的狗叫小饼干", "我的车是红色的", "会议在星期五"):
            call(session.items.add, text)
        assert contents(call(session.items.search, "我的狗叫什么名字?")) == ["我的狗叫小饼干"]
        assert contents(call(session.items.search, "会议是什么时候?")) == ["会议在星期五"]
        assert call(session.items.search, "我的护照在哪里?") == ()

    def test_what_shares_a_word_is_below_the_floor_beside_what_answers(self, session: Scope, call: Call) -> None:
        answer = call(session.items.add, "The staging database moved to Frankfurt in March")
        other = call(session.items.add, "Frankfurt has an airport")
        for number in range(20):
            call(session.items.add, f"subject{number}")
        found = call(session.items.search, "When did the staging database move to Frankfurt?")
        assert ([each.id for each in found], found.total) == ([answer.id], 1)
        (below,) = found.below_floor
        assert (below.id, below.words, below.reason) == (other.id, ("frankfurt",), "less than the best")
        assert 0 < below.score < found.scores[0]
        told = found.explain()
        assert answer.id in told
        assert f"{other.id}  less than the best: frankfurt" in told

    def test_a_text_with_all_words_of_the_question_is_found_however_long_it_is(
        self, session: Scope, call: Call
    ) -> None:
        call(session.items.add, "red dog red dog red dog")
        long = "A red dog. " + "word " * 2_000
        call(session.items.add, long)
        assert long in contents(call(session.items.search, "the red dog"))

    def test_few_items_are_no_reason_to_call_a_word_weak(self, session: Scope, call: Call) -> None:
        for name in ("Biscuit", "Crumpet"):
            call(session.items.add, f"One dog is called {name}")
        assert len(call(session.items.search, "Which dogs are there?")) == 2

    @pytest.mark.parametrize("recall", ["balanced", RecallProfile(item_floor=0)], ids=["balanced", "0"])
    def test_a_profile_without_a_floor_finds_all_that_shares_a_word(
        self, open_memory: MemoryOpener, call: Call, recall: Any
    ) -> None:
        scope = open_memory().scope("s", policy=Policy.session(recall=recall))
        for number in range(20):
            call(scope.items.add, f"I like subject{number}")
        found = call(scope.items.search, "What would I like to drink?")
        assert (found.total, found.below_floor, found.below_floor_total) == (20, (), 0)

    def test_of_near_equal_matches_priority_importance_and_recency_decide(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        texts: dict[str, Any] = {
            "low": {"priority": "low"},
            "older": {"importance": 0.5},
            "newer": {"importance": 0.5},
            "important": {"importance": 0.9},
            "critical": {"priority": "critical"},
            "unimportant": {"importance": 0.1},
        }
        for word, fields in texts.items():
            call(session.items.add, f"the alarm code, {word}", **fields)
            clock.advance(1)
        call(session.items.add, "the alarm code and how the alarm is set by its code", priority="low")
        found = contents(call(session.items.search, "what is the alarm code"))
        assert [text.split(", ")[1] for text in found if ", " in text] == [
            "critical", "important", "newer", "older", "unimportant", "low",
        ]  # fmt: skip
        assert found[0].startswith("the alarm code and how")  # a better match by far comes first

    def test_a_query_of_common_words_alone_finds_them(self, session: Scope, call: Call) -> None:
        call(session.items.add, "to be or not to be")
        call(session.items.add, "the other")
        for order in ("relevance", "recency", "importance", "recall"):
            assert contents(call(session.items.search, "TO BE", order=order)) == ["to be or not to be"]

    def test_a_common_word_is_found_as_a_word_and_any_of_several_will_do(self, session: Scope, call: Call) -> None:
        call(session.items.add, "Alice is here")
        call(session.items.add, "this thing :-)")
        for order in ("recency", "importance", "recall"):
            assert contents(call(session.items.search, "is", order=order)) == ["Alice is here"]
            assert contents(call(session.items.search, "What is?", order=order)) == ["Alice is here"]
            assert contents(call(session.items.search, ":-)", order=order)) == ["this thing :-)"]

    def test_a_limit_cuts_the_hits_and_not_the_total(self, session: Scope, call: Call) -> None:
        for number in range(12):
            call(session.items.add, f"note {number}")
        for limit, length in ((None, 10), (3, 3), (0, 0), (100, 12)):
            given: dict[str, Any] = {} if limit is None else {"limit": limit}
            found = call(session.items.search, "note", **given)
            assert (len(found), len(found.scores), found.total) == (length, length, 12)

    # -- freshness

    def test_whatever_changes_is_reflected_at_once(self, session: Scope, call: Call, clock: Clock) -> None:
        item = call(session.items.add, "a red dog")
        assert len(call(session.items.search, "dog")) == 1
        call(session.items.update, item.id, content="a red cat")
        assert call(session.items.search, "dog") == ()
        assert contents(call(session.items.search, "CAT")) == ["a red cat"]
        other = call(session.items.add, "another cat", ttl_s=5)
        assert call(session.items.search, "cat").total == 2
        clock.advance(5)
        assert contents(call(session.items.search, "cat")) == ["a red cat"]
        assert call(session.items.search, "cat", include_expired=True).total == 2
        call(session.items.extend_ttl, other.id)
        assert call(session.items.search, "cat").total == 2
        call(session.queue.forget, "position:0")
        assert contents(call(session.items.search, "cat", include_expired=True)) == ["another cat"]
        call(session.items.undelete, item.id)
        assert call(session.items.search, "cat").total == 2
        call(session.items.remove, item.id)
        assert contents(call(session.items.search, "cat")) == ["another cat"]
        call(session.items.clear)
        assert call(session.items.search, "cat") == ()

    @pytest.mark.parametrize("order", ["relevance", "recall"])
    def test_what_another_process_did_is_found(self, open_memory: MemoryOpener, call: Call, order: Any) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        item = call(here.items.add, "a dog")
        call(here.items.add, "a dogged cat")
        assert item.id in {each.id for each in call(there.items.search, "dog", order=order)}
        call(here.items.update, item.id, content="a bird")
        call(here.items.add, "one more dog")
        # The state is read anew from a snapshot: nothing from before may be found.
        call(here.erase)
        assert "one more dog" in contents(call(there.items.search, "dog", order=order))
        assert item.id not in {each.id for each in call(there.items.search, "dog", order=order)}
        assert contents(call(there.items.search, "bird", order=order)) == ["a bird"]

    def test_a_view_finds_what_was_there_and_goes_on_finding_it(self, session: Scope, call: Call, clock: Clock) -> None:
        item = call(session.items.add, "a dog", ttl_s=5)
        view = call(session.view)
        call(session.items.update, item.id, content="a cat")
        call(session.items.add, "a second dog")
        clock.advance(5)
        for order in ("relevance", "recall"):
            assert contents(view.items.search("dog", order=order)) == ["a dog"]
        assert contents(view.items.search("cat")) == []
        assert contents(call(session.items.search, "dog")) == ["a second dog"]

    # -- invalid calls

    def test_a_wrong_question_gets_the_typed_error(self, session: Scope, call: Call) -> None:
        bad: list[tuple[dict[str, Any], str]] = [
            ({"query": 5}, "query"),
            ({"query": ["dog"]}, "query"),
            ({"tags": "dog"}, "tags"),
            ({"tags": [" "]}, "tags"),
            ({"priority": "urgent"}, "priority"),
            ({"priority": 3}, "priority"),
            ({"metadata": ["page"]}, "metadata"),
            ({"min_confidence": 1.1}, "confidence"),
            ({"min_confidence": "certain"}, "confidence"),
            ({"min_confidence": True}, "confidence"),
            ({"order": "newest"}, "order"),
            ({"order": 1}, "order"),
            ({"limit": -1}, "limit"),
            ({"limit": None}, "limit"),
            ({"limit": True}, "limit"),
        ]
        for asked, about in bad:
            with pytest.raises(InvalidInputError, match=about):
                call(session.items.search, **asked)
