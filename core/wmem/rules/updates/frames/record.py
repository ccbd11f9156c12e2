"""What an item states that is a JSON object with a value: of the same names and kinds there is one value at a time."""

import json
from collections.abc import Iterator

from wmem.rules.updates.statement import FRAME, Statement

_MAX_CHARS = 400
_VALUE = "value"
_ASIDE = frozenset(
    [
        "at",
        "date",
        "time",
        "timestamp",
        "created_at",
        "updated_at",
        "valid_from",
        "confidence",
        "score",
        "source",
        "note",
    ]
)
"""Fields that tell of the record, and not of what it is about."""


_SORTS = frozenset(
    [
        "type",
        "kind",
        "category",
        "role",
        "speaker",
        "author",
        "user",
        "user_id",
        "agent",
        "topic",
        "priority",
        "tag",
        "lang",
        "language",
        "unit",
        "session",
    ]
)
"""Fields that many records share, so that they alone do not tell what a value is of."""


def read_record(text: str) -> Iterator[Statement]:
    """The statement of a text like ``{"name": "deadline", "value": "4 March"}``; none of any other text."""
    if text[:1] != "{" or len(text) > _MAX_CHARS:
        return
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return
    value = record.pop(_VALUE, None)
    told = {name: each for name, each in record.items() if name not in _ASIDE}
    if told.keys() <= _SORTS or not all(isinstance(each, str | int | float) for each in (value, *told.values())):
        return  # a list may hold what another one adds to
    subject = " ".join(f"{name}={each}" for name, each in sorted(told.items())).lower()
    words = str(value).lower().split()
    if words:
        yield Statement(subject, FRAME, " ".join(words), changes=True, single=True)
