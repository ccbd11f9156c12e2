"""What a provider reports corrects the count: bounded, pure, dearer at once and cheaper slowly."""

import math
import sys
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from wmem import Calibration, Calibrations, EstimateCounter
from wmem.errors import InvalidInputError
from wmem.model.message import Message
from wmem.tokens.counter import message_tokens

reports = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=20)


@given(reports=reports, limit=st.integers(1, 10**6))
def test_whatever_is_reported_the_correction_stays_within_its_bounds(
    reports: list[tuple[int, int]], limit: int
) -> None:
    known = Calibration()
    for counted, reported in reports:
        before = known
        known = known.learn(counted, reported)
        assert 0.5 <= known.factor <= 3.0
        assert before == Calibration(factor=before.factor, seen=before.seen), "a value is never changed"
    assert limit / 3 - 1 <= known.budget(limit) <= 2 * limit
    assert known.budget(limit) >= 1


@given(ratio=st.floats(0.5, 3.0), counts=st.lists(st.integers(1_000, 100_000), min_size=1, max_size=8))
def test_one_report_of_a_provider_that_always_counts_alike_is_enough(ratio: float, counts: list[int]) -> None:
    known = Calibration()
    for counted in counts:
        known = known.learn(counted, int(counted * ratio))
    assert known.budget(8_000) * ratio <= 8_000 * 1.005 + 2
    assert known.factor == pytest.approx(ratio, rel=0.01)


def test_a_dearer_report_counts_at_once_and_a_cheaper_one_slowly() -> None:
    dear = Calibration().learn(1_000, 1_000).learn(1_000, 1_500)
    assert dear.factor == 1.5
    cheaper = dear.learn(1_000, 1_000)
    assert 1.3 < cheaper.factor < 1.5
    for _ in range(40):
        cheaper = cheaper.learn(1_000, 1_000)
    assert cheaper.factor == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("counted", "reported"), [(10, 400), (5_000, 0), (0, 0)])
def test_a_report_that_tells_nothing_changes_nothing(counted: int, reported: int) -> None:
    known = Calibration(factor=1.2, seen=3)
    assert known.learn(counted, reported) is known


def test_what_no_provider_can_mean_is_refused() -> None:
    for wrong in ((-1, 5), (5, -1)):
        with pytest.raises(InvalidInputError, match="negative"):
            Calibration().learn(*wrong)
    with pytest.raises(InvalidInputError, match="factor"):
        Calibration(factor=9)
    with pytest.raises(InvalidInputError, match="limit 0"):
        Calibration().learn_refusal(100, 0)


def test_B73_a_provider_that_counts_six_tenths_more_is_met_after_smaller_tries_and_then_at_once() -> None:
    limit, count = 4_000, EstimateCounter()

    def real(messages: Sequence[Message]) -> int:
        return int(1.6 * (3 + sum(message_tokens(message, count) for message in messages)))

    known, tries = Calibration(), []
    with wmem.open("memory://", agent_id="agent", counter=count) as memory:
        session = memory.scope("session")
        for turn in range(12):
            session.messages.append([{"role": "user", "content": f"turn {turn} " + "some more words of it " * 60}])
            for tried in range(1, 10):
                context = session.pack(budget=known.budget(limit))
                reported = real(tuple(context.prompt()))
                if reported <= limit:
                    known = known.learn(context.tokens, reported)
                    tries.append(tried)
                    break
                known = known.learn_refusal(context.tokens, limit)
        assert tries[0] == 1, "a short prompt fits at once, and its usage is reported"
        assert set(tries[1:]) == {1}, "and none was refused after that"
        assert reported > 0.8 * limit


def test_B73_an_overflow_leads_to_a_smaller_try_until_it_fits() -> None:
    limit, known = 4_000, Calibration()
    sizes: list[int] = []
    while not sizes or sizes[-1] * 1.6 > limit:
        sizes.append(known.budget(limit))
        known = known.learn_refusal(sizes[-1], limit)
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) <= 7


# --- Of several models ------------------------------------------------------------------------------------------------


@given(
    told=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 10**5), st.integers(0, 10**5)), max_size=30),
    limit=st.integers(1, 10**5),
    reserve=st.integers(0, 10**5),
)
def test_whatever_is_reported_a_budget_is_never_above_its_limit_and_the_dearest_model_s_is_the_least(
    told: list[tuple[str, int, int]], limit: int, reserve: int
) -> None:
    known = Calibrations()
    for model, counted, reported in told:
        known.learn(model, counted, reported, limit=limit)
    budgets = {model: known.budget(limit, model=model, reserve=reserve) for model in "ab"}
    assert all(min(limit, reserve + 1) <= budget <= limit for budget in budgets.values())
    assert known.budget(limit, reserve=reserve) == min(budgets.values())


@given(ratio=st.floats(1.0, 3.0), limit=st.integers(1_000, 10**5), reserve=st.integers(0, 900))
def test_a_prompt_that_fits_the_learned_budget_fits_the_limit_in_the_model_s_tokens_beside_the_reply(
    ratio: float, limit: int, reserve: int
) -> None:
    known = Calibrations()
    known.learn("m", 10_000, math.floor(10_000 * ratio), limit=limit)
    prompt = known.budget(limit, model="m", reserve=reserve) - reserve
    assert math.floor(10_000 * ratio) / 10_000 * prompt + reserve <= limit


def test_a_count_that_varies_by_a_little_moves_no_budget() -> None:
    known = Calibrations()
    budgets: list[int] = []
    for turn in range(60):
        known.learn("m", 3_000, 3_390 if turn % 4 == 1 else 3_330, limit=4_000)
        budgets.append(known.budget(4_000, model="m"))
    assert len(set(budgets[1:])) == 1, "the second report was a little dearer than the first"
    for _ in range(30):
        known.learn("m", 3_000, 3_000, limit=4_000)
    assert known.budget(4_000, model="m") > max(budgets), "a count that is cheaper for good does"


def test_what_a_provider_adds_to_each_prompt_does_not_shrink_long_ones() -> None:
    known = Calibrations()
    known.learn("m", 150, 500, limit=8_000)
    assert known.factor("m") == 3.0, "while nothing else is known, it might be the count that is dear"
    known.learn("m", 5_000, 5_350, limit=8_000)
    assert known.factor("m") == 1.125
    for _ in range(20):
        known.learn("m", 150, 500, limit=8_000)
    assert known.factor("m") == 1.125


def test_a_prompt_as_long_as_a_wrong_factor_allows_puts_it_right() -> None:
    known = Calibrations()
    known.learn("m", 5_000, 20_000, limit=6_000)
    assert known.factor("m") == 3.0
    for _ in range(30):
        sent = known.budget(6_000, model="m")
        known.learn("m", sent, sent, limit=6_000)
    assert known.factor("m") < 1.1


def test_each_model_is_known_by_itself() -> None:
    known = Calibrations()
    known.learn("dear", 3_000, 4_500, limit=4_000)
    known.learn("plain", 3_000, 3_000, limit=4_000)
    assert (known.factor("dear"), known.factor("plain"), known.factor("unknown")) == (1.5, 1.0, 1.0)
    assert known.factor() == 1.5


def test_what_was_learned_wrong_fades_where_nothing_can_be_sent() -> None:
    known = Calibrations()
    known.learn("m", 3_000, 9_000, limit=4_000)
    factors = []
    while known.factor() > 1.0:
        factors.append(known.factor())
        known.fade()
    assert factors == sorted(set(factors), reverse=True)
    assert len(factors) < 20
    known.fade("nobody")
    assert known.factor("nobody") == 1.0


def test_refusals_in_many_threads_are_all_taken_in() -> None:
    known = Calibrations()
    begin = threading.Barrier(8)

    def refused() -> None:
        begin.wait()
        known.learn_refusal("m", 4_000, limit=4_000)

    threads = [threading.Thread(target=refused) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    sys.setswitchinterval(interval)
    assert known.factor("m") == math.ceil(1.1**8 * 16) / 16
