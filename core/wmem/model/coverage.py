"""What a summary covers: pointers to items and messages, by their scope and ids, in the sources of its item.

A summary that maintenance made names its job in its metadata.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wmem.model.row import Row
from wmem.model.values import load_json

SUMMARY = "summary"
"""The type of an item that sums up others."""


class Coverage(NamedTuple):
    """What a summary covers of one scope.

    Attributes:
        path: The scope, as segments below the agent's.
        incarnation: The incarnation of that scope.
    """

    path: tuple[str, ...]
    incarnation: int
    item_ids: tuple[str, ...] = ()
    message_ids: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Of items and messages."""
        return (*self.item_ids, *self.message_ids)

    def to_source(self) -> Mapping[str, Any]:
        """The coverage as one of the sources of an item."""
        ids = {"items": [*self.item_ids], "messages": [*self.message_ids]}
        return {
            "scope": [*self.path],
            "incarnation": self.incarnation,
            **{name: each for name, each in ids.items() if each},
        }


def find_coverage(row: Row) -> tuple[Coverage, ...]:
    """What a row covers; nothing for what is no summary, or names its sources in another form."""
    if row.type != SUMMARY or row.rest is None or b'"sources"' not in row.rest:
        return ()
    return read_coverage(load_json(row.rest))


def read_coverage(rest: Mapping[str, Any]) -> tuple[Coverage, ...]:
    """What the fields of a summary say that it covers."""
    sources = rest.get("sources")
    return tuple(_parse_sources(sources)) if isinstance(sources, Sequence) else ()


def _parse_sources(sources: Sequence[object]) -> Iterator[Coverage]:
    for source in sources:
        match source:
            case {"scope": [*names], "incarnation": int(incarnation), **ids}:
                items, messages = (ids.get(name, []) for name in ("items", "messages"))
                if isinstance(items, list) and isinstance(messages, list) and (items or messages):
                    path = tuple(map(str, names))
                    yield Coverage(path, incarnation, tuple(map(str, items)), tuple(map(str, messages)))
            case _:
                pass


def find_job(row: Row) -> str | None:
    """The job of maintenance that made a summary; None for any other row."""
    if row.type != SUMMARY or row.rest is None or b'"job"' not in row.rest:
        return None
    metadata = load_json(row.rest).get("metadata")
    job = metadata.get("job") if isinstance(metadata, Mapping) else None
    return job if isinstance(job, str) else None
