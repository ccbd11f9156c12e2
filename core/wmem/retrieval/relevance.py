"""The order ``relevance`` of `items.search`, for items that hold the text as it stands; recall ranks otherwise."""


def relevance(position: int, length: int, accesses: int, importance: float) -> float:
    """A score in [0, 1]: half for how early the text occurs, the rest for use and importance.

    Args:
        position: Offset of the text in the item, in characters.
        length: Length of the item, in characters.
        accesses: How often it was fetched.
        importance: 0 to 1.

    Source: session tools document, "Search Behavior": match position, access count and importance.
    """
    place = 1.0 - min(1.0, position / max(1, length))
    return 0.5 * place + 0.2 * min(accesses / 10, 1.0) + 0.3 * importance
