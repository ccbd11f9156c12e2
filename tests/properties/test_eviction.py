"""What leaves a full scope is decided by numbers alone, in one order, and never more than it takes."""

import math
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmem import InvalidInputError, MemoryItem, Policy, agent_fingerprint
from wmem.analysis.sentences import split_sentences
from wmem.analysis.summarize import WeightedText, extract
from wmem.model.row import Row
from wmem.model.values import dump_json
from wmem.rules.eviction import Size, Victim, eviction_order, is_recent, is_stale, select_victims
from wmem.rules.forgetting import parse_instruction, rows_to_forget
from wmem.rules.tfidf_importance import importance_by_id, tfidf_per_token
from wmem.tokens.counter import MESSAGE_OVERHEAD
from wmem.tokens.estimate import EstimateCounter

NOON = 1_764_288_000.0
QUEUE = Policy.queue()
STEP = 30

WORDS = st.lists(
    st.sampled_from(["the", "a", "deadline", "budget", "Biscuit", "dog", "is", "of", "Friday"]), min_size=1, max_size=8
).map(" ".join)
SCORE = st.none() | st.sampled_from([0.0, 0.29, 0.3, 0.5, 0.69, 0.7, 1.0]) | st.floats(0, 1)


def row(number: int, content: str = "x", **columns: Any) -> Row:
    made = Row(f"i{number}", dump_json(content), NOON, NOON, tokens=3, step_index=0)
    return made._replace(**columns)


@st.composite
def queues(draw: st.DrawFn) -> list[Row]:
    return [
        row(
            number,
            draw(WORDS),
            importance=draw(SCORE),
            tokens=draw(st.integers(1, 40)),
            step_index=draw(st.none() | st.integers(0, STEP)),
            created_at=NOON - draw(st.sampled_from([0, 10, 3_600, 3_601, 90_000])),
            pinned=draw(st.integers(0, 4)) == 0,
            expires_at=draw(st.sampled_from([None, None, NOON, NOON + 1])),
            deleted_at=draw(st.sampled_from([None, None, None, NOON - 1])),
        )
        for number in range(draw(st.integers(0, 8)))
    ]


def ordered(rows: Sequence[Row], policy: Policy = QUEUE) -> list[Victim]:
    return list(eviction_order(rows, policy, step=STEP, now=NOON))


# -- who may leave, and in what order


@given(rows=queues())
def test_whatever_can_be_seen_and_is_not_pinned_may_leave_once_and_nothing_pinned_does(rows: list[Row]) -> None:
    left = [victim.row.id for victim in ordered(rows)]
    assert sorted(left) == sorted(each.id for each in rows if not (each.pinned and each.visible(NOON)))


@given(rows=queues())
def test_what_nobody_sees_leaves_first(rows: list[Row]) -> None:
    unseen = [not victim.row.visible(NOON) for victim in ordered(rows)]
    assert unseen == sorted(unseen, reverse=True)
    rules = [victim.rule for victim in ordered(rows) if not victim.row.visible(NOON)]
    assert rules == sorted(rules, key=("expired", "deleted").index)


@given(rows=queues())
def test_what_its_importance_protects_leaves_last_the_stale_of_it_first(rows: list[Row]) -> None:
    seen = [victim for victim in ordered(rows) if victim.row.visible(NOON)]
    guarded = [victim.parts["importance"] >= QUEUE.guard_high for victim in seen]
    assert guarded == sorted(guarded)
    assert guarded == [victim.rule == "guarded" for victim in seen]
    old = [is_stale(victim.row, QUEUE, step=STEP, now=NOON) for victim in seen if victim.rule == "guarded"]
    assert old == sorted(old, reverse=True)


@given(rows=queues())
def test_of_what_is_not_protected_the_last_steps_leave_after_the_others(rows: list[Row]) -> None:
    late = [
        is_recent(victim.row, QUEUE, step=STEP) for victim in ordered(rows) if victim.rule in ("stale", "low", "middle")
    ]
    assert late == sorted(late)


@given(rows=queues())
def test_stale_leaves_before_low_before_middle_and_the_oldest_first_among_equals(rows: list[Row]) -> None:
    place = {each.id: number for number, each in enumerate(rows)}
    for late in (False, True):
        group = [
            (("stale", "low", "middle").index(victim.rule), place[victim.row.id])
            for victim in ordered(rows)
            if victim.rule in ("stale", "low", "middle") and is_recent(victim.row, QUEUE, step=STEP) is late
        ]
        assert group == sorted(group)


@given(rows=queues())
def test_the_same_items_leave_in_the_same_order_whenever_they_are_asked(rows: list[Row]) -> None:
    assert ordered(rows) == ordered(list(rows))


@given(rows=queues())
def test_where_the_oldest_leave_nothing_but_age_and_pins_count(rows: list[Row]) -> None:
    seen = [victim.row.id for victim in ordered(rows, Policy.buffer()) if victim.row.visible(NOON)]
    assert seen == [each.id for each in rows if each.visible(NOON) and not each.pinned]


def test_an_item_is_stale_from_the_first_step_or_second_beyond_its_time() -> None:
    old = row(0, step_index=10)
    assert is_stale(old, QUEUE, step=30, now=NOON) is False
    assert is_stale(old, QUEUE, step=31, now=NOON) is True
    assert is_stale(old, QUEUE, step=10, now=NOON + 3_600) is False
    assert is_stale(old, QUEUE, step=10, now=NOON + 3_600.001) is True
    off = Policy.queue(step_ttl=None, wall_ttl_s=None)
    assert is_stale(old, off, step=10_000, now=NOON + 1e9) is False
    assert is_stale(row(0, step_index=None), QUEUE, step=10_000, now=NOON) is False


def test_the_last_steps_are_counted_with_the_one_that_is_on() -> None:
    assert [is_recent(row(0, step_index=step), QUEUE, step=20) for step in (15, 16, 20)] == [False, True, True]
    assert is_recent(row(0, step_index=20), Policy.queue(recent_steps=0), step=20) is False
    assert is_recent(row(0, step_index=None), QUEUE, step=0) is False


# -- how many leave


@given(rows=queues(), items=st.integers(0, 20), tokens=st.integers(0, 300))
def test_no_more_leave_than_it_takes_and_they_are_the_first(rows: list[Row], items: int, tokens: int) -> None:
    order = ordered(rows)
    gone = select_victims(order, Size(items, tokens), Size(items, tokens))
    assert gone == order[: len(gone)]
    if gone:
        fewer = gone[:-1]
        assert len(fewer) < items or sum(each.row.tokens or 0 for each in fewer) < tokens
    if len(gone) < len(order):
        assert len(gone) >= items
        assert sum(each.row.tokens or 0 for each in gone) >= tokens


@given(rows=queues(), items=st.integers(0, 5), more=st.integers(0, 10))
def test_for_room_that_is_only_wanted_nothing_protected_leaves(rows: list[Row], items: int, more: int) -> None:
    order = ordered(rows)
    needed = select_victims(order, Size(items), Size(items))
    gone = select_victims(order, Size(items), Size(items + more))
    assert gone[: len(needed)] == needed
    assert all(victim.rule != "guarded" for victim in gone[len(needed) :])
    assert len(gone) <= items + more


# -- what nobody scored


@given(rows=queues())
def test_a_given_importance_stays_and_a_computed_one_never_protects(rows: list[Row]) -> None:
    scores = importance_by_id(rows, QUEUE.guard_high)
    for each in rows:
        if each.importance is None:
            assert 0 <= scores[each.id] < QUEUE.guard_high
        else:
            assert scores[each.id] == each.importance


@given(rows=queues(), data=st.data())
def test_the_order_of_the_items_says_nothing_about_their_importance(rows: list[Row], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    assert importance_by_id(rows, 0.7) == importance_by_id(shuffled, 0.7)


def test_rare_words_matter_more_than_common_ones_and_than_many_of_them() -> None:
    texts = ["ok thanks", "thanks a lot, ok", "the dog is called Biscuit", "ok ok ok thanks thanks"]
    count = EstimateCounter()
    rows = [row(number, text, tokens=count(text)) for number, text in enumerate(texts)]
    told = tfidf_per_token(rows)
    assert max(told, key=told.__getitem__) == "i2"
    scores = importance_by_id(rows, 0.7)
    assert max(scores, key=scores.__getitem__) == "i2"


def test_what_says_the_same_matters_the_same_and_one_alone_is_in_the_middle() -> None:
    assert importance_by_id([row(0, "a dog"), row(1, "a dog")], 0.7) == {"i0": 0.5, "i1": 0.5}
    assert importance_by_id([row(0)], 0.7) == {"i0": 0.5}
    assert importance_by_id([row(0, "the and of"), row(1, "Biscuit")], 0.7) == {
        "i0": 0.25,
        "i1": math.nextafter(0.7, 0),
    }
    assert importance_by_id([], 0.7) == {}


def test_long_texts_are_judged_like_short_ones_but_for_what_stands_around_each() -> None:
    long = "Biscuit the dog " * 2_000
    told = tfidf_per_token([row(0, long, tokens=8_000), row(1, "Biscuit the dog", tokens=4)])
    assert told["i0"] * (8_000 + MESSAGE_OVERHEAD) / 8_000 == pytest.approx(told["i1"] * (4 + MESSAGE_OVERHEAD) / 4)


def test_one_word_alone_is_not_denser_than_what_tells_more() -> None:
    told = tfidf_per_token([row(0, "ok", tokens=1), row(1, "deadline: Friday, 5 pm", tokens=7)])
    assert told["i0"] < told["i1"]


# -- what is forgotten in words


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("oldest", ("oldest", 0)),
        (" Oldest\n", ("oldest", 0)),
        ("LEAST  important", ("least important", 0)),
        ("least_important", ("least important", 0)),
        ("position:3", ("position", 3)),
        ("Position : 12", ("position", 12)),
        ("before:step_5", ("before", 5)),
        ("before: STEP 5", ("before", 5)),
        ("before:step-05", ("before", 5)),
    ],
)
def test_an_instruction_is_understood_whatever_its_case_and_spaces(told: str, meant: tuple[str, int]) -> None:
    assert parse_instruction(told) == meant


@pytest.mark.parametrize(
    "told",
    [
        "",
        "newest",
        "position",
        "position:-1",
        "position -1",
        "before:step_-1",
        "position:1.5",
        "position:step_1",
        "before:5",
        "before:step_",
        None,
        3,
        "x" * 900,
    ],
)
def test_anything_else_is_refused_with_the_four_that_are_not(told: object) -> None:
    with pytest.raises(InvalidInputError, match=r"'oldest', 'least important', 'position:N', 'before:step_N'"):
        parse_instruction(told)


@given(rows=queues(), number=st.integers(0, 20))
def test_what_is_forgotten_is_what_was_meant(rows: list[Row], number: int) -> None:
    scores = importance_by_id(rows, 0.7)
    assert rows_to_forget(("oldest", 0), rows, scores) == rows[:1]
    assert rows_to_forget(("position", number), rows, scores) == ([rows[number]] if number < len(rows) else [])
    before = rows_to_forget(("before", number), rows, scores)
    assert before == [each for each in rows if each.step_index is not None and each.step_index < number]
    least = rows_to_forget(("least important", 0), rows, scores)
    assert len(least) == min(1, len(rows))
    if least:
        lowest = [each for each in rows if scores[each.id] == min(scores.values())]
        assert least[0] == lowest[0]


# -- a summary

TEXTS = st.lists(
    st.builds(
        WeightedText,
        st.lists(WORDS, min_size=1, max_size=4).map(". ".join) | st.text(max_size=60),
        st.floats(0, 1),
    ),
    max_size=8,
)


@given(texts=TEXTS, limit=st.integers(1, 80))
def test_an_extract_is_made_of_sentences_and_pieces_of_long_ones_in_their_order_within_the_limit(
    texts: list[WeightedText], limit: int
) -> None:
    count = EstimateCounter()
    made = extract(texts, limit, count)
    assert made.tokens == count(made.text) <= limit or made == ("", 0, ())
    assert list(made.source_indices) == sorted(set(made.source_indices))
    told = [sentence for text in texts for sentence in split_sentences(text.text)]
    for line in made.text.split("\n") if made.text else ():
        piece = line.removeprefix("… ").removesuffix(" …")
        assert line in told or any(piece in sentence and count(sentence) > limit for sentence in told)
    assert extract(texts, limit, count) == made


def test_the_weightiest_is_kept_and_what_is_said_twice_is_quoted_once() -> None:
    count = EstimateCounter()
    texts = [WeightedText("The dog is Biscuit. It rains.", 0.2), WeightedText("The deadline is Friday!", 0.9)]
    assert extract([*texts, WeightedText("it RAINS.", 0.1)], 100, count).text == (
        "The dog is Biscuit.\nIt rains.\nThe deadline is Friday!"
    )
    short = extract(texts, count("The deadline is Friday!"), count)
    assert (short.text, short.source_indices) == ("The deadline is Friday!", (1,))
    assert extract(texts, 1, count) == ("", 0, ())


def test_sentences_end_where_readers_end_them() -> None:
    assert split_sentences('He said "go." We went!  Why?\nNo idea') == ['He said "go."', "We went!", "Why?", "No idea"]
    assert split_sentences("\u96e8\u3002\u6674\u308c\uff01 v1.2 is out") == [
        "\u96e8\u3002",
        "\u6674\u308c\uff01",
        "v1.2 is out",
    ]
    assert split_sentences(" \n ") == []


def test_a_text_of_blank_space_alone_is_looked_through_at_once() -> None:
    # A look from each of its places would take half an hour, in which nothing stops it: hence a process of its own.
    code = "from wmem.analysis.sentences import split_sentences; assert split_sentences(' ' * 2_000_000) == []"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


# -- numbers of a policy


@pytest.mark.parametrize(
    "numbers",
    [
        {"guard_low": 1.1},
        {"guard_high": -0.1},
        {"guard_low": math.nan},
        {"guard_low": 0.8},
        {"guard_high": True},
        {"step_ttl": 0},
        {"wall_ttl_s": math.inf},
        {"wall_ttl_s": "off"},
        {"max_items": True},
        {"max_tokens": 0},
        {"recent_steps": -1},
        {"eviction": "lru"},
        {"ttl_s": 0},
        {"ttl_s": True},
        {"flush_threshold": 0},
        {"flush_threshold": 65},
        {"on_flush": print},
        {"on_flush": "print", "flush_threshold": 5},
    ],
    ids=repr,
)
def test_B65_a_number_that_makes_no_sense_is_refused_at_the_start(numbers: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="policy"):
        Policy.queue(**numbers)


def test_B65_none_switches_each_limit_off() -> None:
    names = ("max_items", "max_tokens", "step_ttl", "wall_ttl_s", "eviction", "flush_threshold", "on_flush")
    off = Policy.queue(ttl_s=None, **dict.fromkeys(names))
    assert all(getattr(off, name) is None for name in names)
    assert set(off.ttl_s.values()) == {None}
    assert off.has_item_limit is False


def test_a_callback_is_neither_stored_nor_compared_and_found_again_by_an_equal_policy() -> None:
    def handed(items: list[MemoryItem]) -> None:
        raise AssertionError(items)

    mine = Policy.buffer(flush_threshold=5, on_flush=handed)
    stored = Policy.model_validate_json(mine.model_dump_json(exclude_defaults=True))
    assert (stored, stored.on_flush) == (mine, None)
    assert stored.with_functions_of(mine).on_flush is handed
    assert stored.with_functions_of(Policy.buffer(flush_threshold=6, on_flush=handed)).on_flush is None
    assert stored.with_functions_of(Policy.buffer(flush_threshold=5)).on_flush is None
    weighed = stored.with_profile("balanced").with_functions_of(mine)
    assert (weighed.on_flush, weighed.recall) == (handed, "balanced")
    assert mine != Policy.buffer(flush_threshold=6, on_flush=handed)
    assert mine != "buffer"


@pytest.mark.parametrize("agent_id", [None, ""])
def test_nobody_has_no_fingerprint(agent_id: str | None) -> None:
    assert agent_fingerprint(agent_id) is None


@given(one=st.text(min_size=1), other=st.text(min_size=1))
def test_a_fingerprint_is_sixteen_hex_letters_of_its_agent_alone(one: str, other: str) -> None:
    told = agent_fingerprint(one) or ""
    assert len(told) == 16
    assert set(told) <= set("0123456789abcdef")
    assert (told == agent_fingerprint(other)) is (one == other)


def test_a_fingerprint_is_the_sha_256_of_the_id() -> None:
    # From `printf agent-7 | sha256sum`.
    assert agent_fingerprint("agent-7") == "cfad431af89dd48c"
