"""How an adapter ends a turn: by the answer that ends it, as one step of the session."""

from collections.abc import Sequence

from wmem.adapter.flow import Steps
from wmem.model.message import Message
from wmem.scope.async_scope import AsyncScope
from wmem.scope.scope import Scope

_NEWEST = 16  # stored messages that are looked at first for the question
_LOOKBACK_LIMITS = (_NEWEST, None)


def end_turn(scope: Scope | AsyncScope, stored: Sequence[Message]) -> Steps[None]:
    """Advance the session's step if messages that were just stored end a turn, once for the question it began with.

    An answer ends it that calls no tool and is whole.
    """
    if not stored or stored[-1].role != "assistant" or stored[-1].tool_calls or not stored[-1].complete:
        return
    turn_id = stored[-1].turn_id or _find_question(stored)
    for limit in _LOOKBACK_LIMITS:
        if turn_id is None:
            newest: list[Message] = yield scope.messages.all(limit=limit)
            turn_id = _find_question(newest)
    if turn_id is not None:
        yield scope.queue.advance_step(turn_id=turn_id)


def _find_question(messages: Sequence[Message]) -> str | None:
    """The id of the newest message of the user, which names the turn that it begins."""
    return next((each.id for each in reversed(messages) if each.role == "user"), None)
