"""Which ids the fields of an item name: what they point to is not taken away."""

from collections.abc import Iterable, Iterator, Mapping

from wmem.agent.types.episodes import is_episode_summary
from wmem.engine.derived import Derived
from wmem.model.origin import list_merged_ids
from wmem.model.row import Row
from wmem.model.values import load_json

_FIELDS = ("relations", "parent_id", "sources", "causal_chain", "lineage_ids")
_EXAMPLE = "example"  # in the metadata of a skill
_NOTHING: tuple[frozenset[str], None] = frozenset(), None
_MARKS = tuple(f'"{name}"'.encode() for name in (*_FIELDS, _EXAMPLE))


def list_pointed(rows: Iterable[Row]) -> set[str]:
    """The ids that these rows point to, of items, messages and episodes, in whatever scope.

    The summary of an episode counts for none: it is there so that what it covers may go.
    """
    return {id for row in rows for id in _find_pointed(row)}


class Pointers(Derived):
    """What the items of a scope point to, as `list_pointed` has it, and which of them do."""

    __slots__ = ("_holders", "_targets")

    def __init__(self) -> None:
        self._targets: dict[str, tuple[frozenset[str], float | None]] = {}
        """Of each item, and when it expires."""
        self._holders: dict[str, dict[str, None]] = {}
        """The items that point to an id."""

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            for target in self._targets.pop(id, _NOTHING)[0]:
                del self._holders[target][id]
                if not self._holders[target]:
                    del self._holders[target]
            if row is None or row.key is not None or row.role is not None or row.deleted_at is not None:
                continue
            # That one was merged into another is told by the origins of that one.
            if targets := frozenset(_find_pointed(row)) - list_merged_ids(row):
                self._targets[id] = targets, row.expires_at
                for target in targets:
                    self._holders.setdefault(target, {})[id] = None

    def list_held(self, ids: Iterable[str], now: float) -> set[str]:
        """Those of these ids to which something points that is visible now."""
        return {id for id in ids if any(self._is_alive(holder, now) for holder in self._holders.get(id, ()))}

    def _is_alive(self, holder: str, now: float) -> bool:
        expires_at = self._targets[holder][1]
        return expires_at is None or now < expires_at


def _find_pointed(row: Row) -> Iterator[str]:
    if row.rest is None or not any(mark in row.rest for mark in _MARKS) or is_episode_summary(row):
        return
    rest = load_json(row.rest)
    for relation in rest.get("relations", ()):
        yield relation["target_id"]
    yield from _list_texts([rest.get(name) for name in _FIELDS[1:]])
    metadata = rest.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(example := metadata.get(_EXAMPLE), str):
        yield example


def _list_texts(value: object) -> Iterator[str]:
    """All texts in a JSON value, of which some are ids."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _list_texts(each)
