"""What is found for a question, beside what others find: `make bench-recall`.

The sets, each measured for itself by ``--set NAME …`` (all by default):

- ``locomo``: evidence in the context, by budget and category (`WMEM_LOCOMO` names a file in LoCoMo's format).
- ``lmeb``: the same questions, those of the fifth category too, in the form of LMEB: NDCG@10 and recall@10
  of `Scope.recall`.
- ``two-words``: LoCoMo's questions cut to their two rarest words.
- ``foreign``: questions about talks, asked of LoCoMo: how many find nothing.
- ``precision``: what item search must and must not bring (`WMEM_PRECISION` names a folder).
- each family of talks in the folder that `WMEM_TALKS` names, as ``tau`` or ``beam``: the share of the conditions that
  hold; and what `derived` makes of it, as ``tau-flat``, ``tau-half``, ``beam-again`` (any of the three of any family).

wmem is asked as it comes, with a tail of the newest messages in half of the room; with recall first
(``tail=0``), for questions about a long past; and of talks by recall alone, without standing requests.

Options: ``--ours`` leaves the peers out; ``--budgets N …`` says how many tokens beside 1,024 (4,096 by default);
``--scoring JSON`` ranks by other coefficients, as ``'{"user": 2}'`` (`RecallProfile` has their names); ``--json FILE``
writes wmem's figures by name, those of each conversation and talk too, so that coefficients can be chosen on all sets
but one and judged by that one. At the end stands which of the wanted figures are held; the exit code is 1 where one is
MISSED.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.bench.recall.conversations import Conversation, conversations, where
from tests.bench.recall.derived import VARIANTS, measure_foreign, measure_two_words
from tests.bench.recall.evidence import measure_evidence
from tests.bench.recall.options import Options
from tests.bench.recall.precision import measure_precision
from tests.bench.recall.ranking import measure_ranking
from tests.bench.recall.talks import Talk, list_talk_files, measure_talks, read_talk
from wmem import RecallProfile

__all__ = ["WANTED", "judge", "main"]

WANTED: Mapping[str, float] = {
    "locomo, as it comes, at 512": 60,
    "locomo, as it comes, at 1,024": 72,
    "locomo, as it comes, at 2,048": 82,
    "locomo, as it comes, at 4,096": 88,
    "locomo at 512": 77.5,
    "locomo at 1,024": 86,
    "locomo at 2,048": 89.6,
    "locomo at 4,096": 94,
    "locomo, single-hop at 1,024": 93,
    "locomo, temporal at 1,024": 86,
    "locomo, multi-hop at 1,024": 57,
    "locomo, answer words in the text, temporal": 68,
    "locomo, half evicted, at 1,024": 55,
    "lmeb NDCG@10": 55,
    "lmeb recall@10": 71,
    "lmeb, multi-hop recall@10": 47,
    "lmeb, adversarial NDCG@10": 54,
    "tau at 1,024": 90,
    "tau at 4,096": 99,
    "tau-flat at 1,024": 95,
    "tau-half at 1,024": 80,
    "glaive-zh at 1,024": 99.5,
    "glaive-zh at 4,096": 100,
    "crosswoz at 1,024": 100,
    "beam, by recall alone, at 1,024": 62,
    "beam, by recall alone, at 4,096": 80,
    "beam at 1,024": 68,
    "beam at 4,096": 84,
    "beam, contradiction_resolution at 1,024": 83,
    "beam, information_extraction at 1,024": 64,
    "beam, instruction_following at 1,024": 85,
    "beam, preference_following at 1,024": 85,
    "beam-again at 1,024": 97,
    "precision, one scope: precision": 0.55,
    "precision, one scope: recall": 0.9,
    "precision, a scope per domain: precision": 0.65,
    "precision, a scope per domain: recall": 0.9,
    "foreign questions with an empty note, %": 30,
}
"""The least of each figure, recall first where no other way is named."""
_AT = 1_024
_FAULTS = ("contexts above their budget", "turns counted whose text is not there")
"""Figures that end so are to be 0."""
_DERIVED = ("tau-flat", "tau-half", "glaive-zh-half", "beam-again")


def judge(figures: Mapping[str, float], least: Mapping[str, float] = WANTED) -> tuple[list[str], bool]:
    """A line for each figure that something is wanted of, and whether all of it holds."""
    checks = [
        (name, value, value >= least[name], f"wanted {least[name]}") for name, value in figures.items() if name in least
    ]
    checks += [(name, value, value == 0, "wanted 0") for name, value in figures.items() if name.endswith(_FAULTS)]
    lines = [
        f"  {'held' if held else 'MISSED':7}{name}: {value:.4g} ({wanted})" for name, value, held, wanted in checks
    ]
    return lines, all(held for _, _, held, _ in checks)


def _measure(name: str, families: Mapping[str, Sequence[Path]], options: Options) -> Mapping[str, float]:
    match name:
        case "locomo":
            return measure_evidence(_conversations(), options)
        case "lmeb":
            return measure_ranking(_conversations(), options)
        case "two-words":
            return measure_two_words(_conversations(), options)
        case "foreign":
            others = [talk for family in ("beam", "tau") for talk in _talks(family, families)]
            return measure_foreign(_conversations(), others, options)
        case "precision":
            return measure_precision(options)
        case _:
            return measure_talks(_talks(name, families), options)


@cache
def _conversations() -> list[Conversation]:
    return conversations(where())


def _talks(name: str, families: Mapping[str, Sequence[Path]]) -> list[Talk]:
    if name in families:
        return [read_talk(path) for path in families[name]]
    family, _, variant = name.rpartition("-")
    return [VARIANTS[variant](read_talk(path)) for path in families.get(family, ())]


def _families() -> dict[str, list[Path]]:
    families: dict[str, list[Path]] = {}
    for path in list_talk_files():
        families.setdefault(read_talk(path).family, []).append(path)
    if not families:
        print("left out: no talks in the chat form; WMEM_TALKS names a folder of them")
    return families


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 if what is wanted does not hold."""
    began = time.perf_counter()
    families = _families()
    own = ["locomo", "lmeb", "two-words", "foreign", "precision"]
    derived = [f"{family}-{variant}" for family in families for variant in VARIANTS]
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--set", nargs="+", choices=[*own, *families, *derived], metavar="NAME")
    reader.add_argument("--ours", action="store_true")
    reader.add_argument("--budgets", nargs="+", type=int, default=Options().budgets, metavar="N")
    reader.add_argument("--scoring", type=json.loads, metavar="JSON")
    reader.add_argument("--json", type=Path, metavar="FILE")
    read = reader.parse_args(arguments)
    budgets = sorted({_AT, *read.budgets})
    options = Options(budgets, read.ours, RecallProfile(**read.scoring) if read.scoring else "evidence")
    figures: dict[str, float] = {}
    for name in read.set or [*own, *families, *(each for each in _DERIVED if each in derived)]:
        print(f"\n== {name}", flush=True)
        figures |= _measure(name, families, options)
    lines, held = judge(figures)
    print("", *lines, "", f"took {time.perf_counter() - began:.0f} s", sep="\n")
    if read.json is not None:
        read.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
