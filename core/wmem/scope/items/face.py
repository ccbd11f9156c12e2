"""`scope.items`: session memories (add, fetch, search, expire, promote)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

from wmem.model.checks import check_id, check_limit, check_metadata, check_tags
from wmem.model.item import ItemFields, MemoryItem, Priority, parse_confidence
from wmem.model.results import BulkPromotion, SearchResults
from wmem.policy import Policy
from wmem.rules.ttl import DEFAULT_TTL, DefaultTtl
from wmem.scope.erasure import clear
from wmem.scope.handle import Handle
from wmem.scope.items import flows, reads
from wmem.scope.items import lifetime as lifetime_flows
from wmem.scope.items import promotion as promotion_flows
from wmem.scope.items.filters import ItemFilter
from wmem.scope.items.promotion import IfPromoted
from wmem.scope.items.search import Order, RunSearch, parse_search, search_items
from wmem.scope.ports import Drive, RunRead


class ItemReads:
    """The read methods of `scope.items`; none of them counts as an access."""

    __slots__ = ("_check_intact", "_policy", "_run", "_run_search")

    def __init__(
        self,
        run_read: RunRead,
        run_search: RunSearch,
        check_intact: Callable[[], None],
        policy: Callable[[], Policy],
    ) -> None:
        self._run = run_read
        self._run_search = run_search
        self._check_intact = check_intact
        self._policy = policy

    def get(self, id: str) -> MemoryItem | None:  # the field's own name
        """The item, or None when it is not there, expired or softly deleted."""
        found: MemoryItem | None = self._run(reads.get_item(check_id(id)))
        if found is None:
            self._check_intact()
        return found

    def exists(self, id: str) -> bool:  # see `get`
        """Whether `get` would return the item."""
        return self.get(id) is not None

    def all(
        self,
        include_expired: bool = False,  # noqa: FBT001, FBT002  # as its document
        include_promoted: bool = False,  # noqa: FBT001, FBT002
        *,
        limit: int | None = None,
        after: str | None = None,
    ) -> list[MemoryItem]:
        """The items, oldest first; expired and promoted ones only on request.

        The next page is ``all(limit=100, after=page[-1].id)``. What is added meanwhile comes at the end, nothing
        comes twice, and a page takes as long whether it is the first or the thousandth.

        Args:
            limit: How many at most, None for all.
            after: The id of an item: only those that were added after it. That item may be expired, promoted or gone.

        Raises:
            NotFoundError: Nothing is known of the item with the id `after`: it was never here, or was removed and a
                thousand others since.
        """
        return self._run(
            reads.list_items(
                include_expired=include_expired,
                include_promoted=include_promoted,
                limit=None if limit is None else check_limit(limit),
                after=None if after is None else check_id(after),
            )
        )

    def recent(self, limit: int = 10) -> list[MemoryItem]:
        """The newest items, newest first."""
        return self._run(reads.list_recent(check_limit(limit)))

    def count(self) -> int:
        """How many items `all` would list."""
        return self._run(reads.count_items)

    def search(
        self,
        query: str | None = None,
        *,
        tags: Iterable[str] = (),
        priority: Priority | None = None,
        metadata: Mapping[str, Any] | None = None,
        min_confidence: float | str | None = None,
        include_expired: bool = False,
        include_promoted: bool = False,
        include_invalid: bool = False,
        order: Order | None = None,
        limit: int = 10,
    ) -> SearchResults:
        """The items that match the query and every filter, best first.

        Args:
            query: Text, matched regardless of case; None or blank applies the filters alone.
            tags: At least one of these must match, case-sensitive.
            priority: Exactly this one must match.
            metadata: All of these pairs must match.
            min_confidence: 0 to 1, or low, medium, high; an item without confidence fails any.
            include_expired: List those that cleanup has not removed yet, too.
            include_promoted: List those that were copied to long-term memory, too.
            include_invalid: List those that do not hold at the time that the query asks for, too: now, on a date that
                it names, or before, if it is in the past tense. See `MemoryItem.valid_from` and `valid_to`.
            order: ``relevance`` finds items that hold the query as it stands; ``recency`` and
                ``importance`` find those that hold any of its words; ``recall`` those that hold enough of
                them, by BM25, and of nearly equal ones by priority, importance and recency. By default the
                policy's `search_order`: ``recall`` for several words, or ``relevance`` if that finds none,
                and ``relevance`` for one word.
            limit: How many at most; `SearchResults.total` counts all. `SearchResults.explain` lists what
                recall left out for holding too little of the query, and why.

        Raises:
            InvalidInputError: Anything out of range.
        """
        wanted = ItemFilter(
            tags=frozenset(check_tags(tags)),
            metadata=check_metadata(metadata),
            priority=priority,
            min_confidence=None if min_confidence is None else parse_confidence(min_confidence),
            include_expired=include_expired,
            include_promoted=include_promoted,
            include_invalid=include_invalid,
        )
        return self._run_search(parse_search(query, wanted, order, limit))

    def expired(self) -> list[MemoryItem]:
        """The expired items that cleanup has not removed yet."""
        return self._run(reads.list_expired)

    def forgotten(self) -> list[MemoryItem]:
        """The items that were softly deleted, as by `Queue.forget`, oldest first; `Items.undelete` restores them."""
        return self._run(reads.list_forgotten)

    def promoted(self) -> list[MemoryItem]:
        """The items that were copied to long-term memory and have not expired here."""
        return self._run(reads.list_promoted)

    def pending(self) -> list[MemoryItem]:
        """The items that meet a promotion rule and are not promoted yet."""
        return self._run(reads.list_pending(self._policy))


class Items(ItemReads):
    """Items of one scope."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Drive) -> None:
        super().__init__(
            lambda read: drive(handle.read(read, local_only=True)),
            lambda search: drive(search_items(handle, search)),
            lambda: handle.check_intact(local_only=True),
            lambda: handle.policy,
        )
        self._handle = handle
        self._drive = drive

    def add(
        self,
        content: str,
        *,
        id: str | None = None,  # the field's own name
        priority: Priority = "medium",
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
        **fields: Unpack[ItemFields],
    ) -> MemoryItem:
        """Add an item.

        Args:
            content: 1 character to 100 KiB of UTF-8 (policy).
            id: By default a new one. With an id of the caller's own, adding is idempotent: where the scope has the
                item under it, with the same content, that is returned as it is, and nothing is stored. One that has
                expired or was softly deleted is replaced.
            ttl_s: Seconds until it expires, None for never; by default the policy's TTL for the priority.
            fields: See `ItemFields`.

        Raises:
            InvalidInputError: Anything out of range, or an id under which the scope has something else, or has erased
                something; nothing was stored.
        """
        draft = flows.draft_item(self._handle, content, priority=priority, ttl_s=ttl_s, fields=fields)
        return self._drive(flows.add(self._handle, draft, id))

    def fetch(self, id: str) -> MemoryItem:  # the field's own name
        """Read an item and count the access, which may promote it; its importance is as of now.

        Raises:
            NotFoundError: There is no such item.
            ExpiredError: It has expired.
        """
        return self._drive(promotion_flows.fetch(self._handle, id))

    def update(
        self,
        id: str,  # the field's own name
        *,
        content: str | None = None,
        priority: Priority | None = None,
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
        **fields: Unpack[ItemFields],
    ) -> MemoryItem:
        """Change the given fields; the rest stays, expiry included.

        Args:
            fields: See `ItemFields`; None clears a field that may be None, and lets `importance` be computed again.

        Raises:
            NotFoundError: There is no such item.
            ExpiredError: It has expired.
        """
        return self._drive(
            flows.update(self._handle, id, content=content, priority=priority, ttl_s=ttl_s, fields=fields)
        )

    def remove(self, id: str) -> bool:  # the field's own name
        """Remove an item permanently; False when there is no visible one."""
        return self._drive(flows.remove(self._handle, id))

    def clear(self) -> int:
        """Remove all items; returns how many were visible."""
        return self._drive(clear(self._handle, "items"))

    def expire(self, id: str) -> MemoryItem:  # the field's own name
        """Expire an item now; until cleanup removes it, `expired` lists it and `extend_ttl` revives it.

        Raises:
            NotFoundError: There is no such item.
        """
        return self._drive(lifetime_flows.expire(self._handle, id))

    def extend_ttl(
        self,
        id: str,  # the field's own name
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
    ) -> MemoryItem:
        """Extend an item's life, by default by its priority's TTL; an expired item is revived, counted from now.

        Args:
            ttl_s: Seconds to add; None for ever.

        Raises:
            NotFoundError: There is no such item, or cleanup removed it.
            CapacityError: It had expired and no longer fits.
        """
        return self._drive(lifetime_flows.extend_ttl(self._handle, id, ttl_s))

    def forget(self, *ids: str) -> tuple[str, ...]:
        """Forget items softly: no verb shows them, `undelete` restores them, and they go when room is needed.

        Returns:
            The ids of those that were there; others are passed over. To leave nothing behind, see `Scope.erase`.
        """
        return self._drive(lifetime_flows.forget(self._handle, ids))

    def undelete(self, id: str) -> MemoryItem:  # the field's own name
        """Undo a soft deletion.

        Raises:
            NotFoundError: There is no such item, or it was removed permanently.
            ExpiredError: It has expired.
            CapacityError: It no longer fits.
        """
        return self._drive(lifetime_flows.undelete(self._handle, id))

    def relate(
        self,
        id: str,  # the field's own name
        type: str,  # the field's own name
        target_id: str,
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryItem:
        """Add a relation from an item to another element; promotion copies it, too.

        Args:
            type: Such as ``references`` or ``depends_on``.
            target_id: Of any element, here or elsewhere.

        Raises:
            NotFoundError: There is no such item.
            ExpiredError: It has expired.
        """
        return self._drive(lifetime_flows.relate(self._handle, id, type, target_id, metadata))

    def promote(self, id: str, *, if_promoted: IfPromoted = "return") -> MemoryItem:  # the field's own name
        """Copy an item to long-term memory; the original is marked as promoted and stays until it expires.

        Idempotent, also across processes: an item is copied once. It passes the memory's gate; where that asks for
        novelty, what says the same as an item there is joined to it: that one is returned, and tells of both.

        Args:
            if_promoted: ``"error"`` raises on a second promotion.

        Returns:
            The copy in long-term memory.

        Raises:
            NotFoundError: There is no such item.
            ExpiredError: It has expired.
            AlreadyPromotedError: It was promoted before, and `if_promoted` is ``"error"``.
            RejectedError: It is not important or new enough; nothing was changed.
            FeatureNotEnabledError: The memory was opened without long-term memory.
        """
        return self._drive(promotion_flows.promote(self._handle, id, if_promoted=if_promoted))

    def promote_many(self, ids: Sequence[str]) -> BulkPromotion:
        """Promote several items one by one; a failure does not stop the others."""
        return self._drive(promotion_flows.promote_many(self._handle, ids))
