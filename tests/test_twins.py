"""The sync and the async face have the same methods, with the same arguments."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wmem
from wmem.agent.maintenance import AsyncMaintenance, Maintenance
from wmem.scope.entries.async_face import AsyncEntries, AsyncLocalEntries
from wmem.scope.entries.face import Entries, LocalEntries
from wmem.scope.items.async_face import AsyncItems
from wmem.scope.items.face import Items
from wmem.scope.messages.async_face import AsyncMessages
from wmem.scope.messages.face import Messages
from wmem.scope.queue.async_face import AsyncQueue
from wmem.scope.queue.face import Queue

TWINS: list[tuple[type, type]] = [
    (wmem.AgentMemory, wmem.AsyncAgentMemory),
    (wmem.Scope, wmem.AsyncScope),
    (wmem.Turn, wmem.AsyncTurn),
    (Entries, AsyncEntries),
    (LocalEntries, AsyncLocalEntries),
    (Items, AsyncItems),
    (Queue, AsyncQueue),
    (Messages, AsyncMessages),
    (Maintenance, AsyncMaintenance),
]
ACROSS = {"aio", "sync"}
"""How to come from one mode to the other."""
WITHOUT_IO = {"budget_status", "child", "maintenance", "scope", "start", "subscribe", "temporary", "turn"}
"""What asks nothing of the store itself: it is called the same sync and async."""
MAY_AWAIT = {("get_or_set", "factory")}
"""Arguments that may be coroutine functions where coroutines run."""

named = pytest.mark.parametrize(("sync", "aio"), TWINS, ids=[sync.__name__ for sync, _ in TWINS])


def public(of: type) -> dict[str, Any]:
    return {name: inspect.getattr_static(of, name) for name in dir(of) if not name.startswith("_")}


def methods(sync: type, aio: type) -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    twins = public(aio)
    for name, method in public(sync).items():
        if inspect.isfunction(method) and name not in ACROSS:
            yield name, method, twins[name]


@named
def test_both_modes_have_the_same_names(sync: type, aio: type) -> None:
    only_async = {"cancel"} if aio is AsyncMaintenance else set()
    assert public(sync).keys() - ACROSS == public(aio).keys() - ACROSS - only_async


@named
def test_a_method_and_its_twin_take_the_same_arguments(sync: type, aio: type) -> None:
    for name, method, twin in methods(sync, aio):
        ours, theirs = inspect.signature(method).parameters, inspect.signature(twin).parameters
        assert list(ours) == list(theirs), name
        for argument, mine in ours.items():
            other = theirs[argument]
            if (name, argument) in MAY_AWAIT:
                other = other.replace(annotation=mine.annotation)
            assert mine == other, f"{name}({argument})"


@named
def test_what_asks_the_store_is_a_coroutine_function_and_only_that(sync: type, aio: type) -> None:
    for name, method, twin in methods(sync, aio):
        assert not inspect.iscoroutinefunction(method), name
        assert inspect.iscoroutinefunction(twin) is (name not in WITHOUT_IO), name


@named
def test_a_twin_says_whose_it_is(sync: type, aio: type) -> None:
    for name, method, twin in methods(sync, aio):
        assert method is twin or (twin.__doc__ or "").startswith("See `"), f"{aio.__name__}.{name}"


def test_both_ways_to_open_take_the_same_arguments() -> None:
    assert inspect.signature(wmem.open).parameters == inspect.signature(wmem.aopen).parameters
    assert inspect.iscoroutinefunction(wmem.aopen)
