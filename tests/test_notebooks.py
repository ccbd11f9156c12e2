"""The notebooks of the cookbook run top to bottom, and what is committed is what such a run shows."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

COOKBOOK = Path(__file__).parent.parent / "cookbook"
NOTEBOOKS = sorted(COOKBOOK.glob("*.ipynb"))
_CHANGING = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b|0x[0-9a-f]+")
"""Ids of messages, which every run draws anew."""


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # nbformat has no types


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any) -> list[tuple[str, str]]:
    """What a cell printed, by the stream; pictures by their being there.

    A stream comes in pieces, cut by the kernel's clock: they are joined.
    """
    told: list[tuple[str, str]] = []
    for output in cell.outputs:
        data = output.get("data", {})
        stream = output.get("name", "")
        text = _CHANGING.sub("id", output.get("text") or data.get("text/plain", ""))
        if stream and told and told[-1][0] == stream:
            told[-1] = (stream, told[-1][1] + text)
        else:
            told.append((stream, text))
        told += [(stream, kind) for kind in sorted(data) if kind != "text/plain"]
    return told


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 2


def test_a_stream_that_came_in_pieces_is_shown_as_one() -> None:
    def cell(*pieces: str) -> Any:
        outputs = [{"output_type": "stream", "name": "stdout", "text": each} for each in pieces]
        return nbformat.from_dict({"cell_type": "code", "outputs": outputs})  # type: ignore[no-untyped-call]

    assert shown(cell("a\n", "b\n")) == shown(cell("a\nb\n")) != shown(cell("a\n"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_top_to_bottom_and_shows_what_is_committed(path: Path) -> None:
    committed, fresh = read(path), read(path)
    for cell in code(fresh):
        cell.outputs = []
    # The kernel runs elsewhere: where modules are found must not hang on the folder.
    found = os.pathsep.join(str(Path(each).resolve()) for each in sys.path if each)
    client = NotebookClient(fresh, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(COOKBOOK)}})
    client.execute(env={**os.environ, "PYTHONPATH": found})
    for was, now in zip(code(committed), code(fresh), strict=True):
        assert not [output for output in now.outputs if output.output_type == "error"]
        assert shown(was) == shown(now)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_committed_notebook_was_run_in_order_and_names_no_machine(path: Path) -> None:
    cells = code(read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not re.search(r"/(home|root|tmp|Users)/|[A-Z]:\\\\", path.read_text(encoding="utf-8"))
    assert any(cell.outputs for cell in cells)
