"""Where a copy comes from: promotion and merge record it in the copy, for an equal id alone says nothing.

A row is named by its scope, the incarnation of that scope, and its id.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from wmem.errors import CorruptionError
from wmem.model.history import Path
from wmem.model.row import Row
from wmem.model.values import load_json


class Origin(BaseModel):
    """One step on the way of a copy: a row of one scope was promoted or merged into another scope.

    Attributes:
        path: The scope it was copied from, as segments below the agent's.
        incarnation: The incarnation of that scope.
        id: The row's id there.
        to: The scope it was copied to, as segments below the agent's.
        lineage_ids: What the row was made from, by its id in the scope it was copied from.
        merged_id: Of what maintenance merged into the item, because it says the same: the id that had in this scope.
            The last step of each is from that item itself, and says when it was created and which `tags` it brought.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    path: tuple[str, ...]
    incarnation: int
    id: str
    to: tuple[str, ...]
    lineage_ids: tuple[str, ...] = ()
    merged_id: str = ""
    tags: tuple[str, ...] = ()
    created_at: float | None = None


def find_origins(row: Row, path: Path) -> tuple[Origin, ...]:
    """The steps by which a row came into a scope, oldest first; none for what is no copy.

    A row that was imported keeps what it says of the scope it was exported from, but is no copy here. What was merged
    into the row by maintenance is not told, see `find_merged_origins`.
    """
    origins = tuple(each for each in _list_steps(row) if not each.merged_id)
    return origins if origins and origins[-1].to == path[1:] else ()


def find_merged_origins(row: Row, path: Path) -> tuple[Origin, ...]:
    """The steps by which what maintenance merged into a row came into its scope; none where nothing was."""
    if not names_merged(row):
        return ()
    steps = [each for each in _list_steps(row) if each.merged_id]
    here = {each.merged_id for each in steps if each.id == each.merged_id and each.to == path[1:]}
    return tuple(each for each in steps if each.merged_id in here)


def _list_steps(row: Row) -> tuple[Origin, ...]:
    if not has_origins(row):
        return ()
    origins: tuple[Origin, ...] | None = None
    with suppress(ValidationError):
        origins = tuple(map(Origin.model_validate, load_json(row.rest or b"{}").get("origins", ())))
    if origins is None:  # outside `suppress`: the chain would hold the input
        raise CorruptionError(f"item {row.id!r} is damaged: its origins do not read")
    return origins


def names_merged(row: Row) -> bool:
    """Whether a row may say what was merged into it; cheap."""
    return row.rest is not None and b'"merged_id"' in row.rest


def list_merged_ids(row: Row) -> frozenset[str]:
    """The ids of what was merged into a row by maintenance, as far as they are known of it."""
    if not names_merged(row):
        return frozenset()
    steps = load_json(row.rest or b"{}").get("origins", ())
    return frozenset(each["merged_id"] for each in steps if each.get("merged_id"))


def list_merged_sources(row: Row, path: Path) -> list[str]:
    """The ids of those rows of a scope from which something came that was merged into a row."""
    steps = load_json(row.rest or b"{}").get("origins", ())
    return [each["id"] for each in steps if each.get("merged_id") and each["path"] == [*path[1:]]]


def names_source(row: Row, id: str, path: Path) -> bool:
    """Whether a row says that its last step was from the row under an id in a scope, whatever its incarnation."""
    if not has_origins(row):
        return False
    steps = load_json(row.rest or b"{}").get("origins", ())
    own = [each for each in steps if not each.get("merged_id")] if isinstance(steps, list) else []
    last = own[-1] if own else None
    return isinstance(last, dict) and (last.get("path"), last.get("id")) == ([*path[1:]], id)


def has_origins(row: Row) -> bool:
    """Whether a row may say where it comes from; cheap."""
    return row.rest is not None and b'"origins"' in row.rest


def append_origin(
    rest: Mapping[str, Any], row: Row, *, path: Path, incarnation: int, to: Path
) -> Sequence[dict[str, Any]]:
    """The origins of a copy of a row, as JSON.

    Args:
        rest: The row's further fields.
        path: The scope that holds the row.
        to: The scope that gets the copy.
    """
    steps = find_origins(row, path)
    step: dict[str, Any] = {"path": [*path[1:]], "incarnation": incarnation, "id": row.id, "to": [*to[1:]]}
    if lineage := own_lineage(rest.get("lineage_ids", ()), steps):
        step["lineage_ids"] = [*lineage]
    return [*(each.model_dump(mode="json", exclude_defaults=True) for each in steps), step]


def own_lineage(lineage_ids: Sequence[str], origins: Sequence[Origin]) -> tuple[str, ...]:
    """The ids of a lineage that mean rows of the scope itself, not of one that the row was copied from."""
    foreign = {id for each in origins for id in (each.id, *each.lineage_ids)}
    return tuple(id for id in lineage_ids if id not in foreign)
