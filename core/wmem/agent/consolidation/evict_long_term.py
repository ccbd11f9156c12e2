"""Job ``evict-long-term``: what exceeds the bounds of semantic memory leaves it, the least useful first."""

from collections import Counter

from wmem.agent.consolidation.jobs import Job, JobContext, JobReport, run_in_each
from wmem.agent.types.long_term_bounds import evict
from wmem.flow import Flow
from wmem.log import find_logger
from wmem.model.removal import EVICT_JOB
from wmem.rules.routing import SEMANTIC
from wmem.scope.handle import Handle

_log = find_logger("wmem.agent")


def _run(context: JobContext) -> Flow[JobReport]:
    missed: Counter[str] = Counter()

    def evict_in(handle: Handle) -> Flow[Counter[str]]:
        done = yield from evict(handle, context.types.semantic, context.now)
        if done.is_missed:
            missed["target_missed"] += 1
            if handle.engine.warn_once((EVICT_JOB, handle.path)):
                _log.warning("scope %s exceeds its bounds, and nothing else in it may go", handle.id)
        return Counter(evicted=len(done.items))

    report = yield from run_in_each(context.long_term(SEMANTIC), evict_in)
    return report._replace(detail={**report.detail, **missed})


EVICT_LONG_TERM = Job(EVICT_JOB, _run)
