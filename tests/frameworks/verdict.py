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
        error: A part of its error: it may fail in no other way.
        reason: Why, in a sentence.
    """

    where: frozenset[str]
    test: str
    error: str
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
        unstable: Tests that failed, and passed when they were run again.
    """

    failures: Sequence[str]
    passes: Sequence[Listed]
    faults: Sequence[str]
    counts: Mapping[str, int]
    unstable: Sequence[str] = ()

    @property
    def is_good(self) -> bool:
        """Whether nothing failed that is not listed."""
        return not self.failures and not self.faults

    def repeat(self, report: str | None) -> "Verdict":
        """The verdict after its failures were run once more, alone: many of theirs look at a clock."""
        again: Mapping[str, str] = {} if report is None else json.loads(report)["outcomes"]
        unstable = [test for test in self.failures if again.get(test) == "passed"]
        return self._replace(failures=[test for test in self.failures if test not in unstable], unstable=unstable)


def read_list(file: Path) -> list[Listed]:
    """The exceptions of a suite: lines of ``where | test | error | reason``; ``#`` begins a comment."""
    lines = [line for line in file.read_text().splitlines() if line.strip() and not line.startswith("#")]
    parts = [[part.strip() for part in line.split(" | ")] for line in lines]
    return [Listed(frozenset(where.split()), test, error, reason) for where, test, error, reason in parts]


def judge(report: str | None, listed: Sequence[Listed], words: Sequence[str]) -> Verdict:
    """The verdict on what `wmem_run` wrote; None if it wrote nothing."""
    read = {"outcomes": {}, "errors": {}, "uses": {}} if report is None else json.loads(report)
    outcomes: Mapping[str, str] = read["outcomes"]
    errors: Mapping[str, str] = read["errors"]
    expected = {each.test: each for each in listed if each.applies(words)}
    failures = [test for test in errors if test not in expected or expected[test].error not in errors[test]]
    faults = [f"is listed, but is no test: {each.test}" for each in listed if each.test not in outcomes]
    if not outcomes:
        faults = ["no test ran"]
    elif words and not (read["uses"] and all(read["uses"].values())):
        faults.append(f"a plugin of wmem puts nothing in place any more: uses {read['uses']}")
    return Verdict(
        failures=failures,
        passes=[each for test, each in expected.items() if outcomes.get(test) == "passed"],
        faults=faults,
        counts={**Counter(outcomes.values()), "listed": len(errors) - len(failures)},
    )
