"""Every suite of `wmem.testing` over every backend, in both colours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import BACKENDS, OPTIONS, located
from wmem import testing


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
