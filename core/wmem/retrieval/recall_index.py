"""What retrieval computes from the rows of one scope: a BM25 index, a neighbour graph, and vectors."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from wmem.analysis.analyzer import Analyzer, to_words
from wmem.engine.derived import Derived
from wmem.model.coverage import find_coverage
from wmem.model.row import Row
from wmem.model.row_text import read_wording, row_text
from wmem.retrieval.exchanges import Exchanges, Position
from wmem.retrieval.index import Index
from wmem.retrieval.neighbors import NeighborGraph
from wmem.retrieval.postings import Postings
from wmem.retrieval.statements import Stated, StatementIndex
from wmem.retrieval.vectors import Similarities, VectorIndex

if TYPE_CHECKING:
    from wmem.retrieval.vectors import Floats

_ITEM_THREAD = "\0items"  # the thread of items in the neighbour graph, apart from the messages' threads
_USER = "user"  # who says what nobody in particular says
_SPEAKERS = {None: _USER, "user": _USER, "assistant": "assistant"}
"""Who says what has no speaker's name, by role; what tools say is no statement of anybody."""
_REMARKS = ("update", "correction", "note", "fyi", "ps", "edit", "reminder", "change", "news", "quick update")
"""What looks like the name of a speaker in front of a text, and is none."""
_SEQUENTIAL_TYPES = {
    "user_message": "user",
    "assistant_message": "assistant",
    "thought": "assistant",
    "action": "assistant",
    "tool_call": "tool",
    "tool_result": "tool",
}
"""Item types that form a sequence, and the speaker's role; other types, and items without one, stand for themselves."""


class StatedText(NamedTuple):
    """A text that states something.

    Attributes:
        number: Its number in the index: of two texts of one instant the later one's is larger.
        follows: The id of what the same speaker said just before; "" for nothing.
    """

    stated: Stated
    number: int
    follows: str


class IndexParts(NamedTuple):
    """What is computed of the texts of a scope; each part lists its attributes, and is restored from them."""

    postings: Postings
    neighbors: NeighborGraph
    statements: StatementIndex
    exchanges: Exchanges


class VectorCache:
    """One embedder's vectors of a replica's rows, and the ids of rows without an up-to-date vector."""

    __slots__ = ("missing", "vectors")

    def __init__(self, ids: Iterable[str]) -> None:
        self.vectors = VectorIndex()
        self.missing: dict[str, None] = dict.fromkeys(ids)

    def put(self, id: str, row: Row | None) -> None:
        """Drop the vector of a row that changed, or is gone."""
        self.vectors.remove(id)
        self.missing.pop(id, None)
        if row is not None:
            self.missing[id] = None


class RecallIndex(Derived):
    """BM25 index, neighbour graph and vectors of one replica's rows."""

    __slots__ = ("_last_user_message", "_recent_terms", "changes", "index", "neighbors", "statements", "vector_caches")

    def __init__(self, analyzer: Analyzer) -> None:
        self.index = Index(analyzer)
        self.neighbors = NeighborGraph()
        self.statements = StatementIndex()
        self.changes = 0
        """How many texts were added, changed or removed since the index was stored or loaded."""
        self.vector_caches: dict[str, VectorCache] = {}
        """By embedder."""
        self._last_user_message: tuple[Row, str] | None = None  # the user message that was indexed last, and its text
        self._recent_terms: tuple[frozenset[str], frozenset[str]] | None = None  # ids, and the terms of their texts

    @property
    def parts(self) -> "IndexParts":
        """All that was computed of texts, but for vectors, which are stored for themselves, and small caches."""
        return IndexParts(self.index.postings, self.neighbors, self.statements, self.neighbors.exchanges)

    @property
    def bytes(self) -> int:
        """Bytes of the vectors."""
        return sum(cache.vectors.bytes for cache in list(self.vector_caches.values()))

    def message_text(self, row: Row) -> str:
        """The text of a message; that of the newest user message is cached."""
        newest = self._last_user_message
        return newest[1] if newest is not None and newest[0] is row else row_text(row)

    def recent_terms(self, ids: frozenset[str]) -> frozenset[str]:
        """The terms of the newest messages; cached until a row changes, since these may be long."""
        if self._recent_terms is None or self._recent_terms[0] != ids:
            self._recent_terms = ids, frozenset[str]().union(*map(self.index.terms, ids))
        return self._recent_terms[1]

    def find_statements(self, ids: Iterable[str]) -> dict[str, Stated]:
        """What these texts state, and what refers to them or what they refer to; without those that state nothing."""
        found: dict[str, Stated] = {}
        for id, stated in self.statements.select(ids):
            found[id] = stated
            near = self._find_said(id, after=False) if stated.refers else self._find_said(id, after=True)
            other = self.statements.get(near)
            if other is not None and (stated.refers or other.refers):
                found[near] = other
        return found

    def relate_statements(self, ids: Iterable[str], subjects: Iterable[Stated]) -> dict[str, StatedText]:
        """These texts, and those that state something of one of `subjects`, by id."""
        found: dict[str, StatedText] = {}
        for id in dict.fromkeys((*ids, *self.statements.list_related(subjects))):
            stated = self.statements.get(id)
            if stated is not None:
                follows = self._find_said(id, after=False) if stated.refers else ""
                found[id] = StatedText(stated, self.index.number(id), follows)
        return found

    def _find_said(self, id: str, *, after: bool) -> str:
        """The id of what the speaker of a message said just before or after it; "" for nothing."""
        slot = self.neighbors.next_of_speaker(self.neighbors.slot(id), after=after)
        return self.index.id_in_slot(slot) if slot else ""

    def similarities(self, embedder: str, vector: "Floats", exclude: str | None) -> Similarities | None:
        """How similar each row's vector by an embedder is to a vector; None if there are none."""
        cache = self.vector_caches.get(embedder)
        return None if cache is None else cache.vectors.similarities(vector, exclude)

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        if changed:
            self._recent_terms = None
        for id, row in changed.items():
            self._put(id, row)
        self.changes += len(changed)

    def compact(self) -> None:
        self.index.compact()
        self.neighbors.compact()

    def sort(self) -> None:
        """Put what is stored in order, and leave nothing of what is gone but in the postings."""
        self.neighbors.compact()
        self.statements.sort(self.index.number)

    def _put(self, id: str, row: Row | None) -> None:
        if self._last_user_message is not None and self._last_user_message[0].id == id:
            self._last_user_message = None
        for cache in self.vector_caches.values():
            cache.put(id, row)
        if row is None:
            self.index.remove(id)
            self._remove_neighbor(id)
            self.statements.remove(id)
            return
        has_calls = False
        if row.role is not None:
            text, spoken, name, thread, has_calls = read_wording(row)
            if row.role == "user":
                self._last_user_message = row, text
        else:
            text = spoken = row_text(row)
            name, thread = None, _ITEM_THREAD
        if row.key is not None or (row.role is None and row.type not in _SEQUENTIAL_TYPES):
            self._remove_neighbor(id)
            self.index.add(id, text, aside=bool(find_coverage(row)))
            self._put_statements(id, text, _USER, fact=True)
            return
        role = row.role or _SEQUENTIAL_TYPES[row.type]
        number = self.index.number(id)
        slot = self.neighbors.put(
            id,
            spoken,
            role=role,
            name=name,
            thread=thread,
            at=row.created_at,
            tokens=row.tokens,
            turn=row.turn_id,
            has_calls=has_calls,
            position=None if number < 0 else Position(number, self.index.postings.number_by_slot),
        )
        self.index.add(id, text, self.neighbors.sessions[slot], slot)
        self._move_texts()
        speaker = self.neighbors.speakers[slot] or _SPEAKERS.get(row.role)
        if speaker is None:
            self.statements.remove(id)
        else:
            self._put_statements(id, *_split_label(spoken, speaker, named=name is not None), fact=row.role is None)

    def _remove_neighbor(self, id: str) -> None:
        self.neighbors.remove(id)
        self._move_texts()

    def _move_texts(self) -> None:
        """Tell the index which texts came into another session."""
        moved = self.neighbors.moved
        for slot in moved:
            self.index.move(slot, self.neighbors.sessions[slot])
        moved.clear()

    def _put_statements(self, id: str, text: str, speaker: str, *, fact: bool) -> None:
        self.statements.put(id, text, speaker, fact=fact, number=self.index.number)


def _split_label(text: str, speaker: str, *, named: bool) -> tuple[str, str]:
    """A text without its speaker in front, and the speaker, one name for the user; "Update:" is nobody's."""
    label, _, rest = text.partition(": ")
    if not named and speaker in _REMARKS:
        return text, _USER
    if not named and speaker != _USER and " ".join(to_words(label)).endswith(speaker):
        text = rest
    return text, _USER if speaker in ("human", "me") else speaker
