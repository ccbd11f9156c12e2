"""Interrupts a call at each point at which CPython lets a signal's handler run, one after the other, without a clock.

CPython 3.11 to 3.13 look for signals when a function of Python begins, after a call, and when a
loop goes back; never between two other steps. A tracer raises at these points.
"""

import dis
import gc
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any

__all__ = ["Interrupted", "interrupt_at", "interruptions"]

_LOOKS_AFTER = ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD")


class Interrupted(BaseException):
    """What a signal's handler raises: no error of any library."""


@lru_cache(1024)
def _points(code: CodeType) -> frozenset[tuple[int, int]]:
    """The pairs of instructions between which a tracer's exception is that of a handler called after the first."""
    entries = list(getattr(dis.Bytecode(code), "exception_entries"))  # noqa: B009  # not in the stubs

    def handler(offset: int) -> int | None:
        return next((each.target for each in entries if each.start <= offset < each.end), None)

    instructions = list(dis.get_instructions(code))
    following = {first.offset: second for first, second in pairwise(instructions)}
    pairs = set()
    for each in instructions:
        if each.opname in _LOOKS_AFTER:
            after = each.argval if each.opname == "JUMP_BACKWARD" else following[each.offset].offset
            if handler(each.offset) == handler(after):
                pairs.add((each.offset, after))
    return frozenset(pairs)


class _Interrupter:
    def __init__(self, at: int, package: str) -> None:
        self._left = at
        self._package = package
        self._last: dict[FrameType, int] = {}

    def __call__(self, frame: FrameType, event: str, _arg: object) -> Any:
        if not frame.f_globals.get("__name__", "").startswith(self._package):
            return None
        if event == "call":
            frame.f_trace_opcodes = True
            self._count()
        elif event == "opcode":
            if (self._last.get(frame, -1), frame.f_lasti) in _points(frame.f_code):
                self._count()
            self._last[frame] = frame.f_lasti
        elif event == "return":
            self._last.pop(frame, None)
        return self

    def _count(self) -> None:
        if self._left == 0:
            raise Interrupted
        self._left -= 1


def interrupt_at(point: int, call: Callable[[], object], *, package: str = "wmem") -> bool:
    """Make a call and interrupt it at its n-th point within a package; False when it has no such point.

    An exception of the call itself is raised. The collector rests meanwhile: what other calls left is not to be
    ended within this one.
    """
    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()
    try:
        sys.settrace(_Interrupter(point, package))
        call()
    except Interrupted:
        return True
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return False


def interruptions(
    call: Callable[[int], object], *, package: str = "wmem", every: int = 60
) -> Iterator[tuple[int, bool]]:
    """Make calls, each with its number, interrupted at one point after the other, until one comes to its end.

    Args:
        every: How many points are tried one by one; of those beyond, which are mostly turns of loops, one in eleven is.

    Yields:
        The number, and whether it was interrupted.
    """
    point = 0
    while True:
        interrupted = interrupt_at(point, lambda: call(point), package=package)  # noqa: B023  # called at once
        yield point, interrupted
        if not interrupted:
            return
        point += 1 if point < every else 11
