"""Which memory types an item goes to in one session, and by which rule."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from wmem.errors import InvalidInputError
from wmem.rules.gate import fresh_importance
from wmem.rules.routing import Subject, apply_rules, find_route, normalize_type
from wmem.rules.sources import WORKING

if TYPE_CHECKING:
    from wmem.agent.types.draft import ItemDraft
    from wmem.agent.types.flows import TypeFlows
    from wmem.agent.types.registry import BoundTypes

NAMED, OWN_TYPE, FALLBACK = "named", "own-type", "fallback"
"""Rules beside those of the built-in table: the caller named the type, a type of somebody else's accepts the item, no
other type does."""


def choose_stores(types: "BoundTypes", draft: "ItemDraft") -> dict[str, str]:
    """The names of the memory types that an item goes to, each with the name of the rule that says so.

    Raises:
        InvalidInputError: A rule of the user's names a type that there is none of.
    """
    known = types.by_name()
    found = _apply_own(types, draft, known)
    if found is None:
        built_in = apply_rules(draft.type, draft.kind)
        others = {name: OWN_TYPE for name, each in known.items() if each.is_external and each.accepts(draft)}
        found = {name: rule for name in known if (rule := built_in.get(name) or others.get(name))}
    if not (types.has_long_term and types.handle.settings.retentions.may_promote(draft.fields.get("retention"))):
        found = {name: rule for name, rule in found.items() if name not in (types.episodic.name, types.semantic.name)}
    return found or {WORKING: FALLBACK}


def find_store(name: str, known: Collection[str]) -> str | None:
    """The memory type of a name in whichever case; None if there is none."""
    return name if name in known else {each.casefold(): each for each in known}.get(name.strip().casefold())


def _apply_own(types: "BoundTypes", draft: "ItemDraft", known: Mapping[str, "TypeFlows"]) -> dict[str, str] | None:
    """What the first of the user's rules that applies says; None if none does."""
    routes = types.handle.settings.gates.gate.routes
    if not routes:
        return None
    importance = draft.importance
    if importance is None:
        importance = fresh_importance(draft.content, draft.priority, types.handle.engine.analyzer)
    route = find_route(
        Subject(
            normalize_type(draft.type),
            draft.kind,
            tuple(draft.fields.get("tags") or ()),
            draft.fields.get("source") or "",
            importance,
        ),
        routes,
    )
    if route is None:
        return None
    stores = {name: find_store(name, known) for name in route.stores}
    if unknown := [name for name, store in stores.items() if store is None]:
        msg = f"the route {route.name!r} names the memory type {unknown[0]!r}; known: {', '.join(known)}"
        raise InvalidInputError(msg)
    return dict.fromkeys((store for store in stores.values() if store), route.name)
