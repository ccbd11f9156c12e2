"""`ReplyStore`: stands behind a model, stores what it replied, and passes it on."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig, ensure_config

from langchain_wmem._partial import find_reason
from langchain_wmem._runnable_input import is_state


class ReplyStore(Runnable[Any, Any]):
    """See `WmemPack.store_reply`.

    Args:
        store: Stores a reply, or the messages of a state, for a run's configuration; by the keyword
            ``stopped`` it is told why that is not whole, in a word.
        astore: The same, async.
    """

    def __init__(
        self,
        name: str,
        store: Callable[..., None],
        astore: Callable[..., Awaitable[None]],
    ) -> None:
        self.name = name
        self._store, self._astore = store, astore

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: object) -> Any:
        """What came in; for a state, an update that changes nothing."""
        return self._call_with_config(self._pass, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: object) -> Any:
        """See `invoke`."""
        return await self._acall_with_config(self._apass, input, config)

    def _pass(self, reply: Any) -> Any:
        self._store(reply, ensure_config())
        return {} if is_state(reply) else reply

    async def _apass(self, reply: Any) -> Any:
        await self._astore(reply, ensure_config())
        return {} if is_state(reply) else reply

    def transform(self, input: Iterator[Any], config: RunnableConfig | None = None, **_: object) -> Iterator[Any]:
        """The pieces as they come; a stream that breaks off is stored as far as it came."""
        whole, stopped = None, ""
        try:
            for piece in input:
                whole = piece if whole is None else whole + piece
                yield piece
        except BaseException as exc:
            stopped = find_reason(exc)
            raise
        finally:
            if whole is not None:
                self._store(whole, ensure_config(config), stopped=stopped)

    async def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **_: object
    ) -> AsyncIterator[Any]:
        """See `transform`."""
        whole, stopped = None, ""
        try:
            async for piece in input:
                whole = piece if whole is None else whole + piece
                yield piece
        except BaseException as exc:
            stopped = find_reason(exc)
            raise
        finally:
            if whole is not None:
                await self._astore(whole, ensure_config(config), stopped=stopped)
