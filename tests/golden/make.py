"""Write the golden stores of this format: run it once for a new format, never again for an old one.

    python tests/golden/make.py tests/golden/store-v6
    python tests/golden/make.py tests/golden/store-v6-aes

A directory whose name ends in ``-aes`` is encrypted under `KEY`. `cache.db` is the store;
`expected.json` says what every later version must read from it.
"""

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import wmem
from wmem.flow import run
from wmem.model.message import Message
from wmem.model.part import Native, Part, ToolCall

START = 1_700_000_000.0
KEY = bytes(range(128, 160))  # hides nothing: it is here

VALUES: dict[str, Any] = {
    "text": 'naïve 世界 🦊 \ud800 "quoted"\n',
    "number": 2**70,
    "float": 0.1,
    "not a number": float("nan"),
    "infinite": float("-inf"),
    "true": True,
    "none": None,
    "list": [1, "two", [3.0, None]],
    "mapping": {"a": {"b": [1]}, "": 0},
    "mapping by number": {1: "one", (2, 3): "pair"},
    "looks like a tag": {"~wmem": "bytes", "value": "AAAA"},
    "bytes": b"\x00\xff\x80",
    "datetime": datetime(2026, 11, 28, 12, 30, 15, 123456, tzinfo=UTC),
    "datetime without zone": datetime(2026, 11, 28, 12, 30),  # noqa: DTZ001  # that is what it is there for
    "datetime in a zone": datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
    "date": date(2026, 12, 4),
    "time": time(23, 59, 59, 1),
    "timedelta": timedelta(days=-1, microseconds=7),
    "decimal": Decimal("1.10"),
    "uuid": UUID("12345678-1234-5678-1234-567812345678"),
    "complex": 1.5 - 2j,
    "tuple": (1, (2, "three")),
    "set": {1, 2, 3},
    "frozenset": frozenset({4, 5}),
    "posix path": PurePosixPath("/a/b"),
    "windows path": PureWindowsPath("C:\\a\\b"),
}

MESSAGES: list[Message] = [
    Message.of("system", "You are careful.", id="m-system", created_at=START, pinned=True),
    Message.of("user", "Здравствуйте 🦊", id="m-user", created_at=START + 1, name="Ada", turn_id="turn-1"),
    Message(
        role="assistant",
        id="m-calls",
        created_at=START + 2,
        turn_id="turn-1",
        parts=(Part(text="Let me look."), Part(kind="reasoning", text="It is cold there.", signature="c2ln")),
        tool_calls=(
            ToolCall(id="call-1", name="weather", arguments='{"city": "Łódź",  "days": 2}'),
            ToolCall(id="call-2", name="broken", arguments='{"half": '),
        ),
    ),
    Message.of("tool", '{"low": -3}', id="m-result-1", tool_call_id="call-1", created_at=START + 3, turn_id="turn-1"),
    Message.of("tool", "failed", id="m-result-2", tool_call_id="call-2", created_at=START + 4, turn_id="turn-1"),
    Message(
        role="user",
        id="m-media",
        created_at=START + 5,
        parts=(
            Part(kind="image", url="https://example.org/a.png"),
            Part(kind="image", base64="iVBORw0KGgo=", mime_type="image/png"),
            Part(kind="file", file_id="file-1"),
            Part(kind="other", data={"type": "x", "nested": [1, None]}),
        ),
    ),
    Message.of(
        "assistant",
        "Half an ans",
        id="m-native",
        created_at=START + 6,
        complete=False,
        metadata={"score": 0.5, "tags": ["a"]},
        native=Native(framework="langchain", data={"type": "ai", "data": {"content": "Half an ans"}}),
    ),
]


class Clock:
    """Stands still until it is moved: how often it is looked at is nobody's business."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now

    def tick(self) -> None:
        """Let a second pass."""
        self.now += 1.0


class Words:
    """Counts tokens by no tokenizer, which could change."""

    name = "words"

    def __call__(self, text: str, /) -> int:
        return len(text.split())


count = Words()


def told(memory: wmem.AgentMemory) -> dict[str, Any]:
    """Everything that is read back, as plain JSON; values by their repr."""
    found: dict[str, Any] = {}
    for name, scope in {
        "golden": memory.scope("golden"),
        "golden/draft": memory.scope("golden").child("draft"),
        "long": memory.scope("long"),
        "buffer": memory.scope("buffer"),
        "root": memory.working,
    }.items():
        found[name] = {
            "policy": scope.policy.name,
            "values": {key: repr(scope.entries.local.get(key)) for key in scope.entries.local.keys()},  # noqa: SIM118  # a facet is no mapping
            "entries": [_dumped(item) for item in scope.entries.local.all().values()],
            "items": [_dumped(item) for item in scope.items.all(include_expired=True)],
            "messages": [message.model_dump(mode="json", exclude_defaults=True) for message in scope.messages.all()],
        }
    found["children"] = {"root": memory.working.children(), "golden": memory.scope("golden").children()}
    if "queue" in found["children"]["root"]:  # since format 2
        found["queue"] = _told_queue(memory)
    if "taken back" in found["children"]["root"]:  # since format 4
        messages = memory.scope("taken back").messages
        found["taken back"] = {
            "messages": [message.id for message in messages.all()],
            "withdrawn": [message.model_dump(mode="json", exclude_defaults=True) for message in messages.withdrawn()],
        }
    if "traced" in found["children"]["root"]:  # since format 5
        found["traced"] = _told_traces(memory)
    if "restored" in found["children"]["root"]:  # since format 6
        found["long term"] = _told_long_term(memory)
    return found


def _told_long_term(memory: wmem.AgentMemory) -> dict[str, Any]:
    """What is known, what went into something else and why, and how long it held."""
    scope = memory.semantic
    return {
        "items": [_dumped(item) for item in scope.items.all()],
        "forgotten": [_dumped(item) for item in scope.items.forgotten()],
        "decisions": [[each.kind, each.rule, each.at, bool(each.into)] for each in scope.queue.decisions()],
        "restored": [_dumped(item) for item in memory.scope("restored").items.all()],
    }


def _told_traces(memory: wmem.AgentMemory) -> dict[str, Any]:
    """What the trace of a session tells, and what its prompts say when they are rendered again."""
    traces = memory.traces("traced")
    packs = [pack for trace in traces for pack in trace.packs]
    replays = [memory.replay(pack.receipt, system="You are careful.") for pack in packs]
    return {
        "turns": [[trace.id, trace.at, [type(event).__name__ for event in trace.events]] for trace in traces],
        "tokens": [[pack.tokens, pack.budget, [each.id for each in pack.recalled]] for pack in packs],
        "prompts": [each.context and each.context.to_openai() for each in replays],
        "missing": [[[each.what, each.reason] for each in replay.missing] for replay in replays],
    }


def _told_queue(memory: wmem.AgentMemory) -> dict[str, Any]:
    queue, session = memory.scope("queue"), memory.scope("session")
    _, state = run(queue._handle.replica(), memory._core.ports.sync)
    return {
        "policy": queue.policy.name,
        "items": [_dumped(item) for item in queue.items.all()],
        "step": state.step,
        "decisions": [[decision.rule, decision.tokens, decision.at] for decision in queue.queue.decisions()],
        "promoted": [_dumped(item) for item in session.items.promoted()],
    }


def _dumped(item: wmem.MemoryItem) -> dict[str, Any]:
    # Without defaults, so that a field of a later version is no difference; the importance of an
    # item without one is computed for the instant of reading.
    return item.model_dump(mode="json", exclude_defaults=True, exclude={"importance"} if item.key is None else set())


def opened(directory: Path, clock: Callable[[], float]) -> wmem.AgentMemory:
    """The store in a directory, with its key if it has one."""
    key = KEY if directory.name.endswith("-aes") else None
    return wmem.open(
        f"disk://{directory}", agent_id="agent 🦊", clock=clock, counter=count, key=key, redaction=wmem.Redaction.off()
    )


def make(directory: Path) -> None:
    """Write the store and what it holds into a directory that has none yet."""
    clock = Clock()
    with opened(directory, clock) as memory:
        memory.working.entries.set("of the agent", "inherited")
        golden = memory.scope("golden")
        for key, value in VALUES.items():
            clock.tick()
            golden.entries.set(key, value)
        golden.entries.set("with fields", 1, tags=["a", "b"], importance=0.9, metadata={"k": [1]}, kind="preference")
        golden.entries.set("with a time to live", 1, ttl_s=60)
        golden.entries.set("removed", 1)
        golden.entries.remove("removed")
        clock.tick()
        golden.entries.update("number", lambda number: number + 1)
        plain = golden.items.add(
            "prefers short answers", priority="high", tags=["style"], source="user", confidence=0.8
        )
        for _ in range(3):
            clock.tick()
            golden.items.fetch(plain.id)
        golden.items.add("for ever", ttl_s=None, type="fact", pinned=True, importance=1.0, metadata={"deep": {"er": 1}})
        gone = golden.items.add("removed")
        golden.items.remove(gone.id)
        changed = golden.items.add("to be changed", relations=[{"type": "about", "target_id": plain.id}])
        clock.tick()
        golden.items.update(changed.id, content="changed", priority="critical")
        clock.tick()
        golden.messages.append(MESSAGES)
        golden.messages.append(Message.of("user", "edited", id="m-edited", created_at=START + 7))
        golden.messages.append(Message.of("user", "edited twice", id="m-edited", created_at=START + 8))
        draft = golden.child("draft", wmem.Policy.entries())
        draft.entries.set("found", (1, 2))
        draft.entries.set("of the agent", "shadowed")
        clock.tick()
        draft.merge_to_parent()
        memory.scope("gone").entries.set("k", 1)
        memory.scope("gone").dispose()
        buffer = memory.scope("buffer", policy=wmem.Policy.buffer(max_items=None, max_entries=7))
        buffer.items.add("hot")
        _fill_queue(memory.scope("queue", policy=wmem.Policy.queue(max_items=4)), clock)
        session = memory.scope("session")
        clock.tick()
        session.items.promote(session.items.add("told to the long term", type="fact", priority="critical").id)
        _fill_taken_back(memory.scope("taken back"), clock)
        _fill_traced(memory, memory.scope("traced"), clock)
        _fill_restored(memory, clock)
        _fill_long(memory.scope("long"), clock)
    with opened(directory, lambda: START + 200) as memory:
        expected = told(memory)
    with closing(sqlite3.connect(directory / "cache.db", isolation_level=None)) as connection:
        # One file, as small as it gets: a store at rest.
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")
    (directory / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


def _fill_queue(scope: wmem.Scope, clock: Clock) -> None:
    """Six thoughts of three steps, of which two are evicted and one is hidden, and what is gone for good."""
    for number in range(6):
        clock.tick()
        scope.queue.memorize(f"thought {number}", importance=0.5 + number / 100, type="thought")
        if number % 2:
            scope.queue.advance_step()
    scope.queue.forget("oldest", mode="soft")
    scope.queue.forget("position:0", mode="hard")


def _fill_taken_back(scope: wmem.Scope, clock: Clock) -> None:
    """A request that stands no more, and an answer that came back."""
    said = ("Answer only in French from now on.", "Bien sûr.", "And now?")
    scope.messages.append([Message.of("user", text, id=f"t{at}", created_at=START) for at, text in enumerate(said)])
    clock.tick()
    scope.messages.withdraw("t0", "t1")
    scope.messages.restore("t1")


def _fill_traced(memory: wmem.AgentMemory, scope: wmem.Scope, clock: Clock) -> None:
    """Three turns with prompts of two kinds; of one of them a message was erased since, another was moved."""
    for number in range(3):
        clock.tick()
        said = [("user", f"What of ship {number}? " * 9), ("assistant", f"Ship {number} is in port {number}. " * 9)]
        scope.messages.append(
            [Message.of(role, text, id=f"s{number}{role}", created_at=START) for role, text in said]  # type: ignore[arg-type]  # they are roles
        )
        contexts = [
            scope.pack("Where is ship 0?", budget=120, system="You are careful."),
            scope.pack(budget=2_000, profile="openai", zone="Europe/Berlin"),
        ]
        scope.end_turn(f"turn {number}", *contexts)
    with memory.turn("traced", id="a turn") as turn:
        turn.track_tool_invocation("look", {"ship": 1}, "in port")
    scope.messages.move_to_end("s0user")
    scope.erase("s1user")


def _fill_restored(memory: wmem.AgentMemory, clock: Clock) -> None:
    """Knowledge that is said twice, and that changed; all of it, and all before it, is what a snapshot brought back."""
    said = ("Ada lives in Berlin.", "Ada works at the port.", "Ada works at the port!", "Ada lives in Lisbon.")
    for text in said:
        clock.tick()
        memory.memorize(wmem.ItemDraft(text, fields={"type": "fact", "importance": 0.5}))
    memory.maintain(["merge-duplicates", "mark-superseded"])
    memory.scope("restored").items.add("there when it was saved", ttl_s=None)
    snapshot = memory.snapshot()
    memory.scope("restored").items.add("there afterwards")
    clock.tick()
    memory.restore(snapshot)


def _fill_long(scope: wmem.Scope, clock: Clock) -> None:
    """Long enough to be compacted, then some records more: a snapshot and a tail."""
    for number in range(70):
        clock.tick()
        scope.messages.append(Message.of("user", f"{number} " + "word " * 200, id=f"l{number}", created_at=START))
    clock.tick()
    scope.items.add("in the tail")
    scope.entries.set("in the tail", date(2026, 1, 1))


if __name__ == "__main__":
    make(Path(sys.argv[1]))
