"""The context window of a memory: the last prompt that its sessions packed in this process."""

from collections.abc import Mapping
from typing import NamedTuple

from wmem.engine.engine import Engine
from wmem.model.context import Context
from wmem.model.history import Incarnation, Path, to_scope_id


class ContextWindow(NamedTuple):
    """How full the context window was when it was filled last.

    Source: scoped key-value document, "Unified Agent Memory Interface" and "MemoryStats".

    Attributes:
        max_tokens: The budget of the last pack; 0 before the first.
        used_tokens: What its prompt takes, tools and reserve included.
        last: That prompt, with its reports; None before the first, and once anything of it was erased.
    """

    max_tokens: int = 0
    used_tokens: int = 0
    last: Context | None = None

    @property
    def free_tokens(self) -> int:
        """What the prompt left of the budget."""
        return self.max_tokens - self.used_tokens


class LatestContext:
    """Holds the last prompt of one memory.

    What was erased must not stay in it: an erasure in this process drops the prompt, and one elsewhere is noticed
    by the tombstones, or by the end of a scope, once this process has read of it.
    """

    __slots__ = ("__weakref__", "_lives", "_window")

    def __init__(self) -> None:
        self._window = ContextWindow()
        self._lives: Mapping[Path, Incarnation | None] = {}

    def record(self, context: Context, lives: Mapping[Path, Incarnation | None]) -> None:
        """Keep a prompt, and the scopes that it may be from, with their incarnations."""
        self._window, self._lives = ContextWindow(context.budget, context.tokens, context), lives

    def window(self, engine: Engine[object]) -> ContextWindow:
        """The window as it is now."""
        if self._window.last is not None and _is_erased(engine, self._lives, self._window.last):
            self.clear()
        return self._window

    def clear(self) -> None:
        """Forget the prompt, not its numbers."""
        self._window, self._lives = self._window._replace(last=None), {}


def _is_erased(engine: Engine[object], lives: Mapping[Path, Incarnation | None], context: Context) -> bool:
    """Whether anything that this prompt has was erased, or ended with its scope, as far as this process knows."""
    found = [replica for path in lives if (replica := engine.find_synced_replica(path)) is not None]
    if any(lives[each.path] not in (None, each.incarnation) or each.state.disposed for each in found):
        return True
    if not (replicas := [each for each in found if each.state.erased]):
        return False
    units = (*context.included, *context.truncated)
    ids = {id for unit in units for id in (*unit.ids, *unit.sources)}
    for replica in replicas:
        prefix = f"{to_scope_id(replica.path)}/"  # before the ids of another scope than the one that packed
        if any(id in replica.state.erased or id.removeprefix(prefix) in replica.state.erased for id in ids):
            return True
    return False
