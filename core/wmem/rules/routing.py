"""Route an item to the long-term memory it belongs to."""

from collections.abc import Mapping

from wmem.model.row import Row

SEMANTIC, EPISODIC = "~semantic", "~episodic"

_BY_TYPE: Mapping[str, str] = dict.fromkeys(("fact", "skill", "pattern", "summary"), SEMANTIC)
_BY_KIND: Mapping[str, str] = dict.fromkeys(("insight", "preference", "correction"), SEMANTIC)


def route(row: Row, kind: str) -> str:
    """The reserved scope below the agent that an item is promoted to.

    Facts, skills, patterns and summaries are knowledge; insights, preferences and
    corrections are too, whatever their type; observations, actions and outcomes are episodes.

    Args:
        kind: See `MemoryItem.kind`.

    Source: memory system document, gating and routing.
    """
    return _BY_TYPE.get(row.type) or _BY_KIND.get(kind) or EPISODIC
