"""Async commands to a Redis server: one connection for all tasks of an event loop, closed with the loop."""

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple, Protocol

import redis.asyncio
import redis.asyncio.cluster
import redis.asyncio.connection
import redis.asyncio.retry
from redis import exceptions
from redis.backoff import NoBackoff

from wmem.journal.redis_client import (
    DRIVER_ERRORS,
    TIMEOUTS,
    Word,
    check_options,
    encode_command,
    is_full_refusal,
    raw_reply_options,
    to_store_error,
    unknown_option_error,
    wrong_client_error,
)
from wmem.journal.redis_url import RedisUrl

_MAX_CONCURRENT_CALLS = 32  # concurrent calls of one loop through a pooled client; the driver's pool raises beyond 100
_MAX_BATCH_COMMANDS = 256  # commands sent in one write
_MAX_BATCH_BYTES = 1 << 20


class _LoopClient(Protocol):
    async def call(self, words: Sequence[Word], /) -> Any: ...
    async def aclose(self) -> None: ...
    def abandon(self) -> None: ...


class _FailedReply(NamedTuple):
    """An error in place of a reply; `sent`: the command may have reached the server."""

    error: BaseException
    sent: bool


class _SharedConnection:
    """One connection that carries the calls of all tasks of a loop, many to a write.

    The reply to a cancelled task is still read, and dropped, so no half-read reply is ever left; a
    call that is not yet written when its task is cancelled is never sent.
    """

    def __init__(self, url: RedisUrl) -> None:
        kwargs: dict[str, Any] = {**TIMEOUTS, **redis.asyncio.connection.parse_url(url.driver_url)}
        kind = kwargs.pop("connection_class", redis.asyncio.connection.Connection)
        kwargs.pop("max_connections", None)  # an option of pools; this is a single connection
        self._connection: Any = kind(retry=redis.asyncio.retry.Retry(NoBackoff(), 0), **kwargs)
        self._waiting: deque[tuple[bytes, asyncio.Future[Any]]] = deque()
        self._sent: deque[asyncio.Future[Any]] = deque()
        self._pump_task: asyncio.Task[None] | None = None
        self._is_clean = True
        """Whether no reply is yet to come on the connection; false while the pump runs, and once it was interrupted."""

    async def call(self, words: Sequence[Word], /) -> Any:
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            self._waiting.append((encode_command(words), reply))
            # It is also over when a signal's handler raised in it.
            if self._pump_task is None or self._pump_task.done():
                self._pump_task = asyncio.create_task(self._pump())
                self._pump_task.add_done_callback(self._end_pump)
        except BaseException:
            reply.cancel()  # interrupted before anybody waited for it: never sent
            raise
        return await reply

    async def _pump(self) -> None:
        """Send waiting commands and read replies until there are none left, overlapping both."""
        if not self._is_clean:
            # The pump before was interrupted: the next reply on this connection would be that of a former call.
            await self._connection.disconnect(nowait=True)
            self._fail_sent(exceptions.ConnectionError("interrupted"))
        self._is_clean = False
        while self._waiting or self._sent:
            if self._sent or await self._connect():
                await self._exchange()
        self._is_clean = True

    def _end_pump(self, pump: "asyncio.Task[None]") -> None:
        """Let nobody wait for a pump that was cancelled, or interrupted as by a signal whose handler raises."""
        error = asyncio.CancelledError() if pump.cancelled() else pump.exception()
        if error is not None and pump is self._pump_task:
            self._fail_sent(error)
            self._refuse_waiting(exceptions.ConnectionError("the loop is being closed, or was interrupted"))

    async def _exchange(self) -> None:
        """Send the next batch of waiting commands, and read one reply."""
        try:
            if data := self._next_batch():
                await self._connection.send_packed_command(data)
            if self._sent:
                try:
                    answer = await self._connection.read_response()
                except exceptions.ResponseError as exc:
                    answer = _FailedReply(exc, sent=True)
                _resolve(self._sent[0], answer)
                self._sent.popleft()
                if type(answer) is _FailedReply and is_full_refusal(answer.error) and not self._sent:
                    await self._connection.disconnect(nowait=True)
        except DRIVER_ERRORS as exc:
            await self._connection.disconnect(nowait=True)
            self._fail_sent(exc)

    def _fail_sent(self, error: BaseException) -> None:
        while self._sent:
            _resolve(self._sent[0], _FailedReply(error, sent=True))
            self._sent.popleft()

    def _refuse_waiting(self, error: BaseException) -> None:
        while self._waiting:
            _resolve(self._waiting[0][1], _FailedReply(error, sent=False))
            self._waiting.popleft()

    def _next_batch(self) -> bytes:
        batch: list[bytes] = []
        size = 0
        while self._waiting and len(self._sent) < _MAX_BATCH_COMMANDS and size < _MAX_BATCH_BYTES:
            data, reply = self._waiting[0]
            if not reply.done():
                batch.append(data)
                size += len(data)
                self._sent.append(reply)
            self._waiting.popleft()  # last: wherever it is interrupted, a reply is in one of both
        return b"".join(batch)

    async def _connect(self) -> bool:
        """Connect, or reconnect if the server closed an idle connection; a failure goes to all waiting calls."""
        connection = self._connection
        try:
            await connection.connect()
            # Before version 8 the driver has only the older name.
            if await getattr(connection, "can_read", connection.can_read_destructive)():
                await connection.disconnect(nowait=True)
                await connection.connect()
        except DRIVER_ERRORS as exc:
            await connection.disconnect(nowait=True)
            self._refuse_waiting(exc)
            return False
        return True

    async def aclose(self) -> None:
        await self._connection.disconnect()

    def abandon(self) -> None:
        """Close the socket of a loop that is already closed, where nothing can be awaited any more."""
        writer = self._connection._writer  # noqa: SLF001  # the driver has no API for a closed loop
        if writer is None:
            return
        self._connection._writer = self._connection._reader = None  # noqa: SLF001  # the same
        with suppress(RuntimeError):
            writer.transport.abort()
        socket = getattr(writer.transport, "_sock", None)
        if socket is not None:
            writer.transport._sock = None  # noqa: SLF001  # the loop that would close it is closed itself
            socket.close()


def _resolve(reply: asyncio.Future[Any], result: object) -> None:
    if not reply.done():  # the caller may have been cancelled
        reply.set_result(result)


class _AsyncDriverClient:
    """Commands through a redis-py client: a cluster client, or one that the caller owns."""

    def __init__(self, client: Any, *, owned: bool) -> None:
        self._client = client
        self._owned = owned
        self._calling: set[asyncio.Task[Any] | None] = set()
        """The tasks with a call under way. No semaphore: an interrupt would take one of its slots for ever."""
        self._queue: deque[asyncio.Future[None]] = deque()
        self._interrupted = False

    async def call(self, words: Sequence[Word], /) -> Any:
        task = asyncio.current_task()
        try:
            if len(self._calling) >= _MAX_CONCURRENT_CALLS:
                await self._wait_turn()
            self._calling.add(task)
            try:
                if self._interrupted:
                    await _drop_connections(self._client)
                    self._interrupted = False
                return await self._client.execute_command(*words, **raw_reply_options(words))
            except DRIVER_ERRORS as exc:
                return _FailedReply(exc, sent=True)
            except asyncio.CancelledError:
                raise
            except BaseException:
                # The driver may have put a connection back whose reply is yet to come.
                self._interrupted = True
                raise
        finally:
            self._calling.discard(task)
            self._wake_next()

    def _wake_next(self) -> None:
        while self._queue:
            turn = self._queue[0]
            is_waiting = not turn.done()  # it may have been cancelled
            _resolve(turn, None)
            self._queue.popleft()  # last, so that an interrupt drops nobody
            if is_waiting:
                return

    async def _wait_turn(self) -> None:
        """Wait until fewer calls are under way; those of tasks that ended in an interrupt do not count."""
        while True:
            self._calling = {each for each in self._calling if each is not None and not each.done()}
            if len(self._calling) < _MAX_CONCURRENT_CALLS:
                return
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queue.append(turn)
            await turn

    async def aclose(self) -> None:
        if self._owned:
            await self._client.aclose()

    def abandon(self) -> None:
        """Does nothing: redis-py cleans up the connections of its own clients."""


async def _drop_connections(client: Any) -> None:
    """Have a client begin with new connections."""
    if isinstance(client, redis.asyncio.cluster.RedisCluster):
        for node in client.get_nodes():
            await node.disconnect()
    else:
        await client.connection_pool.disconnect(inuse_connections=False)
        if client.connection is not None:
            await client.connection.disconnect(nowait=True)


def _client_factory(url: RedisUrl, client: object | None) -> Callable[[], _LoopClient]:
    """Factory of a loop's connection to the server; to be called in that loop."""
    if client is None:
        check_options(url)
        if url.is_cluster:
            return lambda: _AsyncDriverClient(_async_cluster(url), owned=True)
        return lambda: _SharedConnection(url)
    if isinstance(client, redis.asyncio.Redis | redis.asyncio.cluster.RedisCluster):
        return lambda: _AsyncDriverClient(client, owned=False)
    raise wrong_client_error(client, "redis.asyncio.Redis or redis.asyncio.RedisCluster", "wmem.aopen")


def _async_cluster(url: RedisUrl) -> Any:
    retry = redis.asyncio.retry.Retry(NoBackoff(), 0)
    return redis.asyncio.cluster.RedisCluster.from_url(url.driver_url, retry=retry, **TIMEOUTS)


class PerLoopServer:
    """The async `Server` for any number of event loops: each has its own connections, closed with the loop.

    A caller's client belongs to the loop it was first used in, as redis-py requires.

    Raises:
        InvalidInputError: `client` is not an async client, or an option of the URL has a wrong value.
    """

    _pending_closes: ClassVar[set[AsyncGenerator[None, None]]] = set()
    """Lifetimes of loops that were not running at `close`: they end with their loop."""

    def __init__(self, url: RedisUrl, client: object | None) -> None:
        self._url = url
        self._connect = _client_factory(url, client)
        self._clients: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[_LoopClient, AsyncGenerator[None, None]]
        ] = weakref.WeakKeyDictionary()
        self._parent_clients: list[object] = []

    async def query(self, /, *words: Word) -> Any:
        return await self._send(words, writes=False)

    async def write(self, /, *words: Word) -> Any:
        return await self._send(words, writes=True)

    async def _send(self, words: Sequence[Word], *, writes: bool) -> Any:
        loop = asyncio.get_running_loop()
        known = self._clients.get(loop)
        client = await self._start_client(loop) if known is None else known[0]
        answer = await client.call(words)
        if type(answer) is _FailedReply:
            if not isinstance(answer.error, Exception):
                # Not this task was cancelled or interrupted, but the one that sends commands.
                lost = exceptions.ConnectionError("the loop is being closed, or was interrupted")
                raise to_store_error(lost, self._url, writes=writes)
            raise to_store_error(answer.error, self._url, writes=writes, sent=answer.sent) from answer.error
        return answer

    async def _start_client(self, loop: asyncio.AbstractEventLoop) -> _LoopClient:
        self._drop_closed_loops()
        try:
            client = self._connect()
        except TypeError as exc:
            raise unknown_option_error(exc, self._url) from exc
        # A loop that ends closes the async generators started in it: the only hook to close connections in.
        lifetime = _client_lifetime(client)
        await anext(lifetime)
        self._clients[loop] = (client, lifetime)
        return client

    def _drop_closed_loops(self) -> None:
        """Drop the connections of closed loops."""
        for loop, (client, _) in list(self._clients.items()):
            if loop.is_closed():
                client.abandon()
                del self._clients[loop]

    async def aclose(self) -> None:
        """Close the running loop's connections, and those of closed loops."""
        known = self._clients.pop(asyncio.get_running_loop(), None)
        if known is not None:
            await known[1].aclose()
        self.close()

    def close(self) -> None:
        """Have every other loop close its connections: now if it is running, else when it ends."""
        self._drop_closed_loops()
        PerLoopServer._pending_closes -= {
            each for each in PerLoopServer._pending_closes if getattr(each, "ag_frame", None) is None
        }
        for loop, (_, lifetime) in list(self._clients.items()):
            if loop.is_running():
                asyncio.run_coroutine_threadsafe(lifetime.aclose(), loop)
            else:
                PerLoopServer._pending_closes.add(lifetime)
        self._clients.clear()

    def reset_after_fork(self) -> None:
        """In a forked child: keep the parent's connections open and unused, and start with none."""
        self._parent_clients.append(self._clients)
        self._clients = weakref.WeakKeyDictionary()


async def _client_lifetime(client: _LoopClient) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await client.aclose()
