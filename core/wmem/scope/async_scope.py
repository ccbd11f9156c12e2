# Generated from core/wmem/scope/scope.py by `make generate` (scripts/generate_async.py); do not edit.
"""Async twin of `wmem.scope.scope`."""

from collections.abc import AsyncIterator, Awaitable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, TypeVar

from wmem.flow import Flow, arun
from wmem.model.context import Context, ProviderProfile
from wmem.model.prompt import Roles
from wmem.model.recall_profile import Scoring
from wmem.model.results import Erased, MergeCount, RecallHit, RecallKind
from wmem.model.sendable import to_sendable
from wmem.pack.request import NoteRole, Orphans, PackOptions, PromptCounter, Reasoning
from wmem.policy import Policy
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.scope.documents import export_document, import_document
from wmem.scope.entries.async_face import AsyncEntries
from wmem.scope.erasure import clear, dispose, erase
from wmem.scope.handle import Handle
from wmem.scope.items.async_face import AsyncItems
from wmem.scope.merge import merge_at_exit, merge_to_parent
from wmem.scope.messages.async_face import AsyncMessages
from wmem.scope.messages.flows import MessageInput
from wmem.scope.packing import pack_scope
from wmem.scope.ports import PortPair
from wmem.scope.profile_choice import use_profile
from wmem.scope.properties import LEASE_S, ScopeProperties
from wmem.scope.queue.async_face import AsyncQueue
from wmem.scope.recall import recall
from wmem.scope.stats import ScopeStats, scope_stats
from wmem.scope.summaries.rolling import SessionSummary, summarize_session
from wmem.scope.trace import end_turn_with
from wmem.scope.view import ScopeView, take_view

if TYPE_CHECKING:
    from wmem.scope.scope import Scope

R = TypeVar("R")


class AsyncScope(ScopeProperties):
    """See `Scope`."""

    __slots__ = ("entries", "items", "messages", "queue")

    def __init__(self, handle: Handle, ports: PortPair) -> None:
        super().__init__(handle, ports)
        self.entries = AsyncEntries(handle, self._drive)
        self.items = AsyncItems(handle, self._drive)
        self.queue = AsyncQueue(handle, self._drive)
        self.messages = AsyncMessages(handle, self._drive)

    def _drive(self, flow: Flow[R]) -> Awaitable[R]:
        return arun(flow, self._ports.aio)

    def sync(self) -> "Scope":
        """The sync twin of this scope."""
        from wmem.scope.scope import Scope

        return Scope(self._handle, self._ports)

    async def exists(self) -> bool:
        """See `Scope.exists`."""
        return await self._drive(self._handle.exists())

    @property
    def semantic(self) -> "AsyncScope":
        """See `Scope.semantic`."""
        return AsyncScope(self._long_term_handle(SEMANTIC), self._ports)

    @property
    def episodic(self) -> "AsyncScope":
        """See `Scope.episodic`."""
        return AsyncScope(self._long_term_handle(EPISODIC), self._ports)

    def child(self, name: str, policy: Policy | None = None, *, create: bool = True) -> "AsyncScope":
        """See `Scope.child`; it does no IO, so it is not awaited."""
        return AsyncScope(self._child_handle(name, policy, create=create), self._ports)

    @asynccontextmanager
    async def temporary(
        self,
        name: str,
        merge: bool = False,  # noqa: FBT001, FBT002  # reads well
        *,
        lease_s: float | None = LEASE_S,
    ) -> AsyncIterator["AsyncScope"]:
        """See `Scope.temporary`."""
        scope = AsyncScope(self._temporary_handle(name, lease_s), self._ports)
        try:
            yield scope
        except BaseException:
            if not scope.is_disposed:
                await scope.dispose(purge=False)
            raise
        if merge:
            await scope._drive(merge_at_exit(scope._handle))
        if not scope.is_disposed:
            await scope.dispose(purge=False)

    async def children(self) -> list[str]:
        """See `Scope.children`."""
        return await self._drive(self._handle.children())

    async def merge_to_parent(self, overwrite: bool = True, items: bool = False) -> MergeCount:  # noqa: FBT001, FBT002  # as `temporary`
        """See `Scope.merge_to_parent`."""
        return await self._drive(merge_to_parent(self._handle, overwrite=overwrite, items=items))

    async def dispose(self, *, purge: bool = True) -> int:
        """See `Scope.dispose`."""
        return await self._drive(dispose(self._handle, purge=purge))

    async def clear(self) -> int:
        """See `Scope.clear`."""
        return await self._drive(clear(self._handle, "all"))

    async def erase(self, *ids: str) -> Erased:
        """See `Scope.erase`."""
        return await self._drive(erase(self._handle, ids))

    async def export(self, *, redacted: bool = False) -> dict[str, Any]:
        """See `Scope.export`."""
        return await self._drive(self._handle.read(export_document(self._handle, redacted=redacted), local_only=True))

    async def import_(self, document: Mapping[str, Any]) -> int:
        """See `Scope.import_`."""
        return await self._drive(import_document(self._handle, document))

    async def use_profile(self, scoring: Scoring) -> Policy:
        """See `Scope.use_profile`."""
        return await self._drive(use_profile(self._handle, scoring))

    async def stats(self) -> ScopeStats:
        """See `Scope.stats`."""
        return await self._drive(scope_stats(self._handle))

    async def view(self) -> ScopeView:
        """See `Scope.view`."""
        return await self._drive(take_view(self._handle))

    async def end_turn(self, turn_id: str, *contexts: Context) -> int:
        """See `Scope.end_turn`."""
        return await self._drive(end_turn_with(self._handle, turn_id, contexts))

    async def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        kinds: Collection[RecallKind] = ("entry", "item", "message"),
        long_term: bool = True,
        redacted: bool = False,
    ) -> list[RecallHit]:
        """See `Scope.recall`."""
        return await self._drive(
            recall(self._handle, query, limit=limit, kinds=kinds, long_term=long_term, redacted=redacted)
        )

    async def summarize(self, max_tokens: int | None = None, *, keep: int = 0) -> SessionSummary:
        """See `Scope.summarize`."""
        return await self._drive(summarize_session(self._handle, max_tokens, keep))

    async def pack(
        self,
        query: str | None = None,
        *,
        budget: int,
        system: str = "",
        tools: Sequence[Mapping[str, Any]] = (),
        reserve: int = 0,
        tail: float = 0.5,
        recent: int = 4,
        profile: ProviderProfile = "any",
        roles: Roles = "free",
        orphans: Orphans = "drop",
        messages: Sequence[MessageInput] | None = None,
        inherit: bool = True,
        long_term: bool = True,
        note_role: NoteRole = "user",
        stable: bool = False,
        summary: bool | int = False,
        scoring: Scoring | None = None,
        prompt_counter: PromptCounter | None = None,
        reasoning: Reasoning = "tools",
        zone: tzinfo | str | None = None,
    ) -> Context:
        """See `Scope.pack`."""
        return await self._drive(
            pack_scope(
                self._handle,
                query,
                PackOptions(
                    budget=budget,
                    system=to_sendable(system),
                    tools=tools,
                    reserve=reserve,
                    tail=tail,
                    recent=recent,
                    profile=profile,
                    roles=roles,
                    orphans=orphans,
                    note_role=note_role,
                    stable=stable,
                    summary=summary,
                    prompt_counter=prompt_counter,
                    reasoning=reasoning,
                ),
                messages=messages,
                inherit=inherit,
                long_term=long_term,
                scoring=scoring,
                zone=zone,
            )
        )
