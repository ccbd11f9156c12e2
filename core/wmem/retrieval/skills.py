"""Skills before the calls that they were mined from: a skill says once what each of those shows again."""

from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.retrieval.candidate_rows import RankedRow

_NEAR = 0.9
"""Share of the best skill's own score that another one must have to be put forward, too."""


def lead_with_skills(ranked: list[RankedRow]) -> list[RankedRow]:
    """The ranked rows, the skills that match best right before the best call of the tool that they end with.

    Args:
        ranked: Best first.
    """
    skills = [at for at, (_, each, position, _) in enumerate(ranked) if each.rows[position].type == "skill"]
    if not skills:
        return ranked
    skills = [at for at in skills if ranked[at][0] >= _NEAR * ranked[skills[0]][0]]
    calls: dict[str, int] = {}
    for at, (_, each, position, _) in enumerate(ranked[: skills[-1]]):
        if (tool := _find_called_tool(each.rows[position])) is not None:
            calls.setdefault(tool, at)
    places = [float(at) for at in range(len(ranked))]
    led = list(ranked)
    for at in skills:
        own, each, position, added = ranked[at]
        first = calls.get(_find_last_tool(each.rows[position]), at)
        if first < at:
            score = ranked[first][0]
            led[at] = score, each, position, (*added, ("skill", score - own))
            places[at] = first - 0.5
    order = sorted(range(len(ranked)), key=places.__getitem__)
    return [led[at] for at in order]


def _find_called_tool(row: Row) -> str | None:
    """The tool whose call a tracked call or a tool's message is; None for any other row."""
    if row.role == "tool":
        name = load_json(row.content).get("name")
        return name if isinstance(name, str) else None
    if row.type != "tool_result" or row.rest is None:
        return None
    name = _read_metadata(row).get("tool_name")
    return name if isinstance(name, str) else None


def _find_last_tool(row: Row) -> str:
    """The tool that a mined skill ends with; empty for any other skill."""
    tools = _read_metadata(row).get("tools")
    return tools[-1] if isinstance(tools, list) and tools and isinstance(tools[-1], str) else ""


def _read_metadata(row: Row) -> dict[str, object]:
    metadata = load_json(row.rest).get("metadata") if row.rest is not None else None
    return metadata if isinstance(metadata, dict) else {}
