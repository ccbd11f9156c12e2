"""The async faces in the repository are what their sync sources say, and a check tells when they are not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "generate_async.py"
SOURCE = Path("core/wmem/scope/queue/face.py")
TWIN = Path("core/wmem/scope/queue/async_face.py")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "core", tmp_path / "core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def generate(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--root", str(root), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_async_faces_of_the_repository_are_up_to_date() -> None:
    checked = generate(ROOT, "--check")
    assert checked.returncode == 0, checked.stderr


@pytest.mark.slow
def test_a_face_that_was_edited_by_hand_is_reported_and_written_anew(checkout: Path) -> None:
    twin = checkout / TWIN
    text = twin.read_text("utf-8")
    twin.write_text(text.replace("await ", "", 1), "utf-8")
    edited = twin.read_bytes()

    checked = generate(checkout, "--check")
    assert checked.returncode == 1
    assert str(TWIN) in checked.stderr
    assert twin.read_bytes() == edited  # a check writes nothing

    assert generate(checkout).returncode == 0
    assert twin.read_text("utf-8") == text
    assert generate(checkout, "--check").returncode == 0


@pytest.mark.slow
def test_a_new_method_of_a_sync_face_is_missed_until_its_twin_is_generated(checkout: Path) -> None:
    source = checkout / SOURCE
    method = (
        "\n    def fullness(self, most: int = 1) -> float:\n"
        '        """How full."""\n'
        "        return self.capacity().items / most\n"
    )
    source.write_text(source.read_text("utf-8") + method, "utf-8")
    assert generate(checkout, "--check").returncode == 1

    assert generate(checkout).returncode == 0
    twin = (
        "    async def fullness(self, most: int = 1) -> float:\n"
        '        """See `Queue.fullness`."""\n'
        "        return (await self.capacity()).items / most\n"
    )
    assert (checkout / TWIN).read_text("utf-8").endswith(twin)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('def own(self) -> int:  # sync only\n        """Own."""\n        return self.advance_step()\n', ""),
        (
            "def own(self) -> str:\n        return 'thread'  # async: return 'task'\n",
            '    def own(self) -> str:\n        return "task"\n',
        ),
        (
            'def own(self) -> str:\n        """Where."""  # async: Where it runs.\n        return "x"\n',
            '    def own(self) -> str:\n        """Where it runs."""\n        return "x"\n',
        ),
        (
            "def own(self, other: Any) -> int:\n        return other.step()  # await\n",
            "    async def own(self, other: Any) -> int:\n        return await other.step()\n",
        ),
    ],
    ids=["sync only", "another line", "another docstring", "await"],
)
def test_a_marker_in_the_source_says_where_the_modes_differ(checkout: Path, body: str, expected: str) -> None:
    before = (checkout / TWIN).read_text("utf-8")
    source = checkout / SOURCE
    source.write_text(f"{source.read_text('utf-8')}\n    {body}", "utf-8")
    assert generate(checkout).returncode == 0
    assert (checkout / TWIN).read_text("utf-8") == before + (f"\n{expected}" if expected else "")
