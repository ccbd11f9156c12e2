"""Job ``redact``, on request: long-term memory that was written without this redaction is redacted, for good.

It is for stores of earlier versions, and for who opened one with `Redaction.off`, or with fewer kinds, before. A row
of which a recognizer fails stays as it is. The bytes leave the store, also those that a run left which broke off.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice

from wmem.agent.consolidation.jobs import Job, JobContext, JobReport, run_in_each
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut
from wmem.model.row import Row
from wmem.rules.routing import CONVERSATION, EPISODIC, SEMANTIC
from wmem.rules.ttl import rewrite_row
from wmem.scope.erasure import purge_unpurged
from wmem.scope.handle import Handle
from wmem.scope.redaction import HeldBackError
from wmem.state import State

_STEP = 256  # rows that one record redacts


def _redact_in(context: JobContext, handle: Handle) -> Flow[Mapping[str, int]]:
    replica, state = yield from handle.replica()
    context.engine.unpurged_scopes.add(handle.path)
    with replica.lock:
        ids = iter(list(state.rows))
    changed = failed = 0

    def decide(state: State) -> tuple[Sequence[Change], tuple[int, int]]:
        rows = [state.rows[id] for id in some if id in state.rows]
        made = [_redact(handle, row, now) for row in rows]
        puts = [ItemPut(new) for row, new in zip(rows, made, strict=True) if new is not None and new != row]
        return puts, (len(puts), made.count(None))

    while some := list(islice(ids, _STEP)):
        now = handle.settings.clock()
        counts = yield from handle.commit(decide, now)
        changed, failed = changed + counts[0], failed + counts[1]
    return {"redacted": changed, "failed": failed}


def _redact(handle: Handle, row: Row, now: float) -> Row | None:
    """The row as it is to be stored; None where a recognizer fails."""
    try:
        made = handle.redact(row, whole=True)
    except HeldBackError:
        return None
    return made if made.content == row.content else rewrite_row(made, now)


def _run(context: JobContext) -> Flow[JobReport]:
    scopes = [handle for name in (SEMANTIC, EPISODIC, CONVERSATION) for handle in context.long_term(name)]
    report = yield from run_in_each(scopes, partial(_redact_in, context))
    yield from purge_unpurged(context.root, "redacted")
    return report._replace(changed=report.detail.get("redacted", 0))


REDACT = Job("redact", _run, on_request=True)
