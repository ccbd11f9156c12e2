"""How an agent's working memory ends while its long-term memory stays, and how all of an agent is erased."""

from collections.abc import Collection, Sequence

from wmem.errors import CorruptionError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.model.history import Path, is_cache, is_reserved
from wmem.model.results import Erased
from wmem.policy import Policy, parse_policy
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.scope.erasure import clear_rows, compact_and_purge, dispose, log_remaining
from wmem.scope.handle import Handle

_LONG_TERM = frozenset((SEMANTIC, EPISODIC))
_READ_BATCH = 256  # scopes read in one call


def dispose_working_memory(root: Handle) -> Flow[None]:
    """Dispose all scopes of an agent but its long-term memory; repeated after an interruption, it goes on.

    Scopes that a policy names in `long_term`, as a user's, stay. A scope with long-term memory below it cannot be
    disposed without that: it is cleared.
    """
    paths = list((yield from ask(Journal.paths, root.path)))
    named = (yield from list_named_scopes(root, paths)).intersection(paths)
    kept = {path for path in paths if path[-1] in _LONG_TERM} | named
    if not kept:
        yield from dispose(root, purge=True)
        return
    above = {path[:depth] for path in kept for depth in range(1, len(path))}
    inner = above | named  # of these only what is below may go
    for path in sorted({_outermost(path, inner) for path in paths if path not in inner} - kept):
        if not is_cache(path):
            yield from _handle(root, path).dispose()
    cleared = [_handle(root, path) for path in paths if path in above - named]
    for scope in cleared:
        yield from clear_rows(scope, "all")
    log_remaining(root, "disposed", (yield from compact_and_purge(root, cleared)))


def list_named_scopes(root: Handle, paths: Sequence[Path]) -> Flow[set[Path]]:
    """The scopes that policies name in `long_term`: this memory's, and those that are stored.

    Raises:
        CorruptionError: A policy cannot be read: nobody knows what it names.
    """
    texts: dict[str, Path] = {}
    for begin in range(0, len(paths), _READ_BATCH):
        batch = [path for path in paths[begin : begin + _READ_BATCH] if not is_reserved(path)]
        replicas = (yield from root.engine.sync_readable(batch)) if batch else []
        texts |= {text: each.path for each in replicas if '"long_term"' in (text := each.state.policy or "")}
    policies = [root.settings.policy, *(_parse(text, path) for text, path in texts.items())]
    return {(root.path[0], *names) for policy in policies for names in policy.long_term}


def _parse(text: str, path: Path) -> Policy:
    try:
        return parse_policy(text)
    except ValueError as exc:
        raise CorruptionError(f"scope {path!r} has stored a policy that is none: {exc}") from exc


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
