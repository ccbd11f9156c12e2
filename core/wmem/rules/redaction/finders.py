"""What finds the kinds in a text."""

from collections.abc import Iterator

from wmem.rules.redaction.internet import find_addresses
from wmem.rules.redaction.keys import find_keys
from wmem.rules.redaction.labels.fields import find_in_columns, kind_of_field
from wmem.rules.redaction.labels.finder import find_labelled
from wmem.rules.redaction.money import find_accounts
from wmem.rules.redaction.numbers import find_numbers
from wmem.rules.redaction.reading import Reading
from wmem.rules.redaction.spans import Span

_FINDERS = (find_addresses, find_accounts, find_numbers, find_keys, find_labelled, find_in_columns)


def find_spans(text: str) -> Iterator[Span]:
    """What is to be hidden in a text; spans may overlap."""
    reading = Reading(text)
    for find in _FINDERS:
        for span in find(reading):
            yield Span(*reading.place(span.start, span.end), span.kind)


__all__ = ["find_spans", "kind_of_field"]
