# Generated from core/wmem/agent/types/face.py by `make generate` (scripts/generate_async.py); do not edit.
"""Async twin of `wmem.agent.types.face`."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, cast, overload

from wmem.agent.core import AgentCore
from wmem.agent.types.conversation import ConversationFlows
from wmem.agent.types.draft import ItemDraft, to_draft
from wmem.agent.types.episodic import EpisodicFlows
from wmem.agent.types.flows import ScopeFlows
from wmem.agent.types.protocol import AsyncMemoryType
from wmem.agent.types.registry import AnyMemoryType, TypeNames
from wmem.agent.types.scope_types import WorkingFlows
from wmem.agent.types.turn_pointers import ConversationTurn
from wmem.flow import arun
from wmem.model.episodes import Episode, Link, Transcript
from wmem.model.filters import NO_FILTERS, Filters
from wmem.model.item import MemoryItem
from wmem.model.results import Forgotten, Memorized, Remembered, Summary
from wmem.policy import Capacity, Policy
from wmem.scope.async_scope import AsyncScope
from wmem.scope.ports import PortPair
from wmem.scope.queue.flows import ForgetMode


class AsyncBuiltInType:
    """See `BuiltInType`."""

    __slots__ = ("_flows", "_ports")

    def __init__(self, flows: ScopeFlows, ports: PortPair) -> None:
        self._flows = flows
        self._ports = ports

    @property
    def name(self) -> str:
        """See `BuiltInType.name`."""
        return self._flows.name

    @property
    def pool(self) -> int:
        """See `BuiltInType.pool`."""
        return self._flows.pool

    @property
    def scope(self) -> AsyncScope:
        """See `BuiltInType.scope`; of a session, call one of its methods first, so that its policy is known."""
        handle = self._flows.location.handle
        return AsyncScope(handle, self._ports)

    def accepts(self, draft: ItemDraft, /) -> bool:
        """See `BuiltInType.accepts`."""
        return self._flows.accepts(to_draft(draft))

    async def memorize(self, draft: ItemDraft | str, /) -> Memorized:
        """See `BuiltInType.memorize`."""
        return await arun(self._flows.memorize(to_draft(draft)), self._ports.aio)

    async def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        """See `BuiltInType.remember`."""
        return await arun(self._flows.remember(query, filters, limit), self._ports.aio)

    async def forget(self, ids: Sequence[str], /) -> Forgotten:
        """See `BuiltInType.forget`."""
        return await arun(self._flows.forget(ids), self._ports.aio)

    async def summarize(self, token_limit: int = 256, /) -> Summary:
        """See `BuiltInType.summarize`."""
        return await arun(self._flows.summarize(token_limit), self._ports.aio)

    async def capacity(self) -> Capacity:
        """See `BuiltInType.capacity`."""
        return await arun(self._flows.capacity(), self._ports.aio)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


class AsyncWorkingMemory(AsyncBuiltInType):
    """See `WorkingMemory`."""

    __slots__ = ()
    _flows: WorkingFlows

    def __init__(self, flows: WorkingFlows, ports: PortPair) -> None:
        super().__init__(flows, ports)

    async def forget(self, ids: Sequence[str], /, mode: ForgetMode = "soft") -> Forgotten:
        """See `WorkingMemory.forget`."""
        return await arun(self._flows.forget(ids, mode), self._ports.aio)


class AsyncConversationMemory(AsyncBuiltInType):
    """See `ConversationMemory`."""

    __slots__ = ()
    _flows: ConversationFlows

    def __init__(self, flows: ConversationFlows, ports: PortPair) -> None:
        super().__init__(flows, ports)

    async def close(self) -> int:
        """See `ConversationMemory.close`."""
        return await arun(self._flows.close(), self._ports.aio)

    async def turns(self, limit: int | None = None) -> list[ConversationTurn]:
        """See `ConversationMemory.turns`."""
        return await arun(self._flows.list_turns(limit), self._ports.aio)


class AsyncSemanticMemory(AsyncBuiltInType):
    """See `SemanticMemory`."""

    __slots__ = ()


class AsyncEpisodicMemory(AsyncBuiltInType):
    """See `EpisodicMemory`."""

    __slots__ = ()
    _flows: EpisodicFlows

    def __init__(self, flows: EpisodicFlows, ports: PortPair) -> None:
        super().__init__(flows, ports)

    async def summarize(self, token_limit: int = 256, /, *, episode_id: str | None = None) -> Summary:
        """See `EpisodicMemory.summarize`."""
        return await arun(self._flows.summarize(token_limit, episode_id), self._ports.aio)

    async def episodes(self, thread_id: str | None = None) -> list[Episode]:
        """See `EpisodicMemory.episodes`."""
        return await arun(self._flows.list_episodes(thread_id), self._ports.aio)

    async def episode_items(self, episode_id: str) -> list[MemoryItem]:
        """See `EpisodicMemory.episode_items`."""
        return await arun(self._flows.list_items(episode_id), self._ports.aio)

    async def close_episode(self, episode_id: str) -> bool:
        """See `EpisodicMemory.close_episode`."""
        return await arun(self._flows.close_episode(episode_id), self._ports.aio)

    async def transcript(self, episode_id: str) -> Transcript:
        """See `EpisodicMemory.transcript`."""
        return await arun(self._flows.transcribe(episode_id), self._ports.aio)

    async def link(
        self, source_id: str, target_id: str, type: str = "related", metadata: Mapping[str, Any] | None = None
    ) -> Link:
        """See `EpisodicMemory.link`."""
        return await arun(self._flows.link(source_id, target_id, type, metadata), self._ports.aio)

    async def links(self, id: str) -> list[Link]:  # the field's own name
        """See `EpisodicMemory.links`."""
        return await arun(self._flows.list_links(id), self._ports.aio)


class AsyncMemoryTypes(TypeNames, Mapping[str, AsyncMemoryType]):
    """See `MemoryTypes`."""

    __slots__ = ("_core",)
    _IS_ASYNC: ClassVar[bool] = True

    def __init__(self, core: AgentCore, names: tuple[str, ...] = (), policy: Policy | None = None) -> None:
        super().__init__(core.bind_types(names, policy))
        self._core = core

    @overload
    def __getitem__(self, name: Literal["working"], /) -> AsyncWorkingMemory: ...
    @overload
    def __getitem__(self, name: Literal["conversation"], /) -> AsyncConversationMemory: ...
    @overload
    def __getitem__(self, name: Literal["episodic"], /) -> AsyncEpisodicMemory: ...
    @overload
    def __getitem__(self, name: Literal["semantic"], /) -> AsyncSemanticMemory: ...
    @overload
    def __getitem__(self, name: str, /) -> AsyncMemoryType: ...
    def __getitem__(self, name: str, /) -> AsyncMemoryType:
        bound, ports = self._bound, self._core.ports
        match name:
            case "working":
                return AsyncWorkingMemory(bound.working, ports)
            case "conversation":
                return AsyncConversationMemory(bound.conversation, ports)
            case "episodic":
                return AsyncEpisodicMemory(bound.episodic, ports)
            case "semantic":
                return AsyncSemanticMemory(bound.semantic, ports)
            case _:
                return cast("AsyncMemoryType", self._core.types.find_external(name))

    def session(self, *names: str, policy: Policy | None = None) -> "AsyncMemoryTypes":
        """See `MemoryTypes.session`; it asks nothing of the store, so it is not awaited."""
        return AsyncMemoryTypes(self._core, names, policy)

    def register(self, memory_type: AnyMemoryType) -> None:
        """See `MemoryTypes.register`."""
        self._core.types.register(memory_type, is_async=self._IS_ASYNC)
