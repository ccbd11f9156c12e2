"""Journals on each kind of server, sync and async."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.conformance.conftest import backend, call, mode
from tests.matrix import make_url
from wmem.journal.redis import RedisJournal
from wmem.journal.redis_async_face import AsyncRedisJournal
from wmem.journal.redis_url import parse_redis_url
from wmem.testing import Call

__all__ = ["backend", "call", "mode"]


@pytest.fixture
def server_url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store on a server."""
    return make_url(backend, request, tmp_path)


class Journals:
    """The journals of one store in one mode; their methods are called through `call`."""

    def __init__(self, url: str, call: Call, mode: str) -> None:
        self.url = url
        self._call = call
        self.kind: Any = RedisJournal if mode == "sync" else AsyncRedisJournal
        self.made: list[Any] = []

    def __call__(self, **options: Any) -> Any:
        made = self.kind(self.url, **options)
        self.made.append(made)
        return made

    def close(self) -> None:
        for each in self.made:
            self._call(each.close if self.kind is RedisJournal else each.aclose)


@pytest.fixture
def journals(server_url: str, call: Call, mode: str) -> Iterator[Journals]:
    made = Journals(server_url, call, mode)
    yield made
    made.close()


@pytest.fixture
def journal(journals: Journals) -> Any:
    """One journal of the store."""
    return journals()


@pytest.fixture
def server(server_url: str) -> Iterator[Any]:
    """What somebody with another tool sees of the store."""
    url = parse_redis_url(server_url)
    kind = redis.RedisCluster if url.is_cluster else redis.Redis
    with kind.from_url(url.driver_url) as client:
        yield client


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop that a test closes when it likes, without the courtesies of `asyncio.run`."""
    made = asyncio.new_event_loop()
    yield made
    made.close()
