"""Suite of pages of items and messages, and of what was softly forgotten."""

from typing import Any

import pytest

import wmem
from tests.counting import count_calls
from wmem import NotFoundError, Scope
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener, ToSync

__all__ = ["PagesSuite"]


def item_pages(call: Call, scope: Any, limit: int, between: Any = lambda _: None, **options: Any) -> list[str]:
    """The contents of all items, page by page."""
    contents: list[str] = []
    page = call(scope.items.all, limit=limit, **options)
    while page:
        contents += [item.content for item in page]
        between(page)
        page = call(scope.items.all, limit=limit, after=page[-1].id, **options)
    return contents


def message_pages(call: Call, scope: Any, limit: int, between: Any = lambda _: None) -> list[str]:
    """The texts of all messages, oldest first, read page by page from the end."""
    texts: list[str] = []
    page = call(scope.messages.all, limit)
    while page:
        texts = [message.text for message in page] + texts
        between(page)
        page = call(scope.messages.all, limit, before=page[0].id)
    return texts


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


class PagesSuite(FacetSuite):
    """``limit=`` with ``after=`` or ``before=``, and `items.forgotten`."""

    def test_pages_of_items_are_the_list(self, session: Scope, call: Call) -> None:
        assert call(session.items.all, limit=3) == []
        for number in range(10):
            call(session.items.add, str(number))
        everything = call(session.items.all)
        for limit in (1, 3, 10, 11):
            assert item_pages(call, session, limit) == [each.content for each in everything]
        assert call(session.items.all, after=everything[7].id) == everything[8:]
        assert call(session.items.all, limit=0) == []

    def test_pages_of_messages_are_the_list(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [said(str(number)) for number in range(10)])
        everything = call(session.messages.all)
        for limit in (1, 3, 10, 11):
            assert message_pages(call, session, limit) == [each.text for each in everything]
        assert call(session.messages.all, before=everything[7].id) == everything[:7]
        assert call(session.messages.all, 0, before=everything[7].id) == []

    def test_pages_leave_out_what_lists_leave_out(self, session: Scope, call: Call, clock: Clock) -> None:
        ids = [call(session.items.add, str(number), ttl_s=1 if number % 3 else None).id for number in range(9)]
        call(session.items.promote, ids[3])
        clock.advance(1)
        assert item_pages(call, session, 2) == ["0", "6"]
        assert item_pages(call, session, 2, include_promoted=True) == ["0", "3", "6"]
        assert len(item_pages(call, session, 2, include_promoted=True, include_expired=True)) == 9
        assert [each.content for each in call(session.items.all, after=ids[1])] == ["6"]

    def test_nothing_comes_twice_and_nothing_is_missed_while_others_write(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        for number in range(20):
            call(here.items.add, str(number))
        call(here.messages.append, [said(str(number)) for number in range(20)])

        def write(page: Any) -> None:
            call(there.items.remove, page[-1].id)
            if page[-1].content != "new":
                call(there.items.add, "new")

        contents = item_pages(call, here, 3, write)
        assert (contents[:20], {*contents[20:]}) == ([str(number) for number in range(20)], {"new"})

        def say(page: Any) -> None:
            call(there.messages.append, said("new"))
            call(there.messages.remove, page[0].id)
            call(there.messages.withdraw, page[-1].id)

        assert message_pages(call, here, 3, say) == [str(number) for number in range(20)]

    def test_a_page_goes_on_in_another_process_from_what_was_erased_or_removed(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        session = open_memory().scope("s")
        items = [call(session.items.add, str(number)) for number in range(5)]
        call(session.items.remove, items[1].id)
        call(session.erase, items[3].id)  # and the journal is compacted
        there = open_memory.in_other_process().scope("s")
        assert [each.content for each in call(there.items.all, after=items[1].id)] == ["2", "4"]
        assert [each.content for each in call(there.items.all, after=items[3].id)] == ["4"]

    def test_a_page_goes_on_from_what_expired_was_withdrawn_or_came_back(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, clock: Clock
    ) -> None:
        items = [call(session.items.add, str(number), ttl_s=1 if number == 2 else None) for number in range(5)]
        call(session.items.all, after=items[0].id)
        clock.advance(1)
        call(memory.maintain)
        assert [each.content for each in call(session.items.all, after=items[2].id)] == ["3", "4"]
        stored: list[Any] = call(session.messages.append, [said(str(number)) for number in range(5)])
        call(session.messages.withdraw, stored[2].id, stored[3].id)
        assert [each.text for each in call(session.messages.all, before=stored[2].id)] == ["0", "1"]
        assert [each.text for each in call(session.messages.all, before=stored[4].id)] == ["0", "1"]
        call(session.messages.restore, stored[3].id)
        assert [each.text for each in call(session.messages.all, before=stored[4].id)] == ["0", "1", "3"]
        assert [each.text for each in call(session.messages.all, before=stored[2].id)] == ["0", "1"]
        call(session.messages.move_to_end, stored[0].id)
        assert [each.text for each in call(session.messages.all, before=stored[0].id)] == ["1", "3", "4"]

    def test_many_that_come_and_go_leave_a_page_right(self, session: Scope, call: Call) -> None:
        for round in range(3):
            stored = call(session.messages.append, [said(f"{round} {number}") for number in range(600)])
            assert call(session.messages.all, before=stored[2].id) == stored[:2]
            call(session.messages.clear)
        last = call(session.messages.append, [said("a"), said("b")])
        assert call(session.messages.all, before=last[1].id) == last[:1]
        assert call(session.messages.all, before=stored[-1].id) == []

    def test_an_unknown_place_is_not_found(self, session: Scope, call: Call) -> None:
        entry = call(session.entries.set, "k", 1)
        message = call(session.messages.append, said("a"))
        item = call(session.items.add, "x")
        for id in ("nothing", message.id, getattr(entry, "id", "k")):
            with pytest.raises(NotFoundError, match="page"):
                call(session.items.all, after=id)
        for id in ("nothing", item.id):
            with pytest.raises(NotFoundError, match="page"):
                call(session.messages.all, before=id)

    def test_a_view_has_the_pages_of_its_instant(self, session: Scope, call: Call) -> None:
        items = [call(session.items.add, str(number)) for number in range(4)]
        stored = call(session.messages.append, [said(str(number)) for number in range(4)])
        call(session.items.all, after=items[0].id)
        view = call(session.view)
        call(session.items.remove, items[2].id)
        call(session.messages.append, said("new"))
        call(session.items.add, "new")
        assert [each.content for each in view.items.all(limit=2, after=items[0].id)] == ["1", "2"]
        assert [each.text for each in view.messages.all(2, before=stored[3].id)] == ["1", "2"]

    @pytest.mark.slow
    def test_a_page_costs_the_same_however_long_the_list_is(
        self, memory: wmem.AgentMemory, call: Call, to_sync: ToSync
    ) -> None:
        costs = []
        for count in (50, 1_500):
            scope = memory.scope(str(count))
            ids = [message.id for message in call(scope.messages.append, [said(str(each)) for each in range(count)])]
            document = call(scope.export)
            document["messages"] = []
            document["memories"] = [{"id": f"i{each}", "content": "x", "type": "fact"} for each in range(count)]
            call(scope.import_, document)
            sync: Any = to_sync(scope)

            def read(sync: Any = sync, before: Any = ids[-5]) -> None:
                sync.items.all(limit=10, after="i20")
                sync.messages.all(10, before=before)

            read()
            costs.append(count_calls(read))
        assert costs[1] <= costs[0] * 1.2

    def test_forgotten_items_are_those_that_can_be_restored(self, session: Scope, call: Call, clock: Clock) -> None:
        ids = [call(session.items.add, str(number), ttl_s=5 if number == 1 else None).id for number in range(4)]
        call(session.items.remove, ids[3])
        assert call(session.items.forgotten) == []
        for _ in range(3):
            call(session.queue.forget, "oldest")
        assert [item.id for item in call(session.items.forgotten)] == ids[:3]
        assert call(session.items.all) == []
        clock.advance(5)
        assert [item.id for item in call(session.items.forgotten)] == [ids[0], ids[2]]
        for item in call(session.items.forgotten):
            call(session.items.undelete, item.id)
        assert call(session.items.forgotten) == []
        assert [item.id for item in call(session.items.all)] == [ids[0], ids[2]]
