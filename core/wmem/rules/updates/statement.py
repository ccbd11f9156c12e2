"""A statement: what somebody said of a subject, and whether it says itself that something changed."""

from typing import NamedTuple

NAME = "name"
"""The kind of a value that names its subject."""
TOPIC = "topic"
"""The kind of what only says that something changed, for what follows it in the text."""
WRITTEN = "written"
"""In a table, for any kind of value that is written as such: a number, a time, a day, a state."""
FRAME = "frame"
"""The kind of a value that is all in which a short sentence differs from another one."""
POLARITY = "polarity"
"""The kind of "yes" and "no": whether what the subject tells is so."""
OWN_NAME = "i name"
"""The subject of somebody's own name."""


class Statement(NamedTuple):
    """What a clause says of its subject.

    Attributes:
        subject: Whose and what, in words: "my dog name"; "" where it says "it" or names only the value before.
        kind: What sort of value: number, time, day, word, status.
        value: The value, normalized; "" where something merely ended.
        before: The value that it names as the earlier one; "" for none.
        changes: Whether it says that something changed.
        single: Whether the subject has one value at a time, so that two values need no word of change.
    """

    subject: str
    kind: str
    value: str
    before: str = ""
    changes: bool = False
    single: bool = False
