"""What the sync and async face of a turn share: its state and its flows."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

from wmem.agent.gate.routing import NAMED, choose_stores, find_store
from wmem.agent.turns.contexts import NO_FRAME, Assembled, AssembledItem, Frame, Quoted
from wmem.agent.turns.drafts import Memorizable, Storable, draft_tool_call, to_storable
from wmem.agent.turns.meter import Meter
from wmem.agent.turns.prompts import NO_TEMPLATE, ContextOptions
from wmem.agent.types.draft import ItemDraft
from wmem.agent.types.flows import TypeFlows
from wmem.agent.types.registry import BoundTypes
from wmem.describe import describe
from wmem.engine.writing import append_together
from wmem.errors import BudgetError, CapacityError, InvalidInputError, TurnBudgetError, WmemError
from wmem.flow import Flow
from wmem.log import find_logger
from wmem.model.checks import check_turn_id
from wmem.model.context import Context
from wmem.model.filters import NO_FILTERS, Filters
from wmem.model.gate import Rejected
from wmem.model.ids import new_ulid
from wmem.model.item import MemoryItem, to_item
from wmem.model.message import Message
from wmem.model.results import Memorized, Remembered
from wmem.model.row import Row
from wmem.model.trace import (
    EvictionTraced,
    MemorizeTraced,
    RedactionTraced,
    RejectionTraced,
    RouteTraced,
    ToolCallTraced,
    TraceEvent,
)
from wmem.model.turn import BudgetStatus, Committed, GoalProgress, Routed, TurnBudget, TurnExports, TurnWrite
from wmem.model.values import dump_json
from wmem.rules.importance import importance as importance_of
from wmem.rules.routing import SEMANTIC
from wmem.rules.sources import AUTO, CONVERSATION, WORKING, find_source
from wmem.scope.assembly import ReadContext, TurnAssembly
from wmem.scope.messages import flows as message_flows
from wmem.scope.packing import pack_scope
from wmem.scope.queue.flows import end_turn
from wmem.scope.redaction import HeldBackError
from wmem.scope.trace import append_trace, trace_pack
from wmem.tokens.counter import Counter as TokenCounter

_RECENT_ITEMS = 8  # newest items of working memory that every context quotes if they fit
_PROGRESS_TYPE = "metric"
_MESSAGE = "message"  # the built-in rule of what the conversation holds
_log = find_logger("wmem.agent")


class TurnSettings(NamedTuple):
    """How a turn was opened; see `AgentMemory.turn`."""

    budget: TurnBudget = TurnBudget()
    goals: Sequence[str] = ()
    task_id: str | None = None
    default_filters: Filters = NO_FILTERS
    tracks_tools: bool = True

    def check(self) -> Self:
        """The same, checked.

        Raises:
            InvalidInputError: Anything out of range.
        """
        if not isinstance(self.budget, TurnBudget):
            raise InvalidInputError(f"budget must be a wmem.TurnBudget, got {describe(self.budget)}")
        if isinstance(self.goals, str) or not isinstance(self.goals, Sequence):
            raise InvalidInputError(f"goals must be a list of texts, got {describe(self.goals)}")
        if bad := [each for each in self.goals if not isinstance(each, str) or not each.strip()]:
            raise InvalidInputError(f"a goal must be text that is not blank, got {describe(bad[0])}")
        if self.task_id is not None and not isinstance(self.task_id, str):
            raise InvalidInputError(f"task_id must be text, got {describe(self.task_id)}")
        return self._replace(goals=tuple(self.goals))


class TurnCore:
    """One turn of one session: what it wrote, what it took, and whether it ended."""

    def __init__(self, types: BoundTypes, settings: TurnSettings, turn_id: str | None) -> None:
        self.types = types
        self.settings = settings
        self.handle = types.handle
        now = self.handle.settings.clock()
        self.id = new_ulid(now) if turn_id is None else check_turn_id(turn_id)
        self.meter = Meter(settings.budget, now)
        self.writes: list[TurnWrite] = []
        self.progress: list[GoalProgress] = []
        self.rejected = Counter[str]()
        self.redactions = Counter[str]()
        self.evicted = 0
        self.events: list[TraceEvent] = []
        """What happened, for the trace."""
        self.committed: Committed | None = None
        self.is_abandoned = False

    # -- writes

    def memorize(self, item: Memorizable, metadata: Mapping[str, Any] | None, store: str) -> Flow[Routed]:
        """See `Turn.memorize`."""
        self._begin("nothing more is memorized")
        routed = yield from self._store(to_storable(item, metadata), store)
        self.meter.count()
        return routed

    def track(
        self, tool_name: str, parameters: Mapping[str, Any] | None, result: object, error: object
    ) -> Flow[MemoryItem | None]:
        """See `Turn.track_tool_invocation`."""
        self._check_open()
        store = self.types.episodic if self.types.has_long_term else self.types.working
        target = yield from store.location.locate()
        most_bytes, redaction = target.policy.max_content_bytes, target.redaction
        drafts, counts = draft_tool_call(
            tool_name, parameters, result, error, most_bytes=most_bytes, redaction=redaction
        )
        first: MemoryItem | None = None
        try:
            for draft in drafts if self.settings.tracks_tools else ():
                part = draft if first is None else draft.with_defaults(parent_id=first.id)
                made = yield from self._memorize_in(store, part, gated=False)
                first = first or made.item
        except HeldBackError:  # its caller did not ask for memory, and goes on
            _log.warning("a call of a tool was not stored: a recognizer of the redaction failed")
        if first is not None:
            self.events.append(ToolCallTraced(first.id, error is not None, first.tokens or 0))
            self._note_redactions(first.id, counts)
        self.meter.count()
        return first

    def report_progress(self, goal: str, delta: float, note: str) -> Flow[GoalProgress]:
        """See `Turn.report_progress`."""
        self._begin("no more progress is reported")
        made = GoalProgress(*_check_progress(goal, delta, note, self.settings.goals), self.handle.settings.clock())
        text = f"{made.goal}: {made.delta:+.0%}{f' ({made.note})' if made.note else ''}"
        about = {"goal": made.goal, "delta": made.delta}
        yield from self._memorize_in(
            self.types.working, ItemDraft(text, fields={"type": _PROGRESS_TYPE, "metadata": about}), gated=False
        )
        self.progress.append(made)
        self.meter.count()
        return made

    def _store(self, storable: Storable, store: str) -> Flow[Routed]:
        message, draft = storable
        store = self._find_store(store)
        if message is not None and store not in (AUTO, CONVERSATION):
            raise InvalidInputError(f"a message belongs to the store {CONVERSATION!r}, not {describe(store)}")
        routes = {CONVERSATION: _MESSAGE} if draft is None else self._find_routes(draft, store)
        known = self.types.by_name()
        made_by: dict[str, Memorized] = {}
        too_large: dict[str, Rejected] = {}
        for place, (name, rule) in enumerate(routes.items()):
            each = known[name]
            try:
                if message is not None and name == CONVERSATION:
                    made_by[name] = yield from self._append(message, rule)
                elif draft is not None:
                    made_by[name] = yield from self._memorize_in(each, draft, rule)
            except Exception as exc:
                # A memory type that it is too large for, or somebody else's that fails, keeps no other from having it;
                # the reply names the stores.
                is_last_chance = not made_by and place == len(routes) - 1
                fault = None if draft is None else self._find_size_fault(each, draft, exc)
                if is_last_chance or (fault is None and (store != AUTO or not each.is_external)):
                    raise
                if fault is None:
                    _log.warning("memory type %s failed: %s", name, type(exc).__name__)
                else:
                    too_large[name] = fault
                    self._note_rejection(name, fault)
        stored = {name: made for name, made in made_by.items() if made.rejected is None}
        rejected = {name: made.rejected for name, made in made_by.items() if made.rejected is not None} | too_large
        redactions = {kind: count for made in made_by.values() for kind, count in made.redactions.items()}
        item = next((made.item for made in stored.values()), None)
        evicted = tuple(each for made in stored.values() for each in made.evicted)
        return Routed(
            item, stored, rejected, {name: routes[name] for name in (*made_by, *too_large)}, redactions, evicted
        )

    def _find_size_fault(self, store: TypeFlows, draft: ItemDraft, exc: Exception) -> Rejected | None:
        """That an item takes more tokens than a whole memory type may; None if it was refused for another reason."""
        most = self.handle.policy.max_tokens if isinstance(exc, CapacityError) and store.name == WORKING else None
        tokens = self.handle.settings.counter()(draft.content)
        return Rejected("size", tokens, most) if most is not None and tokens > most else None

    def _note_rejection(self, store: str, fault: Rejected) -> None:
        self.rejected[store] += 1
        self.events.append(RejectionTraced(store, *fault))

    def _find_routes(self, draft: ItemDraft, store: str) -> Mapping[str, str]:
        return choose_stores(self.types, draft) if store == AUTO else {store: NAMED}

    def _find_store(self, store: str) -> str:
        known = (AUTO, *self.types.by_name())
        found = find_store(store, known) if isinstance(store, str) else None
        if found is None:
            raise InvalidInputError(f"there is no store {describe(store)}; known: {', '.join(known)}")
        return found

    def _memorize_in(
        self, store: TypeFlows, draft: ItemDraft, rule: str = "", *, gated: bool = True
    ) -> Flow[Memorized]:
        if self.handle.incarnation is None:
            yield from self.handle.replica()
        full = draft.with_defaults(
            self.handle.path[1:],
            turn_id=self.id,
            task_id=self.settings.task_id,
            agent_id=self.handle.path[0],
            # Working memory sets the step that it finds when it stores the item.
            step_index=None if store is self.types.working else self._find_step(),
        )
        made = yield from store.memorize(full, gated=gated)
        self._note(store.name, made, rule)
        return made

    def _find_step(self) -> int:
        """The session's step, as this process knows it."""
        replica = self.handle.engine.replica(self.handle.path)
        return replica.state.step if replica.incarnation == self.handle.incarnation is not None else 0

    def _append(self, message: Message, rule: str) -> Flow[Memorized]:
        said = message if message.turn_id is not None else message.model_copy(update={"turn_id": self.id})
        _, rows, now = message_flows.prepare_messages(self.handle, [said])
        if not rows:
            raise InvalidInputError("a note that a pack made is not stored again")
        [row] = yield from message_flows.append(self.handle, rows, now)
        state = self.handle.engine.replica(self.handle.path).state
        count = len(state.messages)
        made = Memorized(to_item(row, importance_of(row, now)), count - 1, (), count, state.message_tokens)
        self._note(CONVERSATION, made, rule)
        return made

    def _note(self, store: str, reply: Memorized, rule: str = "") -> None:
        """Take note of what was written or refused, and of what was redacted in it and evicted for it.

        Args:
            rule: By which it was routed; "" if it was not.
        """
        if reply.rejected is not None:
            self._note_rejection(store, reply.rejected)
            return
        self.writes.append(TurnWrite(store, reply.item))
        self.events.append(MemorizeTraced(reply.item.id, store))
        if rule:
            self.events.append(RouteTraced(reply.item.id, store, rule))
        self._note_redactions(reply.item.id, reply.redactions)
        if reply.evicted:
            self.evicted += len(reply.evicted)
            gone = {each.id: each for each in reply.evicted}
            path = self.handle.path
            if store == self.types.semantic.name:
                path = (*next(iter(self.handle.long_term_scopes), path[:1]), SEMANTIC)
            decisions = self.handle.engine.replica(path).state.decisions[-len(gone) :]
            self.events += [EvictionTraced(*each[:3], each.parts) for each in decisions if each.id in gone]

    def _note_redactions(self, id: str, counts: Mapping[str, int]) -> None:  # the field's own name
        if counts:
            self.redactions.update(counts)
            self.events.append(RedactionTraced(id, dict(counts)))

    # -- reads

    def assemble(self, prompt: str, filters: Filters | None, options: ContextOptions) -> Flow[Assembled]:
        """See `Turn.assemble_context`."""
        self._begin("no further context is assembled")
        if not isinstance(prompt, str):
            raise InvalidInputError(f"prompt must be text, got {describe(prompt)}")
        wanted = _check_filters(filters, self.settings.default_filters, self.types.registry.names())
        sizes = options.size_pools({each.name: each.pool for each in self.types.all()})
        asked = options.to_pack_options(options.budget)  # checks them
        counter = self.handle.settings.counter()
        template = options.count_template(counter)
        budget = self.meter.limit_tokens(asked.budget)
        question = prompt if prompt.strip() else "; ".join(self.settings.goals)
        found, warnings = yield from self._ask_others(question, wanted, sizes)
        if budget < asked.budget:
            warnings.append(f"{budget} of {asked.budget} tokens were left of the turn's budget")
        assembly = TurnAssembly(
            ReadContext(
                goals=tuple(self.settings.goals),
                filters=wanted,
                recent=min(_RECENT_ITEMS, sizes[WORKING]),
                pools=sizes,
                found_elsewhere={
                    name: [_to_row(each.item, counter) for each in items] for name, items in found.items()
                },
                warnings=tuple(warnings),
                read_closed=self.types.conversation.read_closed,
            )
        )
        try:
            context = yield from pack_scope(
                self.handle,
                question,
                replace(asked, budget=max(budget - template, 1)),
                messages=options.messages,
                inherit=True,
                long_term=True,
                scoring=options.scoring,
                zone=options.zone,
                assembly=assembly,
            )
        except BudgetError as exc:
            if budget == asked.budget:
                raise
            raise TurnBudgetError(f"{budget} tokens are left of the turn's budget: {exc}") from exc
        self.events.append(trace_pack(context))
        others = {(name, each.item.id): each.item for name, items in found.items() for each in items}
        now = self.handle.settings.clock()
        before, _, after = options.template.partition(NO_TEMPLATE)
        frame = Frame((before, after), template) if template else NO_FRAME
        tokens = context.tokens + (template if context.note else 0)
        made = Assembled(context, partial(_list_quoted, context, tokens, assembly, others, now), frame)
        self.meter.count(made.tokens)
        return made

    def _ask_others(
        self, question: str, filters: Filters, pools: Mapping[str, int]
    ) -> Flow[tuple[Mapping[str, Sequence[Remembered]], list[str]]]:
        """What the memory types of others remember; one that fails is left out, with a warning."""
        found: dict[str, Sequence[Remembered]] = {}
        warnings: list[str] = []
        for each in self.types.all():
            if not each.is_external or not filters.includes(each.name):
                continue
            try:
                found[each.name] = yield from each.remember(question, filters, pools[each.name])
            except Exception as exc:  # noqa: BLE001  # of somebody else's store: the prompt goes without it
                failure = type(exc).__name__
                _log.warning("memory type %s failed: %s", each.name, failure)
                warnings.append(f"the memory type {each.name!r} failed ({failure}), so nothing of it is here")
        return found, warnings

    # -- the end

    def status(self) -> BudgetStatus:
        """See `Turn.budget_status`."""
        return self.meter.status(self.handle.settings.clock())

    def commit(self) -> Flow[Committed]:
        """See `Turn.commit`."""
        if self.committed is not None:
            return self.committed
        if self.is_abandoned:
            raise InvalidInputError(f"turn {self.id!r} was left by an exception: open another one")
        now = self.handle.settings.clock()
        step, _ = yield from append_together(end_turn(self.handle, self.id), self._write_trace(now))
        self.meter.end(now)
        writes = tuple(self.writes)
        self.committed = Committed(
            self.id,
            step,
            writes,
            dict(Counter(each.store for each in writes)),
            self._export(writes),
            self.status(),
            dict(self.rejected),
            dict(self.redactions),
            self.evicted,
        )
        return self.committed

    def abandon(self) -> Flow[None]:
        """The turn was left by an exception: it ends, and is no step."""
        if self.has_ended:
            return
        self.is_abandoned = True
        now = self.handle.settings.clock()
        self.meter.end(now)
        try:
            yield from self._write_trace(now)
        except WmemError as exc:
            # What the block raised says more: the session may be disposed, or the store away.
            _log.warning("the trace of turn %s was not written: %s", self.id, exc)

    def _write_trace(self, now: float) -> Flow[None]:
        events, self.events = self.events, []  # whoever else commits this turn meanwhile tells them no second time
        try:
            yield from append_trace(self.handle, self.id, events, now)
        except BaseException:
            self.events = [*events, *self.events]
            raise

    def leave(self, *, failed: bool) -> Flow[None]:
        """Leave the turn's block."""
        if failed:
            yield from self.abandon()
        else:
            yield from self.commit()

    def _export(self, writes: Sequence[TurnWrite]) -> TurnExports:
        episodic, semantic = (
            tuple(each.item for each in writes if each.store == name) for name in ("episodic", "semantic")
        )
        return TurnExports(episodic, semantic, tuple(self.progress))

    @property
    def has_ended(self) -> bool:
        """Whether it was committed, or left by an exception."""
        return self.committed is not None or self.is_abandoned

    def _check_open(self) -> None:
        if self.has_ended:
            how = "left by an exception" if self.is_abandoned else "committed"
            raise InvalidInputError(f"turn {self.id!r} was {how}: open another one")
        self.handle.check_usable()

    def _begin(self, refusal: str) -> None:
        self._check_open()
        self.meter.check(refusal, self.handle.settings.clock())


def _check_progress(goal: str, delta: float, note: str, goals: Sequence[str]) -> tuple[str, float, str]:
    if goal not in goals:
        known = ", ".join(map(describe, goals)) or "none"
        raise InvalidInputError(f"{describe(goal)} is no goal of this turn; known: {known}")
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not -1 <= delta <= 1:
        raise InvalidInputError(f"delta must be a share from -1 to 1, got {describe(delta)}")
    if not isinstance(note, str):
        raise InvalidInputError(f"note must be text, got {describe(note)}")
    return goal, float(delta), note


def _check_filters(filters: object, default: Filters, known: Collection[str]) -> Filters:
    if filters is not None and not isinstance(filters, Filters):
        raise InvalidInputError(f"filters must be wmem.Filters, got {describe(filters)}")
    checked = default if filters is None else filters
    if unknown := [name for name in checked.include or () if name not in known]:
        msg = f"filters include an unknown memory type {describe(unknown[0])}; known: {', '.join(known)}"
        raise InvalidInputError(msg)
    return checked


def _to_row(item: MemoryItem, counter: TokenCounter) -> Row:
    """An item of an external memory type as a row that is ranked and quoted, and never stored."""
    return Row(
        id=item.id,
        content=dump_json(item.content),
        created_at=item.created_at,
        updated_at=item.updated_at,
        type=item.type,
        priority=item.priority,
        tags=item.tags,
        importance=item.importance,
        length=len(item.content),
        tokens=counter(item.content),
        counter=counter.name,
        expires_at=item.expires_at,
        rest=dump_json({"task_id": item.task_id, "agent_id": item.agent_id}),
    )


def _list_quoted(
    context: Context, tokens: int, assembly: TurnAssembly, others: Mapping[tuple[str, str], MemoryItem], now: float
) -> Quoted:
    items: list[AssembledItem] = []
    sources: Counter[str] = Counter()
    for unit in (*context.included, *context.truncated):
        hit = assembly.hits.get(unit.ids[0]) if unit.placed == "note" and len(unit.ids) == 1 else None
        is_message = unit.placed == "messages" if hit is None else hit.row.role is not None
        source = find_source(unit.scope, is_message=is_message or not unit.ids)
        sources[source] += unit.tokens
        if hit is not None:
            item = others.get((source, hit.row.id)) or to_item(hit.row, importance_of(hit.row, now))
            items.append(AssembledItem(item, source, unit.tokens, unit.score, unit.parts))
    sources[""] = tokens - sources.total()
    return Quoted(tuple(items), dict(sources))
