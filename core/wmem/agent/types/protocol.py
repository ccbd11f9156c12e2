"""The protocol of memory types, sync and async; what wmem and others write behind it is used alike."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from wmem.agent.types.draft import ItemDraft
from wmem.model.filters import NO_FILTERS, Filters
from wmem.model.results import Forgotten, Memorized, Remembered, Summary
from wmem.policy import Capacity


@runtime_checkable
class MemoryType(Protocol):
    """A store of memories, such as a database of one's own, that an agent uses beside those of wmem.

    Once it is registered it is given the items it accepts, and asked for each context; nothing else
    need be changed. `wmem.testing.MemoryTypeSuite` proves one.

    What it was given was redacted, if the memory redacts, and is its own from then on: no job of maintenance and no
    erasure of a scope reaches it. Have it `forget` what is to be gone.

    It may have an attribute ``pool``: how many candidates it gives for a context, by default 20.
    For the async face write an `AsyncMemoryType`; one with plain methods is used there, too, if it has
    an attribute ``blocks`` that is False: its methods then run in the loop's own thread.
    """

    @property
    def name(self) -> str:
        """Its name, unique in one memory: a word without blanks."""
        ...

    def accepts(self, draft: ItemDraft, /) -> bool:
        """Whether an item that is routed goes here; others may accept it, too. It must not block."""
        ...

    def memorize(self, draft: ItemDraft, /) -> Memorized:
        """Store an item; what is evicted for it is in the reply.

        Raises:
            CapacityError: It does not fit; nothing was stored.
        """
        ...

    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        """What matches a query and passes the filters (`Filters.accepts`), best first; blank: the newest.

        Args:
            limit: How many at most.
        """
        ...

    def forget(self, ids: Sequence[str], /) -> Forgotten:
        """Forget the items under these ids; others are passed over."""
        ...

    def summarize(self, token_limit: int = 256, /) -> Summary:
        """What it holds, in at most so many tokens."""
        ...

    def capacity(self) -> Capacity:
        """How full it is."""
        ...


@runtime_checkable
class AsyncMemoryType(Protocol):
    """See `MemoryType`."""

    @property
    def name(self) -> str:
        """See `MemoryType.name`."""
        ...

    def accepts(self, draft: ItemDraft, /) -> bool:
        """See `MemoryType.accepts`; it is not awaited."""
        ...

    async def memorize(self, draft: ItemDraft, /) -> Memorized:
        """See `MemoryType.memorize`."""
        ...

    async def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        """See `MemoryType.remember`."""
        ...

    async def forget(self, ids: Sequence[str], /) -> Forgotten:
        """See `MemoryType.forget`."""
        ...

    async def summarize(self, token_limit: int = 256, /) -> Summary:
        """See `MemoryType.summarize`."""
        ...

    async def capacity(self) -> Capacity:
        """See `MemoryType.capacity`."""
        ...
