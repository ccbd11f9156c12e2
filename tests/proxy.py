"""A network between a client and a server of the tests that counts commands and loses what it is told to lose."""

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

__all__ = ["Fate", "Proxy"]

Fate = str
"""``pass``; ``request``: it never arrives; ``reply``: it is done, nobody hears of it; ``half``: half of the reply."""

_CHUNK = 1 << 16


class Proxy:
    """Listens on loopback and passes on to a port, one thread a connection.

    Args:
        tls: How it presents itself to clients that speak TLS; what it passes on is plain.

    Attributes:
        commands: The names of the commands that came, in order, without those of the handshake.
        writes: How often a client wrote; several commands may go out in one write.
        fate: What becomes of a command, by its place among `commands`.
    """

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._target = port
        self._tls = tls
        self.commands: list[str] = []
        self.writes = 0
        self.fate: Callable[[int], Fate] = lambda _: "pass"
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    def url(self, database: str) -> str:
        """The URL of a database of the server, by way of this."""
        return f"redis://127.0.0.1:{self.port}/{database.rpartition('/')[2]}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in list(self._open):
            _cut(each)
        for thread in self._threads:
            thread.join(10)

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open |= {client, server}
            self._start(self._serve, client, server)

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        """One connection, one write of the client at a time: its commands go on, their replies come back."""
        try:
            if self._tls is not None:
                self._open.discard(client)
                client = self._tls.wrap_socket(client, server_side=True)
                self._open.add(client)
            while self._exchange(client, server):
                pass
        except OSError:
            pass
        finally:
            for each in (client, server):
                _cut(each)
                self._open.discard(each)

    def _exchange(self, client: socket.socket, server: socket.socket) -> bool:
        told = client.recv(_CHUNK)
        if not told:
            return False
        while (names := _names(told)) is None:
            more = client.recv(_CHUNK)
            if not more:
                return False
            told += more
        with self._lock:
            known = [name for name in names if name not in ("HELLO", "CLIENT", "SELECT", "AUTH")]
            self.writes += bool(known)
            first = len(self.commands)
            self.commands += known
            fates = {self.fate(place) for place in range(first, first + len(known))}
        if "request" in fates:
            return False
        server.sendall(told)
        reply = b""
        while not _complete(reply, len(names)):
            more = server.recv(_CHUNK)
            if not more:
                return False
            reply += more
        if "reply" in fates:
            return False
        if "half" in fates:
            client.sendall(reply[: len(reply) // 2])
            return False
        client.sendall(reply)
        return True


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _names(told: bytes) -> list[str] | None:
    """The names of the commands in a write; None while the last is incomplete."""
    names, place = [], 0
    while place < len(told):
        end = _end(told, place)
        if end is None:
            return None
        names.append(told[place:end].split(b"\r\n", 3)[2].decode().upper())
        place = end
    return names


def _complete(reply: bytes, count: int) -> bool:
    place: int | None = 0
    for _ in range(count):
        if place is None or place >= len(reply):
            return False
        place = _end(reply, place)
    return place is not None


def _end(told: bytes, place: int) -> int | None:
    """Where the RESP value that begins at `place` ends; None when it is not all there."""
    line = told.find(b"\r\n", place)
    if line < 0:
        return None
    kind, rest = told[place : place + 1], told[place + 1 : line]
    after = line + 2
    if kind in (b"$", b"=", b"!"):
        size = int(rest)
        end = after if size < 0 else after + size + 2
        return end if end <= len(told) else None
    if kind in (b"*", b"%", b"~", b">"):
        found: int | None = after
        for _ in range(max(0, int(rest)) * (2 if kind == b"%" else 1)):
            if found is None or found >= len(told):
                return None
            found = _end(told, found)
        return found
    return after
