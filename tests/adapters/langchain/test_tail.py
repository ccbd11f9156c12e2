"""In a long session the model of an agent is sent what trimming would keep, and what the user wants followed."""

from itertools import chain

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

import wmem
from langchain_wmem import WmemMiddleware
from tests.adapters.langchain.conftest import Run, Script
from tests.talks import REQUESTS, templated_talk, to_stored, trim

BUDGET = 2_000
FIRST, LAST = 118, 124


@pytest.mark.parametrize("stable", [False, True])
async def test_an_agent_is_sent_what_trimming_to_half_the_budget_keeps(run: Run, script: Script, stable: bool) -> None:
    turns = list(templated_talk(LAST))
    earlier = [each for turn in turns[:FIRST] for each in (*chain(*turn.steps), *turn.answer)]
    with wmem.open("memory://", agent_id="agent") as memory:
        memory.scope("s").messages.append([dict(each) for each in earlier])
        known = to_stored(earlier)
        model = script(*(str(turn.answer[0]["content"]) for turn in turns[FIRST:]))
        middleware = WmemMiddleware(memory, budget=BUDGET, session="s", reserve=0, stable=stable)
        agent = create_agent(model, middleware=[middleware])
        for turn in turns[FIRST:]:
            asked = turn.steps[0][0]
            known += to_stored([asked])
            answer = await run(agent, {"messages": [HumanMessage(asked["content"], id=asked["id"])]})
            sent = {message.id: message.text for message in model.prompts[-1]}
            kept = trim(known, BUDGET // 2)
            assert [(each.id, sent.get(str(each.id))) for each in kept] == [(each.id, each.text) for each in kept]
            text = " ".join(message.text for message in model.prompts[-1])
            assert [request for request in REQUESTS.values() if request not in text] == []
            said = answer["messages"][-1]
            known += to_stored([{"role": "assistant", "content": said.text, "id": said.id}])
