"""Which ids the fields of an item name: what they point to is not taken away."""

from collections.abc import Iterable, Iterator, Mapping

from wmem.agent.types.episodes import is_episode_summary
from wmem.model.row import Row
from wmem.model.values import load_json

_FIELDS = ("relations", "parent_id", "sources", "causal_chain", "lineage_ids")
_EXAMPLE = "example"  # in the metadata of a skill
_MARKS = tuple(f'"{name}"'.encode() for name in (*_FIELDS, _EXAMPLE))


def list_pointed(rows: Iterable[Row]) -> set[str]:
    """The ids that these rows point to, of items, messages and episodes, in whatever scope.

    The summary of an episode counts for none: it is there so that what it covers may go.
    """
    return {id for row in rows for id in _find_pointed(row)}


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
