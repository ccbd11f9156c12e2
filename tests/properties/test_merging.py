"""Properties of merges in long-term memory: what survives, what is taken back, and which texts never merge."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from wmem.codec.snapshots import decode_snapshot, encode_snapshot
from wmem.model.origin import find_merged_origins, find_origins
from wmem.model.row import Row
from wmem.rules.eviction import Size
from wmem.rules.merging import MAX_MERGED, detach, list_common_fields, merge_rows
from wmem.rules.utility import choose_to_evict, excess_of, utility

PATH = ("agent", "~semantic")
LIFE = 7
TAGS = st.lists(st.sampled_from("abcd"), unique=True, max_size=3).map(tuple)
NOW = 1e9


def _rest(number: int, *, promoted: bool) -> dict[str, Any]:
    if not promoted:
        return {}
    step = {"path": [f"s{number}"], "incarnation": number, "id": f"source-{number}", "to": ["~semantic"]}
    return {"origins": [step], "lineage_ids": [f"source-{number}"]}


@st.composite
def clusters(draw: st.DrawFn) -> list[Row]:
    """Rows that say the same, newest first."""
    rows = []
    for number in range(draw(st.integers(2, 5))):
        rest = _rest(number, promoted=draw(st.booleans()))
        rows.append(
            Row(
                f"item-{number}",
                b'"x"',
                created_at=NOW - number,
                updated_at=NOW,
                tags=draw(TAGS),
                importance=draw(st.none() | st.floats(0, 1)),
                access_count=draw(st.integers(0, 9)),
                tokens=draw(st.integers(1, 9)),
                rest=json.dumps(rest).encode() if rest else None,
            )
        )
    return rows


@examples(1)
@given(rows=clusters())
def test_a_survivor_has_what_all_had_and_gives_back_what_was_not_its_own(rows: list[Row]) -> None:
    survivor, *others = rows
    made = merge_rows(survivor, others, path=PATH, incarnation=LIFE)
    assert (made.id, made.content, made.created_at) == (survivor.id, survivor.content, survivor.created_at)
    assert set(made.tags) == {tag for row in rows for tag in row.tags}
    assert made.access_count == sum(row.access_count for row in rows)
    assert made.importance == max((row.importance for row in rows if row.importance is not None), default=None)
    assert find_origins(made, PATH) == find_origins(survivor, PATH)
    merged = find_merged_origins(made, PATH)
    assert {each.merged_id for each in merged} == {row.id for row in others}
    for row in others:
        assert {each.id for each in find_origins(row, PATH)} <= {each.id for each in merged}
    back = detach(made, frozenset(row.id for row in others), path=PATH)
    assert back.tags == survivor.tags
    assert find_merged_origins(back, PATH) == ()
    told, before = (json.loads(row.rest or b"{}") for row in (back, survivor))
    assert told.get("origins", []) == before.get("origins", [])
    assert told.get("lineage_ids", []) == before.get("lineage_ids", [])


@examples(1)
@given(rows=clusters(), at=st.integers(1, 4))
def test_taking_one_out_leaves_what_the_others_brought(rows: list[Row], at: int) -> None:
    survivor, *others = rows
    gone = others[(at - 1) % len(others)]
    made = merge_rows(survivor, others, path=PATH, incarnation=LIFE)
    left = detach(made, frozenset((gone.id,)), path=PATH)
    rest = [row for row in others if row is not gone]
    assert set(left.tags) == {tag for row in (survivor, *rest) for tag in row.tags}
    assert {each.merged_id for each in find_merged_origins(left, PATH)} == {row.id for row in rest}
    assert gone.id not in json.dumps(json.loads(left.rest or b"{}").get("lineage_ids", []))


@examples(1)
@given(rows=clusters(), split=st.integers(1, 4))
def test_merging_a_survivor_again_forgets_nothing(rows: list[Row], split: int) -> None:
    inner, outer = rows[: max(1, split % len(rows))], rows[max(1, split % len(rows)) :]
    first = merge_rows(inner[0], inner[1:], path=PATH, incarnation=LIFE) if len(inner) > 1 else inner[0]
    made = merge_rows(outer[0], [*outer[1:], first], path=PATH, incarnation=LIFE)
    assert {each.merged_id for each in find_merged_origins(made, PATH)} == {row.id for row in rows} - {outer[0].id}


@examples(1)
@given(rows=clusters(), bound=st.integers(1, 6))
def test_what_is_evicted_is_the_least_useful_and_no_more_than_needed(rows: list[Row], bound: int) -> None:
    excess = excess_of(Size(len(rows), 0), bound, None)
    gone = choose_to_evict(rows, excess, NOW)
    assert len(gone) == max(0, len(rows) - bound)
    left = [row for row in rows if row.id not in {each.row.id for each in gone}]
    assert all(each.utility <= utility(row, NOW) for each in gone for row in left)
    tokens = sum(row.tokens or 0 for row in rows)
    by_tokens = choose_to_evict(rows, Size(0, tokens // 2), NOW)
    assert sum(each.row.tokens or 0 for each in by_tokens) >= tokens // 2
    assert sum(each.row.tokens or 0 for each in by_tokens[:-1]) < max(1, tokens // 2)


def test_a_survivor_tells_of_so_many_and_forgets_the_oldest() -> None:
    survivor = Row("new", b'"x"', NOW, NOW)
    for number in range(MAX_MERGED + 5):
        rest = json.dumps(_rest(number, promoted=True)).encode()
        survivor = merge_rows(
            survivor, [Row(f"item-{number}", b'"x"', NOW, NOW, rest=rest)], path=PATH, incarnation=LIFE
        )
    names = {each.merged_id for each in find_merged_origins(survivor, PATH)}
    assert names == {f"item-{number}" for number in range(5, MAX_MERGED + 5)}
    lineage = json.loads(survivor.rest or b"{}")["lineage_ids"]
    assert "item-4" not in lineage
    assert "source-4" not in lineage
    assert "source-5" in lineage


def test_metadata_of_a_promotion_makes_no_difference_and_a_callers_does() -> None:
    def row(id: str, **metadata: str) -> Row:
        return Row(id, b'"x"', 0.0, 0.0, rest=json.dumps({"metadata": metadata}).encode())

    one = row("memory_promoted_a_20260101-000000", working_memory_id="a", url="u")
    other = row("memory_promoted_b_20260101-000000", working_memory_id="b", url="u")
    assert list_common_fields(one) == list_common_fields(other)
    assert list_common_fields(one) != list_common_fields(row("c", url="v"))


SAME = [
    ("The user lives in Berlin.", "the user lives in Berlin"),
    ("Please call me Sam.", "Call me Sam!"),
    ("The user really likes jazz.", "The user likes jazz"),
    ("Das Büro ist im dritten Stock.", "das Büro ist im dritten Stock"),
    ("La réunion est le mardi.", "La réunion est le mardi"),
    ("用户住在柏林。", "用户住在柏林"),
    ("The user prefers aisle seats.", "The user prefers aisle seat"),
    ("The build runs on   port 8080.", "The build runs on port 8080"),
]
DIFFERENT = [
    ("The user lives in Berlin.", "The user lives in Lisbon."),
    ("The user lives in Berlin.", "The user lived in Berlin."),
    ("The user lives in Berlin.", "The user does not live in Berlin."),
    ("The user is allergic to nuts.", "The user is not allergic to nuts."),
    ("The user has never been to Rome.", "The user has been to Rome."),
    ("The meeting is at 9:00.", "The meeting is at 19:00."),
    ("The meeting is on 3 May 2026.", "The meeting is on 5 March 2026."),
    ("The price is 7.50 euros.", "The price is 750 euros."),
    ("The budget is 500 euros.", "The budget is 500 dollars."),
    ("Anna owes Ben ten euros.", "Ben owes Anna ten euros."),
    ("Anna's dog is called Rex.", "Anna's dog is called Max."),
    ("Anna's mail is anna@example.org.", "Anna's mail is ann@example.net."),  # both are redacted
    ("The server listens on 10.0.0.1.", "The server listens on 10.0.0.2."),
    ("The user likes tea more than coffee.", "The user likes coffee more than tea."),
    ("The user wants to move to Paris.", "The user wants to move to Paris?"),
    ("Only admins may deploy.", "Admins may only deploy."),
    ("The user can swim.", "The user can't swim."),
    ("The user stopped smoking.", "The user started smoking."),
    ("Version 1.2 is stable.", "Version 1.12 is stable."),
    ("Der Termin ist am 3. Mai.", "Der Termin ist am 5. Mai."),
    ("Der Kunde ist kein Mitglied.", "Der Kunde ist ein Mitglied."),
    ("Le code est 4711.", "Le code est 4712."),
    ("El usuario no come carne.", "El usuario come carne."),
    ("用户不喜欢茶。", "用户喜欢茶。"),
    ("Before lunch the user walks.", "After lunch the user walks."),
    ("All tests pass.", "Almost all tests pass."),
    ("The temperature is -5 degrees.", "The temperature is 5 degrees."),
]


@pytest.mark.parametrize(("pairs", "merged"), [(SAME, len(SAME)), (DIFFERENT, 0)], ids=["same", "different"])
def test_of_labelled_pairs_those_that_say_the_same_are_merged_and_no_other(
    pairs: list[tuple[str, str]], merged: int
) -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        for number, pair in enumerate(pairs):
            for text in pair:
                memory.semantic.items.add(text, type="fact", task_id=str(number))
        report = memory.maintain(["merge-duplicates"]).jobs["merge-duplicates"]
        assert report.changed == merged, [item.content for item in memory.semantic.items.forgotten()]


def test_merges_that_lead_in_a_circle_as_in_a_document_of_others_are_followed_once() -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        ids = [session.items.add(f"Ada likes the garden{end}", type="fact").id for end in ("", ".")]
        copies = [session.items.promote(id) for id in ids]
        context = memory.scope("t").pack("Who likes the garden?", budget=1_000)
        memory.record(context)
        memory.maintain(["merge-duplicates"])
        content = decode_snapshot(bytes(memory.snapshot()))
        scopes = []
        for scope in content.scopes:
            rows = {row.id: row for row in scope.content.rows}
            gone = [row for row in rows.values() if row.deleted_at is not None]
            for row, other in zip(gone, [row for row in rows.values() if row.deleted_at is None], strict=False):
                rest = {**json.loads(other.rest or b"{}"), "removal": json.loads(row.rest or b"{}")["removal"]}
                rest["removal"]["into"] = row.id
                rows[other.id] = other._replace(deleted_at=row.deleted_at, rest=json.dumps(rest).encode())
            scopes.append(scope._replace(content=scope.content._replace(rows=tuple(rows.values()))))
        memory.restore(encode_snapshot(content._replace(scopes=tuple(scopes))))
        assert {item.id for item in memory.semantic.items.forgotten()} == {copy.id for copy in copies}
        assert {each.reason for each in memory.replay(context.receipt).missing} == {"forgotten"}
        assert session.items.promote(ids[0]).id in {copy.id for copy in copies}
