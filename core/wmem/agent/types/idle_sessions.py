"""Sessions that are closed because nobody has said anything in them for a while."""

from collections.abc import Callable, Iterable, Sequence
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

    def close(self, engine: Engine[Any], paths: Iterable[Path], now: float) -> Flow[int]:
        """Close those of these scopes that are idle sessions; returns how many were.

        A session that cannot be closed now is left to the next pass.
        """
        sessions = sorted(path for path in paths if not is_reserved(path))
        self._closed = {path: self._closed[path] for path in sessions if path in self._closed}
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

    def _list_idle(self, replicas: Sequence[Replica[Any]], now: float) -> list[tuple[Path, Cursor]]:
        """The scopes whose newest message is so old, as of which cursor, but for those that were closed as of it."""
        idle: list[tuple[Path, Cursor]] = []
        for replica in replicas:
            with replica.lock:
                newest = next(replica.state.newest_messages(), None)
                cursor, disposed = replica.cursor, replica.state.disposed
            # By when it was stored: an imported message may be from long ago.
            is_idle = newest is not None and now - newest.updated_at >= self._idle_s
            if is_idle and not disposed and self._closed.get(replica.path) != cursor:
                idle.append((replica.path, cursor))
        return idle
