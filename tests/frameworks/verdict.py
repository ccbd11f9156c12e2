"""What a run of other projects' tests says of wmem, by the written list of what must differ."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Listed(NamedTuple):
    """A test that may fail.

    Attributes:
        where: Words of the runs in which it fails: ``any`` for all, ``wmem`` for those with it, ``without`` for those
            without it, or the run's own.
        reason: Why, in a sentence.
    """

    where: frozenset[str]
    test: str
    reason: str

    def applies(self, words: Iterable[str]) -> bool:
        """Whether it is expected to fail in a run of these words."""
        return self.where <= {"any", *(("wmem", *words) if words else ("without",))}


class Verdict(NamedTuple):
    """The outcome of one run.

    Attributes:
        failures: Tests that failed and are not listed for it.
        passes: Tests that are listed for it, and passed.
        faults: Why the run as a whole says nothing.
        counts: Tests by outcome; ``listed`` is how many of the failed ones are listed.
    """

    failures: Sequence[str]
    passes: Sequence[Listed]
    faults: Sequence[str]
    counts: Mapping[str, int]

    @property
    def is_good(self) -> bool:
        """Whether nothing failed that is not listed."""
        return not self.failures and not self.faults


def read_list(file: Path) -> list[Listed]:
    """The exceptions of a suite: lines of ``where | test | reason``; ``#`` begins a comment."""
    lines = [line for line in file.read_text().splitlines() if line.strip() and not line.startswith("#")]
    parts = [[part.strip() for part in line.split(" | ")] for line in lines]
    return [Listed(frozenset(where.split()), test, reason) for where, test, reason in parts]


def judge(report: str | None, listed: Sequence[Listed], words: Sequence[str]) -> Verdict:
    """The verdict on what `wmem_run` wrote; None if it wrote nothing."""
    read = {"outcomes": {}, "uses": {}} if report is None else json.loads(report)
    outcomes: Mapping[str, str] = read["outcomes"]
    expected = {each.test: each for each in listed if each.applies(words)}
    failed = [test for test, outcome in outcomes.items() if outcome == "failed"]
    faults = [f"is listed, but is no test: {each.test}" for each in listed if each.test not in outcomes]
    if not outcomes:
        faults = ["no test ran"]
    elif words and not (read["uses"] and all(read["uses"].values())):
        faults.append(f"a plugin of wmem puts nothing in place any more: uses {read['uses']}")
    return Verdict(
        failures=[test for test in failed if test not in expected],
        passes=[each for test, each in expected.items() if outcomes.get(test) == "passed"],
        faults=faults,
        counts=Counter([*outcomes.values(), *("listed" for test in failed if test in expected)]),
    )
