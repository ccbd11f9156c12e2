"""Commands to a Redis server, for threads: over connections that wmem makes, or a client that its caller owns.

Clients that wmem makes repeat nothing by themselves: a write whose reply was lost is
repeated by whoever can tell whether it arrived. A caller's client is used as it is and
never closed.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.client import NEVER_DECODE
from redis.cluster import RedisCluster
from redis.retry import Retry

from wmem.errors import InvalidInputError, StoreError, UnknownOutcomeError
from wmem.journal.redis_url import RedisUrl

__all__ = [
    "FAILED",
    "TIMEOUTS",
    "Line",
    "ScriptMissingError",
    "Server",
    "Word",
    "as_bytes",
    "check_options",
    "line",
    "packed",
    "translated",
    "unknown_option",
    "wrong_client",
]

Word: TypeAlias = str | bytes | int

TIMEOUTS = {"socket_timeout": 10.0, "socket_connect_timeout": 5.0}  # seconds
_MAX_CONNECTIONS = 2**16  # of threads: each has its own while it waits

_BINARY = ("EVAL", "EVALSHA", "SMEMBERS")  # not others: the driver's own handling of their replies takes no such option

_REFUSED = (
    exceptions.ResponseError,
    exceptions.AuthenticationError,
    exceptions.AuthorizationError,
    exceptions.BusyLoadingError,
    exceptions.MaxConnectionsError,
    exceptions.DataError,
)
"""The server, or the driver before it sent anything, said no."""

FAILED = (exceptions.RedisError, exceptions.RedisClusterException, OSError, RuntimeError)
"""Whatever a driver raises; a `RuntimeError` when a client meets another loop than its own."""


class ScriptMissingError(StoreError):
    """The server does not know the script; it did nothing."""


class Server(Protocol):
    """Sends one command and returns its reply, as bytes."""

    def query(self, /, *words: Word) -> Any:
        """The reply to a command that changes nothing.

        Raises:
            ScriptMissingError: An EVALSHA of a script the server has not met.
            StoreError: The server refused, could not be reached or did not answer.
        """
        ...

    def write(self, /, *words: Word) -> Any:
        """The reply to a command that changes something.

        Raises:
            UnknownOutcomeError: It was sent, and the reply was lost.
            ScriptMissingError: See `query`.
            StoreError: The server refused, or could not be reached.
        """
        ...


class Line(Server, Protocol):
    """A `Server` that somebody lets go of."""

    def close(self) -> None:
        """Close the connections that wmem made."""
        ...


def translated(exc: BaseException, url: str, *, writes: bool, sent: bool = True) -> StoreError:
    """A driver's failure as what a caller of the journal can act on."""
    if isinstance(exc, exceptions.NoScriptError):
        return ScriptMissingError(url)
    # Some drivers' errors say nothing but their name.
    what = f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__
    if isinstance(exc, _REFUSED):
        return StoreError(f"{url}: the server refused: {what}; nothing was changed")
    if not sent:
        return StoreError(f"{url}: the server cannot be reached: {what}; nothing was changed")
    if writes:
        return UnknownOutcomeError(f"{url}: the reply was lost: {what}; read to see whether the write arrived")
    return StoreError(f"{url}: the server did not answer: {what}")


class _Pooled:
    """Connections of threads, made by wmem: one command, one reply, no client around them."""

    def __init__(self, url: RedisUrl) -> None:
        self._url = url
        self._pool: Any = redis.ConnectionPool.from_url(
            url.driver, max_connections=_MAX_CONNECTIONS, retry=Retry(NoBackoff(), 0), **TIMEOUTS
        )

    def query(self, /, *words: Word) -> Any:
        return self._sent(words, writes=False)

    def write(self, /, *words: Word) -> Any:
        return self._sent(words, writes=True)

    def _sent(self, words: Sequence[Word], *, writes: bool) -> Any:
        sent = False
        try:
            connection = self._pool.get_connection()
            try:
                sent = True
                connection.send_packed_command([packed(words)])
                return connection.read_response()
            finally:
                self._pool.release(connection)
        except FAILED as exc:
            raise translated(exc, self._url, writes=writes, sent=sent) from exc
        except TypeError as exc:
            if sent:
                raise
            raise unknown_option(exc, self._url) from exc

    def close(self) -> None:
        self._pool.disconnect()


class _Client:
    """A client that routes by itself, or belongs to the caller.

    Args:
        made: The caller's.
        make: Makes wmem's own when it is first needed: it connects at once.
    """

    def __init__(self, url: RedisUrl, *, made: Any = None, make: Callable[[], Any] | None = None) -> None:
        self._url = url
        self._client = made
        self._make = make
        self._lock = threading.Lock()

    def query(self, /, *words: Word) -> Any:
        return self._sent(words, writes=False)

    def write(self, /, *words: Word) -> Any:
        return self._sent(words, writes=True)

    def _sent(self, words: Sequence[Word], *, writes: bool) -> Any:
        sent = False
        try:
            with self._lock:
                if self._client is None and self._make is not None:
                    self._client = self._make()
            sent = True
            return self._client.execute_command(*words, **as_bytes(words))
        except FAILED as exc:
            raise translated(exc, self._url, writes=writes, sent=sent) from exc

    def close(self) -> None:
        if self._make is not None and self._client is not None:
            self._client.close()


def line(url: RedisUrl, client: object | None) -> Line:
    """How threads reach a server; nothing is connected yet.

    Raises:
        InvalidInputError: `client` is none for threads, or the URL has an option that the driver refuses.
    """
    if client is None:
        check_options(url)
        return _Client(url, make=partial(_cluster, url)) if url.cluster else _Pooled(url)
    if isinstance(client, redis.Redis | RedisCluster):
        return _Client(url, made=client)
    raise wrong_client(client, "redis.Redis or redis.RedisCluster", "wmem.open")


def _cluster(url: RedisUrl) -> Any:
    retry = Retry(NoBackoff(), 0)
    return RedisCluster.from_url(url.driver, retry=retry, max_connections=_MAX_CONNECTIONS, **TIMEOUTS)


def packed(words: Sequence[Word]) -> bytes:
    """A command as the protocol has it; four times as fast as the driver's own, which takes more kinds of words."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        told = word.encode() if isinstance(word, str) else word if isinstance(word, bytes) else b"%d" % word
        parts.append(b"$%d\r\n%b\r\n" % (len(told), told))
    return b"".join(parts)


def as_bytes(words: Sequence[Word]) -> dict[str, bool]:
    """The option by which a client leaves a reply as it is, also one that reads everything else as text."""
    return {NEVER_DECODE: True} if words[0] in _BINARY else {}


def check_options(url: RedisUrl) -> None:
    """Have the driver read a URL now, and not when the first call makes a connection.

    Raises:
        InvalidInputError: An option has a value that it cannot have.
    """
    parse: Callable[[str], object] = redis.connection.parse_url
    try:
        parse(url.driver)
    except ValueError as exc:
        msg = f"{url}: the driver refuses an option of the URL: {exc}"
        raise InvalidInputError(msg) from exc


def unknown_option(exc: TypeError, url: str) -> InvalidInputError:
    """For an option in a URL that no connection takes: the driver says so when it makes the first one."""
    return InvalidInputError(f"{url}: the driver refuses an option of the URL: {exc}")


def wrong_client(client: object, wanted: str, opener: str) -> InvalidInputError:
    """For a client that is none for the colour it was given to."""
    kind = f"{type(client).__module__}.{type(client).__qualname__}"
    return InvalidInputError(f"client must be a {wanted} for {opener}, not {kind!r}")
