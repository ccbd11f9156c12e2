"""Runs of which no line is counted: those whose signal handler raises anywhere.

coverage.py's tracer takes a lock for each file that a thread meets for the first time, and an exception
in that moment leaves it taken: every thread then waits for it for ever.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

COVERAGE_VARIABLES = ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")


def unmeasured_environment() -> dict[str, str]:
    """This process's environment for a child in which nothing is counted."""
    return {name: value for name, value in os.environ.items() if name not in COVERAGE_VARIABLES}


@contextmanager
def unmeasured() -> Iterator[None]:
    """In this thread nothing is counted meanwhile."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)
