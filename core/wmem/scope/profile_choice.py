"""Changing the recall profile of a scope, recorded in its journal."""

from collections.abc import Sequence

from wmem.flow import Flow
from wmem.log import find_logger
from wmem.model.change import Change, PolicyChanged
from wmem.model.recall_profile import Scoring
from wmem.policy import Policy
from wmem.scope.handle import Handle
from wmem.state import State

_log = find_logger("wmem.scope")


def use_profile(handle: Handle, scoring: Scoring) -> Flow[Policy]:
    """See `Scope.use_profile`."""
    handle.policy.with_profile(scoring)  # an invalid profile raises before any IO
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], tuple[Policy, Policy]]:
        before = handle.adopt_policy(state)
        after = before.with_profile(scoring)
        if after == before and state.policy is not None:
            return (), (before, before)
        return [PolicyChanged(after.model_dump_json(exclude_defaults=True), now)], (before, after)

    before, after = yield from handle.commit(decide, now)
    handle.adopt_policy(handle.engine.replica(handle.path).state)
    if after is not before:
        names = before.recall_profile.name, after.recall_profile.name
        _log.info("Working memory scope %s recalls by the profile %.80r, until now by %.80r", handle.id, *names[::-1])
    return after
