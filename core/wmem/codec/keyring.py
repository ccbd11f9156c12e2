"""Encryption keys of a store: one active key that encrypts, and older keys that only decrypt."""

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Final

from wmem.errors import InvalidInputError

_KEY_SIZE: Final = 32
_HEX_SIZE: Final = 64
_BASE64_SIZE: Final = 44
_ID_SIZE: Final = 4
_NEW_KEY_HINT = "make one with wmem.KeyRing.new_key()"


class KeyRing:
    """The keys of a store; immutable, and equal to a ring of the same keys.

    Args:
        active: The key that encrypts all writes. A key is 32 random bytes, or their base64 or
            hexadecimal text; see `new_key`.
        others: Older keys under which records may still be stored; they only decrypt.
        plaintext: Also read unencrypted records, until `AgentMemory.rotate` has encrypted
            them. Leave it off otherwise: with it, anybody who can write to the store can
            add records without knowing a key.

    Raises:
        InvalidInputError: A key is invalid, such as a passphrase, or is given twice.
    """

    __slots__ = ("_active", "_keys", "_plaintext")

    def __init__(self, active: bytes | str, /, *others: bytes | str, plaintext: bool = False) -> None:
        keys: dict[str, bytes] = {}
        for given in (active, *others):
            key = _check_key(given)
            if keys.setdefault(key_id(key), key) is not key:
                raise InvalidInputError(f"the key {key_id(key)!r} is in the ring twice")
        self._keys = keys
        self._active = next(iter(keys))
        self._plaintext = plaintext

    @staticmethod
    def new_key() -> str:
        """A new random key as base64 text. Store it with your secrets: without it, what it encrypts is lost."""
        return base64.b64encode(secrets.token_bytes(_KEY_SIZE)).decode("ascii")

    @property
    def active(self) -> str:
        """The id of the key that encrypts."""
        return self._active

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all keys, the active one first: eight hexadecimal digits that reveal nothing of the key."""
        return tuple(self._keys)

    @property
    def plaintext(self) -> bool:
        """Whether unencrypted records are read too."""
        return self._plaintext

    def key(self, id: str) -> bytes | None:
        """The key with this id; None if it is not in the ring."""
        return self._keys.get(id)

    def with_active(self, key: bytes | str) -> "KeyRing":
        """A ring with this key active, whether new or already in the ring; all others still decrypt."""
        active = _check_key(key)
        others = (each for id, each in self._keys.items() if id != key_id(active))
        return KeyRing(active, *others, plaintext=self._plaintext)

    def without(self, id: str) -> "KeyRing":
        """A ring without this key.

        Raises:
            InvalidInputError: The key is the active one, or not in the ring.
        """
        if id == self._active:
            raise InvalidInputError(f"the key {id!r} is active: make another one active first")
        if id not in self._keys:
            # Not repeated: it may be a key itself.
            raise InvalidInputError(f"no key of this id in the ring; it holds {', '.join(self._keys)}")
        return KeyRing(*(each for other, each in self._keys.items() if other != id), plaintext=self._plaintext)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyRing):
            return NotImplemented
        return (self._active, self._keys, self._plaintext) == (other._active, other._keys, other._plaintext)

    def __hash__(self) -> int:
        return hash((self._active, frozenset(self._keys), self._plaintext))

    def __repr__(self) -> str:
        names = [f"active {self._active!r}", *(repr(id) for id in self.ids[1:]), *(["plaintext"] * self._plaintext)]
        return f"<KeyRing {', '.join(names)}>"

    def __reduce__(self) -> str:
        raise TypeError("a key ring is not pickled: hand the keys over as secrets")


def key_id(key: bytes) -> str:
    """Fingerprint of a key, from which the key cannot be derived."""
    return hmac.digest(key, b"wmem key id", hashlib.sha256)[:_ID_SIZE].hex()


def _check_key(value: bytes | str) -> bytes:
    """Validate a key and return its bytes; no error message contains any of them."""
    key = _decode_key(value.strip()) if isinstance(value, str) else value
    if not isinstance(key, bytes | bytearray) or len(key) != _KEY_SIZE:
        size = f"{len(key)} bytes" if isinstance(key, bytes | bytearray) else type(value).__name__
        msg = f"a key is {_KEY_SIZE} random bytes, or their base64 or hexadecimal text, and not {size}: {_NEW_KEY_HINT}"
        raise InvalidInputError(msg)
    # 32 random bytes are all printable with a probability of 10^-14.
    if bytes(key).isascii() and bytes(key).decode("ascii").isprintable():
        raise InvalidInputError(f"a key is {_KEY_SIZE} random bytes, and no text that can be guessed: {_NEW_KEY_HINT}")
    return bytes(key)


def _decode_key(text: str) -> bytes:
    try:
        if len(text) == _HEX_SIZE:
            return bytes.fromhex(text)
        if len(text) == _BASE64_SIZE:
            return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        pass
    msg = (
        f"a key as text is {_HEX_SIZE} hexadecimal digits or {_BASE64_SIZE} characters of base64; "
        f"a passphrase is no key: {_NEW_KEY_HINT}"
    )
    raise InvalidInputError(msg)
