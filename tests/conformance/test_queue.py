"""The queue and the buffer over every backend, in both colours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import BACKENDS, OPTIONS, located
from wmem.testing.buffer import BufferSuite
from wmem.testing.queue import QueueSuite


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


class TestQueue(Everywhere, QueueSuite): ...


class TestBuffer(Everywhere, BufferSuite): ...
