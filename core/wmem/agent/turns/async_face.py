# Generated from core/wmem/agent/turns/face.py by `make generate` (scripts/generate_async.py); do not edit.
"""Async twin of `wmem.agent.turns.face`."""

from collections.abc import Awaitable, Mapping, Sequence
from datetime import tzinfo
from typing import Any, Self, TypeVar

from wmem.agent.turns.contexts import Assembled
from wmem.agent.turns.core import TurnCore
from wmem.agent.turns.drafts import Memorizable
from wmem.agent.turns.prompts import NO_TEMPLATE, ContextOptions
from wmem.flow import Flow, arun
from wmem.model.context import ProviderProfile
from wmem.model.filters import Filters
from wmem.model.item import MemoryItem
from wmem.model.recall_profile import Scoring
from wmem.model.turn import BudgetStatus, Committed, GoalProgress, Routed, TurnBudget
from wmem.rules.sources import AUTO
from wmem.scope.messages.flows import MessageInput
from wmem.scope.ports import PortPair

R = TypeVar("R")


class AsyncTurnVerbs:
    """See `TurnVerbs`."""

    __slots__ = ()

    def _find_turn(self, *, begins: bool) -> TurnCore:
        """The turn that a verb acts on.

        Args:
            begins: Whether it may begin one, where the last one has ended.
        """
        raise NotImplementedError

    def _drive(self, flow: Flow[R]) -> Awaitable[R]:
        raise NotImplementedError

    async def memorize(self, item: Memorizable, metadata: Mapping[str, Any] | None = None, store: str = AUTO) -> Routed:
        """See `TurnVerbs.memorize`."""
        return await self._drive(self._find_turn(begins=True).memorize(item, metadata, store))

    async def assemble_context(
        self,
        prompt: str,
        budget: int,
        filters: Filters | None = None,
        *,
        system: str = "",
        mandates: Sequence[str] = (),
        tools: Sequence[Mapping[str, Any]] = (),
        reserve: int = 0,
        profile: ProviderProfile = "any",
        messages: Sequence[MessageInput] | None = None,
        scoring: Scoring | None = None,
        pools: Mapping[str, int] | None = None,
        zone: tzinfo | str | None = None,
        template: str = NO_TEMPLATE,
    ) -> Assembled:
        """See `TurnVerbs.assemble_context`."""
        options = ContextOptions(
            budget=budget,
            system=system,
            mandates=mandates,
            tools=tools,
            reserve=reserve,
            profile=profile,
            messages=messages,
            scoring=scoring,
            pools=pools,
            zone=zone,
            template=template,
        )
        return await self._drive(self._find_turn(begins=True).assemble(prompt, filters, options))

    async def track_tool_invocation(
        self,
        tool_name: str,
        parameters: Mapping[str, Any] | None = None,
        result: object = None,
        error: object = None,
    ) -> MemoryItem | None:
        """See `TurnVerbs.track_tool_invocation`."""
        return await self._drive(self._find_turn(begins=True).track(tool_name, parameters, result, error))

    async def report_progress(self, goal: str, delta: float, note: str = "") -> GoalProgress:
        """See `TurnVerbs.report_progress`."""
        return await self._drive(self._find_turn(begins=True).report_progress(goal, delta, note))

    def budget_status(self) -> BudgetStatus:
        """See `Turn.budget_status`; not awaited."""
        return self._find_turn(begins=False).status()

    async def commit(self) -> Committed:
        """See `TurnVerbs.commit`."""
        return await self._drive(self._find_turn(begins=False).commit())


class AsyncTurn(AsyncTurnVerbs):
    """See `Turn`."""

    __slots__ = ("_core", "_ports")

    def __init__(self, core: TurnCore, ports: PortPair) -> None:
        self._core = core
        self._ports = ports

    @property
    def id(self) -> str:
        """See `Turn.id`."""
        return self._core.id

    @property
    def goals(self) -> tuple[str, ...]:
        """See `Turn.goals`."""
        return tuple(self._core.settings.goals)

    @property
    def budget(self) -> TurnBudget:
        """See `Turn.budget`."""
        return self._core.settings.budget

    def _find_turn(self, *, begins: bool) -> TurnCore:  # noqa: ARG002  # it is one turn
        return self._core

    def _drive(self, flow: Flow[R]) -> Awaitable[R]:
        return arun(flow, self._ports.aio)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self._drive(self._core.leave(failed=kind is not None))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self._core.handle.id!r}>"
