"""A scope: an isolated container with a path, and its facets; sync, async and as a frozen view."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from wmem.flow import Flow, Ports, arun, run
from wmem.model.checks import check_path
from wmem.model.context import Context, ProviderProfile
from wmem.model.history import Cursor, Path
from wmem.model.ids import new_ulid
from wmem.model.profile import Scoring
from wmem.model.results import Erased
from wmem.pack import NoteRole, Orphans, PromptCounter
from wmem.policy import Policy
from wmem.scope.documents import export_document, import_document
from wmem.scope.entries.face import AsyncEntries, Entries, EntriesView
from wmem.scope.erasure import clear, dispose, erase
from wmem.scope.handle import Handle, Read
from wmem.scope.items.capacity import check_sync_on_flush
from wmem.scope.items.face import AsyncItems, ItemReads, Items
from wmem.scope.merge import merge_to_parent
from wmem.scope.messages.face import AsyncMessages, MessageReads, Messages
from wmem.scope.messages.flows import MessageInput
from wmem.scope.packing import pack_scope
from wmem.scope.queue.face import AsyncQueue, Queue, QueueReads
from wmem.scope.recall_profile import use_profile
from wmem.scope.stats import ScopeStats, scope_stats
from wmem.state import State

__all__ = ["AsyncScope", "PortPair", "Scope", "ScopeView"]

R = TypeVar("R")


class PortPair:
    """The sync and async ports of one memory, each made when first needed."""

    __slots__ = ("_async", "_make_async", "_make_sync", "_sync")

    def __init__(self, make_sync: Callable[[], Ports], make_async: Callable[[], Ports]) -> None:
        self._make_sync = make_sync
        self._make_async = make_async
        self._sync: Ports | None = None
        self._async: Ports | None = None

    @property
    def sync(self) -> Ports:
        """The sync ports."""
        if self._sync is None:
            self._sync = self._make_sync()
        return self._sync

    @property
    def aio(self) -> Ports:
        """The async ports."""
        if self._async is None:
            self._async = self._make_async()
        return self._async


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeView:
    """A scope and its parents as they were at one cursor; it never changes and costs no IO.

    Attributes:
        cursor: The point in the scope's history that it shows.
    """

    path: Path
    cursor: Cursor
    entries: EntriesView
    items: ItemReads
    queue: QueueReads
    messages: MessageReads


def _view(handle: Handle) -> Flow[ScopeView]:
    replica, _ = yield from handle.replica()

    def seen(states: Sequence[State], now: float) -> ScopeView:
        frozen, policy = [state.copy() for state in states], handle.policy

        def absent() -> None:
            handle.check_intact(local_only=True)

        def read(asked: Read[R]) -> R:
            return asked(frozen, now)

        return ScopeView(
            path=handle.path,
            cursor=replica.cursor,
            entries=EntriesView(read, lambda asked: asked(frozen[:1], now), handle.check_intact),
            items=ItemReads(read, absent, lambda: policy),
            queue=QueueReads(handle, read),
            messages=MessageReads(read, absent),
        )

    return (yield from handle.read(seen))


class _ScopeProperties:
    """Properties of a scope that need no access to the store."""

    __slots__ = ("_handle", "_ports")

    def __init__(self, handle: Handle, ports: PortPair) -> None:
        self._handle = handle
        self._ports = ports

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self._handle.path[-1]

    @property
    def id(self) -> str:
        """The whole path as one text, for logs."""
        return "/".join(self._handle.path)

    @property
    def path(self) -> Path:
        """The segments; the first is the agent."""
        return self._handle.path

    @property
    def policy(self) -> Policy:
        """The limits and rules of this scope."""
        return self._handle.policy

    @property
    def is_disposed(self) -> bool:
        """Whether this incarnation of the scope is known to be disposed; it never comes back."""
        return self._handle.is_disposed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}{' disposed' if self.is_disposed else ''}>"

    def _child_handle(self, name: str, policy: Policy | None) -> Handle:
        (segment,) = check_path([name])
        return self._handle.child(segment, policy)

    def _temporary_handle(self, name: str) -> Handle:
        (segment,) = check_path([name])
        return self._child_handle(f"{segment}-{new_ulid(self._handle.settings.clock())}", None)


class Scope(_ScopeProperties):
    """An isolated container; reads of entries fall back to its parents, writes stay in it.

    Attributes:
        entries: Values by key.
        items: Session memories.
        queue: The same items as a bounded queue.
        messages: The conversation.
    """

    __slots__ = ("entries", "items", "messages", "queue")

    def __init__(self, handle: Handle, ports: PortPair) -> None:
        super().__init__(handle, ports)
        check_sync_on_flush(handle.policy)
        if handle.settings.embedding is not None:
            handle.settings.embedding.check_sync()
        self.entries = Entries(handle, self._drive)
        self.items = Items(handle, self._drive)
        self.queue = Queue(handle, self._drive)
        self.messages = Messages(handle, self._drive)

    def _drive(self, flow: Flow[R]) -> R:
        return run(flow, self._ports.sync)

    def aio(self) -> "AsyncScope":
        """The async twin of this scope."""
        return AsyncScope(self._handle, self._ports)

    def child(self, name: str, policy: Policy | None = None) -> "Scope":
        """The scope of that name below this one; it exists from its first write.

        Raises:
            InvalidInputError: A name that is blank, reserved or holds control characters.
            DisposedError: This scope was disposed.
        """
        return Scope(self._child_handle(name, policy), self._ports)

    @contextmanager
    def temporary(self, name: str, merge: bool = False) -> Iterator["Scope"]:  # noqa: FBT001, FBT002  # reads well
        """A child with a unique name, disposed at exit; see `dispose` for what may stay in files until maintenance.

        Args:
            merge: Merge its entries and items into this scope first, on a clean exit only;
                a child that cannot be merged is not disposed, so its work is not lost.
        """
        scope = Scope(self._temporary_handle(name), self._ports)
        try:
            yield scope
        except BaseException:
            if not scope.is_disposed:
                scope.dispose(purge=False)
            raise
        if merge:
            scope.merge_to_parent(items=True)
        if not scope.is_disposed:
            scope.dispose(purge=False)

    def children(self) -> list[str]:
        """The names of the live scopes directly below, sorted."""
        return self._drive(self._handle.children())

    def merge_to_parent(self, overwrite: bool = True, items: bool = False) -> int:  # noqa: FBT001, FBT002  # as `temporary`
        """Copy the local entries into the parent, atomically and once.

        Args:
            overwrite: Replace the parent's entries under the same keys.
            items: Copy the plain items too.

        Returns:
            How many were merged; 0 when the parent has merged this point of the history already.
        """
        return self._drive(merge_to_parent(self._handle, overwrite=overwrite, items=items))

    def dispose(self, *, purge: bool = True) -> int:
        """Delete this scope and all its descendants; a new one may be created under its name.

        Args:
            purge: Also remove its bytes from the store's files, which may rewrite them. `temporary`
                passes false, as suits the scopes of many short tasks: then `AgentMemory.maintain`
                or the next erasure purges them.

        Returns:
            How many entries were deleted; 0, with a warning in the log, when it was disposed already.
        """
        return self._drive(dispose(self._handle, purge=purge))

    def clear(self) -> int:
        """Delete all entries, items and messages; the scope, its parents and its children stay.

        Their bytes leave the store too, as far as it allows; what may still keep some is logged,
        and returned by `erase` without ids.

        Returns:
            How many of them were visible.
        """
        return self._drive(clear(self._handle, "all"))

    def erase(self, *ids: str) -> Erased:
        """Erase by id, for good, so that nothing of the content is left in the store.

        Copies are erased too: in long-term memory, in the parents it was merged into, and in
        the scopes it was merged from. The ids stay as tombstones without content.
        Without ids, it purges the bytes of what was removed from this scope before.

        Returns:
            What was erased, and what outside of wmem's control may still keep bytes of it.
        """
        return self._drive(erase(self._handle, ids))

    def export(self) -> dict[str, Any]:
        """Everything the scope holds as plain JSON, including the expired and soft-deleted; for `import_`."""
        return self._drive(self._handle.read(export_document, local_only=True))

    def import_(self, document: Mapping[str, Any]) -> int:
        """Store a document made by `export`, here or elsewhere, all or nothing; the same ids are replaced.

        Returns:
            How many entries, items and messages were stored.

        Raises:
            InvalidInputError: It is not such a document, or of a newer version.
            CapacityError: There is no room for its items.
        """
        return self._drive(import_document(self._handle, document))

    def use_profile(self, scoring: Scoring) -> Policy:
        """Rank recall in this scope by another profile from now on, for everyone who opens it.

        The change is stored until the scope is disposed; child scopes have their own profile.
        A named profile may change with the version of wmem, coefficients do not.

        Args:
            scoring: ``evidence``, ``balanced``, or coefficients, such as `propose_profile` proposes.

        Returns:
            The scope's policy now. If the profile was in use already, nothing is written.

        Raises:
            InvalidInputError: There is no such profile, or one of its coefficients is out of range.
            DisposedError: This scope was disposed.
        """
        return self._drive(use_profile(self._handle, scoring))

    def stats(self) -> ScopeStats:
        """Counts and sizes of this scope alone."""
        return self._drive(scope_stats(self._handle))

    def view(self) -> ScopeView:
        """A frozen view of the scope and its parents as of now, on which repeated reads agree."""
        return self._drive(_view(self._handle))

    def pack(
        self,
        query: str | None = None,
        *,
        budget: int,
        system: str = "",
        tools: Sequence[Mapping[str, Any]] = (),
        reserve: int = 0,
        recent: int = 4,
        profile: ProviderProfile = "openai",
        orphans: Orphans = "drop",
        messages: Sequence[MessageInput] | None = None,
        inherit: bool = True,
        note_role: NoteRole = "user",
        stable: bool = False,
        summary: bool | int = False,
        scoring: Scoring | None = None,
        prompt_counter: PromptCounter | None = None,
    ) -> Context:
        """Build the prompt that serves a query best within a token budget; it changes nothing in the scope.

        With an embedder and a query, missing vectors of texts are stored, in a scope internal to
        wmem that no list, listener or export shows.

        Args:
            query: What to search memory for; None or blank packs by recency alone.
            budget: Most tokens for system text, tools, note, messages and reserve together.
            system: The system text; it is never truncated.
            tools: JSON schemas of the tools, counted.
            reserve: Tokens kept free for the reply.
            recent: How many of the newest messages come before recalled ones, within a
                quarter of the budget.
            profile: The provider whose rules of message order the prompt obeys.
            orphans: What to do with tool calls without a result: drop, or answer as interrupted.
            messages: A framework's own view of the conversation, for this pack only: stored
                messages are taken in its version, others are inserted at its positions.
            inherit: Recall entries and items of the parents too.
            note_role: The role of the message that carries recalled memories.
            stable: Start the conversation at the same message for many turns and put the note just
                before the newest user message, so that a provider's prompt cache keeps hitting.
                A system note stays in front where the provider takes system text only there.
            summary: Tokens reserved in the note for a summary of what the budget leaves out:
                its best sentences, verbatim; True for an eighth of the budget.
            scoring: How to rank the hits of the query, by name or as coefficients; None
                uses the policy of the scope.
            prompt_counter: A provider's own token counter of whole prompts; it overrides other counts.

        Raises:
            InvalidInputError: A budget below 1, or anything else out of range.
            BudgetError: Pinned and system text alone exceed the budget; it names the sizes.
        """
        return self._drive(
            pack_scope(
                self._handle,
                query,
                budget=budget,
                system=system,
                tools=tools,
                reserve=reserve,
                recent=recent,
                profile=profile,
                orphans=orphans,
                messages=messages,
                inherit=inherit,
                note_role=note_role,
                stable=stable,
                summary=summary,
                scoring=scoring,
                prompt_counter=prompt_counter,
            )
        )


class AsyncScope(_ScopeProperties):
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

    def sync(self) -> Scope:
        """The sync twin of this scope."""
        return Scope(self._handle, self._ports)

    def child(self, name: str, policy: Policy | None = None) -> "AsyncScope":
        """See `Scope.child`; it does no IO, so it is not awaited."""
        return AsyncScope(self._child_handle(name, policy), self._ports)

    @asynccontextmanager
    async def temporary(self, name: str, merge: bool = False) -> AsyncIterator["AsyncScope"]:  # noqa: FBT001, FBT002  # see `Scope.temporary`
        """See `Scope.temporary`."""
        scope = AsyncScope(self._temporary_handle(name), self._ports)
        try:
            yield scope
        except BaseException:
            if not scope.is_disposed:
                await scope.dispose(purge=False)
            raise
        if merge:
            await scope.merge_to_parent(items=True)
        if not scope.is_disposed:
            await scope.dispose(purge=False)

    async def children(self) -> list[str]:
        """See `Scope.children`."""
        return await self._drive(self._handle.children())

    async def merge_to_parent(self, overwrite: bool = True, items: bool = False) -> int:  # noqa: FBT001, FBT002  # as `temporary`
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

    async def export(self) -> dict[str, Any]:
        """See `Scope.export`."""
        return await self._drive(self._handle.read(export_document, local_only=True))

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
        return await self._drive(_view(self._handle))

    async def pack(
        self,
        query: str | None = None,
        *,
        budget: int,
        system: str = "",
        tools: Sequence[Mapping[str, Any]] = (),
        reserve: int = 0,
        recent: int = 4,
        profile: ProviderProfile = "openai",
        orphans: Orphans = "drop",
        messages: Sequence[MessageInput] | None = None,
        inherit: bool = True,
        note_role: NoteRole = "user",
        stable: bool = False,
        summary: bool | int = False,
        scoring: Scoring | None = None,
        prompt_counter: PromptCounter | None = None,
    ) -> Context:
        """See `Scope.pack`."""
        return await self._drive(
            pack_scope(
                self._handle,
                query,
                budget=budget,
                system=system,
                tools=tools,
                reserve=reserve,
                recent=recent,
                profile=profile,
                orphans=orphans,
                messages=messages,
                inherit=inherit,
                note_role=note_role,
                stable=stable,
                summary=summary,
                scoring=scoring,
                prompt_counter=prompt_counter,
            )
        )
