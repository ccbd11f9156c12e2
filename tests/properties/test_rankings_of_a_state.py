"""What a question finds depends on what a scope holds now, not on how it came to hold it, nor on who indexed it."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.matrix import examples
from wmem.analysis.analyzer import Analyzer
from wmem.codec.codec import JsonCodec
from wmem.engine.engine import Engine
from wmem.engine.ports import sync_ports
from wmem.flow import run
from wmem.journal.memory import MemoryJournal
from wmem.journal.port import Journal, new_record_id
from wmem.model.change import Change, Cleared, Erased, ItemPut, ItemRemoved, MessagesRestored, MessagesWithdrawn
from wmem.model.recall_profile import RecallProfile
from wmem.model.row import Row
from wmem.model.values import dump_json
from wmem.retrieval.neighbors import MAX_NEIGHBORS
from wmem.retrieval.recall_index import RecallIndex
from wmem.retrieval.retriever import Query, match_words, search
from wmem.scope import index_store

PATH = ("agent", "session")
HOUR = 3_600.0
QUESTIONS = ("the dog at the lake", "what did Ann say about my budget", "Biscuit 42 yesterday")
WORDS = ["dog", "lake", "Ann:", "Biscuit", "42", "yesterday", "café", "my budget is 500.", "make that 700", "?", "湖"]
texts = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join),
    st.sampled_from(['{"dog": "Biscuit"}', "I moved to Turin.", "Ann: I live in Bonn.", "My dog is called Biscuit"]),
)
numbers = st.integers(0, 23)
kinds = st.sampled_from(["user", "user", "assistant", "assistant", "call", "tool", "system", "observation", "fact"])
ITEMS = ("observation", "fact")
rows = st.tuples(
    texts,
    kinds,
    st.sampled_from([None, None, "A", "B"]),
    st.sampled_from([None, None, "t", "u"]),
    st.sampled_from([0.0, 60.0, 60.0, 60.0, 3 * HOUR, 5 * HOUR, -HOUR]),
)


def make_row(id: str, at: float, text: str, kind: str, thread: str | None, turn: str | None) -> Row:  # noqa: PLR0917  # a row
    if kind in ITEMS:
        type_ = "user_message" if kind == "observation" else "fact"
        return Row(id, dump_json(text), at, at, type=type_, tokens=len(text))
    role = "assistant" if kind == "call" else kind
    content: dict[str, Any] = {"role": role, "parts": [{"text": text}] if text else []}
    if kind == "call":
        content["tool_calls"] = [{"id": "c", "name": "look", "arguments": json.dumps({"at": text})}]
    if kind == "tool":
        content |= {"tool_call_id": "c"}
    if thread is not None:
        content["thread_id"] = thread
    return Row(id, dump_json(content), at, at, role=role, type=f"{role}_message", tokens=len(text), turn_id=turn)


class Process:
    """One that has the scope open."""

    def __init__(self, journal: Journal[bytes]) -> None:
        self.journal, self.engine, self.ports = journal, Engine(JsonCodec()), sync_ports(journal)

    def sync(self) -> Any:
        (replica,) = run(self.engine.sync([PATH]), self.ports)
        return replica

    def write(self, *changes: Change) -> None:
        id = new_record_id()
        self.journal.append(PATH, id, self.engine.codec.encode_record(changes, PATH, id), None, None)

    def load(self) -> "Process":
        run(index_store._load_index(self.engine, self.sync()), self.ports)
        return self

    def store(self) -> None:
        if self.sync().incarnation is not None:
            run(index_store._store_index(self.engine, self.sync(), 0.0), self.ports)

    def search(self) -> list[Any]:
        """What each question finds, best first, and what is known of exchanges."""
        replica = self.sync()
        found: list[Any] = []
        for question in QUESTIONS:
            for profile in (RecallProfile(), RecallProfile.balanced()):
                hits = search([replica], Query(question, 50 * HOUR, profile, for_note=True))
                found.append([(hit.row.id, round(hit.score, 9), hit.superseded_by, hit.below_floor) for hit in hits])
            words = match_words(replica, question, 0.3)
            found.append([(id, round(match.score, 9)) for id, match in words.by_id.items()])
        return found

    def list_exchanges(self) -> list[list[str]]:
        def read(index: RecallIndex) -> list[list[str]]:
            exchanges = index.neighbors.exchanges
            return sorted([index.index.id_in_slot(slot) for slot in slots] for slots in exchanges._slots.values())

        listed: list[list[str]] = self.sync().use_derived(RecallIndex, read, self.engine.analyzer)
        return listed


class OneState(RuleBasedStateMachine):
    """A process that lives through all that is done to a scope, beside such as open it now."""

    @initialize()
    def begin(self) -> None:
        self.journal: MemoryJournal[bytes] = MemoryJournal(len)
        self.living = Process(self.journal)
        self.at = 0.0
        self.count = 0

    def put(self, id: str, row: Any) -> None:
        *said, gap = row
        self.at += gap
        self.living.write(ItemPut(make_row(id, self.at, *said)))

    @rule(added=st.lists(rows, min_size=1, max_size=6))
    def append(self, added: list[Any]) -> None:
        for row in added:
            self.put(f"r{self.count}", row)
            self.count += 1

    @rule(number=numbers, row=rows)
    def put_in_place(self, number: int, row: Any) -> None:
        self.put(f"r{number}", row)

    @rule(several=st.lists(numbers, min_size=1, max_size=3))
    def withdraw(self, several: list[int]) -> None:
        self.living.write(MessagesWithdrawn(tuple(f"r{number}" for number in several), 0.0))

    @rule(several=st.lists(numbers, min_size=1, max_size=3))
    def restore(self, several: list[int]) -> None:
        self.living.write(MessagesRestored(tuple(f"r{number}" for number in several), 0.0))

    @rule(number=numbers)
    def remove(self, number: int) -> None:
        self.living.write(ItemRemoved(f"r{number}", 0.0))

    @rule(number=numbers)
    def erase(self, number: int) -> None:
        self.living.write(Erased((f"r{number}",), None))

    @rule(number=numbers, row=rows)
    def replace(self, number: int, row: Any) -> None:
        self.living.write(ItemRemoved(f"r{number}", 0.0))
        self.put(f"r{number}", row)

    @rule(facet=st.sampled_from(["items", "messages"]))
    def clear(self, facet: Any) -> None:
        self.living.write(Cleared(facet, 0, 0.0))

    @rule()
    def compact_memory(self) -> None:
        self.living.sync().compact_derived()

    @precondition(lambda self: self.count)
    @rule()
    def store(self) -> None:
        self.living.store()

    @rule()
    def search(self) -> None:
        """Alone it takes over what changed; the invariant does so after each other step, too."""
        assert self.living.search()

    @precondition(lambda self: self.count)
    @invariant()
    def finds_what_others_find(self) -> None:
        if self.count % 2:
            return  # several changes at once, too
        found, exchanges = self.living.search(), self.living.list_exchanges()
        for other in (Process(self.journal), Process(self.journal).load()):
            assert other.list_exchanges() == exchanges
            assert other.search() == found


# -- long exchanges


def describe_graph(index: RecallIndex) -> list[Any]:
    """What is known of messages that stand together, by their ids."""
    graph = index.neighbors
    ids = {0: "", **{slot: id for id, slot in graph._slots.items()}}
    sessions: dict[int, list[str]] = {}
    for id, slot in graph._slots.items():
        sessions.setdefault(graph.sessions[slot], []).append(id)
    groups = index.index.postings.columns.groups
    assert all(groups[index.index.number(id)] == graph.sessions[slot] for id, slot in graph._slots.items())
    near = {
        id: [ids[each] for each in graph.neighbors[slot * MAX_NEIGHBORS : (slot + 1) * MAX_NEIGHBORS]]
        for id, slot in graph._slots.items()
    }
    exchanges = {
        each: [ids[slot] for slot in graph.exchanges.slots(each)] for each in set(graph.exchanges.numbers) - {0}
    }
    records = sorted(
        ids[slots[0]] for each, slots in graph.exchanges._slots.items() if graph.exchanges.has_record(each)
    )
    return [sorted(map(sorted, sessions.values())), near, sorted(exchanges.values()), records]


steps = st.lists(st.tuples(st.sampled_from(["remove", "put"]), st.integers(0, 219), rows), max_size=12)


@given(
    loop=st.lists(st.sampled_from(["call", "tool", "assistant"]), min_size=60, max_size=200),
    gaps=st.sets(st.integers(0, 199), max_size=2),
    steps=steps,
)
@examples(0.5)
def test_a_long_loop_has_the_parts_that_it_would_have_had_at_once(
    loop: list[str], gaps: set[int], steps: list[Any]
) -> None:
    kinds, held, at = ["user", *loop, "user"], dict[str, Row](), 0.0
    for number, kind in enumerate(kinds):
        at += 5 * HOUR if number in gaps else 60.0
        held[f"r{number}"] = make_row(f"r{number}", at, "the lake" if number % 3 else "", kind, None, None)
    living = RecallIndex(Analyzer())
    living.apply(held)
    for act, number, (text, kind, thread, turn, _) in steps:
        id = f"r{number}"
        if act == "remove":
            held.pop(id, None)
            living.apply({id: None})
        elif id in held and kind not in ITEMS:
            held[id] = make_row(id, held[id].created_at, text, kind, thread, turn)
            living.apply({id: held[id]})
    fresh = RecallIndex(Analyzer())
    fresh.apply(held)
    assert describe_graph(living) == describe_graph(fresh)
    exchanges = living.neighbors.exchanges
    for first, second in pairwise(row for row in held.values() if row.role != "system"):
        if second.role == "tool" and (stands_in(first), stands_in(second)) == (None, None):
            slots = living.neighbors.slot(first.id), living.neighbors.slot(second.id)
            assert len({exchanges.numbers[slot] for slot in slots}) == 1, "a result stays with what is before it"


def stands_in(row: Row) -> str | None:
    """The turn or thread of a message."""
    return row.turn_id or json.loads(row.content).get("thread_id")


def test_a_loop_of_thousands_is_read_in_parts() -> None:
    index, loop = RecallIndex(Analyzer()), ["user", *["call", "tool"] * 2_000]
    index.apply({f"r{at}": make_row(f"r{at}", at, "the lake", kind, None, None) for at, kind in enumerate(loop)})
    sizes = list(map(len, index.neighbors.exchanges._slots.values()))
    assert sum(sizes) == len(loop)
    assert max(sizes) < 400
    assert len(sizes) < 400


TestOneState = OneState.TestCase
TestOneState.settings = examples(0.5, stateful_step_count=20)
