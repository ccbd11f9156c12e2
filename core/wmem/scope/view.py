"""A frozen view of a scope and its parents at one cursor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.model.history import Cursor, Path
from wmem.scope.entries.face import EntriesView
from wmem.scope.handle import Handle, Read
from wmem.scope.items.face import ItemReads
from wmem.scope.items.search import search_replica
from wmem.scope.messages.face import MessageReads
from wmem.scope.queue.face import QueueReads
from wmem.state import State

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeView:
    """A scope and its parents as they were at one cursor; it never changes and costs no IO.

    Attributes:
        cursor: The point in the scope's history that it shows.
    """

    path: Path
    cursor: Cursor
    entries: EntriesView
    items: ItemReads
    queue: QueueReads
    messages: MessageReads


def take_view(handle: Handle) -> Flow[ScopeView]:
    """A view of the scope as of now; see `Scope.view`."""
    replica, _ = yield from handle.replica()

    def freeze(states: Sequence[State], now: float) -> ScopeView:
        frozen, policy = [state.copy() for state in states], handle.policy
        copied = Replica(handle.path, handle.engine.codec, analyzer=handle.engine.analyzer)
        copied.state = frozen[0]

        def absent() -> None:
            handle.check_intact(local_only=True)

        def read(query: Read[R]) -> R:
            return query(frozen, now)

        return ScopeView(
            path=handle.path,
            cursor=replica.cursor,
            entries=EntriesView(read, lambda query: query(frozen[:1], now), handle.check_intact),
            items=ItemReads(read, lambda search: search_replica(copied, search, policy, now), absent, lambda: policy),
            queue=QueueReads(handle, read),
            messages=MessageReads(read, absent),
        )

    return (yield from handle.read(freeze))
