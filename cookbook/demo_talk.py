"""The first process: a LangChain agent runs through the whole conversation, and wmem stores it."""

import time
from collections import Counter
from contextlib import suppress
from typing import Any

from demo_printing import TalkReport, show_stored
from demo_reading import Conversation, Turn
from demo_replies import NoReplyError, RecordedReplies
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

import wmem
from langchain_wmem import WmemMiddleware

__all__ = ["talk"]

BUDGET = 2_048
"""Tokens of each model call, of which the middleware keeps 1,024 free for the reply."""
_UNLIMITED = 10**9


class RecordedClock:
    """A clock set to the recording's time, so that memories carry its dates and not today's."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """UTC epoch seconds."""
        return self.now


def talk(conversation: Conversation, url: str, agent_id: str, session_id: str) -> None:
    """Run the agent on every user turn with the recorded replies, and print what was stored."""
    started, largest = time.perf_counter(), 0
    clock = RecordedClock()
    with wmem.open(url, agent_id=agent_id, clock=clock) as memory:
        session = memory.scope(session_id)
        session.messages.clear()  # from an earlier run in the same directory
        middleware = WmemMiddleware(memory, session=session_id, budget=BUDGET)
        agent = create_agent(RecordedReplies.of(conversation), tools=[], middleware=[middleware])
        exchanges = list(conversation.exchanges())
        for exchange in exchanges:
            clock.now = exchange.message.at
            new: list[AnyMessage | dict[str, Any]] = [
                *map(_partner_message, exchange.opening),
                _user_message(exchange.message),
            ]
            # Without a reply the run fails; the user's message is stored all the same.
            with suppress(NoReplyError):
                agent.invoke({"messages": new})
            if context := middleware.last_context(session_id):
                largest = max(largest, context.tokens)
        stored = Counter(message.id for message in session.messages.all())
        talked = TalkReport(
            messages=stored.total(),
            turns=len(conversation.turns),
            stored_once=sum(stored[turn.id] == 1 for turn in conversation.turns),
            tokens=session.pack(budget=_UNLIMITED).tokens,
            runs=len(exchanges),
            unanswered=sum(exchange.reply is None for exchange in exchanges),
            largest=largest,
            budget=BUDGET,
            seconds=time.perf_counter() - started,
        )
    show_stored(talked, url)


# Turns keep their ids, so that each is stored once, however often it is passed.
def _user_message(turn: Turn) -> HumanMessage:
    return HumanMessage(turn.text, id=turn.id, name=turn.speaker)


def _partner_message(turn: Turn) -> AIMessage:
    return AIMessage(turn.text, id=turn.id, name=turn.speaker)
