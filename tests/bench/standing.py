"""How many lines of users are taken for standing requests, and what that brings: `python tests/bench/standing.py`.

Reads the talks in ``../shared/data/talks``, or where WMEM_TALKS says; with ``--lines`` it prints what it flags.
"""

import inspect
import json
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import wmem
from wmem import find_standing_requests

__all__ = ["main"]

_BUDGET = 1_024
_MOST_FLAGGED = 0.05
_LEAST = {"instruction_following": 85, "preference_following": 85}


def _flag(talk: Mapping[str, Any], *, show: bool) -> tuple[int, int]:
    """How many lines of the user there are, and how many are flagged."""
    lines = [each["content"] for each in talk["messages"] if each["role"] == "user" and each["content"]]
    flagged = [found for line in lines if (found := find_standing_requests(line))]
    for request in (each for found in flagged for each in found) if show else ():
        print(f"  {request.rule}: {request.text}")
    return len(lines), len(flagged)


def _ask(talk: Mapping[str, Any], *, standing: bool) -> dict[str, list[float]]:
    """By kind of question, the shares of the evidence in packs that recall first."""
    shares: dict[str, list[float]] = defaultdict(list)
    same: dict[tuple[str, str], set[str]] = defaultdict(set)
    by_id = {each["id"]: (each["role"], each["content"]) for each in talk["messages"]}
    for id, said in by_id.items():
        same[said].add(id)
    with wmem.open("memory://", agent_id="bench") as memory:
        session = memory.scope("s", policy=wmem.Policy(standing_requests=standing))
        session.messages.append(talk["messages"])
        first: dict[str, Any] = {"tail": 0} if "tail" in inspect.signature(session.pack).parameters else {}
        for question in talk["questions"]:
            if question["kind"] not in _LEAST:
                continue
            context = session.pack(question["text"], budget=_BUDGET, **first)
            held = {id for unit in (*context.included, *context.truncated) for id in unit.ids}
            holds = [not same[by_id[each]].isdisjoint(held) for each in question["evidence"]]
            shares[question["kind"]].append(statistics.fmean(holds))
    return shares


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 if what is wanted does not hold."""
    where = Path(os.environ.get("WMEM_TALKS") or "../shared/data/talks")
    talks = [json.loads(path.read_text("utf-8")) for path in sorted(where.glob("*.json"))]
    if not talks:
        print(f"no talks at {where}: set WMEM_TALKS")
        return 1
    lines = flagged = 0
    for talk in talks:
        total, found = _flag(talk, show="--lines" in arguments)
        print(f"{talk['name']:20}{total:6} lines of the user, {found:3} flagged")
        lines, flagged = lines + total, flagged + found
    print(f"{'together':20}{lines:6} lines of the user, {flagged:3} flagged, {100 * flagged / lines:.1f} %")
    held = flagged <= _MOST_FLAGGED * lines
    for standing in (False, True):
        shares: dict[str, list[float]] = defaultdict(list)
        for talk in talks:
            for kind, values in _ask(talk, standing=standing).items():
                shares[kind] += values
        for kind, values in shares.items():
            share = 100 * statistics.fmean(values)
            print(f"{kind} at {_BUDGET:,}, standing requests {'on' if standing else 'off'}: {share:.1f} %")
            held = held and (not standing or share >= _LEAST[kind])
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
