"""What a user installs: a light import, a clean wheel, and extras that say their name when they are missing."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PACKAGES = {"wmem": ROOT / "core" / "wmem"} | {name: ROOT / name for name in ("langchain_wmem", "llamaindex_wmem")}
FRAMEWORKS = ("langchain", "langchain_classic", "langchain_core", "langgraph", "llama_index", "openai")
DRIVERS = (
    "cryptography",
    "diskcache",
    "mcp",
    "numpy",
    "opencc",
    "opentelemetry",
    "redis",
    "rich",
    "stdnum",
    "tiktoken",
)
LANGCHAIN = ("langchain", "langchain_classic", "langchain_core", "langgraph")
MODULES_MAX = 5
# Finders that do not see some packages, as if those were not installed: neither an import nor a search finds them.
ABSENT = """\
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {} else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)
"""


def python(code: str, *, blocked: Iterable[str] = (), cwd: Path | None = None) -> str:
    """What a fresh interpreter prints, in which the `blocked` top-level packages are not installed.

    Coverage is not carried over: it would be measured along with what is measured here.
    """
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COV") and name != "PYTHONDONTWRITEBYTECODE"
    }
    done = subprocess.run(
        [sys.executable, "-c", ABSENT.format(set(blocked)) + code if blocked else code],
        capture_output=True,
        check=False,
        cwd=cwd,
        env=environ,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def refusal(code: str, *, blocked: Iterable[str], cwd: Path | None = None) -> str:
    """The message of the `MissingExtraError` that the code must raise."""
    guarded = "\n".join(f"    {line}" for line in code.splitlines())
    return python(
        "import wmem\n"
        "from wmem.errors import MissingExtraError\n"
        f"try:\n{guarded}\n"
        "except ImportError as error:\n"
        "    assert isinstance(error, MissingExtraError), repr(error)\n"
        "    print(error)\n"
        "else:\n"
        "    raise SystemExit('nothing was raised')\n",
        blocked=blocked,
        cwd=cwd,
    )


# --- import wmem -----------------------------------------------------------------------------------------------------


def test_import_wmem_imports_no_framework_no_driver_and_no_event_loop() -> None:
    heavy = {*FRAMEWORKS, *DRIVERS, "asyncio", "langchain_wmem", "llamaindex_wmem", "sqlite3"}
    loaded = python("import wmem, sys; print(*{name.partition('.')[0] for name in sys.modules})").split()
    assert heavy.isdisjoint(loaded)


def test_touching_every_public_name_imports_no_framework_and_no_driver() -> None:
    loaded = python(
        "import wmem, sys\n"
        "for name in wmem.__all__: getattr(wmem, name)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    ).split()
    assert {*FRAMEWORKS, *DRIVERS, "langchain_wmem", "llamaindex_wmem"}.isdisjoint(loaded)


def test_import_wmem_imports_no_more_than_a_few_modules_beside_pydantic() -> None:
    modules = "import pydantic, sys; before = {*sys.modules}; import wmem; print(*{*sys.modules} - before)"
    loaded = python(modules).split()
    assert "wmem" in loaded
    assert len(loaded) <= MODULES_MAX


# --- the wheel -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, capture_output=True, check=False, cwd=ROOT, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def metadata(wheel: zipfile.ZipFile) -> str:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return wheel.read(name).decode()


def test_wheel_holds_the_three_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


def test_wheel_holds_every_module(wheel: zipfile.ZipFile) -> None:
    sources = {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in PACKAGES.items()
        for path in folder.rglob("*.py")
    }
    assert sources
    assert sources <= set(wheel.namelist())


@pytest.mark.parametrize("package", PACKAGES)
def test_wheel_says_that_its_packages_are_typed(wheel: zipfile.ZipFile, package: str) -> None:
    assert f"{package}/py.typed" in wheel.namelist()


def test_wheel_holds_no_tests(wheel: zipfile.ZipFile) -> None:
    assert not [name for name in wheel.namelist() if re.search(r"(^|/)(tests?/|test_|conftest)", name)]


def test_wheel_carries_its_licence(wheel: zipfile.ZipFile) -> None:
    assert [name for name in wheel.namelist() if name.endswith("/LICENSE")]
    assert "License-Expression: MIT" in metadata(wheel)


def test_pydantic_is_the_only_hard_dependency(wheel: zipfile.ZipFile) -> None:
    hard = re.findall(r"^Requires-Dist: (?!.*extra ==)([\w-]+)", metadata(wheel), flags=re.MULTILINE)
    assert hard == ["pydantic"]


def test_all_installs_every_extra_but_the_demo_s_own_and_the_one_with_a_language_model() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (every,) = extras["all"]
    assert set(re.findall(r"\w+", every)) - {"wmem"} == set(extras) - {"all", "demo", "presidio"}


def test_constraints_hold_names_and_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []


# --- missing extras --------------------------------------------------------------------------------------------------


def test_B122_without_any_extra_wmem_works() -> None:
    code = (
        "import wmem\n"
        "with wmem.open('memory://', agent_id='agent-7') as memory:\n"
        "    session = memory.scope('session-3')\n"
        "    session.messages.append({'role': 'user', 'content': 'My dog is called Biscuit.'})\n"
        "    print(session.pack(budget=2000).messages[0].text)"
    )
    assert "Biscuit" in python(code, blocked=(*FRAMEWORKS, *DRIVERS))


@pytest.mark.parametrize(
    ("adapter", "extra", "blocked"),
    [("langchain_wmem", "langchain", LANGCHAIN), ("llamaindex_wmem", "llamaindex", ("llama_index",))],
)
def test_B122_without_its_framework_an_adapter_names_the_extra(
    adapter: str, extra: str, blocked: tuple[str, ...]
) -> None:
    assert f"wmem[{extra}]" in refusal(f"import {adapter}", blocked=blocked)


def test_B122_with_langchain_core_alone_the_history_works_and_the_middleware_names_the_extra() -> None:
    blocked = ("langchain", "langchain_classic", "langgraph")
    python("from langchain_wmem import WmemChatMessageHistory", blocked=blocked)
    assert "wmem[langchain]" in refusal("from langchain_wmem import WmemMiddleware", blocked=blocked)


def test_B122_with_the_new_langchain_alone_every_name_works() -> None:
    code = "import langchain_wmem\nfor name in langchain_wmem.__all__: getattr(langchain_wmem, name)"
    python(code, blocked=("langchain_classic",))


@pytest.mark.parametrize(
    ("extra", "blocked"), [("langchain", LANGCHAIN), ("llamaindex", ("llama_index",))], ids=["langchain", "llamaindex"]
)
def test_B122_rendering_for_a_missing_framework_names_the_extra(extra: str, blocked: tuple[str, ...]) -> None:
    code = (
        "with wmem.open('memory://', agent_id='agent-7') as memory:\n"
        "    session = memory.scope('session-3')\n"
        "    session.messages.append({'role': 'user', 'content': 'My dog is called Biscuit.'})\n"
        f"    session.pack(budget=2000).to_{extra}()"
    )
    assert f"wmem[{extra}]" in refusal(code, blocked=blocked)


def test_B122_an_embedder_without_numpy_names_the_extra_and_makes_nothing(tmp_path: Path) -> None:
    code = (
        "def embedder(texts): raise AssertionError\n"
        "embedder.name = 'words'\n"
        f"wmem.open('sqlite://{tmp_path}/store.db', agent_id='agent-7', embedder=embedder)"
    )
    assert "wmem[recall]" in refusal(code, blocked=("numpy",))
    assert not list(tmp_path.iterdir())


def test_B122_a_disk_store_without_diskcache_names_the_extra_and_makes_nothing(tmp_path: Path) -> None:
    code = f"wmem.open('disk://{tmp_path}/store', agent_id='agent-7')"
    assert "wmem[disk]" in refusal(code, blocked=("diskcache",))
    assert not list(tmp_path.iterdir())
