"""Which memory types an item goes to: rules of the user's own first, then by its type and kind."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from wmem.model.gate import Route
from wmem.model.row import Row

SEMANTIC, EPISODIC, CONVERSATION = "~semantic", "~episodic", "~conversation"

_KNOWLEDGE_TYPES = frozenset(("fact", "skill", "pattern", "summary"))
_KNOWLEDGE_KINDS = frozenset(("insight", "preference", "correction"))
_TRANSIENT_TYPES = frozenset(("thought", "plan"))
_ROLES: Mapping[str, str] = {"user_message": "user", "assistant_message": "assistant"}
_SEAM = re.compile(r"[\s_-]+|(?<=[a-z])(?=[A-Z])")  # between the words of a type
_UNTYPED = ("", "observation")  # what an item has that was given no type
_PLURALS = {
    **{f"{each}s": each for each in (*_KNOWLEDGE_TYPES, *_KNOWLEDGE_KINDS, *_TRANSIENT_TYPES, *_ROLES)},
    "summaries": "summary",
}


class Subject(NamedTuple):
    """What of an item decides where it goes.

    Attributes:
        type: The type that it was given; "" for none.
        kind: See `MemoryItem.kind`.
        importance: Given or computed, 0 to 1.
    """

    type: str
    kind: str = "fact"
    tags: tuple[str, ...] = ()
    source: str = ""
    importance: float = 1.0


def normalize_type(type_name: str, dynamic_type: str | None = None) -> str:
    """A type as rules compare it: in lower case and the singular, its words joined by ``_``, however they were parted.

    Args:
        dynamic_type: What the item's user calls it; it counts where the type says nothing.
    """
    word = _join_words(type_name)
    if word in _UNTYPED and dynamic_type:
        word = _join_words(dynamic_type)
    return _PLURALS.get(word, word)


def _join_words(text: str) -> str:
    """The words of ``UserMessage`` and ``user message`` as ``user_message``."""
    return _SEAM.sub("_", text.strip()).casefold()


def is_knowledge(type_name: str, kind: str) -> bool:
    """Whether an item is knowledge, which semantic memory holds.

    Facts, skills, patterns and summaries are; insights, preferences and corrections are too, whatever their type.

    Args:
        kind: See `MemoryItem.kind`.

    Source: memory system document, gating and routing.
    """
    return _has_knowledge_type(type_name) or kind in _KNOWLEDGE_KINDS


def _has_knowledge_type(type_name: str) -> bool:
    """Whether a type names knowledge by its last word, as ``fact`` and ``user_preference`` do."""
    last = normalize_type(type_name).rpartition("_")[2]
    word = _PLURALS.get(last, last)
    return word in _KNOWLEDGE_TYPES or word in _KNOWLEDGE_KINDS


def is_transient(type_name: str) -> bool:
    """Whether items of a type are reasoning for the current step, which working memory holds: thoughts and plans."""
    return normalize_type(type_name) in _TRANSIENT_TYPES


def find_role(type_name: str) -> str | None:
    """The role of the message that an item of a type is, which the conversation holds; None for any other."""
    return _ROLES.get(normalize_type(type_name))


def is_experience(type_name: str, kind: str) -> bool:
    """Whether an item is experience, which episodic memory holds: what none of the others holds."""
    return not (is_knowledge(type_name, kind) or is_transient(type_name) or find_role(type_name))


class Rule(NamedTuple):
    """A rule of the built-in table.

    Attributes:
        applies: Given the type and kind of an item.
    """

    name: str
    store: str
    applies: Callable[[str, str], bool]


RULES: Sequence[Rule] = (
    Rule("reasoning", "working", lambda type_name, _: is_transient(type_name)),
    Rule("message", "conversation", lambda type_name, _: find_role(type_name) is not None),
    Rule("experience", "episodic", is_experience),
    Rule("knowledge-type", "semantic", lambda type_name, _: _has_knowledge_type(type_name)),
    Rule("knowledge-kind", "semantic", lambda _, kind: kind in _KNOWLEDGE_KINDS),
)
"""All that apply count: an insight that is a thought goes to working memory, and to semantic memory."""


def apply_rules(type_name: str, kind: str) -> dict[str, str]:
    """The memory types an item goes to by the built-in table, each with the name of the first rule that says so."""
    found: dict[str, str] = {}
    for rule in RULES:
        if rule.applies(type_name, kind):
            found.setdefault(rule.store, rule.name)
    return found


def find_route(subject: Subject, routes: Sequence[Route]) -> Route | None:
    """The first of a user's rules that applies to an item; None if none does."""
    return next((route for route in routes if _applies(route, subject)), None)


def _applies(route: Route, subject: Subject) -> bool:
    return (
        (not route.types or normalize_type(subject.type) in map(normalize_type, route.types))
        and _names(route.kinds, subject.kind)
        and _names(route.sources, subject.source)
        and (not route.tags or any(_names(route.tags, tag) for tag in subject.tags))
        and subject.importance >= route.min_importance
    )


def _names(words: Collection[str], word: str) -> bool:
    """Whether one of some words is the given one; no words accept all."""
    return not words or word.strip().casefold() in {each.strip().casefold() for each in words}


def route(row: Row, kind: str, dynamic_type: str | None = None) -> str:
    """The reserved scope below the agent that an item is promoted to: knowledge to one, all else to the other.

    Args:
        kind: See `MemoryItem.kind`.
        dynamic_type: See `normalize_type`.
    """
    return SEMANTIC if is_knowledge(normalize_type(row.type, dynamic_type), kind) else EPISODIC
