"""Memory types of others as flows: their methods are called through a port, and their replies are checked."""

import inspect
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from wmem.agent.types.draft import ItemDraft
from wmem.agent.types.flows import check_ids, check_question
from wmem.agent.types.protocol import AsyncMemoryType, MemoryType
from wmem.agent.types.redaction import redact_draft
from wmem.agent.types.settings import DEFAULT_POOL
from wmem.describe import describe
from wmem.engine.ports import Callback
from wmem.errors import InvalidInputError
from wmem.flow import Flow, ask
from wmem.log import find_logger, log_callback_failure
from wmem.model.checks import check_count, check_flag, check_id, check_new_names
from wmem.model.filters import NO_FILTERS, Filters
from wmem.model.gate import Rejected
from wmem.model.ids import new_ulid
from wmem.model.results import Forgotten, Memorized, Remembered, Summary
from wmem.policy import Capacity
from wmem.rules.gate import find_fault, fresh_importance, novelty
from wmem.rules.sources import AUTO
from wmem.scope.handle import Handle
from wmem.scope.redaction import redact_text

R = TypeVar("R")
_log = find_logger("wmem.agent")
_MAX_NEAR = 8  # of what a type finds, against which a new item is held
_VERBS = ("memorize", "remember", "forget", "summarize", "capacity")


class ExternalType:
    """A memory type that somebody else wrote, checked.

    Attributes:
        has_coroutines: Whether its verbs are coroutine functions.
        may_block: Whether they may block a loop in which they run.
    """

    def __init__(self, memory_type: MemoryType | AsyncMemoryType) -> None:
        kind = type(memory_type).__name__
        name = getattr(memory_type, "name", None)
        if not isinstance(name, str) or not name.strip():
            raise InvalidInputError(f"a memory type needs a name, and {kind} has none")
        check_new_names(check_id(name))
        if name == AUTO:
            raise InvalidInputError(f"a memory type cannot be called {AUTO!r}: items are routed under that name")
        if missing := [verb for verb in ("accepts", *_VERBS) if not callable(getattr(memory_type, verb, None))]:
            raise InvalidInputError(f"the memory type {name!r} has no method {missing[0]!r}; see wmem.MemoryType")
        coroutines = {verb: inspect.iscoroutinefunction(getattr(memory_type, verb)) for verb in _VERBS}
        if inspect.iscoroutinefunction(memory_type.accepts):
            raise InvalidInputError(f"accepts of the memory type {name!r} must be a plain function")
        if len(set(coroutines.values())) > 1:
            raise InvalidInputError(f"the memory type {name!r} mixes plain methods and coroutine functions")
        self.memory_type = memory_type
        self.name = name
        self.pool = check_count(getattr(memory_type, "pool", DEFAULT_POOL), f"pool of the memory type {name!r}")
        self.has_coroutines = coroutines["memorize"]
        blocks = check_flag(getattr(memory_type, "blocks", True), f"blocks of the memory type {name!r}")
        self.may_block = blocks and not self.has_coroutines

    def check_mode(self, *, is_async: bool) -> None:
        """Raise `InvalidInputError` if a face cannot call it."""
        if self.has_coroutines and not is_async:
            msg = f"the memory type {self.name!r} has coroutine functions and needs the async face: use wmem.aopen"
            raise InvalidInputError(msg)
        if self.may_block and is_async:
            msg = (
                f"the memory type {self.name!r} has plain methods, which may block the loop: "
                "write a wmem.AsyncMemoryType, or give it `blocks = False`"
            )
            raise InvalidInputError(msg)


class ExternalFlows:
    """An external memory type for one session of the agent; what it is given is redacted."""

    is_external = True

    def __init__(self, external: ExternalType, handle: Handle) -> None:
        self._external = external
        self._handle = handle
        self._redaction = handle.settings.redaction
        self.name = external.name
        self.pool = external.pool

    def accepts(self, draft: ItemDraft, /) -> bool:
        clean, _ = redact_draft(self._redaction, draft)
        try:
            return bool(self._external.memory_type.accepts(clean))
        except Exception as exc:  # noqa: BLE001  # a user's function: what it is not asked for is stored all the same
            log_callback_failure(_log, "memory type %s did not say what it accepts", self.name, exc=exc)
            return False

    def memorize(self, draft: ItemDraft, /, *, gated: bool = True) -> Flow[Memorized]:
        clean, counts = redact_draft(self._redaction, draft)
        full = clean.with_defaults(self._handle.path[1:], agent_id=self._handle.path[0])
        if gated and (rejected := (yield from self._weigh(full))) is not None:
            now = self._handle.settings.clock()
            return Memorized(full.to_item(new_ulid(now), now), 0, (), 0, 0, rejected)
        made = yield from self._call("memorize", Memorized, lambda: self._external.memory_type.memorize(full))
        return made._replace(redactions=counts) if counts else made

    def _weigh(self, draft: ItemDraft) -> Flow[Rejected | None]:
        """Why an item is refused: of what the type holds, it is held against what the type itself finds."""
        minima = self._handle.settings.gates.minima(self.name)
        if not any(minima):
            return None
        given = draft.importance
        if given is None:
            given = fresh_importance(draft.content, draft.priority, self._handle.engine.analyzer)
        fault = find_fault(minima, given, 1.0)
        if fault is not None or not minima.novelty:
            return fault
        near = yield from self.remember(draft.content, NO_FILTERS, _MAX_NEAR)
        return find_fault(minima, 1.0, novelty(draft.content, (each.item.content for each in near)))

    def remember(self, query: str, filters: Filters, limit: int, /) -> Flow[Sequence[Remembered]]:
        text, most = check_question(query, filters, limit)
        asked = redact_text(self._redaction, text)
        call = partial(self._external.memory_type.remember, asked, filters=filters, limit=most)
        replies = yield from self._ask(call)
        if isinstance(replies, str | bytes) or not isinstance(replies, Sequence):
            raise self._to_error("remember", "a list", replies)
        for reply in replies:
            if not isinstance(reply, Remembered) or not math.isfinite(reply.score):
                raise self._to_error("remember", "results of wmem.Remembered, with finite scores", reply)
        return tuple(replies[:most])

    def forget(self, ids: Sequence[str], /) -> Flow[Forgotten]:
        wanted = list(check_ids(ids))
        return (yield from self._call("forget", Forgotten, lambda: self._external.memory_type.forget(wanted)))

    def summarize(self, token_limit: int, /) -> Flow[Summary]:
        most = check_count(token_limit, "token_limit", 1)
        return (yield from self._call("summarize", Summary, lambda: self._external.memory_type.summarize(most)))

    def capacity(self) -> Flow[Capacity]:
        return (yield from self._call("capacity", Capacity, self._external.memory_type.capacity))

    def _call(self, verb: str, kind: type[R], call: Callable[[], object]) -> Flow[R]:
        reply = yield from self._ask(call)
        if not isinstance(reply, kind):
            raise self._to_error(verb, f"a {kind.__name__}", reply)
        return reply

    def _ask(self, call: Callable[[], object]) -> Flow[object]:
        self._external.check_mode(is_async=not (yield from ask(Callback.blocks)))
        reply: object = yield from ask(Callback.call, call)
        return reply

    def _to_error(self, verb: str, expectation: str, reply: object) -> InvalidInputError:
        return InvalidInputError(
            f"{verb} of the memory type {self.name!r} must return {expectation}, not {describe(reply)}"
        )
