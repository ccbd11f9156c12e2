"""Counts the work of a call: lines of our code, calls of C functions, and characters handed to them.

What a regular expression does with its characters is counted in `tests/pattern_steps.py`.
"""

import cProfile
import gc
import re
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

import pytest

_OURS = ("/wmem/", "/langchain_wmem/", "/llamaindex_wmem/")


class Steps:
    """A count that grows while code runs under `count`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.total = 0
        modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "wmem"]
        for module in modules:
            self._count_patterns(module, monkeypatch)

    def count(self, call: Callable[[], object]) -> int:
        """The steps of one call."""
        self.total = 0
        gc.disable()  # what it calls is not the call's work
        sys.setprofile(self._on_call)
        sys.settrace(self._on_frame)
        try:
            call()
        finally:
            sys.settrace(None)
            sys.setprofile(None)
            gc.enable()
        return self.total

    def count_calls(self, call: Callable[[], object]) -> int:
        """The same without lines and methods of texts, counted in C: for large texts."""
        self.total = 0
        profile = cProfile.Profile(lambda: 0, 1.0, subcalls=False)
        profile.enable()
        try:
            call()
        finally:
            profile.disable()
        return self.total + sum(entry.callcount for entry in profile.getstats())

    def _on_frame(self, frame: FrameType, _: str, __: object) -> Callable[..., Any] | None:
        self.total += 1
        return self._on_line if any(part in frame.f_code.co_filename for part in _OURS) else None

    def _on_line(self, *_: object) -> Callable[..., Any]:
        self.total += 1
        return self._on_line

    def _on_call(self, _: FrameType, event: str, function: object) -> None:
        if event == "c_call":
            owner = getattr(function, "__self__", None)
            self.total += 1 + (len(owner) if type(owner) is str or type(owner) is bytes else 0)

    def _count_patterns(self, module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in list(vars(module).items()):
            if isinstance(value, re.Pattern):
                monkeypatch.setattr(module, name, _CountingPattern(value, self))


class _CountingPattern:
    """A pattern that adds the characters it is given to the steps."""

    def __init__(self, pattern: "re.Pattern[Any]", steps: Steps) -> None:
        self._pattern = pattern
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._pattern, name)
        return self._counting(method, text_at=1 if name in ("sub", "subn") else 0) if callable(method) else method

    def _counting(self, method: Callable[..., Any], text_at: int) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            text, *bounds = args[text_at:]
            begin, end = (bounds + [0, len(text)][len(bounds) :]) if text_at == 0 else (0, len(text))
            self._steps.total += max(0, min(end, len(text)) - begin)
            return method(*args)

        return counted
