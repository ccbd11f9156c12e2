"""Cases about secrets and personal data in memory."""

import json
from typing import Any

import pytest

import wmem
from tests.suites.redaction import read_payloads
from wmem import Redaction
from wmem.engine.writing import COMPACT_MIN_BYTES
from wmem.testing import Call, MemoryOpener

KEY = "sk-proj-Zk3v9QmT7xWb2LrY8pNc5HdJ0fGaS4eU"  # of the form of one, and nobody's
MAIL = "ada.lovelace@mail.example.org"
ARGUMENTS = {"use": KEY, "to": [MAIL], "retries": 3, "dry": True, "rate": 0.5}


def plant(memory: wmem.AgentMemory, call: Call) -> tuple[str, ...]:
    """A key in each kind of thing that a session stores; returns their ids."""
    session = memory.scope("s")
    item = call(session.items.add, f"The deploy key is {KEY}.", type="fact", metadata={"args": ARGUMENTS})
    called = {"id": "call_1", "type": "function", "function": {"name": "deploy", "arguments": json.dumps(ARGUMENTS)}}
    messages: Any = [
        {"role": "user", "content": f"Use {KEY}, and tell {MAIL}", "id": "m-1"},
        {"role": "assistant", "content": None, "tool_calls": [called], "id": "m-2"},
        {"role": "tool", "tool_call_id": "call_1", "content": json.dumps({"used": ARGUMENTS}), "id": "m-3"},
    ]
    call(session.messages.append, messages)
    call(session.entries.set, "config", {"args": ARGUMENTS})
    return item.id, "m-1", "m-2", "m-3"


def compact(memory: wmem.AgentMemory, call: Call) -> None:
    """Write so much that each scope is compacted: what it holds is in its checkpoint."""
    filler = "words that say nothing " * 60
    for scope in (memory.scope("s"), memory.semantic):
        for _ in range(2 * COMPACT_MIN_BYTES // len(filler)):
            call(scope.entries.set, "filler", filler)
    call(memory.maintain)


def expect_clean(stored: Any) -> None:
    assert not any(value.encode() in data for data in stored for value in (KEY, MAIL))


def test_B121_a_promoted_key_is_in_no_record_summary_or_checkpoint_of_what_is_kept_long(
    memory: wmem.AgentMemory, call: Call
) -> None:
    [id, *_] = plant(memory, call)
    session = memory.scope("s")
    kept = call(session.items.promote, id)
    summary = call(session.queue.summarize, "all", 100)
    compact(memory, call)
    stored = read_payloads(memory, call)
    expect_clean(data for path, data in stored.items() if any(each.startswith("~") for each in path))
    assert (kept.content, kept.metadata["working_memory_id"]) == ("The deploy key is [REDACTED_API_KEY].", id)
    assert kept.metadata["args"] == {**ARGUMENTS, "use": "[REDACTED_API_KEY]", "to": ["[REDACTED_EMAIL]"]}
    assert KEY not in summary.text
    assert summary.sources == (id,)
    assert KEY in call(session.items.get, id).content, "the session has what was said"


def test_B121_a_strict_memory_has_no_key_in_any_record_or_checkpoint(open_memory: MemoryOpener, call: Call) -> None:
    memory = open_memory(redaction=Redaction.strict())
    ids = plant(memory, call)
    session = memory.scope("s")
    call(session.items.promote, ids[0])
    compact(memory, call)
    expect_clean(read_payloads(memory, call).values())
    again = open_memory.in_other_process(redaction=Redaction.strict()).scope("s")
    assert call(again.items.get, ids[0]) is not None
    _, calling, result = call(again.messages.all)
    assert (calling.id, calling.tool_calls[0].id, result.tool_call_id) == (ids[2], "call_1", "call_1")
    clean = {**ARGUMENTS, "use": "[REDACTED_API_KEY]", "to": ["[REDACTED_EMAIL]"]}
    assert calling.tool_calls[0].args == clean
    assert json.loads(result.text) == {"used": clean}
    assert call(again.entries.get, "config") == {"args": clean}


def test_B121_recall_is_redacted_on_request(memory: wmem.AgentMemory, open_memory: MemoryOpener, call: Call) -> None:
    plant(memory, call)
    session = memory.scope("s")
    plain, redacted = (call(session.recall, "deploy key", redacted=each) for each in (False, True))
    assert [hit.id for hit in plain] == [hit.id for hit in redacted]
    assert any(KEY in hit.text for hit in plain)
    assert not any(value in hit.text for value in (KEY, MAIL) for hit in redacted)
    off = open_memory("other", redaction=Redaction.off())
    with pytest.raises(wmem.InvalidInputError, match="redaction that is off"):
        call(off.scope("s").recall, "deploy key", redacted=True)
