"""An exception at any line of a fold, a catch-up, an index or a compaction loses nothing and mixes nothing.

A tracer raises at each line of the engine in turn, as Ctrl-C, a soft time limit, a full stack or memory would. The same
memory is used on after that, then another process reads what is stored.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import wmem
from wmem.testing import Call, MemoryOpener

pytestmark = [
    pytest.mark.slow,
    pytest.mark.no_cover,  # its own tracer takes the place of the one that counts
    pytest.mark.backends("memory", "sqlite", "disk", "redis"),
]

_ROOT = Path(wmem.__file__).parent
TRACED = tuple(
    str(_ROOT / part) for part in ("state.py", "engine/", "retrieval/", "scope/pack_cache.py", "journal/memory.py")
)
UNTRACED = str(_ROOT / "engine/pool.py")  # its threads are tried by tests/faults/test_interrupts.py
STRIDE = 19
"""Every so many lines, with another start in each operation: all lines are met over all of them."""


class Interrupt(KeyboardInterrupt):
    """What the tracer raises; of its kind alone, asyncio swallows nothing that a callback raises."""


@contextmanager
def interrupt_at(line: int) -> Iterator[Callable[[], bool]]:
    """Raise `Interrupt` at the n-th line that runs inside the engine; yields whether that has happened."""
    left = line

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(TRACED) or frame.f_code.co_filename == UNTRACED:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise Interrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lambda: left <= 0
    finally:
        sys.settrace(before)


class Story:
    """A scope that two processes write to, and what of it was acknowledged."""

    def __init__(self, open_memory: MemoryOpener, call: Call, name: str) -> None:
        self._open, self._call, self._name = open_memory, call, name
        self.here = open_memory().scope(name)
        self.there = open_memory.in_other_process().scope(name)
        self.acknowledged = {"note 0", "note 1", "note 2", "note 3", "note 4", "message 0", "message 1"}
        call(self.here.entries.set, "count", 3)
        self.ids = {text: call(self.here.items.add, text, ttl_s=None).id for text in ("note 0", "note 1")}
        call(self.here.messages.append, [self._message("message 0"), self._message("message 1")])
        call(self.here.pack, "note", budget=500)  # makes the index, which changes must reach from here on
        for text in ("note 2", "note 3", "note 4"):  # what the first one has yet to read
            call(self.there.items.add, text, ttl_s=None)
        call(self.there.entries.set, "count", 4)

    @staticmethod
    def _message(text: str) -> dict[str, str]:
        return {"role": "user", "content": text, "id": text}

    def append(self) -> None:
        """Several changes in one record."""
        self._call(self.here.messages.append, [self._message("message 2"), self._message("message 3")])
        self.acknowledged |= {"message 2", "message 3"}

    def add(self) -> None:
        """A write that depends on the state."""
        self._call(self.here.items.add, "note 5", ttl_s=None)
        self.acknowledged.add("note 5")

    def read(self) -> None:
        """A catch-up."""
        assert self._call(self.here.items.count) == 5

    def recall(self) -> None:
        """A catch-up of the index."""
        assert self._call(self.here.recall, "note", limit=10)

    def remove(self) -> None:
        """A removal."""
        self._call(self.here.items.remove, self.ids["note 1"])
        self.acknowledged.discard("note 1")

    def compact(self) -> None:
        """A checkpoint in place of the records; nothing is erased that is there."""
        self._call(self.here.erase)

    def check(self, *, unsure: set[str]) -> None:
        """Nothing acknowledged is missing, through both processes and a third; further calls work."""
        for scope in (self.here, self.there, self._open.in_other_process().scope(self._name)):
            shown = {str(each.content) for each in self._call(scope.items.all)}
            shown |= {each.text for each in self._call(scope.messages.all)}
            assert self.acknowledged - unsure <= shown <= self.acknowledged | unsure
            assert self._call(scope.entries.get, "count") == 4
            hits = self._call(scope.recall, "note message", limit=100, kinds=("item", "message"))
            found = {each.text for each in hits}
            assert found == shown
        self._call(self.here.items.add, "note 6", ttl_s=None)
        self._call(self.here.erase, self.ids["note 0"])
        for scope in (self.here, self.there, self._open.in_other_process().scope(self._name)):
            texts = {str(each.content) for each in self._call(scope.items.all)}
            assert "note 6" in texts
            assert "note 0" not in texts
            assert "note 0" not in str(self._call(scope.pack, "note", budget=500).to_openai())


OPERATIONS = {
    "append": {"message 2", "message 3"},
    "add": {"note 5"},
    "read": set[str](),
    "recall": set[str](),
    "remove": {"note 1"},
    "compact": set[str](),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_exception_at_any_line_of_the_engine_loses_nothing(
    open_memory: MemoryOpener, call: Call, operation: str
) -> None:
    line, begun = 1 + list(OPERATIONS).index(operation), 0
    while True:
        story = Story(open_memory, call, f"story {line}")
        with interrupt_at(line) as has_interrupted, suppress(Interrupt):
            getattr(story, operation)()
        unsure = OPERATIONS[operation] if has_interrupted() else set()
        story.check(unsure=unsure)
        if not has_interrupted():
            break
        begun += 1
        line += STRIDE
    assert begun >= 2
