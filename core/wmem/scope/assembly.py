"""What a turn adds to a pack: its aims and working memory beside the question, filters, pools, and no repetitions."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import attrgetter, methodcaller
from typing import Any, TypeAlias

from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.model.change import ItemPut
from wmem.model.filters import NO_FILTERS, Filters
from wmem.model.history import Path, to_scope_id
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.pack.request import RecalledCandidate
from wmem.retrieval.candidate_rows import Hit
from wmem.retrieval.retriever import Query
from wmem.rules.composite_query import BesideText, compose_query
from wmem.rules.nearness import Saying, adds_nothing, gist, may_stand_in
from wmem.rules.routing import CONVERSATION as CLOSED_TURNS
from wmem.rules.sources import CONVERSATION, EXTERNAL, WORKING, find_source
from wmem.rules.validity import holds
from wmem.scope.items.filters import ItemFilter
from wmem.scope.items.labels import ItemLabels

_LOOK_BACK = 64  # newest items among which the last plan is looked for
_RECENT_SHARE, _ELSEWHERE_SHARE, _DECAY = 0.5, 0.6, 0.9
"""What the newest item that no question found is ranked by, and the best of an external memory type, which may know
why it matches: a share of the best score, and less for each that follows."""


ReadClosed: TypeAlias = Callable[[Replica[Any]], Flow[Sequence[tuple[Replica[Any], Collection[str]]]]]
"""Reads, by the scope of their pointers, closed sessions and the ids of the messages of their closed turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadContext:
    """What an agent wants of memory beside its question.

    Attributes:
        goals: What it aims at.
        recent: How many of the newest items of the session are in the prompt whatever the question is, if they fit.
        pools: By memory type, how many hits it gives at most.
        found_elsewhere: By memory type, the rows of what external ones found.
        warnings: What went wrong before, for the context to tell.
        read_closed: Reads the closed sessions that pointers lead to; None if they are not asked for.
    """

    goals: tuple[str, ...] = ()
    filters: Filters = NO_FILTERS
    recent: int = 0
    pools: Mapping[str, int] = field(default_factory=dict)
    found_elsewhere: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    read_closed: ReadClosed | None = None


class Assembly:
    """What a pack looks for beside its question: nothing, if no turn asks for more."""

    has_conversation = True
    """Whether the conversation is asked for."""
    warnings: tuple[str, ...] = ()
    """What went wrong before, for the context to tell."""

    reads_closed = False
    """Whether turns of closed sessions are asked for."""

    def read_closed(self, replicas: list[Replica[Any]]) -> Flow[tuple[list[Replica[Any]], list[Replica[Any]]]]:
        """What was read without the scope of closed sessions' turns, and the closed sessions."""
        return replicas, []
        yield

    def begin(self, own: Replica[Any], now: float) -> list[Replica[Any]]:  # noqa: ARG002  # `TurnAssembly` needs them
        """Look at working memory; returns further scopes that are ranked with the others."""
        return []

    def extend(self, query: Query, replicas: Sequence[Replica[Any]]) -> tuple[Query, Sequence[Replica[Any]]]:
        """The query with what is looked for beside it, and the scopes that are searched."""
        return query, replicas

    def select(self, hits: Iterable[Hit]) -> Iterable[Hit]:
        """Those of the hits that are wanted, best first."""
        return hits

    def note_candidates(self, candidates: Iterable[tuple[RecalledCandidate, Hit]]) -> None:
        """Take note of what the pack can choose from."""


PLAIN = Assembly()


class TurnAssembly(Assembly):
    """One pack of a turn."""

    def __init__(self, context: ReadContext) -> None:
        self.context = context
        self.warnings = context.warnings
        filters = context.filters
        self.has_conversation = filters.includes(CONVERSATION)
        self.reads_closed = self.has_conversation and context.read_closed is not None
        self._filter = ItemFilter(
            tags=frozenset(filters.tags),
            metadata={},
            agent_id=filters.agent_id,
            task_id=filters.task_id,
            include_promoted=True,
        )
        self._has_labels = bool(filters.tags or filters.task_id or filters.agent_id)
        self._path: Path = ()
        self._now = 0.0
        self._recent: list[Row] = []
        self._elsewhere: dict[Path, Sequence[Row]] = {}
        self._pointed: dict[Path, Sequence[str]] = {}
        """Of each closed session, the ids of the messages of its closed turns."""
        self._beside: tuple[BesideText, ...] = ()
        self._sources: dict[tuple[Path, bool], str] = {}
        self.hits: dict[str, Hit] = {}
        """What the pack could choose from, by the ids of its units."""

    def begin(self, own: Replica[Any], now: float) -> list[Replica[Any]]:
        context = self.context
        self._path, self._now = own.path, now
        with own.lock:
            newest = map(own.state.rows.__getitem__, reversed(own.state.items))
            apply = self._filter.at_time(lambda row: holds(row, now)).apply
            rows = list(islice(apply(newest, now), max(_LOOK_BACK, context.recent)))
        if context.filters.includes(WORKING):
            self._recent = rows[: context.recent]
        self._beside = compose_query(context.goals, rows)
        found = context.found_elsewhere.items()
        self._elsewhere = {(own.path[0], EXTERNAL, name): rows for name, rows in found if rows}
        return [_to_replica(path, rows, own) for path, rows in self._elsewhere.items()]

    def read_closed(self, replicas: list[Replica[Any]]) -> Flow[tuple[list[Replica[Any]], list[Replica[Any]]]]:
        read = self.context.read_closed
        if read is None or replicas[-1].path[-1] != CLOSED_TURNS:
            return replicas, []
        closed = yield from read(replicas[-1])
        self._pointed = {replica.path: sorted(ids) for replica, ids in closed}
        return replicas[:-1], [replica for replica, _ in closed]

    def extend(self, query: Query, replicas: Sequence[Replica[Any]]) -> tuple[Query, Sequence[Replica[Any]]]:
        own, *others = replicas
        filters = self.context.filters
        others = [each for each in others if each.path in self._pointed or self._includes(each)]
        only: dict[Path, Sequence[str]] = {}
        for each in others:
            if each.path in self._pointed:
                only[each.path] = self._pointed[each.path]
            elif self._has_labels:
                only[each.path] = self._find_by_label(each)
            elif self._pointed and each.state.messages:
                only[each.path] = _list_items(each)  # else the parents' messages would be seen, too
        items = _list_items(own)
        if not self.has_conversation:
            only[own.path] = items
        # Candidates are chosen before they are filtered: where items are left out, others stand behind them.
        limit = query.limit + (len(items) if self._has_labels or not filters.includes(WORKING) else 0)
        accepts = self._accepts if self._has_labels else None
        wanted = query._replace(
            beside=self._beside, accepts=accepts, limit=limit, only=only, all_messages=bool(self._pointed)
        )
        return wanted, [own, *others]

    def _includes(self, replica: Replica[Any]) -> bool:
        return self.context.filters.includes(find_source(to_scope_id(replica.path), is_message=False))

    def _find_by_label(self, replica: Replica[Any]) -> list[str]:
        filters = self.context.filters
        find = methodcaller("find", tags=filters.tags, task_id=filters.task_id, agent_id=filters.agent_id)
        return replica.use_derived(ItemLabels, find)

    def select(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """The hits of the memory types asked for, as many of each as its pool, and the newest of working memory.

        What adds nothing to one of these is marked as a repetition, and the newer one is ranked in its place.
        """
        counts = Counter[str]()
        unranked = {row.id: row for row in self._recent}
        said = {row.id: _Said(row) for row in self._recent}
        for hit in self._merge(hits):
            is_own = hit.path == self._path
            if is_own and hit.row.id in said:
                if unranked.pop(hit.row.id, None) is not None and self._has_room(WORKING, counts):
                    counts[WORKING] += 1
                    yield hit._replace(below_floor=False)
                continue
            source = self._find_source(hit)
            if not self.context.filters.includes(source) or (self._has_labels and not self._accepts(hit.row)):
                continue
            if hit.row.role is not None and is_own:
                yield hit
            elif self._has_room(source, counts):
                said_by = _find_repeated(hit.row, said)
                if said_by is None:
                    counts[source] += 1
                    yield hit
                    continue
                if (row := unranked.pop(said_by, None)) is not None:  # there is room for one of the two
                    counts[WORKING] += 1
                    yield hit._replace(row=row, path=self._path, superseded_by="", below_floor=False)
                yield hit._replace(is_repeated=True)

    def _find_source(self, hit: Hit) -> str:
        place = hit.path, hit.row.role is not None
        if (known := self._sources.get(place)) is None:
            known = self._sources[place] = find_source(to_scope_id(hit.path), is_message=place[1])
        return known

    def note_candidates(self, candidates: Iterable[tuple[RecalledCandidate, Hit]]) -> None:
        self.hits = {recalled.candidate.id: hit for recalled, hit in candidates}

    def _accepts(self, row: Row) -> bool:
        return row.visible(self._now) and (row.role is not None or self._filter.accepts(row, self._now))

    def _has_room(self, source: str, counts: Counter[str]) -> bool:
        most, pool = self.context.filters.top_k, self.context.pools.get(source)
        return (most is None or counts.total() < most) and (pool is None or counts[source] < pool)

    def _merge(self, hits: Iterable[Hit]) -> Iterable[Hit]:
        """The hits, the newest items of working memory, and all that external memory types found, best first."""
        if not self._recent and not self._elsewhere:
            return hits
        ranked = list(hits)
        best = max(ranked[0].score, 0.0) if ranked else 1.0
        elsewhere = {
            (path, hit.row.id): hit
            for path, rows in self._elsewhere.items()
            for hit in _rank(rows, path, "remembered", _ELSEWHERE_SHARE * best)
        }
        for at, hit in enumerate(ranked) if elsewhere else ():
            if (least := elsewhere.pop((hit.path, hit.row.id), None)) is not None:
                ranked[at] = least if least.score > hit.score else hit._replace(below_floor=False)
        ranked += _rank(self._recent, self._path, "recent", _RECENT_SHARE * best)
        ranked += elsewhere.values()
        return sorted(ranked, key=attrgetter("score"), reverse=True)


def _rank(rows: Iterable[Row], path: Path, part: str, best: float) -> list[Hit]:
    """Rows that no question found, ranked by their order, from a score that is given."""
    scores = ((row, best * _DECAY**at) for at, row in enumerate(rows))
    return [Hit(row, score, partial(dict, [(part, score)]), path) for row, score in scores]


def _list_items(replica: Replica[Any]) -> list[str]:
    """The ids of a scope's items and entries."""
    with replica.lock:
        return [*replica.state.items, *replica.state.entries.values()]


class _Said:
    """What an item says.

    Attributes:
        gist: See `wmem.rules.nearness.gist`.
    """

    __slots__ = ("_key", "_text", "gist")

    def __init__(self, row: Row) -> None:
        self._text: str = load_json(row.content)
        self._key = ""
        self.gist = gist(self._text)

    @property
    def key(self) -> str:
        """Equal for texts that say the same; made when it is asked for."""
        if not self._key:
            self._key = Saying.of(self._text).key
        return self._key


def _find_repeated(row: Row, others: Mapping[str, _Said]) -> str | None:
    """The id of the item that says all that an item says; None for none, and for messages and entries."""
    if row.role is not None or row.key is not None:
        return None
    if not may_stand_in(load_json(row.content), [each.gist for each in others.values()]):
        return None
    own = _Said(row)
    adding_nothing = (id for id, other in others.items() if adds_nothing(own.gist, other.gist))
    same = (id for id, other in others.items() if own.key == other.key)
    return next(adding_nothing, None) or next(same, None)


def _to_replica(path: Path, rows: Sequence[Row], like: Replica[Any]) -> Replica[Any]:
    """Rows from outside as a scope that is not stored."""
    made = Replica(path, like.codec, analyzer=like.analyzer)
    made.state.fold(1, [ItemPut(row) for row in rows])
    return made
