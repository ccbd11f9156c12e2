"""The tests' own rules: no test opens a connection to another machine, and new threads start while that is watched."""

import asyncio
import socket
import sys
import threading
import urllib.request

import pytest


def test_no_test_can_reach_for_the_network() -> None:
    with pytest.raises(ConnectionRefusedError, match="reached for the network"):
        socket.create_connection(("example.org", 80), timeout=1)
    with socket.socket() as plain:
        for reach in (plain.connect, plain.connect_ex):
            with pytest.raises(ConnectionRefusedError, match="reached for the network"):
                reach(("192.0.2.1", 80))
    with pytest.raises(OSError, match="reached for the network"):
        urllib.request.urlopen("http://example.org", timeout=1)


async def test_no_coroutine_can_either() -> None:
    for host in ("example.org", "192.0.2.1"):
        with pytest.raises(ConnectionRefusedError, match="reached for the network"):
            await asyncio.open_connection(host, 80)


def test_what_is_on_this_machine_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname(), timeout=5) as client:
            assert client.getpeername() == server.getsockname()
        with socket.create_connection(("localhost", server.getsockname()[1]), timeout=5):
            pass


def test_no_thread_dies_at_its_start_when_every_new_one_sets_a_trace_function() -> None:
    """What coverage does in each thread; see `pytest_configure`."""

    def trace(*_: object) -> None: ...

    lived: list[None] = []

    def start_many() -> None:
        for _ in range(200):
            each = threading.Thread(target=lived.append, args=(None,))
            each.start()
            each.join()

    starters = [threading.Thread(target=start_many) for _ in range(8)]
    for each in starters:
        each.start()
    interval, hook = sys.getswitchinterval(), threading.gettrace()
    threading.settrace(trace)
    sys.setswitchinterval(1e-5)
    try:
        for each in starters:
            each.join()
    finally:
        sys.setswitchinterval(interval)
        threading.settrace(hook)
    assert len(lived) == 8 * 200
