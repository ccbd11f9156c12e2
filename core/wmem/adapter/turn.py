"""How an adapter ends a turn: by the answer that ends it, as one step of the session."""

from collections.abc import Callable, Sequence

from wmem.adapter.flow import Steps
from wmem.adapter.lru_cache import LruCache
from wmem.model.context import Context
from wmem.model.history import Path
from wmem.model.message import Message
from wmem.scope.async_scope import AsyncScope
from wmem.scope.scope import Scope

_MAX_SCOPES = 256
_MAX_PROMPTS = 64  # of one turn: the newest
_NEWEST = 16  # stored messages that are looked at first for the question
_LOOKBACK_LIMITS = (_NEWEST, None)


class TurnPrompts:
    """The prompts of turns that have not ended yet, by scope; copies share them, other processes begin without any."""

    def __init__(self) -> None:
        self._prompts: LruCache[tuple[str, ...], list[Context]] = LruCache(_MAX_SCOPES)

    def add(self, scope: Scope | AsyncScope, context: Context) -> None:
        """One more prompt; without its receipt, which is made now, it would hold on to all that its pack looked at."""
        _ = context.receipt
        prompts = self._prompts.setdefault(scope.path, [])
        prompts.append(context)
        del prompts[:-_MAX_PROMPTS]

    def take(self, scope: Scope | AsyncScope) -> list[Context]:
        """The prompts of the turn that ends now."""
        prompts = self._prompts.get(scope.path) or []
        taken = list(prompts)
        del prompts[: len(taken)]
        return taken

    def discard(self, matches: Callable[[Path], bool]) -> None:
        """Drop the prompts of every scope whose path matches."""
        self._prompts.discard(matches)

    def __deepcopy__(self, _: object) -> "TurnPrompts":
        return self

    def __reduce__(self) -> tuple[type["TurnPrompts"], tuple[()]]:
        return TurnPrompts, ()


def end_turn(scope: Scope | AsyncScope, stored: Sequence[Message], prompts: TurnPrompts) -> Steps[None]:
    """End a turn if messages that were just stored do, once for the question it began with: see `Scope.end_turn`.

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
        yield scope.end_turn(turn_id, *prompts.take(scope))


def _find_question(messages: Sequence[Message]) -> str | None:
    """The id of the newest message of the user, which names the turn that it begins."""
    return next((each.id for each in reversed(messages) if each.role == "user"), None)
