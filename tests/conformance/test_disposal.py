"""The end of working memory, interrupted anywhere, goes on when it is asked for again; long-term memory stays."""

import pytest

import wmem
from tests.conformance.own_journal import DictJournal
from wmem import StoreError
from wmem.journal import Cursor, Incarnation, Path


class FailingJournal(DictJournal):
    """Fails at the call of this number that deletes or compacts."""

    def __init__(self) -> None:
        super().__init__()
        self.calls_left = -1

    def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        self._count()
        super().delete(path, incarnation)

    def compact(self, path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None, /) -> bool:
        self._count()
        return super().compact(path, upto, snapshot, keep_s)

    def _count(self) -> None:
        self.calls_left -= 1
        if self.calls_left == 0:
            raise StoreError("the store is gone")


@pytest.mark.parametrize("fails_at", range(1, 7))
def test_what_was_interrupted_ends_with_the_next_call(fails_at: int) -> None:
    journal = FailingJournal()

    def opened() -> wmem.AgentMemory:
        return wmem.open("journal://", agent_id="a", client=journal)

    memory = opened()
    memory.working.entries.set("k", 1)
    for name in ("s", "t", "u"):
        session = memory.scope(name)
        session.messages.append({"role": "user", "content": "hello"})
        session.items.promote(session.items.add(f"fact of {name}", type="fact").id)
    journal.calls_left = fails_at
    try:
        memory.close(dispose=True)
    except StoreError:
        assert journal.calls_left <= 0
    journal.calls_left = -1
    opened().close(dispose=True)
    with opened() as again:
        assert again.working.children() == []
        assert again.working.entries.all() == {}
        assert [item.content for item in again.semantic.items.all()] == ["fact of s", "fact of t", "fact of u"]


def test_an_erasure_of_all_that_was_interrupted_is_finished_by_another() -> None:
    journal = FailingJournal()
    with wmem.open("journal://", agent_id="a", client=journal) as memory:
        memory.working.entries.set("k", 1)
        memory.scope("s").items.promote(memory.scope("s").items.add("x", type="fact").id)
        journal.calls_left = 1
        with pytest.raises(StoreError):
            memory.erase_all()
        assert memory.erase_all().complete
        assert list(journal.paths(())) == []
