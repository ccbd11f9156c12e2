"""What somebody else wrote into a store is never executed, never believed and never thrown away."""

import json
import logging
import os
import pickle
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import wmem
from tests.suites.embedders import PUPPY, Embedder, list_recalled_texts
from wmem.codec.codec import FORMAT_VERSION

if TYPE_CHECKING:
    from tests.faults.conftest import DiskRows, Key, Rows

AGENT = "agent"
NAME = '["agent","damaged"]'
OTHER = '["agent","other"]'


class Bomb:
    """Its pickle writes a file when it is loaded."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> tuple[object, ...]:
        return (os.mkdir, (str(self.proof),))


@pytest.fixture
def store(url: str) -> str:
    """Two scopes of three entries and three messages each; the second of each will be damaged in one."""
    with wmem.open(url, agent_id=AGENT) as memory:
        for name in ("damaged", "other"):
            scope = memory.scope(name)
            for number in range(3):
                scope.entries.set(f"key {number}", f"value {number}")
                scope.messages.append({"role": "user", "content": f"message {number}", "id": f"m{number}"})
    return url


@pytest.fixture
def reopen(store: str) -> Iterator[Callable[[], wmem.AgentMemory]]:
    opened: list[wmem.AgentMemory] = []

    def again() -> wmem.AgentMemory:
        for memory in opened:
            memory.close()
        opened.append(wmem.open(store, agent_id=AGENT))
        return opened[-1]

    yield again
    for memory in opened:
        memory.close()


def _seal(path: list[str], place: int) -> int:
    return zlib.crc32(json.dumps([*path, place], separators=(",", ":")).encode())


def _framed(record_id: int, told: object, *, version: int = FORMAT_VERSION, body: bytes = b"") -> bytes:
    """A payload with a checksum that holds, for a record of the damaged scope, saying what its writer never said."""
    payload = json.dumps(told).encode() + b"\n" + body
    head = b"wmem %d " % version
    check = zlib.crc32(payload, zlib.crc32(head, _seal([AGENT, "damaged"], record_id)))
    return b"%s%08x\n%s" % (head, check, payload)


def _forge(rows: "Rows", key: "Key", told: object, *, version: int = FORMAT_VERSION, body: bytes = b"") -> None:
    rows.forge(key, _framed(rows.record_id(key), told, version=version, body=body))


def test_the_forger_of_these_tests_knows_the_checksum(
    reopen: Callable[[], wmem.AgentMemory],
    rows: "Rows",
) -> None:
    """Else every forgery below would be refused for its checksum alone."""
    key = rows.records(NAME)[2]
    _forge(rows, key, [{"change": "ItemRemoved", "id": "m0"}])
    scope = reopen().scope("damaged")
    assert [message.id for message in scope.messages.all()] == ["m1", "m2"]
    assert not scope.pack(budget=500).warnings


def _flipped(stored: bytes) -> bytes:
    place = len(stored) // 2
    return stored[:place] + bytes([stored[place] ^ 0x20]) + stored[place + 1 :]


Tampering: TypeAlias = Callable[[Any, "Key", Path], None]

ANYWHERE: Mapping[str, Tampering] = {
    "a pickle in the bytes": lambda rows, key, proof: rows.put(key, pickle.dumps(Bomb(proof))),
    "text for bytes": lambda rows, key, _: rows.put(key, "text"),
    "a number for bytes": lambda rows, key, _: rows.put(key, 7),
    "nothing": lambda rows, key, _: rows.put(key, None),
    "no bytes": lambda rows, key, _: rows.put(key, b""),
    "half of it": lambda rows, key, _: rows.put(key, rows.value(key)[:40]),
    "a flipped bit": lambda rows, key, _: rows.put(key, _flipped(rows.value(key))),
    "no row": lambda rows, key, _: rows.remove(key),
    "another scope's record": lambda rows, key, _: rows.put(key, rows.value(rows.records(OTHER)[2])),
    "a sibling record": lambda rows, key, _: rows.put(key, rows.value(rows.records(NAME)[0])),
    "an unknown change": lambda rows, key, _: _forge(rows, key, [{"change": "Import", "module": "os"}]),
    "a change without its fields": lambda rows, key, _: _forge(rows, key, [{"change": "ItemRemoved"}]),
}
DISK: Mapping[str, Tampering] = {
    "a pickle as the value": lambda rows, key, proof: rows.columns(key, mode=4, value=pickle.dumps(Bomb(proof))),
    "a pickle as the key": lambda rows, key, proof: rows.columns(key, raw=0, key=pickle.dumps(Bomb(proof))),
    "a foreign key": lambda rows, key, _: rows.columns(key, raw=0),
    "a file outside": lambda rows, key, _: rows.columns(key, mode=2, filename="../secret", value=None),
    "a text file outside": lambda rows, key, _: rows.columns(key, mode=3, filename="../secret", value=None),
    "a pickle in a file outside": lambda rows, key, _: rows.columns(key, mode=4, filename="../secret", value=None),
    "a file beside good bytes": lambda rows, key, _: rows.columns(key, filename="../secret"),
    "an expired row": lambda rows, key, _: rows.columns(key, expire_time=1.0),
}
SQLITE: Mapping[str, Tampering] = {
    "an id that is text": lambda rows, key, _: rows.columns(key, id="one"),
    "an id below zero": lambda rows, key, _: rows.columns(key, id=-1),
    "a chain that is text": lambda rows, key, _: rows.columns(key, chain="one"),
    "another chain": lambda rows, key, _: rows.columns(key, chain=7),
    "text that is no UTF-8": lambda rows, key, _: rows.undecodable(key),
}
TAMPERINGS: Mapping[str, Mapping[str, Tampering]] = {"disk": {**ANYWHERE, **DISK}, "sqlite": {**ANYWHERE, **SQLITE}}
EVERY = [(backend, name) for backend, known in TAMPERINGS.items() for name in known]


def _on_each(*names: str) -> list[tuple[str, str]]:
    """Those of some tamperings that a backend knows."""
    return [(backend, name) for backend, name in EVERY if name in names]


@pytest.mark.parametrize(("backend", "tampering"), EVERY, indirect=["backend"])
def test_B84_a_tampered_record_is_reported_and_left_and_all_else_goes_on(
    tampering: str,
    reopen: Callable[[], wmem.AgentMemory],
    rows: "Rows",
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    proof, secret = tmp_path / "proof", tmp_path / "secret"
    secret.write_bytes(pickle.dumps(Bomb(proof)))
    before = secret.read_bytes()
    place = 2  # the record of "key 1"
    key = rows.records(NAME)[place]
    TAMPERINGS[rows.backend][tampering](rows, key, proof)
    left = rows.keys()

    with caplog.at_level(logging.WARNING, "wmem"):
        memory = reopen()
        scope = memory.scope("damaged")

        # What can be read is read; what could be the damaged record is never "absent".
        assert scope.entries.get("key 0") == "value 0"
        assert scope.entries["key 2"] == "value 2"
        assert [message.text for message in scope.messages.all()] == ["message 0", "message 1", "message 2"]
        for absent in (
            lambda: scope.entries.get("key 1"),
            lambda: scope.entries.entry("key 1"),
            lambda: scope.entries.contains("key 1"),
            lambda: scope.entries["key 1"],
            lambda: scope.entries.local.get("key 1"),
            lambda: scope.items.fetch("key 1"),
            lambda: scope.view().entries.get("key 1"),
        ):
            with pytest.raises(wmem.CorruptionError, match="damaged"):
                absent()
    assert any("damaged" in record.getMessage() for record in caplog.records)
    assert not any("value" in record.getMessage() for record in caplog.records), "logs never hold content"
    assert any("damaged" in warning for warning in scope.pack(budget=1_000).warnings)

    # The scope takes writes, and keeps them.
    scope.entries.set("key 3", "value 3")
    scope.entries.set("key 1", "value 1 again")
    scope.messages.append({"role": "user", "content": "message 3"})
    scope = reopen().scope("damaged")
    assert scope.entries.get("key 1") == "value 1 again"
    assert scope.entries.get("key 3") == "value 3"
    assert scope.messages.count() == 4

    # Its neighbour knows nothing of it.
    other = reopen().scope("other")
    assert other.entries.get("key 1") == "value 1"
    assert other.entries.get("absent") is None
    assert not other.pack(budget=1_000).warnings

    assert not proof.exists(), "a pickle was executed"
    assert secret.read_bytes() == before
    assert set(left) <= set(rows.keys()), "what is damaged stays where it is"


def test_a_scope_with_damage_is_not_compacted(
    reopen: Callable[[], wmem.AgentMemory],
    rows: "Rows",
) -> None:
    key = rows.records(NAME)[2]
    rows.put(key, b"not what was written here")
    memory = reopen()
    for name in ("damaged", "other"):
        for number in range(100):
            memory.scope(name).messages.append({"role": "user", "content": f"{number} " + "x" * 2_000})
    assert rows.value(key) == b"not what was written here"
    assert not rows.checkpoint(NAME)
    assert rows.checkpoint(OTHER), "the same writes do compact a scope that is whole"
    assert reopen().scope("damaged").messages.count() == 103


def test_a_rotation_of_keys_leaves_a_damaged_scope_and_says_that_its_key_is_needed(
    url: str, rows: "Rows", caplog: pytest.LogCaptureFixture
) -> None:
    old, new = wmem.KeyRing.new_key(), wmem.KeyRing.new_key()
    with wmem.open(url, agent_id=AGENT, key=old) as memory:
        for name in ("damaged", "other"):
            for number in range(3):
                memory.scope(name).entries.set(f"key {number}", number)
    key = rows.records(NAME)[1]
    rows.put(key, _flipped(rows.value(key)))
    before = {each: rows.value(each) for each in rows.records(NAME)}
    with wmem.open(url, agent_id=AGENT, key=wmem.KeyRing(new, old)) as memory, caplog.at_level(logging.WARNING, "wmem"):
        assert memory.rotate() == 1
        assert memory.rotate() == 0
        assert memory.scope("damaged").entries.get("key 2") == 2
    assert {each: rows.value(each) for each in rows.records(NAME)} == before
    assert any("damaged" in each.getMessage() and "still needed" in each.getMessage() for each in caplog.records)
    with wmem.open(url, agent_id=AGENT, key=new) as memory:
        assert memory.scope("other").entries.get("key 2") == 2
        with pytest.raises(wmem.WrongKeyError):
            memory.scope("damaged").entries.get("key 2")


@pytest.mark.parametrize(
    ("backend", "tampering"),
    _on_each("a pickle as the value", "a foreign key", "no row", "a flipped bit", "no bytes", "an id that is text"),
    indirect=["backend"],
)
def test_a_damaged_snapshot_is_reported_and_the_records_after_it_are_read(
    tampering: str,
    reopen: Callable[[], wmem.AgentMemory],
    rows: "Rows",
    tmp_path: Path,
) -> None:
    memory = reopen()
    for number in range(60):
        memory.scope("damaged").messages.append({"role": "user", "content": f"{number} " + "x" * 2_000})
    memory.scope("damaged").entries.set("after", 1)
    memory.close()
    TAMPERINGS[rows.backend][tampering](rows, rows.checkpoint(NAME)[0], tmp_path / "proof")

    scope = reopen().scope("damaged")
    assert scope.entries.get("after") == 1
    with pytest.raises(wmem.CorruptionError):
        scope.entries.get("key 0")
    scope.messages.append({"role": "user", "content": "goes on"})
    assert reopen().scope("damaged").messages.all()[-1].text == "goes on"
    assert reopen().scope("other").entries.get("key 0") == "value 0"
    assert not (tmp_path / "proof").exists()


@pytest.mark.parametrize(
    ("backend", "tampering"),
    _on_each("a pickle as the value", "a pickle in the bytes", "a flipped bit", "no bytes", "another scope's record"),
    indirect=["backend"],
)
def test_a_damaged_head_closes_its_scope_with_a_typed_error_and_no_other(
    tampering: str,
    reopen: Callable[[], wmem.AgentMemory],
    rows: "Rows",
    tmp_path: Path,
) -> None:
    records = rows.records(NAME)
    TAMPERINGS[rows.backend][tampering](rows, rows.head(NAME), tmp_path / "proof")
    scope = reopen().scope("damaged")
    for call in (
        lambda: scope.entries.get("key 0"),
        lambda: scope.entries.set("key 0", 0),
        lambda: scope.messages.append({"role": "user", "content": "x"}),
        scope.items.all,
        lambda: scope.pack(budget=100),
    ):
        with pytest.raises(wmem.CorruptionError, match="damaged"):
            call()
    assert reopen().scope("other").entries.get("key 1") == "value 1"
    assert rows.records(NAME) == records
    assert not (tmp_path / "proof").exists()


@pytest.mark.parametrize("backend", ["disk"], indirect=True)
@pytest.mark.parametrize("tampering", ["a foreign key", "no row", "an expired row"])
def test_a_scope_whose_head_is_gone_is_not_begun_anew_over_its_remains(
    tampering: str,
    reopen: Callable[[], wmem.AgentMemory],
    rows: "Rows",
    tmp_path: Path,
) -> None:
    records = rows.records(NAME)
    TAMPERINGS[rows.backend][tampering](rows, rows.head(NAME), tmp_path / "proof")
    scope = reopen().scope("damaged")
    with pytest.raises(wmem.CorruptionError):
        scope.entries.set("key 0", 0)
    assert rows.records(NAME) == records
    reopen().scope("other").entries.set("key 0", 0)


@pytest.mark.parametrize("backend", ["disk"], indirect=True)
@pytest.mark.parametrize("prefix", ["p", "R"])
@pytest.mark.parametrize(
    "tampering", ["a pickle as the value", "a flipped bit", "no bytes", "a number for bytes", "text for bytes"]
)
def test_a_damaged_register_is_never_taken_for_an_empty_one(
    prefix: str,
    tampering: str,
    reopen: Callable[[], wmem.AgentMemory],
    rows: "DiskRows",
    tmp_path: Path,
) -> None:
    for key in rows.beginning(prefix):
        if tampering == "a flipped bit":
            rows.put(key, b"[" + rows.value(key))
        else:
            TAMPERINGS["disk"][tampering](rows, key, tmp_path / "proof")
    damaged = rows.values(prefix)
    memory = reopen()
    assert memory.scope("damaged").entries.get("key 1") == "value 1"
    memory.scope("damaged").entries.set("key 1", 2)
    if prefix == "p":
        with pytest.raises(wmem.CorruptionError, match="register"):
            memory.scope().children()
        with pytest.raises(wmem.CorruptionError, match="register"):
            memory.changes()
    assert rows.values(prefix) == damaged, "a register that cannot be read is not written over"
    assert not (tmp_path / "proof").exists()


def test_a_record_of_a_newer_format_closes_its_scope_and_says_to_upgrade(
    reopen: Callable[[], wmem.AgentMemory],
    rows: "Rows",
) -> None:
    key = rows.records(NAME)[2]
    _forge(rows, key, [{"change": "Rewound", "to": 3}], version=FORMAT_VERSION + 1)
    newer = rows.value(key)
    memory = reopen()
    scope = memory.scope("damaged")
    for call in (
        lambda: scope.entries.get("key 0"),
        scope.messages.all,
        lambda: scope.pack(budget=100),
        lambda: scope.entries.update("key 0", str.upper),
        memory.changes,
    ):
        with pytest.raises(wmem.StoreError, match=f"format {FORMAT_VERSION + 1}.*upgrade"):
            call()
    assert memory.scope("other").entries.get("key 1") == "value 1"
    memory.scope("other").entries.set("key 1", 1)
    assert rows.value(key) == newer


def test_a_store_of_a_newer_format_is_refused_whole(
    store: str,
    rows: "Rows",
) -> None:
    rows.age(2)
    with pytest.raises(wmem.StoreError, match=r"format.*upgrade"):
        wmem.open(store, agent_id=AGENT)


@pytest.mark.parametrize("backend", ["disk"], indirect=True)
@pytest.mark.parametrize("columns", [{"mode": 4, "value": b"\x80\x04."}, {"filename": "../secret"}, {"value": None}])
def test_a_foreign_format_row_is_a_typed_error(
    columns: dict[str, object],
    store: str,
    rows: "DiskRows",
) -> None:
    rows.columns("wmem-format", **columns)
    with pytest.raises(wmem.StoreError):
        wmem.open(store, agent_id=AGENT)


@pytest.mark.parametrize("backend", ["disk"], indirect=True)
@pytest.mark.parametrize(
    ("name", "value"),
    [("disk_evil", 1), ("sqlite_cache_size", "8192; DROP TABLE Cache"), ("statistics", 1), ("eviction_policy", "x")],
)
def test_diskcaches_own_settings_in_the_file_change_nothing_that_was_stored(
    name: str,
    value: object,
    store: str,
    rows: "DiskRows",
) -> None:
    before = rows.keys()
    rows.setting(name, value)
    try:
        with wmem.open(store, agent_id=AGENT) as memory:
            assert memory.scope("other").entries.get("key 1") == "value 1"
    except wmem.StoreError as refused:
        assert str(refused)  # noqa: PT017  # either answer will do, as long as it is one of these two
    assert rows.keys() == before


FORGERIES: Mapping[str, object] = {
    "a list of texts": ["x"],
    "a number": 7,
    "a mapping": {"change": "ItemPut"},
    "nothing": None,
    "a change by number": [{"change": 7}],
    "a change by list": [{"change": ["ItemPut"]}],
    "an id that is a list": [{"change": "ItemRemoved", "id": ["x"]}],
    "a key that is a list": [
        {"change": "ItemPut", "id": "x", "content": 1, "created_at": 1, "updated_at": 1, "key": []}
    ],
    "an instant that is text": [
        {"change": "ItemPut", "id": "x", "content": 1, "created_at": "1", "updated_at": 1, "expires_at": "soon"}
    ],
    "a time to live that is text": [
        {"change": "ItemPut", "id": "x", "content": 1, "created_at": 1, "updated_at": 1, "key": "k", "expires_at": "s"}
    ],
    "contents that are no number": [
        {"change": "ItemPut", "id": "x", "content": "all", "created_at": 1, "updated_at": 1, "key": "k"}
    ],
    "no content": [{"change": "ItemPut", "id": "x", "created_at": 1, "updated_at": 1, "key": "k"}],
    "touches that are text": [{"change": "ItemTouched", "id": "m1", "times": "many", "at": 1.0}],
    "touches at no instant": [{"change": "ItemTouched", "id": "m1", "times": 1, "at": "now"}],
    "a facet that is none": [{"change": "Cleared", "facet": "rows", "items": 1, "at": 1.0}],
    "a policy that is none": [{"change": "PolicyChanged", "policy": "{}}", "at": 1.0}],
    "a policy that is a number": [{"change": "PolicyChanged", "policy": 3, "at": 1.0}],
    "a merge from a number": [{"change": "ScopeMerged", "source": 3, "cursor": [1, 2], "items": 1, "at": 1.0}],
    "an erasure of a number": [{"change": "Erased", "ids": 3}],
    "a role that is none": [
        {"change": "ItemPut", "id": "x", "content": 1, "created_at": 1, "updated_at": 1, "role": "root"}
    ],
    "a step that is text": [{"change": "StepAdvanced", "step": "next", "at": 1.0}],
    "a step that is true": [{"change": "StepAdvanced", "step": True, "at": 1.0}],
    "an item of a step that is text": [
        {"change": "ItemPut", "id": "x", "content": 2, "created_at": 1, "updated_at": 1, "step_index": "5"}
    ],
    "a constructor": [
        {"change": "ItemPut", "id": "x", "content": 2, "created_at": 1, "updated_at": 1, "key": "k", "__class__": "os"}
    ],
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_B84_a_forged_record_with_a_good_checksum_is_plain_data_or_a_typed_error(
    forgery: str,
    reopen: Callable[[], wmem.AgentMemory],
    rows: "Rows",
) -> None:
    key = rows.records(NAME)[2]
    _forge(rows, key, FORGERIES[forgery], body=b"{}")
    scope = reopen().scope("damaged")
    for call in (
        lambda: scope.entries.get("key 0"),
        scope.entries.all,
        lambda: scope.entries.get("k"),
        scope.items.all,
        scope.messages.all,
        lambda: scope.pack("message", budget=1_000),
        scope.view,
        lambda: scope.entries.set("key 0", "value"),
        lambda: scope.messages.append({"role": "user", "content": "more"}),
        lambda: scope.entries.update("counter", lambda count: count + 1, 0),
        lambda: [scope.messages.append({"role": "user", "content": "y" * 3_000}) for _ in range(25)],
    ):
        try:
            call()
        except wmem.WmemError as refused:
            assert str(refused)  # noqa: PT017  # any other error fails the test
    assert reopen().scope("other").entries.get("key 1") == "value 1"


@pytest.mark.parametrize(
    "content",
    [
        {"__reduce__": ["os.system", "true"]},
        {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}},
        {"py/object": "os.system"},
        {"~wmem": "object", "type": "os.system", "value": "true"},
        {"~wmem": "bytes", "value": "AAAA"},
        {"change": "Cleared", "facet": "all"},
        "wmem 1 00000000\n[]",
        "wmem-aes 1 00000000 00000000\n",
    ],
)
def test_B84_user_content_that_looks_like_an_envelope_is_plain_data(content: object, url: str) -> None:
    with wmem.open(url, agent_id=AGENT) as memory:
        memory.scope("s").entries.set("k", content)
        memory.scope("s").items.add(json.dumps(content))
        memory.scope("s").messages.append({"role": "user", "content": json.dumps(content)})
    with wmem.open(url, agent_id=AGENT) as memory:
        assert memory.scope("s").entries.get("k") == content
        assert json.loads(memory.scope("s").items.all()[0].content) == content
        assert json.loads(memory.scope("s").messages.all()[0].text) == content


def test_B84_a_new_directory_belongs_to_its_owner_alone(store: str, directory: Path) -> None:
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_B51_what_is_no_store_is_refused_with_its_path_and_left_as_it_is(
    directory: Path, url: str, rows: "Rows"
) -> None:
    directory.mkdir()
    rows.file.write_bytes(b"this was never a database " * 400)
    before = rows.file.read_bytes()
    with pytest.raises(wmem.CorruptionError, match=str(directory)):
        wmem.open(url, agent_id=AGENT)
    assert rows.file.read_bytes() == before


def test_B51_a_store_with_torn_pages_raises_typed_errors_and_loses_no_sibling_file(
    store: str, directory: Path, rows: "Rows", tmp_path: Path
) -> None:
    file = rows.file
    whole = file.read_bytes()
    (tmp_path / "neighbour").write_text("untouched")
    for page in range(1, len(whole) // 4096):
        torn = bytearray(whole)
        torn[page * 4096 : (page + 1) * 4096] = b"\xa5" * 4096
        for side in directory.iterdir():
            side.unlink()
        file.write_bytes(torn)
        try:
            with wmem.open(store, agent_id=AGENT) as memory:
                for name in ("damaged", "other"):
                    scope = memory.scope(name)
                    assert scope.entries.get("key 0") in ("value 0", "again")
                    assert scope.messages.all()
                    scope.entries.set("key 0", "again")
        except wmem.StoreError as refused:
            assert str(directory) in str(refused) or "damaged" in str(refused)  # noqa: PT017  # any other fails
    assert (tmp_path / "neighbour").read_text() == "untouched"


def test_absence_under_damage_is_an_error_for_every_read_and_never_begins_anew(
    reopen: Callable[[], wmem.AgentMemory],
    rows: "Rows",
) -> None:
    rows.put(rows.records(NAME)[2], b"")
    scope = reopen().scope("damaged")
    for call in (
        lambda: scope.items.get("id"),
        lambda: scope.items.exists("id"),
        lambda: scope.messages.get("m7"),
        lambda: scope.entries.update("key 1", lambda value: value, default="begun anew"),
        lambda: scope.entries.get_or_set("key 1", lambda: "begun anew"),
    ):
        with pytest.raises(wmem.CorruptionError, match="damaged"):
            call()


VECTORS = '["agent","~vectors"]'


@pytest.mark.parametrize("place", ["record", "head"])
@pytest.mark.parametrize(
    ("backend", "tampering"), _on_each("a flipped bit", "no bytes", "no row"), indirect=["backend"]
)
def test_tampered_vectors_cost_no_pack_and_no_erasure(
    place: str, tampering: str, store: str, rows: "Rows", tmp_path: Path
) -> None:
    def opened() -> wmem.AgentMemory:
        return wmem.open(store, agent_id=AGENT, embedder=Embedder())

    with opened() as memory:
        items = memory.scope("damaged").items
        puppy = items.add(PUPPY, type="fact")
        memory.scope("damaged").pack("dog", budget=1_000)
        items.add("an automobile", type="fact")
        memory.scope("damaged").pack("dog", budget=1_000)
    key = rows.records(VECTORS)[0] if place == "record" else rows.head(VECTORS)
    TAMPERINGS[rows.backend][tampering](rows, key, tmp_path / "proof")
    for _ in range(2):
        with opened() as memory:
            found = memory.scope("damaged").pack("dog", budget=1_000)
            assert list_recalled_texts(found)[:1] == [PUPPY]
            assert not any("words alone" in warning for warning in found.warnings)
    with opened() as memory:
        assert memory.scope("damaged").erase(puppy.id).complete
        assert list_recalled_texts(memory.scope("damaged").pack("vehicle", budget=1_000))[:1] == ["an automobile"]
    assert not (tmp_path / "proof").exists()
