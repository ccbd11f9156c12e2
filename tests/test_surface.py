"""Arguments of public calls can be given by position and by name, as documented, sync and async."""

import dataclasses
import inspect
import pydoc
import re
from typing import Any

import pytest

import wmem
from wmem.pack.request import PackOptions
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


OPTIONS = [(wmem.Scope, "pack"), (Items, "search"), (Queue, "remember")]


@pytest.mark.parametrize(("face", "verb"), OPTIONS, ids=[verb for _, verb in OPTIONS])
def test_help_shows_every_option_with_its_type_and_default_and_says_what_it_is_for(face: type, verb: str) -> None:
    method = getattr(face, verb)
    text = pydoc.plain(pydoc.render_doc(method))
    for name, option in inspect.signature(method).parameters.items():
        assert option.kind not in (option.VAR_POSITIONAL, option.VAR_KEYWORD)
        if name != "self":
            assert re.search(rf"\b{name}: [^,]+", text), name
            assert f"\n        {name}: " in text, name
        if option.default is not option.empty:
            assert re.search(rf"\b{name}: .+? = {re.escape(repr(option.default))}", text), name


def test_the_defaults_of_a_pack_stand_in_its_signature_alone() -> None:
    fields = {field.name: field for field in dataclasses.fields(PackOptions)}
    assert all(field.default is field.default_factory is dataclasses.MISSING for field in fields.values())
    asked = inspect.signature(wmem.Scope.pack).parameters
    assert {name: field.type for name, field in fields.items()} == {name: asked[name].annotation for name in fields}
