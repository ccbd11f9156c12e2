"""What finds the kinds in a text."""

from wmem.rules.redaction.credentials import find_credentials, may_have_credentials
from wmem.rules.redaction.internet import find_addresses, may_have_addresses
from wmem.rules.redaction.keys import find_keys, may_have_keys
from wmem.rules.redaction.labels.fields import find_in_columns, kind_of_field, may_have_columns
from wmem.rules.redaction.labels.finder import find_labelled, may_have_labels
from wmem.rules.redaction.labels.inserts import find_in_inserts, may_have_inserts
from wmem.rules.redaction.money import find_accounts, may_have_accounts
from wmem.rules.redaction.numbers import find_numbers, may_have_numbers
from wmem.rules.redaction.reading import list_readings
from wmem.rules.redaction.spans import Span

FINDERS = (
    (may_have_addresses, find_addresses),
    (may_have_accounts, find_accounts),
    (may_have_numbers, find_numbers),
    (may_have_keys, find_keys),
    (may_have_credentials, find_credentials),
    (may_have_labels, find_labelled),
    (may_have_columns, find_in_columns),
    (may_have_inserts, find_in_inserts),
)
"""Each with what says that it can find nothing in a text, from what the text has, whatever stands around it."""


def find_spans(text: str) -> list[Span]:
    """What is to be hidden in a text; spans may overlap."""
    return [
        Span(*reading.place(span.start, span.end), span.kind)
        for reading in list_readings(text)
        for may_have, find in FINDERS
        if may_have(reading)
        for span in find(reading)
    ]


def may_have_spans(text: str) -> bool:
    """Whether `find_spans` may find anything in a text, or in one that is a part of it."""
    return any(may_have(reading) for reading in list_readings(text) for may_have, _ in FINDERS)


__all__ = ["find_spans", "kind_of_field", "may_have_spans"]
