"""The keys of a store: one that encrypts, and those that are still read."""

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Final

from wmem.errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wmem.journal.codec import Codec

__all__ = ["KeyRing", "encrypting"]

_KEY_SIZE: Final = 32
_HEX_SIZE: Final = 64
_BASE64_SIZE: Final = 44
_ID_SIZE: Final = 4
_HOW = "make one with wmem.KeyRing.new_key()"


class KeyRing:
    """The keys of a store; immutable, and equal to a ring of the same keys.

    Args:
        active: Encrypts whatever is written. A key is 32 random bytes, or their base64 or
            hexadecimal text; see `new_key`.
        others: Keys under which something may still be stored: they only decrypt.
        plaintext: Read what was stored without a key as well, until `AgentMemory.rotate`
            has encrypted it. Leave it off otherwise: with it, whoever can write to the store
            can put records there without knowing a key.

    Raises:
        InvalidInputError: A key that is none, such as a passphrase, or one that is given twice.
    """

    __slots__ = ("_active", "_keys", "_plaintext")

    def __init__(self, active: bytes | str, /, *others: bytes | str, plaintext: bool = False) -> None:
        keys: dict[str, bytes] = {}
        for given in (active, *others):
            key = _checked(given)
            if keys.setdefault(key_id(key), key) is not key:
                msg = f"the key {key_id(key)!r} is in the ring twice"
                raise InvalidInputError(msg)
        self._keys: Mapping[str, bytes] = keys
        self._active = next(iter(keys))
        self._plaintext = plaintext

    @staticmethod
    def new_key() -> str:
        """A new random key as base64 text, to be kept where secrets are kept: what it encrypts is lost without it."""
        return base64.b64encode(secrets.token_bytes(_KEY_SIZE)).decode("ascii")

    @property
    def active(self) -> str:
        """The id of the key that encrypts."""
        return self._active

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all keys, the active one first: eight hexadecimal digits that tell keys apart and nothing else."""
        return tuple(self._keys)

    @property
    def plaintext(self) -> bool:
        """Whether what was stored without a key is read too."""
        return self._plaintext

    def key(self, id: str) -> bytes | None:
        """The key of an id; None if it is not in the ring."""
        return self._keys.get(id)

    def with_active(self, key: bytes | str) -> "KeyRing":
        """The ring in which this key encrypts, new or not, and all others are still read."""
        chosen = _checked(key)
        others = (each for id, each in self._keys.items() if id != key_id(chosen))
        return KeyRing(chosen, *others, plaintext=self._plaintext)

    def without(self, id: str) -> "KeyRing":
        """The ring that has dropped a key.

        Raises:
            InvalidInputError: The active key, or one that is not there.
        """
        if id == self._active:
            msg = f"the key {id!r} is active: make another one active first"
            raise InvalidInputError(msg)
        if id not in self._keys:
            msg = f"no key {id!r} in the ring; it holds {', '.join(self._keys)}"
            raise InvalidInputError(msg)
        return KeyRing(*(each for other, each in self._keys.items() if other != id), plaintext=self._plaintext)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyRing):
            return NotImplemented
        return (self._active, self._keys, self._plaintext) == (other._active, other._keys, other._plaintext)

    def __hash__(self) -> int:
        return hash((self._active, frozenset(self._keys), self._plaintext))

    def __repr__(self) -> str:
        told = [f"active {self._active!r}", *(repr(id) for id in self.ids[1:]), *(["plaintext"] * self._plaintext)]
        return f"<KeyRing {', '.join(told)}>"

    def __reduce__(self) -> str:
        msg = "a key ring is not pickled: hand the keys over as secrets"
        raise TypeError(msg)


def key_id(key: bytes) -> str:
    """A fingerprint of a key from which nothing of the key follows."""
    return hmac.digest(key, b"wmem key id", hashlib.sha256)[:_ID_SIZE].hex()


def encrypting(keys: KeyRing) -> "Codec[bytes]":
    """The codec that encrypts with a ring.

    Raises:
        MissingExtraError: `cryptography` is not installed.
    """
    try:
        from wmem.journal.crypto import AesCodec
    except ImportError as exc:
        msg = "key= needs the extra 'crypto': pip install 'wmem[crypto]'"
        raise MissingExtraError(msg) from exc
    return AesCodec(keys)


def _checked(given: bytes | str) -> bytes:
    """A key's bytes; no message ever holds any of them."""
    key = _of_text(given.strip()) if isinstance(given, str) else given
    if not isinstance(key, bytes | bytearray) or len(key) != _KEY_SIZE:
        size = f"{len(key)} bytes" if isinstance(key, bytes | bytearray) else type(given).__name__
        msg = f"a key is {_KEY_SIZE} random bytes, or their base64 or hexadecimal text, and not {size}: {_HOW}"
        raise InvalidInputError(msg)
    # 32 random bytes are all printable once in 10^14 times.
    if bytes(key).isascii() and bytes(key).decode("ascii").isprintable():
        msg = f"a key is {_KEY_SIZE} random bytes, and no text that can be guessed: {_HOW}"
        raise InvalidInputError(msg)
    return bytes(key)


def _of_text(text: str) -> bytes:
    try:
        if len(text) == _HEX_SIZE:
            return bytes.fromhex(text)
        if len(text) == _BASE64_SIZE:
            return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        pass
    msg = (
        f"a key as text is {_HEX_SIZE} hexadecimal digits or {_BASE64_SIZE} characters of base64; "
        f"a passphrase is no key: {_HOW}"
    )
    raise InvalidInputError(msg)
