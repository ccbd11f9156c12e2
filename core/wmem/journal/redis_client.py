"""Sync commands to a Redis server, over connections that wmem makes or a client that the caller owns.

Connections that wmem makes never retry: a write whose reply was lost is retried by the
engine, which can find out whether it arrived. A caller's client is used as it is and never
closed.
"""

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.client import NEVER_DECODE
from redis.cluster import RedisCluster
from redis.retry import Retry

from wmem.errors import InvalidInputError, StoreError, StoreFullError, UnknownOutcomeError
from wmem.fork import new_renewed_lock
from wmem.journal.redis_scripts import LOST
from wmem.journal.redis_url import RedisUrl

Word: TypeAlias = str | bytes | int

TIMEOUTS = {"socket_timeout": 10.0, "socket_connect_timeout": 5.0}  # seconds
_QUOTED_ARGUMENTS = ", with args beginning with"
_MAX_CONNECTIONS = 2**16  # one per thread that waits for a reply

# Only these: the driver's reply callbacks of others take no such option.
_RAW_REPLY_COMMANDS = ("EVAL", "EVALSHA", "SMEMBERS")

_REFUSALS = (
    exceptions.ResponseError,
    exceptions.AuthenticationError,
    exceptions.AuthorizationError,
    exceptions.BusyLoadingError,
    exceptions.MaxConnectionsError,
    exceptions.DataError,
)
"""Errors after which nothing was executed: refused by the server, or by the driver before sending."""

DRIVER_ERRORS = (exceptions.RedisError, exceptions.RedisClusterException, OSError, RuntimeError)
"""All errors a driver raises; `RuntimeError` when a client is used in another loop than its own."""


class ScriptMissingError(StoreError):
    """The server has not cached the script; nothing was executed."""


class Server(Protocol):
    """Sends one command and returns its reply, as bytes."""

    def query(self, /, *words: Word) -> Any:
        """The reply to a command that changes nothing.

        Raises:
            ScriptMissingError: An EVALSHA of a script that the server has not cached.
            StoreError: The server refused, could not be reached or did not answer.
        """
        ...

    def write(self, /, *words: Word) -> Any:
        """The reply to a command that changes something.

        Raises:
            UnknownOutcomeError: The command was sent, and the reply was lost.
            ScriptMissingError: See `query`.
            StoreError: The server refused, or could not be reached.
        """
        ...

    def close(self) -> None:
        """Close the connections that wmem made."""
        ...


class LostKeyError(StoreError):
    """A script misses a key of a scope; nothing was changed.

    Attributes:
        kind: ``hash``, ``stream``, ``births``, ``register`` or ``names``.
        path: The scope's path as JSON.
    """

    def __init__(self, url: str, kind: str, path: str) -> None:
        super().__init__(f"{url}: the {kind} of {path} is lost")
        self.url = url
        self.kind = kind
        self.path = path


class ForeignKeyError(StoreError):
    """A key is of another type than the command needs; nothing was changed."""


def to_store_error(exc: BaseException, url: RedisUrl, *, writes: bool, sent: bool = True) -> StoreError:
    """The `StoreError` for an error of the driver."""
    if isinstance(exc, exceptions.NoScriptError):
        return ScriptMissingError(url)
    _drop_arguments(exc)
    # Some driver errors have no message.
    what = f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__
    if isinstance(exc, exceptions.ResponseError) and (known := _to_known_error(exc, what, url)) is not None:
        return known
    if _is_no_cluster(what, url):
        return StoreError(f"{url}: the server is not part of a cluster: open it without '?cluster=true' ({what})")
    if isinstance(exc, _REFUSALS):
        return StoreError(f"{url}: the server refused: {what}; nothing was changed")
    if not sent:
        return StoreError(f"{url}: the server cannot be reached: {what}; nothing was changed")
    if writes:
        return UnknownOutcomeError(f"{url}: the reply was lost: {what}; read to see whether the write arrived")
    return StoreError(f"{url}: the server did not answer: {what}")


def _drop_arguments(exc: BaseException) -> None:
    """Drop the arguments of a refused command from the server's message: a password, or what is remembered."""
    cause: BaseException | None = exc
    while cause is not None:
        if cause.args and isinstance(cause.args[0], str):
            cause.args = (cause.args[0].partition(_QUOTED_ARGUMENTS)[0], *cause.args[1:])
        cause = cause.__cause__ or cause.__context__


def is_full_refusal(reply: object) -> bool:
    """Whether a reply says that the server is full: its connection is closed, for it may hold megabytes of buffers."""
    return isinstance(reply, exceptions.ResponseError) and (
        "maxmemory" in str(reply) or "OutOfMemory" in type(reply).__name__
    )


_CLUSTER_REFUSALS = (
    *("MOVED", "ASK ", "MovedError", "AskError", "CROSSSLOT", "ClusterCrossSlot"),
    *("CLUSTERDOWN", "ClusterDown", "Hash slot not served"),
)


def _to_known_error(exc: BaseException, what: str, url: RedisUrl) -> StoreError | None:
    """The error for a refusal by a server that a caller can do something about."""
    text = str(exc)
    if text.startswith(LOST):
        _, kind, path = text.split(" ", 2)
        return LostKeyError(url, kind, path)
    if "WRONGTYPE" in text or "wrong kind of value" in text:
        return ForeignKeyError(f"{url}: the server refused: {what}; nothing was changed")
    if is_full_refusal(exc):
        return StoreFullError(
            f"{url}: the server is full (maxmemory): {what}; nothing was changed. It still takes what removes: remove, "
            "clear, erase or dispose something, or give it more memory"
        )
    if not url.is_cluster and any(each in what for each in _CLUSTER_REFUSALS):
        return StoreError(
            f"{url}: the server is part of a cluster: open it with '?cluster=true' ({what}); nothing was changed"
        )
    return None


def _is_no_cluster(what: str, url: RedisUrl) -> bool:
    return url.is_cluster and ("Cluster mode is not enabled" in what or "cluster support disabled" in what)


class _PooledClient:
    """Connections made by wmem, used directly, without redis-py's client and pool.

    A connection is idle only after its whole reply was read. Whatever interrupts a call in between, even a signal whose
    handler raises, leaves no connection from which the next call would read the former one's reply. There is no lock.
    """

    def __init__(self, url: RedisUrl) -> None:
        self._url = url
        self._options: dict[str, Any] = {**TIMEOUTS, **parse_options(url)}
        self._kind: Any = self._options.pop("connection_class", redis.connection.Connection)
        self._max_connections = self._options.pop("max_connections", _MAX_CONNECTIONS)
        self._idle: deque[Any] = deque()
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()

    def query(self, /, *words: Word) -> Any:
        return self._send(words, writes=False)

    def write(self, /, *words: Word) -> Any:
        return self._send(words, writes=True)

    def _send(self, words: Sequence[Word], *, writes: bool) -> Any:
        sent = False
        try:
            connection = self._take()
            sent = True
            return self._exchange(connection, encode_command(words))
        except DRIVER_ERRORS as exc:
            raise to_store_error(exc, self._url, writes=writes, sent=sent) from exc

    def _take(self) -> Any:
        """A connection that is ready for a command."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._make()
        try:
            connection.connect()
            if _is_stale(connection):
                connection.disconnect()
                connection.connect()
        except BaseException:
            connection.disconnect()
            raise
        return connection

    def _make(self) -> Any:
        if len(self._open) >= self._max_connections:
            raise exceptions.MaxConnectionsError(f"{self._max_connections} connections are in use")
        try:
            connection = self._kind(retry=Retry(NoBackoff(), 0), **self._options)
        except TypeError as exc:
            raise unknown_option_error(exc, self._url) from exc
        self._open.add(connection)
        return connection

    def _exchange(self, connection: Any, command: bytes) -> Any:
        reply: Any = _UNREAD
        try:
            connection.send_packed_command([command])
            try:
                reply = connection.read_response()
            except exceptions.ResponseError as exc:
                reply = exc
        finally:
            if reply is _UNREAD or is_full_refusal(reply):
                connection.disconnect()
            else:
                self._idle.append(connection)
        if isinstance(reply, exceptions.ResponseError):
            raise reply
        return reply

    def close(self) -> None:
        self._idle.clear()
        for connection in list(self._open):
            connection.disconnect()


_UNREAD = object()


def _is_stale(connection: Any) -> bool:
    """Whether a server closed a connection while it was idle."""
    try:
        return bool(connection.can_read())
    except (exceptions.ConnectionError, exceptions.TimeoutError, OSError):
        return True


class _DriverClient:
    """Commands through a redis-py client: a cluster client, or one that the caller owns.

    Args:
        client: The caller's client.
        make: Creates wmem's own client at first use, because creating it connects.
    """

    def __init__(self, url: RedisUrl, *, client: Any = None, make: Callable[[], Any] | None = None) -> None:
        self._url = url
        self._client = client
        self._make = make
        self._lock = new_renewed_lock()
        self._interrupted = False

    def query(self, /, *words: Word) -> Any:
        return self._send(words, writes=False)

    def write(self, /, *words: Word) -> Any:
        return self._send(words, writes=True)

    def _send(self, words: Sequence[Word], *, writes: bool) -> Any:
        sent = False
        try:
            with self._lock:
                if self._client is None and self._make is not None:
                    self._client = self._make()
            if self._interrupted:
                drop_idle_connections(self._client)
                self._interrupted = False
            sent = True
            return self._client.execute_command(*words, **raw_reply_options(words))
        except DRIVER_ERRORS as exc:
            raise to_store_error(exc, self._url, writes=writes, sent=sent) from exc
        except BaseException:
            # The driver may have put a connection back whose reply is yet to come: see `_PooledClient`.
            self._interrupted = True
            raise

    def close(self) -> None:
        if self._make is not None and self._client is not None:
            self._client.close()


def drop_idle_connections(client: Any) -> None:
    """Have a redis-py client begin with new connections; those that other threads use at the moment go on."""
    is_cluster = isinstance(client, RedisCluster)
    clients: list[Any] = (
        [node.redis_connection for node in client.nodes_manager.nodes_cache.values()] if is_cluster else [client]
    )
    for each in filter(None, clients):
        each.connection_pool.disconnect(inuse_connections=False)
        if each.connection is not None:
            each.connection.disconnect()


def server_client(url: RedisUrl, client: object | None) -> Server:
    """The sync connection to a server, not yet connected.

    Raises:
        InvalidInputError: `client` is not a sync client, or the URL has an option that the driver refuses.
    """
    if client is None:
        check_options(url)
        return _DriverClient(url, make=partial(_cluster, url)) if url.is_cluster else _PooledClient(url)
    if isinstance(client, redis.Redis | RedisCluster):
        return _DriverClient(url, client=client)
    raise wrong_client_error(client, "redis.Redis or redis.RedisCluster", "wmem.open")


def _cluster(url: RedisUrl) -> Any:
    retry = Retry(NoBackoff(), 0)
    return RedisCluster.from_url(url.driver_url, retry=retry, max_connections=_MAX_CONNECTIONS, **TIMEOUTS)


def encode_command(words: Sequence[Word]) -> bytes:
    """Encode a command in the Redis protocol; four times as fast as the driver, which accepts more types."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word.encode() if isinstance(word, str) else word if isinstance(word, bytes) else b"%d" % word
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def raw_reply_options(words: Sequence[Word]) -> dict[str, bool]:
    """The option that keeps a reply undecoded, even in a client with `decode_responses`."""
    return {NEVER_DECODE: True} if words[0] in _RAW_REPLY_COMMANDS else {}


def check_options(url: RedisUrl) -> None:
    """Have the driver parse a URL now, not at the first connection.

    Raises:
        InvalidInputError: An option has an invalid value.
    """
    parse_options(url)


def parse_options(url: RedisUrl) -> dict[str, Any]:
    """The options of a connection, as the driver reads them from a URL; see `check_options`."""
    parse: Callable[[str], Any] = redis.connection.parse_url
    try:
        return dict(parse(url.driver_url))
    except ValueError as exc:
        fault = str(exc)  # names the option
    else:
        return None
    raise InvalidInputError(f"{url}: the driver refuses an option of the URL: {fault}")


def unknown_option_error(exc: TypeError, url: str) -> InvalidInputError:
    """The error for an unknown URL option, which the driver reports only at the first connection."""
    return InvalidInputError(f"{url}: the driver refuses an option of the URL: {exc}")


def wrong_client_error(client: object, kind_wanted: str, opener: str) -> InvalidInputError:
    """The error for a sync client given to the async API, or the reverse, or no client at all."""
    kind = f"{type(client).__module__}.{type(client).__qualname__}"
    return InvalidInputError(f"client must be a {kind_wanted} for {opener}, not {kind!r}")
