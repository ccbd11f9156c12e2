"""The rules of the gate: what is weighed and refused is predictable, and routes apply in order, whatever the case."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from tests.nearness.stream import make_stream
from tests.routing.traces import list_items
from wmem import Gate, Route
from wmem.model.gate import Gates, Minima
from wmem.rules.gate import find_fault, fresh_importance
from wmem.rules.routing import RULES, Subject, apply_rules, find_route, is_knowledge, normalize_type

TYPES = st.sampled_from(["fact", "skill", "thought", "user_message", "observation", "metric", "own", ""])
KINDS = st.sampled_from(["fact", "event", "insight", "preference", "correction", "conversation"])
STREAM = 2_000
THRESHOLDS = [number / 10 for number in range(1, 10)]


def make_even(seed: int) -> list[float]:
    """A stream of importances that are spread evenly, in a random order."""
    values = [(place + 0.5) / STREAM for place in range(STREAM)]
    random.Random(seed).shuffle(values)
    return values


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_a_stream_of_even_importance_is_taken_in_the_share_that_is_above_the_threshold(threshold: float) -> None:
    minima = Gates(Gate(min_importance=threshold)).minima("semantic")
    taken = sum(find_fault(minima, importance, 1.0) is None for importance in make_even(14))
    assert abs(taken / STREAM - (1 - threshold)) <= 0.02


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_a_memory_takes_such_a_stream_as_predicted(threshold: float) -> None:
    with wmem.open("memory://", agent_id="agent", gate=Gate(min_importance=threshold)) as memory:
        for text, importance in ((f"sight {place}", value) for place, value in enumerate(make_even(15))):
            taken = memory.memorize({"content": text, "importance": importance, "type": "thought"}).item is not None
            assert taken == (importance >= threshold)
        share = memory.working.items.count() / STREAM
        assert abs(share - (1 - threshold)) <= 0.02
        assert memory.commit().rejected == {"working": STREAM - memory.working.items.count()}


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_a_memory_refuses_the_planted_share_of_near_duplicates(threshold: float) -> None:
    stream = make_stream(700, share=0.3, seed=16)
    with wmem.open("memory://", agent_id="agent", gate=Gate(min_novelty=threshold)) as memory:
        for text, is_repeated in stream:
            routed = memory.memorize({"content": text, "type": "fact"})
            assert (routed.item is None) == is_repeated, text
        planted = sum(is_repeated for _, is_repeated in stream)
        assert abs(memory.commit().rejected["semantic"] / len(stream) - planted / len(stream)) <= 0.02


@given(importance=st.floats(0, 1), novelty=st.floats(0, 1), least=st.floats(0, 1), newest=st.floats(0, 1))
def test_what_is_as_high_as_the_minima_is_taken_and_zero_takes_all(
    importance: float, novelty: float, least: float, newest: float
) -> None:
    assert find_fault(Minima(), importance, novelty) is None
    assert find_fault(Minima(importance, novelty), importance, novelty) is None
    fault = find_fault(Minima(least, newest), importance, novelty)
    if fault is not None:
        assert fault.value < fault.minimum
    elif importance < least - 1e-6 or novelty < newest - 1e-6:
        raise AssertionError("it is too little")


@given(text=st.text(max_size=200), priority=st.sampled_from(["low", "medium", "high", "critical"]))
@examples(1)
def test_the_importance_of_a_new_item_is_a_share_that_grows_with_its_priority(text: str, priority: str) -> None:
    value = fresh_importance(text, priority)
    assert 0 <= value <= 1
    assert fresh_importance(text, "low") <= fresh_importance(text, "medium") <= fresh_importance(text, "high")
    assert (fresh_importance(text, "critical"), fresh_importance(text, "high") >= 0.5) == (1, True)


@given(type_name=TYPES, kind=KINDS, upper=st.booleans(), blank=st.sampled_from(["", " ", "\t"]))
def test_types_are_compared_regardless_of_case_blanks_and_number(
    type_name: str, kind: str, upper: bool, blank: str
) -> None:
    spelled = f"{blank}{type_name.upper() if upper else type_name}{blank}"
    plain = apply_rules(type_name, kind)
    assert apply_rules(spelled, kind) == plain
    if type_name in ("fact", "skill", "thought"):
        assert apply_rules(f"{spelled.strip()}s", kind) == plain
    assert plain, "every item goes somewhere"
    assert ("semantic" in plain) == is_knowledge(type_name, kind)
    assert set(plain.values()) <= {rule.name for rule in RULES}


@given(
    type_name=TYPES,
    kind=KINDS,
    tags=st.lists(st.sampled_from(["A", "b", "Outcome"]), max_size=2).map(tuple),
    importance=st.floats(0, 1),
    least=st.floats(0, 1),
)
def test_the_first_route_that_applies_decides(
    type_name: str, kind: str, tags: tuple[str, ...], importance: float, least: float
) -> None:
    subject = Subject(type_name, kind, tags, "user", importance)
    routes = [
        Route("important", ["working"], min_importance=least),
        Route("tagged", ["semantic"], tags=["a", "OUTCOME"]),
        Route("kinds", ["episodic"], kinds=[" Event ", "INSIGHT"], sources=["USER"]),
        Route("of others", ["episodic"], sources=["tool"]),
        Route("types", ["semantic"], types=["Facts", "skill "]),
    ]
    applies = [
        importance >= least,
        bool({"A", "Outcome"} & set(tags)),
        kind in ("event", "insight"),
        False,
        normalize_type(type_name) in ("fact", "skill"),
    ]
    expected = next((route for route, does in zip(routes, applies, strict=True) if does), None)
    assert find_route(subject, routes) == expected
    assert find_route(subject, [Route("all", ["working"]), *routes]) == Route("all", ["working"])


def test_items_of_realistic_traces_go_where_they_belong() -> None:
    expected = list(list_items())
    assert len(expected) >= 300
    with wmem.open("memory://", agent_id="agent") as memory, memory.turn("s") as turn:
        routed = [frozenset(turn.memorize(each.item).stored) for each in expected]
    wrong = [(each.item, got) for each, got in zip(expected, routed, strict=True) if each.stores != got]
    semantic = [(("semantic" in each.stores), ("semantic" in got)) for each, got in zip(expected, routed, strict=True)]
    sent = [belongs for belongs, goes in semantic if goes]
    found = [goes for belongs, goes in semantic if belongs]
    assert sum(sent) / len(sent) >= 0.95, "precision"
    assert sum(found) / len(found) >= 0.95, "recall"
    assert wrong == []
