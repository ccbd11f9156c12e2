"""How well an item that holds the text of a search answers it."""

__all__ = ["relevance"]


def relevance(at: int, length: int, accesses: int, importance: float) -> float:
    """A score in [0, 1]: half for how early the text stands, the rest for use and importance.

    Args:
        at: Where the text begins in the item, in characters.
        length: How long the item is, in characters.
        accesses: How often it was fetched.
        importance: 0 to 1.

    Source: session tools document, "Search Behavior": match position, access count and importance.
    """
    place = 1.0 - min(1.0, at / max(1, length))
    return 0.5 * place + 0.2 * min(accesses / 10, 1.0) + 0.3 * importance
