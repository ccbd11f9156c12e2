"""A pytest plugin: gives each memory of a run a store of its own, and writes what became of each test as JSON.

It and its neighbours are loaded by name into runs of other projects' tests, whose own `tests` package
they must not hide: they import nothing of this one.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

_USES = pytest.StashKey[Counter[str]]()


def expect_use(config: pytest.Config, use: str) -> None:
    """Count from none: a use that is expected and never made is a fault of the run."""
    config.stash[_USES][use] = 0


def new_store(config: pytest.Config, use: str) -> str:
    """The URL of a new store of the run's kind.

    Args:
        use: What it is for; counted.
    """
    config.stash[_USES][use] += 1
    kind, name = config.getoption("--wmem-store"), uuid4().hex
    return f"memory://{name}" if kind == "memory" else f"{kind}://{config.getoption('--wmem-folder') / name}"


class Report:
    """Outcomes by test: ``passed``, ``failed`` or ``skipped``, that of the worst phase; and the errors."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._outcomes: dict[str, str] = {}
        self._errors: dict[str, str] = {}
        self._uses: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._outcomes.get(report.nodeid) != "failed" and (report.when == "call" or not report.passed):
            self._add(report)

    def _add(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        self._outcomes[report.nodeid] = report.outcome
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self._errors[report.nodeid] = str(report.longrepr if crash is None else crash.message)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._add(report)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        self._uses.update(getattr(node, "workeroutput", {}).get("uses"))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        counted: Counter[str] = session.config.stash[_USES]
        self._uses.update(counted)
        self._file.write_text(json.dumps({"outcomes": self._outcomes, "errors": self._errors, "uses": self._uses}))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--wmem-report", type=Path, help="the file that the outcomes are written to")
    parser.addoption("--wmem-store", choices=["memory", "sqlite", "disk"], default="memory", help="the kind of stores")
    parser.addoption("--wmem-folder", type=Path, help="the folder that stores on disk are made in")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.stash[_USES] = Counter()
    if not hasattr(config, "workerinput"):  # else its controller writes
        config.pluginmanager.register(Report(config.getoption("--wmem-report")))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand a worker's counts to its controller."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        counted: Counter[str] = session.config.stash[_USES]
        output["uses"] = dict(counted)
