"""What questions of other memories cost or missed, as promises of this one's; each keeps the id of its case."""

from collections.abc import Callable, Mapping
from functools import partial

import pytest

from tests.conformance.conftest import Call, MemoryOpener
from tests.counting import count_calls
from tests.steps import Steps
from wmem import Scope

SHORT = "What did the harbour office say about the ferry in May, and when was worker 17 on the night shift?"
LOG = "\n".join(
    f"2024-05-01 12:00 ERROR worker {at} lost the harbour database, retry in {at} ms" for at in range(1_000, 1_800)
)
LONG = {
    "log": LOG,
    "prose": " ".join(f"In chapter {at} pilot{at % 97} told of storm{at} near isle{at % 61}." for at in range(2_000)),
    "chinese": "".join(chr(0x4E00 + at * 7919 % 6000) for at in range(33_000)),
    "one word": "harbour " * 14_000,
}  # fmt: skip
MONTHS = {
    "may": "may " * 40_000,
    "contract": " ".join(f"The tenant may, in clause {at}, refuse; the owner may not object." for at in range(1_800)),
}


def fill(session: Scope, call: Call) -> None:
    said = [f"Message {at}: the harbour office moved ferry {at % 7} to pier {at % 13} in May." for at in range(300)]
    call(
        session.messages.append,
        [{"role": ("user", "assistant")[at % 2], "content": each} for at, each in enumerate(said)],
    )
    for at in range(20):
        call(session.items.add, f"The ferry {at} of the harbour office has {at} worker cabins.")


def list_acts(session: Scope, call: Call) -> dict[str, Callable[[str], object]]:
    return {
        "pack": lambda query: call(session.pack, query, budget=2_000),
        "recall": lambda query: call(session.recall, query),
        "search": lambda query: call(session.items.search, query, order="recall"),
    }


def check_cost(session: Scope, call: Call, questions: Mapping[str, str]) -> None:
    """That the calls and characters of a question are at most three times a short one's, and do not grow with it."""
    fill(session, call)
    for name, act in list_acts(session, call).items():
        act(SHORT)
        most = 3 * count_calls(partial(act, SHORT))
        for kind, text in questions.items():
            act(text)  # words that are new are stemmed once
            cost = count_calls(partial(act, text))
            assert cost <= most, (name, kind)
    with pytest.MonkeyPatch.context() as patches:
        steps = Steps(patches)
        for name, act in list_acts(session, call).items():
            for kind, text in questions.items():
                # A beginning by which as much is found: what is listed costs, too.
                act(text[:30_000])
                few, many = (steps.count_calls(partial(act, each)) for each in (text[:30_000], text))
                assert many <= 1.3 * few, (name, kind)


def test_b151_no_question_costs_three_times_a_short_one(session: Scope, call: Call) -> None:
    check_cost(session, call, LONG)


def test_b152_months_in_prose_as_a_question_cost_little(session: Scope, call: Call) -> None:
    check_cost(session, call, MONTHS)


def test_b151_a_log_that_is_the_newest_message_and_the_question_costs_little_more(session: Scope, call: Call) -> None:
    fill(session, call)
    call(session.pack, SHORT, budget=2_000)
    most = 3 * count_calls(lambda: call(session.pack, SHORT, budget=2_000))
    call(session.messages.append, {"role": "user", "content": LOG})
    call(session.pack, LOG, budget=2_000)
    assert count_calls(lambda: call(session.pack, LOG, budget=2_000)) <= most


@pytest.mark.parametrize("place", ["first", "last"])
def test_b151_what_is_asked_before_or_after_a_pasted_log_is_found(session: Scope, call: Call, place: str) -> None:
    fill(session, call)
    fact = {"role": "user", "content": "My grandmother's sextant lies in the attic."}
    call(session.messages.append, [fact, *[{"role": "user", "content": f"Remark {at}."} for at in range(40)]])
    asked = "Where is the sextant of my grandmother?"
    query = "\n".join([asked, LOG] if place == "first" else [LOG, asked])
    assert "attic" in call(session.recall, query, limit=1)[0].text
    assert "attic" in call(session.pack, query, budget=500, tail=0).note


class CharCounter:
    """Counts the characters that it is given."""

    name = "characters"
    read = 0

    def __call__(self, text: str, /) -> int:
        self.read += len(text)
        return -(-len(text) // 4)


def test_b151_a_long_question_that_is_stored_is_not_counted_again(open_memory: MemoryOpener, call: Call) -> None:
    counter = CharCounter()
    session = open_memory(counter=counter).scope("session")
    fill(session, call)
    asked = {"role": "user", "content": LOG, "id": "asked"}
    call(session.messages.append, asked)
    for messages in ([asked], [{**asked, "content": f"{LOG} and so on"}]):
        counter.read = 0
        call(session.pack, LOG, budget=2_000, messages=messages)
        assert (counter.read < len(LOG)) is (messages == [asked]), "what the framework changed is counted"
