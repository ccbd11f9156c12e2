"""What a budget error says: the parts with their sizes, and what to do about the largest of them."""

from collections.abc import Mapping

_WAYS = {
    "reserve": "lower the reserve",
    "tools": "send fewer or shorter tools",
    "system": "shorten the system text",
    "pinned": "unpin some of what is pinned",
}


def list_sizes(sizes: Mapping[str, int]) -> str:
    """The parts that take any tokens, the largest first."""
    return ", ".join(f"{name} {tokens}" for name, tokens in _sort_by_size(sizes))


def suggest_ways(sizes: Mapping[str, int]) -> str:
    """What makes room, as the end of a sentence: what takes most is named first."""
    ways = [f"{_WAYS[name]} ({tokens} tokens)" for name, tokens in _sort_by_size(sizes) if name in _WAYS]
    return ", or ".join(("raise the budget", *ways))


def _sort_by_size(sizes: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(((name, tokens) for name, tokens in sizes.items() if tokens > 0), key=lambda each: -each[1])
