"""How an agent's working memory ends while its long-term memory stays, and how all of an agent is erased."""

from collections.abc import Collection

from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.model.history import Path, is_cache
from wmem.model.results import Erased
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.scope.erasure import clear_rows, compact_and_purge, dispose, log_remaining
from wmem.scope.handle import Handle

_LONG_TERM = frozenset((SEMANTIC, EPISODIC))


def dispose_working_memory(root: Handle) -> Flow[None]:
    """Dispose all scopes of an agent but its long-term memory; repeated after an interruption, it goes on.

    A scope with long-term memory below it cannot be disposed without that: it is cleared.
    """
    paths = yield from ask(Journal.paths, root.path)
    kept = {path for path in paths if path[-1] in _LONG_TERM}
    if not kept:
        yield from dispose(root, purge=True)
        return
    above = {path[:depth] for path in kept for depth in range(1, len(path))}
    for path in sorted({_outermost(path, above) for path in paths if path not in above} - kept):
        if not is_cache(path):
            yield from _handle(root, path).dispose()
    cleared = [_handle(root, path) for path in paths if path in above]
    for scope in cleared:
        yield from clear_rows(scope, "all")
    log_remaining(root, "disposed", (yield from compact_and_purge(root, cleared)))


def _outermost(path: Path, above: Collection[Path]) -> Path:
    """The outermost scope around a path, or the path itself, that is not among these."""
    return next(path[:depth] for depth in range(1, len(path) + 1) if path[:depth] not in above)


def _handle(root: Handle, path: Path) -> Handle:
    return Handle(root.engine, root.settings, path, policy=None, parent=None)


def erase_all(root: Handle) -> Flow[Erased]:
    """Delete all scopes of an agent and purge their bytes; see `AgentMemory.erase_all`."""
    yield from root.dispose()
    remaining = yield from compact_and_purge(root)
    return Erased(not remaining, tuple(remaining))
