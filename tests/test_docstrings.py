"""Docstrings name what is there: every `Args:` entry a parameter, every `Attributes:` entry an attribute."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

ROOT = Path(__file__).parent.parent
FILES = [
    file for package in ("core/wmem", "langchain_wmem", "llamaindex_wmem") for file in (ROOT / package).rglob("*.py")
]
Documented: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_SECTION = re.compile(r"(\w+):$")
_ENTRY = re.compile(r" {4}\**(\w+)(?:, \**(\w+))*:")


def _entries(doc: str, section: str) -> Iterator[str]:
    """The names that a section of a docstring explains."""
    inside = False
    for line in doc.splitlines():
        if line and not line.startswith(" "):
            match = _SECTION.match(line)
            inside = match is not None and match[1] == section
        elif inside and (entry := _ENTRY.match(line)):
            yield from filter(None, entry.groups())


def _parameters(node: Documented) -> set[str]:
    """Parameters of a function; of a class those of its constructor, or else its fields."""
    if isinstance(node, ast.ClassDef):
        init = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        return _parameters(init[0]) if init else _attributes(node)
    named = node.args
    every = [*named.posonlyargs, *named.args, *named.kwonlyargs, named.vararg, named.kwarg]
    return {each.arg.lstrip("_") for each in every if each is not None}


def _attributes(node: ast.ClassDef) -> set[str]:
    """Fields and methods of a class, and what its methods set."""
    names: set[str] = set()
    for each in ast.walk(node):
        match each:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
            case _:
                pass
    return names


@functools.cache
def _parse(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@functools.cache
def _classes() -> dict[str, ast.ClassDef]:
    """Every class by its name; found when a test asks, for each worker collects all tests."""
    return {each.name: each for file in FILES for each in ast.walk(_parse(file)) if isinstance(each, ast.ClassDef)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_docstrings_explain_only_what_is_there(file: Path) -> None:
    for node in ast.walk(_parse(file)):
        if not isinstance(node, Documented):
            continue
        doc = ast.get_docstring(node) or ""
        assert set(_entries(doc, "Args")) <= _parameters(node), node.name
        if isinstance(node, ast.ClassDef):
            classes = _classes()
            bases = [classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
            known = {name for each in (node, *bases) for name in _attributes(each)}
            assert set(_entries(doc, "Attributes")) <= known, node.name
