"""Working and semantic memory as memory types."""

from collections.abc import Sequence

from wmem.agent.types.draft import ItemDraft
from wmem.agent.types.flows import (
    LongTermScope,
    OwnScope,
    capacity_of,
    check_ids,
    check_question,
    draft_row,
    find_minima,
    forget_in,
    is_important_enough,
    remember_in,
    summarize_in,
    to_item_filter,
    to_memorized,
)
from wmem.agent.types.long_term_bounds import evict_after_write
from wmem.agent.types.settings import SemanticSettings, WorkingSettings
from wmem.flow import Flow
from wmem.model.filters import Filters
from wmem.model.results import Forgotten, Memorized, Remembered, Summary
from wmem.policy import Capacity
from wmem.rules.routing import is_knowledge, is_transient
from wmem.scope.gate import store_weighed, weigh
from wmem.scope.handle import Handle
from wmem.scope.queue import flows as queue_flows
from wmem.scope.queue.flows import ForgetMode


class WorkingFlows:
    """The items of a session, or of the agent's own scope, by the rules of the bounded queue."""

    is_external = False

    def __init__(self, handle: Handle, settings: WorkingSettings) -> None:
        self.location = OwnScope(handle)
        self.settings = settings
        self.name = settings.name
        self.pool = settings.pool

    def accepts(self, draft: ItemDraft, /) -> bool:
        return is_transient(draft.type) and is_important_enough(draft, self.settings.min_importance)

    def memorize(self, draft: ItemDraft, /, *, gated: bool = True) -> Flow[Memorized]:
        handle = self.location.handle
        minima = find_minima(handle, self.name, gated=gated)
        row, now = yield from draft_row(handle, draft)
        weighed = yield from weigh(handle, row, now, minima)
        if weighed.rejected is not None:
            return to_memorized(handle, weighed, now)
        made = yield from queue_flows.memorize_row(handle, weighed.row, now)
        return made._replace(redactions=weighed.redactions)

    def remember(self, query: str, filters: Filters, limit: int, /) -> Flow[list[Remembered]]:
        text, most = check_question(query, filters, limit)
        read = queue_flows.remember_ranked(self.location.handle, text, to_item_filter(filters), 0.0, most)
        ranked = yield from self.location.handle.read(read, local_only=True)
        return [Remembered(item, score) for item, score in ranked]

    def forget(self, ids: Sequence[str], mode: ForgetMode = "soft", /) -> Flow[Forgotten]:
        return queue_flows.forget_ids(self.location.handle, check_ids(ids), mode)

    def summarize(self, token_limit: int, /) -> Flow[Summary]:
        return summarize_in(self.location.handle, token_limit)

    def capacity(self) -> Flow[Capacity]:
        return self.location.handle.read(queue_flows.capacity(self.location.handle), local_only=True)


class SemanticFlows:
    """Knowledge: what was promoted as such, and what is memorized here."""

    is_external = False

    def __init__(self, location: LongTermScope, settings: SemanticSettings) -> None:
        self.location = location
        self.settings = settings
        self.name = settings.name
        self.pool = settings.pool

    def accepts(self, draft: ItemDraft, /) -> bool:
        return is_knowledge(draft.type, draft.kind) and is_important_enough(draft, self.settings.min_importance)

    def memorize(self, draft: ItemDraft, /, *, gated: bool = True) -> Flow[Memorized]:
        handle = yield from self.location.locate_to_write()
        row, now = yield from draft_row(handle, draft)
        weighed = yield from weigh(handle, row, now, find_minima(handle, self.name, gated=gated))
        weighed = yield from store_weighed(handle, weighed, now)
        evicted = () if weighed.rejected else (yield from evict_after_write(handle, self.settings, now)).items
        return to_memorized(handle, weighed, now, evicted)

    def remember(self, query: str, filters: Filters, limit: int, /) -> Flow[list[Remembered]]:
        return (yield from remember_in((yield from self.location.locate()), query, filters, limit))

    def forget(self, ids: Sequence[str], /) -> Flow[Forgotten]:
        return (yield from forget_in((yield from self.location.locate()), ids))

    def summarize(self, token_limit: int, /) -> Flow[Summary]:
        return (yield from summarize_in((yield from self.location.locate()), token_limit))

    def capacity(self) -> Flow[Capacity]:
        full = yield from capacity_of((yield from self.location.locate()))
        return full.within(self.settings.max_items, self.settings.max_tokens)
