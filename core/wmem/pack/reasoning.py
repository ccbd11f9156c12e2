"""Which reasoning of a conversation is sent, and what a message costs with or without it."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from wmem.model.message import Message
from wmem.pack.request import Candidate, Reasoning


def send_reasoning(newest_first: Iterable[Candidate], which: Reasoning) -> Iterator[Candidate]:
    """The conversation, each message with its reasoning or without it.

    In flight is what came after the newest user message, and a call whose result did.
    """
    in_flight = True
    awaited: set[str] = set()
    for each in newest_first:
        if in_flight:
            if each.role == "user":
                in_flight = False
            elif each.role == "tool":
                awaited.update(each.calls)
        if each.reasoning:
            yield resolve_reasoning(each, which, in_flight=in_flight or not awaited.isdisjoint(each.calls))
        else:
            yield each


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
