"""Steps without thoughts, retries and loops: what was repaired is left out, what repeats stands once."""

from collections.abc import Mapping, Sequence

from wmem.rules.skills.calls import Step, ToolCall, Trace, to_steps
from wmem.rules.skills.similarity import to_tool_words

_THOUGHTS = frozenset(
    ("think", "thinking", "thought", "thoughts", "reflect", "reason", "reasoning", "scratchpad", "sequentialthinking")
)
"""Words of the names of tools that do nothing but take note of what a model thinks."""
_HELPERS = frozenset(
    ("calculate", "calculator", "calc", "compute", "math", "now", "time", "clock", "sleep", "wait", "log")
)
"""Words of the names of tools that help in any task, and are the aim of none."""

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


def is_helper(tool: str) -> bool:
    """Whether a tool helps in any task, and is the aim of none, as ``calculate`` and ``get_current_time``."""
    words = {*to_tool_words(tool)} - {"get", "current", "date"}
    return len(words) == 1 and words <= _HELPERS


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
    stands_for: dict[str, str] = {}
    for period in range(1, _MAX_PERIOD + 1):
        folded = _fold(folded, period, stands_for)
    return [_point_to_first(step, stands_for) for step in folded] if stands_for else folded


def _fold(steps: Sequence[Step], period: int, stands_for: dict[str, str]) -> list[Step]:
    """The steps with loops of a period told once.

    Args:
        stands_for: Gains, for each call that is left out, the one before it that it repeats.
    """
    left: list[Step] = []
    for step in steps:
        left.append(step)
        if len(left) >= 2 * period and _is_loop(left[-2 * period : -period], left[-period:]):
            pairs = zip(left[-period:], left[-2 * period : -period], strict=True)
            stands_for |= {again.call_id: first.call_id for again, first in pairs}
            del left[-period:]
    return left


def _point_to_first(step: Step, stands_for: Mapping[str, str]) -> Step:
    """A step whose values come from the first round of a loop, of whichever they did."""

    def find_first(id: str) -> str:  # the field's own name
        while id in stands_for:
            id = stands_for[id]
        return id

    return step._replace(
        arguments=tuple(
            each._replace(
                origins=tuple(dict.fromkeys((find_first(id), field) for id, field in each.origins)),
                siblings=tuple(dict.fromkeys(map(find_first, each.siblings))),
            )
            for each in step.arguments
        )
    )


def _is_loop(steps: Sequence[Step], again: Sequence[Step]) -> bool:
    if any((step.tool, step.failed) != (each.tool, each.failed) for step, each in zip(steps, again, strict=True)):
        return False
    before, now = {step.task for step in steps}, {step.task for step in again}
    # Where each call is a task of its own, tasks say nothing of what belongs together.
    return len(steps) == 1 or before == now or (len(before) == len(now) == len(steps) and before.isdisjoint(now))
