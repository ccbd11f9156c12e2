"""What a model call of an agent takes inside wmem, by the length of its thread: processor time, without the model's."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

import wmem
from langchain_wmem import WmemMiddleware
from tests.bench.measure import Figure, quiet

__all__ = ["model_calls_by_length"]

_BUDGET = 8_000
_THREAD: Any = {"configurable": {"thread_id": "t"}}
_LENGTHS = (1_000, 5_000)
_WINDOW = 100
_MS = 1e-3


class _Timed(WmemMiddleware):
    """Notes the seconds of processor time of each model call, without what others inside take."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seconds: list[float] = []

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        inside = 0.0

        def handle(sent: Any) -> Any:
            nonlocal inside
            began = time.process_time()
            try:
                return handler(sent)
            finally:
                inside += time.process_time() - began

        began = time.process_time()
        try:
            return super().wrap_model_call(request, handle)
        finally:
            self.seconds.append(time.process_time() - began - inside)


def _talk(messages: int) -> list[Any]:
    talk: list[Any] = []
    for number in range(messages // 2):
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        said = f"Question number {number}: at which quay of the harbour does boat {number % 97} lie?"
        answer = f"Answer number {number}: boat {number % 97} lies at quay {number % 5}."
        talk.append(HumanMessage(said, id=f"h{number}"))
        talk.append(AIMessage(answer, id=f"a{number}", usage_metadata=usage, response_metadata={"model_name": "m"}))
    return talk


def _take(messages: int, turns: int, window: int | None = None) -> float:
    """Seconds of a thread's first call in a turn, which sees each message as a new object; the median."""
    with wmem.open("memory://", agent_id="agent") as memory:
        middleware = _Timed(memory, budget=_BUDGET, window=window)
        model = GenericFakeChatModel(messages=(AIMessage("It lies at quay 3.") for _ in range(turns + 3)))
        agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
        agent.update_state(_THREAD, {"messages": _talk(messages)})
        with quiet():
            for number in range(turns + 3):
                agent.invoke({"messages": [HumanMessage(f"And boat {number}, where is it?")]}, _THREAD)
        return statistics.median(middleware.seconds[3:])


def model_calls_by_length(*, quick: bool) -> list[Figure]:
    """The first model call of a turn, in threads of 1,000 and 5,000 messages."""
    turns = 7 if quick else 25
    short, long = (_take(length, turns) for length in _LENGTHS)
    trimmed = _take(_LENGTHS[1], turns, window=_WINDOW)
    note = f"processor time inside wmem, at {_BUDGET:,} tokens"
    return [
        Figure(name=f"model call, thread of {_LENGTHS[0]:,}", ours=short, at_most=5 * _MS, note=note),
        Figure(
            name=f"model call, thread of {_LENGTHS[1]:,}",
            ours=long,
            peer=f"of {_LENGTHS[0]:,}",
            theirs=short,
            at_most_times=2,
            note=note,
        ),
        Figure(
            name=f"model call, {_LENGTHS[1]:,} in the session, {_WINDOW} in the state",
            ours=trimmed,
            peer=f"of {_LENGTHS[0]:,}",
            theirs=short,
            at_most_times=2,
            note=f"window={_WINDOW}",
        ),
    ]
