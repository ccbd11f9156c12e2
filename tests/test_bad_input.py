"""A bad argument gets its typed error, on every backend and sync and async, and changes nothing."""

import asyncio
import builtins
import inspect
import math
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import wmem

Call: TypeAlias = Callable[[Any], Any]
"""Something done with a scope, sync or async: what it returns may have to be awaited."""


class Unstorable:
    """Nothing that a store could keep."""


def _own() -> list[object]:
    circle: list[object] = []
    circle.append(circle)
    return circle


def _deep() -> list[object]:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


BLANKS: list[object] = [
    "",
    "  ",
    "a\x00b",
    "a\nb",
    "tab\t",
    "\x7f",
    "\x85",
    "\ud800",
    None,
    3,
    b"bytes",
    ["k"],
]
IDS = BLANKS
HUGE = 10**400  # no float holds it
LIMITS: list[object] = [-1, 1.5, "3", True, -HUGE]
TTLS: list[object] = [0, -1, math.nan, math.inf, "soon", True, HUGE, -HUGE]
WHOLES: list[object] = [-1, 1.5, "x", True, math.nan, HUGE, -HUGE, 2**53]
FLAGS: list[object] = [None, 1, "yes", [], {}]
VALUES: list[object] = [
    object(),
    Unstorable(),
    print,
    lambda: 0,
    types,
    _own(),
    _deep(),
    {"deep": {object()}},
    range(3),
    1j.__class__,
]
CONTENTS: list[object] = ["", None, 3, b"x", ["x"], "x" * 102_401]
SAID: list[object] = [
    None,
    "just text",
    b"bytes",
    3,
    [3],
    ["text"],
    [None],
    {},
    {"content": "no role"},
    {"role": "root", "content": "x"},
    {"role": None, "content": "x"},
    {"role": "user", "content": 3},
    {"role": "user", "content": object()},
    {"role": "user", "unknown": 1},
    {"role": "user", "content": "x", "unknown": object()},
    {"role": "user", "tokens": 1},
    {"role": "user", "content": "x", "id": ""},
    {"role": "user", "content": "x", "id": "a\nb"},
    {"role": "user", "content": "x", "id": 3},
    {"role": "user", "content": "x", "created_at": "yesterday"},
    {"role": "user", "content": "x", "created_at": object()},
    {"role": "user", "content": "x", "metadata": {"o": object()}},
    {"role": "assistant", "tool_calls": "x"},
    {"role": "assistant", "tool_calls": [{"id": "c"}]},
    {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": 3, "arguments": "{}"}}]},
    {"role": "tool", "content": "x", "tool_call_id": 3},
    [{"role": "user", "content": "good"}, {"role": "root", "content": "bad"}],
]

SET_BY_WMEM = [
    *(
        "id",
        "key",
        "message",
        "type_name",
        "created_at",
        "updated_at",
        "last_accessed_at",
        "access_count",
        "expires_at",
    ),
    *(
        "tokens",
        "novelty",
        "version",
        "redaction_status",
        "checksum",
        "promoted_to",
        "promoted_at",
        "deleted_at",
        "complete",
    ),
]
"""Fields of an item that no caller sets."""

DOCUMENT = {"format": "wmem-scope", "version": 1}

Cases: TypeAlias = dict[str, tuple[Callable[[Any, Any], Any], list[object], type[wmem.WmemError]]]

CASES: Cases = {
    "entries.set key": (lambda s, bad: s.entries.set(bad, 1), BLANKS, wmem.InvalidInputError),
    "entries.set value": (lambda s, bad: s.entries.set("k", bad), VALUES, wmem.SerializationError),
    "entries.set importance": (
        lambda s, bad: s.entries.set("k", 1, importance=bad),
        [-0.1, 1.1, math.nan, "high", None, True],
        wmem.InvalidInputError,
    ),
    "entries.set ttl_s": (lambda s, bad: s.entries.set("k", 1, ttl_s=bad), TTLS, wmem.InvalidInputError),
    "entries.set tags": (
        lambda s, bad: s.entries.set("k", 1, tags=bad),
        ["text", [""], [3], [None], 3],
        wmem.InvalidInputError,
    ),
    "entries.set metadata": (
        lambda s, bad: s.entries.set("k", 1, metadata=bad),
        ["text", [1], {"o": object()}, {3: object()}],
        wmem.InvalidInputError,
    ),
    "entries.set kind": (lambda s, bad: s.entries.set("k", 1, kind=bad), ["x", 3, object()], wmem.InvalidInputError),
    "entries.set size": (lambda s, bad: s.entries.set("k", bad), ["x" * 1_048_577], wmem.CapacityError),
    "entries.get key": (lambda s, bad: s.entries.get(bad), BLANKS, wmem.InvalidInputError),
    "entries.get_many keys": (lambda s, bad: s.entries.get_many(["k", bad]), BLANKS, wmem.InvalidInputError),
    "entries.entry key": (lambda s, bad: s.entries.entry(bad), BLANKS, wmem.InvalidInputError),
    "entries.contains key": (lambda s, bad: s.entries.contains(bad), BLANKS, wmem.InvalidInputError),
    "entries.remove key": (lambda s, bad: s.entries.remove(bad), BLANKS, wmem.InvalidInputError),
    "entries.update key": (lambda s, bad: s.entries.update(bad, str, ""), BLANKS, wmem.InvalidInputError),
    "entries.update absent": (lambda s, bad: s.entries.update("absent", bad), [str], wmem.NotFoundError),
    "entries.update result": (
        lambda s, bad: s.entries.update("there", lambda _: bad),
        VALUES,
        wmem.SerializationError,
    ),
    "entries.update function": (
        lambda s, bad: s.entries.update("there", bad),
        [None, 3, "text"],
        wmem.InvalidInputError,
    ),
    "entries.get_or_set key": (lambda s, bad: s.entries.get_or_set(bad, list), BLANKS, wmem.InvalidInputError),
    "entries.get_or_set result": (
        lambda s, bad: s.entries.get_or_set("absent", lambda: bad),
        VALUES,
        wmem.SerializationError,
    ),
    "entries.get_or_set factory": (
        lambda s, bad: s.entries.get_or_set("absent", bad),
        [None, 3, "text"],
        wmem.InvalidInputError,
    ),
    "entries.get as_type that is none": (
        lambda s, bad: s.entries.get("there", as_type=bad),
        ["str", "", 3, True, b"x", {"type": "str"}, [int], (int,), {int}, object(), Unstorable],
        wmem.InvalidInputError,
    ),
    "entries.get as_type": (lambda s, bad: s.entries.get("there", as_type=bad), [dict, int], wmem.SerializationError),
    "items.add content": (lambda s, bad: s.items.add(bad), CONTENTS, wmem.InvalidInputError),
    "items.add priority": (
        lambda s, bad: s.items.add("x", priority=bad),
        ["urgent", "", None, 3, ["low"]],
        wmem.InvalidInputError,
    ),
    "items.add ttl_s": (lambda s, bad: s.items.add("x", ttl_s=bad), TTLS, wmem.InvalidInputError),
    "items.add importance": (
        lambda s, bad: s.items.add("x", importance=bad),
        [-0.1, 1.1, math.nan, "much", [1]],
        wmem.InvalidInputError,
    ),
    "items.add confidence": (
        lambda s, bad: s.items.add("x", confidence=bad),
        [-0.1, 1.1, math.nan, "sure", "1.5"],
        wmem.InvalidInputError,
    ),
    "items.add field": (lambda s, bad: s.items.add("x", **{bad: 1}), ["colour", *SET_BY_WMEM], wmem.InvalidInputError),
    "items.add tags": (lambda s, bad: s.items.add("x", tags=bad), ["text", [""], [3], 3], wmem.InvalidInputError),
    "items.add metadata": (
        lambda s, bad: s.items.add("x", metadata=bad),
        ["text", [1], {"o": object()}],
        wmem.InvalidInputError,
    ),
    "items.add step_index": (lambda s, bad: s.items.add("x", step_index=bad), WHOLES, wmem.InvalidInputError),
    "items.add chunk_index": (lambda s, bad: s.items.add("x", chunk_index=bad), WHOLES, wmem.InvalidInputError),
    "items.add valid_to": (
        lambda s, bad: s.items.add("x", valid_to=bad),
        [True, math.nan, math.inf, "soon", HUGE],
        wmem.InvalidInputError,
    ),
    "items.add source": (lambda s, bad: s.items.add("x", source=bad), ["mars", 3], wmem.InvalidInputError),
    "items.add id": (
        lambda s, bad: s.items.add("x", id=bad),
        [*(each for each in IDS if each is not None), "memory_promoted_a_1", "x" * 1_025],
        wmem.InvalidInputError,
    ),
    "items.add id of other content": (
        lambda s, _: s.items.add("quite other words", id=s.one),
        [None],
        wmem.InvalidInputError,
    ),
    "items.all limit": (lambda s, bad: s.items.all(limit=bad), LIMITS, wmem.InvalidInputError),
    "items.all after": (
        lambda s, bad: s.items.all(after=bad),
        [each for each in IDS if each is not None],
        wmem.InvalidInputError,
    ),
    "items.all after absent": (lambda s, bad: s.items.all(after=bad), ["absent"], wmem.NotFoundError),
    "items.get id": (lambda s, bad: s.items.get(bad), IDS, wmem.InvalidInputError),
    "items.exists id": (lambda s, bad: s.items.exists(bad), IDS, wmem.InvalidInputError),
    "items.fetch id": (lambda s, bad: s.items.fetch(bad), IDS, wmem.InvalidInputError),
    "items.fetch absent": (lambda s, bad: s.items.fetch(bad), ["absent"], wmem.NotFoundError),
    "items.fetch expired": (lambda s, _: s.items.fetch(s.old), [None], wmem.ExpiredError),
    "items.update id": (lambda s, bad: s.items.update(bad, content="x"), IDS, wmem.InvalidInputError),
    "items.update absent": (lambda s, bad: s.items.update(bad, content="x"), ["absent"], wmem.NotFoundError),
    "items.update content": (
        lambda s, bad: s.items.update(s.one, content=bad),
        ["", 3, b"x", "x" * 102_401],
        wmem.InvalidInputError,
    ),
    "items.update priority": (lambda s, bad: s.items.update(s.one, priority=bad), ["x", 3], wmem.InvalidInputError),
    "items.update ttl_s": (lambda s, bad: s.items.update(s.one, ttl_s=bad), TTLS, wmem.InvalidInputError),
    "items.update field": (
        lambda s, bad: s.items.update(s.one, **{bad: None}),
        ["colour", *SET_BY_WMEM[1:]],
        wmem.InvalidInputError,
    ),
    "items.remove id": (lambda s, bad: s.items.remove(bad), IDS, wmem.InvalidInputError),
    "items.recent limit": (lambda s, bad: s.items.recent(bad), [*LIMITS, None], wmem.InvalidInputError),
    "items.search query": (lambda s, bad: s.items.search(bad), [3, b"x", ["x"]], wmem.InvalidInputError),
    "items.search tags": (lambda s, bad: s.items.search(tags=bad), ["text", [""], [3], None], wmem.InvalidInputError),
    "items.search priority": (lambda s, bad: s.items.search(priority=bad), ["x", 3, ["low"]], wmem.InvalidInputError),
    "items.search metadata": (lambda s, bad: s.items.search(metadata=bad), ["x", 3, ["a"]], wmem.InvalidInputError),
    "items.search min_confidence": (
        lambda s, bad: s.items.search(min_confidence=bad),
        [-0.1, 1.1, math.nan, True, "sure", HUGE, -HUGE],
        wmem.InvalidInputError,
    ),
    "items.search order": (lambda s, bad: s.items.search(order=bad), ["x", "", 3, ["recall"]], wmem.InvalidInputError),
    "items.search limit": (lambda s, bad: s.items.search(limit=bad), [*LIMITS, None], wmem.InvalidInputError),
    "items.expire id": (lambda s, bad: s.items.expire(bad), IDS, wmem.InvalidInputError),
    "items.expire absent": (lambda s, bad: s.items.expire(bad), ["absent"], wmem.NotFoundError),
    "items.extend_ttl id": (lambda s, bad: s.items.extend_ttl(bad), IDS, wmem.InvalidInputError),
    "items.extend_ttl ttl_s": (lambda s, bad: s.items.extend_ttl(s.one, bad), TTLS, wmem.InvalidInputError),
    "items.undelete id": (lambda s, bad: s.items.undelete(bad), IDS, wmem.InvalidInputError),
    "items.undelete expired": (lambda s, _: s.items.undelete(s.old), [None], wmem.ExpiredError),
    "items.relate id": (lambda s, bad: s.items.relate(bad, "t", "x"), IDS, wmem.InvalidInputError),
    "items.relate type": (lambda s, bad: s.items.relate(s.one, bad, "x"), ["", " ", None, 3], wmem.InvalidInputError),
    "items.relate target": (lambda s, bad: s.items.relate(s.one, "t", bad), ["", None, 3], wmem.InvalidInputError),
    "items.relate metadata": (
        lambda s, bad: s.items.relate(s.one, "t", "x", bad),
        ["", "text", 0, False, [1], {"o": object()}],
        wmem.InvalidInputError,
    ),
    "items.relate expired": (lambda s, _: s.items.relate(s.old, "t", "x"), [None], wmem.ExpiredError),
    "items.promote id": (lambda s, bad: s.items.promote(bad), IDS, wmem.InvalidInputError),
    "items.promote if_promoted": (
        lambda s, bad: s.items.promote(s.one, if_promoted=bad),
        ["raise", None, True],
        wmem.InvalidInputError,
    ),
    "items.promote expired": (lambda s, _: s.items.promote(s.old), [None], wmem.ExpiredError),
    "items.promote_many": (lambda s, bad: s.items.promote_many(bad), ["id", b"id", None, 3], wmem.InvalidInputError),
    "queue.memorize step_index": (
        lambda s, bad: s.queue.memorize("x", step_index=bad),
        WHOLES,
        wmem.InvalidInputError,
    ),
    "queue.memorize field": (
        lambda s, bad: s.queue.memorize("x", **{bad: 1}),
        ["colour", *SET_BY_WMEM],
        wmem.InvalidInputError,
    ),
    "queue.memorize content": (lambda s, bad: s.queue.memorize(bad), CONTENTS, wmem.InvalidInputError),
    "queue.remember": (lambda s, bad: s.queue.remember(bad), [3, b"x", ["x"]], wmem.InvalidInputError),
    "queue.remember agent_id": (
        lambda s, bad: s.queue.remember(agent_id=bad),
        [3, b"x", ["x"], True],
        wmem.InvalidInputError,
    ),
    "queue.remember min_importance": (
        lambda s, bad: s.queue.remember(min_importance=bad),
        [-0.1, 1.1, math.nan, True, "x", None, HUGE],
        wmem.InvalidInputError,
    ),
    "queue.forget": (
        lambda s, bad: s.queue.forget(bad),
        ["", "newest", "position:-1", "position:1.5", "before:3", "before:step_x", None, 3],
        wmem.InvalidInputError,
    ),
    "queue.forget mode": (lambda s, bad: s.queue.forget("oldest", bad), ["", "x", None, True], wmem.InvalidInputError),
    "queue.summarize span": (
        lambda s, bad: s.queue.summarize(bad, token_limit=9),
        ["", "x", None],
        wmem.InvalidInputError,
    ),
    "queue.summarize token_limit": (
        lambda s, bad: s.queue.summarize(token_limit=bad),
        [0, *LIMITS, None],
        wmem.InvalidInputError,
    ),
    "queue.advance_step": (lambda s, bad: s.queue.advance_step(bad), [0, *WHOLES], wmem.InvalidInputError),
    "queue.evict_to": (lambda s, bad: s.queue.evict_to(items=bad), LIMITS, wmem.InvalidInputError),
    "queue.evict_to tokens": (lambda s, bad: s.queue.evict_to(tokens=bad), [*LIMITS, None], wmem.InvalidInputError),
    "merge overwrite": (lambda s, bad: s.merge_to_parent(overwrite=bad), FLAGS, wmem.InvalidInputError),
    "merge items": (lambda s, bad: s.merge_to_parent(items=bad), FLAGS, wmem.InvalidInputError),
    "import_": (lambda s, bad: s.import_(bad), [None, 3, "x", [], {}, {"format": "x"}], wmem.InvalidInputError),
    "import_ step": (lambda s, bad: s.import_({**DOCUMENT, "step": bad}), WHOLES, wmem.InvalidInputError),
    "import_ access_count": (
        lambda s, bad: s.import_({**DOCUMENT, "memories": [{"id": "i", "content": "x", "access_count": bad}]}),
        [-1, HUGE, 2**53, "x"],
        wmem.InvalidInputError,
    ),
    "import_ step_index": (
        lambda s, bad: s.import_({**DOCUMENT, "memories": [{"id": "i", "content": "x", "step_index": bad}]}),
        [-1, HUGE, 2**53, "x"],
        wmem.InvalidInputError,
    ),
    "messages.append": (lambda s, bad: s.messages.append(bad), SAID, wmem.InvalidInputError),
    "messages.replace": (lambda s, bad: s.messages.replace(bad), SAID, wmem.InvalidInputError),
    "messages.all limit": (lambda s, bad: s.messages.all(bad), LIMITS, wmem.InvalidInputError),
    "messages.all before": (
        lambda s, bad: s.messages.all(before=bad),
        [each for each in IDS if each is not None],
        wmem.InvalidInputError,
    ),
    "messages.all before absent": (lambda s, bad: s.messages.all(before=bad), ["absent"], wmem.NotFoundError),
    "child create": (lambda s, bad: s.child("c", create=bad), FLAGS, wmem.InvalidInputError),
    "messages.get id": (lambda s, bad: s.messages.get(bad), IDS, wmem.InvalidInputError),
    "messages.remove id": (lambda s, bad: s.messages.remove(bad), IDS, wmem.InvalidInputError),
    "child name": (lambda s, bad: s.child(bad), [*BLANKS, "~trace", "~"], wmem.InvalidInputError),
    "child policy": (lambda s, bad: s.child("c", bad), ["session", 3, {}], wmem.InvalidInputError),
    "merge of a root": (lambda s, _: s.root.merge_to_parent(), [None], wmem.InvalidInputError),
    "pack budget": (
        lambda s, bad: s.pack(budget=bad),
        [0, -1, 1.5, math.inf, "many", None, True],
        wmem.InvalidInputError,
    ),
    "pack reserve": (lambda s, bad: s.pack(budget=100, reserve=bad), [-1, 1.5, "x", None], wmem.InvalidInputError),
    "pack reserve above the budget": (lambda s, bad: s.pack(budget=100, reserve=bad), [101], wmem.BudgetError),
    "pack long_term": (lambda s, bad: s.pack(budget=100, long_term=bad), [None, 1, "no"], wmem.InvalidInputError),
    "pack inherit": (lambda s, bad: s.pack(budget=100, inherit=bad), [None, 1, "no"], wmem.InvalidInputError),
    "recall long_term": (lambda s, bad: s.recall("x", long_term=bad), [None, 1, "no"], wmem.InvalidInputError),
    "pack recent": (lambda s, bad: s.pack(budget=100, recent=bad), [-1, 1.5, "x", None], wmem.InvalidInputError),
    "pack profile": (lambda s, bad: s.pack(budget=100, profile=bad), ["x", None, 3], wmem.InvalidInputError),
    "pack orphans": (lambda s, bad: s.pack(budget=100, orphans=bad), ["keep", None], wmem.InvalidInputError),
    "pack note_role": (lambda s, bad: s.pack(budget=100, note_role=bad), ["tool", None], wmem.InvalidInputError),
    "pack system": (lambda s, bad: s.pack(budget=100, system=bad), [None, 3, b"x"], wmem.InvalidInputError),
    "pack system above the budget": (lambda s, bad: s.pack(budget=20, system=bad), ["word " * 99], wmem.BudgetError),
    "pack pinned above the budget": (lambda s, bad: s.pack(budget=bad), [3], wmem.BudgetError),
    "pack query": (lambda s, bad: s.pack(bad, budget=100), [3, b"x", ["x"]], wmem.InvalidInputError),
    "pack tools": (lambda s, bad: s.pack(budget=100, tools=bad), [3, ["x"], [object()]], wmem.InvalidInputError),
    "pack messages": (lambda s, bad: s.pack(budget=100, messages=bad), ["text", [3], [{}]], wmem.InvalidInputError),
}


class Prepared:
    """A scope with something in it, whose methods are driven in one mode."""

    def __init__(self, url: str) -> None:
        self.now = 1_700_000_000.0
        self.memory = wmem.open(url, agent_id="agent", clock=lambda: self.now)
        scope = self.memory.scope("session")
        scope.entries.set("there", "text")
        self.old = scope.items.add("old", ttl_s=1).id
        self.one = scope.items.add("one", ttl_s=None).id
        scope.messages.append({"role": "user", "content": "pinned words of some length", "pinned": True})
        self.now += 100
        self.scope = scope

    def told(self) -> object:
        """Where every journal stands."""
        return self.memory.changes().cursors


class Coloured:
    """The scope in one mode, with the ids that the cases name."""

    def __init__(self, prepared: Prepared, mode: str) -> None:
        scope = prepared.scope if mode == "sync" else prepared.scope.aio()
        self.entries, self.items, self.messages = scope.entries, scope.items, scope.messages
        self.child, self.pack, self.recall, self.queue = scope.child, scope.pack, scope.recall, scope.queue
        self.merge_to_parent, self.import_ = scope.merge_to_parent, scope.import_
        self.root: Any = prepared.memory.working if mode == "sync" else prepared.memory.working.aio()
        self.old, self.one = prepared.old, prepared.one


@pytest.fixture(scope="module", params=["memory", "disk"])
def prepared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    url = "memory://" if request.param == "memory" else f"disk://{tmp_path_factory.mktemp('bad') / 'store'}"
    made = Prepared(url)
    yield made
    made.memory.close()


def _done(made: object) -> object:
    if not inspect.isawaitable(made):
        return made

    async def awaited() -> object:
        return await made

    return asyncio.run(awaited())


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("name", CASES)
def test_a_bad_argument_gets_its_typed_error_and_changes_nothing(name: str, mode: str, prepared: Prepared) -> None:
    act, bads, expected = CASES[name]
    scope = Coloured(prepared, mode)
    for bad in bads:
        before = prepared.told()
        try:
            returned = _done(act(scope, bad))
        except expected as refused:
            assert type(refused) is expected  # noqa: PT017  # a subclass would say something else
            told = str(refused)
            assert told, name
            assert len(told) < 700, "a message shows the beginning of what was wrong, not all of it"
        except BaseException as exc:  # noqa: BLE001  # whatever else comes is the fault looked for
            short = f"{bad!r:.60}" if not isinstance(bad, list) else "a list"
            pytest.fail(f"{name}: {short} raised {type(exc).__name__}: {exc!s:.200}")
        else:
            short = f"{bad!r:.60}" if not isinstance(bad, list) else "a list"
            pytest.fail(f"{name}: {short} was taken; it returned {returned!r:.80}")
        assert prepared.told() == before, f"{name}: {type(bad).__name__} changed something"


URLS = [
    ("redis2://host", wmem.InvalidInputError),
    ("disk", wmem.InvalidInputError),
    ("", wmem.InvalidInputError),
    ("disk://", wmem.InvalidInputError),
    ("disk:///a\x00b", wmem.InvalidInputError),
    ("/just/a/path", wmem.InvalidInputError),
    ("://", wmem.InvalidInputError),
    ("http://[broken", wmem.InvalidInputError),
    (None, wmem.InvalidInputError),
    (b"memory://", wmem.InvalidInputError),
    (Path("store"), wmem.InvalidInputError),
]


def _opened(mode: str, *url: Any, **options: Any) -> object:
    return wmem.open(*url, **options) if mode == "sync" else asyncio.run(wmem.aopen(*url, **options))


@pytest.mark.parametrize("field", SET_BY_WMEM[1:])
def test_a_field_that_only_wmem_sets_is_named_when_it_is_refused(field: str) -> None:
    fields: dict[str, Any] = {field: None}
    with wmem.open("memory://", agent_id="agent") as memory:
        with pytest.raises(wmem.InvalidInputError, match=repr(field)):
            memory.scope("s").items.add("x", **fields)
        assert memory.changes().events == ()


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(("url", "error"), URLS, ids=[repr(url) for url, _ in URLS])
def test_a_url_that_names_no_store_is_refused(url: object, error: type[wmem.WmemError], mode: str) -> None:
    with pytest.raises(error):
        _opened(mode, url, agent_id="agent")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_an_unknown_scheme_is_told_the_known_ones(mode: str) -> None:
    with pytest.raises(wmem.InvalidInputError, match=r"unknown store 'mongo://…'.*memory://.*disk://"):
        _opened(mode, "mongo://h", agent_id="agent")


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("agent_id", [*BLANKS, "~agent"], ids=repr)
def test_an_agent_without_a_proper_name_is_refused(agent_id: object, mode: str) -> None:
    with pytest.raises(wmem.InvalidInputError):
        _opened(mode, "memory://", agent_id=agent_id)


@pytest.mark.parametrize(
    "options",
    [
        *({"policy": "session"}, {"policy": {}}, {"counter": 3}, {"counter": len}, {"clock": 0.0}, {"clock": "now"}),
        *({"features": "core"}, {"create": None}),
    ],
    ids=repr,
)
def test_options_of_the_wrong_kind_are_refused_when_opening(options: dict[str, Any]) -> None:
    with pytest.raises(wmem.InvalidInputError):
        wmem.open("memory://", agent_id="agent", **options)


@pytest.mark.parametrize(
    "names", [("",), ("a", " "), ("~trace",), ("a", "~x"), (3,), (None,), (["a"],), ("a\nb",)], ids=repr
)
def test_a_scope_without_a_proper_name_is_refused(names: tuple[Any, ...]) -> None:
    with wmem.open("memory://", agent_id="agent") as memory, pytest.raises(wmem.InvalidInputError):
        memory.scope(*names)


@pytest.mark.parametrize(
    "numbers",
    [
        {"max_items": 0},
        {"max_entries": -1},
        {"promote_importance": 2},
        {"ttl_s": {"low": 1}},
        {"ttl_s": {"low": -1, "medium": 1, "high": 1, "critical": 1}},
        {"guard_low": 0.9, "guard_high": 0.1},
        {"colour": "red"},
        {"max_items": "many"},
    ],
    ids=repr,
)
def test_a_policy_with_impossible_numbers_is_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(wmem.InvalidInputError, match="policy"):
        wmem.Policy(**numbers)


def test_another_policy_than_the_stored_one_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    for url in (f"disk://{tmp_path / 'store'}", "memory://policies"):
        with wmem.open(url, agent_id="agent") as memory:
            memory.scope("s", policy=wmem.Policy.entries()).entries.set("k", 1)
            before = memory.changes().cursors
            with pytest.raises(wmem.InvalidInputError, match=r"'entries'.*'session'"):
                memory.scope("s", policy=wmem.Policy.session(max_items=3)).entries.set("k", 2)
            assert memory.changes().cursors == before


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_directory_below_a_regular_file_is_a_typed_error_that_names_it(mode: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a regular file")
    with pytest.raises(wmem.StoreError, match="file/store"):
        _opened(mode, f"disk://{tmp_path / 'file' / 'store'}", agent_id="agent")
    with pytest.raises(wmem.StoreError, match="file"):
        _opened(mode, f"disk://{tmp_path / 'file'}", agent_id="agent")
    assert (tmp_path / "file").read_text() == "a regular file"


def test_a_directory_whose_name_would_be_expanded_is_refused_and_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELSEWHERE", "elsewhere")
    with pytest.raises(wmem.StoreError, match="ELSEWHERE"):
        wmem.open(f"disk://{tmp_path}/$ELSEWHERE", agent_id="agent")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_is_named_with_how_to_install_it(tmp_path: Path) -> None:
    code = f"""if True:
        import sys
        sys.modules["diskcache"] = None
        import wmem
        try:
            wmem.open("disk://{tmp_path / "store"}", agent_id="agent")
        except wmem.MissingExtraError as exc:
            assert isinstance(exc, ImportError)
            assert "wmem[disk]" in str(exc), exc
        else:
            raise SystemExit("it opened without its driver")
        wmem.open("memory://", agent_id="agent").scope("s").entries.set("k", 1)
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_a_memory_that_was_closed_says_so() -> None:
    memory = wmem.open("memory://", agent_id="agent")
    memory.close()
    memory.close()
    with pytest.raises(wmem.InvalidInputError, match="closed"):
        memory.scope("s")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_everything_asked_of_a_disposed_scope_raises_and_changes_nothing(mode: str, tmp_path: Path) -> None:
    for url in (f"disk://{tmp_path / 'store'}", "memory://"):
        with wmem.open(url, agent_id="agent") as memory:
            scope = memory.scope("s")
            scope.entries.set("k", 1)
            scope.dispose()
            before = memory.changes().cursors
            gone: Any = scope if mode == "sync" else scope.aio()
            calls: list[Callable[[], object]] = [
                lambda gone=gone: gone.entries.get("k"),  # type: ignore[misc]  # bound now
                lambda gone=gone: gone.entries.set("k", 2),  # type: ignore[misc]  # bound now
                lambda gone=gone: gone.entries.update("k", str, 1),  # type: ignore[misc]  # bound now
                lambda gone=gone: gone.items.add("x"),  # type: ignore[misc]  # bound now
                lambda gone=gone: gone.items.all(),  # type: ignore[misc]  # bound now
                lambda gone=gone: gone.messages.append({"role": "user", "content": "x"}),  # type: ignore[misc]  # bound now
                lambda gone=gone: gone.messages.all(),  # type: ignore[misc]  # bound now
                lambda gone=gone: gone.pack(budget=100),  # type: ignore[misc]  # bound now
                lambda gone=gone: gone.view(),  # type: ignore[misc]  # bound now
                lambda gone=gone: gone.child("c"),  # type: ignore[misc]  # bound now
            ]
            for call in calls:
                with pytest.raises(wmem.DisposedError):
                    _done(call())
            assert _done(gone.dispose()) == 0
            assert memory.changes().cursors == before


def test_what_is_asked_for_in_place_of_an_id_is_not_quoted_at_length() -> None:
    memory = wmem.open("memory://", agent_id="agent")
    scope, text = memory.scope("s"), "what is to be remembered " * 99
    episodic = memory.types["episodic"]
    acts: list[Callable[[], object]] = [
        lambda: memory.trace(text),
        lambda: scope.items.all(after=text),
        lambda: scope.messages.all(before=text),
        lambda: scope.items.fetch(text),
        lambda: scope.items.promote(text),
        lambda: scope.items.extend_ttl(text),
        lambda: scope.items.relate(text, "follows", "x"),
        lambda: episodic.link(text, "x"),
        lambda: scope.entries[text],
    ]
    for act in acts:
        with pytest.raises(wmem.NotFoundError) as caught:
            act()
        assert len(str(caught.value)) < 200


def test_every_error_is_the_builtin_it_amounts_to() -> None:
    for error, builtin in {
        wmem.InvalidInputError: ValueError,
        wmem.BudgetError: ValueError,
        wmem.NotFoundError: KeyError,
        wmem.ExpiredError: KeyError,
        wmem.SerializationError: TypeError,
        wmem.MissingExtraError: ImportError,
    }.items():
        assert issubclass(error, builtin)
        assert issubclass(error, wmem.WmemError)
    assert str(wmem.NotFoundError("no entry 'k'")) == "no entry 'k'", "a sentence, not its repr"
    assert builtins.KeyError in wmem.NotFoundError.__mro__


def test_a_number_of_steps_that_nobody_can_reckon_with_leaves_a_queue_that_works() -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        scope = memory.scope("s", policy=wmem.Policy.queue(max_items=2))
        assert scope.queue.advance_step(2**53 - 1) == 2**53 - 1
        with pytest.raises(wmem.InvalidInputError, match="step"):
            scope.queue.advance_step()
        told = [scope.queue.memorize(text) for text in ("one", "two", "three")]
        assert [item.content for item in told[-1].evicted] == ["one"]


def test_a_limit_above_every_number_of_things_gives_all_of_them() -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        scope = memory.scope("s")
        scope.items.add("x")
        scope.messages.append({"role": "user", "content": "x"})
        found = [scope.items.recent(HUGE), scope.items.search(limit=HUGE), scope.messages.all(HUGE)]
        assert [len(each) for each in found] == [1, 1, 1]
        assert len(scope.queue.remember(limit=HUGE)) == 1
