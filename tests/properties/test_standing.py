"""Which clauses of a user's text stand, over lines that were written for it, and over hostile and random text."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.matrix import examples
from tests.pattern_steps import StepCounter, attacks
from wmem.analysis.analyzer import Analyzer
from wmem.model.standing import StandingRequest
from wmem.rules.standing import RequestsInForce, find_standing_requests, read_in_force
from wmem.rules.standing.finder import TABLES
from wmem.rules.standing.own_text import own_sentences

LISTS = Path(__file__).parents[1] / "standing"
FRENCH = "From now on, answer only in French."
_WINDOW = 4_000  # characters of a message that are read


def lines(name: str) -> Iterator[tuple[str, bool]]:
    """The lines of a list, and whether each is to be found."""
    for line in (LISTS / name).read_text("utf-8").splitlines():
        if line[:2] in ("+ ", "- "):
            yield line[2:], line[0] == "+"


@pytest.mark.parametrize(
    ("name", "wanted", "missed", "false"),
    [
        ("english.txt", 137, 0, 0),
        ("english_held_out.txt", 30, 2, 1),
        ("other_languages.txt", 165, 0, 0),
        ("held_out_2.txt", 30, 0, 0),
        ("held_out_3.txt", 30, 0, 0),
    ],
)
def test_of_the_lines_that_stand_nearly_all_are_found_and_of_others_nearly_none(
    name: str, wanted: int, missed: int, false: int
) -> None:
    told = list(lines(name))
    assert sum(stands for _, stands in told) >= wanted
    wrong = [(text, stands) for text, stands in told if bool(find_standing_requests(text)) != stands]
    assert sum(stands for _, stands in wrong) <= missed, wrong
    assert sum(not stands for _, stands in wrong) <= false, wrong


def pairs() -> Iterator[tuple[str, str, bool]]:
    """A request, what is said later, and whether that ends it."""
    for line in (LISTS / "taken_back.txt").read_text("utf-8").splitlines():
        for sign in ("=>", "=|"):
            if not line.startswith("#") and sign in line:
                request, _, later = line.partition(sign)
                yield request.strip(), later.strip(), sign == "=>"


@pytest.mark.parametrize(("request_text", "later", "ends"), [*pairs()])
def test_what_is_taken_back_or_answered_anew_is_in_force_no_longer(request_text: str, later: str, ends: bool) -> None:
    said = [("later", find_standing_requests(later)), ("request", find_standing_requests(request_text))]
    in_force = {clause.text for who, clause, ended in read_in_force(said, Analyzer()) if who == "request" and not ended}
    assert find_standing_requests(request_text)
    assert bool(in_force) is not ends


def rules(text: str) -> list[tuple[str, str]]:
    return [tuple(each) for each in find_standing_requests(text)]  # type: ignore[misc]  # pairs


def test_a_clause_is_the_user_s_own_words_alone() -> None:
    text = "Thanks, that works!  Call me Sam, and please\nnever use emojis. What is next?"
    assert rules(text) == [("names", "Call me Sam, and please"), ("never", "never use emojis.")]
    assert rules("I'm writing an essay, and I prefer short words, can you help me?") == [
        ("prefer", "I prefer short words")
    ]


def test_a_list_of_rules_stands_item_by_item() -> None:
    text = "Please follow these rules:\n- British spelling\n- no emojis\n2. one idea a paragraph\n\nNow, what is dew?"
    assert [each for each in rules(text) if each[0] != "take back"] == [
        ("rule list", "British spelling"),
        ("do not", "no emojis"),
        ("rule list", "one idea a paragraph"),
    ]


@pytest.mark.parametrize(
    "shown",
    [
        f'"{FRENCH}"',
        f"“{FRENCH}”",
        f"«{FRENCH}»",
        f"> {FRENCH}",
        f"`{FRENCH}`",
        f"```\n{FRENCH}\n```",
        f"~~~\n{FRENCH}\n~~~",
        f"<doc>\n{FRENCH}\n</doc>",
        f"| {FRENCH} |",
        f'{{"text": "{FRENCH}"}}',
        f"2024-05-01 12:00:00 INFO {FRENCH}",
        f"Ann: hello\nBob: {FRENCH}",
        f"assistant: {FRENCH}",
        f"Translate the following text into German:\n{FRENCH}",
        f"Please proofread this: {FRENCH}",
        f"Fix the mail below:\n\nHi team,\n{FRENCH}\nBest, Jo",
        f"Is this a good rule?\n---\n{FRENCH}\n---",
        f"Look at this mail.\nSubject: rules\n{FRENCH}",
        f"{'A line of a report. ' * 150}{FRENCH} {'Another line of a report. ' * 150}",
    ],
)
def test_what_is_shown_is_not_asked_for(shown: str) -> None:
    assert rules(shown) == []
    assert rules(f"{FRENCH}\n\n{shown}")[:1] == [("language", FRENCH)]


def in_force(*newest_first: StandingRequest) -> list[str | None]:
    reader = RequestsInForce(Analyzer())
    return [reader.find_reason(each) for each in newest_first]


def ask(text: str, rule: str = "always") -> StandingRequest:
    return StandingRequest(rule, text)


def test_a_request_ends_when_it_is_taken_back_said_again_or_answered_anew() -> None:
    emojis, french = ask("Never use emojis."), ask("Answer in French.", "language")
    assert in_force(ask("You can use emojis again", "take back"), emojis, french) == [None, "taken back", None]
    assert in_force(ask("Forget all my rules", "take back all"), emojis, french) == [None, "taken back", "taken back"]
    assert in_force(ask("Ignore that rule", "take back last"), emojis, french) == [None, "taken back", None]
    assert in_force(emojis, ask("never use EMOJIS"), french) == [None, "repeated", None]
    assert in_force(ask("Answer in German.", "language"), french) == [None, "replaced"]
    assert in_force(ask("Answer in German when I ask in German.", "language"), french) == [None, None]


def test_what_names_nothing_takes_nothing_back() -> None:
    assert in_force(ask("You can stop now", "take back"), ask("Never use emojis.")) == [None, None]


@given(
    text=st.text(max_size=400)
    | st.lists(st.sampled_from([FRENCH, "> ", "\n", '"', "no emojis ", "x", "- ", ": "])).map("".join)
)
@examples(0.5)
def test_every_clause_stands_in_the_text(text: str) -> None:
    told = " ".join(text.split())
    for request in find_standing_requests(text):
        assert request.text in told
        assert request.text
        assert len(request.text) <= 240
    for sentence in own_sentences(text):
        assert 0 <= sentence.start <= sentence.start + len(sentence.text) <= len(text)


def test_only_a_bounded_part_of_a_text_is_read() -> None:
    longest = max(len(each.text) for each in own_sentences("word " * 100_000))
    read = sum(len(each.text) for each in own_sentences("Always do it.\n" * 100_000))
    assert longest <= 600
    assert read <= _WINDOW


@pytest.mark.slow
@pytest.mark.no_cover  # it counts the steps of patterns
def test_no_pattern_takes_more_than_its_share_of_steps_on_any_text() -> None:
    """Patterns are tried at the beginning of at most eight clauses of a sentence of at most 600 characters."""
    for table in TABLES:
        for pattern in table.patterns:
            compiled = re.compile(pattern)
            counter = StepCounter(re.compile(rf"\A(?:{pattern})"))
            for before, pump, after in set(attacks(compiled)):
                text = (before + pump * (80 // len(pump) + 1))[:80] + after
                assert counter.count(text)[0] < 20_000, (pattern[:60], text[:60])
