"""Operations of `scope.queue`: reads as pure functions over a state, writes as flows."""

from collections.abc import Callable, Collection, Sequence
from typing import Literal, TypeAlias

from wmem.analysis.analyzer import Analyzer, to_terms
from wmem.analysis.summarize import WeightedText, extract
from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.flow import Flow
from wmem.model.change import Change, Decision, Erased, StepAdvanced, TurnEnded
from wmem.model.checks import check_count, check_fraction, check_limit, check_turn_id, check_whole_number
from wmem.model.item import MemoryItem, to_item
from wmem.model.results import Forgotten, Memorized, Summary
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.model.zones import to_zone
from wmem.policy import Capacity
from wmem.retrieval.question_time import QuestionTime
from wmem.rules.eviction import Victim, is_recent
from wmem.rules.forgetting import parse_instruction, rows_to_forget
from wmem.rules.tfidf_importance import importance_by_id
from wmem.scope.erasure import erase, log_remaining
from wmem.scope.handle import Handle, Read
from wmem.scope.items.capacity import choose_evictions, log_evictions, size_of, store_item, to_changes
from wmem.scope.items.filters import ItemFilter
from wmem.scope.items.lifetime import hide_item
from wmem.scope.redaction import redact_text
from wmem.scope.summaries.flows import summarize_by_weight
from wmem.state import State

ForgetMode: TypeAlias = Literal["soft", "hard"]
SummarySpan: TypeAlias = Literal["all", "recent"]


# -- reads


def remember(
    handle: Handle, prompt: str | None, item_filter: ItemFilter, min_importance: float, limit: int | None
) -> Read[list[MemoryItem]]:
    """The items that match a prompt and filters; see `QueueReads.remember`."""
    read_ranked = remember_ranked(handle, prompt, item_filter, min_importance, limit)
    return lambda states, now: [item for item, _ in read_ranked(states, now)]


def remember_ranked(
    handle: Handle, prompt: str | None, item_filter: ItemFilter, min_importance: float, limit: int | None
) -> Read[list[tuple[MemoryItem, float]]]:
    """The items that `remember` returns, each with what it is ranked by: its importance plus its position."""
    words, analyzer = _prompt_words(prompt), handle.engine.analyzer
    if limit is not None:
        check_limit(limit)
    check_fraction(min_importance, "min_importance")

    def read(states: Sequence[State], now: float) -> list[tuple[MemoryItem, float]]:
        rows = states[0].visible(states[0].items, now)
        scores = importance_by_id(rows, handle.policy.guard_high, analyzer)
        ranks = {row.id: scores[row.id] + (place + 1) / len(rows) for place, row in enumerate(rows)}
        asked = QuestionTime(prompt or "", now, to_zone(handle.policy.zone))
        held = states[0].rows
        found = [
            row
            for row in item_filter.at_time(lambda row: asked.accepts_alone(row, held)).apply(rows, now)
            if scores[row.id] >= min_importance
            and not (words and words.isdisjoint(_words(load_json(row.content), analyzer)))
        ]
        found.reverse()  # newest first among equals
        found.sort(key=lambda row: -ranks[row.id])
        return [(to_item(row, scores[row.id]), ranks[row.id]) for row in found[:limit]]

    return read


def _prompt_words(prompt: str | None) -> frozenset[str]:
    """The words an item must share one of: the prompt's terms, or all its words if it has no terms."""
    if prompt is not None and not isinstance(prompt, str):
        raise InvalidInputError(f"prompt must be text, got {describe(prompt)}")
    return frozenset(to_terms(prompt or "")) or frozenset((prompt or "").casefold().split())


def _words(text: str, analyzer: Analyzer) -> frozenset[str]:
    return frozenset(analyzer.to_terms(text)) | frozenset(text.casefold().split())


def summarize(handle: Handle, span: SummarySpan, token_limit: int) -> Read[Summary]:
    """Extractive summary of the items; see `QueueReads.summarize`."""
    check_count(token_limit, "token_limit", 1)
    list_texts, redaction = _list_texts(handle, span, None), handle.settings.redaction

    def read(states: Sequence[State], now: float) -> Summary:
        texts = list_texts(states, now)
        clean = [WeightedText(redact_text(redaction, text), weight) for _, (text, weight) in texts]
        made = extract(clean, token_limit, handle.settings.counter(), handle.engine.analyzer)
        return Summary(made.text, made.tokens, tuple(texts[place][0] for place in made.source_indices))

    return read


def summarize_items(
    handle: Handle, span: SummarySpan, token_limit: int, ids: Collection[str] | None = None
) -> Flow[Summary]:
    """Summary of the items, or of those under these ids, by the memory's summarizer if there is one."""
    check_count(token_limit, "token_limit", 1)
    texts = yield from handle.read(_list_texts(handle, span, ids), local_only=True)
    return (yield from summarize_by_weight(handle, texts, token_limit))


def _list_texts(handle: Handle, span: SummarySpan, ids: Collection[str] | None) -> Read[list[tuple[str, WeightedText]]]:
    """The texts of the items by id, each with its importance."""
    if span not in ("all", "recent"):
        raise InvalidInputError(f"span must be 'all' or 'recent', got {describe(span)}")

    def read(states: Sequence[State], now: float) -> list[tuple[str, WeightedText]]:
        policy, state = handle.policy, states[0]
        rows = state.visible(state.items, now)
        scores = importance_by_id(rows, policy.guard_high, handle.engine.analyzer)
        return [
            (row.id, WeightedText(load_json(row.content), scores[row.id]))
            for row in rows
            if (ids is None or row.id in ids) and (span == "all" or is_recent(row, policy, step=state.step))
        ]

    return read


def capacity(handle: Handle) -> Read[Capacity]:
    """How full the scope is."""

    def read(states: Sequence[State], now: float) -> Capacity:
        return Capacity.of(*size_of(states[0].visible(states[0].items, now)), handle.policy)

    return read


def list_decisions(limit: int | None) -> Read[list[Decision]]:
    """Why items were evicted, newest first."""
    if limit is not None:
        check_limit(limit)

    def read(states: Sequence[State], _: float) -> list[Decision]:
        return states[0].decisions[::-1][:limit]

    return read


# -- writes


def memorize(handle: Handle, draft: Flow[tuple[Row, float]]) -> Flow[Memorized]:
    """Store an item that `draft_item` makes at the end of the queue; see `Queue.memorize`."""
    row, now = yield from draft
    return (yield from memorize_row(handle, row, now))


def memorize_row(handle: Handle, row: Row, now: float) -> Flow[Memorized]:
    """Store an item at the end of the queue."""
    made = yield from store_item(handle, row, now, queued=True)
    items, tokens = size_of(made.visible)
    score = made.row.importance
    if score is None:
        score = importance_by_id(made.visible, handle.policy.guard_high, handle.engine.analyzer)[made.row.id]
    return Memorized(
        to_item(made.row, score), len(made.visible) - 1, tuple(_to_evicted_items(made.removed)), items, tokens
    )


def _to_evicted_items(removed: Sequence[Victim]) -> list[MemoryItem]:
    """The evicted items, with the importance that decided; expired ones do not count as evicted."""
    return [
        to_item(victim.row, victim.parts.get("importance", victim.row.importance or 0.0))
        for victim in removed
        if victim.rule != "expired"
    ]


def forget(handle: Handle, instruction: str, mode: ForgetMode) -> Flow[Forgotten]:
    """Forget the items that an instruction selects; see `Queue.forget`."""
    what = parse_instruction(instruction)

    def select(rows: Sequence[Row]) -> Sequence[Row]:
        return rows_to_forget(what, rows, importance_by_id(rows, handle.policy.guard_high, handle.engine.analyzer))

    return _forget(handle, select, mode)


def forget_ids(handle: Handle, ids: Collection[str], mode: ForgetMode) -> Flow[Forgotten]:
    """Forget the visible items under these ids, as `forget` does; others are passed over."""
    return _forget(handle, lambda rows: [row for row in rows if row.id in ids], mode)


def _forget(handle: Handle, select: Callable[[Sequence[Row]], Sequence[Row]], mode: ForgetMode) -> Flow[Forgotten]:
    """Forget those of the visible items that a function selects."""
    if mode not in ("soft", "hard"):
        raise InvalidInputError(f"mode must be 'soft' or 'hard', got {describe(mode)}")
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], tuple[Forgotten, Sequence[Row]]]:
        rows = state.visible(state.items, now)
        gone = select(rows)
        ids = dict.fromkeys(row.id for row in gone)
        left = size_of(row for row in rows if row.id not in ids)
        changes: list[Change] = [Erased(tuple(ids))] if ids else []
        if mode == "soft":
            changes = [hide_item(row, now) for row in gone]
        return changes, (Forgotten(tuple(ids), left.items, left.tokens), gone)

    told, gone = yield from handle.commit(decide, now)
    if not told.ids:
        handle.check_intact(local_only=True)
    elif mode == "hard":
        log_remaining(handle, "forgotten", (yield from erase(handle, told.ids, removed=gone)).remaining)
    return told


def evict_to(handle: Handle, *, items: int | None, tokens: int | None) -> Flow[list[MemoryItem]]:
    """Evict items down to a size; see `Queue.evict_to`."""
    if items is None and tokens is None:
        raise InvalidInputError("evict_to needs items=, tokens= or both")
    for given in (items, tokens):
        if given is not None:
            check_limit(given)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], tuple[Sequence[Change], Sequence[Victim]]]:
        gone = choose_evictions(handle, state, now, items=items, tokens=tokens)
        changes = to_changes(gone, now)
        return changes, (changes, gone)

    changes, gone = yield from handle.commit(decide, now)
    log_evictions(handle, changes)
    return _to_evicted_items(gone)


def end_turn(handle: Handle, turn_id: str) -> Flow[int]:
    """Advance the step counter by one for a turn, once; see `Queue.advance_step`."""
    turn_id = check_turn_id(turn_id)
    handle.check_usable()
    now = handle.settings.clock()
    # The fold counts a turn once, so that this depends on no state and meets no conflict.
    if not _knows_turn(handle, turn_id):
        yield from handle.post([TurnEnded(turn_id, now)], now)
    if not _knows_turn(handle, turn_id):  # others wrote meanwhile
        yield from handle.replica()
    return handle.engine.replica(handle.path).state.step


def _knows_turn(handle: Handle, turn_id: str) -> bool:
    """Whether the replica, as it is, knows that a turn of this incarnation ended."""
    replica = handle.engine.replica(handle.path)
    return replica.incarnation == handle.incarnation is not None and turn_id in replica.state.turns


def advance_step(handle: Handle, steps: int, turn_id: str | None = None) -> Flow[int]:
    """Advance the step counter; see `Queue.advance_step`."""
    if turn_id is not None:
        if steps != 1:
            raise InvalidInputError(f"a turn is one step, not {describe(steps)}")
        return (yield from end_turn(handle, turn_id))
    check_whole_number(steps, "steps", 1)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], int]:
        step = check_whole_number(state.step + steps, "the number of the step")
        return [StepAdvanced(step, now)], step

    return (yield from handle.commit(decide, now))
