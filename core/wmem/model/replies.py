"""What the queue answers, as named values."""

from typing import NamedTuple

from wmem.model.item import MemoryItem

__all__ = ["Forgotten", "Memorized", "Summary"]


class Memorized(NamedTuple):
    """What became of remembering one item.

    Attributes:
        item: As it is stored.
        position: Its place among the items that can be seen, 0 for the oldest.
        evicted: What had to leave for it, first to last; softly deleted items included.
        items: How many can be seen now.
        tokens: What they take together.
    """

    item: MemoryItem
    position: int
    evicted: tuple[MemoryItem, ...]
    items: int
    tokens: int


class Forgotten(NamedTuple):
    """What an instruction made the queue forget, and what is left.

    Attributes:
        ids: What was forgotten, oldest first; empty when nothing was there to forget.
        items: How many items can be seen now.
        tokens: What they take together.
    """

    ids: tuple[str, ...]
    items: int
    tokens: int


class Summary(NamedTuple):
    """The sentences that say most, in the order they were said.

    Attributes:
        text: At most as many tokens as were asked for; empty when no sentence fits.
        tokens: What it takes.
        sources: The ids of the items it quotes.
    """

    text: str
    tokens: int
    sources: tuple[str, ...]
