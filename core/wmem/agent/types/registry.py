"""The memory types of one memory: the built-in ones with their settings, and those that were registered."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from wmem.agent.types.conversation import ConversationFlows
from wmem.agent.types.episodic import EpisodicFlows
from wmem.agent.types.external import ExternalFlows, ExternalType
from wmem.agent.types.flows import LongTermScope, TypeFlows
from wmem.agent.types.protocol import AsyncMemoryType, MemoryType
from wmem.agent.types.scope_types import SemanticFlows, WorkingFlows
from wmem.agent.types.settings import (
    ConversationSettings,
    EpisodicSettings,
    SemanticSettings,
    TypeSettings,
    WorkingSettings,
)
from wmem.describe import describe
from wmem.errors import InvalidInputError, NotFoundError
from wmem.fork import cached_property
from wmem.model.gate import Minima
from wmem.model.history import to_scope_id
from wmem.rules.routing import CONVERSATION, EPISODIC, SEMANTIC
from wmem.scope.handle import Handle

AnyMemoryType: TypeAlias = MemoryType | AsyncMemoryType
"""A memory type of somebody else's."""


class TypeRegistry:
    """The memory types of one memory, in both modes.

    Args:
        memory_types: Settings of built-in types, and types of others.
        is_async: Whether the memory is opened for coroutines.
    """

    def __init__(self, memory_types: Iterable[TypeSettings | AnyMemoryType] = (), *, is_async: bool = False) -> None:
        self.working = WorkingSettings()
        self.conversation = ConversationSettings()
        self.episodic = EpisodicSettings()
        self.semantic = SemanticSettings()
        self.is_configured = False
        """Whether anything differs from a memory that was opened without `memory_types`."""
        self._external: dict[str, ExternalType] = {}
        if isinstance(memory_types, str | bytes) or not isinstance(memory_types, Iterable):
            raise InvalidInputError(f"memory_types must be a list, got {describe(memory_types)}")
        configured: set[str] = set()
        for each in memory_types:
            self.is_configured = True
            if not isinstance(each, TypeSettings):
                self.register(each, is_async=is_async)
                continue
            if each.name in configured:
                raise InvalidInputError(f"memory_types has settings of {each.name!r} twice")
            configured.add(each.name)
            setattr(self, each.name, each)

    def register(self, memory_type: AnyMemoryType, *, is_async: bool) -> None:
        """Add a type of somebody else's.

        Raises:
            InvalidInputError: It is no memory type, not one for this face, or its name is in use.
        """
        external = ExternalType(memory_type)
        external.check_mode(is_async=is_async)
        if external.name in self.names():
            raise InvalidInputError(f"there is a memory type {external.name!r} already")
        # Replaced as a whole: another thread may be reading it.
        self._external = {**self._external, external.name: external}

    def list_minima(self) -> Mapping[str, Minima]:
        """What items must have to enter a built-in type, by its settings."""
        settings = (self.working, self.episodic, self.semantic)
        return {each.name: Minima(each.min_importance, each.min_novelty) for each in settings}

    def names(self) -> tuple[str, ...]:
        """The names of all types: the built-in ones, then the others in the order they were registered."""
        return (*BUILT_IN, *self._external)

    def find_external(self, name: str) -> AnyMemoryType:
        """A type of somebody else's, by its name; `NotFoundError` for none."""
        if isinstance(name, str) and name in self._external:
            return self._external[name].memory_type
        raise NotFoundError(f"there is no memory type {describe(name)}; known: {', '.join(self.names())}")

    def tell_external(self) -> tuple[str, ...]:
        """A sentence for each type of others, which may keep what wmem erases."""
        return tuple(f"memory type {name!r} is not of wmem: let it forget what it was given" for name in self._external)

    def bind(self, handle: Handle) -> "BoundTypes":
        """The types as a session, or the agent's own scope, uses them."""
        return BoundTypes(self, handle)

    def bind_external(self, handle: Handle) -> list[ExternalFlows]:
        """The types of others as a session uses them."""
        return [ExternalFlows(each, handle) for each in self._external.values()]


BUILT_IN = ("working", "conversation", "episodic", "semantic")


class BoundTypes:
    """The memory types as one session of the agent, or its own scope, uses them."""

    def __init__(self, registry: TypeRegistry, handle: Handle) -> None:
        self.registry = registry
        self.handle = handle

    @cached_property
    def working(self) -> WorkingFlows:
        """The items of this session."""
        return WorkingFlows(self.handle, self.registry.working)

    @cached_property
    def conversation(self) -> ConversationFlows:
        """The messages of this session, and the turns of closed sessions."""
        return ConversationFlows(self.handle, LongTermScope(self.handle, CONVERSATION), self.registry.conversation)

    @cached_property
    def episodic(self) -> EpisodicFlows:
        """Long-term memory of experience; the session is a thread of it."""
        thread_id = to_scope_id(self.handle.path[1:]) or None
        turns = LongTermScope(self.handle, CONVERSATION)
        return EpisodicFlows(LongTermScope(self.handle, EPISODIC), self.registry.episodic, thread_id, turns)

    @cached_property
    def semantic(self) -> SemanticFlows:
        """Long-term memory of knowledge."""
        return SemanticFlows(LongTermScope(self.handle, SEMANTIC), self.registry.semantic)

    def all(self) -> list[TypeFlows]:
        """All types, in the order of their names in the registry."""
        return [
            self.working,
            self.conversation,
            self.episodic,
            self.semantic,
            *self.registry.bind_external(self.handle),
        ]

    def by_name(self) -> Mapping[str, TypeFlows]:
        """All types by name."""
        return {each.name: each for each in self.all()}

    @property
    def has_long_term(self) -> bool:
        """Whether long-term memory may be used."""
        return self.handle.settings.features.has_long_term


class TypeNames:
    """The names of the memory types, as a mapping iterates them."""

    __slots__ = ("_bound",)

    def __init__(self, bound: BoundTypes) -> None:
        self._bound = bound

    def __iter__(self) -> Iterator[str]:
        return iter(self._bound.registry.names())

    def __len__(self) -> int:
        return len(self._bound.registry.names())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(self)}>"
