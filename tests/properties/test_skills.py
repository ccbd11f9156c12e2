"""Skills are what worked often: found whatever comes between, the same in every order, without a value of a user's."""

import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shop_traces import FLOWS, Shop
from wmem.rules.skills.calls import ToolCall, Trace, tells_failure
from wmem.rules.skills.miner import MAX_TOOLS, MIN_SUPPORT, Pattern, mine
from wmem.rules.skills.sequences import fold_loops, to_trace
from wmem.rules.skills.similarity import is_variant, measure_distance, to_tool_words
from wmem.rules.skills.wording import to_skill

NOON = 1_764_288_000.0
TOOLS = st.sampled_from(["read", "write", "check", "send", "think", "list", "pay"])
CALLS = st.tuples(TOOLS, st.booleans().map(lambda drawn: drawn), st.integers(0, 2))
TRACES = st.lists(st.lists(CALLS, max_size=12), max_size=14)


def made(*tools: str, number: int = 0, failed: Sequence[str] = (), task: str = "") -> Trace:
    """A trace of these tools; those of `failed` fail."""
    calls = [
        ToolCall(f"{number}-{place}", tool, {"id": f"x{number}"}, "done", tool in failed, NOON + number + place, task)
        for place, tool in enumerate(tools)
    ]
    return to_trace(f"trace-{number}", calls)


def drawn(traces: Sequence[Sequence[tuple[str, bool, int]]]) -> list[Trace]:
    return [
        to_trace(
            f"trace-{number}",
            [
                ToolCall(f"{number}-{at}", tool, {}, "", failed, NOON + at, f"{task}")
                for at, (tool, failed, task) in enumerate(calls)
            ],
        )
        for number, calls in enumerate(traces)
    ]


def to_traces(traces: Mapping[str, Sequence[ToolCall]]) -> list[Trace]:
    return [to_trace(name, calls) for name, calls in traces.items()]


# -- what is found


def test_of_sixty_episodes_of_a_shop_what_was_planted_is_found_and_little_else() -> None:
    right = told = planted = 0
    for seed in range(8):
        found = [pattern.tools for pattern in mine(to_traces(Shop(seed).make_traces(60)))]
        right += sum(tools in FLOWS for tools in found)
        told += len(found)
        planted += len(FLOWS)
    assert right >= 0.95 * told
    assert right >= 0.95 * planted


def test_a_sequence_is_a_skill_from_the_third_task_in_which_it_worked() -> None:
    assert mine([made("read", "write", number=each) for each in range(MIN_SUPPORT - 1)]) == []
    [pattern] = mine([made("read", "write", number=each) for each in range(MIN_SUPPORT)])
    assert (pattern.tools, pattern.support) == (("read", "write"), MIN_SUPPORT)


def test_a_sequence_that_is_part_of_another_is_told_only_if_it_worked_often_alone() -> None:
    whole = [made("find", "read", "send", number=each) for each in range(5)]
    assert [each.tools for each in mine(whole)] == [("find", "read", "send")]
    alone = [made("find", "read", number=each) for each in range(10, 13)]
    assert [each.tools for each in mine([*whole, *alone])] == [("find", "read"), ("find", "read", "send")]


def test_another_call_in_between_and_a_thought_do_not_hide_a_sequence() -> None:
    traces = [made("find", "look", "send"), made("find", "think", "send", number=1), made("find", "send", number=2)]
    assert [(each.tools, each.support) for each in mine(traces)] == [(("find", "send"), 3)]


def test_a_retry_is_no_part_of_a_skill_and_what_failed_for_good_is_none() -> None:
    calls = [
        [ToolCall(f"{number}-{at}", tool, {}, "", failed, NOON) for at, (tool, failed) in enumerate(steps)]
        for number, steps in enumerate([[("find", False), ("send", True), ("send", False)]] * 3)
    ]
    [pattern] = mine([to_trace(f"{number}", each) for number, each in enumerate(calls)])
    assert pattern.tools == ("find", "send")
    assert mine([made("find", "send", number=each, failed=["send"]) for each in range(9)]) == []


def test_attempts_that_failed_count_and_those_that_fail_one_after_the_other_are_told() -> None:
    worked = [made("find", "send", number=each) for each in range(4)]
    failed = [made("find", "send", number=each, failed=["send"]) for each in range(10, 13)]
    [pattern] = mine([*worked, *failed])
    assert (pattern.support, len(pattern.attempts), pattern.failures) == (4, 7, 3)


def test_a_trace_that_is_known_to_have_failed_supports_nothing() -> None:
    traces = [made("find", "send", number=each)._replace(failed=True) for each in range(5)]
    assert mine(traces) == []


def test_a_tool_called_a_thousand_times_is_one_step_and_takes_no_time() -> None:
    for tools in (["poll"] * 1_000, ["poll", "wait"] * 500, ["a", "b", "c", "d"] * 250):
        assert len(fold_loops(made(*tools).steps)) <= 4
        assert mine([made(*tools)]) == []
    [pattern] = mine([made("find", *["read"] * 200, "send", number=each) for each in range(3)])
    assert pattern.tools == ("find", "read", "send")


def test_the_same_steps_in_another_task_of_a_thread_are_another_use() -> None:
    steps = [step for task in range(3) for step in made("find", "send", number=task, task=f"{task}").steps]
    [pattern] = mine([Trace("one thread", tuple(steps))])
    assert pattern.support == 3


def test_a_sequence_is_no_longer_than_that_and_a_long_one_is_told_once() -> None:
    tools = [f"step_{number}" for number in range(MAX_TOOLS)]
    [pattern] = mine([made(*tools, number=each) for each in range(4)])
    assert pattern.tools == tuple(tools)


# -- variants


def test_two_ways_to_find_who_it_is_are_one_skill_and_two_ends_are_two() -> None:
    by_mail = [made("find_user_by_mail", "get_user", "cancel", number=each) for each in range(5)]
    by_name = [made("find_user_by_name", "get_user", "cancel", number=each) for each in range(10, 13)]
    other = [made("find_user_by_mail", "get_user", "change", number=each) for each in range(20, 23)]
    found = {each.tools: each for each in mine([*by_mail, *by_name, *other])}
    assert set(found) == {("find_user_by_mail", "get_user", "cancel"), ("find_user_by_mail", "get_user", "change")}
    merged = found["find_user_by_mail", "get_user", "cancel"]
    assert merged.support == 8
    assert merged.variants == (("find_user_by_name", "get_user", "cancel"),)


@given(st.lists(TOOLS, min_size=1, max_size=6), st.lists(TOOLS, min_size=1, max_size=6))
def test_the_distance_of_sequences_is_that_of_edits(one: list[str], other: list[str]) -> None:
    assert measure_distance(one, one) == 0
    assert measure_distance(one, other) == measure_distance(other, one) <= len(one) + len(other)
    assert is_variant(one, one)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("get_user_details", "get user details"),
        ("getUserDetails", "get user details"),
        ("HTTPGet2", "http get 2"),
        ("mail.send-now", "mail send now"),
        ("查询订单", "查询订单"),
        ("!", "!"),
    ],
)
def test_the_words_of_a_tool_are_those_that_its_name_is_made_of(name: str, words: str) -> None:
    assert " ".join(to_tool_words(name)) == words


# -- text


def test_parameters_are_told_as_what_is_constant_what_varies_and_what_flows_on() -> None:
    def calls(number: int) -> list[ToolCall]:
        at = NOON + number
        return [
            ToolCall(
                f"{number}a",
                "find_user",
                {"mail": f"m{number}@mail.example"},
                f'{{"user_id": "u{number}99"}}',
                False,
                at,
            ),
            ToolCall(f"{number}b", "getOrders", {"user": f"u{number}99", "open": True}, f'["o{number}77"]', False, at),
            ToolCall(
                f"{number}c",
                "cancel_order",
                {"order_id": f"o{number}77", "notify": "by_mail", **({"reason": "no"} if number else {})},
                "done",
                False,
                at,
            ),
        ]

    [pattern] = mine([to_trace(f"{number}", calls(number)) for number in range(4)])
    assert to_skill(pattern).content == (
        "To cancel order: 1. find_user(mail) 2. getOrders(open=true, user from 1's user_id) [get orders] "
        '3. cancel_order(notify="by_mail", order_id from 2, reason?)'
    )


def test_no_value_of_a_user_is_in_a_skill_though_it_is_the_same_each_time() -> None:
    shop = Shop(3)
    skills = [to_skill(pattern) for pattern in mine(to_traces(shop.make_traces(60)))]
    assert skills
    text = " ".join(f"{each}" for each in skills)
    assert [value for value in shop.values if value in text] == []
    private = {"user_id": "ada", "city": "Bern", "pin": 1234, "amount": 4_200, "text": "hello", "phone": "079"}
    traces = [
        to_trace(f"{number}", [ToolCall(f"{number}{tool}", tool, private, "", False, NOON) for tool in ("a", "b")])
        for number in range(5)
    ]
    [pattern] = mine(traces)
    names = "amount, city, phone, pin, text, user_id"
    assert to_skill(pattern).content == f"To b: 1. a({names}) 2. b({names})"


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ("Error: no such user", True),
        ('{"error": "no such user"}', True),
        ("Traceback (most recent call last):", True),
        ('{"error": null, "user": "x"}', False),
        ('{"error": false}', False),
        ("errors_total 0", False),
        ("No error was found", False),
        ("", False),
    ],
)
def test_what_begins_as_tools_tell_their_failures_failed(result: str, failed: bool) -> None:
    assert tells_failure(result) is failed


# -- properties


@given(TRACES, st.randoms(use_true_random=False))
def test_skills_are_the_same_in_every_order_of_the_traces(
    traces: list[list[tuple[str, bool, int]]], chance: random.Random
) -> None:
    read = drawn(traces)
    expected = [to_skill(pattern) for pattern in mine(read)]
    chance.shuffle(read)
    assert [to_skill(pattern) for pattern in mine(read)] == expected


@given(st.lists(st.lists(TOOLS, max_size=9), max_size=14))
def test_support_is_what_looking_at_every_trace_counts(traces: list[list[str]]) -> None:
    read = [made(*tools, number=number) for number, tools in enumerate(traces)]
    for pattern in mine(read, min_link=0):
        counted = {trace.id for trace in read for tools in (pattern.tools, *pattern.variants) if occurs(trace, tools)}
        assert {trace for trace, _ in pattern.uses} == counted


def occurs(trace: Trace, tools: Sequence[str]) -> bool:
    """Whether tools stand in a trace in this order, with at most one other call between two of them."""
    names = [step.tool for step in trace.steps]

    def follows(place: int, rest: Sequence[str]) -> bool:
        if not rest:
            return True
        near = [at for at in range(place + 1, min(place + 3, len(names))) if names[at] == rest[0]]
        return any(follows(at, rest[1:]) for at in near[:1])

    return any(follows(place, tools[1:]) for place, name in enumerate(names) if name == tools[0])


@given(TRACES)
def test_every_skill_worked_in_as_many_tasks_as_it_must_and_is_told_once(
    traces: list[list[tuple[str, bool, int]]],
) -> None:
    found: list[Pattern] = mine(drawn(traces))
    assert all(each.support >= MIN_SUPPORT and 2 <= len(each.tools) <= MAX_TOOLS for each in found)
    assert all(set(each.uses) <= set(each.attempts) for each in found)
    assert len({to_skill(each).id for each in found}) == len(found)


def test_ten_times_the_calls_take_about_ten_times_the_steps() -> None:
    def count(episodes: int) -> int:
        steps = 0

        class Counted(str):
            __slots__ = ()

            def __hash__(self) -> int:
                nonlocal steps
                steps += 1
                return super().__hash__()

        traces = Shop(1).make_traces(episodes)
        counted = {name: [call._replace(tool=Counted(call.tool)) for call in calls] for name, calls in traces.items()}
        mine(to_traces(counted))
        return steps

    assert count(2_000) <= 14 * count(200)
