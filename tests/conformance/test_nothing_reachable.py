"""After an erasure, and after a close, no object of this process that wmem reaches holds the text that is gone."""

import gc
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pytest

import wmem

PLANTED = "zebrafinchling"
OURS = ("wmem", "langchain_wmem", "llamaindex_wmem")
_LEAVES = (int, float, complex, bool, type(None), FunctionType, type, FrameType)


class Embedder:
    """Vectors by length, and by whether the text is in it."""

    name = "planted"

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0, float(PLANTED in text.casefold())] for text in texts]


def _roots(memory: wmem.AgentMemory | None) -> Iterator[tuple[str, Any]]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in OURS:
            for key, value in list(vars(module).items()):
                yield f"{name}.{key}", value
    if memory is not None:
        yield "memory", memory


def _holders(memory: wmem.AgentMemory | None) -> list[str]:
    """Paths of attributes and items from wmem's modules, and a memory, to whatever holds the planted text."""
    found, seen = [], set[int]()
    todo = list(_roots(memory))
    while todo:
        path, value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, str | bytes | bytearray):
            if PLANTED in str(value).casefold():
                found.append(path)
            continue
        if isinstance(value, ModuleType) or (isinstance(value, _LEAVES) and not isinstance(value, FunctionType)):
            continue
        if isinstance(value, FunctionType):
            # Closures and defaults, but not the globals: those are roots of their own, or not ours.
            parts: list[Any] = [value.__closure__, value.__defaults__, value.__kwdefaults__, value.__dict__]
            parts.append(getattr(value, "__wrapped__", None))
        else:
            parts = gc.get_referents(value)
        todo += [(f"{path} > {type(value).__name__}", part) for part in parts]
    return found


def _use(memory: wmem.AgentMemory) -> wmem.Scope:
    """A scope that has the planted text in each facet, and has asked every index and cache about it."""
    session = memory.scope("s", policy=wmem.Policy.queue(max_items=8))
    session.messages.append(
        [
            {
                "role": "user",
                "content": f"{PLANTED.title()}: where is it? Never call my {PLANTED} a finch.",
                "id": "m",
            },
            {"role": "assistant", "content": f"Your {PLANTED} is in the garden.", "name": PLANTED, "id": "n"},
            {"role": "user", "content": "Thank you, and how are you?", "id": "o"},
        ]
    )
    session.entries.set("pet", f"a {PLANTED}")
    for number in range(12):  # more than there is room for: what leaves is chosen by its words
        session.queue.memorize(f"the {PLANTED} sings at {number}")
    session.pack(f"Where does the {PLANTED} sing?", budget=400, summary=True)
    session.pack(f"Where does the {PLANTED} sing?", budget=4_000, stable=True)
    assert PLANTED in session.pack(budget=600, messages=[{"role": "user", "content": "Hm. " * 90}] * 9).note
    session.recall(PLANTED)
    for order in ("relevance", "recency", "importance", "recall"):
        session.items.search(PLANTED, order=order)
    session.queue.remember(PLANTED)
    session.queue.summarize()
    session.view().items.search(PLANTED)
    return session


@pytest.mark.slow
@pytest.mark.no_cover  # it walks over all objects
@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/memory.db"])
def test_after_an_erasure_nothing_holds_the_text(url: str, tmp_path: Path) -> None:
    with wmem.open(url.format(tmp_path), agent_id="agent", embedder=Embedder()) as memory:
        session = _use(memory)
        assert _holders(memory), "the walk finds the text while it is there"
        entry = session.entries.entry("pet")
        assert entry is not None
        erased = session.erase("m", "n", entry.id, *[item.id for item in session.items.all()])
        assert erased.complete
        # What an agent was evicted of, or told, is not in the scope any more, but its bytes were.
        assert session.messages.count() == 1
        gc.collect()
        assert _holders(memory) == []
        assert session.pack("Thank you?", budget=400).to_openai(), "what is left is still found"


@pytest.mark.slow
@pytest.mark.no_cover  # it walks over all objects
@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/memory.db"])
def test_after_a_close_nothing_holds_the_text(url: str, tmp_path: Path) -> None:
    memory = wmem.open(url.format(tmp_path), agent_id="agent")
    _use(memory)
    memory.close()
    gc.collect()
    assert _holders(memory if "sqlite" in url else None) == []
