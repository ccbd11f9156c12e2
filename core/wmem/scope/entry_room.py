"""Whether an agent may have one entry more in all its scopes, asked so that a write seldom waits for it."""

from wmem.errors import CapacityError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.scope.census import MANY_SCOPES, NEARLY_FULL
from wmem.scope.handle import Handle

__all__ = ["count", "make_room"]


def count(handle: Handle, limit: int, now: float) -> Flow[None]:
    """Count the agent's entries in all its scopes before one gets one more.

    Raises:
        CapacityError: The agent has as many as it may.
    """
    census = handle.settings.census
    listed = yield from ask(Journal.paths, handle.path[:1])
    paths = [path for path in listed if not any(segment.startswith("~") for segment in path)]
    if len(paths) > MANY_SCOPES and census.total <= NEARLY_FULL * limit:
        census.put_off(limit)
        return
    live = []
    if paths:
        replicas = yield from handle.engine.caught_up(paths)
        live = [replica for replica in replicas if not replica.state.disposed]
    total = sum(len(replica.state.entries) for replica in live)
    counts = {}
    for replica in live:
        with replica.lock:
            # What has expired takes nobody's room; as long as there is enough it need not be told apart.
            entries = replica.state.entries
            counts[replica.path] = len(entries if total < limit else replica.state.visible(entries.values(), now))
    census.counted({**counts, handle.path: counts.get(handle.path, 0) + 1}, limit)
    if (total := sum(counts.values())) >= limit:
        msg = f"agent {handle.path[0]!r} is full: {total} of {limit} entries in its {len(live)} scopes; remove some"
        raise CapacityError(msg)


def make_room(handle: Handle, key: str, now: float) -> Flow[None]:
    """Make sure that the agent may have one entry more if a key is new here."""
    entries = handle.engine.replica(handle.path).state.entries
    limit = handle.root.policy.max_entries
    if key not in entries and handle.settings.census.due(handle.path, len(entries), limit):
        yield from count(handle, limit, now)
