"""Redaction at the store's boundary: what of a row is redacted, and where rows are.

Long-term memory is redacted, and with `Redaction.strict` all else, too. Ids, keys, names, types and times stay: they
are what others refer to, and lie in clear in any case.
"""

from wmem.scope.redaction.messages import redact_message
from wmem.scope.redaction.places import NO_ROWS, WITHHELD, CleanRows, HeldBackError, redacts_at, says_the_same
from wmem.scope.redaction.rows import clean_text, redact_row
from wmem.scope.redaction.texts import redact_text, restore_quote
from wmem.scope.redaction.values import Counts, redact_value

__all__ = [
    "NO_ROWS",
    "WITHHELD",
    "CleanRows",
    "Counts",
    "HeldBackError",
    "clean_text",
    "redact_message",
    "redact_row",
    "redact_text",
    "redact_value",
    "redacts_at",
    "restore_quote",
    "says_the_same",
]
