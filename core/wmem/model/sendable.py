"""Text as it can be sent: a lone surrogate, which no encoder takes, is stored as it came and replaced in what is sent.

JavaScript and truncated emoji leave such halves of a character. A model's client refuses
the whole prompt because of one.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from wmem.log import find_logger

T = TypeVar("T")

ESCAPED_SURROGATE = b"\\ud"
"""What stands in the stored JSON of any text that holds a surrogate, and seldom in another."""
_ESCAPES = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_log = find_logger("wmem.model")


def to_sendable(value: T) -> T:
    """A text, JSON or model with U+FFFD for each lone surrogate; the same object if it holds none.

    Two halves that belong together become the one character.
    """
    if isinstance(value, str):
        return cast("T", _to_sendable_text(value))
    if value is None or isinstance(value, float | int):  # before the abstract class, which is slow to ask
        return value
    if isinstance(value, Mapping):
        pairs = [(to_sendable(name), to_sendable(each)) for name, each in value.items()]
        same = all(sent[0] is name and sent[1] is value[name] for sent, name in zip(pairs, value, strict=True))
        return value if same else cast("T", dict(pairs))
    if isinstance(value, list | tuple):
        each_sent = [to_sendable(each) for each in value]
        same = all(left is right for left, right in zip(each_sent, value, strict=True))
        return value if same else cast("T", type(value)(each_sent))
    if isinstance(value, BaseModel):
        fields: dict[str, Any] = vars(value)
        changed = {name: sent for name, each in fields.items() if (sent := to_sendable(each)) is not each}
        if fields.get("type") == "function" and isinstance(told := fields.get("arguments"), str) and "\\ud" in told:
            changed["arguments"] = _ESCAPES.sub(_replace_lone, told)  # JSON text: whoever parses it meets the surrogate
        return value.model_copy(update=changed) if changed else value
    return value


def _replace_lone(escape: "re.Match[str]") -> str:
    return "\\ufffd" if len(escape.group()) == len("\\ufffd") else escape.group()


def _to_sendable_text(text: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        _warn_once()
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


@cache
def _warn_once() -> None:
    _log.warning("A text holds half of a character (a lone surrogate); it is stored as it is, and sent as U+FFFD")
