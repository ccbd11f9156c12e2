"""Newer over older among hits: both are found, the older is marked, and the one that the question asks for is first."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import islice
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

from wmem.engine.replica import Replica
from wmem.model.history import Path
from wmem.model.row import Row
from wmem.model.row_text import row_text
from wmem.retrieval.recall_index import RecallIndex
from wmem.retrieval.statements import Stated
from wmem.rules.updates import Dated, find_superseded

if TYPE_CHECKING:
    from wmem.retrieval.candidate_rows import Hit
    from wmem.retrieval.retriever import Query

_LEAST_SHARE = 0.5  # of the best score: what matches less brings nothing in
MAX_HITS = 64  # the best hits, which are looked at: a note quotes no more
_NEXT = 1e-3  # from a place to the one right before it
_PARTNER_SHARE = 0.9  # of a statement's score has the one that is brought in after it


@dataclass(frozen=True, slots=True, eq=False)
class _Text:
    """A text that states something.

    Attributes:
        name: Its scope and id, as of hits.
        id: One word for it, unlike that of any text of another scope.
        place: Its number in the index, after that of its scope: the nearer scope's is later.
        follows: The text that the same speaker said just before; "" for none.
    """

    row: Row
    name: tuple[Path, str]
    id: str
    stated: Stated
    place: tuple[int, int]
    follows: str

    @property
    def at(self) -> float:
        """When it was said; an entry has one value at a time, said when it was written."""
        return self.row.created_at if self.row.key is None else self.row.updated_at

    def to_dated(self) -> Iterator[Dated]:
        for number, statement in enumerate(self.stated.statements):
            yield Dated(self.id, self.stated.speaker, self.at, (*self.place, number), statement, self.follows)


def mark_updates(
    hits: "Iterable[Hit]",
    names: Iterable[tuple[Path, str]],
    replicas: Sequence[Replica[Any]],
    query: "Query",
    accepts: Callable[[Sequence[Row | None], Sequence[Replica[Any]]], list[bool]],
) -> "Iterable[Hit]":
    """The hits, best first, with the rule applied; of two statements of which one is a hit, the other becomes one.

    A hit that a newer statement superseded names that one. Without any the hits are returned as they came.

    Args:
        names: Scope and id of each hit: where none states anything, the hits need not be made.
        accepts: Which rows of a replica may be hits, by the rows and the nearer replicas.
    """
    pairs = _find_pairs(list(islice(names, MAX_HITS)), replicas, accepts)
    if not pairs:
        return hits
    rest = iter(hits)
    marked = _apply(list(islice(rest, MAX_HITS)), pairs, query)
    listed = {(hit.path, hit.row.id) for hit in marked}
    others = (hit for hit in rest if (hit.path, hit.row.id) not in listed)
    return islice(merge(marked, others, key=attrgetter("score"), reverse=True), query.limit)


def find_updates(
    replica: Replica[Any],
    ids: Iterable[str],
    accepts: Callable[[Sequence[Row | None], Sequence[Replica[Any]]], list[bool]],
) -> dict[str, str]:
    """Of statements of which one at least is among some texts: the id of each older one, to the newer one's."""
    names = [(replica.path, id) for id in islice(ids, MAX_HITS)]
    return {older.row.id: newer.row.id for older, newer in _find_pairs(names, [replica], accepts)}


def _find_pairs(
    names: Sequence[tuple[Path, str]],
    replicas: Sequence[Replica[Any]],
    accepts: Callable[[Sequence[Row | None], Sequence[Replica[Any]]], list[bool]],
) -> list[tuple[_Text, _Text]]:
    """Pairs of an older and a newer statement of which one is among these texts."""
    found = {
        replica.path: replica.use_derived(
            RecallIndex,
            methodcaller("find_statements", [id for path, id in names if path == replica.path]),
            replica.analyzer,
        )
        for replica in replicas
    }
    if not any(found.values()):
        return []
    texts = _list_texts(found, replicas, accepts)
    superseded = find_superseded(each for text in texts.values() for each in text.to_dated())
    pairs = [(texts[older], texts[newer]) for older, newer in superseded.items()]
    return [pair for pair in pairs if not _is_unsure(*pair)]


def _list_texts(
    stated: Mapping[Path, Mapping[str, Stated]],
    replicas: Sequence[Replica[Any]],
    accepts: Callable[[Sequence[Row | None], Sequence[Replica[Any]]], list[bool]],
) -> dict[str, _Text]:
    """What states something among the hits, and what may state it of the same subject, by a name within all scopes."""
    subjects = [text for each in stated.values() for text in each.values()]
    texts: dict[str, _Text] = {}
    for depth, replica in enumerate(replicas):
        places = replica.use_derived(
            RecallIndex, methodcaller("relate_statements", stated[replica.path], subjects), replica.analyzer
        )
        with replica.lock:
            rows = [replica.state.rows.get(id) for id in places]
        for row, place, accepted in zip(rows, places.values(), accepts(rows, replicas[:depth]), strict=True):
            if accepted and row is not None:
                id, follows = f"{depth} {row.id}", place.follows and f"{depth} {place.follows}"
                texts[id] = _Text(row, (replica.path, row.id), id, place.stated, (-depth, place.number), follows)
    return texts


def _is_unsure(older: _Text, newer: _Text) -> bool:
    """Whether the older item was changed after the newer was made: nobody knows which of its words are from when."""
    return older.row.role is None and older.row.updated_at > max(newer.at, older.at)


def _apply(
    hits: "list[Hit]",
    pairs: Sequence[tuple[_Text, _Text]],
    query: "Query",
) -> "list[Hit]":
    asked = query.time
    by_name = {(hit.path, hit.row.id): hit for hit in hits}
    place: dict[tuple[Path, str], float] = {name: float(at) for at, name in enumerate(by_name)}
    least = _LEAST_SHARE * hits[0].score
    for older, newer in sorted(pairs, key=lambda pair: (pair[1].at, pair[1].place)):
        first, second = (older, newer) if asked.prefers_older(older.at, newer.at) else (newer, older)
        known = [by_name[each.name].score for each in (first, second) if each.name in by_name]
        score = max(known, default=0.0)
        missing = next((each for each in (first, second) if each.name not in by_name), None)
        if missing is None or (score >= least > 0 and not _is_question(missing.row, query.text)):
            template = by_name[second.name if second.name in by_name else first.name]
            weak = all(by_name[each.name].below_floor for each in (first, second) if each.name in by_name)
            second_hit = by_name.get(second.name) or _to_hit(None, template, second, score * _PARTNER_SHARE)
            by_name[first.name] = _to_hit(by_name.get(first.name), template, first, score)._replace(below_floor=weak)
            # Both are quoted, or neither.
            by_name[second.name] = second_hit._replace(below_floor=weak)
            behind = place.setdefault(second.name, float(len(place)))
            place[first.name] = min(place.get(first.name, behind), behind - _NEXT)
        if older.name in by_name:
            by_name[older.name] = _mark(by_name[older.name], newer)
    # Equal scores keep their places.
    names = sorted(by_name, key=place.__getitem__)
    return sorted([by_name[name] for name in names], key=attrgetter("score"), reverse=True)


def _is_question(row: Row, question: str) -> bool:
    """Whether a message is the question itself, which is no hit."""
    return row.role == "user" and row_text(row).strip() == question.strip()


def _to_hit(hit: "Hit | None", template: "Hit", text: _Text, score: float) -> "Hit":
    """A text as a hit of this score, at least."""
    if hit is None:
        return template._replace(
            row=text.row, path=text.name[0], score=score, parts=lambda: {"update": score}, superseded_by="", form=""
        )
    if score <= hit.score:
        return hit
    return hit._replace(score=score, parts=partial(_add_part, hit.parts, score - hit.score))


def _mark(older: "Hit", newer: _Text) -> "Hit":
    return older._replace(superseded_by=newer.row.id, parts=partial(_add_part, older.parts, 0.0))


def _add_part(parts: Callable[[], Mapping[str, float]], more: float) -> Mapping[str, float]:
    known = parts()
    return {**known, "update": known.get("update", 0.0) + more}
