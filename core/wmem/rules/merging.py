"""How items that say the same become one: which survives, and what it takes over of the others.

The newest survives, so that what was stated in between is not newer than it. A pinned one is merged into no other.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from wmem.model.history import Path
from wmem.model.ids import parse_promoted_id
from wmem.model.origin import Origin, find_merged_origins, find_origins, own_lineage
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json

MAX_MERGED = 128
"""Of so many items a survivor tells that they were merged into it: else it would grow for ever."""
_SAME_FIELDS = (
    "kind",
    "dynamic_type",
    "source",
    "participants",
    "causal_chain",
    "agent_id",
    "task_id",
    "parent_id",
    "chunk_index",
    "retention",
    "valid_from",
    "valid_to",
    "redaction_status",
)
"""What two items must have in common, beside their type, or one would tell of the other what is not so."""
_OF_AGENT = frozenset(("agent_id", "agent_fingerprint"))
"""Whose an item is, if it says so: a survivor that does not takes it over, or a search for it would miss it."""
_OF_PROMOTION = frozenset(
    (
        "promoted_from_working",
        "working_memory_id",
        "working_memory_session",
        "promotion_reason",
        "promotion_rule",
        "access_count_at_promotion",
        "importance_at_promotion",
    )
)
"""Metadata that a promotion adds: two copies always differ in it."""


def list_common_fields(row: Row, *, agent_id: str = "") -> bytes:
    """What of an item must be alike in another, so that the two may become one; as text to compare.

    Args:
        agent_id: Of the agent whose memory it is: who is named in no item of it is this one.
    """
    rest: dict[str, Any] = {} if row.rest is None else load_json(row.rest)
    metadata = rest.get("metadata", {})
    if parse_promoted_id(row.id) is not None:
        metadata = {name: value for name, value in metadata.items() if name not in _OF_PROMOTION}
    told = {name: rest[name] for name in _SAME_FIELDS if name in rest}
    if told.get("agent_id") == agent_id:
        del told["agent_id"]
    return dump_json([row.type.casefold(), told, metadata])


def merge_rows(survivor: Row, others: Sequence[Row], *, path: Path, incarnation: int) -> Row:
    """The surviving row of a merge.

    It keeps its text and its own fields. It gets all tags, the largest importance and confidence, the sum of accesses
    and what was pointed at; its version is one more. Of each other it keeps the origins, and says which tags came from
    it, so that `detach` can take them away again.

    Args:
        path: The scope of all of them, in that incarnation.
    """
    rest: dict[str, Any] = load_json(survivor.rest or b"{}")
    steps = [*rest.get("origins", ())]
    own_tags = set(survivor.tags) - {tag for each in find_merged_origins(survivor, path) for tag in each.tags}
    tags, merged = dict.fromkeys(survivor.tags), []
    for each in others:
        told: dict[str, Any] = load_json(each.rest or b"{}")
        merged += _list_merged_steps(each, told, own_tags, path, incarnation)
        tags |= dict.fromkeys(each.tags)
        for name in ("lineage_ids", "relations", "sources"):
            if told.get(name):
                known = rest.get(name, [])
                rest[name] = [*known, *(one for one in told[name] if one not in known)]
        for name in _OF_AGENT & told.keys():
            rest.setdefault(name, told[name])
        rest["lineage_ids"] = [*rest.get("lineage_ids", ()), each.id]
        if told.get("confidence") is not None:
            rest["confidence"] = max(told["confidence"], rest.get("confidence") or 0.0)
    rest["origins"] = [*merged, *steps]  # its own are the last: they say how it came here itself
    _forget_oldest(rest)
    rest["version"] = (rest.get("version") or 1) + 1
    importances = [each.importance for each in (survivor, *others) if each.importance is not None]
    accesses = [each.last_accessed_at for each in (survivor, *others) if each.last_accessed_at is not None]
    return survivor._replace(
        tags=tuple(tags),
        importance=max(importances, default=None),
        access_count=survivor.access_count + sum(each.access_count for each in others),
        last_accessed_at=max(accesses, default=None),
        rest=dump_json(rest),
    )


def _forget_oldest(rest: dict[str, Any]) -> None:
    """Of more than `MAX_MERGED` items that were merged into one, leave what is told of the last: these come first."""
    named = list(dict.fromkeys(each["merged_id"] for each in rest["origins"] if each.get("merged_id")))
    if len(named) <= MAX_MERGED:
        return
    dropped = frozenset(named[MAX_MERGED:])
    steps = [each for each in rest["origins"] if each.get("merged_id") in dropped]
    gone = {id for each in steps for id in (each["id"], each["merged_id"])}
    rest["origins"] = [each for each in rest["origins"] if each.get("merged_id") not in dropped]
    rest["lineage_ids"] = [id for id in rest["lineage_ids"] if id not in gone]


def _list_merged_steps(
    row: Row, rest: Mapping[str, Any], own_tags: set[str], path: Path, incarnation: int
) -> list[dict[str, Any]]:
    """The origins of a row that is merged into another, as steps of that one: how it came, then itself."""
    own, earlier = find_origins(row, path), find_merged_origins(row, path)
    here = path[1:]
    itself = Origin(
        path=here,
        incarnation=incarnation,
        id=row.id,
        to=here,
        lineage_ids=own_lineage(rest.get("lineage_ids", ()), (*own, *earlier)),
        merged_id=row.id,
        tags=tuple(tag for tag in row.tags if tag not in own_tags),
        created_at=row.created_at,
    )
    came = [each.model_copy(update={"merged_id": row.id}) for each in own]
    return [each.model_dump(mode="json", exclude_defaults=True) for each in (*earlier, *came, itself)]


def detach(survivor: Row, ids: frozenset[str], *, path: Path) -> Row:
    """The surviving row without what it took over of these: their origins, their names, and tags that only they had.

    What was added up or is the largest of all stays: it is no content.

    Args:
        ids: What was merged into it, by their own ids.
        path: The scope.
    """
    merged = find_merged_origins(survivor, path)
    left = [each for each in merged if each.merged_id not in ids]
    if len(left) == len(merged):
        return survivor
    brought = {tag for each in merged for tag in each.tags} - {tag for each in left for tag in each.tags}
    gone = {id for each in merged if each.merged_id in ids for id in (each.id, *each.lineage_ids)}
    rest: dict[str, Any] = load_json(survivor.rest or b"{}")
    own = [each for each in rest.get("origins", ()) if not each.get("merged_id")]
    kept = {id for each in (*left, *find_origins(survivor, path)) for id in (each.id, *each.lineage_ids)}
    rest["origins"] = [*(each.model_dump(mode="json", exclude_defaults=True) for each in left), *own]
    rest["lineage_ids"] = [id for id in rest.get("lineage_ids", ()) if id in kept or id not in gone]
    return survivor._replace(
        tags=tuple(tag for tag in survivor.tags if tag not in brought),
        rest=dump_json({name: value for name, value in rest.items() if value != []}),
    )
