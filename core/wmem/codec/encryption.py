"""AES-256-GCM codec: the payloads of the JSON codec, encrypted and bound to their scope and record.

A payload is a header line with the key id, its place in the history (`wmem.codec.link`), a
random nonce, and the ciphertext with its tag. The tag also authenticates the line, the path,
the record id or checkpoint cursor, and the place; format 1 had no place. Each scope has its own
key, derived from the ring's, so the limit of 2^32 random nonces under one key applies per scope.
"""

import hashlib
import hmac
import os
import zlib
from collections.abc import Sequence
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from wmem.codec.codec import JsonCodec
from wmem.codec.frame import (
    VERSION_DIGITS_LIMIT,
    corruption_error,
    frame_payload,
    location_checksum,
    newer_format_error,
    path_json,
    unframe_payload,
)
from wmem.codec.keyring import KeyRing
from wmem.codec.link import NO_PLACE, PLACE_SIZE, Link
from wmem.errors import CorruptionError, StoreError, WrongKeyError
from wmem.model.change import Change, Checkpoint
from wmem.model.history import Cursor, Path

_VERSION = 2
_PLACED_HEAD = b"wmem-aes %d " % _VERSION  # version 1 stated no place
_SNAPSHOT_VERSION = 1
_SNAPSHOT_HEAD = b"wmem-snapshot-aes "
_COMPRESSION = 1  # the fastest: more takes four times as long for a tenth
_NONCE_SIZE = 12
_TAG_SIZE = 16
_MAX_CACHED_CIPHERS = 1_024  # scopes whose ciphers are cached
_JSON_CODEC = JsonCodec()


class AesCodec:
    """Encrypts with a ring's active key and decrypts with any of its keys.

    Two codecs are equal when their rings are.
    """

    __slots__ = ("_cipher", "_head", "_keys")
    chained = True

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys
        self._head = b"wmem-aes %d %s " % (_VERSION, keys.active.encode())
        # Per codec, not per module: cached keys are freed with the ring.
        self._cipher = lru_cache(_MAX_CACHED_CIPHERS)(_scope_cipher)

    def encode_record(self, changes: Sequence[Change], path: Path, record_id: int, place: bytes = NO_PLACE, /) -> bytes:
        plain = _JSON_CODEC.encode_record(changes, path, record_id)
        return self._encrypt(plain, path, b"record %d" % record_id, location_checksum(path, record_id), place)

    def decode_record(self, payload: bytes, path: Path, record_id: int, /) -> tuple[Change, ...]:
        plain = self._decrypt(payload, path, b"record %d" % record_id, location_checksum(path, record_id))
        return _JSON_CODEC.decode_record(plain, path, record_id)

    def encode_checkpoint(self, checkpoint: Checkpoint, path: Path, upto: Cursor, place: bytes = NO_PLACE, /) -> bytes:
        plain = _JSON_CODEC.encode_checkpoint(checkpoint, path, upto)
        return self._encrypt(plain, path, b"checkpoint %d.%d" % upto, location_checksum(path, upto.chain), place)

    def decode_checkpoint(self, payload: bytes, path: Path, base: Cursor, /) -> Checkpoint:
        plain = self._decrypt(payload, path, b"checkpoint %d.%d" % base, location_checksum(path, base.chain))
        return _JSON_CODEC.decode_checkpoint(plain, path, base)

    def follow(self, link: Link, payload: bytes, version: int, record_id: int, /) -> tuple[Link, str | None]:
        place = _read_place(payload)
        if place is not None:
            return link.follow(place, version, record_id)
        if link.placed and payload.startswith(b"wmem-aes "):  # in clear, it is read because the ring says so
            return link.after_damage(), "is of an older format than what was written before it"
        return link.after_placeless(version, record_id), None

    def checkpoint_link(self, payload: bytes, /) -> Link:
        place = _read_place(payload)
        return Link() if place is None else Link.from_place(place)

    def size(self, payload: bytes, /) -> int:
        return len(payload)

    def is_current(self, payload: bytes, /) -> bool:
        return payload.startswith(self._head)

    def _encrypt(self, plain: bytes, path: Path, record_label: bytes, location: int, place: bytes) -> bytes:
        key = self._keys.key(self._keys.active)
        assert key is not None  # a ring always contains its active key
        nonce = os.urandom(_NONCE_SIZE)
        associated = _to_associated_data(self._head, record_label, path, place)
        sealed = self._cipher(key, path).encrypt(nonce, plain, associated)
        return frame_payload(self._head, b"%s%s%s" % (place, nonce, sealed), location)

    def _decrypt(self, payload: bytes, path: Path, record_label: bytes, location: int) -> bytes:
        head, body = unframe_payload(payload, location, path)
        match head.split(b" "):
            case [b"wmem-aes", version, key_id, b""] if version.isdigit() and len(version) < VERSION_DIGITS_LIMIT:
                if int(version) > _VERSION:
                    raise newer_format_error(path, int(version), _VERSION)
                key = self._find_key(key_id, path)
            case [b"wmem", _, b""]:
                if self._keys.plaintext:
                    return payload
                msg = (
                    f"scope {path!r} was stored without a key; to read it too, open it with KeyRing(…, plaintext=True)"
                )
                raise WrongKeyError(msg)
            case _:
                raise corruption_error(path, "a payload that is foreign")
        start = PLACE_SIZE if int(version) == _VERSION else 0
        if len(body) < start + _NONCE_SIZE + _TAG_SIZE:
            raise corruption_error(path, f"an encrypted payload of {len(body)} bytes")
        associated = _to_associated_data(head, record_label, path, body[:start])
        sealed = start + _NONCE_SIZE
        try:
            return self._cipher(key, path).decrypt(body[start:sealed], memoryview(body)[sealed:], associated)
        except InvalidTag as exc:
            raise corruption_error(path, "an encrypted payload that was changed, or belongs elsewhere") from exc

    def _find_key(self, key_id: bytes, path: Path) -> bytes:
        shown = key_id.decode("ascii", "replace")
        key = self._keys.key(shown)
        if key is None:
            known = ", ".join(self._keys.ids)
            msg = f"scope {path!r} is encrypted under the key {shown!r}, which is not in the ring: it holds {known}"
            raise WrongKeyError(msg)
        return key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AesCodec) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)


def _scope_cipher(key: bytes, path: Path) -> AESGCM:
    return AESGCM(hmac.digest(key, b"wmem scope key %s" % path_json(path), hashlib.sha256))


def _to_associated_data(head: bytes, record_label: bytes, path: Path, place: bytes) -> bytes:
    """Associated data of AES-GCM, unique to each payload; without a place it is that of format 1."""
    return b"%s%s %s%s" % (head, record_label, path_json(path), place)


def _read_place(payload: bytes) -> bytes | None:
    """The place that an authentic payload states; None if it states none."""
    if not payload.startswith(_PLACED_HEAD):
        return None
    start = payload.index(b"\n") + 1
    return payload[start : start + PLACE_SIZE]


# -- snapshots


def is_sealed(snapshot: bytes) -> bool:
    """Whether a snapshot is encrypted."""
    return snapshot.startswith(_SNAPSHOT_HEAD)


def seal_snapshot(document: bytes, keys: KeyRing) -> bytes:
    """Compress a snapshot and encrypt it as a whole under the active key.

    A line, ``wmem-snapshot-aes 1`` and the id of the key; then nonce (12 bytes) and AES-256-GCM of the document as zlib
    has compressed it, authenticated with the line. The key is HMAC-SHA-256, under the ring's, of ``wmem snapshot key``.
    """
    key = keys.key(keys.active)
    assert key is not None  # a ring always contains its active key
    head = b"%s%d %s\n" % (_SNAPSHOT_HEAD, _SNAPSHOT_VERSION, keys.active.encode())
    nonce = os.urandom(_NONCE_SIZE)
    return b"".join((head, nonce, _snapshot_cipher(key).encrypt(nonce, zlib.compress(document, _COMPRESSION), head)))


def open_snapshot(snapshot: bytes, keys: KeyRing | None) -> bytes:
    """The document of an encrypted snapshot.

    Raises:
        WrongKeyError: It is encrypted under a key that is not in the ring.
        StoreError: A newer version of wmem wrote it.
        CorruptionError: It was changed, or is not whole.
    """
    line, _, body = snapshot.partition(b"\n")
    match line.split(b" "):
        case [_, version, key_id] if version.isdigit() and len(version) < VERSION_DIGITS_LIMIT:
            shown = key_id.decode("ascii", "replace")
        case _:
            raise CorruptionError("this snapshot is damaged and was not restored: its head does not read")
    if int(version) > _SNAPSHOT_VERSION:
        msg = f"this snapshot is of version {int(version)}; this version of wmem reads up to {_SNAPSHOT_VERSION}"
        raise StoreError(f"{msg}: upgrade it")
    key = None if keys is None else keys.key(shown)
    if key is None:
        known = "no key was given" if keys is None else f"the ring holds {', '.join(keys.ids)}"
        raise WrongKeyError(f"this snapshot is encrypted under the key {shown!r}, and {known}: pass key=")
    try:
        packed = _snapshot_cipher(key).decrypt(body[:_NONCE_SIZE], body[_NONCE_SIZE:], line + b"\n")
        return zlib.decompress(packed)
    except (InvalidTag, ValueError, zlib.error) as exc:
        fault = type(exc).__name__
    raise CorruptionError(f"this snapshot was changed or cut off, and was not restored ({fault})")


def _snapshot_cipher(key: bytes) -> AESGCM:
    return AESGCM(hmac.digest(key, b"wmem snapshot key", hashlib.sha256))
