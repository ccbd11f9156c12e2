"""Write the async faces from their sync sources; with ``--check``, only report those that are out of date.

A method becomes a coroutine function if it awaits: the calls that drive a flow or run a read (`AWAITED`), and calls of
its class's own coroutine functions. Names change by `NAMES`; a docstring becomes "See `Scope.add`.". Where the two
modes truly differ, a comment at the end of a line says so:

- ``# sync only``: leave out the statement, method or class that begins on this line;
- ``# await``: await the call that is this statement, or that it returns or assigns;
- ``# async: <code>``: this line reads ``<code>`` instead; at the end of a docstring, the text of the docstring. On a
  line of its own it adds one.
"""

import argparse
import ast
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import NamedTuple

FACES = {
    "wmem.agent.memory": "wmem.agent.async_memory",
    "wmem.agent.turns.face": "wmem.agent.turns.async_face",
    "wmem.agent.types.face": "wmem.agent.types.async_face",
    "wmem.journal.redis": "wmem.journal.redis_async_face",
    "wmem.scope.entries.face": "wmem.scope.entries.async_face",
    "wmem.scope.items.face": "wmem.scope.items.async_face",
    "wmem.scope.messages.face": "wmem.scope.messages.async_face",
    "wmem.scope.queue.face": "wmem.scope.queue.async_face",
    "wmem.scope.scope": "wmem.scope.async_scope",
}
"""The sync sources, and the module that is generated from each."""

_SAME = (
    *("AgentMemory", "Drive", "Entries", "EntryReads", "ItemReads", "Items", "Iterator", "LocalEntries"),
    *(
        *("BuiltInType", "ConversationMemory", "EpisodicMemory", "SemanticMemory", "WorkingMemory"),
        *("MemoryType", "MemoryTypes", "Turn", "TurnVerbs"),
        "Maintenance",
        "MessageReads",
        "Messages",
        "Queue",
        "QueueReads",
        "RedisJournal",
        "RunRead",
        "RunSearch",
        "Scope",
    ),
)
_NAMES = {name: f"Async{name}" for name in _SAME} | {
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
    "agents": "aagents",
    "aio": "sync",
    "contextmanager": "asynccontextmanager",
    "open": "aopen",
    "open_existing": "aopen_existing",
    "open_core": "aopen_core",
    "run": "arun",
}
NAMES = _NAMES | {twin: name for name, twin in _NAMES.items()}
"""Sync names by async ones and the reverse, so that what leads to the async twin leads back."""
AWAITED = frozenset({"open_core", "open_existing", "run", "self._drive", "self._run", "self._run_search"})
ALWAYS_ASYNC = frozenset({"__enter__", "__exit__"})

_MARKER = re.compile(r" *# (?P<what>sync only|await|async: (?P<code>.*))$")

Definition = ast.ClassDef | ast.FunctionDef


class Edit(NamedTuple):
    """A replacement of the source from one offset to another."""

    begin: int
    end: int
    text: str


class Face:
    """One sync source, and the edits that turn it into its async twin."""

    def __init__(self, module: str, source: str) -> None:
        self.module = module
        self.source = source
        self.lines = source.splitlines(keepends=True)
        self.offsets = [0]
        for line in self.lines:
            self.offsets.append(self.offsets[-1] + len(line))
        self.tree = ast.parse(source)
        self.tokens = list(tokenize.generate_tokens(StringIO(source).readline))
        self.markers = {
            token.start[0]: marker
            for token in self.tokens
            if token.type == tokenize.COMMENT and (marker := _MARKER.search(token.line.rstrip("\n")))
        }
        self.blocks: list[Edit] = []
        """Edits of whole statements and lines; no other edit applies within them."""

    def generate(self) -> str:
        """The source of the async twin, not formatted yet."""
        self._replace_blocks()
        coroutines = self._find_coroutines()
        edits = [*self._rename(), *self._make_async(coroutines), *self._drop_markers()]
        edits = [edit for edit in edits if not self._is_replaced(edit.begin)] + self.blocks
        parts: list[str] = []
        at = 0
        for edit in sorted(edits, key=lambda edit: edit[:2]):
            parts += [self.source[at : edit.begin], edit.text]
            at = edit.end
        return "".join(parts) + self.source[at:]

    # -- places

    def _offset(self, row: int, column: int) -> int:
        """The offset of a place as `ast` names it: the column counts bytes."""
        return self.offsets[row - 1] + len(self.lines[row - 1].encode()[:column].decode())

    def _span(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno or 0, node.end_col_offset or 0)

    def _is_replaced(self, place: ast.stmt | ast.expr | int) -> bool:
        offset = place if isinstance(place, int) else self._span(place)[0]
        return any(block.begin <= offset < block.end for block in self.blocks)

    def _has_marker(self, row: int, what: str) -> bool:
        return row in self.markers and self.markers[row]["what"] == what

    # -- blocks

    def _replace_blocks(self) -> None:
        docstring = self.tree.body[0]
        self.blocks.append(Edit(*self._span(docstring), header(self.module)))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt) and self._has_marker(node.lineno, "sync only"):
                first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
                self.blocks.append(Edit(self.offsets[first - 1], self.offsets[node.end_lineno or 0], ""))
        for node in self.tree.body:
            if isinstance(node, Definition) and not self._is_replaced(node):
                self._replace_docstrings(node)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module in {*FACES, *FACES.values()}:
                self.blocks.append(Edit(*self._span(node), _twin_import(node)))
        for row, marker in self.markers.items():
            if marker["code"] is not None and not self._is_replaced(self.offsets[row - 1] + marker.start()):
                indent = re.match(" *", self.lines[row - 1])
                begin = self.offsets[row - 1] + (indent.end() if indent else 0)
                self.blocks.append(Edit(begin, self.offsets[row] - 1, marker["code"]))

    def _replace_docstrings(self, node: Definition, owner: str = "") -> None:
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.FunctionDef):
                    self._replace_docstrings(each, f"{node.name}.")
        if ast.get_docstring(node) is None or re.match("_[^_]", node.name) or self._is_replaced(node):
            return
        docstring = node.body[0]
        begin, end = self._span(docstring)
        marker = self.markers.get(docstring.end_lineno or 0)
        text = f"See `{owner}{node.name}`." if marker is None else marker["code"]
        line_end = end if marker is None else self.offsets[docstring.end_lineno or 0] - 1
        self.blocks.append(Edit(begin, line_end, f'"""{text}"""'))

    # -- inline edits

    def _rename(self) -> Iterator[Edit]:
        for token in self.tokens:
            begin, end = (self.offsets[row - 1] + column for row, column in (token.start, token.end))
            if token.type == tokenize.NAME and token.string in NAMES:
                yield Edit(begin, end, NAMES[token.string])
            elif token.type == tokenize.STRING and token.string[1:-1] in NAMES:  # a type that is not defined yet
                yield Edit(begin, end, f'"{NAMES[token.string[1:-1]]}"')

    def _drop_markers(self) -> Iterator[Edit]:
        for row, marker in self.markers.items():
            if marker["code"] is None:  # any other is dropped with its line
                yield Edit(self.offsets[row - 1] + marker.start(), self.offsets[row] - 1, "")

    def _functions(self) -> Iterable[ast.FunctionDef]:
        return [
            node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef) and not self._is_replaced(node)
        ]

    def _find_coroutines(self) -> frozenset[str]:
        """The names of the methods that await, also by calling another of them."""
        functions, names = self._functions(), ALWAYS_ASYNC
        while True:
            more = names | frozenset(
                each.name for each in functions if self._awaits(each) or any(self._awaited_calls(each, names))
            )
            if more == names:
                return names
            names = more

    def _awaits(self, function: ast.FunctionDef) -> bool:
        """Whether a marker within a function brings an await."""
        rows = range(function.body[0].lineno, (function.end_lineno or 0) + 1)
        return any(
            re.match(r"await$|async: .*\bawait ", self.markers[row]["what"]) for row in rows if row in self.markers
        )

    def _awaited_calls(self, function: ast.FunctionDef, coroutines: frozenset[str]) -> Iterator[ast.Call]:
        awaited = AWAITED | {f"self.{name}" for name in coroutines}
        for node in ast.walk(function):
            if isinstance(node, ast.stmt) and self._has_marker(node.lineno, "await"):
                value = getattr(node, "value", None)
                if isinstance(value, ast.Call):
                    yield value
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in awaited and not self._is_replaced(node):
                yield node

    def _make_async(self, coroutines: frozenset[str]) -> Iterator[Edit]:
        for function in self._functions():
            if function.name in coroutines:
                begin, _ = self._span(function)
                yield Edit(begin, begin, "async ")
            receivers = {
                self._span(node.value) for node in ast.walk(function) if isinstance(node, ast.Attribute | ast.Subscript)
            }
            for call in self._awaited_calls(function, coroutines):
                begin, end = self._span(call)
                wrapped = (begin, end) in receivers
                yield Edit(begin, begin, "(await " if wrapped else "await ")
                if wrapped:
                    yield Edit(end, end, ")")


def header(module: str) -> str:
    """How a generated module begins."""
    # ruff leaves the import out again where it is not needed.
    return (
        f"# Generated from {_path(module)} by `make generate` (scripts/generate_async.py); do not edit.\n"
        f'"""Async twin of `{module}`."""\n'
        "from collections.abc import Awaitable"
    )


def _twin_import(node: ast.ImportFrom) -> str:
    twins = FACES | {twin: source for source, twin in FACES.items()}
    names = ", ".join(NAMES[alias.name] for alias in node.names)
    return f"from {twins[node.module or '']} import {names}"


def _path(module: str) -> Path:
    return Path("core", *module.split(".")).with_suffix(".py")


def ruff(*arguments: str, source: str, root: Path, path: Path) -> str:
    """The output of ruff for a source that is, or will be, at a path."""
    command = [sys.executable, "-m", "ruff", *arguments, "--quiet", "--stdin-filename", str(path), "-"]
    # S603: the command is ours, and the source is this repository's.
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True, cwd=root).stdout  # noqa: S603


def generate(module: str, root: Path) -> str:
    """The formatted async twin of a sync module."""
    source = Face(module, (root / _path(module)).read_text("utf-8")).generate()
    path = _path(FACES[module])
    # Also leaves out imports that only the sync source needs.
    source = ruff("check", "--fix-only", "--select=I,F401", source=source, root=root, path=path)
    return ruff("format", source=source, root=root, path=path)


def main() -> int:
    """Write or check every async face; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a file is out of date")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the checkout")
    arguments = parser.parse_args()
    outdated = []
    for module, twin in FACES.items():
        path, text = arguments.root / _path(twin), generate(module, arguments.root)
        if not path.exists() or path.read_text("utf-8") != text:
            outdated.append(str(_path(twin)))
            if not arguments.check:
                path.write_text(text, "utf-8")
    if outdated:
        heading = "out of date, run `make generate`:" if arguments.check else "written:"
        sys.stderr.write("\n  ".join([heading, *outdated]) + "\n")
    return int(arguments.check and bool(outdated))


if __name__ == "__main__":
    sys.exit(main())
