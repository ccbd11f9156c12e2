"""Suite of newer over older: of two statements of the same both are found, and the older is said to have changed."""

from datetime import UTC, datetime

import pytest

from wmem import Context, Scope
from wmem.scope.items.search import Order
from wmem.testing.suite import Call, Clock

__all__ = ["NewerSuite"]

_CHANGED = "[changed later]"
_DAY = 86_400.0
_MAY = datetime(2026, 5, 4, 12, tzinfo=UTC).timestamp()
_BERLIN, _LISBON = "I live in Berlin, near the river.", "I moved to Lisbon."


def _say(session: Scope, call: Call, text: str, day: float, *, name: str | None = None, id: str | None = None) -> None:
    said = {"role": "user", "content": text, "created_at": _MAY + day * _DAY, "name": name, "id": id}
    call(session.messages.append, {key: value for key, value in said.items() if value is not None})


def _talk(session: Scope, call: Call) -> None:
    """What is not about the question, so that the prompt does not hold all of the conversation."""
    for number in range(20):
        _say(session, call, f"Let us talk about a picture with the number {number}, and what it shows.", 100 + number)


def _lines(context: Context) -> list[str]:
    return [line for line in context.note.splitlines() if line.startswith("> ")]


class NewerSuite:
    """What recall finds, in which order, and what the note says of it."""

    def test_the_newer_is_first_and_the_older_is_marked(self, session: Scope, call: Call) -> None:
        _say(session, call, "My budget is 500 euros.", 0, id="old")
        _say(session, call, "My budget is 700 euros now.", 1, id="new")
        _talk(session, call)
        hits = call(session.recall, "What is my budget?")
        assert [(hit.id, hit.superseded_by) for hit in hits[:2]] == [("new", None), ("old", "new")]
        assert all("update" in hit.parts for hit in hits[1:2])
        context = call(session.pack, "What is my budget?", budget=200)
        assert f"> user: My budget is 500 euros. {_CHANGED}" in _lines(context)
        assert "> user: My budget is 700 euros now." in _lines(context)
        assert context.tokens <= 200
        assert "update=" in str(context.explain())

    def test_a_newer_statement_without_a_word_of_the_question_comes_with_the_older(
        self, session: Scope, call: Call
    ) -> None:
        _say(session, call, _BERLIN, 0, id="old")
        _say(session, call, _LISBON, 30, id="new")
        _say(session, call, "My dog is called Rex.", 40, id="rex")
        _say(session, call, "We renamed him Max.", 50, id="max")
        _talk(session, call)
        assert [hit.id for hit in call(session.recall, "Where do I live?", limit=2)] == ["new", "old"]
        assert [hit.id for hit in call(session.recall, "What is my dog called?", limit=2)] == ["max", "rex"]
        assert f"> user: {_BERLIN} {_CHANGED}" in _lines(call(session.pack, "Where do I live?", budget=200))

    @pytest.mark.parametrize(
        ("question", "first"),
        [
            ("Where did I live before?", "old"),
            ("Where did I use to live?", "old"),
            ("Where did I live in May 2026?", "old"),
            ("Where did I live on 6 June 2026?", "new"),
            ("Where do I live now?", "new"),
            ("Where did I say I live?", "new"),
        ],
    )
    def test_a_question_for_the_past_or_with_a_date_gets_what_held_then(
        self, session: Scope, call: Call, question: str, first: str
    ) -> None:
        _say(session, call, _BERLIN, 0, id="old")
        _say(session, call, _LISBON, 30, id="new")
        _talk(session, call)
        hits = call(session.recall, question, limit=6)
        assert next(hit.id for hit in hits if hit.id in ("old", "new")) == first
        assert {"old", "new"} <= {hit.id for hit in hits}

    def test_what_the_assistant_said_is_compared_with_what_it_said(self, session: Scope, call: Call) -> None:
        for day, (role, text) in enumerate(
            (
                ("assistant", "Your parcel arrives on Monday."),
                ("user", "The parcel of my neighbour arrives on Friday."),
                ("assistant", "Unfortunately, your parcel arrives on Wednesday now."),
            )
        ):
            said = {"role": role, "content": text, "created_at": _MAY + day * _DAY, "id": str(day)}
            call(session.messages.append, said)
        _talk(session, call)
        marks = {hit.id: hit.superseded_by for hit in call(session.recall, "When does my parcel arrive?")}
        assert (marks["0"], marks["1"], marks["2"]) == ("2", None, None)

    def test_what_is_below_the_floor_brings_nothing_in_and_the_newer_of_what_is_quoted_is_quoted(
        self, session: Scope, call: Call
    ) -> None:
        _say(session, call, _BERLIN, 0)
        _say(session, call, _LISBON, 30)
        _talk(session, call)
        asked = call(session.pack, "Where do I live, near which river?", budget=200, tail=0)
        assert _lines(asked)[:2] == [f"> user: {_BERLIN} {_CHANGED}", f"> user: {_LISBON}"]
        nothing = call(session.pack, "Which violins are from Cremona?", budget=200, tail=0)
        assert _BERLIN not in nothing.note
        assert _LISBON not in nothing.note

    def test_what_refers_to_the_message_before_changes_it(self, session: Scope, call: Call) -> None:
        _say(session, call, "My budget is 500 euros.", 0, id="old")
        call(session.messages.append, {"role": "assistant", "content": "500 it is.", "created_at": _MAY + 1})
        _say(session, call, "No, make that 700.", 0.001, id="new")
        _talk(session, call)
        assert [hit.id for hit in call(session.recall, "What is my budget?", limit=2)] == ["new", "old"]

    def test_two_people_and_two_things_are_left_as_they_are(self, session: Scope, call: Call) -> None:
        for day, (name, text) in enumerate((("Ann", _BERLIN), ("Bob", _LISBON), ("Ann", "My cat is called Tom."))):
            _say(session, call, text, day, name=name)
        _say(session, call, "My dog is called Rex.", 4, name="Ann")
        _talk(session, call)
        for question in ("Where does Ann live?", "Where do I live?", "What is my dog called?"):
            assert all(hit.superseded_by is None for hit in call(session.recall, question, limit=50))
            assert _CHANGED not in call(session.pack, question, budget=200).note

    def test_items_entries_and_what_a_parent_holds_are_compared_too(
        self, session: Scope, clock: Clock, call: Call
    ) -> None:
        child = session.child("task")
        old = call(session.items.add, "The deploy runs on Fridays.")
        clock.advance(60)
        new = call(child.items.add, "The deploy no longer runs on Fridays, Tuesdays now.")
        hits = {hit.id: hit for hit in call(child.recall, "When does the deploy run?")}
        assert hits[old.id].superseded_by == new.id
        assert next(iter(hits)) == new.id
        assert all(hit.superseded_by is None for hit in call(session.recall, "When does the deploy run?"))
        call(session.entries.set, "budget", 500)
        clock.advance(60)
        item = call(session.items.add, "The budget is 700 now.")
        marks = {hit.kind: hit.superseded_by for hit in call(session.recall, "budget")}
        assert marks == {"entry": item.id, "item": None}
        clock.advance(60)
        call(session.entries.set, "budget", 900)
        newest = [hit for hit in call(session.recall, "budget") if "budget" in hit.text]
        assert [(hit.kind, bool(hit.superseded_by)) for hit in newest] == [("entry", False), ("item", True)]

    def test_what_is_erased_or_withdrawn_supersedes_nothing(self, session: Scope, call: Call) -> None:
        _say(session, call, _BERLIN, 0, id="old")
        _say(session, call, _LISBON, 30, id="new")
        _talk(session, call)
        assert call(session.recall, "Where do I live?", limit=1)[0].id == "new"
        call(session.erase, "new")
        hits = call(session.recall, "Where do I live?")
        assert [(hit.id, hit.superseded_by) for hit in hits if hit.id in ("old", "new")] == [("old", None)]

    def test_the_question_itself_says_what_is_newer_and_is_no_hit(self, session: Scope, call: Call) -> None:
        _say(session, call, _BERLIN, 0, id="old")
        _talk(session, call)
        question = "I moved to Lisbon. Where did I live by the river before?"
        _say(session, call, question, 200, id="now")
        hits = {hit.id: hit.superseded_by for hit in call(session.recall, question)}
        assert hits["old"] == "now"
        assert "now" not in hits

    def test_what_was_changed_back_holds_again(self, session: Scope, call: Call) -> None:
        for day, (id, text) in enumerate((("1", _BERLIN), ("2", _LISBON), ("3", "I moved back to Berlin."))):
            _say(session, call, text, day, id=id)
        _talk(session, call)
        marks = {hit.id: hit.superseded_by for hit in call(session.recall, "Where do I live?") if hit.id in "123"}
        assert marks.get("1") is None
        assert marks.get("2", "3") == "3"

    # -- items alone

    @pytest.mark.parametrize("order", [None, "recall", "recency", "importance"])
    @pytest.mark.parametrize("limit", [10, 2])
    def test_a_search_of_items_finds_both_and_says_which_is_the_newer(
        self, session: Scope, call: Call, clock: Clock, order: Order | None, limit: int
    ) -> None:
        old = call(session.items.add, _BERLIN, ttl_s=None)
        clock.advance(_DAY)
        new = call(session.items.add, _LISBON, ttl_s=None)
        for number in range(20):
            clock.advance(60)
            call(session.items.add, f"A picture with the number {number}, and what it shows.")
        found = call(session.items.search, "Where do I live?", order=order, limit=limit)
        assert {old.id, new.id} == {item.id for item in found}
        assert found.superseded_by == {old.id: new.id}
        assert found.total == 2
        assert f"{old.id}  changed later: {new.id}" in found.explain()
        if order != "importance":
            assert [item.id for item in found] == [new.id, old.id]

    def test_a_search_of_items_in_the_past_tense_puts_first_what_held_then(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        old = call(session.items.add, _BERLIN, ttl_s=None)
        clock.advance(_DAY)
        new = call(session.items.add, _LISBON, ttl_s=None)
        found = call(session.items.search, "Where did I live before?")
        assert [item.id for item in found] == [old.id, new.id]
        assert found.superseded_by == {old.id: new.id}

    def test_a_filter_of_a_search_leaves_out_the_newer_too(self, session: Scope, call: Call, clock: Clock) -> None:
        old = call(session.items.add, _BERLIN, tags=["home"], ttl_s=None)
        clock.advance(_DAY)
        call(session.items.add, _LISBON, ttl_s=None)
        found = call(session.items.search, "Where do I live?", tags=["home"])
        assert [item.id for item in found] == [old.id]
        assert found.superseded_by == {}

    def test_what_a_limit_leaves_no_room_for_is_named_all_the_same(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        old = call(session.items.add, "My budget is 500 euros.", ttl_s=None)
        clock.advance(_DAY)
        new = call(session.items.add, "My budget is 700 euros now.", ttl_s=None)
        found = call(session.items.search, "What was my budget before?", limit=1)
        assert [item.id for item in found] == [old.id]
        assert (found.total, found.superseded_by) == (2, {old.id: new.id})

    def test_items_that_say_the_same_or_of_something_else_are_not_marked(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        for text in ("My budget is 500 euros.", "My budget is 500 euros, as ever.", "My sister's budget is 900 euros."):
            call(session.items.add, text)
            clock.advance(60)
        assert call(session.items.search, "What is my budget?").superseded_by == {}
