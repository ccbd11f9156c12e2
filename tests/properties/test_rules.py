"""Rules are pure and stay in their ranges; names of places, ids and instants tell what they must and nothing else."""

import math
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmem.engine.retention import retention_s
from wmem.engine.write_queue import backoff
from wmem.errors import InvalidInputError
from wmem.journal.disk import _record_key, _root_shard_key, _shard_key
from wmem.journal.port import CHAIN_BITS, KEEP_GRACE_S, chain_after, new_record_id, new_salt, path_name
from wmem.model.change import ItemPut, ItemRemoved, PolicyChanged
from wmem.model.history import Incarnation, Path
from wmem.model.ids import new_ulid
from wmem.model.instants import to_epoch, to_iso
from wmem.model.row import Row
from wmem.policy import PRIORITIES, Policy
from wmem.rules.importance import importance, time_decay
from wmem.rules.promotion import promotion_rule, should_flush_touches
from wmem.rules.ttl import DEFAULT_TTL, expiry

NOON = 1_764_288_000.0
HOUR = 3_600.0
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

LATER = st.floats(-1e6, 1e9).map(lambda seconds: NOON + seconds)
PRIORITY = st.sampled_from(("low", "medium", "high", "critical"))
COUNT = st.integers(0, 1_000_000)
TTL = st.floats(1e-3, 1e9)


def drawn(priority: str, length: int, access_count: int, expires_at: float | None) -> Row:
    return Row(
        "item", b"", NOON, NOON, priority=priority, length=length, access_count=access_count, expires_at=expires_at
    )


ROWS = st.builds(drawn, PRIORITY, COUNT, COUNT, st.none() | LATER)


# -- how much an item deserves to stay


@given(row=ROWS, now=LATER, unwritten=COUNT)
def test_importance_is_never_outside_0_and_1(row: Row, now: float, unwritten: int) -> None:
    assert 0 <= importance(row, now, unwritten) <= 1
    assert 0 <= time_decay(row, now) <= 1


@given(priority=PRIORITY, accesses=st.integers(0, 12), length=st.integers(1, 1_200))
def test_importance_is_what_the_formula_gives_on_paper(priority: str, accesses: int, length: int) -> None:
    paper = (
        Fraction(4, 10) * min(Fraction(accesses, 10), Fraction(1))
        + Fraction(3, 10)
        + Fraction(2, 10) * Fraction(PRIORITIES.index(priority) + 1, 4)
        + Fraction(1, 10) * min(Fraction(length, 1_000), Fraction(1))
    )
    assert importance(drawn(priority, length, accesses, None), NOON) == float(paper)


def test_what_the_formula_puts_on_the_threshold_is_promoted() -> None:
    policy = Policy.session()
    assert promotion_rule(drawn("high", 700, 7, None), 0, NOON, policy) == "importance"
    assert promotion_rule(drawn("high", 699, 7, None), 0, NOON, policy) is None


@given(row=ROWS, now=LATER, more=COUNT)
def test_use_length_and_priority_only_ever_raise_importance(row: Row, now: float, more: int) -> None:
    before = importance(row, now)
    assert importance(row._replace(access_count=row.access_count + more), now) >= before
    assert importance(row._replace(length=row.length + more), now) >= before
    for priority in PRIORITIES[PRIORITIES.index(row.priority) :]:
        assert importance(row._replace(priority=priority), now) >= before


@given(row=ROWS, now=LATER, passed=st.floats(0, 1e9))
def test_time_only_ever_lowers_importance(row: Row, now: float, passed: float) -> None:
    assert importance(row, now + passed) <= importance(row, now)


@given(row=ROWS, now=LATER, unwritten=COUNT)
def test_a_fetch_that_is_not_written_yet_counts_like_one_that_is(row: Row, now: float, unwritten: int) -> None:
    written = row._replace(access_count=row.access_count + unwritten)
    assert importance(row, now, unwritten) == importance(written, now)


@given(row=ROWS, now=LATER, given_score=st.floats(0, 1), unwritten=COUNT)
def test_a_score_that_was_given_is_returned_unchanged(row: Row, now: float, given_score: float, unwritten: int) -> None:
    assert importance(row._replace(importance=given_score), now, unwritten) == given_score


@given(row=ROWS, now=LATER)
def test_the_same_question_gets_the_same_answer(row: Row, now: float) -> None:
    assert importance(row, now) == importance(row, now)


def test_the_documents_own_numbers() -> None:
    text = "Meeting notes from today's standup"
    # Example of the session tools document: it prints 0.45, its formula says 0.4934 ("wins", as pinned).
    row = Row("item", b"", NOON, NOON, priority="high", length=len(text), access_count=1, expires_at=NOON + 12 * HOUR)
    assert importance(row, NOON) == pytest.approx(0.4934)
    assert importance(row, NOON + 6 * HOUR) == pytest.approx(0.4934 - 0.15)
    assert importance(row, NOON + 12 * HOUR) == pytest.approx(0.4934 - 0.3)
    assert importance(row, NOON - HOUR) == pytest.approx(0.4934)
    assert importance(row._replace(access_count=10), NOON) == pytest.approx(0.4934 + 0.36)
    assert importance(row._replace(expires_at=None), NOON + 1e9) == pytest.approx(0.4934)


# -- time to live and promotion


@given(now=LATER, priority=PRIORITY, ttl_s=TTL)
def test_an_expiry_is_the_time_to_live_from_now_unless_pinned(now: float, priority: str, ttl_s: float) -> None:
    assert expiry(Policy.session(), priority, ttl_s, now, pinned=False) == now + ttl_s
    assert expiry(Policy.session(), priority, ttl_s, now, pinned=True) is None
    assert expiry(Policy.session(), priority, None, now, pinned=False) is None


def test_the_documents_times_to_live() -> None:
    session = Policy.session()
    lives = [expiry(session, priority, DEFAULT_TTL, NOON, pinned=False) for priority in PRIORITIES]
    assert lives == [NOON + hours * HOUR for hours in (1, 4, 12, 24)]
    assert [session.promote_accesses[priority] for priority in PRIORITIES] == [10, 15, 20, 10]


@pytest.mark.parametrize("ttl_s", [0, -1, math.inf, math.nan, -math.inf, True, "60", [60]])
@pytest.mark.parametrize("pinned", [False, True])
def test_a_time_to_live_that_is_none_is_refused(ttl_s: object, pinned: bool) -> None:
    with pytest.raises(InvalidInputError, match="ttl_s"):
        expiry(Policy.session(), "low", ttl_s, NOON, pinned=pinned)  # type: ignore[arg-type]  # the point


@given(row=ROWS, unwritten=st.integers(1, 40), waited=st.floats(0, 2))
def test_what_is_due_to_be_written_stays_due_with_every_fetch_and_moment(
    row: Row, unwritten: int, waited: float
) -> None:
    policy = Policy.session()
    if should_flush_touches(row, unwritten, NOON, NOON + waited, policy):
        assert should_flush_touches(row, unwritten + 1, NOON, NOON + waited, policy)
        assert should_flush_touches(row, unwritten, NOON, NOON + waited + 1, policy)
    assert should_flush_touches(row, 32, NOON, NOON, policy)
    assert should_flush_touches(row, 1, NOON, NOON + 1, policy)


@given(now=LATER, lives=st.lists(st.none() | TTL, max_size=5))
def test_a_record_is_kept_as_long_as_its_longest_item_and_while_that_can_be_revived(
    now: float, lives: list[float | None]
) -> None:
    puts = [ItemPut(Row("i", b"", now, now, expires_at=None if life is None else now + life)) for life in lives]
    kept = retention_s([ItemRemoved("gone"), *puts], now)
    if None in lives:
        assert kept is None
    else:
        assert kept == max(((put.row.expires_at or now) - now for put in puts), default=0.0) + KEEP_GRACE_S


def test_what_somebody_chose_for_a_scope_is_kept_for_ever_whatever_is_in_it() -> None:
    assert (
        retention_s([ItemPut(Row("i", b"", NOON, NOON, expires_at=NOON + 1)), PolicyChanged("{}", NOON)], NOON) is None
    )


@given(row=ROWS, now=LATER)
def test_an_item_is_visible_exactly_until_it_expires(row: Row, now: float) -> None:
    assert row.visible(now) is not row.expired(now)
    if row.expires_at is not None:
        assert row.expired(row.expires_at)
        assert row.visible(math.nextafter(row.expires_at, -math.inf))


@given(tries=st.integers(1, 1_000))
def test_a_writer_waits_between_nothing_and_20_milliseconds(tries: int) -> None:
    assert 0 <= backoff(tries) <= 0.020


def test_a_writer_may_try_ever_so_often() -> None:
    assert 0 <= backoff(5_000) <= 0.020


# -- ids


@given(millis=st.lists(st.integers(0, 2**48 - 1), min_size=2, max_size=5))
def test_ids_sort_by_the_millisecond_they_were_made_in(millis: list[int]) -> None:
    ids = [new_ulid(each / 1_000 + 0.000_1) for each in millis]
    assert [each[:10] for each in sorted(ids)] == [
        each[:10] for _, each in sorted(zip(millis, ids, strict=True), key=lambda pair: pair[0])
    ]


@given(now=st.floats(0, 2**48 / 1_000 - 1))
def test_an_id_tells_when_it_was_made(now: float) -> None:
    made = new_ulid(now)
    assert len(made) == 26
    assert set(made) <= set(CROCKFORD)
    number = 0
    for letter in made[:10]:
        number = number * 32 + CROCKFORD.index(letter)
    assert number == int(now * 1_000)


@pytest.mark.parametrize("now", [-1.0, 0.0, NOON, 2.0**60])
def test_ids_of_one_instant_are_unique_whatever_the_clock_says(now: float) -> None:
    assert len({new_ulid(now) for _ in range(10_000)}) == 10_000


def test_record_ids_and_salts_are_drawn_anew_and_in_range() -> None:
    ids = [new_record_id() for _ in range(1_000)]
    assert len(set(ids)) == 1_000
    assert all(0 <= each < 2**63 for each in ids)
    salts = [new_salt() for _ in range(1_000)]
    assert len(set(salts)) == 1_000
    assert all(0 <= each < 2**CHAIN_BITS for each in salts)


@given(chain=st.integers(0, 2**52 - 1), record_id=st.integers(0, 2**63 - 1), other=st.integers(0, 2**63 - 1))
def test_a_chain_commits_to_the_record_and_to_all_before_it(chain: int, record_id: int, other: int) -> None:
    after = chain_after(chain, record_id)
    assert 0 <= after < 2**CHAIN_BITS
    assert after == chain_after(chain, record_id)
    assert (chain_after(chain, other) == after) is (other == record_id)
    assert (chain_after(chain ^ 1, record_id) == after) is False


# -- places on disk

# Everything a segment may hold, and above all what a name could be taken apart at.
SEGMENT = st.text('ab/.,"[]\\:{}~%r0 é漢\u2028', min_size=1, max_size=4)
PATHS: st.SearchStrategy[Path] = st.lists(SEGMENT, min_size=1, max_size=4).map(tuple)
PLACES = st.tuples(PATHS, st.integers(0, 2**52 - 1), st.integers(1, 2**40))


@given(one=PATHS, other=PATHS)
def test_no_two_paths_share_a_name_on_disk(one: Path, other: Path) -> None:
    assert (path_name(one) == path_name(other)) is (one == other)


@given(one=PLACES, other=PLACES)
def test_no_two_places_share_a_row_on_disk(one: tuple[Path, int, int], other: tuple[Path, int, int]) -> None:
    def row(place: tuple[Path, int, int]) -> str:
        return _record_key(path_name(place[0]), Incarnation(place[1]), place[2])

    assert (row(one) == row(other)) is (one == other)


@given(one=PATHS, other=PATHS, place=PLACES)
def test_rows_of_different_kinds_never_meet(one: Path, other: Path, place: tuple[Path, int, int]) -> None:
    path, birth, version = place
    rows = {
        "meta": f"m{path_name(one)}",
        "snapshot": f"s{path_name(other)}",
        "record": _record_key(path_name(path), Incarnation(birth), version),
        "shard": _shard_key(other),
        "root": _root_shard_key(other[0]),
        "format": "wmem-format",
    }
    assert len(set(rows.values())) == len(rows)


@given(segments=st.lists(SEGMENT, min_size=2, max_size=4))
def test_segments_joined_or_split_are_another_path(segments: list[str]) -> None:
    for separator in ("/", '","', ",", "", '", "', "\\"):
        joined = separator.join(segments)
        assert path_name((joined,)) != path_name(tuple(segments))
        assert _record_key(path_name((joined,)), Incarnation(1), 1) != _record_key(
            path_name(tuple(segments)), Incarnation(1), 1
        )


# -- instants


@given(at=st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.timezones()))  # noqa: DTZ001  # they get one
def test_an_instant_is_the_same_in_every_form(at: datetime) -> None:
    seconds = at.timestamp()
    assert to_epoch(at) == seconds
    assert to_epoch(seconds) == seconds
    # Microseconds are what a float of this size holds in any case.
    assert to_epoch(to_iso(seconds)) == pytest.approx(seconds, abs=1e-4, rel=0)
    assert to_iso(seconds).endswith("Z")


@given(at=st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)), offset=st.integers(-86_399, 86_399))  # noqa: DTZ001  # the point
def test_without_an_offset_an_instant_is_utc(at: datetime, offset: int) -> None:
    assert to_epoch(at) == to_epoch(at.isoformat()) == at.replace(tzinfo=UTC).timestamp()
    placed = at.replace(tzinfo=timezone(timedelta(seconds=offset)))
    assert to_epoch(placed) == to_epoch(placed.isoformat()) == pytest.approx(to_epoch(at) - offset, abs=1e-5)


@pytest.mark.parametrize("bad", [None, True, "", "noon", "2026-13-01", math.nan, math.inf, [], {}, b"2026-01-01"])
def test_what_is_no_instant_is_refused(bad: object) -> None:
    with pytest.raises(InvalidInputError, match="expected"):
        to_epoch(bad)


def test_a_number_beyond_every_float_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        to_epoch(10**400)


@pytest.mark.parametrize("far", [1e12, -1e12, 1e18, -1e300])
def test_an_instant_outside_the_calendar_is_refused_where_it_comes_in(far: float) -> None:
    try:
        to_iso(to_epoch(far))
    except InvalidInputError:
        return
