"""Every suite of `wmem.testing` over every backend, sync and async."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import wmem.engine.backends
from tests.conformance.conftest import BACKENDS, OPTIONS, located
from wmem import testing
from wmem.engine.ports import InPlaceJournal
from wmem.journal.memory import MemoryJournal
from wmem.testing.stored_bytes import read_object_bytes, read_store_bytes


class Everywhere:
    """Each backend in turn."""

    @pytest.fixture(params=BACKENDS)
    def backend(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def url(self, backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
        return located(backend, request, tmp_path)

    @pytest.fixture
    def options(self, backend: str) -> Mapping[str, Any]:
        return OPTIONS.get(backend, {})


class TestJournal(testing.JournalSuite):
    @pytest.fixture(params=("sync", "async"))
    def mode(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    # A journal does not know what its bytes mean: encrypted ones are the same to it.
    @pytest.fixture(params=sorted({*BACKENDS} - {*OPTIONS}))
    def backend(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def url(self, backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
        return located(backend, request, tmp_path)

    @pytest.fixture
    def in_memory(self) -> MemoryJournal[bytes]:
        return MemoryJournal(len)

    @pytest.fixture
    def stored_bytes(self, url: str, in_memory: MemoryJournal[bytes]) -> Callable[[], bytes]:
        return lambda: read_object_bytes(in_memory) if url.startswith("memory:") else read_store_bytes(url)

    @pytest.fixture
    def connect(self, url: str, in_memory: MemoryJournal[bytes], mode: str) -> Iterator[testing.Connect]:
        made: list[wmem.engine.backends.Backend] = []

        def connected() -> Any:
            if url.startswith("memory:"):
                return in_memory if mode == "sync" else InPlaceJournal(in_memory)
            normal, connect = wmem.engine.backends.BACKENDS[url.partition("://")[0]]
            made.append(connect(normal(url), None))
            return made[-1].sync_journal() if mode == "sync" else made[-1].async_journal()

        yield connected
        for each in made:
            each.close()


class TestEntries(Everywhere, testing.EntriesSuite): ...


class TestUpdates(Everywhere, testing.UpdatesSuite): ...


class TestValues(Everywhere, testing.ValuesSuite): ...


class TestItems(Everywhere, testing.ItemsSuite): ...


class TestFetches(Everywhere, testing.FetchesSuite): ...


class TestMessages(Everywhere, testing.MessagesSuite): ...


class TestScopes(Everywhere, testing.ScopesSuite): ...


class TestMerges(Everywhere, testing.MergesSuite): ...


class TestLimits(Everywhere, testing.LimitsSuite): ...


class TestMemory(Everywhere, testing.MemorySuite): ...


class TestPack(Everywhere, testing.PackSuite): ...


class TestProfiles(Everywhere, testing.ProfilesSuite): ...


class TestQueue(Everywhere, testing.QueueSuite): ...


class TestEviction(Everywhere, testing.EvictionSuite): ...


class TestBuffer(Everywhere, testing.BufferSuite): ...


class TestPromotion(Everywhere, testing.PromotionSuite): ...


class TestSearch(Everywhere, testing.SearchSuite): ...


class TestLifetimes(Everywhere, testing.LifetimesSuite): ...


class TestMaintenance(Everywhere, testing.MaintenanceSuite): ...


class TestDocuments(Everywhere, testing.DocumentsSuite): ...


class TestErasure(Everywhere, testing.ErasureSuite): ...


class TestHybrid(Everywhere, testing.HybridSuite): ...


class TestVectors(Everywhere, testing.VectorsSuite): ...
