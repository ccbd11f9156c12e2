"""Suite of summaries with a model: what it is given, and that nothing but a summary is taken from it."""

import asyncio
from typing import Any, cast

import pytest

import wmem
from tests.suites.summarizers import FAULTS, Summarizer, SummarizerSuite
from wmem.errors import InvalidInputError
from wmem.testing.suite import Call, Clock, MemoryOpener

__all__ = ["SummariesSuite"]

TALK = [
    "user: My flight to Oslo leaves on 12 March at 7:45 from terminal 2.",
    "assistant: I have noted the flight. Do you want a taxi to the airport in the morning?",
    "user: Yes, please book it for 5:30, and send the receipt to the office in Bergen.",
]


class SummariesSuite(SummarizerSuite):
    """What a memory makes of a summarizer and its answers."""

    def test_a_summarizer_is_given_the_texts_and_the_limit(
        self, session: wmem.Scope, summarizer: Summarizer, call: Call
    ) -> None:
        made = self.summarize(session, call, TALK, 40)
        assert made == ("In short: 3 texts.", made.tokens, True, "")
        assert summarizer.calls == [(tuple(TALK), 40)]

    @pytest.mark.parametrize("fault", FAULTS)
    def test_b32_what_is_no_summary_is_replaced_by_extracts_and_told(
        self, session: wmem.Scope, summarizer: Summarizer, call: Call, fault: str
    ) -> None:
        summarizer.fault = FAULTS[fault]
        made = self.summarize(session, call, TALK, 40)
        assert not made.by_model
        assert made.tokens <= 40
        assert all(line in " ".join(TALK) for line in made.text.split("\n"))
        assert "the summarizer 'counting'" in made.warning
        assert "ada@example.org" not in made.warning

    def test_a_summarizer_that_failed_is_left_alone_for_a_while(
        self, session: wmem.Scope, summarizer: Summarizer, call: Call, clock: Clock
    ) -> None:
        summarizer.fault = FAULTS["raises"]
        self.summarize(session, call, TALK, 40)
        summarizer.fault = None
        assert "left alone for 60 s" in self.summarize(session, call, TALK, 40).warning
        assert self.summarize(session, call, TALK, 40, ignore_pause=True).by_model, "who asks for it himself"
        assert len(summarizer.calls) == 2
        clock.now += 61
        assert self.summarize(session, call, TALK, 40).by_model

    def test_a_cancelled_caller_stops_and_nothing_is_stored(
        self, session: wmem.Scope, summarizer: Summarizer, call: Call
    ) -> None:
        if call.mode == "sync":
            return  # nobody can cancel it
        self.add_talk(session, call, 0, 5)
        before = call(session.export)

        async def cancel() -> None:
            task = asyncio.ensure_future(cast("Any", session.summarize()))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        _ = call(cancel)
        assert call(session.export) == before
        assert call(session.summarize).by_model

    def test_b35_texts_of_more_than_one_call_are_all_read(
        self, open_memory: MemoryOpener, summarizer: Summarizer, call: Call
    ) -> None:
        summarizer.max_input_tokens = 256
        session = open_memory(summarizer=summarizer).scope("session")
        talk = [f"user: Box {number} holds {number * 7} bolts of steel and a note." for number in range(200)]
        made = self.summarize(session, call, [*talk, " ".join(talk)], 30)
        assert made.by_model
        read = " ".join(text for texts, _ in summarizer.calls for text in texts)
        assert all(read.count(f"Box {number} holds") == 2 for number in range(200))
        assert all(sum(map(session._handle.settings.counter(), texts)) <= 256 for texts, _ in summarizer.calls)

    # -- the summary of a session

    def add_talk(self, session: wmem.Scope, call: Call, begin: int, end: int) -> list[str]:
        """Add turns about numbered boxes; returns the ids of their messages."""
        said: list[Any] = []
        for number in range(begin, end):
            said.append({"role": "user", "content": f"Box {number} holds {number * 7} bolts of steel."})
            said.append({"role": "assistant", "content": f"I wrote down what is in box {number}, thank you."})
        return [message.id or "" for message in call(session.messages.append, said)]

    def test_a_session_is_summed_up_in_an_item_that_names_its_messages_and_keeps_them(
        self, session: wmem.Scope, summarizer: Summarizer, call: Call
    ) -> None:
        ids = self.add_talk(session, call, 0, 5)
        made = call(session.summarize)
        assert made.item is not None
        assert (made.item.type, made.item.content) == ("summary", "In short: 10 texts.")
        assert (made.covered, made.changed, made.by_model, made.warning) == (tuple(ids), True, True, "")
        assert made.item.sources[0]["messages"] == ids
        assert call(session.items.get, made.item.id).content == made.item.content
        assert [message.id for message in call(session.messages.all)] == ids
        [decision] = [each for each in call(session.queue.decisions) if each.kind == "summarized"]
        assert decision.id == made.item.id

    def test_b39_what_was_kept_in_one_round_is_in_the_next_and_nothing_falls_between(
        self, session: wmem.Scope, summarizer: Summarizer, call: Call
    ) -> None:
        ids = self.add_talk(session, call, 0, 6)
        first = call(session.summarize, keep=4)
        assert first.covered == tuple(ids[:-4])
        ids += self.add_talk(session, call, 6, 10)
        second = call(session.summarize, keep=4)
        assert second.covered == tuple(ids[:-4])
        texts, _ = summarizer.calls[-1]
        assert texts[0] == "Summary of what was before: In short: 8 texts."
        assert [f"Box {number} " in " ".join(texts) for number in range(10)] == [False] * 4 + [True] * 4 + [False] * 2
        assert second.item is not None is not first.item
        assert second.item.id == first.item.id
        assert call(session.items.count) == 1, "it rolls"

    def test_a_session_of_which_nothing_is_new_is_not_summed_up_again(
        self, session: wmem.Scope, summarizer: Summarizer, call: Call
    ) -> None:
        assert call(session.summarize) == (None, (), False, False, "")
        self.add_talk(session, call, 0, 5)
        made = call(session.summarize)
        assert call(session.summarize) == made._replace(changed=False, by_model=False)
        assert call(session.summarize, keep=4) == made._replace(changed=False, by_model=False)
        assert len(summarizer.calls) == 1

    def test_b35_all_older_messages_of_a_long_session_are_read(
        self, open_memory: MemoryOpener, summarizer: Summarizer, call: Call
    ) -> None:
        summarizer.max_input_tokens = 256
        session = open_memory(summarizer=summarizer).scope("long")
        ids = self.add_talk(session, call, 0, 60)
        assert call(session.summarize, keep=20).covered == tuple(ids[:-20])
        read = " ".join(text for texts, _ in summarizer.calls for text in texts)
        assert [read.count(f"Box {number} holds") for number in range(60)] == [1] * 50 + [0] * 10
        assert call(session.messages.count) == 120

    def test_two_who_sum_up_at_once_leave_one_summary_of_all(
        self, open_memory: MemoryOpener, summarizer: Summarizer, call: Call
    ) -> None:
        session = open_memory(summarizer=summarizer).scope("session")
        other = open_memory.in_other_process(summarizer=summarizer).scope("session")
        ids = self.add_talk(session, call, 0, 5)
        call.run_concurrently([session.summarize, other.summarize])
        [item] = call(session.items.all)
        assert item.sources[0]["messages"] == ids

    @pytest.mark.parametrize("fault", FAULTS)
    def test_b32_a_summarizer_that_fails_changes_nothing_and_is_asked_again(
        self, session: wmem.Scope, summarizer: Summarizer, call: Call, fault: str
    ) -> None:
        ids = self.add_talk(session, call, 0, 5)
        summarizer.fault = FAULTS[fault]
        before = call(session.export)
        failed = call(session.summarize, 60)
        assert failed.item is None
        assert "the summarizer 'counting'" in failed.warning
        assert call(session.export) == before
        summarizer.fault = None
        assert call(session.summarize, 60).covered == tuple(ids)
        stored = call(session.export)
        self.add_talk(session, call, 5, 8)
        summarizer.fault = FAULTS[fault]
        failed = call(session.summarize, 60)
        assert failed.warning
        assert failed.item is not None
        assert failed.covered == tuple(ids)
        assert call(session.items.get, failed.item.id).content in str(stored)

    def test_b33_a_window_of_answers_and_results_alone_is_summed_up_by_what_they_say(
        self, session: wmem.Scope, summarizer: Summarizer, call: Call
    ) -> None:
        calls = [{"id": "c1", "type": "function", "function": {"name": "stock", "arguments": '{"box": 4}'}}]
        said: list[Any] = [
            {"role": "assistant", "content": "I look into the stock.", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "c1", "content": "Box 4: 28 bolts."},
            {"role": "assistant", "content": "There are 28."},
        ]
        ids = [message.id for message in call(session.messages.append, said)]
        made = call(session.summarize, keep=2)
        assert made.covered == (), "a result stays with its call"
        made = call(session.summarize, keep=1)
        assert made.covered == tuple(ids[:2])
        [(texts, _)] = summarizer.calls
        assert [word in " ".join(texts) for word in ("I look into the stock.", "Box 4: 28 bolts.")] == [True, True]

    def test_a_pack_takes_the_stored_summary_for_what_it_covers_and_extracts_for_the_rest(
        self, session: wmem.Scope, summarizer: Summarizer, call: Call
    ) -> None:
        ids = self.add_talk(session, call, 0, 30)
        made = call(session.summarize, keep=20)
        asked = len(summarizer.calls)
        context = call(session.pack, budget=300, summary=150)
        [report] = [each for each in context.included if each.rule == "summary"]
        assert made.item is not None
        assert "In short: 40 texts." in context.note
        assert report.sources[0] == made.item.id
        assert {*report.sources[1:]} <= {*ids[-20:]}
        assert len(report.sources) > 1
        assert len(summarizer.calls) == asked, "a pack asks no model"
        assert context.sizes["note"] <= 150
        call(session.messages.withdraw, ids[3])
        assert "In short" not in call(session.pack, budget=300, summary=150).note, "it tells of what was taken back"

    def test_a_summary_goes_with_an_erased_message_and_is_made_anew(
        self, session: wmem.Scope, summarizer: Summarizer, call: Call
    ) -> None:
        ids = self.add_talk(session, call, 0, 5)
        made = call(session.summarize)
        assert made.item is not None
        call(session.erase, ids[2])
        assert call(session.items.count) == 0
        assert call(session.summarize).covered == (*ids[:2], *ids[3:])

    def test_without_a_summarizer_the_sentences_that_tell_most_are_kept(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        session = open_memory().scope("plain")
        ids = self.add_talk(session, call, 0, 8)
        made = call(session.summarize)
        assert made.item is not None
        assert (made.by_model, made.covered, made.warning) == (False, tuple(ids), "")
        assert all(f"Box {number} holds {number * 7} bolts" in made.item.content for number in range(8))
        whole = sum(message.tokens or 0 for message in call(session.items.all))
        assert whole == made.item.tokens
        assert call(session.summarize, 30).item == made.item, "nothing is new"
        self.add_talk(session, call, 8, 9)
        short = call(session.summarize, 30).item
        assert short is not None
        assert (short.tokens or 0) <= 30
        assert short.id == made.item.id

    @pytest.mark.parametrize("bad", [{"max_tokens": 0}, {"max_tokens": 1.5}, {"keep": -1}])
    def test_a_summary_of_no_sensible_size_is_refused(
        self, session: wmem.Scope, call: Call, bad: dict[str, Any]
    ) -> None:
        with pytest.raises(InvalidInputError):
            call(session.summarize, **bad)

    def test_a_summary_is_of_redacted_texts(
        self, open_memory: MemoryOpener, summarizer: Summarizer, call: Call
    ) -> None:
        session = open_memory(summarizer=summarizer).scope("private")
        call(session.messages.append, [{"role": "user", "content": "Write to ada@example.org about box 9."}])
        call(session.summarize)
        assert summarizer.calls == [(("user: Write to [REDACTED_EMAIL] about box 9.",), summarizer.calls[0][1])]
        arguments = '{"to": "ada@example.org", "box": 9}'
        said = {"id": "c", "type": "function", "function": {"name": "write", "arguments": arguments}}
        call(session.messages.append, [{"role": "assistant", "content": "", "tool_calls": [said]}])
        call(session.summarize)
        assert "ada@example.org" not in str(summarizer.calls)
        assert "[REDACTED_EMAIL]" in summarizer.calls[-1][0][-1]

    @pytest.mark.parametrize("with_model", [False, True])
    def test_while_a_recognizer_fails_nothing_is_summed_up_and_it_is_told(
        self, open_memory: MemoryOpener, summarizer: Summarizer, call: Call, with_model: bool
    ) -> None:
        failing = ["Bergen"]

        def recognize(text: str) -> list[wmem.Span]:
            if any(word in text for word in failing):
                raise ValueError(text)
            return []

        redaction = wmem.Redaction(recognizers=(recognize,))
        memory = open_memory(redaction=redaction, summarizer=summarizer if with_model else None)
        session = memory.scope("talk")
        call(session.messages.append, [{"role": "user", "content": text} for text in TALK])
        made = call(session.summarize, max_tokens=60)
        assert (made.item, made.changed, summarizer.calls) == (None, False, [])
        assert "recognizer" in made.warning
        failing.clear()
        made = call(session.summarize, max_tokens=60)
        assert (made.changed, made.warning, len(made.covered)) == (True, "", 3)
        assert "WITHHELD" not in made.item.content

    # -- summaries of items

    def test_what_a_summarizer_says_is_redacted_before_it_is_stored(
        self, open_memory: MemoryOpener, call: Call, summarizer: Summarizer
    ) -> None:
        summarizer.fault = lambda _answer, _limit: "Ada wants the report sent to ada@example.org by noon."
        session = open_memory(summarizer=summarizer).scope("session")
        for at in range(20):
            call(
                session.messages.append,
                {"role": "user", "content": f"Note {at}: send the report to me by noon, please."},
            )
        item = call(session.summarize).item
        assert item.content == "Ada wants the report sent to [REDACTED_EMAIL] by noon."
        assert "ada@" not in str(call(session.export))

    def test_summaries_of_a_queue_and_of_memory_types_are_the_summarizers(
        self, memory: wmem.AgentMemory, summarizer: Summarizer, call: Call
    ) -> None:
        session = memory.scope("session")
        ids = [call(session.items.add, text, type="fact").id for text in TALK]
        made = call(session.queue.summarize, token_limit=40)
        assert (made.text, made.sources) == ("In short: 3 texts.", tuple(ids))
        view = call(session.view)
        assert view.queue.summarize(token_limit=40).text != made.text, "a view asks no model"
        for type_name, scope in (("semantic", memory.semantic), ("episodic", memory.episodic)):
            call(scope.items.add, TALK[0], type="fact")
            assert call(memory.types[type_name].summarize, 40).text == "In short: 1 texts."
        summarizer.fault = FAULTS["raises"]
        assert "7:45" in call(session.queue.summarize, token_limit=60).text
