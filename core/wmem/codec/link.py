"""Links of an encrypted history: what a record states of the history before it, and what a reader knows of it.

A record states its place: its version, the life of the scope, and a digest of all record ids
before it. A reader compares the place with its own link, so that a history cannot be
rearranged without the key. What follows damage is believed: one damaged record costs no other.
"""

import hashlib
import struct
from typing import Final, NamedTuple

_PLACE: Final = struct.Struct(">Q8s16s")
_ANY_LIFE, _ANY_DIGEST = bytes(8), bytes(16)

PLACE_SIZE: Final = _PLACE.size
NO_PLACE: Final = bytes(PLACE_SIZE)
"""The place of no record: versions begin at 1."""


class Link(NamedTuple):
    """What a reader knows of a history up to its cursor.

    The link after a record follows from what the record states, never from what a reader knew
    before: two readers agree, even if only one of them could read what came before.

    Attributes:
        life: The first bytes of the digest after the scope's first record; zeros if unknown.
        digest: A hash over all record ids so far; zeros at the origin, and where it is unknown.
        foreign: The digest after a record of another history, whose successors are refused, too.
        placed: Whether a payload that states its place was read; those that state none are damage from then on.
    """

    life: bytes = _ANY_LIFE
    digest: bytes = _ANY_DIGEST
    foreign: bytes = b""
    placed: bool = False

    @classmethod
    def from_place(cls, place: bytes) -> "Link":
        """The link at a checkpoint."""
        _, life, digest = _PLACE.unpack(place)
        return cls(life, digest, placed=True)

    def place(self, version: int) -> bytes:
        """What the record at a version, or the checkpoint at it, states."""
        return _PLACE.pack(version, self.life, self.digest)

    def after(self, place: bytes, record_id: int) -> "Link":
        """The link after a record that states a place."""
        version, life, _ = _PLACE.unpack(place)
        digest = _digest_after(place, record_id)
        if version == 1:
            life = digest[: len(_ANY_LIFE)]
        return Link(self.life if life == _ANY_LIFE else life, digest, placed=True)

    def after_placeless(self, version: int, record_id: int) -> "Link":
        """The link after a record that states no place."""
        return self.after(Link().place(version), record_id)._replace(placed=self.placed)

    def after_damage(self) -> "Link":
        """The link after a record that cannot be read."""
        return self._replace(digest=_ANY_DIGEST, foreign=b"")

    def follow(self, place: bytes, version: int, record_id: int) -> tuple["Link", str | None]:
        """The link after a record that is found at a version, and why it does not belong there; None if it does."""
        stated, life, digest = _PLACE.unpack(place)
        if stated != version:
            return Link(self.life, placed=True), f"was written as record {stated}"
        if self.life != life and _ANY_LIFE not in (self.life, life):
            why = "was written in another life of the scope"
        elif digest == self.foreign or (self.digest != digest and _ANY_DIGEST not in (self.digest, digest)):
            why = "was written after other records than those before it"
        else:
            return self.after(place, record_id), None
        return Link(self.life, foreign=_digest_after(place, record_id), placed=True), why


def _digest_after(place: bytes, record_id: int) -> bytes:
    return hashlib.blake2b(b"%s%d" % (place, record_id), digest_size=len(_ANY_DIGEST)).digest()
