"""Parameters of a sequence of calls, generalized from its uses: what is constant, what varies, what flows on."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from wmem.rules.skills.calls import Argument, Step

_MIN_SHARE = 0.5
"""Share of the uses that pass a parameter, for it to be told."""
_MIN_FLOW = 0.8
"""Share of the uses in which a parameter's value comes from the same place, for that to be told."""
_MIN_EQUAL = 3
"""Uses that pass the same value of an interface's own, for it to be told as a constant."""


class Slot(NamedTuple):
    """A parameter of a step of a skill.

    Attributes:
        constant: Its value as JSON, where every use passes the same one.
        step: The step from whose result the value comes, counted from 0; None: from elsewhere.
        field: Of that result, the field that holds it; empty for the result itself.
        is_optional: Whether some uses go without it.
    """

    name: str
    constant: str | None = None
    step: int | None = None
    field: str = ""
    is_optional: bool = False


def generalize(examples: Sequence[Sequence[Step]]) -> list[list[Slot]]:
    """The parameters of each step of a sequence.

    Args:
        examples: Uses of it, each with one step for each tool.
    """
    return [_to_slots([example[place] for example in examples], examples) for place in range(len(examples[0]))]


def _to_slots(steps: Sequence[Step], examples: Sequence[Sequence[Step]]) -> list[Slot]:
    uses = [{each.name: each for each in step.arguments} for step in steps]
    names = dict.fromkeys(name for step in steps for name in sorted(each.name for each in step.arguments))
    slots = []
    for name in names:
        passed = [(use[name], example) for use, example in zip(uses, examples, strict=True) if name in use]
        if len(passed) >= _MIN_SHARE * len(uses):
            slots.append(_to_slot(name, passed)._replace(is_optional=len(passed) < len(uses)))
    return slots


def _to_slot(name: str, passed: Sequence[tuple[Argument, Sequence[Step]]]) -> Slot:
    constants = {argument.constant for argument, _ in passed}
    if len(passed) >= _MIN_EQUAL and len(constants) == 1 and (constant := next(iter(constants))) is not None:
        return Slot(name, constant)
    flows: Counter[tuple[int, str]] = Counter()
    for argument, example in passed:
        places = {step.call_id: place for place, step in enumerate(example)}
        flows.update({(places[id], field) for id, field in argument.origins if id in places})
    if flows:
        # Where several steps hold it, the first that does: the others were given it.
        (step, field), times = min(flows.items(), key=lambda each: (-each[1], each[0]))
        if times >= _MIN_FLOW * len(passed):
            return Slot(name, None, step, field)
    return Slot(name)
