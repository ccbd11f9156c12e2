"""An option of a wrong type is refused where it is passed, by `wmem.open` and each adapter in the same words."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, WmemPack
from langchain_wmem import wmem_tools as langchain_tools
from llamaindex_wmem import WmemMemory
from llamaindex_wmem import wmem_tools as llamaindex_tools
from tests.external_types import SqliteNotes
from wmem import Gate, InvalidInputError, Route

WRONG: dict[str, tuple[Any, str]] = {
    "features": ("core", "features must be wmem.Features, as Features.core(), not 'core'"),
    "redaction": ("x", "redaction must be a wmem.Redaction, as Redaction.strict(), not 'x'"),
    "gate": (3, "gate must be a wmem.Gate, not 3"),
    "summarizer": (5, "summarizer must have a method summarize"),
    "enable_skill_extraction": (None, "enable_skill_extraction must be True or False, got None"),
}
ONLY_OPEN: dict[str, tuple[Any, str]] = {
    "policy": (1, "policy must be a wmem.Policy, not 1"),
    "clock": (1, "clock must be callable"),
    "default_filters": ((), "default_filters must be wmem.Filters, not tuple"),
    "retention": (7, "retention must be a list of wmem.Retention, not 7"),
    "memory_types": (7, "memory_types must be a list, got 7"),
    "embedder": (5, "embedder must be callable"),
    "enable_tool_tracking": (1, "enable_tool_tracking must be True or False, got 1"),
    "create": (1, "create must be True or False, got 1"),
    "media_tokens": (1, "media_tokens must be tokens by kind, not 1"),
    "key": (5, "key"),
}


def aopen(url: str, **options: Any) -> None:
    asyncio.run(wmem.aopen(url, **options))


def make_memory(url: str, **options: Any) -> WmemMemory:
    return WmemMemory.from_defaults(session_id="s", url=url, **options)


def make_llamaindex_tools(url: str, **options: Any) -> Any:
    return llamaindex_tools(session_id="s", url=url, **options)


def make_history(url: str, **options: Any) -> WmemChatMessageHistory:
    return WmemChatMessageHistory("s", url=url, **options)


OPENERS: dict[str, Callable[..., Any]] = {
    "open": wmem.open,
    "aopen": aopen,
    "middleware": WmemMiddleware,
    "history": make_history,
    "pack": partial(WmemPack, budget=500),
    "tools": langchain_tools,
    "llamaindex": make_memory,
    "llamaindex tools": make_llamaindex_tools,
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("opener", OPENERS)
def test_a_wrong_option_is_refused_where_it_is_passed(opener: str, name: str) -> None:
    value, told = WRONG[name]
    with pytest.raises(InvalidInputError) as caught:
        OPENERS[opener](f"memory://{uuid4().hex}", agent_id="a", **{name: value})
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize("name", ONLY_OPEN)
@pytest.mark.parametrize("opener", ["open", "aopen"])
def test_a_wrong_option_of_open_is_refused(opener: str, name: str) -> None:
    value, told = ONLY_OPEN[name]
    with pytest.raises(InvalidInputError, match=told.replace("(", r"\(")):
        OPENERS[opener](f"memory://{uuid4().hex}", agent_id="a", **{name: value})


@pytest.mark.parametrize("opener", ["open", "aopen"])
def test_a_route_to_a_memory_type_that_is_none_yet_is_told_at_open(
    opener: str, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(routes=[Route("known", [" Semantic"]), Route("away", ["archive"])])
    OPENERS[opener](f"memory://{uuid4().hex}", agent_id="a", gate=gate)
    [told] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert told == "route 'away' leads to 'archive', which is no memory type yet: register it before it is needed"


@pytest.mark.parametrize("opener", ["open", "middleware", "pack", "tools", "llamaindex"])
def test_a_counter_that_is_none_is_refused_where_it_is_passed(opener: str) -> None:
    name = "tokenizer_fn" if opener == "llamaindex" else "counter"
    with pytest.raises(InvalidInputError, match=f"{name} must be callable, not 'int'"):
        OPENERS[opener](f"memory://{uuid4().hex}", agent_id="a", **{name: 5})


def test_an_item_for_a_type_of_ones_own_gets_there_by_a_route() -> None:
    notes, gate = SqliteNotes(), Gate(routes=[Route("noted", ["NOTES"])])
    with wmem.open("memory://", agent_id="a", memory_types=[notes], gate=gate) as memory:
        assert list(memory.memorize("x").stored) == ["notes"]


def test_an_item_gets_to_a_type_that_was_registered_after_the_opening() -> None:
    notes, gate = SqliteNotes(), Gate(routes=[Route("noted", ["NOTES"])])
    with wmem.open("memory://", agent_id="a", gate=gate) as memory:
        memory.types.register(notes)
        assert list(memory.memorize("x").stored) == ["notes"]
