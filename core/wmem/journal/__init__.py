"""The journal port, which a backend implements; here for those who write one, beside a file for each of ours."""

from wmem.journal.port import (
    CHAIN_BITS,
    KEEP_GRACE_S,
    MISSED_MAX,
    Appended,
    AsyncJournal,
    Backup,
    Journal,
    Purge,
    Record,
    Roots,
    Sweep,
    Tail,
    chain_after,
    new_record_id,
    new_salt,
)
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path

__all__ = [
    "CHAIN_BITS",
    "KEEP_GRACE_S",
    "MISSED_MAX",
    "ORIGIN",
    "Appended",
    "AsyncJournal",
    "Backup",
    "Cursor",
    "Incarnation",
    "Journal",
    "Path",
    "Purge",
    "Record",
    "Roots",
    "Sweep",
    "Tail",
    "chain_after",
    "new_record_id",
    "new_salt",
]
