"""Sessions that are closed because nobody has said anything in them for a while."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from wmem.agent.types.conversation import ConversationFlows
from wmem.engine.engine import Engine
from wmem.engine.replica import Replica
from wmem.errors import WmemError
from wmem.flow import Flow
from wmem.log import find_logger
from wmem.model.history import Cursor, Path, is_reserved, to_scope_id

_log = find_logger("wmem.agent")
_READ_BATCH = 256  # scopes read in one call


class IdleSessions:
    """Closes idle sessions; a session that nobody wrote to since is not looked at again.

    Args:
        idle_s: Seconds without a message after which a session is idle.
        open_conversation: The conversation of the session at a path.
    """

    def __init__(self, idle_s: float, open_conversation: Callable[[Path], ConversationFlows]) -> None:
        self._idle_s = idle_s
        self._open_conversation = open_conversation
        self._closed: dict[Path, Cursor] = {}
        self._awake: dict[Path, tuple[Cursor, float]] = {}
        """Until when the others are not idle, as of which cursor."""

    def close(
        self, engine: Engine[Any], paths: Iterable[Path], standing: Mapping[Path, Cursor], now: float
    ) -> Flow[int]:
        """Close those of these scopes that are idle sessions; returns how many were.

        A session that cannot be closed now is left to the next pass.

        Args:
            standing: The cursors of scopes that stand as an earlier pass left them.
        """
        known = [path for path in paths if not is_reserved(path)]
        closed_as_of, awake = self._closed, self._awake  # another thread may be in the middle of a pass
        self._closed = {path: cursor for path in known if (cursor := closed_as_of.get(path)) is not None}
        self._awake = {path: until for path in known if (until := awake.get(path)) is not None}
        sessions = sorted(path for path in known if self._is_due(path, standing.get(path), now))
        closed = 0
        for begin in range(0, len(sessions), _READ_BATCH):
            replicas = yield from engine.sync_readable(sessions[begin : begin + _READ_BATCH])
            for path, cursor in self._list_idle(replicas, now):
                try:
                    closed += (yield from self._open_conversation(path).close()) > 0
                except WmemError as exc:
                    _log.warning("idle session %s was not closed: %s", to_scope_id(path), exc)
                else:
                    self._closed[path] = cursor
        return closed

    def _is_due(self, path: Path, cursor: Cursor | None, now: float) -> bool:
        """Whether to look at a session.

        Args:
            cursor: Where its journal stands, if that is known.
        """
        if cursor is None:
            return True
        since, until = self._awake.get(path, (None, 0.0))
        return self._closed.get(path) != cursor and (since != cursor or now >= until)

    def _list_idle(self, replicas: Sequence[Replica[Any]], now: float) -> list[tuple[Path, Cursor]]:
        """The scopes whose newest message is so old, as of which cursor, but for those that were closed as of it."""
        idle: list[tuple[Path, Cursor]] = []
        for replica in replicas:
            with replica.lock:
                newest = next(replica.state.newest_messages(), None)
                cursor, disposed = replica.cursor, replica.state.disposed
            # By when it was stored: an imported message may be from long ago.
            idle_at = math.inf if newest is None else newest.updated_at + self._idle_s
            self._awake[replica.path] = cursor, idle_at
            is_idle = now >= idle_at
            if is_idle and not disposed and self._closed.get(replica.path) != cursor:
                idle.append((replica.path, cursor))
        return idle
