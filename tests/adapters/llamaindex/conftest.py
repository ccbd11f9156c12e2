"""Sessions in real stores."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from llamaindex_wmem import WmemMemory


@pytest.fixture(params=["memory", "disk"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of each kind."""
    return f"memory://{uuid4().hex}" if request.param == "memory" else f"disk://{tmp_path / 'store'}"


@pytest.fixture
def make(url: str) -> Iterator[Callable[..., WmemMemory]]:
    """Opens memories of one session, and closes them at the end."""
    made: list[WmemMemory] = []

    def _make(**given: Any) -> WmemMemory:
        made.append(WmemMemory.from_defaults(**{"session_id": "s", "url": url, "agent_id": "a", **given}))
        return made[-1]

    yield _make
    for memory in made:
        memory.close()
