"""Pages of a state after any history: what is there, in order, once."""

from hypothesis import given
from hypothesis import strategies as st

from wmem.model.change import Change, ItemPut, ItemRemoved, MessagesRestored, MessagesWithdrawn
from wmem.model.row import Row
from wmem.state import GONE_MAX, State

ACT = st.sampled_from(("put", "remove", "withdraw", "restore", "page"))
ACTS = st.lists(st.tuples(ACT, st.integers(0, 9)), max_size=60)


def row(id: str, role: str | None) -> Row:
    return Row(id=id, content=b'"x"', created_at=1.0, updated_at=1.0, role=role)


@given(acts=ACTS)
def test_a_page_of_messages_is_a_slice_of_the_list(acts: list[tuple[str, int]]) -> None:
    state = State()
    for record, (act, number) in enumerate(acts):
        id = str(number)
        change: Change
        if act == "put":
            change = ItemPut(row(id, "user"))
        elif act == "remove":
            change = ItemRemoved(id)
        elif act == "withdraw":
            change = MessagesWithdrawn((id,), 2.0)
        elif act == "restore":
            change = MessagesRestored((id,), 2.0)
        else:
            listed = list(state.messages)
            for each in listed:
                before = [found.id for found in state.messages_before(each)]
                assert before[::-1] == listed[: listed.index(each)]
            continue
        state.fold(record, [change])


@given(acts=ACTS)
def test_a_page_of_items_goes_on_from_what_was_removed(acts: list[tuple[str, int]]) -> None:
    state, places = State(), dict[str, int]()
    for record, (act, number) in enumerate(acts):
        id = str(number)
        if act in ("put", "restore"):
            state.fold(record, [ItemPut(row(id, None))])
            places.setdefault(id, record)
            if places[id] < 0:
                places[id] = record
        elif act == "remove" and id in state.items:
            state.fold(record, [ItemRemoved(id)])
            listed = [each for each in state.items if places[each] > places[id]]
            assert [found.id for found in state.items_after(id)] == listed
            places[id] = -1
        else:
            for each in state.items:
                after = [other for other in state.items if places[other] > places[each]]
                assert [found.id for found in state.items_after(each)] == after


def test_the_places_of_removed_rows_are_bounded() -> None:
    state = State()
    for number in range(GONE_MAX + 1):
        state.fold(2 * number, [ItemPut(row(str(number), None))])
        state.fold(2 * number + 1, [ItemRemoved(str(number))])
    assert list(state.items_after("1")) == []
    try:
        state.items_after("0")
    except KeyError:
        return
    raise AssertionError("it is remembered")
