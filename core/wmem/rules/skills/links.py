"""Whether calls that follow each other belong together: a value passes between them, or chance does not explain it.

Chance is that of an urn: were all calls of some traces laid out in any order, how likely is it that a tool stands
behind another one as often as it does? What is frequent, as a helper that is called anywhere, needs more to be told
than what is rare.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise

from wmem.rules.skills.calls import Step

_REACH = 2
"""Steps behind another one that count as following it."""
_MAX_CHANCE = 0.002
"""Greatest chance at which calls that pass no value belong together; less where most calls pass one."""
_MIN_LIFT = 1.8
"""How much more often than by chance such calls have to follow each other: of very many, a trifle is no accident."""
_MAX_CHANCE_TIED = 0.25
"""Greatest chance at which calls that pass a value belong together."""
_MIN_TIED = 0.5
"""Share of the uses in which a value passes, for it to count."""
_MIN_WHOLE = 3
"""Tasks that consisted of the same steps and nothing else, for these to belong together."""
_MIN_CONTEXT_STEPS = 5
_MIN_CONTEXT = 0.85
"""Share of a task's steps that pass the same value under one name, for it to be no tie but what all calls have."""
_MIN_NEIGHBOURS = 12
_MIN_TOP = 0.3
"""Share of a tool's neighbours on one side that one tool has at least, unless it is called anywhere."""


class Links:
    """What is known of each two tools of some traces.

    Args:
        sequences: Steps of each trace, oldest first.
    """

    def __init__(self, sequences: Sequence[Sequence[Step]]) -> None:
        self._calls = Counter(step.tool for steps in sequences for step in steps)
        # What begins a trace follows nothing.
        self._followers = Counter(step.tool for steps in sequences for step in steps[1:])
        self._zones: Counter[tuple[str, int]] = Counter()
        self._pairs: Counter[tuple[str, str, int]] = Counter()
        for steps in sequences:
            self._count(steps)
        self._known = _find_known(sequences)
        self._anywhere = _find_anywhere(self._pairs)
        self._context = _find_context(sequences)
        self._max_chance = _MAX_CHANCE * (1 - self._measure_ties(sequences)) ** 3

    def _count(self, steps: Sequence[Step]) -> None:
        for reach in (1, _REACH):
            for place, step in enumerate(steps):
                before = {each.tool for each in steps[max(0, place - reach) : place]}
                self._zones.update((tool, reach) for tool in before)
                self._pairs.update((tool, step.tool, reach) for tool in before)

    def join(self, tools: Sequence[str], uses: Sequence[Sequence[Step]]) -> bool:
        """Whether the last step of a sequence belongs to those before it.

        Args:
            uses: Its steps, for each use.
        """
        pair = tools[-2], tools[-1]
        if pair in self._known:
            return True
        if self._anywhere.isdisjoint(pair) and self._measure_chance(*pair) <= self._max_chance:
            return True
        tied = sum(map(self._is_tied, uses)) >= _MIN_TIED * len(uses)
        return tied and self._measure_plain_chance(*pair) <= _MAX_CHANCE_TIED

    def _measure_chance(self, tool: str, follower: str) -> float:
        """Chance that a tool has a follower so often where any could follow; 1 if it hardly has more than by chance."""
        # Hardly a call follows one of its own tool: such were folded into one.
        total = self._followers.total() - self._zones[follower, 1]
        drawn = self._followers[follower]
        near = self._pairs[tool, follower, 1]
        counted = (self._zones[tool, 1], near), (self._zones[tool, _REACH] - near, self._pairs[tool, follower, _REACH])
        return min(
            _sum_tail(max(total, zone, drawn), zone, drawn, times) if times * total >= _MIN_LIFT * zone * drawn else 1.0
            for zone, times in counted
        )

    def _measure_plain_chance(self, tool: str, follower: str) -> float:
        """Chance that a tool has a follower so often, whatever may stand where."""
        return min(
            _sum_tail(
                self._calls.total(), self._zones[tool, reach], self._calls[follower], self._pairs[tool, follower, reach]
            )
            for reach in (1, _REACH)
        )

    def _measure_ties(self, sequences: Iterable[Sequence[Step]]) -> float:
        """The share of calls that a value passes to from one of the two before."""
        tied = sum(
            self._is_tied(steps[max(0, place - _REACH) : place + 1])
            for steps in sequences
            for place in range(1, len(steps))
        )
        return tied / max(1, self._followers.total())

    def _is_tied(self, steps: Sequence[Step]) -> bool:
        before = {step.call_id for step in steps[:-1]}
        return any(
            argument.name not in self._context
            and not (before.isdisjoint(argument.siblings) and before.isdisjoint(id for id, _ in argument.origins))
            for argument in steps[-1].arguments
        )


def _find_known(sequences: Iterable[Sequence[Step]]) -> frozenset[tuple[str, str]]:
    """Neighbours in what was all that tasks, or whole traces, consisted of, where the last step was mostly made so."""
    whole: Counter[tuple[str, ...]] = Counter()
    ends: Counter[str] = Counter()
    for steps in sequences:
        tasks = _list_tasks(steps)
        for part in [steps, *tasks] if len(tasks) > 1 else tasks:
            whole[tuple(step.tool for step in part)] += not any(step.failed for step in part)
        ends.update({step.tool for step in steps})
    often = (tools for tools, times in whole.items() if tools and times >= max(_MIN_WHOLE, ends[tools[-1]] / 2))
    return frozenset(pair for tools in often for pair in pairwise(tools))


def _list_tasks(steps: Sequence[Step]) -> list[list[Step]]:
    return [list(part) for _, part in groupby(steps, key=lambda step: step.task)]


def _find_anywhere(pairs: Mapping[tuple[str, str, int], int]) -> frozenset[str]:
    """The tools that stand beside many others, and beside none of them mostly: what helps in any task."""
    before: dict[str, list[int]] = defaultdict(list)
    behind: dict[str, list[int]] = defaultdict(list)
    for (tool, follower, reach), times in pairs.items():
        if reach == 1:
            behind[tool].append(times)
            before[follower].append(times)
    sides = {tool: (before[tool], behind[tool]) for tool in {*before, *behind}}
    return frozenset(
        tool
        for tool, each in sides.items()
        if sum(map(sum, each)) >= _MIN_NEIGHBOURS
        and all(max(side, default=0) < _MIN_TOP * sum(side) for side in each if side)
    )


def _find_context(sequences: Iterable[Sequence[Step]]) -> frozenset[str]:
    """The names of parameters under which nearly all calls of a task pass one value."""
    shares: dict[str, list[float]] = defaultdict(list)
    for part in (part for steps in sequences for part in _list_tasks(steps) if len(part) >= _MIN_CONTEXT_STEPS):
        values: dict[str, Counter[bytes]] = defaultdict(Counter)
        for step in part:
            for argument in step.arguments:
                values[argument.name][argument.digest] += 1
        for name, each in values.items():
            shares[name].append(max(each.values()) / len(part))
    return frozenset(name for name, each in shares.items() if sum(each) >= _MIN_CONTEXT * len(each))


def _sum_tail(total: int, marked: int, drawn: int, least: int) -> float:
    """Chance to draw at least so many marked ones of a total without putting back."""
    if least <= 0:
        return 1.0
    whole = _log_choose(total, drawn)
    terms = (
        math.exp(_log_choose(marked, each) + _log_choose(total - marked, drawn - each) - whole)
        for each in range(least, min(marked, drawn) + 1)
        if drawn - each <= total - marked
    )
    return min(1.0, math.fsum(terms))


def _log_choose(number: int, of: int) -> float:
    return math.lgamma(number + 1) - math.lgamma(of + 1) - math.lgamma(number - of + 1)
