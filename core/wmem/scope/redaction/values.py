"""Redaction of JSON: what is tagged stays what it is, and what is signed or encoded stays as it is."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from wmem.rules.redaction import Redaction

Counts: TypeAlias = Mapping[str, int]
"""How many texts of each kind were redacted."""
NO_COUNTS: Counts = MappingProxyType({})
_TAG_KEY = "~wmem"
_OPEN_TAGS = frozenset(("object", "dict", "tuple", "set", "frozenset"))  # what their values hold is redacted
_SEALED = frozenset(  # a provider refuses them when a byte differs, or they are no text
    (
        "signature",
        "thoughtSignature",
        "thought_signature",
        "encrypted_content",
        "redactedContent",
        "base64",
        "file_id",
        _TAG_KEY,
    )
)


def redact_texts(redaction: Redaction, texts: Sequence[str], counts: list[Counts]) -> tuple[str, ...]:
    """Texts, redacted; adds how many of each kind were to `counts`."""
    redacted = [redaction.redact(each) for each in texts]
    counts += [each.counts for each in redacted]
    return tuple(each.text for each in redacted)


def redact_value(redaction: Redaction, value: Any, sealed: frozenset[str] = frozenset()) -> tuple[Any, Counts]:
    """JSON of a value, redacted; what is tagged stays what it is, and what is signed or encoded stays as it is.

    Args:
        sealed: Names of further fields that stay as they are.
    """
    passed = _SEALED | sealed
    made, counts = redaction.redact_json(hide_sealed(value, sealed))
    return (_show(value, made, passed), counts) if counts else (value, NO_COUNTS)


def hide_sealed(value: Any, sealed: frozenset[str] = frozenset()) -> Any:
    """What `redact_value` reads of a value."""
    return _hide(value, _SEALED | sealed if sealed else _SEALED)


def _hide(value: Any, sealed: frozenset[str]) -> Any:
    """The value without what stays as it is."""
    if isinstance(value, str):
        return None if _is_opaque(value) else value
    if isinstance(value, dict | Mapping):
        if _is_opaque(value):
            return None
        return {name: None if name in sealed else _hide(each, sealed) for name, each in value.items()}
    return [_hide(each, sealed) for each in value] if isinstance(value, list | tuple) else value


def _show(value: Any, redacted: Any, sealed: frozenset[str]) -> Any:
    """What was made of a value, with what stays as it was."""
    if _is_opaque(value):
        return value
    if isinstance(value, Mapping):
        pairs = zip(value.items(), redacted.items(), strict=True)
        return {name: each if old in sealed else _show(each, new, sealed) for (old, each), (name, new) in pairs}
    if isinstance(value, list | tuple):
        return [_show(*each, sealed) for each in zip(value, redacted, strict=True)]
    return redacted


def _is_opaque(value: Any) -> bool:
    if isinstance(value, str):
        return value.startswith("data:")
    return isinstance(value, Mapping) and value.get(_TAG_KEY, "object") not in _OPEN_TAGS


def sum_counts(*counts: Counts) -> Counts:
    """All of these counts together."""
    told = [each for each in counts if each]
    if len(told) < 2:  # noqa: PLR2004  # nothing to add up
        return told[0] if told else NO_COUNTS
    total: Counter[str] = Counter()
    for each in told:
        total.update(each)
    return dict(total)
