"""A store that is damaged, forged, under another key or out of reach is told of without what it holds."""

import base64
import json
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import wmem
from tests.leaks import CONTENT, NAME, Watch, find_marks, watch
from wmem.codec.codec import FORMAT_VERSION, JsonCodec
from wmem.codec.frame import frame_payload, location_checksum
from wmem.errors import CorruptionError
from wmem.log import find_logger
from wmem.model.change import Checkpoint, ItemPut
from wmem.model.history import Cursor
from wmem.model.row import Row

KEY = bytes(range(130, 162))
PATH = ("agent", "session")


def _store_content(url: str, key: bytes | None = None) -> None:
    with wmem.open(url, agent_id="agent", key=key) as memory:
        session = memory.scope("session")
        session.entries.set(NAME, CONTENT, tags=[CONTENT], metadata={CONTENT: CONTENT})
        session.items.add(CONTENT, tags=[CONTENT], task_id=CONTENT)
        session.messages.append({"role": "user", "content": CONTENT, "id": NAME, "metadata": {"a": CONTENT}})


def _use_everything(watching: Watch, url: str, **options: Any) -> None:
    """Open a store, read all of it, write to it, and close it; whatever fails is noted."""
    memory: Any = watching.run(partial(wmem.open, url, agent_id="agent", **options))
    if memory is None:
        return
    session = memory.scope("session")
    acts: list[Callable[[], Any]] = [
        partial(session.entries.get, NAME), session.entries.all, partial(session.entries.set, "k", 1),
        session.items.all, partial(session.items.search, "PIN"), partial(session.items.fetch, NAME),
        session.messages.all, partial(session.pack, "PIN", budget=300), partial(session.recall, "PIN"),
        session.export, session.stats, session.view, memory.changes, memory.stats, memory.maintain, memory.rotate,
        partial(session.import_, {}), partial(session.erase, NAME), session.dispose, memory.close,
    ]  # fmt: skip
    for act in acts:
        watching.run(act)
    memory.close()


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
@pytest.mark.parametrize("scheme", ["sqlite", "disk"])
def test_a_flipped_byte_is_told_without_the_content(scheme: str, key: bytes | None, tmp_path: Path) -> None:
    place = tmp_path / "store"
    _store_content(f"{scheme}://{place}", key)
    file = place if scheme == "sqlite" else place / "cache.db"
    whole = file.read_bytes()
    with watch() as watching:
        for offset in range(40, len(whole), len(whole) // 24):
            damaged = bytearray(whole)
            for each in range(offset, min(offset + 400, len(whole)), 23):
                damaged[each] ^= 0xA5
            for beside in file.parent.glob(f"{file.name}-*"):
                beside.unlink()
            file.write_bytes(damaged)
            _use_everything(watching, f"{scheme}://{place}", key=key)
    assert watching.errors
    assert find_marks(watching.texts) == []


def _leaves(document: Any) -> Iterator[tuple[list[Any], Any]]:
    """The places in a JSON document, each with what holds it."""
    pairs = document.items() if isinstance(document, dict) else enumerate(document)
    for name, value in list(pairs):
        yield document, name
        if isinstance(value, dict | list):
            yield from _leaves(value)


def _forgeries(payload: bytes, location: int) -> Iterator[bytes]:
    """A payload, each part of which in turn is content of a wrong shape, under a right checksum."""
    head, _, body = payload.partition(b"\n")
    text, _, blobs = body.partition(b"\n")
    for forged in (CONTENT, [CONTENT], {CONTENT: CONTENT}, None, {CONTENT: 1, "rows": [CONTENT]}):
        count = len(list(_leaves(json.loads(text))))
        for number in range(count):
            document = json.loads(text)
            holder, name = list(_leaves(document))[number]
            holder[name] = forged
            made = json.dumps(document).encode() + b"\n" + blobs
            yield frame_payload(b"wmem %d " % FORMAT_VERSION, made, location)
    yield frame_payload(b"wmem %d " % FORMAT_VERSION, json.dumps(CONTENT).encode()[:-2] + b"\n", location)
    yield frame_payload(b"wmem %d " % FORMAT_VERSION, CONTENT.encode() + b"\xff\n", location)
    assert head


def test_a_forged_record_or_checkpoint_is_told_without_its_content() -> None:
    codec = JsonCodec()
    row = Row(NAME, json.dumps(CONTENT).encode(), 1.0, 1.0, NAME, tags=(CONTENT,), rest=b"{}")
    record = codec.encode_record((ItemPut(row), ItemPut(row)), PATH, 7)
    upto = Cursor(3, 9)
    checkpoint = codec.encode_checkpoint(Checkpoint((row, row), None, False, (), (), (), ()), PATH, upto)
    with watch() as watching:
        for forged in _forgeries(record, location_checksum(PATH, 7)):
            watching.run(partial(codec.decode_record, forged, PATH, 7))
        for forged in _forgeries(checkpoint, location_checksum(PATH, upto.chain)):
            watching.run(partial(codec.decode_checkpoint, forged, PATH, upto))
    assert {type(exc) for exc in watching.errors} == {CorruptionError}
    assert find_marks(watching.texts) == []


def test_a_row_whose_bytes_are_no_item_is_told_without_them(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/store.db"
    codec = JsonCodec()
    contents = [b'"' + CONTENT.encode(), json.dumps({"role": CONTENT}).encode(), json.dumps([CONTENT]).encode()]
    contents += [json.dumps({"~wmem": CONTENT, "value": CONTENT}).encode(), b'"\xff' + CONTENT.encode() + b'"']
    shapes: dict[str, dict[str, Any]] = {"e": {"key": "k"}, "i": {}, "m": {"role": "user"}}
    marred = [{"metadata": CONTENT, "participants": CONTENT}, {"origins": [CONTENT]}, {"origins": [{CONTENT: CONTENT}]}]
    rests = [None, *(json.dumps(each).encode() for each in marred), CONTENT.encode()]
    rows = [
        Row(f"r{number}{shape}", content, 1.0, 1.0, rest=rest, **fields)
        for number, content in enumerate(contents)
        for rest in rests
        for shape, fields in shapes.items()
    ]
    with wmem.open(url, agent_id="agent") as memory:
        memory.scope("session").entries.set("real", 1)
    file = tmp_path / "store.db"
    whole = file.read_bytes()
    with watch() as watching:
        for row in rows:
            file.write_bytes(whole)
            with closing(sqlite3.connect(file)) as connection, connection:
                [(place, record_id)] = connection.execute("SELECT place, id FROM record").fetchall()[-1:]
                payload = codec.encode_record((ItemPut(row),), PATH, record_id)
                connection.execute("UPDATE record SET payload = ? WHERE place = ?", (payload, place))
            _use_everything(watching, url)
    assert watching.errors
    assert find_marks(watching.texts) == []


def test_another_key_or_none_is_told_without_the_content_and_the_key(tmp_path: Path) -> None:
    for stored, given in ((KEY, None), (None, KEY), (KEY, wmem.KeyRing.new_key())):
        url = f"sqlite://{tmp_path}/{stored is None}{given is None}.db"
        _store_content(url, stored)
        with watch() as watching:
            _use_everything(watching, url, key=given)
        assert watching.errors
        assert find_marks(watching.texts) == []
        keys = [KEY.hex(), base64.b64encode(KEY).decode(), *([given] if isinstance(given, str) else [])]
        assert find_marks(watching.texts, keys) == []


LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
SPOOFS = "\u202e\u2066\u200b\u00ad\ufeff"


@pytest.mark.parametrize("end", LINE_ENDS, ids=ascii)
def test_no_new_name_with_a_line_end_is_taken(end: str) -> None:
    name = f"a{end}WARNING forged"
    with watch() as watching:
        session = wmem.open("memory://", agent_id="a").scope("s")
        acts: list[Callable[[], Any]] = [
            lambda: wmem.open("memory://", agent_id=name).scope("s").entries.set("k", 1),
            lambda: session.child(name).entries.set("k", 1),
            partial(session.entries.set, name, 1),
            partial(session.messages.append, {"role": "user", "content": "x", "id": name}),
        ]
        for act in acts:
            watching.run(act)
    assert [type(exc) for exc in watching.errors] == [wmem.InvalidInputError] * len(acts)
    assert [line for line in watching.lines if not line.isprintable()] == []


def test_no_name_error_or_tag_begins_a_log_line_or_hides_a_part_of_one() -> None:
    name = f"agent{SPOOFS}"
    with watch() as watching:
        memory = wmem.open("memory://", agent_id=name)
        session = memory.scope(f"s{SPOOFS}", policy=wmem.Policy.queue(max_items=2))
        for number in range(4):
            session.entries.set(f"k{SPOOFS}{number}", 1)
            session.entries.get(f"k{SPOOFS}{number}")
            session.queue.memorize("x", importance=0.9, tags=[f"t{LINE_ENDS}"])
        session.entries.remove(f"k{SPOOFS}0")
        session.dispose()
        session.dispose()
        # As an earlier version may have stored it, and as a driver may word its error.
        old = memory.scope("old")
        old._handle.path = (name, f"old{LINE_ENDS}forged")
        for act in (partial(old.entries.set, "k", 1), partial(old.entries.get, "k"), old.clear, old.dispose):
            watching.run(act)
        find_logger("wmem.scope").warning("failed: %s", wmem.StoreError(f"driver{LINE_ENDS}forged"))
        memory.close()
    assert len(watching.lines) > 12
    assert [line for line in watching.lines if not line.isprintable()] == []


def test_logging_of_wmem_costs_nothing_where_it_is_off() -> None:
    logger = find_logger("wmem.scope")
    assert find_logger("wmem.scope") is logger
    assert len(logger.filters) == 1
    assert not logger.isEnabledFor(logging.DEBUG)
