"""A memory for an adapter: the caller's own, one opened from a URL or by its name on first use, or a copy of one."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from wmem.agent import AgentMemory, AsyncAgentMemory, aopen, open  # noqa: A004  # `wmem.open` under its own name
from wmem.agent.openers import (
    aopen_registered,
    check_name,
    check_needs,
    list_needs,
    open_registered,
    reopen,
    reopen_memory,
)
from wmem.agent.options import check_lazily_opened
from wmem.engine.store import check_url
from wmem.errors import InvalidInputError, SerializationError
from wmem.fork import new_renewed_lock
from wmem.journal.redis_url import HIDDEN, RedisUrl
from wmem.model.checks import check_flag
from wmem.model.features import Features
from wmem.model.gate import Gate
from wmem.rules.redaction import Redaction
from wmem.scope.summaries.port import Summarizer, SummarizerFunction
from wmem.tokens.counter import Counter

Memory: TypeAlias = AgentMemory | AsyncAgentMemory

_PRIVATE_URL = "memory://"
_PASSWORD = "password"  # noqa: S105  # the name of one


_EXTRACTION = "enable_skill_extraction"


class LazyMemory:
    """One memory with its sync and its async face.

    What may be written out of it, to open it again elsewhere, is `url`, `agent_id`, `store` and
    `needs`; none of them is a secret. A copy made of these finds the memory that is open in its
    process where they do not suffice to open it.

    Args:
        memory: An open memory, which the caller closes, or a URL; None with `store`.
        agent_id: The agent that owns it; required with a URL, checked otherwise.
        counter: Counts tokens; only with a URL, since an open memory has its own.
        features: What the memory may use; only with a URL, as `redaction`.
        redaction: See `wmem.open`. Neither is written out: a copy is never opened with more features or less redaction.
        gate: See `wmem.open`; only with a URL. A copy of which nothing is open takes all.
        enable_skill_extraction: Whether maintenance makes skills of tool calls; only with a URL.
        summarizer: See `wmem.open`; only with a URL. It is not written out either.
        store: The name under which its opener is registered: see `wmem.register`.
        needs: Of a copy: with what the memory was opened beside its URL.

    Raises:
        InvalidInputError: An unknown URL, no agent, another agent than the memory's, or a counter for an open memory.
    """

    def __init__(
        self,
        memory: Memory | str | None,
        agent_id: str | None,
        counter: Counter | None = None,
        *,
        features: Features | None = None,
        redaction: Redaction | None = None,
        gate: Gate | None = None,
        enable_skill_extraction: bool = True,
        summarizer: Summarizer | SummarizerFunction | None = None,
        store: str | None = None,
        needs: Sequence[str] = (),
    ) -> None:
        self.store: str | None = store if store is None else check_name(store)
        """The name of its opener; None for a memory that was opened in another way."""
        self.given = None if isinstance(memory, str) else memory
        """The caller's own memory; None where a URL or a name was given."""
        self._url, self._needs = "", tuple(needs)
        if store is not None:
            if memory is not None:
                raise InvalidInputError("a store's name says where the memory is: pass no URL and no open memory")
        elif isinstance(memory, str):
            self._read_url(memory)
            if not isinstance(agent_id, str) or not agent_id.strip():
                raise InvalidInputError(f"whose memory is {self._url!r}? pass agent_id; there is no default one")
        elif not isinstance(memory, AgentMemory | AsyncAgentMemory):
            raise InvalidInputError(f"expected a URL or an open memory, not {type(memory).__name__!r}")
        elif agent_id is not None and agent_id != memory.agent_id:
            raise InvalidInputError(f"the memory is that of agent {memory.agent_id!r}, not of {agent_id!r}")
        else:
            self._url, self._needs, agent_id = memory.url, list_needs(memory), memory.agent_id
        check_flag(enable_skill_extraction, _EXTRACTION)
        check_lazily_opened(counter, summarizer, features, redaction, gate)
        passed: dict[str, Any] = {
            "counter": counter,
            "features": features,
            "redaction": redaction,
            "gate": gate,
            _EXTRACTION: None if enable_skill_extraction else False,
            "summarizer": summarizer,
        }
        self._options = {name: option for name, option in passed.items() if option is not None}
        if self._options and not isinstance(memory, str):
            named = " and ".join(self._options)
            raise InvalidInputError(f"an open memory has {named} of its own; pass that to wmem.open instead")
        self._agent_id = agent_id or ""
        # Before the first use, too, a copy needs what is not a default; of a counter it is told once it is opened.
        defaults = {"counter": counter, "features": Features.all(), "redaction": Redaction(), "gate": Gate()}
        self._needs = _join(self._needs, (name for name, each in self._options.items() if each != defaults.get(name)))
        self._lock = new_renewed_lock()
        self._opened: Memory | None = None
        if self.missing:  # held at once: it may be closed elsewhere before the first use
            self._opened = reopen_memory(self._url, self._agent_id, self._needs)

    def _read_url(self, url: str) -> None:
        """Take a URL; one that hides its password comes from a copy, and is found in the process."""
        self._url = url if HIDDEN in url and not isinstance(url, RedisUrl) else check_url(url)
        if HIDDEN in self._url and _PASSWORD not in self._needs:
            self._needs = (_PASSWORD, *self._needs)

    @property
    def url(self) -> str:
        """The memory's URL; once it was opened, one that is valid in any working directory."""
        return self._url

    @property
    def agent_id(self) -> str:
        """The agent that owns it; with a name alone, empty until it was opened."""
        return self._agent_id

    @property
    def needs(self) -> tuple[str, ...]:
        """With what it was opened beside its URL: ``password``, and options of `wmem.open` by name."""
        return self._needs

    @property
    def missing(self) -> tuple[str, ...]:
        """What it needs and does not hold: a copy without it is looked for in the process."""
        if self.given is not None or self.store is not None:
            return ()
        held = {*self._options, *([_PASSWORD] if isinstance(self._url, RedisUrl) else ())}
        return tuple(each for each in self._needs if each not in held)

    def memory(self) -> AgentMemory:
        """The memory's sync face."""
        memory = self.given or self._opened
        if memory is None:
            opened = self._open()
            if (memory := self._keep_first(opened)) is not opened:
                opened.close()
        return _to_sync(memory)

    async def amemory(self) -> AsyncAgentMemory:
        """The memory's async face."""
        memory = self.given or self._opened
        if memory is None:
            opened = await self._aopen()
            if (memory := self._keep_first(opened)) is not opened:
                await opened.close()
        return _to_async(memory)

    def _open(self) -> AgentMemory:
        if self.store is not None:
            return open_registered(self.store, self._agent_id)
        return self._find() or open(self._url, agent_id=self._agent_id, **self._options)

    async def _aopen(self) -> AsyncAgentMemory:
        if self.store is not None:
            return await aopen_registered(self.store, self._agent_id)
        if (memory := self._find()) is not None:
            return memory.aio()
        return await aopen(self._url, agent_id=self._agent_id, **self._options)

    def _find(self) -> AgentMemory | None:
        """What is open in this process and has what is missing; None if it is opened from its URL."""
        if not (missing := self.missing):
            return None
        memory = reopen_memory(self._url, self._agent_id, self._needs)
        if memory is None:
            check_needs(self._url, self._agent_id, missing)
        return memory

    def _keep_first(self, memory: Memory) -> Memory:
        """The memory that was opened first, if threads raced: this one, or another's."""
        with self._lock:
            kept = self._opened = self._opened or memory
            self._url, self._agent_id = kept.url, kept.agent_id
            self._needs = _join(list_needs(kept), self._needs)
        return kept

    def close(self) -> None:
        """Close the memory if it was opened here; the next use opens it again."""
        if (own := self._take_opened()) is not None:
            _to_sync(own).close()

    async def aclose(self) -> None:
        """See `close`."""
        if (own := self._take_opened()) is not None:
            await _to_async(own).close()

    def _take_opened(self) -> Memory | None:
        with self._lock:
            own, self._opened = self._opened, None
        return own

    # --- copies --------------------------------------------------------------------------------------------------

    def check_reachable(self) -> None:
        """Raise `SerializationError` where what is written out could not be opened again, even in this process."""
        if self._url == _PRIVATE_URL and self.store is None:
            msg = "a private 'memory://' cannot be opened from a copy: name it, as in 'memory://name'"
            raise SerializationError(msg)

    def __getstate__(self) -> dict[str, object]:
        self.check_reachable()
        memory = str(self._url) if self.store is None else None
        return {"memory": memory, "agent_id": self._agent_id, "store": self.store, "needs": self._needs}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # opens lazily: nothing else is needed

    def __copy__(self) -> "LazyMemory":
        """Another one on the same store, which is closed on its own."""
        if self.given is not None:
            return LazyMemory(self.given, None)
        if self._url == _PRIVATE_URL:
            self.memory()  # opened now: the copy's own would be another one
        memory = None if self.store is not None else self._url
        copied = LazyMemory(
            memory,
            self._agent_id,
            **self._options,
            store=self.store,
            needs=self._needs,
        )
        if self._opened is not None and (self.missing or self._url == _PRIVATE_URL):
            copied._opened = reopen(self._opened)
        return copied

    def __deepcopy__(self, memo: object) -> "LazyMemory":
        return self.__copy__()


def _join(needs: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*needs, *others)))


def _to_sync(memory: Memory) -> AgentMemory:
    return memory if isinstance(memory, AgentMemory) else memory.sync()


def _to_async(memory: Memory) -> AsyncAgentMemory:
    return memory.aio() if isinstance(memory, AgentMemory) else memory
