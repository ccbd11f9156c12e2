"""The fixtures of the conformance suite: cases hold for every backend sync and async."""

from tests.conformance.conftest import backend, call, clock, memory, mode, open_memory, options, session, url

__all__ = ["backend", "call", "clock", "memory", "mode", "open_memory", "options", "session", "url"]
