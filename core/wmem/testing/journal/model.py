"""A state machine test: random calls on a journal, compared with a model of it."""

import itertools
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from wmem.journal.port import MISSED_MAX, Record, Tail
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path
from wmem.testing.journal.client import JournalClient

__all__ = ["JournalMachine"]

_names = itertools.count()
_picks = st.integers(0, 1 << 16)
_places = st.sampled_from([0, 0, 0, 1, 1, 2, 3])  # mostly the same path, so that histories get long
_payloads = st.binary(max_size=40)


@dataclass
class ModelJournal:
    """Model of one incarnation of a path."""

    incarnation: Incarnation
    base: Cursor = ORIGIN
    snapshot: bytes | None = None
    records: list[tuple[Cursor, Record[bytes]]] = field(default_factory=list)

    @property
    def head(self) -> Cursor:
        return self.records[-1][0] if self.records else self.base

    @property
    def cursors(self) -> list[Cursor]:
        return [self.base, *(cursor for cursor, _ in self.records)]

    @property
    def tail_bytes(self) -> int:
        return sum(len(record.payload) for _, record in self.records)

    def tail(self, after: Cursor) -> Tail[bytes]:
        joined = after in self.cursors
        place = self.cursors.index(after) if joined else 0
        records = tuple(record for _, record in self.records[place:])
        base, snapshot = (after, None) if joined else (self.base, self.snapshot)
        return Tail(joined, base, snapshot, records, self.head, self.incarnation)


class JournalMachine(RuleBasedStateMachine):
    """Makes random calls on a few paths below its own root, and checks every reply."""

    def __init__(self, client: JournalClient) -> None:
        super().__init__()
        self.client = client
        root = f"machine {next(_names)}"
        self.all_paths: list[Path] = [(root,), (root, "a"), (root, "a", "b"), (root, "ab")]
        self.logs: dict[Path, ModelJournal] = {}
        self.cursors: list[Cursor] = [ORIGIN, Cursor(1, 1)]
        """Every cursor so far, of any path and incarnation, and one that never existed."""
        self.incarnations: list[Incarnation] = [Incarnation(1)]

    def check_all(self) -> None:
        """Check a read of everything from the beginning."""
        assert dict(self.client.read_many(dict.fromkeys(self.all_paths, ORIGIN))) == {
            path: self.tail_after(path, ORIGIN) for path in self.all_paths
        }

    def tail_after(self, path: Path, after: Cursor) -> Tail[bytes]:
        log = self.logs.get(path)
        return Tail(after == ORIGIN, ORIGIN, None, (), ORIGIN, None) if log is None else log.tail(after)

    @rule(place=_places, payload=_payloads, pick=_picks, kind=st.sampled_from(["free", "head", "cursor", "birth"]))
    def write(self, place: int, payload: bytes, pick: int, kind: str) -> None:
        self.append(place, payload, pick, kind)

    def append(self, place: int, payload: bytes, pick: int, kind: str) -> None:
        path = self.all_paths[place]
        log = self.logs.get(path)
        head = log.head if log else ORIGIN
        expected: Cursor | Incarnation | None = {
            "free": None,
            "head": head,
            "cursor": self.cursors[pick % len(self.cursors)],
            "birth": self.incarnations[pick % len(self.incarnations)],
        }[kind]
        taken = expected is None or expected == head or (log is not None and expected == log.incarnation)
        reply = self.client.append(path, payload, record_id=pick, expected=expected)
        assert (reply.cursor is not None) == taken
        assert reply.previous == head
        if reply.cursor is None:
            assert (reply.tail_bytes, reply.incarnation) == ((log.tail_bytes, log.incarnation) if log else (0, None))
            if isinstance(expected, Cursor):
                missed = self.tail_after(path, expected)
                some = {missed, None} if missed.snapshot is not None or not missed.joined else {missed}
                assert reply.missed in (some if len(missed.records) <= MISSED_MAX else {None})
            return
        assert reply.cursor.version == head.version + 1
        assert reply.cursor not in self.cursors
        if log is None:
            log = self.logs[path] = ModelJournal(Incarnation(reply.cursor.chain))
            assert log.incarnation not in self.incarnations
            self.incarnations.append(log.incarnation)
        log.records.append((reply.cursor, Record(pick, payload)))
        self.cursors.append(reply.cursor)
        assert (reply.missed, reply.tail_bytes, reply.incarnation) == (None, log.tail_bytes, log.incarnation)

    @rule(place=_places, payloads=st.lists(_payloads, min_size=1, max_size=6))
    def append_many(self, place: int, payloads: list[bytes]) -> None:
        for number, payload in enumerate(payloads):
            self.append(place, payload, number, "free")
        self.check_all()

    @rule(place=_places, snapshot=_payloads, pick=_picks, own=st.booleans())
    def compact(self, place: int, snapshot: bytes, pick: int, own: bool) -> None:  # the rule passes it by name
        path = self.all_paths[place]
        log = self.logs.get(path)
        known = log.cursors if log and own else self.cursors
        upto = known[pick % len(known)]
        due = log is not None and upto in log.cursors[1:]
        assert self.client.compact(path, upto, snapshot) is due
        if log is not None and due:
            gone = log.cursors.index(upto)
            log.base, log.snapshot, log.records = upto, snapshot, log.records[gone:]
        self.check_all()

    @rule(place=_places, pick=_picks, kind=st.sampled_from(["any", "own", "life", "life", "life"]))
    def delete(self, place: int, pick: int, kind: str) -> None:
        path = self.all_paths[place]
        log = self.logs.get(path)
        life = {
            "any": None,
            "own": log.incarnation if log else Incarnation(2),
            "life": self.incarnations[pick % len(self.incarnations)],
        }[kind]
        self.client.delete(path, life)
        if life is None or (log is not None and log.incarnation == life):
            self.logs = {each: kept for each, kept in self.logs.items() if each[: len(path)] != path}
        self.check_all()

    @rule(picks=st.lists(_picks, min_size=4, max_size=4), count=st.integers(1, 4))
    def read(self, picks: list[int], count: int) -> None:
        asked = {}
        for path, pick in zip(self.all_paths[:count], picks, strict=False):
            log = self.logs.get(path)
            known = log.cursors if log and pick % 3 else self.cursors
            asked[path] = known[pick % len(known)]
        told = {path: self.tail_after(path, after) for path, after in asked.items()}
        assert dict(self.client.read_many(asked)) == told

    @rule(place=_places)
    def paths(self, place: int) -> None:
        prefix = self.all_paths[place]
        assert self.client.paths(prefix) == sorted(path for path in self.logs if path[: len(prefix)] == prefix)
