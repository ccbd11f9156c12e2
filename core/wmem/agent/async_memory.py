# Generated from core/wmem/agent/memory.py by `make generate` (scripts/generate_async.py); do not edit.
"""Async twin of `wmem.agent.memory`."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Self, TypeVar

from wmem.agent.core import Changes, MemoryProperties, aopen_core, aopen_existing, list_agents
from wmem.agent.maintenance import AsyncMaintenance, MaintenanceReport
from wmem.agent.options import OpenOptions
from wmem.agent.turns.async_face import AsyncTurn, AsyncTurnVerbs
from wmem.agent.turns.core import TurnCore, TurnSettings
from wmem.agent.types.async_face import AsyncMemoryTypes
from wmem.agent.types.registry import AnyMemoryType
from wmem.agent.types.settings import TypeSettings
from wmem.codec.keyring import KeyRing
from wmem.errors import NotFoundError
from wmem.flow import Flow, arun
from wmem.model.context import Context
from wmem.model.features import Features
from wmem.model.filters import Filters
from wmem.model.gate import Gate
from wmem.model.history import Cursor, Path
from wmem.model.results import Erased
from wmem.model.snapshot import ClearedMemory, Restored, Snapshot
from wmem.model.trace import TurnTrace
from wmem.model.turn import TurnBudget
from wmem.policy import Policy
from wmem.retrieval.embedder import Embedder
from wmem.rules.redaction import Redaction
from wmem.rules.retention import Retention
from wmem.rules.routing import CONVERSATION, EPISODIC, SEMANTIC
from wmem.scope.async_scope import AsyncScope
from wmem.scope.messages.flows import MessageInput
from wmem.scope.replay import Replay
from wmem.scope.stats import MemoryStats
from wmem.scope.summaries.port import Summarizer, SummarizerFunction
from wmem.tokens.counter import Counter

if TYPE_CHECKING:
    from wmem.agent.memory import AgentMemory


R = TypeVar("R")


class AsyncAgentMemory(AsyncTurnVerbs, MemoryProperties):
    """See `AgentMemory`; made by `wmem.aopen`."""

    __slots__ = ()

    def scope(self, *names: str, policy: Policy | None = None, create: bool = True) -> AsyncScope:
        """See `AgentMemory.scope`; it asks nothing of the store, so it is not awaited."""
        return AsyncScope(self._core.handle(names, policy, create=create), self._core.ports)

    @property
    def working(self) -> AsyncScope:
        """See `AgentMemory.working`."""
        return self.scope()

    async def changes(self, after: Mapping[Path, Cursor] | None = None, *, reserved: bool = False) -> Changes:
        """See `AgentMemory.changes`."""
        return await arun(self._core.changes(after, reserved=reserved), self._core.ports.aio)

    @property
    def semantic(self) -> AsyncScope:
        """See `AgentMemory.semantic`."""
        return AsyncScope(self._core.long_term_handle(SEMANTIC), self._core.ports)

    @property
    def episodic(self) -> AsyncScope:
        """See `AgentMemory.episodic`."""
        return AsyncScope(self._core.long_term_handle(EPISODIC), self._core.ports)

    async def trace(self, turn: str, *, session: str | Sequence[str] | None = None) -> TurnTrace:
        """See `AgentMemory.trace`."""
        return await arun(self._core.trace(turn, session), self._core.ports.aio)

    async def record(self, context: Context, *, turn: str | None = None) -> str:
        """See `AgentMemory.record`."""
        return await arun(self._core.record(context, turn), self._core.ports.aio)

    async def replay(self, receipt: str, *, system: str = "", messages: Sequence[MessageInput] | None = None) -> Replay:
        """See `AgentMemory.replay`."""
        return await arun(self._core.replay(receipt, system, messages), self._core.ports.aio)

    async def traces(self, *session: str) -> list[TurnTrace]:
        """See `AgentMemory.traces`."""
        return await arun(self._core.traces(session), self._core.ports.aio)

    @property
    def conversation(self) -> AsyncScope:
        """See `AgentMemory.conversation`."""
        return AsyncScope(self._core.long_term_handle(CONVERSATION), self._core.ports)

    @property
    def types(self) -> AsyncMemoryTypes:
        """See `AgentMemory.types`."""
        return AsyncMemoryTypes(self._core)

    def turn(
        self,
        *session: str,
        budget: TurnBudget | None = None,
        goals: Sequence[str] = (),
        task_id: str | None = None,
        id: str | None = None,  # the field's own name
        policy: Policy | None = None,
    ) -> AsyncTurn:
        """See `AgentMemory.turn`; it asks nothing of the store, so it is not awaited."""
        settings = TurnSettings(TurnBudget() if budget is None else budget, goals, task_id)
        return AsyncTurn(self._core.make_turn(session, settings, turn_id=id, policy=policy), self._core.ports)

    def _find_turn(self, *, begins: bool) -> TurnCore:
        return self._core.find_turn(begins=begins)

    def _drive(self, flow: Flow[R]) -> Awaitable[R]:
        return arun(flow, self._core.ports.aio)

    async def stats(self) -> MemoryStats:
        """See `AgentMemory.stats`."""
        return await arun(self._core.stats(), self._core.ports.aio)

    async def maintain(self, jobs: Iterable[str] | None = None) -> MaintenanceReport:
        """See `AgentMemory.maintain`."""
        return await arun(self._core.maintain(jobs), self._core.ports.aio)

    def maintenance(self, every_s: float | None = None) -> AsyncMaintenance:
        """See `AgentMemory.maintenance`; it repeats as a task, from ``start()`` or ``async with``."""
        made = AsyncMaintenance(self.maintain, self._core.maintenance_interval(every_s))
        self._core.stop_callbacks.append(made.cancel)
        return made

    async def snapshot(self, *, key: KeyRing | bytes | str | None = None) -> Snapshot:
        """See `AgentMemory.snapshot`."""
        return await arun(self._core.snapshot(key), self._core.ports.aio)

    async def restore(self, snapshot: bytes, *, key: KeyRing | bytes | str | None = None) -> Restored:
        """See `AgentMemory.restore`."""
        return await arun(self._core.restore(snapshot, key), self._core.ports.aio)

    async def clear(self, *, working: bool = True, context: bool = True, long_term: bool = False) -> ClearedMemory:
        """See `AgentMemory.clear`."""
        flow = self._core.clear(working=working, context=context, long_term=long_term)
        return await arun(flow, self._core.ports.aio)

    async def rotate(self) -> int:
        """See `AgentMemory.rotate`."""
        return await arun(self._core.rotate(), self._core.ports.aio)

    async def backup(self, path: str | PathLike[str]) -> None:
        """See `AgentMemory.backup`."""
        await arun(self._core.backup(path), self._core.ports.aio)

    def sync(self) -> "AgentMemory":
        """The same memory for threads."""
        from wmem.agent.memory import AgentMemory

        return AgentMemory(self._core)

    async def erase_all(self) -> Erased:
        """See `AgentMemory.erase_all`."""
        return await arun(self._core.erase_all(), self._core.ports.aio)

    async def close(self, dispose: bool = False) -> None:  # noqa: FBT001, FBT002  # its only option
        """See `AgentMemory.close`."""
        if not self._core.release():
            return
        try:
            if dispose:
                await arun(self._core.dispose_working_memory(), self._core.ports.aio)
            await arun(self._core.close(), self._core.ports.aio)
        finally:
            self._core.settings.open_state.is_closed = True
            await self._core.store.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def aopen(
    url: str,
    *,
    agent_id: str,
    policy: Policy | None = None,
    counter: Counter | None = None,
    clock: Callable[[], float] | None = None,
    key: KeyRing | bytes | str | None = None,
    client: object | None = None,
    embedder: Embedder | None = None,
    media_tokens: Mapping[str, int] | None = None,
    create: bool = True,
    memory_types: Iterable[TypeSettings | AnyMemoryType] = (),
    default_filters: Filters | None = None,
    enable_tool_tracking: bool = True,
    features: Features | None = None,
    summarizer: Summarizer | SummarizerFunction | None = None,
    redaction: Redaction | None = None,
    gate: Gate | None = None,
    enable_skill_extraction: bool = True,
    retention: Iterable[Retention] = (),
) -> AsyncAgentMemory:
    """Open an agent's memory for coroutines; see `open`."""
    options = OpenOptions(
        policy,
        counter,
        clock,
        key,
        client,
        embedder,
        media_tokens,
        create,
        memory_types,
        default_filters,
        enable_tool_tracking,
        features,
        summarizer,
        redaction,
        gate,
        enable_skill_extraction,
        retention,
    )
    core = await aopen_core(url, agent_id, options)
    if not create and not await arun(core.exists(), core.ports.aio):
        await core.store.aclose()
        raise NotFoundError(f"the store holds nothing of agent {core.agent_id!r}, and nothing is to be created")
    return AsyncAgentMemory(core)


async def aagents(url: str, *, client: object | None = None) -> list[str]:
    """See `agents`."""
    store, ports = await aopen_existing(url, client)
    try:
        return await arun(list_agents(), ports.aio)
    finally:
        await store.aclose()
