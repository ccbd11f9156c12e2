"""Rounds of chaos on each backend end as the plain model says, and the model sees what is planted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.log import Op, make_token
from tests.chaos.model import LONG, Model
from tests.unmeasured import unmeasured_environment

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SEED = "9"


def _play(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the driver in a process of its own: it forks, which the test's process should not."""
    words = [sys.executable, str(HERE / "driver.py"), "--seed", SEED, "--keep", str(place / "kept"), *arguments]
    path = os.pathsep.join([str(ROOT / "core"), str(ROOT)])
    return subprocess.run(
        words, capture_output=True, encoding="utf-8", check=False, env={**unmeasured_environment(), "PYTHONPATH": path}
    )


def test_a_round_of_chaos_on_each_backend_loses_doubles_and_leaves_nothing(tmp_path: Path) -> None:
    short = ("--leg-seconds", "1", "--legs", "1")
    played = _play(tmp_path, "--rounds", "0-3", *short)
    assert played.returncode == 0, played.stdout + played.stderr
    assert "4 rounds" in played.stdout


PLANTED = {
    "hang": "hang: ",
    "skip": "is lost",
    "stale": "expected",
    "double": "count of",
    "loose": "KeyError: 'planted'",
    "leave": "erased, and left in the store's bytes",
}


def test_a_fault_that_a_worker_plants_fails_its_round_and_is_named(tmp_path: Path) -> None:
    calm = ("kills", "interrupts", "forks", "cancellations", "closes", "bring")
    planted = ("--backends", "memory,memory,memory,memory,memory,sqlite", "--plants", ",".join(PLANTED))
    for seconds in ("0.6", "6", "20"):  # a busy machine may not get that far in a short leg
        place = tmp_path / seconds
        place.mkdir()
        short = ("--legs", "1", "--leg-seconds", seconds, "--without", ",".join(calm))
        state = ("--state", str(place / "state"))
        # What is slow is not to be taken for what hangs, where nothing else is looked for.
        begun = _play(place, *short, *planted, *state, "--rounds", "0", "--hang-seconds", "0.5")
        played = _play(place, *short, *planted, *state, "--rounds", "1-5", "--resume")
        _, *rounds = map(json.loads, (place / "state").read_text().splitlines())
        missed = [
            (plant, each["faults"])
            for each, (plant, seen) in zip(rounds, PLANTED.items(), strict=True)
            if not any(seen in fault for fault in each["faults"])
        ]
        if not missed:
            break
    assert not missed
    assert begun.returncode == played.returncode == 1, played.stdout + played.stderr
    assert "6 rounds" in played.stdout, "what was played before is told too"
    assert f'again: make chaos CHAOS="--seed {SEED} --rounds 5 ' in played.stdout
    assert (place / "kept" / "round-5" / "store.db").exists(), "the files of a failed round stay"


# -- the model by itself


def _op(at: int, name: str, given: dict[str, object], *, outcome: str = "done", reply: object = None) -> Op:
    return Op(f"op-{at}", "writer", name, "s", given, at, at + 1 if outcome == "done" else float("inf"), outcome, reply)


EMPTY: dict[str, object] = {"messages": [], "entries": {}, "items": []}
A, B, C = (make_token(letter) for letter in "abc")
SAID = [_op(0, "say", {"messages": [["m1", A]]}), _op(2, "say", {"messages": [["m2", B], ["m3", C]]})]
BATCH_IN_DOUBT = [SAID[0], SAID[1]._replace(outcome="unknown", end=float("inf"))]
KEYS = [_op(0, "set", {"key": "k", "token": A}), _op(2, "set", {"key": "k", "token": B}, outcome="unknown")]
ERASED = [
    _op(0, "add", {"item": A, "token": A}),
    _op(2, "promote", {"item": A}),
    _op(4, "erase", {"things": [["item", A, A]]}, reply={"complete": True}),
]


@pytest.mark.parametrize(
    ("ops", "facets", "fault"),
    [
        (SAID, {"messages": [["m1", A], ["m2", B], ["m3", C]]}, ""),
        (SAID, {"messages": [["m1", A]]}, "is lost"),
        (SAID, {"messages": [["m1", A], ["m1", A], ["m2", B], ["m3", C]]}, "2 times"),
        (SAID, {"messages": [["m2", B], ["m3", C], ["m1", A]]}, "comes after"),
        (SAID, {"messages": [["m1", A], ["m2", B], ["m3", C], ["m4", A]]}, "never written"),
        (BATCH_IN_DOUBT, {"messages": [["m1", A]]}, ""),
        (BATCH_IN_DOUBT, {"messages": [["m1", A], ["m2", B]]}, "torn"),
        (KEYS, {"entries": {"k": A}}, ""),
        (KEYS, {"entries": {"k": B}}, ""),
        (KEYS, {"entries": {}}, "is lost"),
        (KEYS, {"entries": {"k": C}}, "is wrong"),
        (ERASED, {}, ""),
        (ERASED, {"items": [[A, A]]}, "is erased, and there"),
        ([_op(0, "bump", {}, reply=1)], {"entries": {"count": 2}}, "count of s is 2"),
        ([_op(0, "bump", {}, reply=1), _op(2, "bump", {}, outcome="unknown")], {"entries": {"count": 2}}, ""),
    ],
)
def test_the_model_allows_what_may_be_and_nothing_else(ops: list[Op], facets: dict[str, object], fault: str) -> None:
    faults = Model(ops).faults({"s": {**EMPTY, **facets}, LONG: EMPTY})
    assert not faults if not fault else any(fault in each for each in faults), faults


def test_the_model_sees_an_erased_item_in_long_term_memory() -> None:
    (fault,) = Model(ERASED).faults({"s": EMPTY, LONG: {**EMPTY, "items": [[f"s {A}", A]]}})
    assert "is erased, and there" in fault
    assert Model(ERASED).erased == {A}
    assert A not in Model(ERASED).live_tokens()


def test_a_copy_that_was_promoted_anew_since_it_was_listed_may_stay_and_no_other() -> None:
    name = f"s {A}"
    content: dict[str, object] = {"messages": [], "entries": {}, "items": [[A, A]]}
    erase: dict[str, object] = {"things": [["item", name, A]], "listing": "first"}
    ops = [
        _op(0, "import", content),
        _op(2, "promote", {"item": A}),
        _op(4, "list", {"listing": "first"})._replace(scope=LONG),
        _op(6, "erase", erase, reply={"complete": True})._replace(scope=LONG),
    ]
    there = {"s": content, LONG: {**EMPTY, "items": [[name, A]]}}
    assert "is wrong" in Model(ops).faults(there)[0]
    again = [
        _op(8, "import", content),
        _op(10, "promote", {"item": A}),
        _op(12, "list", {"listing": "second"})._replace(scope=LONG),
        _op(14, "erase", erase, reply={"complete": True})._replace(scope=LONG),
    ]
    assert Model([*ops, *again]).faults(there) == []
    again[-1] = again[-1]._replace(given={**erase, "listing": "second"})
    assert "is wrong" in Model([*ops, *again]).faults(there)[0]
