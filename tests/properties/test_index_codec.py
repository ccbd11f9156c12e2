"""A recall index reads as it was written, and goes on as if it had never been away."""

import json
from array import array
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from tests.matrix import examples
from wmem.analysis.analyzer import Analyzer
from wmem.codec.codec import JsonCodec
from wmem.engine.engine import Engine
from wmem.engine.ports import sync_ports
from wmem.flow import run
from wmem.journal.memory import MemoryJournal
from wmem.journal.port import Journal, new_record_id
from wmem.model.change import Change, Erased, ItemPut, ItemRemoved, MessagesRestored, MessagesWithdrawn
from wmem.model.history import Incarnation
from wmem.model.recall_profile import RecallProfile
from wmem.model.row import Row
from wmem.model.values import dump_json
from wmem.retrieval.index_codec import INDEX_VERSION, StoredIndex, decode_index, dump_index, encode_index
from wmem.retrieval.neighbors import MAX_NEIGHBORS
from wmem.retrieval.recall_index import IndexParts, RecallIndex
from wmem.retrieval.retriever import Query, search
from wmem.scope import index_store

PATH = ("agent", "session")
LIFE = Incarnation(7)
ANALYSES = {11: 987572789}
"""By `INDEX_VERSION`: a checksum of all that is computed of the texts below. To whom the test fails that compares it:
raise the version, and write the checksum that it tells beside it."""

SAID = (
    ("user", "Ann: Last May I ran 12 miles along the harbour, and my children's ponies were running, too!"),
    ("assistant", "That is great. Did you organise the meeting on 2023-05-14, Ann?"),
    ("user", "Gestern haben wir die Häuser am Fluss gesehen; morgen gehen wir wieder hin."),
    ("tool", '{"order": "A-1774", "status": "shipped", "items": [{"name": "teapot", "price": 31.5}]}'),
    ("user", "昨天我们去了东京。 그리고 저는 학교에 갔어요."),
    ("user", "Вчера мы видели старые дома"),
    ("assistant", ""),
    ("user", "ﬁne café naïve İstanbul ١٢ Straße"),
)

texts = st.lists(
    st.sampled_from(["harbour", "ferry", "Ann:", "last", "year", "東京タワー", "café", "1999"]), max_size=6
)
rows = st.builds(
    lambda number, words, kind: make_row(f"r{number}", " ".join(words), kind),
    st.integers(0, 11),
    texts,
    st.sampled_from(["user", "assistant", "observation", "fact", "summary"]),
)
changes = st.one_of(
    rows.map(ItemPut),
    st.integers(0, 11).map(lambda number: ItemRemoved(f"r{number}", 0.0)),
    st.integers(0, 11).map(lambda number: Erased((f"r{number}",), None)),
    st.integers(0, 11).map(lambda number: MessagesWithdrawn((f"r{number}",), 0.0)),
    st.integers(0, 11).map(lambda number: MessagesRestored((f"r{number}",), 0.0)),
)


def make_row(id: str, text: str, kind: str, *, at: float = 0.0) -> Row:
    if kind in ("user", "assistant", "tool"):
        content = dump_json({"role": kind, "parts": [{"text": text}]} if text else {"role": kind})
        return Row(id, content, at, at, role=kind, type=f"{kind}_message", tokens=len(text))
    covers = {"sources": [{"scope": ["other"], "incarnation": 1, "messages": ["m"]}]} if kind == "summary" else None
    return Row(id, dump_json(text), at, at, type=kind, tokens=len(text), rest=dump_json(covers) if covers else None)


def to_plain(value: Any) -> Any:
    """A value that equals another one only if all of it does: NaN equals nothing, and a list may hold arrays."""
    match value:
        case array():
            return value.typecode, value.tobytes()
        case dict():
            return [(key, to_plain(each)) for key, each in value.items()]
        case list() | tuple():
            return type(value).__name__, [to_plain(each) for each in value]
        case _:
            return value


def list_attributes(index: RecallIndex) -> Any:
    postings, neighbors, statements, exchanges = index.parts
    stated = {name: getattr(statements, name) for name in statements.__slots__}
    states = vars(postings), neighbors.list_attributes(), stated, vars(exchanges)
    return [to_plain(dict(sorted(state.items()))) for state in states]


def read_index(content: bytes) -> StoredIndex | None:
    steps = decode_index(content, Analyzer())
    while True:
        try:
            next(steps)
        except StopIteration as done:
            index: StoredIndex | None = done.value
            return index


def write_and_read(index: RecallIndex, held: Mapping[str, Row]) -> RecallIndex:
    read = read_index(encode_index(dump_index(index, held.values()), LIFE))
    assert read is not None
    assert (sorted(read.ids), read.incarnation) == (sorted(index.index.postings.number_by_id), LIFE)
    return read.recall


@given(before=st.lists(rows), gone=st.sets(st.integers(0, 11)), after=st.lists(rows))
@examples(1.0)
def test_an_index_reads_as_it_was_written_and_goes_on_alike(
    before: list[Row], gone: set[int], after: list[Row]
) -> None:
    index, held = RecallIndex(Analyzer()), {row.id: row for row in before}
    for row in before:
        index.apply({row.id: row})
    for number in gone:
        index.apply({f"r{number}": None})
        held.pop(f"r{number}", None)
    read = write_and_read(index, held)
    index.compact()
    index.sort()
    assert list_attributes(read) == list_attributes(index)
    for row in after:
        read.apply({row.id: row})
        index.apply({row.id: row})
    assert list_attributes(read) == list_attributes(index)


def make_index() -> tuple[RecallIndex, list[Row]]:
    index = RecallIndex(Analyzer())
    held = [make_row(f"m{number}", text, role, at=60.0 * number) for number, (role, text) in enumerate(SAID)]
    held.append(make_row("i", "the dog is called Biscuit", "fact"))
    index.apply({row.id: row for row in held})
    return index, held


@given(end=st.integers(0, 3_000), more=st.binary(max_size=3))
@examples(0.5)
def test_what_is_not_whole_is_no_index(end: int, more: bytes) -> None:
    content = encode_index(dump_index(*make_index()), LIFE)
    cut = content[:end] + more
    assert cut == content or read_index(cut) is None


def test_what_is_indexed_after_a_dump_is_not_in_it() -> None:
    index, held = make_index()
    dump = dump_index(index, held)
    content = encode_index(dump, LIFE)
    for number, role in enumerate(("assistant", "user", "assistant")):
        row = make_row(f"more {number}", "and then the ferry", role, at=60.0 * (len(held) + number))
        index.apply({row.id: row})
    assert encode_index(dump, LIFE) == content


def test_every_part_of_an_index_is_stored() -> None:
    others = {"_last_user_message", "_recent_terms", "changes", "vector_caches"}  # small, or stored for themselves
    assert {*RecallIndex.__slots__} == {"index", "neighbors", "statements"} | others
    assert IndexParts._fields == ("postings", "neighbors", "statements", "exchanges")


def test_an_index_of_other_attributes_is_no_index() -> None:
    index, held = make_index()
    vars(index.neighbors)["more"] = 1
    assert read_index(encode_index(dump_index(index, held), LIFE)) is None


def test_what_is_computed_of_a_text_changes_with_the_version_alone() -> None:
    dump = dump_index(*make_index())
    told = crc32(b"".join((json.dumps(dump.parts, sort_keys=True).encode(), *dump.blocks)))
    assert {INDEX_VERSION: told} == {INDEX_VERSION: ANALYSES.get(INDEX_VERSION)}


class Process:
    """One that reads and writes the scope through a journal of bytes."""

    def __init__(self, journal: Journal[bytes]) -> None:
        self.journal, self.engine, self.ports = journal, Engine(JsonCodec()), sync_ports(journal)
        self.replica = self.sync()

    def sync(self) -> Any:
        (self.replica,) = run(self.engine.sync([PATH]), self.ports)
        return self.replica

    def write(self, change: Change) -> None:
        id = new_record_id()
        self.journal.append(PATH, id, self.engine.codec.encode_record([change], PATH, id), None, None)

    def load(self) -> None:
        run(index_store._load_index(self.engine, self.sync()), self.ports)

    def store(self) -> None:
        if self.sync().incarnation is not None:
            run(index_store._store_index(self.engine, self.replica, 0.0), self.ports)

    def match(self, text: str) -> dict[str, float]:
        """Scores by words, by id."""
        found: list[tuple[str, float]] = self.sync().use_derived(
            RecallIndex, lambda index: index.index.search(text, 100), self.engine.analyzer
        )
        return dict(found)

    def rank(self, text: str) -> list[tuple[str, float]]:
        """What a question finds, best first."""
        return [(hit.row.id, hit.score) for hit in search([self.sync()], Query(text, 1.0, RecallProfile()))]

    def find_neighbors(self) -> dict[str, list[str]]:
        """By id, the ids of its neighbours."""

        def read(index: RecallIndex) -> dict[str, list[str]]:
            table, ids = index.neighbors.neighbors, {slot: id for id, slot in index.neighbors._slots.items()}
            return {
                id: [ids[near] for near in table[slot * MAX_NEIGHBORS : (slot + 1) * MAX_NEIGHBORS] if near]
                for slot, id in ids.items()
            }

        found: dict[str, list[str]] = self.sync().use_derived(RecallIndex, read, self.engine.analyzer)
        return found


@given(before=st.lists(changes, min_size=1), after=st.lists(changes))
@examples(2.0)
def test_an_index_that_is_read_matches_as_one_that_is_made(before: list[Change], after: list[Change]) -> None:
    journal: MemoryJournal[bytes] = MemoryJournal(len)
    writer = Process(journal)
    for change in before:
        writer.write(change)
    writer.store()
    for change in after:
        writer.write(change)
    reader, maker = Process(journal), Process(journal)
    reader.load()
    for text in ("harbour ferry", "last café", "Ann in 東京タワー"):
        assert reader.match(text) == maker.match(text)
    assert reader.find_neighbors() == maker.find_neighbors()
    assert (
        reader.rank("the last ferry of Ann")
        == maker.rank("the last ferry of Ann")
        == writer.rank("the last ferry of Ann")
    )


def test_the_only_message_of_a_thread_may_change_again_and_again() -> None:
    index = RecallIndex(Analyzer())
    for text in ("", "harbour", "", "harbour"):
        index.apply({"r0": make_row("r0", text, "user")})
    assert index.index.count == 1
