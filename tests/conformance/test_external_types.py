"""Memory types that somebody else wrote: which are refused, in which mode they work, and what they may reply."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

import wmem
from tests.external_types import AsyncSqliteNotes, SqliteNotes
from wmem import Capacity, Filters, Forgotten, InvalidInputError, ItemDraft, Memorized, Remembered, Summary, testing
from wmem.agent.types.external import ExternalFlows, ExternalType
from wmem.engine.ports import async_ports, sync_ports
from wmem.flow import arun, run
from wmem.journal.memory import MemoryJournal
from wmem.model.filters import NO_FILTERS
from wmem.types import AnyMemoryType

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
SYNC = sync_ports(MemoryJournal(len))
ASYNC = async_ports(MemoryJournal(len))  # type: ignore[arg-type]  # no journal is asked for anything


def flows(memory_type: AnyMemoryType) -> ExternalFlows:
    handle = wmem.open("memory://", agent_id="agent").scope("s")._handle
    return ExternalFlows(ExternalType(memory_type), handle)


class Replies:
    """Replies what it is told to, and takes note of what it was asked."""

    name = "replies"
    blocks = False

    def __init__(self, reply: Any = None) -> None:
        self.reply = reply
        self.drafts: list[ItemDraft] = []
        self.calls: list[Any] = []

    def accepts(self, draft: ItemDraft, /) -> bool:
        return draft.type == "note"

    def memorize(self, draft: ItemDraft, /) -> Memorized:
        self.drafts.append(draft)
        return self.reply  # type: ignore[no-any-return]  # whatever it is

    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        self.calls.append((query, filters, limit))
        return self.reply  # type: ignore[no-any-return]  # as above

    def forget(self, ids: Sequence[str], /) -> Forgotten:
        self.calls.append(ids)
        return self.reply  # type: ignore[no-any-return]  # as above

    def summarize(self, token_limit: int = 256, /) -> Summary:
        self.calls.append(token_limit)
        return self.reply  # type: ignore[no-any-return]  # as above

    def capacity(self) -> Capacity:
        return self.reply  # type: ignore[no-any-return]  # as above


def make_item(id: str = "i") -> wmem.MemoryItem:
    return ItemDraft("x").to_item(id, 1.0)


class TestReadme(testing.MemoryTypeSuite):
    """The type of one's own that the README shows."""

    @pytest.fixture
    def memory_type(self) -> wmem.MemoryType:
        block = next(each for each in README.split("```python\n") if "class Recipes" in each)
        names: dict[str, Any] = {}
        exec(block.partition("\ntypes = ")[0], names)  # our own page
        return cast("wmem.MemoryType", names["Recipes"]())


# -- what is refused


@pytest.mark.parametrize("verb", ["accepts", "memorize", "remember", "forget", "summarize", "capacity"])
def test_a_type_that_lacks_a_verb_is_refused_by_its_name(verb: str) -> None:
    broken = type("Broken", (Replies,), {verb: None})
    with pytest.raises(InvalidInputError, match=rf"'replies'.*'{verb}'"):
        wmem.open("memory://", agent_id="a", memory_types=[broken()])


@pytest.mark.parametrize(
    ("attributes", "word"),
    [
        ({"name": ""}, "name"),
        ({"name": 3}, "name"),
        ({"name": "semantic"}, "already"),
        ({"name": "conversation"}, "already"),
        ({"pool": -1}, "pool"),
        ({"blocks": "no"}, "blocks"),
    ],
)
def test_a_type_with_an_attribute_out_of_range_is_refused(attributes: dict[str, Any], word: str) -> None:
    broken = type("Broken", (Replies,), attributes)
    with pytest.raises(InvalidInputError, match=word):
        wmem.open("memory://", agent_id="a", memory_types=[broken()])


def test_a_type_of_plain_methods_and_coroutine_functions_is_refused() -> None:
    class Mixed(Replies):
        async def capacity(self) -> Capacity:  # type: ignore[override]  # that is the point
            return Capacity(0, 0)

    mixed: Any = Mixed()
    with pytest.raises(InvalidInputError, match="mixes"):
        wmem.open("memory://", agent_id="a", memory_types=[mixed])


def test_a_type_whose_accepts_would_have_to_be_awaited_is_refused() -> None:
    class Waits(Replies):
        async def accepts(self, draft: ItemDraft, /) -> bool:  # type: ignore[override]  # that is the point
            return draft.type == "note"

    waits: Any = Waits()
    with pytest.raises(InvalidInputError, match="accepts"):
        wmem.open("memory://", agent_id="a", memory_types=[waits])


# -- modes


def test_coroutine_functions_need_the_async_face() -> None:
    with pytest.raises(InvalidInputError, match=r"wmem\.aopen"):
        wmem.open("memory://", agent_id="a", memory_types=[AsyncSqliteNotes()])
    with wmem.open("memory://", agent_id="a") as memory, pytest.raises(InvalidInputError, match=r"wmem\.aopen"):
        memory.types.register(AsyncSqliteNotes())


async def test_plain_methods_need_the_sync_face_unless_they_do_not_block() -> None:
    with pytest.raises(InvalidInputError, match="blocks"):
        await wmem.aopen("memory://", agent_id="a", memory_types=[SqliteNotes()])
    async with await wmem.aopen("memory://", agent_id="a", memory_types=[Replies(), AsyncSqliteNotes()]) as memory:
        assert list(memory.types)[-2:] == ["replies", "notes"]


async def test_a_type_that_blocks_is_not_called_by_the_async_twin_of_a_memory() -> None:
    with wmem.open("memory://", agent_id="a", memory_types=[SqliteNotes()]) as memory:
        with memory.turn("s") as turn:
            turn.memorize({"content": "The kiln reaches 980 degrees.", "type": "note"}, store="notes")
        async with memory.aio().turn("s") as other:
            with pytest.raises(InvalidInputError, match="blocks"):
                await other.memorize({"content": "more", "type": "note"}, store="notes")
            assembled = await other.assemble_context("How hot is the kiln?", 1_000)
        # The prompt goes without it, and says so.
        assert "980" not in assembled.text
        assert any("notes" in warning for warning in assembled.explanation.warnings)


# -- what it is given, and what it may reply


def test_a_type_is_given_whose_item_it_is() -> None:
    replies = Replies(Memorized(make_item(), 0, (), 1, 1))
    run(flows(replies).memorize(ItemDraft("x")), SYNC)
    asyncio.run(arun(flows(replies).memorize(ItemDraft("y", fields={"agent_id": "other"}, session=("t",))), ASYNC))
    first, second = replies.drafts
    assert (first.fields["agent_id"], first.session) == ("agent", ("s",))
    assert (second.fields["agent_id"], second.session) == ("other", ("t",))


def test_no_more_is_taken_than_was_asked_for() -> None:
    replies = Replies([Remembered(make_item(f"i{number}"), 1.0 / (number + 1)) for number in range(9)])
    found = run(flows(replies).remember("x", Filters(top_k=2), 5), SYNC)
    assert [each.item.id for each in found] == ["i0", "i1"]
    assert replies.calls == [("x", Filters(top_k=2), 2)]


@pytest.mark.parametrize("reply", [None, "text", 3, [make_item()], [Remembered(make_item(), float("nan"))]])
def test_a_reply_to_remember_that_is_none_is_refused_by_its_name(reply: Any) -> None:
    with pytest.raises(InvalidInputError, match="remember of the memory type 'replies'"):
        run(flows(Replies(reply)).remember("x", NO_FILTERS, 5), SYNC)


@pytest.mark.parametrize(
    ("verb", "argument"), [("memorize", ItemDraft("x")), ("forget", ["i"]), ("summarize", 9), ("capacity", None)]
)
@pytest.mark.parametrize("reply", [None, "text", (1, 2)])
def test_a_reply_of_another_kind_is_refused_by_the_verb(verb: str, argument: Any, reply: Any) -> None:
    call = getattr(flows(Replies(reply)), verb)
    with pytest.raises(InvalidInputError, match=f"{verb} of the memory type 'replies'"):
        run(call() if argument is None else call(argument), SYNC)


def test_what_a_type_raises_is_the_callers() -> None:
    class Full(Replies):
        def memorize(self, draft: ItemDraft, /) -> Memorized:
            raise wmem.CapacityError("the notebook is full")

    with wmem.open("memory://", agent_id="a", memory_types=[Full()]) as memory:
        turn = memory.turn("s")
        with pytest.raises(wmem.CapacityError, match="notebook"):
            turn.memorize({"content": "x", "type": "note"}, store="replies")
        # What is routed there beside other types is stored in those, once.
        assert list(turn.memorize({"content": "x", "type": "note"}).stored) == ["episodic"]
        assert memory.types["episodic"].capacity().items == 1


@pytest.mark.parametrize(
    "fault", [wmem.CapacityError("the notebook is full"), OSError("no disk")], ids=["full", "disk"]
)
@pytest.mark.parametrize("stores", [("replies", "working"), ("working", "replies"), ("replies",)], ids=",".join)
async def test_a_type_that_fails_keeps_no_other_from_an_item_in_whichever_order(
    fault: Exception, stores: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Replies):
        def memorize(self, draft: ItemDraft, /) -> Memorized:
            raise fault

    gate = wmem.Gate(routes=[wmem.Route("both", stores)])
    with wmem.open("memory://", agent_id="a", memory_types=[Failing()], gate=gate) as memory:
        turn, other = memory.turn("s"), memory.aio().turn("t")
        if len(stores) == 1:  # nobody has it: its caller is told
            with pytest.raises(type(fault)):
                turn.memorize("The kiln is hot.")
            with pytest.raises(type(fault)):
                await other.memorize("The kiln is hot.")
            return
        replies = turn.memorize("The kiln is hot."), await other.memorize("The kiln is hot.")
        assert [list(each.stored) for each in replies] == [["working"], ["working"]]
    assert caplog.text.count("memory type replies failed") == 2


def test_a_type_that_cannot_say_what_it_accepts_is_given_nothing_and_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Unsure(Replies):
        def accepts(self, draft: ItemDraft, /) -> bool:
            raise ValueError(f"what is {draft.content}")

    with wmem.open("memory://", agent_id="a", memory_types=[Unsure()]) as memory, memory.turn("s") as turn:
        assert list(turn.memorize({"content": "the code is 4711", "type": "fact"}).stored) == ["semantic"]
    assert "replies" in caplog.text
    assert "4711" not in caplog.text


def test_what_a_type_of_ones_own_may_keep_is_told_where_all_is_erased_or_cleared() -> None:
    with wmem.open("memory://", agent_id="a", memory_types=[SqliteNotes()]) as memory:
        assert memory.clear().remaining == ()
        for remaining in (memory.clear(long_term=True).remaining, memory.erase_all().remaining):
            (told,) = remaining
            assert repr(SqliteNotes.name) in told
        assert memory.erase_all().complete  # of what wmem has
