"""Which kind of memory an item belongs to: working memory, the conversation, or long-term memory of two kinds."""

from collections.abc import Mapping

from wmem.model.row import Row

SEMANTIC, EPISODIC, CONVERSATION = "~semantic", "~episodic", "~conversation"

_KNOWLEDGE_TYPES = frozenset(("fact", "skill", "pattern", "summary"))
_KNOWLEDGE_KINDS = frozenset(("insight", "preference", "correction"))
_TRANSIENT_TYPES = frozenset(("thought", "plan"))
_ROLES: Mapping[str, str] = {"user_message": "user", "assistant_message": "assistant"}


def is_knowledge(type_name: str, kind: str) -> bool:
    """Whether an item is knowledge, which semantic memory holds; types are compared case-insensitively.

    Facts, skills, patterns and summaries are; insights, preferences and corrections are too, whatever their type.

    Args:
        kind: See `MemoryItem.kind`.

    Source: memory system document, gating and routing.
    """
    return type_name.casefold() in _KNOWLEDGE_TYPES or kind in _KNOWLEDGE_KINDS


def is_transient(type_name: str) -> bool:
    """Whether items of a type are reasoning for the current step, which working memory holds: thoughts and plans."""
    return type_name.casefold() in _TRANSIENT_TYPES


def find_role(type_name: str) -> str | None:
    """The role of the message that an item of a type is, which the conversation holds; None for any other."""
    return _ROLES.get(type_name.casefold())


def is_experience(type_name: str, kind: str) -> bool:
    """Whether an item is experience, which episodic memory holds: what none of the others holds."""
    return not (is_knowledge(type_name, kind) or is_transient(type_name) or find_role(type_name))


def route(row: Row, kind: str) -> str:
    """The reserved scope below the agent that an item is promoted to: knowledge to one, all else to the other.

    Args:
        kind: See `MemoryItem.kind`.
    """
    return SEMANTIC if is_knowledge(row.type, kind) else EPISODIC
