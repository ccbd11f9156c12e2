"""The rules of session memories at every number: times to live, promotion, routing, relevance, likeness."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmem import InvalidInputError, Policy
from wmem.model.ids import new_ulid, parse_promoted_id, to_promoted_id
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.retrieval.relevance import relevance
from wmem.rules.importance import importance
from wmem.rules.json_equality import json_equal
from wmem.rules.promotion import promotion_rule, should_flush_touches
from wmem.rules.routing import EPISODIC, SEMANTIC, route
from wmem.rules.ttl import DEFAULT_TTL, clamp_expiry, expiry, extend_expiry, resolve_ttl, rewrite_row

HOUR, DAY = 3_600.0, 86_400.0
PRIORITIES = ("low", "medium", "high", "critical")
ACCESSES = {"low": 10, "medium": 15, "high": 20, "critical": 10}
SESSION = Policy.session()

instants = st.floats(0, 4e9)
spans = st.floats(0.001, 1e9)
shares = st.floats(0, 1)
priorities = st.sampled_from(PRIORITIES)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    created = draw(instants)
    return Row(
        id="i",
        content=b'"x"',
        created_at=created,
        updated_at=created + draw(st.floats(0, 1e6)),
        priority=draw(priorities),
        importance=draw(st.none() | shares),
        length=draw(st.integers(0, 5_000)),
        expires_at=draw(st.none() | spans.map(lambda span: created + span)),
        deleted_at=draw(st.none() | st.just(created)),
        access_count=draw(st.integers(0, 30)),
        promoted_to=draw(st.none() | st.just("there")),
    )


# -- times to live


@given(rows(), instants)
def test_an_item_is_visible_exactly_until_its_instant_unless_it_was_deleted(row: Row, now: float) -> None:
    in_time = row.expires_at is None or now < row.expires_at
    assert row.expired(now) is not in_time
    assert row.visible(now) is (in_time and row.deleted_at is None)


@given(priorities, st.none() | spans, instants, st.booleans())
def test_an_expiry_is_the_time_to_live_after_now_or_never(
    priority: str, ttl_s: float | None, now: float, pinned: bool
) -> None:
    at = expiry(SESSION, priority, ttl_s, now, pinned=pinned)
    assert at == (None if pinned or ttl_s is None else now + ttl_s)
    given_ = expiry(SESSION, priority, DEFAULT_TTL, now, pinned=False)
    assert given_ == now + {"low": 1, "medium": 4, "high": 12, "critical": 24}[priority] * HOUR


@given(st.one_of(st.just(math.nan), st.just(math.inf), st.floats(max_value=0), st.booleans(), st.text(), st.just([])))
def test_what_is_no_time_to_live_is_refused(ttl_s: Any) -> None:
    with pytest.raises(InvalidInputError, match="ttl_s"):
        resolve_ttl(SESSION, "low", ttl_s)


@given(rows(), st.none() | spans, instants)
def test_an_extension_never_shortens_and_always_revives(row: Row, ttl_s: float | None, now: float) -> None:
    until = extend_expiry(row, ttl_s, now)
    if row.expires_at is None or ttl_s is None:
        assert until is None
    else:
        assert until == max(row.expires_at, now) + ttl_s
        assert until > now or until == now  # floats: a thousandth of a second may vanish in a large number


@given(rows(), instants, st.floats(0, 1e6))
def test_bounding_counts_from_now_what_was_written_in_the_future_once_and_nothing_else(
    row: Row, now: float, later: float
) -> None:
    until = clamp_expiry(row, now)
    if row.expires_at is None or row.updated_at <= now + DAY:
        assert until == row.expires_at
    else:
        assert until == now + max(0.0, row.expires_at - row.updated_at)
    again = rewrite_row(row, now)
    assert (again.expires_at, again.updated_at) == (until, now)
    assert clamp_expiry(again, now + later) == until


# -- promotion


@given(rows(), st.integers(0, 30), instants)
def test_a_rule_names_an_item_exactly_when_one_of_its_four_conditions_holds(
    row: Row, unwritten: int, now: float
) -> None:
    accesses = row.access_count + unwritten
    holds = {
        "accesses": accesses >= ACCESSES[row.priority],
        "critical": row.priority == "critical" and accesses >= 1,
        "importance": importance(row, now, unwritten) >= 0.8,
        "age": accesses >= 5 and now - row.created_at > 6 * HOUR,
    }
    rule = promotion_rule(row, unwritten, now, SESSION)
    if row.promoted_to is not None or not row.visible(now):
        assert rule is None
    elif rule is None:
        assert not any(holds.values())
    else:
        assert holds[rule]


@pytest.mark.parametrize("priority", PRIORITIES)
@pytest.mark.parametrize("off", [-1, 0, 1])
def test_each_threshold_of_accesses_is_where_the_document_puts_it(priority: str, off: int) -> None:
    row = Row("i", b'"x"', 0.0, 0.0, priority=priority, importance=0.1, access_count=ACCESSES[priority] + off)
    expected = "accesses" if off >= 0 else "critical" if priority == "critical" else None
    assert promotion_rule(row, 0, 1.0, SESSION) == expected


@pytest.mark.parametrize(("given_", "rule"), [(0.8, "importance"), (0.7999, None), (1.0, "importance"), (0.0, None)])
def test_the_threshold_of_importance_is_eight_tenths(given_: float, rule: str | None) -> None:
    assert promotion_rule(Row("i", b'"x"', 0.0, 0.0, importance=given_, access_count=1), 0, 0.0, SESSION) == rule


@pytest.mark.parametrize(
    ("age", "accesses", "rule"),
    [(6 * HOUR, 5, None), (6 * HOUR + 0.01, 5, "age"), (6 * HOUR + 0.01, 4, None), (6 * HOUR - 0.01, 9, None)],
)
def test_the_threshold_of_age_is_more_than_six_hours_with_five_accesses(
    age: float, accesses: int, rule: str | None
) -> None:
    row = Row("i", b'"x"', 0.0, 0.0, priority="high", importance=0.1, access_count=accesses)
    assert promotion_rule(row, 0, age, SESSION) == rule
    assert promotion_rule(row._replace(access_count=accesses - 2), 2, age, SESSION) == rule


def test_entries_and_messages_are_never_promoted() -> None:
    row = Row("i", b'"x"', 0.0, 0.0, priority="critical", importance=1.0, access_count=50)
    assert promotion_rule(row, 0, 1e9, SESSION) is not None
    assert promotion_rule(row._replace(key="k"), 0, 1e9, SESSION) is None
    assert promotion_rule(row._replace(role="user"), 0, 1e9, SESSION) is None


@given(rows(), st.integers(1, 40), st.none() | st.floats(0, 10))
def test_fetches_never_wait_for_more_than_a_quarter_of_what_is_lacking_32_or_a_second(
    row: Row, unwritten: int, waited: float | None
) -> None:
    since = None if waited is None else 100.0 - waited
    lacking = ACCESSES[row.priority] - row.access_count
    late = since is not None and 100.0 - since >= 1
    expected = unwritten >= 32 or late or (lacking > 0 and unwritten >= lacking / 4)
    assert should_flush_touches(row, unwritten, since, 100.0, SESSION) is expected


@given(
    st.sampled_from(["fact", "skill", "pattern", "summary", "observation", "action", "thought", "anything"]), st.text()
)
def test_every_item_has_one_home_in_long_term_memory(kind: str, other: str) -> None:
    row = Row("i", b'"x"', 0.0, 0.0, type=kind)
    knowledge = kind in ("fact", "skill", "pattern", "summary")
    assert route(row, "fact") == (SEMANTIC if knowledge else EPISODIC)
    assert route(row, "preference") == SEMANTIC
    assert route(row, other) in (SEMANTIC, EPISODIC)


@given(st.text(min_size=1), instants)
def test_a_promoted_id_tells_what_it_was_made_from(source: str, now: float) -> None:
    assert parse_promoted_id(to_promoted_id(source, now)) == source
    assert parse_promoted_id(new_ulid(now)) is None


# -- relevance and likeness


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 100), shares)
def test_relevance_is_a_share_and_grows_with_earliness_use_and_importance(
    at: int, length: int, accesses: int, given_: float
) -> None:
    score = relevance(at, length, accesses, given_)
    assert 0 <= score <= 1
    assert relevance(at + 1, length, accesses, given_) <= score
    assert relevance(at, length, accesses + 1, given_) >= score
    assert relevance(at, length, accesses, min(1.0, given_ + 0.1)) >= score


@given(json_values, json_values)
def test_likeness_is_equality_of_what_is_stored(one: Any, other: Any) -> None:
    assert json_equal(one, one)
    assert json_equal(load_json(dump_json(one)), one)
    assert json_equal(one, other) is json_equal(other, one)
    if json_equal(one, other):
        assert one == other


@pytest.mark.parametrize(
    ("one", "other"),
    [(True, 1), (False, 0), ([True], [1]), ({"a": {"b": 0}}, {"a": {"b": False}}), ("1", 1), ("ab", ["a", "b"])],
)
def test_a_truth_value_is_no_number_and_a_text_no_list_however_deep(one: Any, other: Any) -> None:
    assert not json_equal(one, other)
    assert json_equal((1, [2]), [1, (2,)])
    assert json_equal(1, 1.0)
