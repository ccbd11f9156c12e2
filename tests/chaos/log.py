"""The log of a round: one file to which every process appends a line before and after each operation.

A line is written in one piece and at the end, so that the order of lines is an order of time: what is
acknowledged in line 7 was over before what is begun in line 8.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["TOKEN", "Log", "Op", "find_tokens", "make_token", "read_lines", "read_ops"]

TOKEN = re.compile(rb"zq[0-9a-f]{16}")
"""What every content begins with: random, so that no compression takes it apart."""


def make_token(*parts: object) -> str:
    """A token that no other operation of the run has."""
    return "zq" + hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def find_tokens(stored: bytes | str) -> list[str]:
    """All tokens in some bytes or a text, in order."""
    raw = stored.encode("utf-8", "replace") if isinstance(stored, str) else stored
    return [each.decode() for each in TOKEN.findall(raw)]


class Log:
    """The writing end; any number of processes and threads share a file."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, event: str, **fields: Any) -> None:
        """Append one line."""
        line = {"event": event, "pid": os.getpid(), "at": round(time.monotonic(), 3), **fields}
        os.write(self._file, json.dumps(line).encode() + b"\n")

    def close(self) -> None:
        os.close(self._file)


class Op(NamedTuple):
    """One operation as the log has it.

    Attributes:
        begin: The line before it.
        end: The line from which on it changes nothing any more; infinite if it may still.
        outcome: ``done``, ``refused`` (nothing was changed), ``unknown``.
        reply: What it said when it was done.
    """

    id: str
    writer: str
    name: str
    scope: str
    given: Mapping[str, Any]
    begin: int
    end: float
    outcome: str
    reply: Any = None


def read_lines(file: Path) -> list[dict[str, Any]]:
    """All whole lines."""
    return [json.loads(line) for line in file.read_bytes().split(b"\n")[:-1]]


def read_ops(lines: list[dict[str, Any]], *, lingering: bool) -> list[Op]:
    """The operations in a log, in the order they began.

    Args:
        lingering: Whether what a process that died, or an interrupted thread, had sent may still arrive later, as it
            may on a server.
    """
    return sorted(_paired(lines, lingering=lingering), key=lambda op: op.begin)


def _paired(lines: list[dict[str, Any]], *, lingering: bool) -> Iterator[Op]:
    begun: dict[str, tuple[int, dict[str, Any]]] = {}
    for at, line in enumerate(lines):
        match line["event"]:
            case "begin":
                begun[line["id"]] = at, line
            case "end":
                begin, first = begun.pop(line["id"])
                outcome = line["outcome"]
                sure = outcome in ("done", "refused") or (outcome == "interrupted" and not lingering)
                kind = outcome if outcome in ("done", "refused") else "unknown"
                yield _op(first, begin, at if sure else float("inf"), kind, line.get("reply"))
            case "dead":
                for id, (begin, first) in list(begun.items()):
                    if first["pid"] == line["of"] or first["group"] == line["of"]:
                        yield _op(first, begin, float("inf") if lingering else at, "unknown", None)
                        del begun[id]
            case _:
                pass
    for begin, first in begun.values():
        yield _op(first, begin, float("inf"), "unknown", None)


def _op(first: Mapping[str, Any], begin: int, end: float, outcome: str, reply: Any) -> Op:
    return Op(first["id"], first["writer"], first["name"], first["scope"], first["given"], begin, end, outcome, reply)
