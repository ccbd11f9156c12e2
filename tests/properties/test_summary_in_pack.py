"""A summary of what the budget leaves out: bounded, deterministic, pointing to what it is from, stored nowhere."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import wmem
from wmem.errors import InvalidInputError
from wmem.model.message import Message
from wmem.pack import pack
from wmem.pack.request import Candidate, PackOptions, PackRequest
from wmem.pack.summary import MAX_COVERED_MESSAGES
from wmem.tokens.counter import default_counter, message_tokens

COUNT = default_counter()
FACT = "The harbour pilot of Lisbon is called Ruth Okafor."


def talk(count: int) -> list[dict[str, Any]]:
    said = [{"role": "user", "content": FACT}]
    for number in range(count):
        said.append({"role": "assistant", "content": f"Noted, that was remark number {number} of many."})
        said.append({"role": "user", "content": f"And here is remark {number}. It says nothing. Go on."})
    return said


@pytest.fixture
def session() -> Iterator[wmem.Scope]:
    with wmem.open("memory://", agent_id="agent") as memory:
        yield memory.scope("session")


def summaries(context: wmem.Context) -> list[Any]:
    return [report for report in context.included if report.rule == "summary"]


def test_what_was_left_out_is_told_in_short_and_says_where_it_is_from(session: wmem.Scope) -> None:
    stored = session.messages.append(talk(20))
    context = session.pack(budget=400, summary=True)
    [report] = summaries(context)
    assert FACT in context.note
    assert (report.placed, report.ids) == ("note", ())
    assert stored[0].id in report.sources
    texts = {message.id: message.text for message in stored}
    shown = [line.partition(": ")[2] for line in context.note.splitlines() if line.startswith("> ")]
    assert {line for line in shown if not any(line in texts[id] for id in report.sources)} == set()
    assert not {message.id for message in context.messages} & set(report.sources)
    assert f"of {len(report.sources)} messages" in str(context.explain())


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("summary", [40, 100, 250])
def test_a_summary_keeps_to_the_room_that_was_set_aside(session: wmem.Scope, summary: int, *, stable: bool) -> None:
    session.messages.append(talk(60))
    for budget in range(150, 900, 50):
        context = session.pack(budget=budget, summary=summary, stable=stable)
        assert context.sizes["note"] <= summary
        assert context.tokens <= budget


def test_what_fits_after_all_is_sent_and_not_summed_up(session: wmem.Scope) -> None:
    session.messages.append(talk(20))
    whole = session.pack(budget=100_000).tokens
    context = session.pack(budget=whole, summary=whole // 3)
    assert not context.note
    assert len(context.messages) == 41
    assert session.pack(budget=whole - 1, summary=whole // 3).note


def test_room_in_which_no_sentence_fits_is_given_to_messages(session: wmem.Scope) -> None:
    session.messages.append(talk(20))
    assert session.pack(budget=200, summary=20).messages == session.pack(budget=200).messages


def test_a_summary_prefers_what_has_the_words_of_the_question_and_is_made_alike_each_time(session: wmem.Scope) -> None:
    session.messages.append(
        [{"role": "user", "content": f"Guest {n} ordered dish {n * 3} on Friday."} for n in range(90)]
    )
    session.messages.append([{"role": "user", "content": f"Now {n}, hm."} for n in range(4)])
    first = session.pack("guest 7 dish", budget=300, summary=150, inherit=False)
    assert first == session.pack("guest 7 dish", budget=300, summary=150, inherit=False)


def test_packing_with_a_summary_writes_nothing(session: wmem.Scope) -> None:
    session.messages.append(talk(20))
    before = session.export()
    session.pack("pilot", budget=300, summary=True, stable=True)
    assert session.export() == before


def test_a_summary_of_a_long_session_reads_a_bounded_part_and_says_how_much() -> None:
    read: list[int] = []
    decoded: list[int] = []

    def load(at: int) -> Message:
        decoded.append(at)
        return Message.of("user", f"Remark {at}, of which there are many.", id=f"m{at}")

    def newest_first() -> Iterator[Candidate]:
        for at in range(99_999, -1, -1):
            read.append(at)
            yield Candidate(id=f"m{at}", role="user", tokens=14, at=float(at), load=partial(load, at))

    options = PackOptions(
        budget=2_000, system="", tools=(), reserve=0, tail=0.5, recent=4, profile="openai", orphans="drop",
        note_role="user",
        stable=False, summary=600, prompt_counter=None, reasoning="tools", roles="free",
    )  # fmt: skip
    context = pack(PackRequest(options=options, count=COUNT, newest_first=newest_first(), total=100_000))
    assert len(read) < len(context.messages) + MAX_COVERED_MESSAGES + 20
    assert len(decoded) < len(context.messages) + MAX_COVERED_MESSAGES + 20
    assert f"covers the newest {MAX_COVERED_MESSAGES} messages that are left out, not the 99" in context.warnings[0]
    assert context.dropped.count + len(context.messages) == 100_000


@pytest.mark.slow
def test_B62_a_hundred_rounds_of_summing_up_never_exceed_the_budget_nor_the_summary_its_cap(
    session: wmem.Scope,
) -> None:
    for number in range(100):
        session.messages.append({"role": "user", "content": f"Round {number}. " + f"We spoke of topic {number}. " * 20})
        session.messages.append({"role": "assistant", "content": f"Topic {number} it is. " * (number % 30 + 1)})
        context = session.pack(budget=1_000, summary=200)
        assert context.tokens <= 1_000
        assert context.sizes["note"] <= 200
        assert sum(message_tokens(each, COUNT) for each in context.messages) <= 1_000
    assert summaries(context)
    assert session.messages.count() == 200


@pytest.mark.parametrize("note_role", ["user", "system"])
@pytest.mark.parametrize("stable", [False, True])
def test_B11_a_summary_is_never_a_system_message_in_the_middle(
    session: wmem.Scope, note_role: Any, *, stable: bool
) -> None:
    session.messages.append(talk(40))
    for profile in ("anthropic", "gemini"):
        context = session.pack(
            budget=500, summary=True, system="Be brief.", profile=profile, note_role=note_role, stable=stable
        )
        roles = [message["role"] for message in context.to_openai()]
        assert summaries(context)
        assert "system" not in roles[roles.count("system") :]
        assert next(role for role in roles if role != "system") == "user"


@pytest.mark.parametrize("wrong", [-1, 1.5, "100"])
def test_a_summary_of_no_sensible_size_is_refused(session: wmem.Scope, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="summary"):
        session.pack(budget=300, summary=wrong)
