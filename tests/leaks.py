"""What tests of leaks share: content and secrets that must not be repeated, and who looks for them."""

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from pydantic import ValidationError

CONTENT = "Mrs Quimby said: my PIN is 90417, quux"
NUMBER = 4_111_111_111_111_111
MARKS = ("Quimby", "90417", "quux", str(NUMBER))
"""Parts of the content, none of which may be repeated."""
NAME = "walrus-17"
"""An id or key, which errors and logs may name."""


class UserError(Exception):
    """What a user's own function raises, content and all."""

    def __init__(self) -> None:
        super().__init__(CONTENT)


class Quoting:
    """An object that shows content, whichever way it is turned into text."""

    def __repr__(self) -> str:
        return CONTENT


def texts_of(value: object, depth: int = 0) -> Iterator[str]:
    """Everything an error, or something in one, says of itself."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes | bytearray):
        yield value.decode("utf-8", "replace")
    elif isinstance(value, ValidationError):
        # What a user makes of our models himself may be told by its place: names of fields, and keys that are none.
        places = {str(part) for each in value.errors() for part in each["loc"]}
        shown = str(value)
        for place in sorted(places, key=len, reverse=True):
            shown = shown.replace(place, "")
        yield shown
    elif isinstance(value, BaseException):
        yield from (str(value), repr(value))
        if depth < 8:
            held = (value.args, vars(value), getattr(value, "__notes__", ()), _slots(value))
            for each in (*held, value.__cause__, value.__context__):
                yield from texts_of(each, depth + 1)
    elif isinstance(value, dict):
        yield from texts_of(list(value.items()), depth)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from texts_of(each, depth + 1) if depth < 8 else ()
    elif value is not None:
        yield repr(value)


def _slots(exc: BaseException) -> list[object]:
    """What builtin errors hold beside their arguments: a document that does not parse, a text that does not encode."""
    return [getattr(exc, name, None) for name in ("doc", "object", "filename")]


def find_marks(texts: Iterable[str], marks: Iterable[str] = MARKS) -> list[str]:
    """The texts that repeat what must not be repeated."""
    return [text for text in texts if any(mark in text for mark in marks)]


class Watch(logging.Handler):
    """Everything said while it watches: errors, log lines with tracebacks, warnings."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))
        self.texts: list[str] = []
        self.lines: list[str] = []
        self.errors: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        self.texts.append(line)
        if not record.exc_info:
            self.lines.append(line)

    def run(self, act: Callable[[], object]) -> object:
        """Do something and note what it raises, unless it is the user's own error; None if it raises."""
        try:
            result = act()
            return list(result) if isinstance(result, Iterator) else result
        except UserError:
            return None
        except BaseException as exc:
            if isinstance(exc, KeyboardInterrupt):
                raise
            self.errors.append(exc)
            self.texts += texts_of(exc)
            return None


@contextmanager
def watch() -> Iterator[Watch]:
    """Watch all logs and warnings."""
    watching, root = Watch(), logging.root
    level = root.level
    root.addHandler(watching)
    root.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield watching
        watching.texts += [str(each.message) for each in caught]
    finally:
        root.removeHandler(watching)
        root.setLevel(level)
