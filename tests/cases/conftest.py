"""The fixtures of the conformance suite: cases hold for every backend in both colours."""

from tests.conformance.conftest import backend, call, clock, colour, memory, opening, options, session, url

__all__ = ["backend", "call", "clock", "colour", "memory", "opening", "options", "session", "url"]
