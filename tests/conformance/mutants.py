"""Faults planted in the real backends, and the journal suite over each: a promise that is broken must be caught."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import pytest

from wmem import testing
from wmem.testing.store_bytes import read_store_bytes

__all__ = ["Mutant", "MutantSuite", "load_with_fault", "make_suites"]


class Mutant(NamedTuple):
    """A fault in one module.

    Attributes:
        edits: Text of the module, and what stands there instead; each text occurs once.
        promises: The tests of the suite that must fail.
    """

    module: str
    edits: Mapping[str, str]
    promises: tuple[str, ...]


def load_with_fault(modules: Sequence[str], mutant: Mutant | None) -> ModuleType:
    """Load modules anew, with the fault in one of them, and return the last; all others go on using the real ones."""
    real = {name: sys.modules[name] for name in modules if name in sys.modules}
    try:
        for name in modules:
            spec = find_spec(name)
            assert spec is not None
            assert spec.origin is not None
            source = Path(spec.origin).read_text(encoding="utf-8")
            for text, fault in mutant.edits.items() if mutant is not None and mutant.module == name else ():
                assert source.count(text) == 1, (
                    f"plant the fault elsewhere: {name} has no such text, or several: {text}"
                )
                source = source.replace(text, fault)
            module = sys.modules[name] = ModuleType(name)
            exec(compile(source, spec.origin, "exec"), vars(module))
    finally:
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(real)
    return module


class MutantSuite(testing.JournalSuite):
    """The journal suite over a backend with one fault, or with none.

    A subclass names the `modules` that are loaded anew, from the bottom up, and the class of journal in the last.
    """

    modules: ClassVar[Sequence[str]]
    kind: ClassVar[str]
    mutant: ClassVar[Mutant | None] = None

    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        """The file, the directory or the URL of the store."""
        return str(tmp_path / "store")

    @pytest.fixture
    def store_bytes(self, place: str) -> Callable[[], bytes]:
        return lambda: read_store_bytes(place if "://" in place else f"sqlite://{place}")

    @pytest.fixture
    def connect(self, place: str) -> testing.Connect:
        kind = getattr(load_with_fault(self.modules, self.mutant), self.kind)
        return lambda: kind(place)


def make_suites(
    mutants: Mapping[str, Mutant], *bases: type[MutantSuite]
) -> Iterator[tuple[str, type[MutantSuite], Sequence[str]]]:
    """For each kind of journal, a suite without a fault and one for each mutant; with the tests that are to be run."""
    for base in bases:
        promises = sorted({promise for mutant in mutants.values() for promise in mutant.promises})
        yield f"TestSound{base.kind}", type("Sound", (base,), {}), promises
        for name, mutant in mutants.items():
            made: dict[str, Any] = {"mutant": mutant}
            yield f"Test{name}{base.kind}", type(name, (base,), made), mutant.promises
