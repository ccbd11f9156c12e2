"""In a long session a chat engine is given what trimming would keep, and what the user wants followed."""

from itertools import chain

import pytest

import wmem
from llamaindex_wmem import WmemMemory, to_llamaindex
from tests.talks import REQUESTS, templated_talk, to_stored, trim

LIMIT = 2_000
FIRST, LAST = 118, 124


@pytest.mark.parametrize("stable", [False, True])
def test_an_engine_is_given_what_trimming_to_half_the_limit_keeps(stable: bool) -> None:
    turns = list(templated_talk(LAST))
    with wmem.open("memory://", agent_id="agent") as opened:
        memory = WmemMemory.from_defaults(memory=opened, session_id="s", token_limit=LIMIT, stable=stable)
        earlier = [each for turn in turns[:FIRST] for each in (*chain(*turn.steps), *turn.answer)]
        known = to_stored(earlier)
        memory.put_messages(to_llamaindex([each.message for each in known]))
        for turn in turns[FIRST:]:
            for step in turn.steps:
                new = to_stored(step)
                known += new
                memory.put_messages(to_llamaindex([each.message for each in new]))
                given = [(str(each.role.value), each.content or "") for each in memory.get()]
                kept = [(each.role, each.text) for each in trim(known, LIMIT // 2)]
                assert given[len(given) - len(kept) :] == kept or stable
                assert [each for each in kept if each not in given] == []
                text = " ".join(content for _, content in given)
                assert [request for request in REQUESTS.values() if request not in text] == []
            known += to_stored(turn.answer)
            memory.put_messages(to_llamaindex([each.message for each in to_stored(turn.answer)]))
