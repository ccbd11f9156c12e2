"""How errors and log lines show a value that a caller gave: never as content, never as a new line."""

import re

_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,15}")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}")
_MAX_NUMBER_BITS = 32
_MAX_NUMBER_SIZE = 12
_MAX_NAME_SIZE = 1_024
_SIZED = (str, bytes, bytearray, list, tuple, dict, set, frozenset)


def describe(value: object) -> str:
    """Describe a refused value by its type and size; only a short word or number is quoted.

    What was passed in the wrong place may be what is to be remembered, or a password.
    """
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int | float) and (isinstance(value, float) or value.bit_length() <= _MAX_NUMBER_BITS):
        shown = (float if isinstance(value, float) else int).__repr__(value)
        if len(shown) <= _MAX_NUMBER_SIZE:
            return shown
    if isinstance(value, str) and (not value or _WORD.fullmatch(value)):
        return repr(str.__str__(value))
    name = type(value).__name__
    if not isinstance(value, _SIZED):
        return name
    unit = "characters" if isinstance(value, str) else "bytes" if isinstance(value, bytes | bytearray) else "elements"
    return f"{name} of {len(value)} {unit}"


def describe_name(name: str) -> str:
    """An id or a key that is not there, quoted; one that is longer than any may be content in the wrong place."""
    return repr(name) if len(name) <= _MAX_NAME_SIZE else describe(name)


def describe_field(name: int | str) -> str:
    """The name of a field as it is; a name that is no field's may be content, and is left out."""
    return "…" if isinstance(name, str) and not _FIELD.fullmatch(name) else str(name)


def describe_failure(exc: BaseException) -> str:
    """What a user's function raised, and where: by type, for its message may quote what the function was given."""
    trace = exc.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" in {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"
    return f"{type(exc).__name__}{place}"


def escape(text: str) -> str:
    """A text for a log line: what does not print is escaped, so that nothing in it begins a new line."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
