"""Which items of a scope have a tag, a task or an agent, without a look at all of them."""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from wmem.engine.derived import Derived
from wmem.model.row import Row
from wmem.model.values import load_json

_Label: TypeAlias = tuple[str, str]
_FIELDS = ("task_id", "agent_id")


class ItemLabels(Derived):
    """The ids of items and entries by label: a tag, a task or an agent."""

    __slots__ = ("_ids", "_labels")

    def __init__(self) -> None:
        self._ids: dict[_Label, dict[str, None]] = {}
        self._labels: dict[str, tuple[_Label, ...]] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            for label in self._labels.pop(id, ()):
                ids = self._ids[label]
                del ids[id]
                if not ids:
                    del self._ids[label]
            if row is not None and row.role is None and (labels := tuple(_list_labels(row))):
                self._labels[id] = labels
                for label in labels:
                    self._ids.setdefault(label, {})[id] = None

    def find(self, *, tags: Collection[str], task_id: str | None, agent_id: str | None) -> list[str]:
        """The ids of those that have one of the tags, if there are any, and the task and the agent, if given."""
        wanted = [("task_id", task_id), ("agent_id", agent_id)]
        found = [self._ids.get((field, value), {}) for field, value in wanted if value is not None]
        if tags:
            found.append({id: None for tag in tags for id in self._ids.get(("tag", tag), ())})
        fewest = min(found, key=len, default={})
        return [id for id in fewest if all(id in each for each in found)]


def _list_labels(row: Row) -> Iterable[_Label]:
    yield from dict.fromkeys(("tag", tag) for tag in row.tags)
    if row.rest is not None and (b'"task_id"' in row.rest or b'"agent_id"' in row.rest):
        rest = load_json(row.rest)
        yield from ((field, rest[field]) for field in _FIELDS if isinstance(rest.get(field), str))
