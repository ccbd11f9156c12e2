"""Flow of `Scope.pack`: builds the pack request from lazily read messages, pinned items and recall hits."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import tzinfo
from functools import partial
from itertools import islice, takewhile
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, TypeAlias

from wmem.engine.replica import Replica
from wmem.errors import InvalidInputError
from wmem.flow import Flow
from wmem.model.alternation import SYSTEM_ROLES
from wmem.model.checksum import is_intact
from wmem.model.context import Context
from wmem.model.features import check_compaction
from wmem.model.history import Path, to_scope_id
from wmem.model.ids import parse_promoted_id
from wmem.model.item import to_message
from wmem.model.message import Message, parse_messages
from wmem.model.recall_marks import OPENING
from wmem.model.recall_profile import RecallProfile, Scoring
from wmem.model.row import Row
from wmem.model.sendable import ESCAPED_SURROGATE, to_sendable
from wmem.model.standing import PREFERENCE, StandingRequest
from wmem.model.zones import to_zone, zone_name
from wmem.pack import pack
from wmem.pack.foreign_blocks import BlockFitter
from wmem.pack.provider_order import is_plain
from wmem.pack.request import (
    Candidate,
    PackOptions,
    PackRequest,
    PlainText,
    RecalledCandidate,
    Rendered,
    StandingClause,
    StoredSummary,
)
from wmem.pack.shares import recalls_messages
from wmem.retrieval.candidate_rows import Hit
from wmem.retrieval.retriever import CANDIDATE_LIMIT, Query, list_query_terms, search
from wmem.rules.reminders import is_outdated
from wmem.rules.standing import read_in_force
from wmem.rules.validity import holds
from wmem.scope.assembly import PLAIN, Assembly
from wmem.scope.embedding_backfill import embed_query
from wmem.scope.handle import Handle
from wmem.scope.index_store import prepare_index
from wmem.scope.messages.flows import MessageInput, pair_live, to_row
from wmem.scope.messages.standing import find_requests
from wmem.scope.pack_cache import (
    DecodedMessage,
    DecodedMessages,
    PackQuotes,
    QuoteCache,
    StandingCache,
    list_standing_rows,
    to_sendable_requests,
)
from wmem.scope.replay import seal_prompt
from wmem.scope.sources import LiveMessage, decode_row
from wmem.scope.summaries.rolling import list_stored
from wmem.state import State
from wmem.tokens.counter import (
    MESSAGE_OVERHEAD,
    Counter,
    MessageCost,
    is_text_alone,
    message_cost,
    parts_count_name,
)

if TYPE_CHECKING:
    from wmem.model.part import Role

_FIRST_CHUNK = 128  # messages read at first under one lock; each further chunk is twice as large
_MIN_HITS = 64  # hits that are considered however small the budget
_SHORT_MEMORY_TOKENS = 8  # tokens of a short memory
_LONG_MEMORY_DIVISOR = 4  # a long memory is truncated to the budget divided by this
_BUDGETS_OF_HITS = 3  # hits are taken until they fill so many budgets
_LONG_CONTENT = 8_192  # bytes of a message that takes longer to count than to compare
_COUNTED = attrgetter("role", "name", "parts", "tool_calls", "tool_call_id")
_ID = attrgetter("id")
_PREFERENCE_FACTOR = 1.25


def pack_scope(
    handle: Handle,
    query: str | None,
    options: PackOptions,
    *,
    messages: Sequence[MessageInput] | None,
    inherit: bool,
    long_term: bool,
    scoring: Scoring | None,
    zone: tzinfo | str | None,
    assembly: Assembly = PLAIN,
) -> Flow[Context]:
    """See `Scope.pack`.

    Args:
        assembly: What a turn adds to it.
    """
    if query is not None and not isinstance(query, str):
        raise InvalidInputError(f"a query is text or None, not {type(query).__name__!r}")
    handle.check_usable()
    if options.summary_tokens:
        check_compaction(handle.settings.features)
    now = handle.settings.clock()
    counter = handle.settings.counter()
    known = yield from handle.replicas_to_recall(
        inherit=inherit, long_term=long_term, conversation=assembly.reads_closed
    )
    replicas, closed = yield from assembly.read_closed(known)
    days_in = to_zone(handle.policy.zone if zone is None else zone)
    weighing = handle.policy.recall_profile if scoring is None else RecallProfile.resolve(scoring)
    own = replicas[0]
    ranked = [*replicas, *closed, *assembly.begin(own, now)]
    nearer = _list_nearer(ranked)
    with own.lock:
        leading = own.state.leading_system_text() if assembly.has_conversation else []
        always = _list_always_included(leading, own.state) if assembly.has_conversation else []
        repeated = own.state.find_repeated_system_text()
        total, tokens = (len(own.state.messages), own.state.message_tokens) if assembly.has_conversation else (0, 0)
    fitter = None if options.profile == "any" else BlockFitter(options.profile)
    front = leading[-1].id if leading else None
    said = () if messages is None or not assembly.has_conversation else messages
    live = _LiveMessages(handle, said, own, now, leading=front, fitter=fitter)
    previous = own.use_derived(DecodedMessages, attrgetter("messages"))
    factory = _CandidateFactory(counter, previous, live.overrides, fitter)
    stored = factory.to_stored  # of items, and of what the parents hold
    candidate = factory if live.overrides or fitter is not None else stored
    damaged: list[str] = []
    pinned = [*map(candidate, always), *live.always_included({row.id for row in (*leading, *always)})]
    pinned += [_in_scope(nearer, path, row, stored(row)) for path, row in _list_pinned_items(replicas, now, damaged)]
    asks = assembly.has_conversation and handle.policy.standing_requests
    standing = live.list_standing(own, candidate) if asks else []
    scores: dict[str, float] = {}
    found: Sequence[Hit] = ()
    warnings: Sequence[str] = ()
    if query is not None and query.strip():
        yield from prepare_index(handle.engine, [*replicas, *closed])
        dense, warnings = (yield from embed_query(handle, replicas, query)) if weighing.vector else (None, ())
        # As many short memories as fill the budget, within limits.
        limit = max(_MIN_HITS, min(CANDIDATE_LIMIT, options.budget // _SHORT_MEMORY_TOKENS))
        wanted, searched = assembly.extend(
            Query(query, now, weighing, limit, dense, zone=days_in, for_note=True), ranked
        )
        hits, scores = _search(searched, wanted, favor=bool(standing), items_alone=not recalls_messages(options.tail))
        hits = _leave_out_damaged(assembly.select(hits), damaged)
        found = tuple(_limit_to_budget(live.filter_hits(hits, own.path), options.budget))
    unlike = {} if fitter is None else fitter.changed
    recalled = _list_recalled(found, own, nearer, candidate, stored)
    assembly.note_candidates(zip(recalled, found, strict=True))
    made = pack(
        PackRequest(
            options=options,
            count=counter,
            newest_first=live.merge_with_stored(
                _iter_newest_first(own, stored if fitter is None else factory) if assembly.has_conversation else ()
            ),
            total=total + live.more_messages,
            conversation_tokens=tokens + live.more_tokens,
            pinned=pinned,
            repeated=repeated,
            recalled=recalled,
            summaries=_list_summaries(own, stored, now) if options.summary_tokens and assembly.has_conversation else (),
            standing=standing,
            standing_scores=scores,
            clause_tokens=live.clause_tokens(own, counter.name) if standing else {},
            query=to_sendable(query or ""),
            query_terms=list_query_terms(ranked, query or ""),
            has_items=_have_items(ranked),
            places=own.state.messages,
            analyzer=own.analyzer,
            zone=days_in,
            # A candidate is fitted when it is made: a quote of what was changed is for this profile alone.
            quotes=_pack_quotes(own, (counter.name, zone_name(days_in)), found, (live.overrides, unlike))
            if query and query.strip()
            else None,
            changed_blocks=unlike,
            warnings=(*warnings, *assembly.warnings, *_warn_of_damage(replicas, damaged)),
            scope=handle.id,
            seal=partial(
                seal_prompt,
                [*replicas, *closed],
                own.identity,
                live.by_id,
                now,
                weighing if query and query.strip() else None,
            ),
        )
    )
    own.use_derived(DecodedMessages, partial(DecodedMessages.replace, messages=factory.decoded))
    _record_pack(handle, made, replicas)
    return made


def _record_pack(handle: Handle, context: Context, replicas: Sequence[Replica[Any]]) -> None:
    if (metrics := handle.settings.metrics) is not None:
        metrics.record_pack(context.tokens, context.dropped.totals)
    # Where nothing is packed and nothing is stored, somebody only has a text counted.
    if handle.incarnation is not None or context.messages or context.note:
        lives = {replica.path: replica.incarnation for replica in replicas}
        handle.settings.latest_context.record(context, lives)


def _search(
    replicas: Sequence[Replica[Any]], query: Query, *, favor: bool, items_alone: bool
) -> tuple[Iterable[Hit], dict[str, float]]:
    """What matches a query, and the scores of messages of the scope with standing requests.

    Args:
        favor: Whether the user has asked for anything that stands.
        items_alone: Whether messages are not recalled.
    """
    hits: Iterable[Hit] = search(replicas, query)
    scores: dict[str, float] = {}
    if favor:
        hits = _favor_preferences(hits)
        scores = {hit.row.id: hit.score for hit in hits if hit.row.standing and hit.path == replicas[0].path}
    return (_search_items(replicas, query) if items_alone else hits), scores


def _list_summaries(own: Replica[Any], to_candidate: Callable[[Row], Candidate], now: float) -> list[StoredSummary]:
    """The stored summaries of the conversation; none that covers what was taken back."""
    with own.lock:
        found = list_stored(own.state, own.path, now)
        withdrawn = own.state.withdrawn.keys()
        current = [each for each in found if withdrawn.isdisjoint(each.covered)]
    return [StoredSummary(to_candidate(each.row), frozenset(each.covered)) for each in current]


def _leave_out_damaged(hits: Iterable[Hit], damaged: list[str]) -> Iterator[Hit]:
    """The hits whose content is what was stored; the ids of others are added to `damaged`."""
    for hit in hits:
        # Most have no checksum: asked here, that costs no call.
        if (rest := hit.row.rest) is None or b'"checksum"' not in rest or is_intact(hit.row):
            yield hit
        else:
            damaged.append(hit.row.id)


def _warn_of_damage(replicas: Iterable[Replica[Any]], damaged: Sequence[str]) -> list[str]:
    damage = [each for replica in replicas for each in replica.damage]
    told = [f"{len(damage)} damaged records of {damage[0].path!r} were left out"] if damage else []
    return [*told, f"{len(damaged)} damaged items were left out: {', '.join(damaged)}"] if damaged else told


def _list_always_included(leading: Sequence[Row], state: State) -> list[Row]:
    """System text in front that lasts, and what is pinned, each once."""
    rows = (*_leave_out_outdated(leading, state), *map(state.rows.__getitem__, state.pinned_messages))
    return list({row.id: row for row in rows}.values())


def _leave_out_outdated(leading: Sequence[Row], state: State) -> list[Row]:
    """The system text in front, the first always, others unless a later reminder of their kind is stored."""
    if len(leading) == 1 or not leading or (newest := next(reversed(state.system_messages))) == leading[-1].id:
        return list(leading)
    text = to_message(state.rows[newest]).text
    return [row for at, row in enumerate(leading) if not at or not is_outdated(to_message(row).text, text)]


def _pack_quotes(
    own: Replica[Any], made_for: tuple[str, str], hits: Sequence[Hit], changed: Sequence[Container[str]]
) -> PackQuotes:
    """Cached quotes of the scope itself; the cache does not learn of changes to its parents' rows."""
    cache, state = own.use_derived(QuoteCache, lambda cache: (cache, own.state))
    mine = {each.row.id: each.row for each in hits if state.rows.get(each.row.id) is each.row}
    return PackQuotes(cache, made_for, hits=mine, state=state, changed=changed)


def _have_items(replicas: Sequence[Replica[Any]]) -> bool:
    return any(replica.state.items or replica.state.entries for replica in replicas)


def _search_items(replicas: Sequence[Replica[Any]], query: Query) -> Iterable[Hit]:
    """The items and entries that match, best first: all are looked at, however many messages match better."""
    if not _have_items(replicas):
        return ()
    rows = sum(len(replica.state.rows) for replica in replicas)
    return search(replicas, query._replace(limit=rows, accepts=partial(_is_visible_item, query.now)))


def _is_visible_item(now: float, row: Row) -> bool:
    return row.role is None and row.visible(now)


def _limit_to_budget(hits: Iterable[Hit], budget: int) -> Iterator[Hit]:
    """The best hits, until they fill several budgets; later ones could only fill the last few tokens."""
    tokens = 0
    for each in hits:
        yield each
        tokens += min(each.row.tokens or 0, budget // _LONG_MEMORY_DIVISOR)
        if tokens > _BUDGETS_OF_HITS * budget:
            return


def _favor_preferences(hits: Iterable[Hit]) -> list[Hit]:
    """The hits, with a factor for what the user said that he prefers: recall places it where the room is short."""
    hits = list(hits)
    if not any(hit.row.standing for hit in hits):
        return hits
    return sorted(map(_favor, hits), key=attrgetter("score"), reverse=True)


def _favor(hit: Hit) -> Hit:
    if not hit.row.standing or all(each.rule != PREFERENCE for each in hit.row.standing):
        return hit
    parts = hit.parts
    return hit._replace(
        score=hit.score * _PREFERENCE_FACTOR, parts=lambda: {**parts(), "x preference": _PREFERENCE_FACTOR}
    )


def _list_pinned_items(replicas: Sequence[Replica[Any]], now: float, damaged: list[str]) -> list[tuple[Path, Row]]:
    """The pinned items with their scopes; what was merged into a parent is there once.

    What was pinned in a session and then promoted is in the prompts of other sessions where it matters, not in all.
    The ids of those that are damaged are added to `damaged`.
    """
    found: list[tuple[Path, Row]] = []
    for replica in replicas:
        nearer = {row.content for _, row in found}
        with replica.lock:
            rows = map(replica.state.rows.__getitem__, replica.state.pinned_items)
            found += [
                (replica.path, row)
                for row in rows
                if row.visible(now)
                and holds(row, now)
                and row.content not in nearer
                and parse_promoted_id(row.id) is None
            ]
    damaged += [row.id for _, row in found if not is_intact(row)]
    return [each for each in found if is_intact(each[1])]


_Nearer: TypeAlias = Mapping[Path, tuple[str, Sequence[Mapping[str, Row]]]]
"""By scope: its id, and the rows of each scope that is nearer to the one that is packed."""


def _list_nearer(replicas: Sequence[Replica[Any]]) -> _Nearer:
    rows = [replica.state.rows for replica in replicas]
    return {each.path: (to_scope_id(each.path), rows[:depth]) for depth, each in enumerate(replicas)}


def _in_scope(nearer: _Nearer, path: Path, row: Row, candidate: Candidate) -> Candidate:
    """The candidate of a row of a scope; its id gets the scope's in front if a nearer one has another row under it."""
    scope, others = nearer[path]
    for rows in others:
        other = rows.get(row.id)  # no lock: a look-up is atomic
        if other is not None and other.content != row.content:
            return candidate._replace(id=f"{scope}/{row.id}", scope=scope)
    return candidate._replace(scope=scope) if others else candidate


def _list_recalled(
    hits: Iterable[Hit],
    replica: Replica[Any],
    nearer: _Nearer,
    own: Callable[[Row, int], Candidate],
    inherited: Callable[[Row], Candidate],
) -> list[RecalledCandidate]:
    path, place_of = replica.path, replica.state.messages.get  # no lock: it is atomic
    return [
        RecalledCandidate(
            own(row, place_of(row.id, 0)) if at == path else _in_scope(nearer, at, row, inherited(row)),
            score,
            parts,
            bool(newer),
            form,
            below_floor,
            is_repeated,
            is_outdated,
        )
        for row, score, parts, at, newer, form, below_floor, is_repeated, is_outdated in hits
    ]


def _iter_newest_first(replica: Replica[Any], to_candidate: Callable[[Row], Candidate]) -> Iterator[Candidate]:
    read, size = 0, _FIRST_CHUNK
    seen: set[str] = set()
    while True:
        with replica.lock:
            rows = list(islice(replica.state.newest_messages(), read, read + size))
        # Messages appended since the last chunk shift others into this one again.
        fresh = rows if seen.isdisjoint(map(_ID, rows)) else [row for row in rows if row.id not in seen]
        yield from map(to_candidate, fresh)
        if len(rows) < size:
            return
        seen.update(map(_ID, rows))
        read, size = read + size, size * 2


class _CandidateFactory:
    """Turns rows into candidates, for one pack, and reuses what the previous pack decoded: two share nearly all.

    Only what one pack read is kept for the next, so a budget bounds it and removed rows soon leave.

    Args:
        overrides: Stored messages by id, as a framework has them now.
        fitter: Fits blocks to the provider; None to send them as they are.
    """

    def __init__(
        self,
        counter: Counter,
        previous: Mapping[str, DecodedMessage],
        overrides: Mapping[str, Candidate],
        fitter: BlockFitter | None,
    ) -> None:
        self._counter = counter
        self._fitter = fitter
        self._text_name = counter.name
        self._parts_name = parts_count_name(counter)
        self._previous = previous
        self._overrides = overrides
        self.decoded: dict[str, DecodedMessage] = {}

    def __call__(self, row: Row, place: int = 0) -> Candidate:
        """The row as a candidate, or the framework's message that overrides it."""
        live = self._overrides.get(row.id)
        if live is not None:
            return live._replace(place=place)
        candidate = self.to_stored(row, place)
        if self._fitter is None or row.role is None:
            return candidate
        if row.counter == self._text_name and is_text_alone(row.content):
            return candidate
        message = candidate.load()
        fitted = self._fitter(message, row.id)
        cost = MessageCost(candidate.tokens, candidate.reasoning)
        if fitted is not message:
            only_thoughts = candidate.reasoning and fitted.parts == message.without_reasoning().parts
            cost = MessageCost(candidate.tokens, 0) if only_thoughts else message_cost(fitted, self._counter)
        return _to_candidate(row, cost, partial(_identity, fitted), place)

    def to_stored(self, row: Row, place: int = 0) -> Candidate:
        """The row as a candidate, whatever a framework has, and with all its blocks."""
        known = self._previous.get(row.id)
        if known is not None and known.row is row and known.counter == self._parts_name:
            self.decoded[row.id] = known
            if not place and known.is_intact:
                return known.candidate or self._complete(known)
        if row.counter == self._text_name and row.tokens is not None and row.role and is_text_alone(row.content):
            # Fast path: nearly every message. Positional arguments are faster, and there are very many rows.
            role: Role = row.role  # type: ignore[assignment]  # it is its message's
            load = partial(self._load, row)
            return Candidate(
                row.id, role, row.tokens, row.created_at, load, row.calls, row.turn_id, row.pinned, row.reasoning, place
            )
        cost = self._cost_of_row(row)
        if cost is not None:
            return _to_candidate(row, cost, partial(self._load, row), place)
        message = self._load(row)
        return _to_candidate(row, message_cost(message, self._counter), partial(_identity, message), place)

    def _cost_of_row(self, row: Row) -> MessageCost | None:
        """The row's counts, if they are of this counter; an item is counted as the message it is quoted as."""
        if row.role is None and row.key is None and row.counter == self._text_name and row.tokens is not None:
            return None if ESCAPED_SURROGATE in row.content else MessageCost(MESSAGE_OVERHEAD + row.tokens, 0)
        is_text = row.counter == self._text_name and is_text_alone(row.content)
        if row.tokens is None or row.role is None or not (is_text or row.counter == self._parts_name):
            return None
        return MessageCost(row.tokens, row.reasoning)

    def _load(self, row: Row) -> Message:
        """The message of a row, decoded for the next pack, too, unless somebody changes the JSON that it holds."""
        known = self.decoded.get(row.id)
        if known is not None and known.row is row and known.is_intact:
            return known.message
        message = decode_row(row)
        self.decoded[row.id] = DecodedMessage.of(row, message, self._parts_name)
        return message

    def _complete(self, decoded: DecodedMessage) -> Candidate:
        """The decoded message as a candidate for this pack and those that follow."""
        row, message = decoded.row, decoded.message
        cost = self._cost_of_row(row) or message_cost(message, self._counter)
        plain = None
        # What repeats memories is more than its text: it is looked at each time.
        if is_plain(message) and not message.recalled and OPENING not in message.text:
            plain = Rendered((message,), cost.tokens, plain=PlainText(message.text))
        candidate = _to_candidate(row, cost, partial(_identity, message), plain=plain)
        self.decoded[row.id] = decoded._replace(candidate=candidate)
        return candidate


def _to_live_candidate(row: Row, message: Message, counter: Counter, fitter: BlockFitter | None) -> Candidate:
    """A framework's message as a candidate, with what only its row has."""
    live = message if fitter is None else fitter(message, row.id)
    candidate = _to_candidate(row, _count_live(row, live, counter), partial(_identity, live))
    return candidate._replace(calls=live.answers, pinned=live.pinned)


def _count_live(row: Row, live: Message, counter: Counter) -> MessageCost:
    """The counts of a framework's message: those of its row, if it is long and the row says the same."""
    if len(row.content) >= _LONG_CONTENT and row.tokens is not None and row.counter == counter.name:
        stored = to_message(row)
        if is_text_alone(row.content) and _COUNTED(stored) == _COUNTED(live):
            return MessageCost(row.tokens, row.reasoning)
    return message_cost(live, counter)


def _to_candidate(
    row: Row, cost: MessageCost, load: Callable[[], Message], place: int = 0, plain: Rendered | None = None
) -> Candidate:
    role: Role | None = row.role  # type: ignore[assignment]  # a row has the role of its message
    tokens, reasoning = cost
    return Candidate(
        row.id, role, tokens, row.created_at, load, row.calls, row.turn_id, row.pinned, reasoning, place, plain
    )


def _identity(message: Message) -> Message:
    return message


def _is_restated(row: Row, message: Message) -> bool:
    """Whether a framework changed a user's text, so that it may ask for something else than what is stored."""
    if row.role != "user":
        return False
    return row.length != len(message.text) or (bool(row.standing) and to_message(row).text != message.text)


class _LiveMessages:
    """A framework's own message list, merged with the stored messages for one pack.

    From its newest user message on it is the current turn, which comes last, wherever
    the store has it; what others stored of this turn, such as agents that answer it at
    the same time, is left out. Before that, stored messages keep their order, and others
    come right after the stored one they follow. System text that the list begins with comes
    after the stored one that the conversation begins with, and otherwise in front.
    """

    def __init__(
        self,
        handle: Handle,
        messages: Sequence[MessageInput],
        replica: Replica[Any],
        now: float,
        *,
        leading: str | None,  # id of the last message of the system text that the stored conversation begins with
        fitter: BlockFitter | None,
    ) -> None:
        self.overrides: dict[str, Candidate] = {}
        """Stored messages by id, as the framework has them now."""
        self._unstored_after: dict[str | None, list[Candidate]] = {}
        """Messages that are not stored, newest first, by the stored one they follow."""
        self._always_included: list[Candidate] = []
        self._current_turn: dict[str, Candidate] = {}  # the current turn, oldest first
        self._standing: list[tuple[Candidate, Sequence[StandingRequest]]] = []  # of what is not stored like this
        self._restated: set[str] = set()  # ids of stored messages whose requests are in `_standing`
        self.by_id: dict[str, LiveMessage] = {}
        """All of them, by the ids of their candidates."""
        self.more_messages = self.more_tokens = 0
        """How many messages, and tokens of them, the prompt may have beyond the stored ones."""
        self._turn: str | None = None  # the current turn, if the message that began it is stored
        counter = handle.settings.counter()
        live = pair_live(to_sendable(parse_messages(messages)), replica)
        begun = max((at for at, message in enumerate(live) if message.role == "user"), default=len(live))
        if any(message.id == leading for message in live):
            leading = None  # the list says where what is not stored belongs
        behind: str | None = None
        begins = True
        for at, message in enumerate(live):
            with replica.lock:
                row = replica.state.rows.get(message.id) if message.id in replica.state.messages else None
            stored = row is not None
            if row is not None:
                behind = row.id
                requests = find_requests(message, message.text, handle) if _is_restated(row, message) else None
                if requests is not None:
                    self._restated.add(row.id)
            else:
                row = to_row(message, handle, now)
                requests = row.standing
                self.more_messages += 1
                self.more_tokens += row.tokens or 0
            candidate = _to_live_candidate(row, message, counter, fitter)
            if stored:
                self.overrides[row.id] = candidate
            self.by_id[row.id] = LiveMessage(at, candidate.load(), requests or ())
            if requests:
                self._standing.append((candidate, requests))
            begins = begins and message.role in SYSTEM_ROLES
            if message.pinned or begins:
                self._always_included.append(candidate)
            if at >= begun:
                self._current_turn[row.id] = candidate
            elif row.id not in self.overrides:
                follows = leading if begins and behind is None else behind
                if not begins or follows is not None:  # else it stays in front
                    self._unstored_after.setdefault(follows, []).insert(0, candidate)

        self._find_turn(replica)

    def _find_turn(self, replica: Replica[Any]) -> None:
        """Learn the current turn, and how much others stored of it."""
        asked = next(iter(self._current_turn.values()), None)
        if asked is None or asked.id not in self.overrides or asked.turn_id is None:
            return
        self._turn = asked.turn_id
        with replica.lock:
            since = list(takewhile(lambda row: row.id != asked.id, replica.state.newest_messages()))
        for row in filter(self._is_of_others, since):
            self.more_messages -= 1
            self.more_tokens -= row.tokens or 0

    def _is_of_others(self, each: Row | Candidate) -> bool:
        """Whether others stored a message in the current turn, which the framework's list does not have."""
        is_said = each.role is not None and each.role != "user"
        return self._turn is not None and each.turn_id == self._turn and is_said and each.id not in self.overrides

    def filter_hits(self, hits: Iterable[Hit], path: Path) -> Iterable[Hit]:
        """The hits without what others stored in the current turn.

        Args:
            path: Of the scope that is packed.
        """
        turn = self._turn
        if turn is None:
            return hits
        return (hit for hit in hits if hit.row.turn_id != turn or hit.path != path or not self._is_of_others(hit.row))

    def always_included(self, stored_ids: AbstractSet[str]) -> list[Candidate]:
        """Pinned messages, and system text that the framework's list begins with, that are not stored as such."""
        return [candidate for candidate in self._always_included if candidate.id not in stored_ids]

    def list_standing(self, replica: Replica[Any], to_candidate: Callable[[Row], Candidate]) -> list[StandingClause]:
        """The user's requests, newest first: those of the framework's messages, then those of the stored ones."""
        if not self._asks:
            if not replica.state.standing_messages:  # no lock: it is atomic
                return []
            stored = replica.use_derived(StandingCache, methodcaller("read", replica), replica.analyzer)
            candidates = {row.id: to_candidate(row) for row, _, _ in stored}
            return [StandingClause(candidates[row.id], request, ended) for row, request, ended in stored]
        others = [row for row in list_standing_rows(replica) if row.id not in self._restated]
        asked = [*reversed(self._standing), *((to_candidate(row), to_sendable_requests(row)) for row in others)]
        return [StandingClause(*each) for each in read_in_force(asked, replica.analyzer)]

    def clause_tokens(self, replica: Replica[Any], counter: str) -> dict[str, int]:
        """Tokens of clauses as far as they are known, to add to; those of the framework's messages are not kept."""
        if self._asks:
            return {}
        return replica.use_derived(StandingCache, methodcaller("counts", counter), replica.analyzer)

    @property
    def _asks(self) -> bool:
        """Whether the framework's messages ask for anything that the stored ones do not."""
        return bool(self._standing or self._restated)

    def merge_with_stored(self, stored: Iterable[Candidate]) -> Iterator[Candidate]:
        """Merge the live messages into the stored ones, newest first."""
        return self._merge(stored) if self._current_turn or self._unstored_after or self.overrides else iter(stored)

    def _merge(self, stored: Iterable[Candidate]) -> Iterator[Candidate]:
        """As `merge_with_stored`, with live messages.

        Live messages ahead of the first stored one in the framework's list go just before it;
        if the list has no stored one, they are newer than all that is stored.
        """
        yield from reversed(self._current_turn.values())
        first = next((each for each in self.overrides if each not in self._current_turn), None)
        leading, turn = self._unstored_after.get(None, []), self._turn
        current, overrides, unstored_after = self._current_turn, self.overrides, self._unstored_after
        if first is None:
            yield from leading
        for candidate in stored:
            id = candidate.id
            if id in current or (candidate.turn_id == turn and self._is_of_others(candidate)):
                continue
            if id in unstored_after:
                yield from unstored_after[id]
            yield overrides.get(id, candidate)
            if id == first:
                yield from leading
