"""The system's fields of an item in long-term memory: the checksum of its content, and how often that was changed.

They are set where the item is stored, whoever stores it, and verified where it is read.
"""

from hashlib import blake2b

from wmem.errors import CorruptionError
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json

_BYTES = 8


def checksum(content: bytes) -> str:
    """The checksum of a row's content, 16 hexadecimal digits."""
    return blake2b(content, digest_size=_BYTES).hexdigest()


def seal(row: Row) -> Row:
    """The row with its checksum and version: 1, and one more each time its content is changed."""
    current = checksum(row.content)
    rest = load_json(row.rest or b"{}")
    before = rest.get("checksum")
    if before == current and rest.get("version") is not None:
        return row
    rest["version"] = (rest.get("version") or 0) + (before != current)
    rest["checksum"] = current
    return row._replace(rest=dump_json(rest))


def reseal(row: Row, before: bytes) -> Row:
    """A row of which a copy was redacted, with the checksum of what it holds now, if it had that of what it held."""
    rest = load_json(row.rest or b"{}")
    if rest.get("checksum") != checksum(before):
        return row
    return row._replace(rest=dump_json({**rest, "checksum": checksum(row.content)}))


def is_intact(row: Row) -> bool:
    """Whether a row's content is what was stored, as far as that is known."""
    if row.rest is None or b'"checksum"' not in row.rest:
        return True
    current = checksum(row.content)
    if b'"checksum":"%s"' % current.encode() in row.rest:
        return True
    return load_json(row.rest).get("checksum") in (None, current)  # it may be of the metadata


def check_intact(row: Row) -> Row:
    """The row; `CorruptionError` if its content is not what was stored."""
    if not is_intact(row):
        raise CorruptionError(f"item {row.id!r} is damaged: its content is not what was stored")
    return row
