"""Finds frequent sequences of successful tool calls: deterministic, in time linear in the calls.

Level by level, as sequential pattern miners do: a sequence of n tools is only looked for where one of n - 1 was found.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from wmem.rules.skills.calls import Step, Trace
from wmem.rules.skills.links import Links
from wmem.rules.skills.sequences import is_helper
from wmem.rules.skills.similarity import is_variant

Tools: TypeAlias = tuple[str, ...]
Use: TypeAlias = tuple[str, str]
"""What support counts: a trace, or where all steps were made for one task, that task of it."""

MIN_SUPPORT = 3
MAX_TOOLS = 16
_MAX_GAP = 1
"""Other calls that may stand between two steps of a sequence."""
_MIN_LINK = 0.5
"""Share of the uses of what a sequence consists of, without its last or its first step, that go on to the whole: tools
that stand beside each other by chance have less."""
_MIN_INNER = 0.5
"""Share of the uses of a sequence without one of its inner steps that have that step, too."""
_MAX_EXAMPLES = 16  # of a sequence that are generalized and named


class Occurrence(NamedTuple):
    """Where a sequence was used: the first time in its task."""

    use: Use
    steps: tuple[Step, ...]


class Pattern(NamedTuple):
    """A frequent sequence of tools.

    Attributes:
        uses: The tasks in which it worked, and when it first had, in UTC epoch seconds.
        attempts: The tasks in which it was tried, and when it first was.
        examples: The newest occurrences, oldest first.
        variants: Sequences that were merged into it.
    """

    tools: Tools
    uses: Mapping[Use, float]
    attempts: Mapping[Use, float]
    examples: tuple[Occurrence, ...]
    variants: tuple[Tools, ...] = ()

    @property
    def support(self) -> int:
        return len(self.uses)

    @property
    def failures(self) -> int:
        """How many of the newest attempts failed, one after the other."""
        newest = sorted(self.attempts, key=lambda use: (self.attempts[use], use), reverse=True)
        return next((number for number, use in enumerate(newest) if use in self.uses), len(newest))


class _PartialUse(NamedTuple):
    """An occurrence while it grows: the places of its steps in a sequence."""

    sequence: int
    places: tuple[int, ...]


class _Sequence(NamedTuple):
    """A trace; failed if it is known to have, or ends in a call that did."""

    trace_id: str
    steps: Sequence[Step]
    failed: bool

    def find_use(self, places: Iterable[int]) -> Use:
        tasks = {self.steps[place].task for place in places}
        return self.trace_id, tasks.pop() if len(tasks) == 1 else ""


def _to_sequence(trace: Trace) -> _Sequence:
    return _Sequence(trace.id, trace.steps, trace.failed or (bool(trace.steps) and trace.steps[-1].failed))


def mine(
    traces: Iterable[Trace], *, min_support: int = MIN_SUPPORT, max_gap: int = _MAX_GAP, min_link: float = _MIN_LINK
) -> list[Pattern]:
    """The sequences of at least two tools that worked in at least so many tasks, the best supported first.

    A sequence that is part of another one is told only if it worked that often without it. Failed calls belong to
    none, unless they were repaired at once; a trace that is known to have failed supports none.

    Calls that follow each other by chance are none either: see `Links`. Nor does a sequence begin or end with a helper.

    Args:
        traces: In any order.
        max_gap: Other calls that may stand between two steps of a sequence.
        min_link: Share of a part's uses that go on to the whole sequence.
    """
    ordered = sorted(traces, key=lambda trace: (trace.steps[0].at if trace.steps else 0.0, trace.id))
    finder = _Finder([_to_sequence(trace) for trace in ordered], min_support, max_gap, min_link)
    found = [each for each in finder.find_frequent() if not (is_helper(each.tools[0]) or is_helper(each.tools[-1]))]
    return _merge_variants(_leave_out_parts(found, min_support))


class _Finder:
    """The frequent sequences of tools, by length."""

    def __init__(self, sequences: Sequence[_Sequence], min_support: int, max_gap: int, min_link: float) -> None:
        self._sequences = sequences
        self._links = Links([each.steps for each in sequences])
        self._min_support = min_support
        self._max_gap = max_gap
        self._min_link = min_link
        self._supports: dict[Tools, int] = {}

    def find_frequent(self) -> list[Pattern]:
        level: dict[Tools, list[_PartialUse]] = defaultdict(list)
        for number, sequence in enumerate(self._sequences):
            for place, step in enumerate(sequence.steps):
                level[step.tool,].append(_PartialUse(number, (place,)))
        found: list[Pattern] = []
        level = self._drop_rare(level)
        while level:
            longer = self._drop_rare(self._extend(level))
            grown = {tools for tools in longer if tools[1:] in level and self._is_linked(tools, longer[tools])}
            # What nearly always has one step more within is not looked into any further: else every way to leave
            # out steps of a long sequence is.
            gapped = {part for tools in grown for part in self._list_inner_parts(tools)}
            level = {tools: longer[tools] for tools in sorted(grown) if gapped.isdisjoint((tools[:-1], tools[1:]))}
            found += [self._to_pattern(tools, level[tools]) for tools in sorted(level)]
        return found

    def _extend(self, level: Mapping[Tools, Sequence[_PartialUse]]) -> dict[Tools, list[_PartialUse]]:
        longer: dict[Tools, list[_PartialUse]] = defaultdict(list)
        for tools, places in level.items():
            if len(tools) >= MAX_TOOLS:
                continue
            for number, at in places:
                steps = self._sequences[number].steps
                for place in range(at[-1] + 1, min(at[-1] + 2 + self._max_gap, len(steps))):
                    tool = steps[place].tool
                    # A tool stands once in a sequence: what comes round again is a loop.
                    if tool not in tools and not any(steps[each].tool == tool for each in range(at[-1] + 1, place)):
                        longer[(*tools, tool)].append(_PartialUse(number, (*at, place)))
        return longer

    def _drop_rare(self, level: Mapping[Tools, list[_PartialUse]]) -> dict[Tools, list[_PartialUse]]:
        left: dict[Tools, list[_PartialUse]] = {}
        for tools, places in level.items():
            support = len({self._sequences[number].find_use(at) for number, at in places if self._worked(number, at)})
            if support >= self._min_support:
                left[tools] = places
                self._supports[tools] = support
        return left

    def _is_linked(self, tools: Tools, places: Sequence[_PartialUse]) -> bool:
        """Whether a sequence is no accident: most of what begins like it goes on so, or what ends like it began so."""
        support = self._supports[tools]
        parts = (self._supports[part] for part in (tools[:-1], tools[1:]))
        # A step within is chance if most of what goes from the one before it to the one behind has none.
        if not any(support >= self._min_link * part for part in parts):
            return False
        if any(support < _MIN_INNER * self._supports[part] for part in self._list_inner_parts(tools)):
            return False
        newest = places[-_MAX_EXAMPLES:]
        uses = [[self._sequences[number].steps[place] for place in at] for number, at in newest]
        return self._links.join(tools, uses)

    def _list_inner_parts(self, tools: Tools) -> list[Tools]:
        """A sequence without one of its inner steps, as far as that was found, too."""
        parts = ((*tools[:place], *tools[place + 1 :]) for place in range(1, len(tools) - 1))
        return [part for part in parts if part in self._supports]

    def _worked(self, number: int, at: Iterable[int]) -> bool:
        sequence = self._sequences[number]
        return not sequence.failed and not any(sequence.steps[place].failed for place in at)

    def _to_pattern(self, tools: Tools, places: Sequence[_PartialUse]) -> Pattern:
        worked: dict[Use, Occurrence] = {}
        attempts: dict[Use, float] = {}
        for number, at in places:
            sequence = self._sequences[number]
            use = sequence.find_use(at)
            attempts.setdefault(use, sequence.steps[at[-1]].at)
            if use not in worked and self._worked(number, at):
                worked[use] = Occurrence(use, tuple(sequence.steps[place] for place in at))
        uses = {use: each.steps[-1].at for use, each in worked.items()}
        newest = sorted(worked.values(), key=lambda each: (uses[each.use], each.use))[-_MAX_EXAMPLES:]
        return Pattern(tools, uses, attempts, tuple(newest))


def _leave_out_parts(patterns: Iterable[Pattern], min_support: int) -> list[Pattern]:
    """Without sequences that are part of longer ones, but for those that worked often enough alone."""
    left: list[Pattern] = []
    for each in sorted(patterns, key=lambda each: (-len(each.tools), -each.support, each.tools)):
        wholes = [whole.uses for whole in left if is_part(each.tools, whole.tools)]
        if len(set(each.uses).difference(*wholes)) >= min_support:
            left.append(each)
    return left


def is_part(part: Tools, whole: Tools) -> bool:
    """Whether tools stand in a longer sequence in this order, or, as those of a loop, in that order come round."""
    return any(_is_within(part, whole[turn:] + whole[:turn]) for turn in range(len(whole)))


def _is_within(part: Tools, whole: Tools) -> bool:
    rest = iter(whole)
    return all(tool in rest for tool in part)


def _merge_variants(patterns: Iterable[Pattern]) -> list[Pattern]:
    """Sequences that do the same in nearly the same way as one: that which worked most often."""
    left: list[Pattern] = []
    for each in sorted(patterns, key=lambda each: (-each.support, len(each.tools), each.tools)):
        place = next((place for place, kept in enumerate(left) if is_variant(each.tools, kept.tools)), None)
        if place is None:
            left.append(each)
        else:
            kept = left[place]
            left[place] = kept._replace(
                uses={**each.uses, **kept.uses},
                attempts={**each.attempts, **kept.attempts},
                variants=(*kept.variants, each.tools),
            )
    return sorted(left, key=lambda each: (-each.support, each.tools))
