"""Receipts of many prompts, replayed after many more writes: all by `WMEM_RECEIPTS=1000`, fewer without.

WMEM_RECEIPTS=1000 pytest --tier ci tests/conformance/test_receipts.py
"""

import os
import random
from typing import Any

import pytest

from tests.receipts.shapes import Packs, say_turn
from tests.suites.embedders import Embedder
from tests.suites.receipts import fill_above, sent
from wmem.testing.suite import Call, MemoryOpener

RECEIPTS = int(os.environ.get("WMEM_RECEIPTS", "24"))
WRITES = 20 * RECEIPTS


@pytest.mark.slow
@pytest.mark.backends("memory", "sqlite", "disk", "redis", "disk+key")
def test_receipts_give_their_prompts_after_many_more_writes_and_an_erasure(
    open_memory: MemoryOpener, call: Call
) -> None:
    memory, chance, packs = open_memory(embedder=Embedder()), random.Random(1), Packs(2, call)
    parent = memory.scope("parent")
    session = parent.child("session")
    fill_above(memory, parent, session, call)
    kept: list[tuple[str, str, list[bytes], set[str | None]]] = []
    for number in range(RECEIPTS):
        for turn in (2 * number, 2 * number + 1):
            call(session.messages.append, list(say_turn(chance, turn)))
        context, system = packs.pack(session)
        call(memory.record, context)
        kept.append((context.receipt, system, sent(context), {message.id for message in context.messages}))
    for number in range(WRITES // 4):  # four in one call: a write is a message, however it comes
        call(session.messages.append, [{"role": "user", "content": f"More {number}-{at}."} for at in range(4)])
    last = open_memory.in_other_process()
    for each in (memory, last):
        equal = sum(_is_equal(call(each.replay, receipt, system=system), before) for receipt, system, before, _ in kept)
        assert equal == len(kept)
    gone = kept[len(kept) // 2][3] - {None}
    [erased, *_] = sorted(str(each) for each in gone)
    call(session.erase, erased)
    told = 0
    for receipt, system, before, ids in kept:
        replay = call(last.replay, receipt, system=system)
        if erased in ids:
            assert replay.context is None
            assert erased in [each.id for each in replay.missing if each.reason == "erased"]
            told += 1
        elif replay.context is not None:
            assert sent(replay.context) == before
        else:  # quoted in its note
            assert {(each.id, each.reason) for each in replay.missing} == {(erased, "erased")}
    assert told


def _is_equal(replay: Any, before: list[bytes]) -> bool:
    return replay.missing == () and sent(replay.context) == before
