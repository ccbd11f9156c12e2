"""Runs other projects' own tests with wmem in the place of their memory: see tests/README.md.

It fails where a test fails twice that is not in the written list of its suite, in `exceptions/`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.frameworks.suites import CACHE, HERE, ROOT, SUITES, Run, Suite
from tests.frameworks.verdict import Verdict, judge, read_list

_TAIL_LINES = 80
_IN_MEMORY = Path("/dev/shm")


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for; 0 if nothing failed that is not listed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", help="some of: " + ", ".join(suite.name for suite in SUITES))
    parser.add_argument("--full", action="store_true", help="every run, and those without wmem")
    parser.add_argument("--workers", default="2", help="processes of a run")
    chosen = parser.parse_args(arguments)
    verdicts = [
        verdict
        for suite in SUITES
        if not chosen.suites or suite.name in chosen.suites
        for verdict in run_suite(suite, full=chosen.full, workers=chosen.workers)
    ]
    return 0 if verdicts and all(verdict.is_good for verdict in verdicts) else 1


def run_suite(suite: Suite, *, full: bool, workers: str) -> list[Verdict]:
    """Run a suite in its ways, and print a line for each."""
    folder = suite.find_folder()
    if folder is None:
        print(f"{suite.name}: its tests are not on this machine; left out", flush=True)
        return []
    listed = read_list(HERE / "exceptions" / f"{suite.name}.txt")
    verdicts = []
    for run in suite.runs:
        if run.always or full:
            began = time.monotonic()
            report, output = run_tests(suite, run, folder, workers)
            verdict = judge(report, listed, run.words)
            if verdict.failures and not verdict.faults:
                again = suite._replace(tests=verdict.failures)
                verdict = verdict.repeat(run_tests(again, run, folder, workers="0")[0])
            verdicts.append(verdict)
            _print_verdict(f"{suite.name}, {' and '.join(run.words) or 'without wmem'}", verdict, output, began)
    return verdicts


def run_tests(suite: Suite, run: Run, folder: Path, workers: str) -> tuple[str | None, str]:
    """Run a suite in one way: what `wmem_run` wrote, if anything, and what pytest printed."""
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None) as scratch:
        report = Path(scratch) / "report.json"
        # `addopts` of theirs ask for much printing; benchmarks refuse to run among workers.
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-n", workers, "--timeout=120", "-o", "addopts="]
        command += ["-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "wmem_run", f"--wmem-report={report}"]
        command += [*suite.options, f"--wmem-folder={scratch}"]
        command += ["-p", suite.placing, *run.options] if run.words else []
        done = subprocess.run(
            [*command, *suite.tests],
            cwd=folder,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return report.read_text() if report.exists() else None, done.stdout


def _environment() -> dict[str, str]:
    """No key and no switch of a paid service; the plugins, what they need, and wmem before anything of that name."""
    hidden = ("OPENAI_", "ANTHROPIC_", "LANGSMITH_", "LANGCHAIN_", "COV_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    paths = [ROOT / "core", ROOT, HERE / "plugins", CACHE / "site"]
    return environment | {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",  # into folders that are not ours
        "IS_TESTING": "1",  # LlamaIndex then takes its mock for the model that nobody named
    }


def _print_verdict(name: str, verdict: Verdict, output: str, began: float) -> None:
    counts = [f"{verdict.counts.get(word, 0)} {word}" for word in ("passed", "failed", "listed", "skipped")]
    print(f"{name}: {', '.join(counts)}, {time.monotonic() - began:.0f} s", flush=True)
    for listed in verdict.passes:
        print(f"  passes although it is listed: {listed.test} ({listed.reason})")
    for test in verdict.unstable:
        print(f"  failed, and passed when it was run again alone: {test}")
    for line in (*verdict.faults, *(f"FAILED {test}" for test in verdict.failures)):
        print(f"  {line}")
    if not verdict.is_good:
        print(*output.splitlines()[-_TAIL_LINES:], sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
