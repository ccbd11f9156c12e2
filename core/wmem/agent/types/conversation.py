"""The conversation as a memory type: the messages of a session, and the turns of closed sessions it points to."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from wmem.agent.types.draft import ItemDraft
from wmem.agent.types.flows import LongTermScope, check_ids, check_question, count_candidates, is_important_enough
from wmem.agent.types.message_items import to_message_input, to_message_item
from wmem.agent.types.settings import ConversationSettings
from wmem.agent.types.turn_pointers import (
    ClosedTurns,
    ConversationTurn,
    SessionLife,
    TurnPointer,
    is_alive,
    list_pointers,
    list_turns,
    read_turn,
    to_row,
)
from wmem.analysis.summarize import WeightedText
from wmem.engine.replica import Replica
from wmem.errors import InvalidInputError
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut, ItemRemoved
from wmem.model.checks import check_count, check_limit
from wmem.model.filters import Filters
from wmem.model.history import Path
from wmem.model.results import Forgotten, Memorized, Remembered, Summary
from wmem.model.row import Row
from wmem.model.zones import to_zone
from wmem.policy import Capacity
from wmem.retrieval.retriever import Query, search
from wmem.rules.eviction import Size
from wmem.rules.routing import find_role
from wmem.scope.embedding_backfill import embed_query
from wmem.scope.erasure import erase, log_remaining
from wmem.scope.handle import Handle
from wmem.scope.index_store import prepare_index
from wmem.scope.messages.flows import append, prepare_messages
from wmem.scope.redaction import clean_text
from wmem.scope.summaries.flows import summarize_by_weight
from wmem.state import State

_PUTS_PER_RECORD = 500
_MESSAGES_TO_SUMMARIZE = 1_000


class _Sessions(NamedTuple):
    """The conversations that are remembered: this session's, and the closed ones.

    Attributes:
        replicas: This session's first, then those of the closed sessions, newest first.
        pointed: Of each closed session, the ids of the messages that belong to closed turns.
    """

    replicas: Sequence[Replica[Any]]
    pointed: Mapping[Path, set[str]]

    def includes(self, path: Path, id: str) -> bool:
        return path == self.replicas[0].path or id in self.pointed.get(path[1:], ())


class ConversationFlows:
    """The messages of a session, and the turns of closed sessions, as pointers to their messages."""

    is_external = False

    def __init__(self, session: Handle, location: LongTermScope, settings: ConversationSettings) -> None:
        self.session = session
        self.location = location
        self.settings = settings
        self.name = settings.name
        self.pool = settings.pool

    def accepts(self, draft: ItemDraft, /) -> bool:
        return find_role(draft.type) is not None and is_important_enough(draft, self.settings.min_importance)

    def memorize(self, draft: ItemDraft, /, *, gated: bool = True) -> Flow[Memorized]:  # noqa: ARG002  # messages are always taken
        _, rows, now = prepare_messages(self.session, to_message_input(draft))
        if not rows:
            raise InvalidInputError("this text was recalled from memory, and is not stored again")
        conversation = yield from self._locate()
        [row] = yield from append(self.session, rows, now)
        size = self._size(conversation)
        return Memorized(to_message_item(self.session.path, row, now), size.items - 1, (), *size)

    def remember(self, query: str, filters: Filters, limit: int, /) -> Flow[list[Remembered]]:
        text, most = check_question(query, filters, limit)
        sessions = yield from self._read_sessions()
        now = self.session.settings.clock()

        def accepts(row: Row) -> bool:
            return (
                row.role is not None
                and row.visible(now)
                and (filters.accepts_all or filters.accepts(to_message_item((), row, now)))
            )

        if not text.strip():
            places = _list_newest(sessions, most if filters.accepts_all else None)
            newest = islice(filter(lambda place: accepts(place[1]), places), most)
            return [Remembered(to_message_item(path, row, now), 0.0) for path, row in newest]
        replicas, policy = sessions.replicas, self.session.policy
        yield from prepare_index(self.session.engine, replicas)
        vector = None
        if policy.recall_profile.vector:
            vector, _ = yield from embed_query(self.session, replicas, text)
        others = sum(len(replica.state.rows) - len(replica.state.messages) for replica in replicas)
        candidates = count_candidates(replicas, most, filters, others)
        profile, zone = policy.recall_profile, to_zone(policy.zone)
        hits = search(replicas, Query(text, now, profile, candidates, vector, accepts, zone, all_messages=True))
        found = islice((hit for hit in hits if sessions.includes(hit.path, hit.row.id)), most)
        return [Remembered(to_message_item(hit.path, hit.row, now), hit.score, hit.parts()) for hit in found]

    def forget(self, ids: Sequence[str], /) -> Flow[Forgotten]:
        """Erase messages, of this session or of closed turns, which point to them no longer."""
        wanted = check_ids(ids)
        conversation = yield from self._locate()
        pointers: list[TurnPointer] = []
        if conversation is not None:
            pointers = yield from self._list_pointers(conversation)
            pointers = [each for each in pointers if not wanted.keys().isdisjoint(each.message_ids)]
        tokens: dict[tuple[Path, str], int] = {}
        for names in dict.fromkeys([self.session.path[1:], *(each.session.names for each in pointers)]):
            lives = {each.session.incarnation for each in pointers if each.session.names == names}
            tokens |= yield from self._erase(names, wanted, lives)
        if conversation is not None:
            yield from self._drop_pointed(conversation, pointers, tokens)
        erased = {id for _, id in tokens}
        return Forgotten(tuple(id for id in wanted if id in erased), *self._size(conversation))

    def summarize(self, token_limit: int, /) -> Flow[Summary]:
        check_count(token_limit, "token_limit", 1)
        sessions = yield from self._read_sessions()
        now = self.session.settings.clock()
        newest = islice(_list_newest(sessions, _MESSAGES_TO_SUMMARIZE), _MESSAGES_TO_SUMMARIZE)
        rows = [row for _, row in newest if row.visible(now)][::-1]
        redaction = self.session.settings.redaction
        texts = [(row.id, WeightedText(clean_text(redaction, row), 1.0)) for row in rows]
        return (yield from summarize_by_weight(self.session, texts, token_limit))

    def capacity(self) -> Flow[Capacity]:
        conversation = yield from self._locate()
        yield from self.session.replica()
        if conversation is not None:
            yield from conversation.replica()
        return Capacity(*self._size(conversation))

    # -- closed turns

    def close(self) -> Flow[int]:
        """Add the turns of this session to the closed ones; returns how many items of these are new or changed."""
        conversation = yield from self.location.locate()
        replica, state = yield from self.session.replica()
        if replica.incarnation is None:
            return 0
        now, counter = self.session.settings.clock(), self.session.settings.counter().name
        life = SessionLife(self.session.path[1:], replica.identity)
        with replica.lock:
            messages = [state.rows[id] for id in state.messages]
        rows = {row.id: row for row in list_pointers(life, messages, counter, now)}
        yield from conversation.replica()
        closed = conversation.engine.replica(conversation.path).use_derived(
            ClosedTurns, lambda turns: [pointer.id for pointer in turns.pointers.values() if pointer.session == life]
        )
        # A turn that was taken back, or now belongs to another one, is closed no longer.
        stale = [id for id in closed if id not in rows]
        changed = 0
        listed = list(rows.values())
        for begin in range(0, max(len(listed), 1), _PUTS_PER_RECORD):
            part = listed[begin : begin + _PUTS_PER_RECORD]
            changed += yield from self._put(conversation, part, () if begin else stale, now)
        return changed

    def _put(self, conversation: Handle, rows: Sequence[Row], stale: Iterable[str], now: float) -> Flow[int]:
        def decide(state: State) -> tuple[Sequence[Change], int]:
            known = ((row, state.rows.get(row.id)) for row in rows)
            puts = [ItemPut(row) for row, held in known if held is None or held.rest != row.rest]
            return [*(ItemRemoved(id) for id in stale if id in state.rows), *puts], len(puts)

        return (yield from conversation.commit(decide, now))

    def list_turns(self, limit: int | None) -> Flow[list[ConversationTurn]]:
        """The closed turns with their messages, oldest first; with a limit, the newest ones."""
        most = None if limit is None else check_limit(limit)
        conversation = yield from self.location.locate()
        pointers = yield from self._list_pointers(conversation)
        pointers = pointers if most is None else pointers[len(pointers) - min(most, len(pointers)) :]
        agent = self.session.path[:1]
        paths = dict.fromkeys((*agent, *pointer.session.names) for pointer in pointers)
        replicas = (yield from self.session.engine.sync_readable(list(paths))) if paths else []
        by_path = {replica.path: replica for replica in replicas}
        return [read_turn(pointer, by_path.get((*agent, *pointer.session.names))) for pointer in pointers]

    def _list_pointers(self, conversation: Handle) -> Flow[list[TurnPointer]]:
        replica, _ = yield from conversation.replica()
        return list_turns(replica)

    def _locate(self) -> Flow[Handle | None]:
        """The scope of the closed turns; None where the memory may use its sessions' own messages alone."""
        if not self.session.settings.features.has_long_term:
            return None
        return (yield from self.location.locate())

    def _read_sessions(self) -> Flow[_Sessions]:
        conversation = yield from self._locate()
        own = yield from self.session.replicas(local_only=True)
        if conversation is None:
            return _Sessions(own, {})
        replica, _ = yield from conversation.replica()
        closed = yield from self.read_closed(replica)
        pointed = {each.path[1:]: set(ids) for each, ids in closed}
        return _Sessions([*own, *(each for each, _ in closed)], pointed)

    def read_closed(self, replica: Replica[Any]) -> Flow[list[tuple[Replica[Any], Collection[str]]]]:
        """The closed sessions, newest first, each with the ids of the messages that belong to closed turns.

        Args:
            replica: Of the scope of closed turns, caught up.
        """
        life = self._find_life()

        def list_newest(turns: ClosedTurns) -> tuple[list[SessionLife], Mapping[Path, set[str]]]:
            newest = turns.newest_sessions(self.settings.sessions, besides=life)
            return newest, turns.message_ids(newest)

        newest, pointed = replica.use_derived(ClosedTurns, list_newest)
        lives = {(self.session.path[0], *each.names): each.incarnation for each in newest}
        others = (yield from self.session.engine.sync_readable(list(lives))) if lives else []
        alive = [each for each in others if is_alive(each, lives[each.path]) and each.path != self.session.path]
        return [(each, pointed.get(each.path[1:], ())) for each in alive]

    def _find_life(self) -> SessionLife | None:
        life = self.session.identity
        return SessionLife(self.session.path[1:], life) if life else None

    def _size(self, conversation: Handle | None) -> Size:
        """Messages of this session and of the closed ones, as of the last read or write of this process."""
        engine, life = self.session.engine, self._find_life()
        closed = Size()
        if conversation is not None:
            replica = engine.replica(conversation.path)
            closed = replica.use_derived(ClosedTurns, lambda turns: turns.size(besides=life))
        if life is None:
            return closed
        state = engine.replica(self.session.path).state
        return Size(len(state.messages) + closed.items, state.message_tokens + closed.tokens)

    # -- erasure

    def _erase(
        self, names: Path, ids: Iterable[str], incarnations: Collection[int]
    ) -> Flow[dict[tuple[Path, str], int]]:
        """Erase messages of a session.

        Args:
            incarnations: The lives of the session that are pointed to; of this session any counts.

        Returns:
            The tokens of those that were there, by the session's names and their ids.
        """
        is_own = names == self.session.path[1:]
        session = self.session if is_own else _open_session(self.session, names)
        replica, state = yield from session.replica()
        if replica.incarnation is None or not (is_own or replica.identity in incarnations):
            return {}
        with replica.lock:
            tokens = {id: state.rows[id].tokens or 0 for id in ids if id in state.messages}
        if tokens:
            log_remaining(session, "forgotten", (yield from erase(session, list(tokens))).remaining)
        return {(names, id): count for id, count in tokens.items()}

    def _drop_pointed(
        self, conversation: Handle, pointers: Iterable[TurnPointer], tokens: Mapping[tuple[Path, str], int]
    ) -> Flow[None]:
        """Point no longer to messages that were erased."""
        now, counter = self.session.settings.clock(), self.session.settings.counter().name
        changes: dict[str, Change] = {}
        for pointer in pointers:
            gone = [id for id in pointer.message_ids if (pointer.session.names, id) in tokens]
            left = tuple(id for id in pointer.message_ids if id not in gone)
            if not gone:
                continue
            rest = pointer.tokens - sum(tokens[pointer.session.names, id] for id in gone)
            smaller = pointer._replace(message_ids=left, tokens=rest)
            changes[pointer.id] = ItemPut(to_row(smaller, counter)) if left else ItemRemoved(pointer.id)
        if changes:
            yield from conversation.commit(
                lambda state: ([change for id, change in changes.items() if id in state.rows], None), now
            )


def _open_session(session: Handle, names: Path) -> Handle:
    """Another session of the same agent, wherever it is."""
    return Handle(session.engine, session.settings, (session.path[0], *names), policy=None, parent=None)


def _list_newest(sessions: _Sessions, most: int | None) -> Iterator[tuple[Path, Row]]:
    """The messages that are remembered, newest first, each with its scope; of each session so many at most."""

    def list_session(replica: Replica[Any]) -> list[tuple[Path, Row]]:
        path = replica.path
        with replica.lock:
            rows = (row for row in replica.state.newest_messages() if sessions.includes(path, row.id))
            return [(path, row) for row in islice(rows, most)]

    return merge(*map(list_session, sessions.replicas), key=lambda place: -place[1].created_at)
