"""Which sequences of tools are variants of one another: they end in the same act, and get there in nearly one way."""

import re
from collections.abc import Sequence

_MAX_DISTANCE = 1 / 3
"""Edits between two variants, for each step of the longer one."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


def to_tool_words(tool: str) -> list[str]:
    """The words of a tool's name, in lower case: of ``getUserDetails`` and ``mcp__crm__get_user_details`` the same."""
    name = tool.rpartition("__")[2]  # without the server that it is of
    return [word.lower() for word in _WORD.findall(name)] or [tool]


def is_variant(tools: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two sequences of tools do the same thing in nearly the same way."""
    if tools[-1] != other[-1]:
        return False
    return measure_distance(tools, other) <= _MAX_DISTANCE * max(len(tools), len(other)) + 1e-9


def measure_distance(tools: Sequence[str], other: Sequence[str]) -> float:
    """Edit distance of two sequences of tools: 1 for a step more, up to 2 for another tool, by the words of names."""
    row = [float(place) for place in range(len(other) + 1)]
    for number, tool in enumerate(tools, 1):
        before, row[0] = row[0], float(number)
        for place, there in enumerate(other, 1):
            replaced = before + _measure_difference(tool, there)
            before = row[place]
            row[place] = min(replaced, row[place] + 1, row[place - 1] + 1)
    return row[-1]


def _measure_difference(tool: str, other: str) -> float:
    if tool == other:
        return 0.0
    words, others = set(to_tool_words(tool)), set(to_tool_words(other))
    return 2 * (1 - len(words & others) / len(words | others))
