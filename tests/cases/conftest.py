"""The fixtures of the conformance suite: cases hold for every backend in both colours."""

from tests.conformance.conftest import call, clock, colour, memory, opening, session, url

__all__ = ["call", "clock", "colour", "memory", "opening", "session", "url"]
