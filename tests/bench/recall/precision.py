"""What a search of items must and must not bring: precisionMemBench's beliefs, one item each.

An item says a belief's name, aliases, content and why it matters. Precision is the mean over the
cases that find anything, recall the mean over those that want anything. A case is passed when exactly what it
wants came; pinned beliefs are given with every prompt, and may come or not.
"""

import json
import os
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import wmem
from tests.bench.recall.options import Options

__all__ = ["Case", "Outcome", "measure_precision", "read_beliefs"]

_VARIABLE = "WMEM_PRECISION"
_DEFAULT = "../shared/data/precision"
_LIMIT = 100


class Case(NamedTuple):
    """A query, the domain it is asked in, and the beliefs that are to come."""

    query: str
    domain: str
    beliefs: frozenset[str]


class Outcome(NamedTuple):
    """Means in [0, 1], and how many cases there were."""

    precision: float
    recall: float
    passed: int
    cases: int

    @classmethod
    def of(cls, cases: Sequence[Case], results: Sequence[Collection[str]], pinned: Collection[str]) -> "Outcome":
        pairs = [(case.beliefs, set(found)) for case, found in zip(cases, results, strict=True)]
        precisions = [len(found & relevant) / len(found) for relevant, found in pairs if found]
        recalls = [len(found & relevant) / len(relevant) for relevant, found in pairs if relevant]
        passed = sum(found - set(pinned) == relevant for relevant, found in pairs)
        return cls(statistics.fmean(precisions or [1.0]), statistics.fmean(recalls or [1.0]), passed, len(pairs))


def read_beliefs(folder: Path) -> tuple[list[Mapping[str, Any]], list[Case]]:
    """The beliefs of a folder, and all its cases."""
    beliefs = json.loads((folder / "beliefs.json").read_text("utf-8"))
    cases = [
        Case(each["query"], each["scope"][0], frozenset(each["expect"]["relevantBeliefs"]["shouldOnlyInclude"]))
        for path in sorted(folder.glob("cases*.json"))
        for each in json.loads(path.read_text("utf-8"))
    ]
    return beliefs, cases


def measure_precision(options: Options) -> dict[str, float]:
    """Search all beliefs in one scope, and those of a domain in a scope of its own; print it and return the figures."""
    folder = Path(os.environ.get(_VARIABLE) or _DEFAULT)
    if not folder.is_dir():
        print(f"left out: no beliefs at {folder}; {_VARIABLE} names a folder with beliefs.json and cases*.json")
        return {}
    beliefs, cases = read_beliefs(folder)
    pinned = {each["_id"] for each in beliefs if each["pinned"]}
    print(f"{f'{len(beliefs)} beliefs, {len(cases)} cases':30}{'precision':>12}{'recall':>12}{'passed':>12}")
    figures: dict[str, float] = {}
    with wmem.open("memory://", agent_id="bench", policy=wmem.Policy().with_profile(options.scoring)) as memory:
        for name, to_scope in _ARRANGEMENTS.items():
            outcome = Outcome.of(cases, _search(memory, beliefs, cases, to_scope), pinned)
            print(f"{name:30}{outcome.precision:12.2f}{outcome.recall:12.2f}{outcome.passed:12}")
            figures |= {
                f"precision, {name}: precision": outcome.precision,
                f"precision, {name}: recall": outcome.recall,
                f"precision, {name}: passed": outcome.passed,
            }
    return figures


_ToScope: TypeAlias = Callable[[str], str]
_ARRANGEMENTS: Mapping[str, _ToScope] = {
    "one scope": lambda _: "all",
    "a scope per domain": lambda domain: domain.replace(":", "-"),
}


def _search(
    memory: wmem.AgentMemory, beliefs: Sequence[Mapping[str, Any]], cases: Sequence[Case], to_scope: _ToScope
) -> list[list[str]]:
    by_item = {memory.scope(to_scope(each["scope"][0])).items.add(_to_text(each)).id: each["_id"] for each in beliefs}
    return [
        [by_item[item.id] for item in memory.scope(to_scope(case.domain)).items.search(case.query, limit=_LIMIT)]
        if case.query.strip()
        else []
        for case in cases
    ]


def _to_text(belief: Mapping[str, Any]) -> str:
    name, aliases = belief["canonical_name"].replace("_", " "), ", ".join(belief["aliases"])
    return ". ".join(filter(None, (name, aliases, belief["content"], belief["why_it_matters"])))
