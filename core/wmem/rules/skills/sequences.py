"""Steps without thoughts, retries and loops: what was repaired is left out, what repeats stands once."""

from collections.abc import Sequence

from wmem.rules.skills.calls import Step, ToolCall, Trace, to_steps
from wmem.rules.skills.similarity import to_tool_words

_THOUGHTS = frozenset(("think", "thinking", "thought", "thoughts", "reflect", "reason", "reasoning", "scratchpad"))
"""Words of the names of tools that do nothing but take note of what a model thinks."""

_REPAIR_WITHIN = 3
"""Steps after a failed one among which the same tool has to succeed for the failure to count as repaired."""
_MAX_PERIOD = 4
"""Steps of the longest loop that is told once."""


def to_trace(id: str, calls: Sequence[ToolCall], *, failed: bool = False) -> Trace:  # the field's own name
    """The calls of one thread of work as a trace.

    Args:
        calls: Oldest first.
        failed: See `Trace`.
    """
    return Trace(id, tuple(fold_loops(drop_repaired(drop_thoughts(to_steps(calls))))), failed)


def drop_thoughts(steps: Sequence[Step]) -> list[Step]:
    """The steps without those that only think aloud."""
    return [step for step in steps if not _THOUGHTS.issuperset({*to_tool_words(step.tool)} - {"sequential"})]


def drop_repaired(steps: Sequence[Step]) -> list[Step]:
    """The steps without failed ones whose tool then succeeded: a retry is no part of how a thing is done."""
    left: list[Step] = []
    for place, step in enumerate(steps):
        later = steps[place + 1 : place + 1 + _REPAIR_WITHIN]
        if not (step.failed and any(each.tool == step.tool and not each.failed for each in later)):
            left.append(step)
    return left


def fold_loops(steps: Sequence[Step]) -> list[Step]:
    """The steps with each loop told once: runs of one tool, and of up to four that repeat in order.

    Several steps that a task did as a whole, and another one again, are no loop but two uses. Takes linear time.
    """
    folded = list(steps)
    for period in range(1, _MAX_PERIOD + 1):
        folded = _fold(folded, period)
    return folded


def _fold(steps: Sequence[Step], period: int) -> list[Step]:
    left: list[Step] = []
    for step in steps:
        left.append(step)
        if len(left) >= 2 * period and _is_loop(left[-2 * period : -period], left[-period:]):
            del left[-period:]
    return left


def _is_loop(steps: Sequence[Step], again: Sequence[Step]) -> bool:
    if any((step.tool, step.failed) != (each.tool, each.failed) for step, each in zip(steps, again, strict=True)):
        return False
    before, now = {step.task for step in steps}, {step.task for step in again}
    # Where each call is a task of its own, tasks say nothing of what belongs together.
    return len(steps) == 1 or before == now or (len(before) == len(now) == len(steps) and before.isdisjoint(now))
