"""Other projects' own tests, and the ways in which they are run with wmem in the place of their memory."""

import hashlib
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
CACHE = ROOT / ".frameworks"
_PINS = HERE / "sdists.txt"


class Run(NamedTuple):
    """One way to run a suite.

    Attributes:
        words: What it is, as exceptions name it; empty: without wmem.
        options: pytest's, by which the placing plugin knows.
        always: Whether it is run each time, and not only where everything is asked for.
    """

    words: tuple[str, ...]
    options: Sequence[str] = ()
    always: bool = False


class Suite(NamedTuple):
    """The tests of one project.

    Attributes:
        name: Its name; also that of the file of its exceptions.
        find_folder: Finds the folder that they are run in; None if they are not on this machine.
        tests: Files and folders below it.
        placing: The plugin that puts wmem in place.
        options: pytest's, in each run.
        runs: The ways to run it.
    """

    name: str
    find_folder: Callable[[], Path | None]
    tests: Sequence[str]
    placing: str
    options: Sequence[str]
    runs: Sequence[Run]


def read_pins() -> dict[str, str]:
    """Versions by the name of the distribution."""
    lines = [line.partition(" ")[0] for line in _PINS.read_text().splitlines() if not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def unpack_sdist(name: str) -> Path:
    """The folder of the tests in a pinned source distribution, which is downloaded unless it is there.

    Only its tests: the package that they are about is the one that is installed.
    """
    folder = CACHE / f"{name.replace('-', '_')}-{read_pins()[name]}"
    archive = folder.parent / f"{folder.name}.tar.gz"
    if not _is_pinned(archive):
        options = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes"]
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-qq"]
        subprocess.run([*pip, *options, "-r", str(_PINS), "-d", str(CACHE)], check=True)
    if not folder.exists():
        with tarfile.open(archive) as sdist:
            inside = [each for each in sdist if each.name.partition("/")[2].startswith(("tests/", "pyproject.toml"))]
            sdist.extractall(CACHE, members=inside, filter="data")
    return folder


def _is_pinned(archive: Path) -> bool:
    return archive.exists() and hashlib.sha256(archive.read_bytes()).hexdigest() in _PINS.read_text()


def find_llamaindex() -> Path | None:
    """The folder of LlamaIndex's tests, which no source distribution carries: ``shared`` lies beside the checkout."""
    folder = Path(os.environ.get("WMEM_LLAMAINDEX_TESTS", ROOT.parent / "shared" / "foreign" / "llamaindex"))
    return folder if folder.is_dir() else None


_SOCKETS = ("--disable-socket", "--allow-unix-socket")  # LangChain's own way to keep its tests off the network

SUITES: Sequence[Suite] = (
    Suite(
        name="langchain_agents",
        find_folder=lambda: unpack_sdist("langchain"),
        tests=("tests/unit_tests/agents",),
        placing="wmem_agents",
        options=(*_SOCKETS, "-p", "loop_watch"),
        runs=(
            Run(()),
            Run(("first", "memory"), ("--wmem-place=first",)),
            Run(("first", "disk"), ("--wmem-place=first", "--wmem-store=disk"), always=True),
            Run(("last", "memory"), ("--wmem-place=last",), always=True),
            Run(("last", "disk"), ("--wmem-place=last", "--wmem-store=disk")),
        ),
    ),
    Suite(
        name="langchain_histories",
        find_folder=lambda: unpack_sdist("langchain-core"),
        tests=("tests/unit_tests/runnables/test_history.py", "tests/unit_tests/chat_history"),
        placing="wmem_histories",
        options=(*_SOCKETS, "-n0"),
        runs=(
            Run(()),
            Run(("memory",), always=True),
            Run(("sqlite",), ("--wmem-store=sqlite",), always=True),
            Run(("disk",), ("--wmem-store=disk",), always=True),
        ),
    ),
    Suite(
        name="langchain_tools",
        find_folder=lambda: HERE / "standard",
        tests=("langchain_tools.py",),
        placing="wmem_tool_sets",
        options=(*_SOCKETS, "-n0", "-oasyncio_mode=auto", f"-c{os.devnull}", "--rootdir=."),
        runs=(Run(("memory",), always=True), Run(("sqlite",), ("--wmem-store=sqlite",), always=True)),
    ),
    Suite(
        name="llamaindex",
        find_folder=find_llamaindex,
        tests=(
            "tests/chat_engine",
            "tests/agent/workflow",
            "tests/memory/test_memory_base.py",
            "tests/memory/test_chat_memory_buffer.py",
        ),
        placing="wmem_memories",
        # Their conftest imports what is not there.
        options=("--noconftest", f"-c{os.devnull}", "--rootdir=.", "-oasyncio_mode=auto", "-pllamaindex_fixtures"),
        runs=(
            Run(()),
            Run(("memory",)),
            Run(("memory", "models"), ("-p", "wmem_models"), always=True),
            Run(("sqlite",), ("--wmem-store=sqlite",)),
        ),
    ),
)
