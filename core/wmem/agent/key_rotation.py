"""Key rotation: rewrites scopes that are stored under an old key, without a key, or in an old format.

A checkpoint replaces all of a scope's records, so only it has to be written. A journal
accepts only one newer than the one it has: if no record came after that, an empty one is
appended first.
"""

from contextlib import suppress
from typing import Any

from wmem.engine.engine import Engine
from wmem.engine.replica import Replica
from wmem.engine.retention import retention_s
from wmem.errors import ConflictError, UnknownOutcomeError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal, Purge, Tail, new_record_id
from wmem.log import find_logger
from wmem.model.change import ItemPut
from wmem.model.history import ORIGIN, Path

_log = find_logger("wmem.agent")

_MAX_ATTEMPTS = 16  # a writer whose active key is still the old one may come in between


def rotate(engine: Engine[Any], prefix: Path, now: float) -> Flow[int]:
    """Rewrite every scope at or below a path that is not stored as the engine's codec writes.

    Nothing else of a scope changes and no replica is kept, so readers are not disturbed.

    Returns:
        How many scopes were rewritten; a damaged one is logged and left as it is.

    Raises:
        WrongKeyError: A scope is under a key that is not in the ring; those before it are done.
        ConflictError: Other processes keep writing under another key.
    """
    paths = yield from ask(Journal.paths, prefix)
    count = 0
    for path in paths:
        count += yield from _rewrite_scope(engine, path, now)
    for remains in (yield from ask(Purge.purge, prefix)) if count else ():
        _log.warning("what was under an old key is not yet gone from the store: %s", remains)
    return count


def _rewrite_scope(engine: Engine[Any], path: Path, now: float) -> Flow[bool]:
    done = False
    for _ in range(_MAX_ATTEMPTS):
        tail: Tail[Any] = (yield from ask(Journal.read, {path: ORIGIN}))[path]
        payloads = [record.payload for record in tail.records]
        if tail.snapshot is not None:
            payloads.append(tail.snapshot)
        if tail.incarnation is None or all(map(engine.codec.is_current, payloads)):
            return done
        # Not the engine's replicas: thousands of scopes would evict those in use.
        replica: Replica[Any] = Replica(path, engine.codec)
        replica.apply_tail(ORIGIN, tail)
        if replica.damage:
            _log.warning("scope %r holds damage and was not written anew: the keys it is under are still needed", path)
            return done
        place = replica.place(tail.head.version + (not tail.records))
        if not tail.records:
            record_id = new_record_id()
            empty = engine.codec.encode_record((), path, record_id, place)
            with suppress(UnknownOutcomeError):  # the next attempt sees whether it is there
                yield from ask(Journal.append, path, record_id, empty, tail.head, retention_s((), now))
            continue
        kept = replica.state.checkpoint()
        payload = engine.codec.encode_checkpoint(kept, path, tail.head, place)
        keep_s = retention_s([ItemPut(row) for row in kept.rows], now)
        done = (yield from ask(Journal.compact, path, tail.head, payload, keep_s)) or done
    msg = f"scope {path!r} is still written under another key: make the active key active everywhere, then rotate again"
    raise ConflictError(msg)
