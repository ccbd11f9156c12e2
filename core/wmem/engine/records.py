"""Records of a tail as changes, or as the damage that they are."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from wmem.codec.codec import Codec
from wmem.codec.frame import corruption_error
from wmem.codec.link import Link
from wmem.errors import CorruptionError
from wmem.journal.port import Record, Tail
from wmem.model.change import Change, Checkpoint
from wmem.model.history import Cursor, Path, is_cache

P = TypeVar("P")


class Damage(NamedTuple):
    """A stored record or checkpoint that could not be read, or stands where it does not belong.

    It is skipped, not deleted.
    """

    path: Path
    record_id: int | None
    """None for a checkpoint."""
    reason: str


Decoded: TypeAlias = tuple[Change, ...] | Damage


def is_chained(codec: Codec[P], path: Path) -> bool:
    """Whether each record of a scope states its place.

    Those of a cache do not: each stands for itself, and they are appended to without reading it.
    """
    return codec.chained and not is_cache(path)


def decode_records(codec: Codec[P], path: Path, records: Sequence[Record[P]]) -> list[Decoded]:
    """Decode each record to its changes, or to the damage that it is."""
    decoded: list[Decoded] = []
    for record in records:
        try:
            decoded.append(codec.decode_record(record.payload, path, record.id))
        except CorruptionError as exc:
            decoded.append(Damage(path, record.id, str(exc)))
    return decoded


def decode_snapshot(codec: Codec[P], path: Path, tail: Tail[P]) -> tuple[Checkpoint | None, Link, list[Damage]]:
    """Decode a tail's snapshot to the checkpoint and the link at it: None, and damage, if it cannot be read."""
    if tail.snapshot is None:
        return None, Link(), []
    try:
        checkpoint = codec.decode_checkpoint(tail.snapshot, path, tail.base)
    except CorruptionError as exc:
        return None, Link(), [Damage(path, None, str(exc))]
    return checkpoint, codec.checkpoint_link(tail.snapshot), []


def follow_records(
    codec: Codec[P], path: Path, records: Sequence[Record[P]], decoded: list[Decoded], *, link: Link, base: Cursor
) -> Link:
    """Replace, in `decoded`, each record by damage that does not belong where it stands.

    Args:
        link: What is known at `base`, after which the records stand.

    Returns:
        The link after them.
    """
    for index, record in enumerate(records):
        if isinstance(decoded[index], Damage):
            link = link.after_damage()
            continue
        version = base.version + index + 1
        link, why = codec.follow(link, record.payload, version, record.id)
        if why is not None:
            decoded[index] = Damage(path, record.id, str(corruption_error(path, f"a record {version} that {why}")))
    return link
