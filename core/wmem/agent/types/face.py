"""`memory.types`: the memory types of an agent by name, those of wmem and those that were registered."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, cast, overload

from wmem.agent.core import AgentCore
from wmem.agent.types.conversation import ConversationFlows
from wmem.agent.types.draft import ItemDraft, to_draft
from wmem.agent.types.episodic import EpisodicFlows
from wmem.agent.types.flows import ScopeFlows
from wmem.agent.types.protocol import MemoryType
from wmem.agent.types.registry import AnyMemoryType, TypeNames
from wmem.agent.types.scope_types import WorkingFlows
from wmem.agent.types.turn_pointers import ConversationTurn
from wmem.flow import run
from wmem.model.episodes import Episode, Link, Transcript
from wmem.model.filters import NO_FILTERS, Filters
from wmem.model.item import MemoryItem
from wmem.model.results import Forgotten, Memorized, Remembered, Summary
from wmem.policy import Capacity, Policy
from wmem.scope.ports import PortPair
from wmem.scope.queue.flows import ForgetMode
from wmem.scope.scope import Scope


class BuiltInType:
    """A memory type of wmem: its items lie in a scope."""

    __slots__ = ("_flows", "_ports")

    def __init__(self, flows: ScopeFlows, ports: PortPair) -> None:
        self._flows = flows
        self._ports = ports

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return self._flows.name

    @property
    def pool(self) -> int:
        """How many candidates it gives for a context at most."""
        return self._flows.pool

    @property
    def scope(self) -> Scope:
        """The scope that its items lie in, with all that scopes can do.

        For a session of which nothing is known yet, its policy is read, which may name another scope than the agent's.
        """  # async: See `BuiltInType.scope`; of a session, call one of its methods first, so that its policy is known.
        handle = run(self._flows.location.locate(), self._ports.sync)  # async: handle = self._flows.location.handle
        return Scope(handle, self._ports)

    def accepts(self, draft: ItemDraft, /) -> bool:
        """Whether an item that is routed goes here."""
        return self._flows.accepts(to_draft(draft))

    def memorize(self, draft: ItemDraft | str, /) -> Memorized:
        """Store an item, whether it would be routed here or not.

        Raises:
            InvalidInputError: Anything out of range; nothing was stored.
            CapacityError: It does not fit; nothing was stored.
        """
        return run(self._flows.memorize(to_draft(draft)), self._ports.sync)

    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        """What matches a query and passes the filters, best first; for a blank query the newest."""
        return run(self._flows.remember(query, filters, limit), self._ports.sync)

    def forget(self, ids: Sequence[str], /) -> Forgotten:
        """Erase the items under these ids, for good, with all their copies; other ids are passed over."""
        return run(self._flows.forget(ids), self._ports.sync)

    def summarize(self, token_limit: int = 256, /) -> Summary:
        """Extractive summary: the most informative sentences, verbatim, of important items first.

        Args:
            token_limit: Maximum tokens of the text; at least 1.
        """
        return run(self._flows.summarize(token_limit), self._ports.sync)

    def capacity(self) -> Capacity:
        """How full it is."""
        return run(self._flows.capacity(), self._ports.sync)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


class WorkingMemory(BuiltInType):
    """The items of a session, or of the agent's own scope, by the rules of the bounded queue; see `Scope.queue`.

    It accepts thoughts and plans.
    """

    __slots__ = ()
    _flows: WorkingFlows

    def __init__(self, flows: WorkingFlows, ports: PortPair) -> None:
        super().__init__(flows, ports)

    def forget(self, ids: Sequence[str], /, mode: ForgetMode = "soft") -> Forgotten:
        """Forget the items under these ids; other ids are passed over.

        Args:
            mode: ``soft`` hides them until room is needed, `items.undelete` restores them;
                ``hard`` erases them, with all their copies.
        """
        return run(self._flows.forget(ids, mode), self._ports.sync)


class ConversationMemory(BuiltInType):
    """The messages of a session, and the turns of closed sessions, which it points to: it holds no copies.

    It accepts messages of users and assistants. What it points to may go; then it is not remembered any more,
    and `turns` says what is missing.
    """

    __slots__ = ()
    _flows: ConversationFlows

    def __init__(self, flows: ConversationFlows, ports: PortPair) -> None:
        super().__init__(flows, ports)

    def close(self) -> int:
        """Add the turns of this session to the closed ones, which all sessions of the same long-term memory remember.

        It may go on and be closed again: then its new turns are added, and what was taken back is taken out.

        Returns:
            How many turns were added or changed.
        """
        return run(self._flows.close(), self._ports.sync)

    def turns(self, limit: int | None = None) -> list[ConversationTurn]:
        """The turns of closed sessions, oldest first, with their messages as they are now; with a limit the newest."""
        return run(self._flows.list_turns(limit), self._ports.sync)


class SemanticMemory(BuiltInType):
    """Knowledge: facts, skills, patterns and summaries, insights, preferences and corrections."""

    __slots__ = ()


class EpisodicMemory(BuiltInType):
    """Experience, as an append-only log in threads and episodes: what no other built-in type accepts.

    What is there is not changed and not removed, but by erasure. An item is in the thread it names, by default
    its session's, and in the episode it names. Without one it goes on with the newest episode of its thread,
    or begins another: after an idle gap, and where that one would have too many steps or tokens (`EpisodicSettings`).

    Maintenance gives each episode that is over one summary, an item of the type ``summary`` with pointers to what it
    covers. Recall prefers what is covered, as long as it is there. Of a log above its bound a sample stays.
    """

    __slots__ = ()
    _flows: EpisodicFlows

    def __init__(self, flows: EpisodicFlows, ports: PortPair) -> None:
        super().__init__(flows, ports)

    def summarize(self, token_limit: int = 256, /, *, episode_id: str | None = None) -> Summary:
        """Extractive summary: the most informative sentences, verbatim, of important items first.

        Args:
            token_limit: Maximum tokens of the text; at least 1.
            episode_id: Of its items alone.
        """
        return run(self._flows.summarize(token_limit, episode_id), self._ports.sync)

    def episodes(self, thread_id: str | None = None) -> list[Episode]:
        """The episodes in the order in which they began; of one thread, those with items of it.

        What was promoted from sessions names no episode; it is grouped by the same rule, apart from the rest. Those of
        closed sessions are among them once they have a summary: they hold no items, and `transcript` reads them.
        """
        return run(self._flows.list_episodes(thread_id), self._ports.sync)

    def episode_items(self, episode_id: str) -> list[MemoryItem]:
        """The items of an episode, oldest first; none if there is no such episode."""
        return run(self._flows.list_items(episode_id), self._ports.sync)

    def close_episode(self, episode_id: str) -> bool:
        """Close an episode: the next item of its thread begins another, and maintenance sums it up.

        An item that names it opens it again.

        Returns:
            Whether it was open.

        Raises:
            NotFoundError: There is no such episode.
        """
        return run(self._flows.close_episode(episode_id), self._ports.sync)

    def transcript(self, episode_id: str) -> Transcript:
        """An episode read back as text: its items, or the messages of a closed session that it points to.

        Raises:
            NotFoundError: There is no such episode.
        """
        return run(self._flows.transcribe(episode_id), self._ports.sync)

    def link(
        self, source_id: str, target_id: str, type: str = "related", metadata: Mapping[str, Any] | None = None
    ) -> Link:
        """Link an item or an episode of this memory to another element, here or elsewhere; once, if it is repeated.

        Args:
            type: Such as ``continues`` or ``caused_by``.

        Raises:
            NotFoundError: Nothing here has the id of the source.
        """
        return run(self._flows.link(source_id, target_id, type, metadata), self._ports.sync)

    def links(self, id: str) -> list[Link]:  # the field's own name
        """The links from and to an item or an episode."""
        return run(self._flows.list_links(id), self._ports.sync)


class MemoryTypes(TypeNames, Mapping[str, MemoryType]):
    """The memory types of an agent by name, as a session of it or its own scope uses them."""

    __slots__ = ("_core",)
    _IS_ASYNC: ClassVar[bool] = False  # async: _IS_ASYNC: ClassVar[bool] = True

    def __init__(self, core: AgentCore, names: tuple[str, ...] = (), policy: Policy | None = None) -> None:
        super().__init__(core.bind_types(names, policy))
        self._core = core

    @overload
    def __getitem__(self, name: Literal["working"], /) -> WorkingMemory: ...
    @overload
    def __getitem__(self, name: Literal["conversation"], /) -> ConversationMemory: ...
    @overload
    def __getitem__(self, name: Literal["episodic"], /) -> EpisodicMemory: ...
    @overload
    def __getitem__(self, name: Literal["semantic"], /) -> SemanticMemory: ...
    @overload
    def __getitem__(self, name: str, /) -> MemoryType: ...
    def __getitem__(self, name: str, /) -> MemoryType:
        bound, ports = self._bound, self._core.ports
        match name:
            case "working":
                return WorkingMemory(bound.working, ports)
            case "conversation":
                return ConversationMemory(bound.conversation, ports)
            case "episodic":
                return EpisodicMemory(bound.episodic, ports)
            case "semantic":
                return SemanticMemory(bound.semantic, ports)
            case _:
                return cast("MemoryType", self._core.types.find_external(name))

    def session(self, *names: str, policy: Policy | None = None) -> "MemoryTypes":
        """The types as the session at a path below the agent uses them: its own items, its thread of episodes.

        Long-term memory is that of the first scope that the session's policy names in `long_term`, else the agent's.

        Args:
            policy: See `AgentMemory.scope`.

        Raises:
            InvalidInputError: A name that is blank, reserved or holds control characters.
        """  # async: See `MemoryTypes.session`; it asks nothing of the store, so it is not awaited.
        return MemoryTypes(self._core, names, policy)

    def register(self, memory_type: AnyMemoryType) -> None:
        """Add a type of one's own; from now on it is given what it accepts, and asked for each context.

        Raises:
            InvalidInputError: It is no memory type, not one for this face, or its name is in use.
        """
        self._core.types.register(memory_type, is_async=self._IS_ASYNC)
