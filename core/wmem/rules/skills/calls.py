"""Calls of tools as steps: which tool, whether it failed, and of its parameters only what says nothing of a user."""

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

_GENERIC_TEXT = re.compile(r"[a-z][a-z_-]{0,23}")
"""A word of an interface, as ``economy`` or ``round_trip``: no digits, and no capitals as names have."""
_PERSONAL_NAME = re.compile(
    r"(?:^|_)(?:id|ids|name|user|username|login|mail|email|phone|address|street|city|zip|token|secret|key|password"
    r"|pin|code|query|text|message|content|body|title|note|reason|comment|question|prompt|url|path|file)(?:_|$)"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MAX_GENERIC_NUMBER = 100
_MIN_FLOWING_CHARS = 3
_MAX_RESULT_CHARS = 20_000  # of a result that are looked through for a later parameter
_LOOK_BACK = 8  # calls whose results are looked through
_FIELD = re.compile(r'"([A-Za-z_][\w.-]{0,40})"\s*:\s*(?:\[\s*)?$')


_FAILURE = re.compile(r"\A\s*(?:\{\s*\"errors?\"\s*:\s*[^nf\s]|error\b|traceback \(most recent)", re.IGNORECASE)


def tells_failure(result: str) -> bool:
    """Whether a result begins as tools tell that they failed, where nothing else says so."""
    return _FAILURE.match(result) is not None


class ToolCall(NamedTuple):
    """One call of a tool, as a trace has it.

    Attributes:
        task: What it was made for within its trace, such as its turn; equal for calls of one task.
        at: UTC epoch seconds.
    """

    id: str
    tool: str
    parameters: Mapping[str, object]
    result: str
    failed: bool
    at: float
    task: str = ""


class Argument(NamedTuple):
    """A parameter of a step, without its value.

    Attributes:
        digest: Equal for equal values.
        constant: The value as JSON, if it is of the kind that interfaces define and users do not; else None.
        origins: Steps whose result holds the value, latest first, by their call's id and the field that holds it.
        siblings: Steps before it that pass the same value of a user's, latest first, by their call's id.
    """

    name: str
    digest: bytes
    constant: str | None
    origins: tuple[tuple[str, str], ...] = ()
    siblings: tuple[str, ...] = ()


class Step(NamedTuple):
    """A call without values of a user's."""

    call_id: str
    tool: str
    failed: bool
    at: float
    task: str
    arguments: tuple[Argument, ...]


class Trace(NamedTuple):
    """The steps of one thread of work, oldest first, without thoughts, retries and loops.

    Attributes:
        failed: Whether what it was for is known to have failed.
    """

    id: str
    steps: tuple[Step, ...]
    failed: bool = False


def to_steps(calls: Sequence[ToolCall]) -> list[Step]:
    """The calls of one thread of work as steps, oldest first."""
    steps: list[Step] = []
    for place, call in enumerate(calls):
        begin = max(0, place - _LOOK_BACK)
        before = [each for each in calls[begin:place] if not each.failed]
        arguments = (_to_argument(name, call.parameters[name], before) for name in sorted(call.parameters))
        siblings = tuple(_add_siblings(each, steps[begin:place]) for each in arguments)
        steps.append(Step(call.id, call.tool, call.failed, call.at, call.task, siblings))
    return steps


def _to_argument(name: str, value: object, before: Sequence[ToolCall]) -> Argument:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return Argument(name, digest, text if _is_generic(name, value) else None, _find_origins(value, text, before))


def _add_siblings(argument: Argument, before: Sequence[Step]) -> Argument:
    if argument.constant is not None:
        return argument
    same = (step for step in reversed(before) if any(argument.digest == each.digest for each in step.arguments))
    return argument._replace(siblings=tuple(step.call_id for step in same))


def _is_generic(name: str, value: object) -> bool:
    """Whether a value may be told: a flag, a small number or a word of the interface, not a user's."""
    if value is None or isinstance(value, bool):
        return True
    if _PERSONAL_NAME.search(_CAMEL.sub("_", name).lower()):
        return False
    if isinstance(value, str):
        return _GENERIC_TEXT.fullmatch(value) is not None
    return isinstance(value, int | float) and abs(value) <= _MAX_GENERIC_NUMBER


def _find_origins(value: object, text: str, before: Sequence[ToolCall]) -> tuple[tuple[str, str], ...]:
    """Which results of earlier calls hold a value."""
    if isinstance(value, bool) or not isinstance(value, str | int) or len(str(value)) < _MIN_FLOWING_CHARS:
        return ()
    found = []
    for call in reversed(before):
        result = call.result[:_MAX_RESULT_CHARS]
        if result.strip() in (text, value):
            found.append((call.id, ""))
        elif isinstance(value, str) and (at := result.find(text)) >= 0:
            field = _FIELD.search(result[max(0, at - 60) : at])
            found.append((call.id, field[1] if field else ""))
    return tuple(found)
