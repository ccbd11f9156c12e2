"""Which tests run on which backend and in which mode: one table for all folders.

A test that asks for the fixture `variant` (mostly through `memory`, `call` or `url`) runs once for each variant that
its tier names. A backend joins with one line in `BACKENDS`, and one in `OPTIONS` if it is opened with more than a URL.

- *fast*: memory in both modes, sqlite sync. Of a test with several parameters, each value once, not each combination.
- *ci*: pairwise. Every backend once, half of them sync and half async; of two test classes or modules, the second
  has them the other way round, so that over all suites each backend is met in both modes.
- *full*: the product.
"""

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import pytest
from hypothesis import settings

__all__ = [
    "BACKENDS",
    "EACH",
    "FILES",
    "MODES",
    "OPTIONS",
    "PLAIN",
    "SERVERS",
    "SHARED",
    "TIERS",
    "Everywhere",
    "Variant",
    "cover",
    "examples",
    "make_url",
    "parametrize_variants",
    "thin_products",
]

T = TypeVar("T")

TIERS: Mapping[str, int] = {"fast": 15, "ci": 100, "full": 100}
"""By tier: how many examples a property is tried on."""

MODES = ("sync", "async")

BACKENDS: Mapping[str, Callable[[Path], str] | str] = {
    "memory": lambda place: f"memory://{place.parent.name}-{place.name}",
    "disk": lambda place: f"disk://{place}/store",
    "sqlite": lambda place: f"sqlite://{place}/store.db",
    "redis": "valkey_url",
    "disk+key": lambda place: f"disk://{place}/store",
    "redis62": "redis62_url",
    "cluster": "cluster_url",
}
"""By backend: what makes the URL of an empty store from a fresh directory, or the name of a fixture that gives it."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {"disk+key": {"key": b"\xa5" * 32}}
"""By backend: what `wmem.open` is given beside the URL."""

EACH = ("memory", "disk", "sqlite", "redis", "disk+key")
"""What a test runs on if it names nothing else: the other servers differ in nothing above the journal."""

PLAIN = tuple(name for name in EACH if name not in OPTIONS)
"""The same without a key: to a journal, encrypted bytes are bytes."""

FILES = ("disk", "sqlite")
"""Backends that keep a file."""

SHARED = tuple(name for name in PLAIN if name != "memory")
"""Backends that several processes open."""

SERVERS = ("redis", "redis62", "cluster")
"""Backends that are a server, by its kind."""


class Variant(NamedTuple):
    """One field of the matrix."""

    backend: str
    mode: str

    def __str__(self) -> str:
        return f"{self.backend}-{self.mode}"


FAST = (Variant("memory", "sync"), Variant("memory", "async"), Variant("sqlite", "sync"))


def choose_variants(tier: str, backends: Collection[str], name: str, *, always: bool) -> list[Variant]:
    """The variants in which a tier runs a test.

    Args:
        backends: What the test is about.
        name: Of the test's class or module: decides which half of the backends a pairwise run meets sync.
        always: Run on every backend in every tier; in the fast one in one mode each, in the others in both.
    """
    if tier == "full" or (always and tier == "ci"):
        return [Variant(*each) for each in product(backends, MODES)]
    if tier == "fast" and not always:
        return [variant for variant in FAST if variant.backend in backends] or [Variant(next(iter(backends)), "sync")]
    first = zlib.crc32(name.encode())
    pairwise = [Variant(backend, MODES[(first + place) % 2]) for place, backend in enumerate(backends)]
    return pairwise if len(pairwise) > 1 else [Variant(pairwise[0].backend, mode) for mode in MODES]


def parametrize_variants(metafunc: pytest.Metafunc) -> None:
    """Give a test that uses the fixture `variant` its variants; see the marker `backends`."""
    if "variant" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker("backends")
    backends = (mark and mark.args) or EACH
    always = bool(mark and mark.kwargs.get("always"))
    name = metafunc.cls.__qualname__ if metafunc.cls else metafunc.module.__name__
    chosen = choose_variants(metafunc.config.getoption("tier"), backends, name, always=always)
    if "backend" not in metafunc.fixturenames:  # the test has a store of its own, and asks for a mode
        chosen = [Variant("own", mode) for mode in MODES]
    elif "mode" not in metafunc.fixturenames or _sets_mode(metafunc):
        chosen = list({variant.backend: variant for variant in chosen}.values())
    metafunc.parametrize("variant", chosen, ids=str)


def thin_products(items: Iterable[pytest.Item], *, by_mode: bool = False) -> list[pytest.Item]:
    """Of each test that is run with several parameters, as few combinations as meet each value of each of them.

    What is run on every backend in every tier stays whole.

    Args:
        by_mode: Meet each mode instead of each backend, where a test is about no backend in particular.
    """
    chosen: list[pytest.Item] = []
    variants: dict[str, dict[pytest.Item, frozenset[tuple[int, str]]]] = {}
    for item in items:
        mark = item.get_closest_marker("backends")
        if not isinstance(item, pytest.Function) or (mark and (by_mode or mark.kwargs.get("always"))):
            chosen.append(item)
        else:
            ids: Sequence[str] = ()
            if hasattr(item, "callspec"):
                ids = item.callspec._idlist  # one for each `parametrize`, or fixture
                variant = cast("Variant | None", item.callspec.params.get("variant"))
                ids = [variant.mode if variant and by_mode and each == str(variant) else each for each in ids]
            name = f"{item.parent and item.parent.nodeid}::{item.originalname}"
            variants.setdefault(name, {})[item] = frozenset(enumerate(ids))
    for each in variants.values():
        chosen += cover(each)
    return chosen


def cover(sets: Mapping[T, frozenset[Any]]) -> list[T]:
    """As few keys as have together every member of all sets, or nearly so few: the one that adds most comes next."""
    missing = frozenset[Any]().union(*sets.values())
    chosen = [next(iter(sets))]
    missing -= sets[chosen[0]]
    while missing:
        chosen.append(max(sets, key=lambda each: len(sets[each] & missing)))
        missing -= sets[chosen[-1]]
    return chosen


def _sets_mode(metafunc: pytest.Metafunc) -> bool:
    """Whether a test says itself in which mode it runs."""
    return any(mark.args[0] == "mode" for mark in metafunc.definition.iter_markers("parametrize"))


def make_url(backend: str, request: pytest.FixtureRequest, place: Path) -> str:
    """The URL of an empty store of a backend."""
    made = BACKENDS[backend]
    return str(request.getfixturevalue(made)) if isinstance(made, str) else made(place)


def examples(share: float = 1.0, /, **options: Any) -> settings:
    """Hypothesis settings for a property that needs more or fewer examples than its tier gives."""
    return settings(max_examples=max(1, round(settings().max_examples * share)), **options)


class Everywhere:
    """The fixtures of a suite of `wmem.testing` or `tests.suites`, in the variants of the tier."""

    @pytest.fixture
    def mode(self, variant: Variant) -> str:
        return variant.mode

    @pytest.fixture
    def backend(self, variant: Variant) -> str:
        return variant.backend

    @pytest.fixture
    def url(self, backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
        return make_url(backend, request, tmp_path)

    @pytest.fixture
    def options(self, backend: str) -> Mapping[str, Any]:
        return OPTIONS.get(backend, {})
