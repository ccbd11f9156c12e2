"""Named openers of memories, and the memories that are open in this process: how a copy finds its memory again.

What opens a store may be a secret or an object: a password, a key, a client, an embedder. None
of it is ever written out. A copy of a memory holds a name, under which each process registers
how the memory is opened, or what was left out (`needs`), by which it finds an open one.
"""

import inspect
import weakref
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from wmem.agent.async_memory import AsyncAgentMemory
from wmem.agent.core import AgentCore, list_open_cores
from wmem.agent.memory import AgentMemory
from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.fork import new_renewed_lock
from wmem.log import find_logger

_log = find_logger("wmem.agent")

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

Opener: TypeAlias = Callable[[], AgentMemory | AsyncAgentMemory | Awaitable[AgentMemory | AsyncAgentMemory]]
"""Opens a memory: ``lambda: wmem.open(…)`` or, for coroutines alone, ``lambda: wmem.aopen(…)``."""


class _NamedOpener:
    """An opener and the memory it made, which stays open for all who ask for it by name."""

    def __init__(self, name: str, opener: Opener) -> None:
        self.name = name
        self.opener = opener
        self._lock = new_renewed_lock()
        self._core: AgentCore | None = None
        self._loop: weakref.ref[AbstractEventLoop] | None = None
        """The loop of an async opener: its client may not serve another one."""

    def reopen(self, loop: "AbstractEventLoop | None", agent_id: str) -> AgentCore | None:
        """Another opening of what was made for this loop, or by a sync opener; None before the first."""
        with self._lock:
            return self._reopen(loop, agent_id)

    def keep(self, memory: object, loop: "AbstractEventLoop | None", agent_id: str) -> AgentCore:
        """Keep what the opener returned, unless another caller was first; and open it once more for who asked."""
        if not isinstance(memory, AgentMemory | AsyncAgentMemory):
            raise InvalidInputError(f"the opener of {self.name!r} must return an open memory, not {describe(memory)}")
        with self._lock:
            if (core := self._reopen(loop, agent_id)) is None:
                self._core, self._loop = memory._core, None if loop is None else weakref.ref(loop)  # noqa: SLF001  # both faces are made of it
                core = self._reopen(loop, agent_id)
        if core is None:
            raise InvalidInputError(f"the opener of {self.name!r} returned a memory that is closed")
        return core

    def _reopen(self, loop: "AbstractEventLoop | None", agent_id: str) -> AgentCore | None:
        if self._core is None or (self._loop is not None and loop is not None and self._loop() is not loop):
            return None
        if agent_id and agent_id != self._core.agent_id:
            raise InvalidInputError(
                f"the memory {self.name!r} is that of agent {self._core.agent_id!r}, not of {agent_id!r}"
            )
        return self._core.reopen()


class _Registry:
    """The named openers of this process."""

    def __init__(self) -> None:
        self._lock = new_renewed_lock()
        self._by_name: dict[str, _NamedOpener] = {}

    def add(self, name: str, opener: Opener, *, replace: bool) -> None:
        with self._lock:
            if name in self._by_name and not replace and self._by_name[name].opener is not opener:
                msg = f"the name {name!r} is registered already: take another name, or pass replace=True"
                raise InvalidInputError(msg)
            self._by_name[name] = _NamedOpener(name, opener)

    def find(self, name: str) -> _NamedOpener:
        with self._lock:
            named = self._by_name.get(name)
            known = ", ".join(map(repr, self._by_name)) or "none"
        if named is None:
            msg = (
                f"no memory is registered as {name!r} in this process; registered: {known}. Call "
                f"wmem.register({name!r}, lambda: wmem.open(…)) where the program starts"
            )
            raise InvalidInputError(msg)
        return named


_registry = _Registry()


def register(name: str, opener: Opener, *, replace: bool = False) -> None:
    """Register how a memory is opened, so that copies of adapters' memories find it by name in each process.

    ``wmem.register("prod", lambda: wmem.open(url, agent_id="support", key=key))`` at the start of
    each program; then ``WmemMemory.from_defaults(store="prod", session_id=…)``. What is written out
    of such a memory is its name: the URL with its password, the key, the client and the
    embedder stay with the opener. It is called when the memory is first used, and the memory it
    opens stays open for all who ask for this name, until the process ends or the name is replaced.

    Args:
        name: Any text that is not blank. To have several agents, register a name for each.
        opener: Takes nothing and returns an open memory. One that calls `wmem.open` serves both
            modes; one that calls `wmem.aopen`, or is a coroutine function, serves async methods alone.
        replace: Take the place of an opener of the same name; memories that are open stay as they are.

    Raises:
        InvalidInputError: The name is blank, or has another opener; or the opener cannot be called.
    """
    check_name(name)
    if not callable(opener):
        raise InvalidInputError(f"an opener is a function that opens a memory, not {describe(opener)}")
    _registry.add(name, opener, replace=replace)


def check_name(name: object) -> str:
    """Check the name of an opener."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidInputError(f"the name of a registered memory is a text that is not blank, not {describe(name)}")
    return name


def check_registered(name: str) -> None:
    """Raise `InvalidInputError` where nothing is registered under a name."""
    _registry.find(check_name(name))


def open_registered(name: str, agent_id: str = "") -> AgentMemory:
    """Another opening of the memory under a name.

    Raises:
        InvalidInputError: The name is unknown, its opener is async or returns no open memory, or one
            of another agent than `agent_id`.
    """
    named = _registry.find(name)
    core = named.reopen(None, agent_id)
    if core is None:
        memory = named.opener()
        if inspect.isawaitable(memory):
            if inspect.iscoroutine(memory):
                memory.close()
            msg = f"{name!r} is registered with an async opener: use async methods, or register one with wmem.open"
            raise InvalidInputError(msg)
        core = named.keep(memory, None, agent_id)
    return AgentMemory(core)


async def aopen_registered(name: str, agent_id: str = "") -> AsyncAgentMemory:
    """See `open_registered`; what blocks in a sync opener runs in a thread."""
    import asyncio

    named, loop = _registry.find(name), asyncio.get_running_loop()
    core = named.reopen(loop, agent_id)
    if core is None:
        memory = await asyncio.to_thread(named.opener)
        if inspect.isawaitable(memory):
            core = named.keep(await memory, loop, agent_id)
        else:
            core = named.keep(memory, None, agent_id)
    return AsyncAgentMemory(core)


def list_needs(memory: AgentMemory | AsyncAgentMemory) -> tuple[str, ...]:
    """With what a memory was opened beside its URL: ``password``, and options of `wmem.open` by name."""
    return memory._core.needs  # noqa: SLF001  # as above


def reopen(memory: AgentMemory | AsyncAgentMemory) -> AgentMemory | None:
    """Another opening of a memory, which is closed on its own; None once it is closed."""
    core = memory._core.reopen()  # noqa: SLF001  # as above
    return None if core is None else AgentMemory(core)


def reopen_memory(url: str, agent_id: str, needs: Sequence[str]) -> AgentMemory | None:
    """Another opening of the memory of this URL, agent and needs that is open in this process.

    None if none is, or if there are several that differ in what is never written out.
    """
    cores = [
        core
        for core in list_open_cores()
        if str.__eq__(core.store.url, url) and core.agent_id == agent_id and core.needs == tuple(needs)
    ]
    if any(_differ(core, cores[0]) for core in cores):
        return None
    return next((AgentMemory(again) for core in cores if (again := core.reopen()) is not None), None)


def _differ(core: AgentCore, other: AgentCore) -> bool:
    """Whether two openings with the same needs differ in what they were opened with."""
    ours, theirs = core.settings, other.settings
    # Equal keys and clients share an engine; vectors and counts are stored under names.
    return (
        core.store.engine is not other.store.engine
        or (ours.embedding and ours.embedding.name) != (theirs.embedding and theirs.embedding.name)
        or (ours.summarizer and ours.summarizer.source) != (theirs.summarizer and theirs.summarizer.source)
        or ours.policy != theirs.policy
        or ours.features != theirs.features
        or ours.redaction != theirs.redaction
        or ours.gates.gate != theirs.gates.gate
        or ("counter" in core.needs and ours.counter().name != theirs.counter().name)
        or ("memory_types" in core.needs and core.types is not other.types)
        or core.turn_options[1:] != other.turn_options[1:]
    )


def check_needs(url: str, agent_id: str, needs: Sequence[str]) -> None:
    """Check that a copy can be opened although it lacks something; warn of what it goes on without.

    Raises:
        InvalidInputError: It cannot.
    """
    lacks = (
        f"the memory of agent {agent_id!r} at {url!r} was opened with {' and '.join(needs)}, which no copy holds, and"
    )
    where = "it is not open in this process, or more than one that differ in it are"
    if _DISPENSABLE.issuperset(needs):
        _log.warning("%s %s: it is opened without. To open it as before, %s", lacks, where, _ADVICE)
    else:
        whole = "pass the whole URL, " if tuple(needs) == ("password",) else ""
        raise InvalidInputError(f"{lacks} {where}: open it first, {whole}or {_ADVICE}")


_DISPENSABLE = frozenset(
    {
        *("policy", "counter", "clock", "media_tokens", "memory_types", "default_filters"),
        *("enable_tool_tracking", "enable_skill_extraction", "gate"),
    }
)
"""What a copy is opened without, for what is stored is reached all the same."""
_ADVICE = "wmem.register('name', lambda: wmem.open(…)) in each process and make it with store='name'"
