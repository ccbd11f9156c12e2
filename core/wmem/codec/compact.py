"""Numbers, ids and short words in few bytes: what traces and layouts are written in.

Whole numbers take a byte for each seven bits. An id with a ULID or a UUID in it has that in 16 bytes.
"""

import re
import struct
from collections.abc import Sequence
from uuid import UUID

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUES = {char: value for value, char in enumerate(_CROCKFORD)}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ULID = re.compile(r"(?<![0-9A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Z])")
_ULID_CHARS = 26
_PLAIN, _WITH_ULID, _WITH_UUID = range(3)
_SINGLE = struct.Struct("<f")
_MORE, _BITS = 0x80, 0x7F  # of a byte of a whole number: whether another follows, and what it holds
_MOST = 3.4e38  # the largest number that four bytes hold


class Writer:
    """Collects bytes."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def number(self, value: int) -> None:
        """A whole number from 0."""
        while value > _BITS:
            self.data.append(value & _BITS | _MORE)
            value >>= 7
        self.data.append(value)

    def integer(self, value: int) -> None:
        """Any whole number."""
        self.number(to_natural(value))

    def real(self, value: float) -> None:
        """A number to seven digits, in four bytes."""
        self.data += _SINGLE.pack(max(-_MOST, min(value, _MOST)))

    def raw(self, value: bytes) -> None:
        """Bytes with their number."""
        self.number(len(value))
        self.data += value

    def text(self, value: str) -> None:
        """Any text."""
        self.raw(value.encode("utf-8", "surrogatepass"))

    def word(self, value: str, known: Sequence[str]) -> None:
        """A text that is mostly one of those known, in one byte."""
        place = known.index(value) + 1 if value in known else 0
        self.number(place)
        if not place:
            self.text(value)

    def id(self, value: str) -> None:
        """An id."""
        ulid = _ULID.search(value)
        match = ulid or _UUID.search(value)
        if match is None:
            raw = value.encode("utf-8", "surrogatepass")
            self.number(len(raw) * 3 + _PLAIN)
            self.data += raw
            return
        before, after = (
            each.encode("utf-8", "surrogatepass") for each in (value[: match.start()], value[match.end() :])
        )
        self.number((len(before) + len(after)) * 3 + (_WITH_ULID if ulid else _WITH_UUID))
        if before or after:
            self.number(len(before))
        self.data += before + after
        self.data += _ulid_bytes(match[0]) if ulid else UUID(match[0]).bytes


class Reader:
    """Reads what a `Writer` collected; `ValueError` for anything else."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def exhausted(self) -> bool:
        """Whether all was read."""
        return self._at >= len(self._data)

    def take(self, size: int) -> bytes:
        """So many bytes."""
        end = self._at + size
        if end > len(self._data):
            raise ValueError("it ends too early")
        piece = self._data[self._at : end]
        self._at = end
        return piece

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(len(self._data) - self._at)

    def number(self) -> int:
        """See `Writer.number`."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & _BITS) << shift
            if byte < _MORE:
                return value
            shift += 7

    def integer(self) -> int:
        """See `Writer.integer`."""
        return to_integer(self.number())

    def real(self) -> float:
        """See `Writer.real`."""
        value: float = _SINGLE.unpack(self.take(_SINGLE.size))[0]
        return float(f"{value:.7g}")

    def raw(self) -> bytes:
        """See `Writer.raw`."""
        return self.take(self.number())

    def text(self) -> str:
        """See `Writer.text`."""
        return self.raw().decode("utf-8", "surrogatepass")

    def word(self, known: Sequence[str]) -> str:
        """See `Writer.word`."""
        place = self.number()
        if place > len(known):
            raise ValueError("a word that this version does not know")
        return known[place - 1] if place else self.text()

    def id(self) -> str:
        """See `Writer.id`."""
        size, kind = divmod(self.number(), 3)
        if kind == _PLAIN:
            return self.take(size).decode("utf-8", "surrogatepass")
        split = self.number() if size else 0
        around = self.take(size)
        core = self.take(16)
        within = _ulid_text(core) if kind == _WITH_ULID else str(UUID(bytes=core))
        before, after = (each.decode("utf-8", "surrogatepass") for each in (around[:split], around[split:]))
        return f"{before}{within}{after}"


def to_natural(value: int) -> int:
    """Any whole number as one from 0: small ones stay small."""
    return value << 1 if value >= 0 else (-value << 1) - 1


def to_integer(value: int) -> int:
    """See `to_natural`."""
    return value >> 1 if not value & 1 else -(value + 1 >> 1)


def _ulid_bytes(text: str) -> bytes:
    value = 0
    for char in text:
        value = value << 5 | _VALUES[char]
    return value.to_bytes(16, "big")


def _ulid_text(data: bytes) -> str:
    value = int.from_bytes(data, "big")
    return "".join(_CROCKFORD[value >> 5 * place & 31] for place in reversed(range(_ULID_CHARS)))


def ulid_time(text: str) -> float | None:
    """The instant in a ULID, UTC epoch seconds; None for any other text."""
    if _ULID.fullmatch(text) is None:
        return None
    return int.from_bytes(_ulid_bytes(text)[:6], "big") / 1_000
