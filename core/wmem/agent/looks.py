"""What maintenance remembers of the scopes that it looked at: one that nobody wrote to is not read before it is due.

It belongs to one process: another one looks at every scope once.
"""

import math
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from wmem.engine.derived import Derived
from wmem.engine.engine import Engine
from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.model.history import Cursor, Path, is_trace
from wmem.model.row import Row
from wmem.policy import parse_policy
from wmem.state import State

_READ_BATCH = 256  # scopes asked for in one call


class ScopeLook(NamedTuple):
    """What a pass found of a scope in which nothing is left to do.

    Attributes:
        cursor: Where its journal ended.
        at: When it was looked at.
        due: When there is something to do though nobody writes to it.
    """

    cursor: Cursor
    at: float
    due: float


class ExpiringRows(Derived):
    """The rows that expire, with the times at which they do and at which they were written."""

    __slots__ = ("_times",)

    def __init__(self) -> None:
        self._times: dict[str, tuple[float, float]] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            if row is None or row.expires_at is None:
                self._times.pop(id, None)
            else:
                self._times[id] = row.expires_at, row.updated_at

    def list_due(self, now: float) -> list[str]:
        """What has expired, and what may have been stored while a clock ran ahead."""
        return [id for id, (expires_at, updated_at) in self._times.items() if expires_at <= now or updated_at > now]

    def find_first(self) -> float:
        """When the first of them expires."""
        return min((expires_at for expires_at, _ in self._times.values()), default=math.inf)


def find_unchanged(engine: Engine[Any], looks: Mapping[Path, ScopeLook], now: float) -> Flow[dict[Path, Cursor]]:
    """The scopes that stand as of a look, and in which nothing has become due since; with their cursors."""
    cursors = {path: look.cursor for path, look in looks.items() if look.at <= now < look.due}
    standing: dict[Path, Cursor] = {}
    looked = iter(cursors.items())
    while part := dict(islice(looked, _READ_BATCH)):
        unchanged = yield from engine.find_unchanged(part)
        standing |= {path: part[path] for path in unchanged}
    return standing


def find_due(replica: Replica[Any]) -> float:
    """When there is something to do in a scope though nobody writes to it."""
    expires_at = replica.use_derived(ExpiringRows, ExpiringRows.find_first)
    with replica.lock:
        state = replica.state
        withdrawn = (state.rows[id].expires_at for id in state.withdrawn)
        times = [expires_at, find_lease_end(state), *(at for at in withdrawn if at is not None)]
        if is_trace(replica.path) and state.traces:
            times.append(state.traces[0].at + state.traces[-1].keep_s)
    return min(times)


def find_lease_end(state: State) -> float:
    """When the lease of a scope ends; never for one without a lease."""
    if state.policy is None or '"lease_s"' not in state.policy:
        return math.inf
    try:
        lease_s = parse_policy(state.policy).lease_s
    except ValueError:  # damaged, or of a newer version: whoever opens the scope is told
        return math.inf
    return math.inf if lease_s is None else state.renewed_at + lease_s
