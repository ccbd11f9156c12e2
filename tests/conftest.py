"""What holds for every test: no network, no keys, and a clock of patience that suits a busy machine."""

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import cluster_url, new_server, redis62_server, redis62_url, redis_cluster, valkey_server, valkey_url

__all__ = [
    "cluster_url",
    "new_server",
    "redis62_server",
    "redis62_url",
    "redis_cluster",
    "valkey_server",
    "valkey_url",
]

LOCAL = ("127.", "::1", "localhost")

# Examples share their cores with whatever else runs: time says nothing about correctness here.
settings.register_profile(
    "wmem", parent=settings(), deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("wmem")


def _only_local(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and isinstance(arguments[1], tuple):  # a unix socket's address is a string
        host = arguments[1][0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode()
    if isinstance(host, str) and host and not host.startswith(LOCAL):
        message = f"a test reached for the network: {event} {host!r}"
        raise ConnectionRefusedError(message)


def pytest_configure() -> None:
    """Cut the network, and hide what would switch a framework over to a paid or remote service."""
    # An audit hook sees every library's connections, however they are made.
    sys.addaudithook(_only_local)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        os.environ.pop(name, None)
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ[name] = "false"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Suites that frameworks ship run their coroutines on asyncio alone."""
    return "asyncio"
