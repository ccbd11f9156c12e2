"""Which reasoning of a conversation is sent, and what a message costs with or without it."""

from collections.abc import Callable
from functools import partial

from wmem.model.message import Message
from wmem.pack.request import Candidate, Reasoning


class SentReasoning:
    """Reads a conversation newest first, and sends each message with its reasoning or without it.

    In flight is what came after the newest user message, and a call whose result did.
    """

    def __init__(self, which: Reasoning) -> None:
        self._which = which
        self.in_flight = True
        self._awaited: set[str] = set()

    def resolve(self, candidate: Candidate) -> Candidate:
        """The next message, as `resolve_reasoning` has it."""
        if self.in_flight:
            if candidate.role == "user":
                self.in_flight = False
            elif candidate.role == "tool":
                self._awaited.update(candidate.calls)
        if not candidate.reasoning:
            return candidate
        in_flight = self.in_flight or not self._awaited.isdisjoint(candidate.calls)
        return resolve_reasoning(candidate, self._which, in_flight=in_flight)


def resolve_reasoning(candidate: Candidate, which: Reasoning, *, in_flight: bool = False) -> Candidate:
    """The candidate as it is sent: its tokens include its reasoning, or it loads without it."""
    if not candidate.reasoning:
        return candidate
    if sends_reasoning(candidate, which, in_flight=in_flight):
        return candidate._replace(tokens=candidate.tokens + candidate.reasoning)
    return candidate._replace(reasoning=0, load=partial(_load_without_reasoning, candidate.load))


def sends_reasoning(candidate: Candidate, which: Reasoning, *, in_flight: bool = False) -> bool:
    """Whether the message is sent with the reasoning that it may have."""
    return which == "all" or (which != "none" and (in_flight or (which == "tools" and bool(candidate.calls))))


def _load_without_reasoning(load: Callable[[], Message]) -> Message:
    return load().without_reasoning()
