"""Item search: filters, text match and ranking, as a pure read over a state.

From the first search on, the case-folded texts are kept beside the state and updated with
what changed since the last search.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from wmem.errors import InvalidInputError
from wmem.model.checks import as_tags, checked_limit, checked_pairs
from wmem.model.item import Priority, checked_confidence
from wmem.model.outcomes import Hits
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.policy import PRIORITIES, Policy
from wmem.rules.importance import importance as importance_of
from wmem.rules.likeness import same
from wmem.rules.relevance import relevance
from wmem.scope.handle import Read
from wmem.scope.item_reads import as_item
from wmem.state import State
from wmem.text.index import Index
from wmem.text.terms import terms_of, words_of

__all__ = ["Order", "found"]

Order: TypeAlias = Literal["relevance", "recency", "importance", "recall"]

_ORDERS = ("relevance", "recency", "importance", "recall")


class _Filter(NamedTuple):
    """The filters of a search, beside the query."""

    tags: frozenset[str]
    priority: str | None
    metadata: Mapping[str, Any]
    min_confidence: float | None
    include_expired: bool
    include_promoted: bool

    def kept(self, rows: Iterable[Row], now: float) -> Iterator[Row]:
        """The rows that pass; written out for speed, for it runs on every match."""
        expired, promoted, tags, priority = self.include_expired, self.include_promoted, self.tags, self.priority
        plain = not self.metadata and self.min_confidence is None
        for row in rows:
            until = row.expires_at
            if row.deleted_at is not None or (until is not None and now >= until and not expired):
                continue
            if (row.promoted_to is not None and not promoted) or (priority is not None and row.priority != priority):
                continue
            if not (tags and tags.isdisjoint(row.tags)) and (plain or self._holds(load_json(row.rest or b"{}"))):
                yield row

    def _holds(self, rest: Mapping[str, Any]) -> bool:
        confidence = rest.get("confidence")
        if self.min_confidence is not None and (confidence is None or confidence < self.min_confidence):
            return False
        known = rest.get("metadata", {})
        return all(name in known and same(known[name], value) for name, value in self.metadata.items())


class _Haystack:
    """The case-folded texts of a state's items and, once needed, a BM25 index of them."""

    __slots__ = ("index", "texts")

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.index: Index | None = None

    @classmethod
    def of(cls, state: State) -> "_Haystack":
        """The index of a state, brought up to date."""
        held = state.haystack
        fresh = not isinstance(held, cls) or state.sought is None
        made = cls() if fresh or not isinstance(held, cls) else held
        news = state.items if fresh else state.sought
        if news:
            for each in news:
                made.put(each, state.rows[each] if each in state.items else None)
        # Assigned last: a view is read without a lock, and its other readers must not see it half built.
        state.haystack, state.sought = made, {}
        return made

    def put(self, changed: str, row: Row | None) -> None:
        if row is None:
            if self.texts.pop(changed, None) is not None and self.index is not None:
                self.index.remove(changed)
            return
        text = load_json(row.content)
        self.texts[changed] = text.casefold()
        if self.index is not None:
            self.index.add(changed, text)

    def words(self) -> Index:
        """The BM25 index, built on first use."""
        if self.index is None:
            made = Index()
            for each, text in self.texts.items():
                made.add(each, text)
            self.index = made
        return self.index


def found(
    policy: Callable[[], Policy],
    query: str | None,
    *,
    tags: Iterable[str],
    priority: Priority | None,
    metadata: Mapping[str, Any] | None,
    min_confidence: float | str | None,
    include_expired: bool,
    include_promoted: bool,
    order: Order | None,
    limit: int,
) -> Read[Hits]:
    """The items that match the query and every filter, best first; see `ItemReads.search`."""
    if query is not None and not isinstance(query, str):
        msg = f"query must be text, or None for filters alone, got {query!r:.80}"
        raise InvalidInputError(msg)
    if order is not None and order not in _ORDERS:
        msg = f"order must be one of {', '.join(_ORDERS)}, got {order!r:.80}"
        raise InvalidInputError(msg)
    if priority is not None and priority not in PRIORITIES:
        msg = f"priority must be one of {', '.join(PRIORITIES)}, got {priority!r:.80}"
        raise InvalidInputError(msg)
    asked = _Filter(
        frozenset(as_tags(tags)),
        priority,
        checked_pairs(metadata),
        None if min_confidence is None else checked_confidence(min_confidence),
        include_expired,
        include_promoted,
    )
    most = checked_limit(limit)
    wanted = (query or "").strip()

    def read(states: Sequence[State], now: float) -> Hits:
        state, ranked_by = states[0], order or policy().search_order
        matches = _matches(state, wanted, ranked_by)
        kept = list(asked.kept(map(state.rows.__getitem__, reversed(matches)), now))  # newest first among equals
        if ranked_by == "recency":
            best = [(row, row.created_at) for row in kept[:most]]
        else:
            scored = zip(kept, _scores(state, kept, matches, ranked_by, now, matched=bool(wanted)), strict=True)
            best = nlargest(most, scored, key=itemgetter(1))
        return Hits([(as_item(state, row, now), score) for row, score in best], len(kept))

    return read


def _matches(state: State, wanted: str, ranked_by: Order) -> dict[str, float]:
    """Ids of matching items, oldest first, with the match's position for ``relevance``, else the BM25 score."""
    if not wanted:
        return dict.fromkeys(state.items, 0.0)
    haystack = _Haystack.of(state)
    needle, texts = wanted.casefold(), haystack.texts
    if ranked_by == "relevance":
        return {each: texts[each].find(needle) for each in state.items if needle in texts[each]}
    if not terms_of(wanted):
        holds = _common(wanted)
        return {each: 0.0 for each in state.items if holds(texts[each])}
    scores = dict(haystack.words().search(wanted, len(haystack.texts)))
    return {each: scores[each] for each in state.items if each in scores}


def _common(wanted: str) -> Callable[[str], bool]:
    """A test whether a folded text has any of a query's stop words, or its symbols if it has no words."""
    if not (words := words_of(wanted)):
        needle = wanted.casefold()
        return lambda text: needle in text
    alone = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words))})(?![^\W_])")
    return lambda text: alone.search(text) is not None


def _scores(
    state: State, rows: Sequence[Row], matches: Mapping[str, float], ranked_by: Order, now: float, *, matched: bool
) -> Iterator[float]:
    """The score each row is ranked by; larger is better."""
    unwritten = state.unwritten
    for row in rows:
        if ranked_by == "recall" and matched:
            yield matches[row.id]
            continue
        more = unwritten[row.id][0] if unwritten and row.id in unwritten else 0
        score = importance_of(row, now, more)
        if ranked_by == "relevance":
            score = relevance(int(matches[row.id]), row.length, row.access_count + more, score)
        yield score
