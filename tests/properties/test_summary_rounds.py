"""Rounds of summaries: everything that falls out is covered once, in order, and nothing that stays."""

from hypothesis import given
from hypothesis import strategies as st

from wmem.agent.consolidation.summarize_tails import Bounds, list_fallen
from wmem.agent.consolidation.summary_items import MAX_COVERED, NOTHING, Readable, find_readable, plan_rounds
from wmem.model.coverage import Coverage, find_coverage
from wmem.model.row import Row
from wmem.model.values import dump_json
from wmem.retrieval.summaries import MAX_SUMMARIES, find_once

NOW = 1_000.0
COLUMNS = st.tuples(
    st.sampled_from([None, "user", "assistant", "tool", "system"]),  # its role
    st.integers(0, 40),  # its tokens
    st.sampled_from([False, False, True]),  # whether it is pinned
    st.sampled_from([None, None, 5.0]),  # when it was softly deleted
    st.sampled_from([None, None, 900.0, 1_100.0]),  # when it expires
)


def make_row(at: int, columns: tuple[str | None, int, bool, float | None, float | None]) -> Row:
    role, tokens, pinned, deleted_at, expires_at = columns
    row = Row(f"r{at}", b'"x"', float(at), float(at), role=role, tokens=tokens, pinned=pinned)
    return row._replace(deleted_at=deleted_at, expires_at=expires_at)


ROWS = st.lists(COLUMNS, max_size=30).map(lambda drawn: [make_row(at, each) for at, each in enumerate(drawn)])
LIMITS = st.none() | st.integers(0, 60)
BOUNDS = st.builds(Bounds, items=LIMITS, item_tokens=LIMITS, message_tokens=LIMITS)


def make_summary(id: str, ids: tuple[str, ...], scope: tuple[str, ...] = ("s",)) -> Row:
    rest = {"sources": [Coverage(scope, 1, ids).to_source()]}
    return Row(id, b'"x"', 0.0, 0.0, type="summary", rest=dump_json(rest))


@given(ROWS, BOUNDS)
def test_what_stays_is_the_newest_of_each_kind_and_the_rest_falls_out(rows: list[Row], bounds: Bounds) -> None:
    fallen = list_fallen(rows, bounds, NOW)
    assert fallen == [row for row in rows if row in fallen]
    assert not any(row.pinned or row.role == "system" or not row.visible(NOW) for row in fallen)
    gone = {row.id for row in fallen}
    for is_item in (True, False):
        kind = [
            row
            for row in rows
            if (row.role is None) is is_item and row.role != "system" and row.visible(NOW) and not row.pinned
        ]
        stays = [row for row in kind if row.id not in gone]
        assert stays == kind[len(kind) - len(stays) :]
        tokens = bounds.item_tokens if is_item else bounds.message_tokens
        assert tokens is None or sum(row.tokens or 0 for row in stays) <= tokens
        assert not is_item or bounds.items is None or len(stays) <= bounds.items


@given(ROWS, BOUNDS, st.integers(0, 40))
def test_what_fell_out_stays_fallen_when_more_comes(rows: list[Row], bounds: Bounds, cut: int) -> None:
    earlier = {row.id for row in list_fallen(rows[:cut], bounds, NOW)}
    assert earlier <= {row.id for row in list_fallen(rows, bounds, NOW)}


@given(st.integers(0, 3 * MAX_COVERED), st.integers(0, MAX_COVERED), st.booleans())
def test_rounds_cover_everything_once_in_order_and_none_covers_too_much(
    count: int,
    covered: int,
    has_former: bool,
) -> None:
    fresh = [Row(f"n{at}", b'"x"', float(at), float(at)) for at in range(count)]
    ids = [f"o{at}" for at in range(covered)]
    former = make_summary("s", tuple(ids)) if has_former else None
    readable = Readable(ids, [], is_whole=False, is_stale=False) if has_former else NOTHING
    rounds = plan_rounds(former, readable, fresh)
    assert [row for each in rounds for row in each.rows] == fresh
    assert all(0 < len(each.rows) + len(each.old.ids) <= MAX_COVERED for each in rounds)
    assert all(each.former is None for each in rounds[1:])


@given(ROWS)
def test_what_was_taken_back_is_covered_no_longer_and_what_is_gone_still_is(rows: list[Row]) -> None:
    by_id = {row.id: row for row in rows if row.tokens != 0}
    readable = find_readable(by_id, [row.id for row in rows], NOW)
    assert list(readable.ids) == [row.id for row in rows if row.id not in by_id or row.deleted_at is None]
    assert readable.is_stale == any(row.deleted_at is not None for row in by_id.values())
    assert all(row.visible(NOW) for row in readable.rows)


@given(st.lists(st.sampled_from("abcdefXY"), unique=True))
def test_of_a_summary_and_what_it_covers_the_first_is_found(order: list[str]) -> None:
    sums = {"X": make_summary("X", ("a", "b", "c")), "Y": make_summary("Y", ("d", "e"))}
    ranked = [sums.get(id) or Row(id, b'"x"', 0.0, 0.0) for id in order]
    found = find_once(ranked, lambda row: (("agent", "s"), row), lambda _, row: find_coverage(row))
    ids = [row.id for row in found]
    assert ids == [id for id in order if id in ids]
    for id, row in sums.items():
        covered = [each for each in order if each in find_coverage(row)[0].item_ids]
        if id not in order:
            assert set(covered) <= set(ids)
        elif id in ids:
            assert set(ids).isdisjoint(covered)
        else:
            assert set(covered) <= set(ids)
            assert order.index(covered[0]) < order.index(id)


def test_so_many_summaries_are_found_the_best_ones() -> None:
    ranked = [make_summary(f"s{at}", (f"i{at}",), ("elsewhere",)) for at in range(MAX_SUMMARIES + 3)]
    found = find_once(ranked, lambda row: (("agent", "s"), row), lambda _, row: find_coverage(row))
    assert found == ranked[:MAX_SUMMARIES]
