"""The public names and their signatures, held as a file, so that no change of them goes unseen.

Everything is read from the sources, not from the imported objects: annotations then stand as
they were written, in every Python. After an intended change::

    python tests/test_public_surface.py --write
"""

import ast
import copy
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
SURFACE = ROOT / "tests" / "public_surface.txt"
MODULES = ("adapter", "errors", "events", "journal", "observe", "testing", "types")
PUBLIC = ("wmem", *(f"wmem.{module}" for module in MODULES), "langchain_wmem", "llamaindex_wmem")
SUITES = "wmem.testing."
"""What is subclassed for its tests: of its classes, the names alone are on record."""
FOLDERS = {"wmem": ROOT / "core"}
"""Where a package lies, if not in the root."""
MADE_BY_WMEM = {
    *("AgentMemory", "AsyncAgentMemory", "AsyncMaintenance", "AsyncScope", "Maintenance", "Scope"),
    *("Assembled", "AsyncTurn", "Turn"),
    *("AsyncEntries", "AsyncItems", "AsyncLocalEntries", "AsyncMessages", "AsyncQueue", "Entries", "EntriesView"),
    *(
        "AsyncBuiltInType",
        "AsyncConversationMemory",
        "ConversationMemory",
        "AsyncEpisodicMemory",
        "AsyncMemoryTypes",
        "AsyncSemanticMemory",
        "AsyncWorkingMemory",
    ),
    *("BuiltInType", "EpisodicMemory", "MemoryTypes", "SemanticMemory", "WorkingMemory"),
    *("EntryReads", "ItemReads", "Items", "LocalEntries", "MessageReads", "Messages", "Queue", "QueueReads"),
}
"""Classes that no caller makes: how they are made is not public."""
OPERATORS = {
    *("__aenter__", "__aexit__", "__call__", "__contains__", "__delitem__", "__enter__", "__exit__", "__getitem__"),
    *("__init__", "__setitem__"),
}
SHOWN_DECORATORS = {"asynccontextmanager", "classmethod", "contextmanager", "overload", "staticmethod"}
PROPERTIES = {"cached_property", "property"}


class Definition(NamedTuple):
    """Where a name is defined, and how."""

    module: str
    node: ast.stmt


# -- reading the sources


@cache
def parse(module: str) -> ast.Module | None:
    """The source of one of our modules; None for any other."""
    package, _, rest = module.partition(".")
    if package not in {public.partition(".")[0] for public in PUBLIC}:
        return None
    path = FOLDERS.get(package, ROOT) / package / rest.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text()) if file.exists() else None


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a block, those inside of `if` and `try` included."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try):
            yield from statements(statement.body)
            yield from statements(statement.orelse)


@cache
def find(module: str, name: str) -> Definition | None:
    """Follow imports to where a name is defined; None when it is not ours."""
    tree = parse(module)
    for statement in statements(tree.body) if tree else ():
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return find(statement.module, alias.name)
        elif name in defined_names(statement):
            return Definition(module, statement)
    return None


def defined_names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def exported(module: str) -> list[str]:
    """The names in `__all__`."""
    definition = find(module, "__all__")
    assert definition is not None, module
    assert isinstance(definition.node, ast.Assign)
    names: list[str] = ast.literal_eval(definition.node.value)
    return names


def public_definitions() -> Iterator[tuple[str, Definition]]:
    for module in PUBLIC:
        for name in exported(module):
            if f"{module}.{name}" not in PUBLIC:  # a module, not a name of its own
                definition = find(module, name)
                assert definition is not None, f"{module}.{name} is exported and nowhere defined"
                yield f"{module}.{name}", definition


# -- a class


def bases(definition: Definition) -> Iterator[Definition]:
    """The class and those of its bases that are ours, nearest first."""
    yield definition
    assert isinstance(definition.node, ast.ClassDef)
    for base in definition.node.bases:
        name = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(name, ast.Name) and (parent := find(definition.module, name.id)):
            yield from bases(parent)


def is_public(name: str) -> bool:
    if name in OPERATORS:
        return True
    return not name.startswith(("_", "test_")) and name != "model_config"


def members(definition: Definition) -> Iterator[tuple[str, Definition]]:
    """The public members of a class by name, and its `__init__` if callers make it."""
    assert isinstance(definition.node, ast.ClassDef)
    seen = {"__init__"} if definition.node.name in MADE_BY_WMEM else set()
    for owner in bases(definition):
        assert isinstance(owner.node, ast.ClassDef)
        here: list[tuple[str, Definition]] = []
        for statement in owner.node.body:
            for name in defined_names(statement):
                member = Definition(owner.module, statement)
                if is_public(name):
                    here.append((name, member))
                if name == "__init__":
                    here += [(each, Definition(owner.module, made)) for each, made in attributes(statement)]
        yield from ((name, member) for name, member in here if name not in seen)
        seen |= {name for name, _ in here}


def attributes(init: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """The public attributes that an `__init__` sets."""
    for statement in ast.walk(init):
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self" and is_public(target.attr):
                    yield target.attr, statement


# -- as text


class Unquote(ast.NodeTransformer):
    """Annotations without the quotes around a name that is defined later."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.parse(node.value, mode="eval").body if isinstance(node.value, str) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return node if ast.unparse(node.value) == "Literal" else self.generic_visit(node)


def annotations(node: ast.stmt) -> Iterator[ast.expr]:
    """Every annotation of a function, an attribute or an alias, unquoted."""
    whole: list[ast.expr | None] = []
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            whole += [each.annotation for each in ast.walk(node.args) if isinstance(each, ast.arg)]
            whole.append(node.returns)
        case ast.Assign():
            yield node.value
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            whole.append(node.value)
        case ast.AnnAssign():
            whole.append(node.annotation)
        case _:
            pass
    for each in whole:
        if each is not None:
            yield Unquote().visit(copy.deepcopy(each))


def signature(node: ast.stmt, *, is_member: bool) -> str:
    """How a definition is used: what a function takes and returns, the type and default of anything else."""
    match node:
        case ast.ClassDef():
            return f": class({', '.join(map(ast.unparse, node.bases))})"
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            shown = copy.deepcopy(node)
            for each in ast.walk(shown.args):
                if isinstance(each, ast.arg) and each.annotation is not None:
                    each.annotation = Unquote().visit(each.annotation)
            decorators = {ast.unparse(each) for each in node.decorator_list}
            returns = "" if node.returns is None else ast.unparse(Unquote().visit(copy.deepcopy(node.returns)))
            if decorators & PROPERTIES:
                return f": {returns}"
            arguments = ast.unparse(shown.args)
            if is_member and "staticmethod" not in decorators:
                arguments = re.sub(r"^(self|cls)(, /)?(, )?", "", arguments)
            kind = "async " * isinstance(node, ast.AsyncFunctionDef)
            kind += "setter" * any(each.endswith(".setter") for each in decorators)
            prefix = "".join(f"@{each} " for each in sorted(decorators & SHOWN_DECORATORS)) + kind
            return f"({arguments}) -> {returns}" + (f"  # {prefix.strip()}" if prefix else "")
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return " = " + ast.unparse(next(annotations(node)))
        case ast.AnnAssign():
            default = "" if node.value is None else f" = {ast.unparse(node.value)}"
            return f": {ast.unparse(next(annotations(node)))}{default}"
        case ast.Assign():
            return f" = {ast.unparse(node.value)}"
        case _:
            raise AssertionError(ast.unparse(node))


def surface() -> list[str]:
    """One line a public name and a member of one."""
    lines = []
    for name, definition in public_definitions():
        lines.append(name + signature(definition.node, is_member=False))
        if isinstance(definition.node, ast.ClassDef) and not name.startswith(SUITES):
            overloaded = {
                member for member, each in members(definition) if "@overload" in signature(each.node, is_member=True)
            }
            for member, each in members(definition):
                line = signature(each.node, is_member=True)
                if member not in overloaded or "@overload" in line:
                    lines.append(f"{name}.{member}{line}")
    return sorted(lines)


def private_names(definition: Definition) -> list[str]:
    """Names of ours that a definition's annotations mention and nobody can import from a public module."""
    names = {each.id for each in walked(definition.node) if isinstance(each, ast.Name)}
    found = {name: find(definition.module, name) for name in names}
    return sorted(
        name for name, where in found.items() if where and not is_type_variable(where) and where not in all_public()
    )


def walked(node: ast.stmt) -> Iterator[ast.AST]:
    for annotation in annotations(node):
        yield from ast.walk(annotation)


def is_type_variable(definition: Definition) -> bool:
    node = definition.node
    return isinstance(node, ast.Assign) and ast.unparse(node.value).startswith(("TypeVar(", "ParamSpec("))


@cache
def all_public() -> frozenset[Definition]:
    return frozenset(definition for _, definition in public_definitions())


# -- promises


def test_the_public_surface_is_the_one_on_record() -> None:
    recorded = SURFACE.read_text().splitlines()
    current = surface()
    gone, new = sorted(set(recorded) - set(current)), sorted(set(current) - set(recorded))
    assert (gone, new) == ([], []), "if this is meant: python tests/test_public_surface.py --write"
    assert recorded == current


@pytest.mark.slow
def test_every_type_that_a_public_signature_mentions_can_be_imported() -> None:
    hidden = {}
    for name, definition in public_definitions():
        if name.startswith(SUITES):
            continue
        of_class = members(definition) if isinstance(definition.node, ast.ClassDef) else ()
        for member, each in (("", definition), *of_class):
            if private := private_names(each):
                hidden[f"{name}.{member}".rstrip(".")] = private
    assert hidden == {}


def test_public_modules_are_attributes_of_wmem_from_the_start() -> None:
    names = "wmem.events.ItemPut, wmem.types.Items, wmem.journal.Journal, wmem.observe.EntrySet, wmem.errors.WmemError"
    subprocess.run([sys.executable, "-c", f"import wmem\n{names}"], check=True, timeout=300)


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"\bwmem(?:\.[A-Za-z_]\w*)+", (ROOT / "README.md").read_text())))
)
def test_what_the_readme_names_is_there(name: str) -> None:
    pkgutil.resolve_name(name)


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    SURFACE.write_text("\n".join(surface()) + "\n")
