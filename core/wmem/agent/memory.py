"""The memory of one agent: its scopes, its events, and the store they live in."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Self, TypeVar

from wmem.agent.core import Changes, MemoryProperties, list_agents, open_core, open_existing
from wmem.agent.maintenance import Maintenance, MaintenanceReport
from wmem.agent.options import OpenOptions
from wmem.agent.turns.core import TurnCore, TurnSettings
from wmem.agent.turns.face import Turn, TurnVerbs
from wmem.agent.types.face import MemoryTypes
from wmem.agent.types.registry import AnyMemoryType
from wmem.agent.types.settings import TypeSettings
from wmem.codec.keyring import KeyRing
from wmem.errors import NotFoundError
from wmem.flow import Flow, run
from wmem.model.context import Context
from wmem.model.features import Features
from wmem.model.filters import Filters
from wmem.model.gate import Gate
from wmem.model.history import Cursor, Path
from wmem.model.results import Erased
from wmem.model.snapshot import ClearedMemory, Restored, Snapshot
from wmem.model.trace import TurnTrace
from wmem.model.turn import TurnBudget
from wmem.policy import Policy
from wmem.retrieval.embedder import Embedder
from wmem.rules.redaction import Redaction
from wmem.rules.retention import Retention
from wmem.rules.routing import CONVERSATION, EPISODIC, SEMANTIC
from wmem.scope.messages.flows import MessageInput
from wmem.scope.replay import Replay
from wmem.scope.scope import Scope
from wmem.scope.stats import MemoryStats
from wmem.scope.summaries.port import Summarizer, SummarizerFunction
from wmem.tokens.counter import Counter

if TYPE_CHECKING:
    from wmem.agent.async_memory import AsyncAgentMemory


R = TypeVar("R")


class AgentMemory(TurnVerbs, MemoryProperties):
    """The memory of one agent; made by `wmem.open`."""  # async: See `AgentMemory`; made by `wmem.aopen`.

    __slots__ = ()

    def scope(self, *names: str, policy: Policy | None = None, create: bool = True) -> Scope:
        """The scope at a path below the agent; without names the agent's own. It exists from its first write.

        Args:
            policy: For a scope that does not exist yet; of one that does it must be the same.
            create: False: it is never created. This asks nothing of the store yet; where there is no such scope, its
                first call raises `NotFoundError`, whether it reads or writes. See `Scope.exists`.

        Raises:
            InvalidInputError: A name that is blank, reserved or holds control characters.
        """  # async: See `AgentMemory.scope`; it asks nothing of the store, so it is not awaited.
        return Scope(self._core.handle(names, policy, create=create), self._core.ports)

    @property
    def working(self) -> Scope:
        """The agent's own scope, to which reads of its sessions fall back."""
        return self.scope()

    def changes(self, after: Mapping[Path, Cursor] | None = None, *, reserved: bool = False) -> Changes:
        """What happened in this agent's scopes since `after`, the `cursors` of an earlier call.

        Args:
            reserved: Also in scopes of wmem's own, as long-term memory and traces.
        """
        return run(self._core.changes(after, reserved=reserved), self._core.ports.sync)

    @property
    def semantic(self) -> Scope:
        """Long-term memory of knowledge: promoted facts, skills, patterns, summaries, preferences, insights.

        Raises:
            FeatureNotEnabledError: The memory was opened without long-term memory.
        """
        return Scope(self._core.long_term_handle(SEMANTIC), self._core.ports)

    @property
    def episodic(self) -> Scope:
        """Long-term memory of experience: promoted observations, actions and their outcomes; see `semantic`."""
        return Scope(self._core.long_term_handle(EPISODIC), self._core.ports)

    def trace(self, turn: str, *, session: str | Sequence[str] | None = None) -> TurnTrace:
        """What happened in a turn, in ids and numbers: packs, tool calls, and what became of memories.

        Args:
            turn: Its id.
            session: The name of its session, or the names of its scope below the agent: then only that is looked at.

        Raises:
            NotFoundError: No trace has such a turn. It has those of `Policy.trace_s`.
        """
        return run(self._core.trace(turn, session), self._core.ports.sync)

    def record(self, context: Context, *, turn: str | None = None) -> str:
        """Append a prompt to the trace of its scope, so that `replay` finds it; turns and adapters do this themselves.

        Args:
            context: What `Scope.pack` returned.
            turn: The id of the turn that it is of; a new one without.

        Returns:
            Its receipt.

        Raises:
            InvalidInputError: No scope of this agent has packed it.
            DisposedError: The scope that packed it was disposed since.
        """
        return run(self._core.record(context, turn), self._core.ports.sync)

    def replay(self, receipt: str, *, system: str = "", messages: Sequence[MessageInput] | None = None) -> Replay:
        """Render a recorded prompt again from what is stored: the same, to the byte, or what of it is missing.

        Nothing is searched, ranked or counted anew. What was erased, removed or changed since is named, and nothing
        of the prompt is shown then. What was withdrawn or moved is there.

        Args:
            receipt: See `Context.receipt`.
            system: The system text that was passed to the pack: it is not stored.
            messages: The messages that were passed to it, for those that are not stored as they were sent.

        Raises:
            InvalidInputError: That is no receipt.
            NotFoundError: No trace has it: it was not recorded, or is too long ago.
        """
        return run(self._core.replay(receipt, system, messages), self._core.ports.sync)

    def traces(self, *session: str) -> list[TurnTrace]:
        """What happened in the turns of a session, oldest first; see `trace`."""
        return run(self._core.traces(session), self._core.ports.sync)

    @property
    def conversation(self) -> Scope:
        """The turns of closed sessions, as pointers to their messages; see `wmem.types.ConversationMemory`."""
        return Scope(self._core.long_term_handle(CONVERSATION), self._core.ports)

    @property
    def types(self) -> MemoryTypes:
        """The memory types by name: ``working``, ``conversation``, ``episodic``, ``semantic``, and your own."""
        return MemoryTypes(self._core)

    def turn(
        self,
        *session: str,
        budget: TurnBudget | None = None,
        goals: Sequence[str] = (),
        task_id: str | None = None,
        id: str | None = None,  # the field's own name
        policy: Policy | None = None,
    ) -> Turn:
        """A turn of the session at a path below the agent; without names of the agent's own scope.

        Use it as a context manager: leaving the block commits the turn.

        Args:
            budget: What it may take; by default as much as it likes.
            goals: What the agent aims at: contexts look for that, too.
            task_id: The task of what it writes.
            id: Its id, where somebody else counts turns; by default a new one.
            policy: Of the session, if the turn creates it; see `scope`.

        Raises:
            InvalidInputError: A name that is blank, reserved or holds control characters, or anything out of range.
        """  # async: See `AgentMemory.turn`; it asks nothing of the store, so it is not awaited.
        settings = TurnSettings(TurnBudget() if budget is None else budget, goals, task_id)
        return Turn(self._core.make_turn(session, settings, turn_id=id, policy=policy), self._core.ports)

    def _find_turn(self, *, begins: bool) -> TurnCore:
        return self._core.find_turn(begins=begins)

    def _drive(self, flow: Flow[R]) -> R:  # async: def _drive(self, flow: Flow[R]) -> Awaitable[R]:
        return run(flow, self._core.ports.sync)  # async: return arun(flow, self._core.ports.aio)

    def stats(self) -> MemoryStats:
        """Counts over all scopes of this agent."""
        return run(self._core.stats(), self._core.ports.sync)

    def maintain(self, jobs: Iterable[str] | None = None) -> MaintenanceReport:
        """Run one pass over all scopes of this agent: remove what expired, compact, finish disposals, consolidate.

        An expiry is announced to listeners once, by the process that removes the item. A job that fails is reported in
        `MaintenanceReport.jobs` and logged; it stops no other.

        Args:
            jobs: Names of the jobs of consolidation to run; None runs all, an empty list none. ``redact``, which runs
                only where it is named, redacts long-term memory that was written without this redaction, for good.

        Raises:
            InvalidInputError: A name that no job has.
        """
        return run(self._core.maintain(jobs), self._core.ports.sync)

    def maintenance(self, every_s: float | None = None) -> Maintenance:
        """Repeat `maintain` in a thread, from ``start()`` or ``with`` until ``stop()`` or the end of the block.

        Args:
            every_s: Seconds between two passes; by default the policy's, 300.
        """  # async: See `AgentMemory.maintenance`; it repeats as a task, from ``start()`` or ``async with``.
        made = Maintenance(self.maintain, self._core.maintenance_interval(every_s))
        self._core.stop_callbacks.append(made.stop)  # async: self._core.stop_callbacks.append(made.cancel)
        return made

    def snapshot(self, *, key: KeyRing | bytes | str | None = None) -> Snapshot:
        """The whole memory of this agent as of one instant, as the bytes of a document; see `restore`.

        It has all scopes: sessions and what is below them, long-term memory, and traces, each with its policy,
        tombstones, decisions, steps and marks; no caches. With a key it is compressed and encrypted as a whole. Without
        one, secrets and personal data are taken out of it (`Snapshot.is_redacted`), unless redaction is off.

        Args:
            key: What to encrypt it with; by default that of this memory.

        Raises:
            CorruptionError: A scope holds damage: a snapshot without it would look whole.
            WrongKeyError: A scope is under another key.
            MissingExtraError: `cryptography` is not installed.
        """
        return run(self._core.snapshot(key), self._core.ports.sync)

    def restore(self, snapshot: bytes, *, key: KeyRing | bytes | str | None = None) -> Restored:
        """Replace all that is stored of this agent by what a snapshot holds, wholly or not at all.

        What was written since is gone, and what was erased since stays erased. The snapshot is checked first. From the
        instant it is accepted it is going to be restored, though this process may end: whoever uses the agent's memory
        next goes on with it, and nobody sees a part of it. A write that is under way is replaced, too, or comes after
        it. Scopes that were at hand go on, unless the snapshot has no such scope: they raise `DisposedError`. Listeners
        get `Resynced` for each scope. It may come from another store, of any kind.

        Args:
            key: What it is encrypted with; by default that of this memory.

        Raises:
            InvalidInputError: It is no snapshot, or another agent's.
            StoreError: A newer version of wmem wrote it, or the store failed.
            WrongKeyError: It is encrypted under another key.
            CorruptionError: It was changed, or is not whole.
            ConflictError: Others restore or clear this memory all the time, and nothing was changed; or other processes
                write to it all the time, and whoever uses it next goes on with the restore.
        """
        return run(self._core.restore(snapshot, key), self._core.ports.sync)

    def clear(self, *, working: bool = True, context: bool = True, long_term: bool = False) -> ClearedMemory:
        """Empty this agent's memory, wholly or not at all; what is stored of it is purged.

        Scopes stay, with their policies, steps and traces. It cannot be undone: take a `snapshot` before.

        Args:
            working: Entries, items and queues of all sessions, and of the agent's own scope.
            context: Their messages, and the last prompt.
            long_term: Long-term memory: the agent's, and that of the scopes which policies name.

        Raises:
            FeatureNotEnabledError: The memory was opened without long-term memory, which is to be cleared.
            ConflictError: As for `restore`.
        """
        flow = self._core.clear(working=working, context=context, long_term=long_term)
        return run(flow, self._core.ports.sync)

    def rotate(self) -> int:
        """Rewrite this agent's scopes that are not under the active key or are in an older format.

        To change a key: give every process a `KeyRing` that has the new key beside the old
        one, then one in which it is active, then rotate each agent; when nothing was
        reported, open with the new key alone.

        Returns:
            How many scopes were rewritten: 0 when it is repeated. A damaged one is left
            as it is and logged: its keys are still needed.

        Raises:
            WrongKeyError: A scope is under a key that is not in the ring; those before it are done.
            ConflictError: Other processes keep writing under another key.
        """
        return run(self._core.rotate(), self._core.ports.sync)

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy the whole store, with all agents in it, into a new file (`sqlite://`) or directory (`disk://`).

        The copy is the store at one instant: it holds what was written before the call, while
        others go on writing, and nothing of what was erased. It opens under its own URL, with
        the same key, belongs to this user alone, and is there whole or not at all.

        Raises:
            InvalidInputError: There is something at `path` already; or the store cannot copy
                itself: the message says what to do for Redis, and for memory.
            StoreError: The copy cannot be written.
        """
        run(self._core.backup(path), self._core.ports.sync)

    def aio(self) -> "AsyncAgentMemory":
        """The same memory for coroutines; closing either closes both."""  # async: The same memory for threads.
        from wmem.agent.async_memory import AsyncAgentMemory

        return AsyncAgentMemory(self._core)

    def erase_all(self) -> Erased:
        """Delete all that is stored of this agent, long-term memory and wmem's own scopes too, and purge its bytes.

        Other agents keep theirs. The memory stays open: what is written to new scopes afterwards begins anew, while
        those at hand are disposed. If it is interrupted, what is left is erased by another call.

        Returns:
            What outside of wmem's control may still keep bytes of it; it lists no ids.
        """
        return run(self._core.erase_all(), self._core.ports.sync)

    def close(self, dispose: bool = False) -> None:  # noqa: FBT001, FBT002  # its only option
        """Close the memory; stored data stays unless `dispose`. A second call does nothing.

        Args:
            dispose: End the agent's working memory first: all its scopes and their bytes, but for long-term memory,
                which stays. To delete that too, call `erase_all` before.
        """
        if not self._core.release():
            return
        try:
            if dispose:
                run(self._core.dispose_working_memory(), self._core.ports.sync)
            run(self._core.close(), self._core.ports.sync)
        finally:
            self._core.settings.open_state.is_closed = True
            self._core.store.close()  # async: await self._core.store.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open(
    url: str,
    *,
    agent_id: str,
    policy: Policy | None = None,
    counter: Counter | None = None,
    clock: Callable[[], float] | None = None,
    key: KeyRing | bytes | str | None = None,
    client: object | None = None,
    embedder: Embedder | None = None,
    media_tokens: Mapping[str, int] | None = None,
    create: bool = True,
    memory_types: Iterable[TypeSettings | AnyMemoryType] = (),
    default_filters: Filters | None = None,
    enable_tool_tracking: bool = True,
    features: Features | None = None,
    summarizer: Summarizer | SummarizerFunction | None = None,
    redaction: Redaction | None = None,
    gate: Gate | None = None,
    enable_skill_extraction: bool = True,
    retention: Iterable[Retention] = (),
) -> AgentMemory:
    """Open an agent's memory.

    Args:
        url: ``memory://`` (private), ``memory://name`` (shared in the process) or
            ``disk:///dir`` (extra ``disk``), ``sqlite:///file``, ``redis://host`` (extra ``redis``;
            ``rediss://`` and ``unix://`` too), or ``journal://`` for a journal of your own. With
            ``?durable=true`` behind a directory or a file, each of its writes waits until the disk
            has it, so that not even a power loss undoes it; others' writes to the same store do not.
        agent_id: The agent; other agents' scopes cannot be reached through this memory.
        policy: For scopes that are created without one; by default `Policy.session`.
        counter: Counts tokens; by default tiktoken's o200k where it is available offline,
            else an estimate.
        clock: UTC epoch seconds.
        key: Encrypts what is stored (extra ``crypto``): one key, or a `KeyRing` while keys
            are changed. Paths, sizes, counts and times stay in clear. Every opening of the
            store needs it: without it the first read raises `WrongKeyError`.
        client: A driver's client to use instead of a new one, never closed; with
            ``journal://`` a `wmem.journal.port.Journal` of bytes, or an `AsyncJournal`.
        embedder: Turns texts into vectors (extra ``recall``), so that a pack also finds what is said in
            other words: a `wmem.Embedder`. A pack with a query embeds texts that have no vector
            yet, the newest 512 at most; vectors are stored. While it fails or is too slow, packs
            rank by words alone and say so.
        media_tokens: What your model charges at most for one ``image``, ``audio``, ``video`` or ``file``,
            for any of them; by default 1,600, 2,000, 8,000 and 4,000. A small image costs less if
            its bytes say its size, a document of text its text.
        create: False: open only what is there. Nothing is created by asking, no file either.
        memory_types: Settings of built-in memory types, such as `EpisodicSettings`, and types of your own; see
            `MemoryType`. They belong to this memory and are not stored.
        default_filters: What contexts are asked for that are assembled without filters.
        enable_tool_tracking: Whether tool calls that are tracked are stored.
        features: What this memory may use: `Features.core`, `Features.long_term`, or by default all. What it may not
            raises `FeatureNotEnabledError`; packs and recall go without long-term memory, and what is routed there
            stays in working memory.
        summarizer: Summarizes what a session's summary covers, as with a model: a `wmem.Summarizer`, or a function of
            the texts and the most tokens. While it fails, or says what is no summary, nothing is stored of it.
        redaction: What is redacted of secrets and personal data, before it goes into long-term memory, into summaries,
            to an embedder or to memory types of others, or out by ``export(redacted=True)``: by default all kinds of
            `Redaction`. Sessions hold what was said, verbatim, unless it is `Redaction.strict`. `Redaction.off`
            redacts nothing. Names are not redacted: of agents, scopes, keys, tools, and ids.
        gate: What an item must have to enter a memory type, and rules that say which; by default each takes what its
            type and kind say. It belongs to this memory and is not stored.
        enable_skill_extraction: Whether maintenance makes skills of sequences of tool calls that worked several times:
            of those tracked in turns, and of those in the messages of closed sessions.
        retention: Retentions of your own, which items may name beside ``session``, ``episodic`` and ``permanent``: see
            `Retention`. They belong to this memory and are not stored: give them to every opening.

    Raises:
        InvalidInputError: An unknown URL, an id that is blank or holds control characters,
            an option of the wrong kind, as an embedder that cannot be called.
        NotFoundError: ``create=False``, and there is no such store, or it holds nothing of this agent.
        MissingExtraError: The backend's driver, `cryptography` for a key, or numpy for an embedder, is not installed.
        StoreError: The store cannot be opened.
    """  # async: Open an agent's memory for coroutines; see `open`.
    options = OpenOptions(
        policy,
        counter,
        clock,
        key,
        client,
        embedder,
        media_tokens,
        create,
        memory_types,
        default_filters,
        enable_tool_tracking,
        features,
        summarizer,
        redaction,
        gate,
        enable_skill_extraction,
        retention,
    )
    core = open_core(url, agent_id, options)
    if not create and not run(core.exists(), core.ports.sync):
        core.store.close()  # async: await core.store.aclose()
        raise NotFoundError(f"the store holds nothing of agent {core.agent_id!r}, and nothing is to be created")
    return AgentMemory(core)


def agents(url: str, *, client: object | None = None) -> list[str]:
    """The ids of the agents that a store holds something of, sorted; from its register, without reading a scope.

    No key is needed. On Redis an agent whose scopes have all expired is listed until its maintenance finds that, a day
    later or more.

    Args:
        url: See `open`. A file that is not there is not made.
        client: See `open`.

    Raises:
        InvalidInputError: An unknown URL.
        NotFoundError: There is no store at the URL.
        StoreError: It cannot be read.
    """  # async: See `agents`.
    store, ports = open_existing(url, client)
    try:
        return run(list_agents(), ports.sync)
    finally:
        store.close()  # async: await store.aclose()
