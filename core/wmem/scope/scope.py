"""A scope: an isolated container with a path, and its facets, in both colours and as a frozen view."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from wmem.flow import Flow, Ports, arun, run
from wmem.model.checks import checked_path
from wmem.model.context import Context, Profile
from wmem.model.history import Cursor, Path
from wmem.model.ids import new_ulid
from wmem.model.outcomes import Erased
from wmem.model.scoring import Scoring
from wmem.pack import NoteRole, Orphans, PromptCounter
from wmem.policy import Policy
from wmem.scope.documents import exported, imported
from wmem.scope.entries import AsyncEntries, Entries, ViewedEntries
from wmem.scope.erasure import cleared, disposed, erased
from wmem.scope.flush import check_plain
from wmem.scope.handle import Handle, Read
from wmem.scope.items import AsyncItems, ItemReads, Items
from wmem.scope.merge import merged_to_parent
from wmem.scope.message_flows import Sayable
from wmem.scope.messages import AsyncMessages, MessageReads, Messages
from wmem.scope.packing import packed
from wmem.scope.profile import profiled
from wmem.scope.queue import AsyncQueue, Queue, QueueReads
from wmem.scope.stats import ScopeStats, scope_stats
from wmem.state import State

__all__ = ["AsyncScope", "Colours", "Scope", "ScopeView"]

R = TypeVar("R")


class Colours:
    """The ports of one memory in both colours, each made when first needed."""

    __slots__ = ("_async", "_make_async", "_make_sync", "_sync")

    def __init__(self, make_sync: Callable[[], Ports], make_async: Callable[[], Ports]) -> None:
        self._make_sync = make_sync
        self._make_async = make_async
        self._sync: Ports | None = None
        self._async: Ports | None = None

    @property
    def sync(self) -> Ports:
        """The ports for threads."""
        if self._sync is None:
            self._sync = self._make_sync()
        return self._sync

    @property
    def aio(self) -> Ports:
        """The ports for coroutines."""
        if self._async is None:
            self._async = self._make_async()
        return self._async


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeView:
    """A scope and its parents as they were at one cursor; it never changes and costs no IO.

    Attributes:
        cursor: The point of the scope's history it shows.
    """

    path: Path
    cursor: Cursor
    entries: ViewedEntries
    items: ItemReads
    queue: QueueReads
    messages: MessageReads


def _view(handle: Handle) -> Flow[ScopeView]:
    replica, _ = yield from handle.replica()

    def seen(states: Sequence[State], now: float) -> ScopeView:
        frozen, policy = [state.copy() for state in states], handle.policy

        def absent() -> None:
            handle.check_intact(alone=True)

        def read(asked: Read[R]) -> R:
            return asked(frozen, now)

        return ScopeView(
            path=handle.path,
            cursor=replica.cursor,
            entries=ViewedEntries(read, lambda asked: asked(frozen[:1], now), handle.check_intact),
            items=ItemReads(read, absent, lambda: policy),
            queue=QueueReads(handle, read),
            messages=MessageReads(read, absent),
        )

    return (yield from handle.read(seen))


class _Named:
    """What a scope knows of itself without asking the store."""

    __slots__ = ("_colours", "_handle")

    def __init__(self, handle: Handle, colours: Colours) -> None:
        self._handle = handle
        self._colours = colours

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
        """The numbers this scope follows."""
        return self._handle.policy

    @property
    def is_disposed(self) -> bool:
        """Whether this life of the scope is known to be over; it never comes back."""
        return self._handle.disposed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}{' disposed' if self.is_disposed else ''}>"

    def _below(self, name: str, policy: Policy | None) -> Handle:
        (segment,) = checked_path([name])
        return self._handle.child(segment, policy)

    def _unique(self, name: str) -> Handle:
        (segment,) = checked_path([name])
        return self._below(f"{segment}-{new_ulid(self._handle.settings.clock())}", None)


class Scope(_Named):
    """An isolated container; reads of entries fall back to its parents, writes stay in it.

    Attributes:
        entries: Values by key.
        items: Session memories.
        queue: The same items as a bounded queue.
        messages: The conversation.
    """

    __slots__ = ("entries", "items", "messages", "queue")

    def __init__(self, handle: Handle, colours: Colours) -> None:
        super().__init__(handle, colours)
        check_plain(handle.policy)
        if handle.settings.embedding is not None:
            handle.settings.embedding.check_plain()
        self.entries = Entries(handle, self._drive)
        self.items = Items(handle, self._drive)
        self.queue = Queue(handle, self._drive)
        self.messages = Messages(handle, self._drive)

    def _drive(self, flow: Flow[R]) -> R:
        return run(flow, self._colours.sync)

    def aio(self) -> "AsyncScope":
        """The same scope for coroutines."""
        return AsyncScope(self._handle, self._colours)

    def child(self, name: str, policy: Policy | None = None) -> "Scope":
        """The scope of that name below this one; it exists from its first write.

        Raises:
            InvalidInputError: A name that is blank, reserved or holds control characters.
            DisposedError: This scope is gone.
        """
        return Scope(self._below(name, policy), self._colours)

    @contextmanager
    def temporary(self, name: str, merge: bool = False) -> Iterator["Scope"]:  # noqa: FBT001, FBT002  # reads well
        """A child with a unique name, disposed at exit; see `dispose` for what may stay in files until maintenance.

        Args:
            merge: Bring its entries and items into this scope first, on a clean exit only;
                a scope that cannot be merged stays, so that its work is not lost.
        """
        scope = Scope(self._unique(name), self._colours)
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
        """Copy the local entries into the parent, in one step and once.

        Args:
            overwrite: Replace what the parent has under the same keys.
            items: Copy the plain items too.

        Returns:
            How many were merged; 0 when the parent has this point of the history already.
        """
        return self._drive(merged_to_parent(self._handle, overwrite=overwrite, items=items))

    def dispose(self, *, purge: bool = True) -> int:
        """End this scope and delete it with all below it; a new one may begin under its name.

        Args:
            purge: Leave nothing of it in the store's files either, which may take them being
                written anew: false for the scopes of many short tasks, as `temporary` has it;
                then `AgentMemory.maintain` sees to it, or the next erasure.

        Returns:
            How many entries were cleared; 0, with a warning in the log, when it was gone already.
        """
        return self._drive(disposed(self._handle, purge=purge))

    def clear(self) -> int:
        """Empty the scope of entries, items and messages; it lives on, and its parents and children are untouched.

        Nothing of what it held is left in the store, as far as the store allows; what else may
        keep some is logged, and `erase` without ids tells it.

        Returns:
            How many things could be seen.
        """
        return self._drive(cleared(self._handle, "all"))

    def erase(self, *ids: str) -> Erased:
        """Take things away for good, by id, so that nothing of their content is left in the store.

        It follows each id to its copies: in long-term memory, in the parents it was merged into,
        and in the scopes it was merged from. The ids stay as tombstones without content.
        Without ids it makes sure that nothing is left of what was removed from here before.

        Returns:
            What was erased, and what may still keep bytes of it outside of what wmem controls.
        """
        return self._drive(erased(self._handle, ids))

    def export(self) -> dict[str, Any]:
        """Everything the scope holds as plain JSON, expired and softly deleted things too; for `import_`."""
        return self._drive(self._handle.read(exported, alone=True))

    def import_(self, document: Mapping[str, Any]) -> int:
        """Store what `export` made, here or elsewhere, all or nothing; what is under the same ids is replaced.

        Returns:
            How many entries, items and messages were stored.

        Raises:
            InvalidInputError: It is no such document, or of a newer version.
            CapacityError: There is no room for its items.
        """
        return self._drive(imported(self._handle, document))

    def use_profile(self, scoring: Scoring) -> Policy:
        """Weigh what recall finds in this scope by another profile from now on, for everyone who opens it.

        The change is recorded, and kept until the scope is disposed; scopes below follow their own.
        A name means what each version of wmem takes it for, coefficients stay as they are.

        Args:
            scoring: ``evidence``, ``balanced``, or coefficients, such as `propose_profile` proposes.

        Returns:
            What the scope follows now. When it did so before, nothing is written.

        Raises:
            InvalidInputError: There is no such profile, or one of its coefficients is out of range.
            DisposedError: This scope is gone.
        """
        return self._drive(profiled(self._handle, scoring))

    def stats(self) -> ScopeStats:
        """What this scope holds by itself, in numbers."""
        return self._drive(scope_stats(self._handle))

    def view(self) -> ScopeView:
        """The scope and its parents as of now, for reading twice and seeing the same."""
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
        profile: Profile = "openai",
        orphans: Orphans = "drop",
        messages: Sequence[Sayable] | None = None,
        inherit: bool = True,
        note_role: NoteRole = "user",
        stable: bool = False,
        summary: bool | int = False,
        scoring: Scoring | None = None,
        prompt_counter: PromptCounter | None = None,
    ) -> Context:
        """The prompt that serves a query best within a budget; nothing of the scope is written or deleted.

        With an embedder and a query, vectors of texts that had none are stored, in a scope of wmem's
        own that no list, listener or export shows.

        Args:
            query: What memory is searched for; None or blank packs by recency alone.
            budget: The ceiling in tokens for system text, tools, note, messages and reserve.
            system: The system text; it is never cut.
            tools: JSON schemas of the tools, counted.
            reserve: Tokens kept free for the reply.
            recent: How many of the newest messages come before recalled ones, within a
                quarter of the budget.
            profile: Whose rules of order the prompt obeys.
            orphans: What becomes of calls without result: left out, or answered as interrupted.
            messages: A framework's own view of the conversation: messages that are stored
                are taken as it has them, others stand where it has them, in this pack only.
            inherit: Recall entries and items of the parents too.
            note_role: Who says the note of memories.
            stable: Begin the conversation at the same place for many turns and put the note just
                before the newest user message, so that a provider's prompt cache keeps hitting.
                A system note stays in front where the provider takes system text only there.
            summary: Tokens set aside for a summary of what the budget leaves out, in the note:
                its best sentences as they were said; True for an eighth of the budget.
            scoring: How what the query finds is weighed, by name or as coefficients; None
                follows the policy of the scope.
            prompt_counter: A provider's own count of a whole prompt; the last word on it.

        Raises:
            InvalidInputError: A budget below 1, or anything else out of range.
            BudgetError: Pinned and system text alone exceed the budget; it names the sizes.
        """
        return self._drive(
            packed(
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


class AsyncScope(_Named):
    """See `Scope`."""

    __slots__ = ("entries", "items", "messages", "queue")

    def __init__(self, handle: Handle, colours: Colours) -> None:
        super().__init__(handle, colours)
        self.entries = AsyncEntries(handle, self._drive)
        self.items = AsyncItems(handle, self._drive)
        self.queue = AsyncQueue(handle, self._drive)
        self.messages = AsyncMessages(handle, self._drive)

    def _drive(self, flow: Flow[R]) -> Awaitable[R]:
        return arun(flow, self._colours.aio)

    def sync(self) -> Scope:
        """The same scope for threads."""
        return Scope(self._handle, self._colours)

    def child(self, name: str, policy: Policy | None = None) -> "AsyncScope":
        """See `Scope.child`; it asks nothing of the store, so it is not awaited."""
        return AsyncScope(self._below(name, policy), self._colours)

    @asynccontextmanager
    async def temporary(self, name: str, merge: bool = False) -> AsyncIterator["AsyncScope"]:  # noqa: FBT001, FBT002  # see `Scope.temporary`
        """See `Scope.temporary`."""
        scope = AsyncScope(self._unique(name), self._colours)
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
        return await self._drive(merged_to_parent(self._handle, overwrite=overwrite, items=items))

    async def dispose(self, *, purge: bool = True) -> int:
        """See `Scope.dispose`."""
        return await self._drive(disposed(self._handle, purge=purge))

    async def clear(self) -> int:
        """See `Scope.clear`."""
        return await self._drive(cleared(self._handle, "all"))

    async def erase(self, *ids: str) -> Erased:
        """See `Scope.erase`."""
        return await self._drive(erased(self._handle, ids))

    async def export(self) -> dict[str, Any]:
        """See `Scope.export`."""
        return await self._drive(self._handle.read(exported, alone=True))

    async def import_(self, document: Mapping[str, Any]) -> int:
        """See `Scope.import_`."""
        return await self._drive(imported(self._handle, document))

    async def use_profile(self, scoring: Scoring) -> Policy:
        """See `Scope.use_profile`."""
        return await self._drive(profiled(self._handle, scoring))

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
        profile: Profile = "openai",
        orphans: Orphans = "drop",
        messages: Sequence[Sayable] | None = None,
        inherit: bool = True,
        note_role: NoteRole = "user",
        stable: bool = False,
        summary: bool | int = False,
        scoring: Scoring | None = None,
        prompt_counter: PromptCounter | None = None,
    ) -> Context:
        """See `Scope.pack`."""
        return await self._drive(
            packed(
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
