"""What holds for every test: no network, no keys, and a clock of patience that suits a busy machine."""

import functools
import gc
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.matrix import TIERS, parametrize_variants, thin_products
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
_IN_MEMORY = Path("/dev/shm")
_ROOM = 4 * 2**30  # many times what a whole run writes

# Each worker would rewrite the asserts of all tests anew, and hundreds of child processes would each compile wmem.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

pytest.register_assert_rewrite("tests.suites")

for tier, number in TIERS.items():
    # Examples share their cores with whatever else runs: time says nothing about correctness here.
    settings.register_profile(
        tier,
        parent=settings(),
        max_examples=number,
        derandomize=tier != "full",  # a run says something of the change, not of the day
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=[*TIERS], default="fast", help="how much is run: see tests/README.md")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize_variants(metafunc)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out of the fast tier what the others are for, unless it is asked for by its file or its marker.

    Where lines are counted, they are counted in as few variants of a test as meet each mode and each value: counting
    takes longer than most tests.
    """
    if config.pluginmanager.hasplugin("_cov"):
        for item in set(items).difference(thin_products(items, by_mode=True)):
            item.add_marker("no_cover")
    is_named = any(".py" in argument for argument in config.option.file_or_dir)
    if config.getoption("tier") != "fast" or config.option.markexpr or is_named:
        return
    quick = [item for item in items if not item.get_closest_marker("slow")]
    chosen = set(thin_products(quick))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in quick if item in chosen]


def _local_only(reach: Callable[..., Any], host_of: Callable[..., object]) -> Callable[..., Any]:
    """The same call, refused for any host that is not this machine."""

    @functools.wraps(reach)
    def checked(*args: Any, **kwargs: Any) -> Any:
        host = host_of(*args, **kwargs)
        if isinstance(host, bytes):
            host = host.decode()
        if isinstance(host, str) and host and not host.startswith(LOCAL):
            message = f"a test reached for the network: {reach.__name__} {host!r}"
            raise ConnectionRefusedError(message)
        return reach(*args, **kwargs)

    return checked


def _address_host(_: socket.socket, address: object) -> object:
    return address[0] if isinstance(address, tuple) else None  # a unix socket's address is a string


def _named_host(host: object, *_: object, **__: object) -> object:
    return host


def pytest_configure(config: pytest.Config) -> None:
    """Cut the network, hide what would switch a framework over to a paid or remote service, and give stores a place."""
    settings.load_profile(config.getoption("tier"))
    # An audit hook would see more, and break threads: under coverage every new thread sets its trace function, which
    # Python announces to the hook, and two threads there at once are one too many for Python 3.11: the second dies as
    # it starts, and its pool waits for it for ever.
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _local_only(getattr(socket.socket, name), _address_host))
    socket.getaddrinfo = _local_only(socket.getaddrinfo, _named_host)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        os.environ.pop(name, None)
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ[name] = "false"
    # Thousands of stores are made, and few tests are about the disk below them.
    if os.access(_IN_MEMORY, os.W_OK) and shutil.disk_usage(_IN_MEMORY).free >= _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage among what collecting makes, nearly all of which stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Let the collector never look again at what collecting made: a test that collects garbage looks for its own."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Suites that frameworks ship run their coroutines on asyncio alone."""
    return "asyncio"
