"""Header line of every payload: kind, format version and checksum.

The checksum also covers the path and the record id (or checkpoint cursor), so a payload
that was moved elsewhere fails like a damaged one. The line is the same in every format and
codec, so that a newer format or a missing key can be told from damage.
"""

import zlib
from functools import lru_cache

from wmem.errors import CorruptionError, StoreError
from wmem.model.history import Path
from wmem.model.values import dump_json

VERSION_DIGITS_LIMIT = 8  # a version number has fewer digits

_CHECKSUM_SIZE = 8


def location_checksum(path: Path, id_or_chain: int) -> int:
    """Checksum of path and `place`; `place` is the record id, or the chain of a checkpoint's cursor."""
    return zlib.crc32(b"%d]" % id_or_chain, _path_checksum(path))


def frame_payload(head: bytes, body: bytes, location: int) -> bytes:
    """Build a payload; `head` consists of words, each followed by a space."""
    return b"%s%08x\n%s" % (head, zlib.crc32(body, zlib.crc32(head, location)), body)


def unframe_payload(payload: bytes, location: int, path: Path) -> tuple[bytes, bytes]:
    """Split a payload into its head and body.

    Raises:
        CorruptionError: Its checksum does not match.
    """
    line, _, body = payload.partition(b"\n")
    head, check = line[:-_CHECKSUM_SIZE], line[-_CHECKSUM_SIZE:]
    if check != b"%08x" % zlib.crc32(body, zlib.crc32(head, location)):
        raise corruption_error(path, "a payload that is foreign, or whose checksum does not match")
    return head, body


def corruption_error(path: Path, what: str) -> CorruptionError:
    """The error for a payload that cannot be read."""
    return CorruptionError(f"scope {path!r} holds {what}; it was left where it is")


def newer_format_error(path: Path, version: int, supported: int) -> StoreError:
    """The error for a payload that only a later version of wmem can read."""
    return StoreError(
        f"{path!r} was written in format {version}; this version of wmem reads up to {supported}: upgrade it"
    )


@lru_cache(4096)
def path_json(path: Path) -> bytes:
    """A path as JSON; distinct paths give distinct JSON."""
    return dump_json(path)


@lru_cache(4096)
def _path_checksum(path: Path) -> int:
    """Checksum of the JSON ``[*path, place]`` up to the place."""
    return zlib.crc32(dump_json([*path, 0])[: -len("0]")])
