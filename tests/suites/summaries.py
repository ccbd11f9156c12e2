"""Suite of summaries with a model: what it is given, and that nothing but a summary is taken from it."""

import pytest

import wmem
from tests.suites.summarizers import FAULTS, Summarizer, SummarizerSuite
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
