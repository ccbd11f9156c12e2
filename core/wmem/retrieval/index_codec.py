"""A recall index as bytes and back, so that a process need not analyse again what an earlier one did.

Stored are the attributes of the postings and of the neighbour graph, whatever they are, and for each row that was
indexed a fingerprint, by which a reader sees what has changed since. Nothing of rows that are gone is stored.
"""

import sys
import unicodedata
from array import array
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, compress
from typing import Any, NamedTuple
from zlib import crc32

from wmem.analysis.analyzer import Analyzer
from wmem.analysis.plain_spelling import has_simplifier
from wmem.errors import CorruptionError
from wmem.model.history import Incarnation
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.retrieval.postings import Postings
from wmem.retrieval.recall_index import RecallIndex

INDEX_VERSION = 11
"""To be raised by whoever changes how a text is analysed, or what is computed of it: older indexes are built anew."""

_SAMPLE = "Running generously, the ponies' owners organized twenty meetings, José one in 臺灣"
_DAMAGE = (AttributeError, CorruptionError, LookupError, OverflowError, StopIteration, TypeError, ValueError)


class StoredIndex(NamedTuple):
    """An index as it was stored.

    Attributes:
        ids: Of its rows, in the order that the state had them in.
        fingerprints: Of these rows, see `row_fingerprint`.
        incarnation: Its scope's.
    """

    recall: RecallIndex
    ids: Sequence[str]
    fingerprints: Sequence[int]
    incarnation: Incarnation


class Dump(NamedTuple):
    """Copies of what an index holds, to be encoded after its lock was left.

    Attributes:
        rows: Of its texts, in the order of the state.
        has_tombstones: Whether texts that are gone are in it, which are not to be stored.
    """

    rows: Sequence[Row]
    parts: Mapping[str, Any]
    blocks: Sequence[bytes]
    has_tombstones: bool

    @property
    def expires_at(self) -> float | None:
        """When the last row expires; None if one never does."""
        latest = 0.0
        for row in self.rows:
            if row.expires_at is None:
                return None
            latest = max(latest, row.expires_at)
        return latest


def dump_index(index: RecallIndex, rows: Iterable[Row]) -> Dump:
    """Copy what an up-to-date index holds.

    Args:
        rows: Those of the scope, in the order of its state.
    """
    index.sort()
    postings = index.index.postings
    held = [row for row in rows if row.id in postings.number_by_id]
    blocks: list[bytes] = []
    parts = {name: _encode(part.list_attributes(), blocks) for name, part in index.parts._asdict().items()}
    return Dump(held, parts, blocks, postings.has_tombstones)


def encode_index(dump: Dump, incarnation: Incarnation) -> bytes:
    """What the dump of an index of a scope in this incarnation is stored as."""
    if dump.has_tombstones:
        dump = _compact(dump)
    prints = Fingerprints()
    blocks = [*dump.blocks, array("q", map(prints.of, dump.rows)).tobytes()]
    head = {
        "made by": _maker(),
        "incarnation": incarnation.chain,
        "sizes": [len(block) for block in blocks],
        "parts": dump.parts,
    }
    return b"".join((dump_json(head), b"\n", *blocks))


def _compact(dump: Dump) -> Dump:
    """The dump without texts that are gone, nor their terms."""
    rest = iter([memoryview(block) for block in dump.blocks])
    postings, steps = Postings(), _decode(dump.parts["postings"], Postings().list_attributes(), rest)
    try:
        while True:
            next(steps)
    except StopIteration as done:
        list(postings.restore(done.value))
    live = compress(enumerate(postings.ids), postings.columns.live)
    postings.number_by_id = {id: number for number, id in live}
    blocks: list[bytes] = []
    part = _encode(postings.without_tombstones().list_attributes(), blocks)
    return dump._replace(parts={**dump.parts, "postings": part}, blocks=[*blocks, *map(bytes, rest)])


def decode_index(content: bytes, analyzer: Analyzer) -> Generator[None, None, StoredIndex | None]:
    """Read, in steps, what `encode_index` wrote; None if it is no index, or this process would make another one."""
    head, _, body = content.partition(b"\n")
    try:
        fields = load_json(head)
        yield
        if fields["made by"] != _maker():
            return None
        blocks = _cut(memoryview(body), fields["sizes"])
        index = RecallIndex(analyzer)
        for name, part in index.parts._asdict().items():
            attributes = yield from _decode(fields["parts"][name], part.list_attributes(), blocks)
            yield from part.restore(attributes)
        postings = index.index.postings
        fingerprints = _to_array("q", next(blocks))
        incarnation = Incarnation(int(fields["incarnation"]))
    except _DAMAGE:
        return None
    whole = len(fingerprints) == len(postings.number_by_id) == len(postings.columns.lengths)
    return StoredIndex(index, postings.ids, fingerprints, incarnation) if whole else None


class Fingerprints:
    """Fingerprints of rows: equal for rows of which the same is indexed."""

    __slots__ = ("_kinds",)

    def __init__(self) -> None:
        self._kinds: dict[tuple[str | None, ...], int] = {}

    def of(self, row: Row) -> int:
        """The fingerprint of one row, the same in each process."""
        kind = row.key, row.role, row.type
        seed = self._kinds.get(kind)
        if seed is None:
            seed = self._kinds[kind] = crc32(dump_json(kind))
        # Of numbers alone: the hash of a text differs from process to process.
        return hash((crc32(row.content, seed), len(row.content), row.created_at, row.updated_at, row.tokens or 0))


def _maker() -> list[object]:
    """What the bytes of an index depend on beside the texts."""
    sizes = [array(code).itemsize for code in "IQd"]
    sample = crc32(" ".join(Analyzer().to_terms(_SAMPLE)).encode())
    return [
        INDEX_VERSION,
        sample,
        has_simplifier(),
        unicodedata.unidata_version,
        sys.byteorder,
        sizes,
        hash((1.5, 2)),
    ]


# -- attributes as JSON, and arrays as blocks of bytes


def _encode(attributes: Mapping[str, Any], blocks: list[bytes]) -> dict[str, Any]:
    return {name: _encode_value(value, blocks) for name, value in attributes.items()}


def _encode_value(value: Any, blocks: list[bytes]) -> list[Any]:
    match value:
        case array():
            blocks.append(value.tobytes())
            return ["array", value.typecode]
        case tuple():
            return ["columns", [_encode_value(each, blocks) for each in value]]
        case [array() as first, *_]:
            blocks.append(array("I", map(len, value)).tobytes())
            blocks.append(b"".join(value))
            return ["arrays", first.typecode]
        case dict():
            # Lists in it are copied, too: the index may go on before this is written.
            return ["dict", list(value), [each.copy() if isinstance(each, list) else each for each in value.values()]]
        case list():
            return ["plain", value.copy()]
        case _:
            return ["plain", value]


def _decode(
    stored: Mapping[str, Any], fresh: Mapping[str, Any], blocks: Iterator[memoryview]
) -> Generator[None, None, dict[str, Any]]:
    """The attributes that `_encode` was handed, each of the type that it has in a new object."""
    if stored.keys() != fresh.keys():
        raise ValueError("other attributes")
    attributes = {}
    for name, value in stored.items():
        attributes[name] = _decode_value(value, type(fresh[name]), blocks)
        yield
    return attributes


def _decode_value(stored: Sequence[Any], kind: type, blocks: Iterator[memoryview]) -> Any:
    match stored:
        case ["array", str(code)]:
            return _to_array(code, next(blocks))
        case ["columns", list(columns)]:
            return kind(*[_decode_value(each, array, blocks) for each in columns])
        case ["arrays", str(code)]:
            lengths, joined = _to_array("I", next(blocks)), _to_array(code, next(blocks))
            ends = accumulate(lengths)
            return [joined[end - length : end] for length, end in zip(lengths, ends, strict=True)]
        case ["dict", list(keys), list(values)]:
            named = [tuple(key) if isinstance(key, list) else key for key in keys]
            return kind(dict(zip(named, values, strict=True)))  # a `Counter` would count the pairs
        case ["plain", value] if isinstance(value, kind):
            return value
        case _:
            raise ValueError("of another kind")


def _to_array(code: str, block: memoryview) -> "array[Any]":
    made = array(code)
    made.frombytes(block)
    return made


def _cut(body: memoryview, sizes: Sequence[int]) -> Iterator[memoryview]:
    if sum(sizes) != len(body):
        raise ValueError("not whole")
    return iter([body[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)])
