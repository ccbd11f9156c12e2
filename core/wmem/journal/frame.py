"""The first line of every payload: what it is, its format, and a checksum.

The checksum covers path and place too: a payload that was moved is as foreign as one
that was damaged. The line is built alike in every format and by every codec, so that
what is newer, or needs a key, is known from damage.
"""

import zlib
from functools import lru_cache

from wmem.errors import CorruptionError, StoreError
from wmem.model.history import Path
from wmem.model.values import dump_json

__all__ = ["DIGITS", "damaged", "framed", "newer", "path_json", "seal", "unframed"]

DIGITS = 8  # fewer than these a version has

_CHECK_SIZE = 8


def seal(path: Path, place: int) -> int:
    """What binds a payload to its place: a record's id, or the chain of a checkpoint's cursor."""
    return zlib.crc32(b"%d]" % place, _path_seal(path))


def framed(head: bytes, body: bytes, seal: int) -> bytes:
    """A payload; `head` is words, each followed by a space."""
    return b"%s%08x\n%s" % (head, zlib.crc32(body, zlib.crc32(head, seal)), body)


def unframed(payload: bytes, seal: int, path: Path) -> tuple[bytes, bytes]:
    """The head and the body of a payload.

    Raises:
        CorruptionError: Its checksum does not match.
    """
    line, _, body = payload.partition(b"\n")
    head, check = line[:-_CHECK_SIZE], line[-_CHECK_SIZE:]
    if check != b"%08x" % zlib.crc32(body, zlib.crc32(head, seal)):
        raise damaged(path, "a payload that is foreign, or whose checksum does not match")
    return head, body


def damaged(path: Path, what: str) -> CorruptionError:
    """The error for a payload that cannot be read."""
    return CorruptionError(f"scope {path!r} holds {what}; it was left where it is")


def newer(path: Path, version: int, known: int) -> StoreError:
    """The error for a payload that only a later version of wmem can read."""
    return StoreError(f"{path!r} was written in format {version}; this version of wmem reads up to {known}: upgrade it")


@lru_cache(4096)
def path_json(path: Path) -> bytes:
    """A path as JSON, which no other path shares."""
    return dump_json(path)


@lru_cache(4096)
def _path_seal(path: Path) -> int:
    """The seal of ``[*path, place]`` as JSON, up to the place."""
    return zlib.crc32(dump_json([*path, 0])[: -len("0]")])
