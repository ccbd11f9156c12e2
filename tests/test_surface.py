"""Every call that the design shows can be made as it is shown, by place and by name, sync and async."""

import inspect
from typing import Any

import pytest

import wmem
from wmem.scope.entries.async_face import AsyncEntries
from wmem.scope.entries.face import Entries
from wmem.scope.items.async_face import AsyncItems
from wmem.scope.items.face import Items
from wmem.scope.queue.async_face import AsyncQueue
from wmem.scope.queue.face import Queue

BOTH = {
    "memory": (wmem.AgentMemory, wmem.AsyncAgentMemory),
    "scope": (wmem.Scope, wmem.AsyncScope),
    "entries": (Entries, AsyncEntries),
    "items": (Items, AsyncItems),
    "queue": (Queue, AsyncQueue),
}
SHOWN: list[tuple[str, str, dict[str, Any]]] = [
    ("memory", "close", {"dispose": False}),
    ("scope", "child", {"name": "c", "policy": None}),
    ("scope", "temporary", {"name": "c", "merge": False}),
    ("scope", "merge_to_parent", {"overwrite": True, "items": False}),
    ("scope", "import_", {"document": {}}),
    ("entries", "set", {"key": "k", "value": 1}),
    ("entries", "get", {"key": "k", "default": None}),
    ("entries", "get_or_set", {"key": "k", "factory": int}),
    ("entries", "update", {"key": "k", "fn": int, "default": 0}),
    ("items", "all", {"include_expired": False, "include_promoted": False}),
    ("items", "recent", {"limit": 10}),
    ("items", "search", {"query": None}),
    ("queue", "forget", {"instruction": "low_salience", "mode": "soft"}),
    ("queue", "summarize", {"span": "all", "token_limit": 50}),
]


@pytest.mark.parametrize(("what", "verb", "arguments"), SHOWN, ids=[f"{what}.{verb}" for what, verb, _ in SHOWN])
def test_a_call_can_be_made_as_the_design_shows_it(what: str, verb: str, arguments: dict[str, Any]) -> None:
    for face in BOTH[what]:
        signature = inspect.signature(getattr(face, verb))
        by_place = signature.bind(None, *arguments.values())
        assert by_place == signature.bind(None, **arguments)
        assert list(by_place.arguments)[1:] == list(arguments)
