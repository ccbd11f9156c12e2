"""`Turn`: one turn of an agent, from a request to its answer."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any, Self, TypeVar

from wmem.agent.turns.contexts import Assembled
from wmem.agent.turns.core import TurnCore
from wmem.agent.turns.drafts import Memorizable
from wmem.agent.turns.prompts import NO_TEMPLATE, ContextOptions
from wmem.flow import Flow, run
from wmem.model.context import ProviderProfile
from wmem.model.filters import Filters
from wmem.model.item import MemoryItem
from wmem.model.recall_profile import Scoring
from wmem.model.turn import BudgetStatus, Committed, GoalProgress, Routed, TurnBudget
from wmem.rules.sources import AUTO
from wmem.scope.messages.flows import MessageInput
from wmem.scope.ports import PortPair

R = TypeVar("R")


class TurnVerbs:
    """What a turn does: of a `Turn`, and of a memory, whose verbs act on a turn of its own scope."""

    __slots__ = ()

    def _find_turn(self, *, begins: bool) -> TurnCore:
        """The turn that a verb acts on.

        Args:
            begins: Whether it may begin one, where the last one has ended.
        """
        raise NotImplementedError

    def _drive(self, flow: Flow[R]) -> R:  # async: def _drive(self, flow: Flow[R]) -> Awaitable[R]:
        raise NotImplementedError

    def memorize(self, item: Memorizable, metadata: Mapping[str, Any] | None = None, store: str = AUTO) -> Routed:
        """Store an item, or a message of the conversation.

        Args:
            item: A text, an item by its fields (its text under ``content``), an `ItemDraft`, a `MemoryItem`, or a
                message, also in OpenAI's form.
            metadata: More of it, beside the item's own.
            store: The name of a memory type; ``auto`` stores it in each that accepts it, by its type and kind.

        Raises:
            InvalidInputError: It is no item, there is no such store, or the turn has ended; nothing was stored.
            TurnBudgetError: The budget has no room for it; nothing was stored.
            CapacityError: It does not fit.
        """
        return self._drive(self._find_turn(begins=True).memorize(item, metadata, store))

    def assemble_context(
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
        """The prompt that serves a request best within a budget, from all memory types; see `Scope.pack`.

        The request itself is in it if it was memorized, as the newest message of the user.
        Beside the prompt it looks for what the goals, the last plan and the newest items of working memory say, with
        less weight; dates, speakers and intent are read from the prompt alone. The newest items of working memory are
        in it whatever the prompt is, if they fit, and what repeats one of them is left out.

        Args:
            prompt: The request; a blank one looks for the goals.
            budget: Most tokens, as for `Scope.pack`; no more than is left of the turn's.
            filters: Which memory types, how many items, and which; None for the memory's `default_filters`.
            system: The system text.
            mandates: Texts that every prompt has to hold: behind the system text, never truncated.
            tools: JSON schemas of the tools, counted.
            reserve: Tokens kept free for the reply.
            profile: The provider whose rules the prompt obeys.
            messages: A framework's own view of the conversation.
            scoring: How to rank, by name or as coefficients; ``balanced`` has those of the memory system document.
            pools: By memory type, how many candidates it gives at most; by default what the type says.
            zone: In which days are told and read.
            template: What stands around the note, which goes where it says ``{memories}``.

        Raises:
            TurnBudgetError: Nothing is left of the turn's budget.
            BudgetError: What must stay exceeds the budget.
            InvalidInputError: Anything out of range, or the turn has ended.
        """
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
        return self._drive(self._find_turn(begins=True).assemble(prompt, filters, options))

    def track_tool_invocation(
        self,
        tool_name: str,
        parameters: Mapping[str, Any] | None = None,
        result: object = None,
        error: object = None,
    ) -> MemoryItem | None:
        """Store that a tool was called, in episodic memory; a turn's budget does not refuse what has happened.

        What is longer than an item may be is stored in parts, each with the first one's id as `parent_id`.

        Args:
            parameters: The arguments, by name.
            result: What it returned: a text as it is, all else as JSON.
            error: Why it failed, as text or as the exception; None if it did not.

        Returns:
            The item; None for a memory that was opened with ``enable_tool_tracking=False``.

        Raises:
            InvalidInputError: The tool has no name, or the turn has ended.
        """
        return self._drive(self._find_turn(begins=True).track(tool_name, parameters, result, error))

    def report_progress(self, goal: str, delta: float, note: str = "") -> GoalProgress:
        """Store how far the turn came towards one of its goals; `commit` exports it.

        Args:
            delta: As a share of the whole, from -1 to 1.
            note: What was done.

        Raises:
            InvalidInputError: It is no goal of the turn, or anything out of range.
            TurnBudgetError: The budget has no room for it.
        """
        return self._drive(self._find_turn(begins=True).report_progress(goal, delta, note))

    def budget_status(self) -> BudgetStatus:
        """What the turn has taken, and what is left of its budget."""  # async: See `Turn.budget_status`; not awaited.
        return self._find_turn(begins=False).status()

    def commit(self) -> Committed:
        """End the turn: the session's step is one more, once for its id. A second call returns the same.

        Raises:
            InvalidInputError: The turn was left by an exception.
            DisposedError: The session was disposed.
        """
        return self._drive(self._find_turn(begins=False).commit())


class Turn(TurnVerbs):
    """One turn of a session: what its agent is told, what it does, and what it keeps of that.

    Each write is stored at once, with the turn's id. Leaving the block commits the turn; leaving it by an
    exception ends it without a step, and what it wrote stays. Turns know nothing of each other: several of one
    session, also one within another, are each a turn, and each is a step.
    """

    __slots__ = ("_core", "_ports")

    def __init__(self, core: TurnCore, ports: PortPair) -> None:
        self._core = core
        self._ports = ports

    @property
    def id(self) -> str:
        """Its id; what it writes carries it as `turn_id`."""
        return self._core.id

    @property
    def goals(self) -> tuple[str, ...]:
        """What its agent aims at."""
        return tuple(self._core.settings.goals)

    @property
    def budget(self) -> TurnBudget:
        """What it may take."""
        return self._core.settings.budget

    def _find_turn(self, *, begins: bool) -> TurnCore:  # noqa: ARG002  # it is one turn
        return self._core

    def _drive(self, flow: Flow[R]) -> R:  # async: def _drive(self, flow: Flow[R]) -> Awaitable[R]:
        return run(flow, self._ports.sync)  # async: return arun(flow, self._ports.aio)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._drive(self._core.leave(failed=kind is not None))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self._core.handle.id!r}>"
