"""The fold equals a plain model, whatever happens in whatever order; at rest and back it is the same."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path as Directory
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from wmem.codec.codec import IdentityCodec, JsonCodec
from wmem.engine.store import _registry
from wmem.model.change import (
    Change,
    Cleared,
    ClearIntended,
    Decided,
    Decision,
    DecisionKind,
    Erased,
    IntentReached,
    ItemEvicted,
    ItemExpired,
    ItemPromoted,
    ItemPut,
    ItemRemoved,
    ItemTouched,
    MessagesRestored,
    MessagesWithdrawn,
    PolicyChanged,
    RestoreIntended,
    RestorePrepared,
    RowPlace,
    ScopeDisposed,
    ScopeMerged,
    ScopeOpened,
    ScopeReplaced,
    StepAdvanced,
    TurnEnded,
    TurnTraced,
)
from wmem.model.history import Cursor, Path
from wmem.model.row import Row
from wmem.model.standing import StandingRequest
from wmem.state import APPLIED_MAX, DECISIONS_MAX, MERGED_MAX, State
from wmem.tokens.estimate import EstimateCounter

NOON = 1_764_288_000.0
PATH: Path = ("agent", "session")

INSTANTS = st.integers(0, 100).map(lambda late: NOON + late)
KEYS = ("k1", "k2", "k3")
# An id means one thing for ever, as ids do that wmem makes; several writers may make one key under ids of their own.
ENTRIES = {f"entry-{key}-{writer}": key for key in KEYS for writer in "ab"}
ITEMS = ("item-1", "item-2", "item-3")
MESSAGES = ("message-1", "message-2", "message-3")
IDS = st.sampled_from((*ENTRIES, *ITEMS, *MESSAGES, "nobody"))


STANDING = StandingRequest("language", "Answer in French.")


def row(
    name: str, content: bytes, at: float, *, pinned: bool, role: str, asks: bool, withdrawn_at: float | None
) -> Row:
    if name in ENTRIES:
        return Row(name, content, at, at, key=ENTRIES[name])
    if name in MESSAGES:
        return Row(
            name,
            content,
            at,
            at,
            role=role,
            pinned=pinned,
            tokens=len(content),
            standing=(STANDING,) if asks else (),
            withdrawn_at=withdrawn_at,
        )
    return Row(name, content, at, at, pinned=pinned)


PUTS = st.builds(
    row,
    st.sampled_from((*ENTRIES, *ITEMS, *MESSAGES)),
    st.binary(max_size=6),
    INSTANTS,
    pinned=st.booleans(),
    asks=st.booleans(),
    withdrawn_at=st.sampled_from([None, None, NOON]),
    role=st.sampled_from(("user", "assistant", "system", "developer", "tool")),
).map(ItemPut)

CHANGES: st.SearchStrategy[Change] = st.one_of(
    PUTS,
    PUTS,
    PUTS,
    st.builds(ItemRemoved, IDS),
    st.builds(ItemExpired, IDS, st.none() | INSTANTS),
    st.builds(ItemTouched, IDS, st.integers(1, 5), INSTANTS),
    st.builds(ItemPromoted, IDS, st.just("memory_promoted"), INSTANTS, st.sampled_from(("", "critical"))),
    st.builds(Decided, st.just("expired"), IDS, st.just("expired"), st.just(1), INSTANTS, st.just({"expires_at": 5.0})),
    st.builds(Decided, st.just("merged"), IDS, st.just("merge-duplicates"), st.just(1), INSTANTS, st.just({}), IDS),
    st.builds(ItemEvicted, IDS, st.just("stale"), st.integers(0, 9), INSTANTS, st.just({"importance": 0.1})),
    st.builds(Erased, st.lists(IDS, max_size=3).map(tuple), st.sampled_from([None, (), (RowPlace(("s",), 1, "a"),)])),
    st.builds(MessagesWithdrawn, st.lists(IDS, max_size=3).map(tuple), INSTANTS),
    st.builds(MessagesRestored, st.lists(IDS, max_size=3).map(tuple), INSTANTS),
    st.builds(Cleared, st.sampled_from(("entries", "items", "messages", "all")), st.just(0), INSTANTS),
    st.builds(ScopeOpened, st.sampled_from(("{}", '{"name":"queue"}')), INSTANTS),
    st.builds(PolicyChanged, st.just('{"name":"buffer"}'), INSTANTS),
    st.builds(ScopeDisposed, st.just(0), INSTANTS),
    st.builds(
        ScopeMerged,
        st.just((*PATH, "child")),
        st.builds(Cursor, st.integers(1, 9), st.integers(0, 2**52 - 1)),
        st.just(1),
        INSTANTS,
    ),
    st.builds(StepAdvanced, st.integers(0, 30), INSTANTS),
    st.builds(TurnEnded, st.sampled_from(("t1", "t2", "t3")), INSTANTS),
    st.builds(
        TurnTraced,
        st.sampled_from(("", "t1", "t2", "t3")),
        INSTANTS,
        st.binary(max_size=9),
        st.sampled_from((0.0, 60.0, 1e9)),
        st.integers(0, 3),
        st.sampled_from((0, 210, 10**6)),
    ),
)
RECORDS = st.lists(st.tuples(st.integers(1, 40), st.lists(CHANGES, min_size=1, max_size=4)), max_size=40)


class Plain:
    """What a scope holds, said as plainly as can be: slow, and obviously right."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.policy: str | None = None
        self.disposed = False
        self.merged: dict[tuple[Path, bool, bool], Cursor] = {}
        self.decisions: list[Decision] = []
        self.erased: list[str] = []
        self.unfinished: dict[str, Sequence[RowPlace]] = {}
        self.step = 0
        self.turns: list[str] = []
        self.traces: list[TurnTraced] = []
        self.counts = {"messages": 0, "items": 0}
        self.places: dict[int, str] = {}
        """Every place that was ever taken, and who has, or had, it."""
        self.applied: list[int] = []

    def record(self, record_id: int, changes: list[Change]) -> None:
        if record_id not in self.applied:
            self.applied = [*self.applied, record_id][-APPLIED_MAX:]
            for change in changes:
                self.change(change)

    def change(self, change: Change) -> None:  # noqa: PLR0915  # a case for each
        match change:
            case ItemPut(row):
                self.put(row)
            case ItemRemoved(gone):
                self.rows = [row for row in self.rows if row.id != gone]
            case ItemExpired(gone, at):
                for row in self.rows:
                    if row.id == gone and at is not None:
                        parts = {} if row.expires_at is None else {"expires_at": row.expires_at}
                        self.decisions.append(Decision(gone, "expired", row.tokens or 0, at, parts, "expired"))
                self.rows = [row for row in self.rows if row.id != gone]
            case Decided(kind, gone, rule, tokens, at, parts, into):
                self.decisions.append(Decision(gone, rule, tokens, at, parts, cast("DecisionKind", kind), into))
            case ItemEvicted(gone, rule, tokens, at, parts):
                self.rows = [row for row in self.rows if row.id != gone]
                self.decisions.append(Decision(gone, rule, tokens, at, parts))
            case Erased(ids, others):
                if others is not None:
                    self.unfinished = {id: at for id, at in self.unfinished.items() if id not in ids}
                    self.unfinished |= dict.fromkeys(ids, others) if others else {}
                self.rows = [row for row in self.rows if row.id not in ids]
                self.erased += [each for each in dict.fromkeys(ids) if each not in self.erased]
            case ItemTouched(touched, times, at):
                self.rows = [
                    row._replace(
                        access_count=row.access_count + times, last_accessed_at=max(at, row.last_accessed_at or at)
                    )
                    if row.id == touched
                    else row
                    for row in self.rows
                ]
            case ItemPromoted(promoted, to, at, rule, parts):
                for row in self.rows:
                    if row.id == promoted and rule:
                        self.decisions.append(Decision(promoted, rule, row.tokens or 0, at, parts or {}, "promoted"))
                self.rows = [
                    row._replace(promoted_to=to, promoted_at=at) if row.id == promoted else row for row in self.rows
                ]
            case Cleared(facet, _, _):
                if facet == "all":
                    self.merged = {}
                self.rows = [row for row in self.rows if facet not in ("all", facet_of(row))]
            case MessagesWithdrawn(ids, at):
                self.rows = [
                    row._replace(withdrawn_at=at) if row.id in ids and is_said(row) else row for row in self.rows
                ]
            case MessagesRestored(ids, _):
                self.rows = [row._replace(withdrawn_at=None) if row.id in ids else row for row in self.rows]
            case ScopeOpened(policy, _) | PolicyChanged(policy, _):
                self.policy = policy
            case ScopeDisposed():
                self.disposed = True
            case ScopeMerged(source, cursor, _, _, overwrite, with_items):
                self.merged.pop((source, overwrite, with_items), None)
                self.merged[source, overwrite, with_items] = cursor
            case StepAdvanced(step, _):
                self.step = max(step, self.step)
            case TurnEnded(turn, _):
                self.step += turn not in self.turns
                self.turns += [turn] if turn not in self.turns else []
            case TurnTraced(turn, at, _, keep_s, keep_turns, keep_bytes):
                self.traces += [change] if turn else []
                while self.traces and (
                    self.traces[0].at < at - keep_s
                    or len(self.traces) > keep_turns
                    or (len(self.traces) > 1 and sum(40 + len(each.events) for each in self.traces) > keep_bytes)
                ):
                    self.traces = self.traces[1:]
            case ScopeReplaced() | IntentReached() | RestoreIntended() | ClearIntended() | RestorePrepared():
                pass  # see `suites/snapshots.py`

    def put(self, row: Row) -> None:
        for place, held in enumerate(self.rows):
            if held.id == row.id or (row.key is not None and held.key == row.key):
                self.rows[place] = row._replace(id=held.id, created_at=held.created_at)
                return
        self.rows.append(row)
        if (facet := facet_of(row)) != "entries":
            self.counts[facet] += 1
            self.places[self.counts[facet] if facet == "messages" else -self.counts[facet]] = row.id


def facet_of(row: Row) -> str:
    if row.key is not None:
        return "entries"
    return "items" if row.role is None else "messages"


def is_said(row: Row) -> bool:
    return row.role is not None and row.withdrawn_at is None


def ids(rows: list[Row], facet: str) -> list[str]:
    return [row.id for row in rows if facet_of(row) == facet and row.withdrawn_at is None]


def repeated_text(system: list[Row], leading: list[str]) -> set[str]:
    """The ids of the system text that says no more than the leading one, up to the first that does."""
    texts = {row.content for row in system if row.id in leading}
    return {row.id for row in takewhile(lambda row: row.content in texts, system)}.difference(leading)


def folded(records: list[tuple[int, list[Change]]]) -> State:
    state = State()
    for record_id, changes in records:
        state.fold(record_id, changes)
    return state


def placed(state: State) -> dict[int, str]:
    """The places that the state knows, and who has, or had, them."""
    items = {id: -place for id, place in state.items.items()}
    there = {place: id for each in (state.erased, items, state.withdrawn, state.messages) for id, place in each.items()}
    return {place: id for place, id in {**there, **state.gone}.items() if place}


def told(state: State) -> dict[str, Any]:
    """All that a state says, order included."""
    return {
        "rows": list(state.rows.values()),
        "entries": dict(state.entries),
        "items": list(state.items),
        "messages": list(state.messages),
        "withdrawn": set(state.withdrawn),
        "tokens": state.message_tokens,
        "asking": list(state.standing_messages),
        # Which these are is the fold's; in what order they are shown is the pack's.
        "standing": set(state.pinned_messages),
        "system": set(state.system_messages),
        "leading": [row.id for row in state.leading_system_text()],
        "repeated": {each for each in state.messages if each in state.find_repeated_system_text()},
        "pinned": set(state.pinned_items),
        "policy": state.policy,
        "disposed": state.disposed,
        "merged": state.merged,
        "decisions": state.decisions,
        "erased": list(state.erased),
        "unfinished": state.unfinished,
        "step": state.step,
        "turns": list(state.turns),
        "traces": state.traces,
        "placed": placed(state),
        "applied": state.applied,
        "recent": list(state.applied_order),
        "bytes": state.bytes,
    }


@given(records=RECORDS)
def test_the_fold_equals_a_plain_model(records: list[tuple[int, list[Change]]]) -> None:
    plain = Plain()
    for record_id, changes in records:
        plain.record(record_id, changes)
    standing = {row.id for row in plain.rows if is_said(row) and row.pinned}
    system = {row.id for row in plain.rows if is_said(row) and row.role in ("system", "developer")}
    assert told(folded(records)) == {
        "rows": plain.rows,
        "entries": {row.key: row.id for row in plain.rows if row.key is not None},
        "items": ids(plain.rows, "items"),
        "messages": ids(plain.rows, "messages"),
        "withdrawn": {row.id for row in plain.rows if row.withdrawn_at is not None},
        "tokens": sum(row.tokens or 0 for row in plain.rows if is_said(row)),
        "asking": [row.id for row in plain.rows if is_said(row) and row.standing],
        "standing": standing,
        "system": system,
        "leading": (leading := list(takewhile(system.__contains__, ids(plain.rows, "messages")))),
        "repeated": repeated_text([row for row in plain.rows if row.id in system], leading),
        "pinned": {row.id for row in plain.rows if row.pinned and facet_of(row) == "items"},
        "policy": plain.policy,
        "disposed": plain.disposed,
        "merged": plain.merged,
        "decisions": plain.decisions,
        "erased": plain.erased,
        "unfinished": plain.unfinished,
        "step": plain.step,
        "turns": plain.turns,
        "traces": plain.traces,
        "placed": plain.places,
        "applied": set(plain.applied),
        "recent": plain.applied,
        "bytes": sum(row.size_bytes for row in plain.rows) + sum(40 + len(each.events) for each in plain.traces),
    }


@given(records=RECORDS)
def test_reads_by_key_and_by_recency_agree_with_the_rows(records: list[tuple[int, list[Change]]]) -> None:
    state = folded(records)
    rows = list(state.rows.values())
    for key in KEYS:
        assert state.entry(key, NOON) == next((row for row in rows if row.key == key), None)
    assert list(state.newest_messages()) == [row for row in reversed(rows) if is_said(row)]


@given(records=RECORDS, at=st.integers(0, 40))
def test_a_checkpoint_in_between_changes_nothing_that_comes_after(
    records: list[tuple[int, list[Change]]], at: int
) -> None:
    restored = State.from_checkpoint(folded(records[:at]).checkpoint())
    assert told(restored) == told(folded(records[:at]))
    for record_id, changes in records[at:]:
        restored.fold(record_id, changes)
    assert told(restored) == told(folded(records))


@given(records=RECORDS, at=st.integers(0, 40))
def test_a_copy_stays_as_it_was(records: list[tuple[int, list[Change]]], at: int) -> None:
    state = folded(records[:at])
    twin, before = state.copy(), told(state.copy())
    for record_id, changes in records[at:]:
        state.fold(record_id, changes)
    assert told(twin) == before


@given(records=RECORDS)
def test_a_state_at_rest_reads_back_as_itself_through_every_codec(records: list[tuple[int, list[Change]]]) -> None:
    kept = folded(records).checkpoint()
    upto = Cursor(7, 12_345)
    framed = JsonCodec()
    assert framed.decode_checkpoint(framed.encode_checkpoint(kept, PATH, upto), PATH, upto) == kept
    plain = IdentityCodec()
    assert plain.decode_checkpoint(plain.encode_checkpoint(kept, PATH, upto), PATH, upto) == kept


@given(records=RECORDS, again=st.lists(st.integers(0, 39), max_size=10))
def test_a_record_that_comes_again_counts_once(records: list[tuple[int, list[Change]]], again: list[int]) -> None:
    state = folded(records)
    before = told(state)
    for at in again:
        if at < len(records):
            assert state.fold(*records[at]) is None
    assert told(state) == before


def test_the_last_256_records_are_known_again_and_no_older_ones() -> None:
    state = folded([(number, [ItemTouched("nobody", 1, NOON)]) for number in range(APPLIED_MAX + 1)])
    assert state.fold(1, []) is None
    assert state.fold(0, []) == []
    assert len(state.applied) == len(state.applied_order) == APPLIED_MAX


def test_the_last_thousand_decisions_are_kept() -> None:
    gone: list[tuple[int, list[Change]]] = [
        (number, [ItemEvicted(str(number), "old", 1, NOON, {})]) for number in range(DECISIONS_MAX + 5)
    ]
    state = folded(gone)
    assert [state.decisions[0].id, state.decisions[-1].id] == ["5", str(DECISIONS_MAX + 4)]
    assert len(State.from_checkpoint(state.checkpoint()).decisions) == DECISIONS_MAX


def test_a_scope_remembers_a_thousand_merges_and_forgets_the_first() -> None:
    merges: list[tuple[int, list[Change]]] = [
        (number, [ScopeMerged((*PATH, str(number)), Cursor(1, number), 1, 0.0, overwrite=True, with_items=False)])
        for number in range(1, MERGED_MAX + 3)
    ]
    merged = list(folded(merges).merged)
    assert len(merged) == MERGED_MAX
    assert merged[0] == ((*PATH, "3"), True, False)


@given(put=PUTS, before=RECORDS)
def test_a_put_says_what_it_took_the_place_of(put: ItemPut, before: list[tuple[int, list[Change]]]) -> None:
    state = folded(before)
    held = state.entries.get(put.row.key or "", put.row.id)
    there = state.rows.get(held)
    assert state.fold(1_000, [put]) == [there]
    assert [each.content for each in state.fold(1_001, [put]) or [] if each is not None] == [put.row.content]


# -- two processes over one store

STEPS = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from(("set", "remove", "append", "edit", "pop", "add", "fetch", "dispose", "shed", "read")),
        st.integers(0, 3),
    ),
    min_size=5,
    max_size=40,
)


class Process:
    """One process's engine on a store: nothing but the store joins it with others."""

    def __init__(self, url: str) -> None:
        here = dict(_registry.stores)
        _registry.stores.clear()
        try:
            self.memory = wmem.open(url, agent_id="agent", clock=lambda: NOON, counter=EstimateCounter())
        finally:
            _registry.stores.clear()
            _registry.stores.update(here)

    def shed(self) -> None:
        self.memory._core.store.engine.drop_replicas(("agent",))

    def told(self) -> dict[str, Any]:
        scope = self.memory.scope("session")
        return {
            "entries": {key: scope.entries.get(key) for key in scope.entries.keys()},  # noqa: SIM118  # not a dictionary
            "messages": [(message.id, message.text) for message in scope.messages.all()],
            "items": {item.id: item.content for item in scope.items.all()},
        }


def played(steps: list[tuple[str, str, int]], processes: Mapping[str, Process]) -> dict[str, Any]:
    """Play the steps; returns what a plain model says must be there."""
    entries: dict[str, int] = {}
    messages: dict[str, str] = {}
    items: dict[str, str] = {}
    for turn, (who, verb, number) in enumerate(steps):
        process = processes[who]
        scope = process.memory.scope("session")
        if verb == "set":
            scope.entries.set(f"k{number}", turn)
            entries[f"k{number}"] = turn
        elif verb == "remove":
            assert scope.entries.remove(f"k{number}") == (f"k{number}" in entries)
            entries.pop(f"k{number}", None)
        elif verb == "append":
            stored = scope.messages.append({"role": "user", "content": f"said {turn}" * 20})
            messages[stored.id or ""] = stored.text
        elif verb == "edit" and len(messages) > number:
            edited = list(messages)[number]
            scope.messages.append({"role": "user", "content": f"edited {turn}", "id": edited})
            messages[edited] = f"edited {turn}"
        elif verb == "pop":
            newest = scope.messages.pop()
            assert (newest and newest.id) == next(reversed(messages), None)
            messages.pop(newest.id or "", None) if newest else None
        elif verb == "add":
            item = scope.items.add(f"item {turn}", ttl_s=None)
            items[item.id] = item.content
        elif verb == "fetch" and len(items) > number:
            assert scope.items.fetch(list(items)[number]).content == list(items.values())[number]
        elif verb == "dispose":
            scope.dispose()
            entries, messages, items = {}, {}, {}
        elif verb == "shed":
            process.shed()
        elif verb == "read":
            assert process.told() == {"entries": entries, "messages": list(messages.items()), "items": items}
    return {"entries": entries, "messages": list(messages.items()), "items": items}


def converges(url: str, steps: list[tuple[str, str, int]]) -> None:
    processes = {who: Process(url) for who in "ab"}
    try:
        wanted = played(steps, processes)
        assert processes["a"].told() == processes["b"].told() == wanted
    finally:
        for process in processes.values():
            process.memory.close()
    third = Process(url)
    try:
        assert third.told() == wanted
    finally:
        third.memory.close()


@given(steps=STEPS)
@examples(0.6)
def test_two_processes_in_memory_always_come_to_the_same_state(steps: list[tuple[str, str, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wmem.engine.writing.COMPACT_MIN_BYTES", 700)
        with TemporaryDirectory() as name:
            converges(f"memory://{Directory(name).name}", steps)


@given(steps=STEPS)
@examples(0.15)
def test_two_processes_over_one_directory_always_come_to_the_same_state(steps: list[tuple[str, str, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as name:
        patch.setattr("wmem.engine.writing.COMPACT_MIN_BYTES", 700)
        converges(f"disk://{name}/store", steps)
