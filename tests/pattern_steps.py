"""Counts the steps of a backtracking matcher for a pattern: Python's own gives no figure.

The pattern is read by `re`'s own parser and matched by the plainest backtracking matcher, which tries
alternatives in the same order. Python's matcher skips some of these tries and adds none.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from re import _constants as op  # type: ignore[attr-defined]  # not in the stubs
from re import _parser as parser  # type: ignore[attr-defined]  # not in the stubs
from typing import Any, TypeAlias

Continue: TypeAlias = Callable[[int], int]
"""What follows, from a position: the end of the whole match, or -1."""
_MATCHED_BY_CATEGORY = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_MAX_DEPTH = 100_000


class StepCounter:
    """Finds all matches of a pattern, and counts the steps."""

    def __init__(self, pattern: "re.Pattern[str]") -> None:
        self.tree = parser.parse(pattern.pattern, pattern.flags)
        self._ignore_case = bool(pattern.flags & re.IGNORECASE)
        self._multiline = bool(pattern.flags & re.MULTILINE)
        self._text = ""
        self._groups: dict[int, tuple[int, int]] = {}
        self.steps = 0

    def count(self, text: str) -> tuple[int, list[tuple[int, int]]]:
        """The steps of `finditer` over a text, and the spans found."""
        self._text, self.steps, at, depth = text, 0, 0, sys.getrecursionlimit()
        spans: list[tuple[int, int]] = []
        sys.setrecursionlimit(_MAX_DEPTH)
        try:
            while at <= len(text):
                self._groups = {}
                end = self._match(self.tree, 0, at, lambda end: end)
                if end >= 0 and (end > at or not spans or spans[-1][1] < at or spans[-1][0] < at):
                    spans.append((at, end))
                at = max(end, at + 1) if end != at else at + 1
        finally:
            sys.setrecursionlimit(depth)
        return self.steps, spans

    def count_here(self, text: str) -> int:
        """The steps of `match` at the start of a text."""
        self._text, self.steps, self._groups, depth = text, 0, {}, sys.getrecursionlimit()
        sys.setrecursionlimit(_MAX_DEPTH)
        try:
            self._match(self.tree, 0, 0, lambda end: end)
        finally:
            sys.setrecursionlimit(depth)
        return self.steps

    def _match(self, nodes: Sequence[Any], index: int, at: int, go_on: Continue) -> int:
        if index == len(nodes):
            return go_on(at)
        self.steps += 1
        kind, value = nodes[index]
        then = partial(self._match, nodes, index + 1, go_on=go_on)
        if (test := self._one_char(kind, value)) is not None:
            return then(at + 1) if at < len(self._text) and test(self._text[at]) else -1
        if kind in _REPEATS:
            return self._repeat(kind, value, at, then)
        if kind is op.SUBPATTERN:
            return self._group(value, at, then)
        if kind is op.BRANCH:
            return next((end for each in value[1] if (end := self._match(each, 0, at, then)) >= 0), -1)
        if kind is op.AT:
            return then(at) if self._stands_at(value, at) else -1
        if kind is op.GROUPREF:
            begin, end = self._groups.get(value, (0, -1))
            said = self._text[begin:end]
            self.steps += len(said)
            return then(at + len(said)) if end >= begin and self._text.startswith(said, at) else -1
        if kind in (op.ASSERT, op.ASSERT_NOT):
            return then(at) if self._looks(value, at) is (kind is op.ASSERT) else -1
        raise NotImplementedError(kind)

    def _looks(self, value: Any, at: int) -> bool:
        direction, inner = value
        if direction > 0:
            return self._match(inner, 0, at, lambda end: end) >= 0
        begin = at - inner.getwidth()[0]
        return begin >= 0 and self._match(inner, 0, begin, lambda end: end if end == at else -1) >= 0

    def _group(self, value: Any, at: int, then: Continue) -> int:
        number, *_, inner = value

        def close(end: int) -> int:
            if number is None:
                return then(end)
            before = self._groups.get(number)
            self._groups[number] = at, end
            if (final := then(end)) < 0:
                self._groups.pop(number)
                self._groups |= {} if before is None else {number: before}
            return final

        return self._match(inner, 0, at, close)

    def _repeat(self, kind: Any, value: Any, at: int, then: Continue) -> int:
        least, most, inner = value
        test = self._one_char(*inner[0]) if len(inner) == 1 else None
        if test is None and kind is op.POSSESSIVE_REPEAT:
            return self._repeat_possessively(value, at, then)
        if test is None:
            return self._repeat_group(kind, value, at, then, 0)
        end, last = at, min(len(self._text), at + (len(self._text) if most is op.MAXREPEAT else int(most)))
        if kind is op.MIN_REPEAT:
            while end <= last and (end == at or test(self._text[end - 1])):
                self.steps += 1
                if end - at >= least and (final := then(end)) >= 0:
                    return final
                end += 1
            return -1
        while end < last and test(self._text[end]):
            self.steps += 1
            end += 1
        if kind is op.POSSESSIVE_REPEAT:
            return then(end) if end - at >= least else -1
        for tried in range(end, at + least - 1, -1):
            self.steps += 1
            if (final := then(tried)) >= 0:
                return final
        return -1

    def _repeat_possessively(self, value: Any, at: int, then: Continue) -> int:
        least, most, inner = value
        done = 0
        while (most is op.MAXREPEAT or done < most) and (end := self._match(inner, 0, at, lambda end: end)) > at:
            at, done = end, done + 1
        return then(at) if done >= least else -1

    def _repeat_group(self, kind: Any, value: Any, at: int, then: Continue, done: int) -> int:
        least, most, inner = value
        self.steps += 1

        def again(end: int) -> int:
            return -1 if end == at and done >= least else self._repeat_group(kind, value, end, then, done + 1)

        if kind is op.MIN_REPEAT and done >= least and (final := then(at)) >= 0:
            return final
        if (most is op.MAXREPEAT or done < most) and (final := self._match(inner, 0, at, again)) >= 0:
            return final
        return then(at) if kind is op.MAX_REPEAT and done >= least else -1

    def _stands_at(self, place: Any, at: int) -> bool:
        text = self._text
        word = [0 <= index < len(text) and re.match(r"\w", text[index]) is not None for index in (at - 1, at)]
        line_start = self._multiline and at > 0 and text[at - 1] == "\n"
        line_end = self._multiline and at < len(text) and text[at] == "\n"
        stands: dict[Any, bool] = {
            op.AT_BEGINNING: at == 0 or line_start,
            op.AT_BEGINNING_STRING: at == 0,
            op.AT_END: at == len(text) or line_end or text[at:] == "\n",
            op.AT_END_STRING: at == len(text),
            op.AT_BOUNDARY: word[0] != word[1],
            op.AT_NON_BOUNDARY: word[0] == word[1],
        }
        return stands[place]

    def _one_char(self, kind: Any, value: Any) -> Callable[[str], bool] | None:
        """A test for what matches exactly one character; None for anything else."""
        if kind in (op.LITERAL, op.NOT_LITERAL):
            return lambda char: (self._fold(char) == self._fold(chr(value))) is (kind is op.LITERAL)
        if kind is op.ANY:
            return lambda _: True
        if kind is not op.IN:
            return None
        negated = value[0][0] is op.NEGATE
        return lambda char: any(self._in_set(each, char) for each in value[negated:]) is not negated

    def _in_set(self, member: Any, char: str) -> bool:
        kind, value = member
        if kind is op.LITERAL:
            return self._fold(chr(value)) == self._fold(char)
        if kind is op.RANGE:
            low, high = value
            return any(int(low) <= ord(each) <= int(high) for each in (char, self._fold(char)))
        return re.match(_MATCHED_BY_CATEGORY[value], char) is not None

    def _fold(self, char: str) -> str:
        return char.lower() if self._ignore_case else char


def attacks(pattern: "re.Pattern[str]") -> Iterator[tuple[str, str, str]]:
    """For each repetition in a pattern: what leads to it, what to repeat, and what makes the rest fail."""
    for before, pump in _repetitions(list(parser.parse(pattern.pattern, pattern.flags)), ""):
        yield before, pump or "x", "\0"
        yield "", before + pump or "x", "\0"
        yield "", f"{before}{pump * 3} ", ""


def _repetitions(nodes: Sequence[Any], before: str) -> Iterator[tuple[str, str]]:
    for kind, value in nodes:
        if kind in _REPEATS:
            yield before, _sample(value[2])
            yield from _repetitions(value[2], before)
        elif kind is op.SUBPATTERN:
            yield from _repetitions(value[-1], before)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from _repetitions(value[1], before)
        elif kind is op.BRANCH:
            for each in value[1]:
                yield from _repetitions(each, before)
        before += _sample([(kind, value)])


def _sample(nodes: Sequence[Any]) -> str:
    """A text that a part of a pattern matches, its look-arounds aside."""
    return "".join(_sample_one(kind, value) for kind, value in nodes)


def _sample_one(kind: Any, value: Any) -> str:
    if kind is op.LITERAL:
        return chr(int(value))
    if kind in _REPEATS:
        return _sample(value[2]) * max(1, int(value[0]))
    if kind is op.SUBPATTERN:
        return _sample(value[-1])
    if kind is op.BRANCH:
        return _sample(value[1][0])
    if kind is op.IN:
        return next((char for char in _CANDIDATES if re.match(_set_pattern(value), char)), "\ufffd")
    return "x" if kind in (op.ANY, op.NOT_LITERAL) else ""


_CANDIDATES = 'a1 ."-*/é日ก\u0301\u2500🦊ۀअ'


def _set_pattern(members: Sequence[Any]) -> str:
    written = []
    for kind, value in members:
        if kind is op.LITERAL:
            written.append(re.escape(chr(value)))
        elif kind is op.RANGE:
            written.append(f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}")
        elif kind is op.CATEGORY:
            written.append(_MATCHED_BY_CATEGORY[value])
        else:
            written.append("^")
    return f"[{''.join(written)}]"
