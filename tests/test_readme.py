"""Every example of the README runs as printed, without a key and without warnings; what the pages name is there."""

import importlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
ELSEWHERE = ("class TestJournal", "wmem.propose_profile")
"""In the blocks that other tests run: `test_own_backend.py` and `test_tuning.py`."""
NOBODY = 65534
PAGES = {
    name: (ROOT / name).read_text("utf-8")
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
}
EXAMPLES = [block for block in BLOCKS if not any(mark in block for mark in ELSEWHERE)]
MY_PACKAGE = """
from tests.conformance.own_journal import DictJournal

def MyJournal(place):
    return DictJournal()
"""


@pytest.fixture(scope="module")
def python() -> list[str]:
    """This Python, where possible for somebody who is not root: who reads everything, as root's home may hold it."""
    command = [sys.executable, "-W", "error"]
    if os.geteuid() != 0:
        return command
    other = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    other += [f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient")]
    try:
        subprocess.run([*other, *command, "-c", "import pydantic"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return command
    return [*other, *command]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One folder for all examples, which continue one session; pytest's own is closed to other users."""
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / "my_package.py").write_text(MY_PACKAGE)
        Path(made).chmod(0o777)
        yield Path(made)


def run(code: str, python: list[str], folder: Path) -> str:
    """What an example prints; a warning fails it. Nothing is measured: nobody may write beside the sources."""
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith("_API_KEY") and not name.startswith("COV")
    }
    environ["PYTHONPATH"] = os.pathsep.join((str(folder), *(str(Path(each).resolve()) for each in sys.path if each)))
    environ["HOME"] = str(folder)
    done = subprocess.run(
        [*python, "-c", code], capture_output=True, check=False, cwd=folder, env=environ, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
def test_the_examples_run_as_printed_and_continue_one_session(python: list[str], folder: Path) -> None:
    printed = [run(block, python, folder) for block in EXAMPLES]
    assert (folder / "memory.db").exists()
    langchain, llamaindex, chain, plain, coroutines, between, small, turn, receipts, types, *others = printed
    gate, marks, summary, backup, own = others
    assert "newest" in langchain
    assert "My dog is called Biscuit." in llamaindex
    assert chain == "He is called Biscuit.\n"
    assert "4 December" in plain
    assert "My dog is called Biscuit." in coroutines
    assert between.count("Biscuit is allergic to chicken.") == 2
    assert "agent-7/users/ann/~semantic" in between
    assert small.startswith("1\nmerge-duplicates memory_promoted_")
    assert "Ada takes no train before nine." in turn
    assert "GoalProgress" in turn
    assert receipts.startswith("True (PackTraced(")
    assert "what='message', reason='erased'" in receipts
    assert "Biscuit" not in receipts
    assert "Lentil soup" in types
    assert "'recipes'" in types
    assert "Alice is allergic to nuts." in types
    assert "semantic: not stored, novelty 0, at least 0.2 is asked for (rule outcomes)" in gate
    assert marks == "Alice writes from alice@mail.example.org.\nAlice writes from [REDACTED_EMAIL].\n"
    assert summary == "The flight to Oslo leaves on 12 March at 7:45.\n"
    assert (folder / "monday.db").exists()
    assert backup
    assert own == ""


@pytest.mark.parametrize("block", BLOCKS)
def test_no_example_names_an_absolute_path(block: str) -> None:
    assert not re.search(r":///|[\"']/", block)


def test_every_example_is_run_here_or_in_the_test_that_is_named() -> None:
    assert len(BLOCKS) == len(EXAMPLES) + len(ELSEWHERE)
    assert ELSEWHERE[0].removeprefix("class ") in (ROOT / "tests/conformance/test_own_backend.py").read_text("utf-8")
    assert "### Weighing recall" in (ROOT / "tests/properties/test_tuning.py").read_text("utf-8")


@pytest.mark.parametrize("extra", sorted(set(re.findall(r"\.\[([\w,]+)\]", (ROOT / "README.md").read_text("utf-8")))))
def test_an_installation_names_extras_that_exist(extra: str) -> None:
    known = (ROOT / "pyproject.toml").read_text("utf-8")
    assert [name for name in extra.split(",") if not re.search(rf"^{name} = \[", known, re.MULTILINE)] == []


# -- what the pages name


def locate(path: str) -> Path | None:
    """A file or folder as the pages name it: from the root, or from `core/wmem/`."""
    return next((base / path for base in (ROOT, ROOT / "core" / "wmem") if (base / path).exists()), None)


@pytest.mark.parametrize("page", PAGES)
def test_paths_that_a_page_names_are_there(page: str) -> None:
    named = re.findall(r"`([\w.-]+(?:/[\w.-]+)*(?:\.(?:py|md|txt|toml)|/))`|\]\((?!http)([\w./-]+)", PAGES[page])
    paths = {path or link for path, link in named} - {"_convert.py"}  # of an adapter that is yet to be written
    assert [path for path in sorted(paths) if locate(path) is None] == []


@pytest.mark.parametrize(
    ("path", "name"), sorted(set(re.findall(r"`([\w/]+)\.py`:\s+`([A-Z_a-z][\w.]*)`", "".join(PAGES.values()))))
)
def test_names_that_a_page_names_are_there(path: str, name: str) -> None:
    package = "wmem." if (ROOT / "core" / "wmem" / f"{path}.py").exists() else ""
    found: object = importlib.import_module(package + path.replace("/", "."))
    for part in name.split("."):
        found = getattr(found, part)


def test_every_module_with_a_lock_is_in_the_table_of_locks() -> None:
    table = PAGES["ARCHITECTURE.md"].partition("## Locks")[2].partition("\n## ")[0]
    folders = {
        ROOT / "core" / "wmem": "",
        ROOT / "langchain_wmem": "langchain_wmem/",
        ROOT / "llamaindex_wmem": "llamaindex_wmem/",
    }
    modules = {
        prefix + file.relative_to(folder).as_posix(): file.read_text("utf-8")
        for folder, prefix in folders.items()
        for file in folder.rglob("*.py")
        if "testing" not in file.parts
    }
    locking = {
        path
        for path, source in modules.items()
        if re.search(r"\b(?:R?Lock|Condition|Event|Semaphore)\(\)|Semaphore\(", source)
    }
    assert locking == {path for path in locking if f"`{path}`" in table}
