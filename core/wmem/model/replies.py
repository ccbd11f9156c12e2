"""Results of the queue's methods."""

from typing import NamedTuple

from wmem.model.item import MemoryItem

__all__ = ["Forgotten", "Memorized", "Summary"]


class Memorized(NamedTuple):
    """Result of memorizing one item.

    Attributes:
        item: As it is stored.
        position: Its position among the visible items, 0 for the oldest.
        evicted: Items evicted for it, first to last; softly deleted ones included.
        items: Number of visible items now.
        tokens: Total tokens of these.
    """

    item: MemoryItem
    position: int
    evicted: tuple[MemoryItem, ...]
    items: int
    tokens: int


class Forgotten(NamedTuple):
    """Result of an instruction to forget.

    Attributes:
        ids: Ids of the forgotten items, oldest first; empty when none matched.
        items: Number of visible items now.
        tokens: Total tokens of these.
    """

    ids: tuple[str, ...]
    items: int
    tokens: int


class Summary(NamedTuple):
    """Extractive summary: the most informative sentences, in their original order.

    Attributes:
        text: At most the requested number of tokens; empty when no sentence fits.
        tokens: Tokens of the text.
        sources: The ids of the items it quotes.
    """

    text: str
    tokens: int
    sources: tuple[str, ...]
