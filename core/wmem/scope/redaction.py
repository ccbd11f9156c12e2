"""Redaction at the store's boundary: what of a row is redacted, and where rows are.

Long-term memory is redacted, and with `Redaction.strict` all else, too. Ids, keys, names, types and times stay: they
are what others refer to, and lie in clear in any case.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, TypeAlias

from wmem.errors import InvalidInputError
from wmem.model._reasoning import is_signed
from wmem.model.checksum import reseal
from wmem.model.history import Path, is_cache, is_trace
from wmem.model.item import to_message
from wmem.model.message import Message
from wmem.model.part import Part, ToolCall
from wmem.model.row import Row
from wmem.model.row_text import row_text
from wmem.model.standing import StandingRequest
from wmem.model.values import dump_json, dump_model, load_json
from wmem.rules.redaction import Redaction
from wmem.rules.redaction.spans import find_marks, is_full
from wmem.rules.routing import CONVERSATION, EPISODIC, SEMANTIC
from wmem.tokens.counter import Counter as TokenCounter
from wmem.tokens.counter import count_message

Counts: TypeAlias = Mapping[str, int]
"""How many texts of each kind were redacted."""

WITHHELD = "withheld"
"""What texts are counted as that are held back since a recognizer failed."""
_LONG_TERM = frozenset((SEMANTIC, EPISODIC, CONVERSATION))
_NOTHING: Counts = {}
_MAX_CLEAN = 4_096
_MARK = b"[REDACTED_"
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
_POINTERS = frozenset(("scope", "messages", "ids", "path", "incarnation", "turns", "episode", "items"))
_PROMOTION = frozenset(("working_memory_id", "working_memory_session"))
_SKILL = _PROMOTION | {"example", "counted_until", "digest"}
"""What wmem's own metadata of a copy, and of a skill, refers to other things by."""


NO_ROWS: Mapping[str, Row] = MappingProxyType({})


class HeldBackError(InvalidInputError):
    """A text would be held back, because a recognizer failed on it: what holds it is not stored."""


def says_the_same(row: Row, other: Row) -> bool:
    """Whether two rows have the same texts, so that what is known of one holds for the other."""
    return (row.content, row.rest, row.tags, row.standing) == (other.content, other.rest, other.tags, other.standing)


def redacts_at(redaction: Redaction | None, path: Path) -> bool:
    """Whether what is written to a scope is redacted."""
    if redaction is None or not redaction.active or is_cache(path) or is_trace(path):
        return False
    return redaction.on_every_put or not _LONG_TERM.isdisjoint(path[1:])


def redact_text(redaction: Redaction | None, text: str) -> str:
    """A text as it may leave this memory; None redacts nothing."""
    return text if redaction is None else redaction.redact(text).text


def clean_text(redaction: Redaction | None, row: Row) -> str:
    """The text of a row as it may leave this memory; see `row_text`.

    Calls of tools and values of entries are redacted by their fields, before they are text.
    """
    if redaction is None or not redaction.active or not (row.calls or row.key is not None):
        return redact_text(redaction, row_text(row))
    return row_text(redact_row(redaction, row)[0])


def restore_quote(redaction: Redaction, text: str, redacted: str, quote: str) -> str:
    """What a quote of a redacted text says in the text itself; the quote where that is not certain."""
    begin = redacted.find(quote)
    if begin < 0 or not find_marks(quote):
        return quote
    first, last = (_find_place(text, redacted, at) for at in (begin, begin + len(quote)))
    said = "" if first is None or last is None else text[first:last]
    return said if redaction.redact(said).text == quote else quote


def _find_place(text: str, redacted: str, offset: int) -> int | None:
    """Where in a text a place of its redacted form is; None if it cannot be told."""
    marks = find_marks(redacted)
    place, at = 0, 0  # up to where both are read
    for (begin, end), (following, _) in zip(marks, [*marks[1:], (len(redacted), 0)], strict=True):
        if offset <= begin:
            break
        between = redacted[end:following]
        if following == len(redacted):
            place = len(text) - len(between)
        elif not between or (place := text.find(between, place + begin - at + 1)) < 0:
            return None
        at = end
    return place + offset - at


class CleanRows:
    """Which rows were redacted a moment ago, by digests of what they hold, so that none is read twice."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[bytes, Counts] = {}

    def add(self, row: Row, counts: Counts) -> None:
        if len(self._counts) >= _MAX_CLEAN:
            self._counts.clear()
        self._counts[_fingerprint(row)] = counts

    def counts(self, row: Row) -> Counts:
        """How many texts of each kind were redacted in a row."""
        return self._counts.get(_fingerprint(row), _NOTHING) if self._counts else _NOTHING

    def __contains__(self, row: Row) -> bool:
        return _fingerprint(row) in self._counts


def _fingerprint(row: Row) -> bytes:
    parts = (row.content, row.rest or b"", repr((row.tags, row.standing)).encode("utf-8", "surrogatepass"))
    told = blake2b(digest_size=16)
    for part in parts:
        told.update(len(part).to_bytes(8, "big"))
        told.update(part)
    return told.digest()


def redact_row(redaction: Redaction, row: Row, counter: TokenCounter | None = None) -> tuple[Row, Counts]:
    """A row as it is stored where redaction applies, and how many texts of each kind were redacted in it.

    Args:
        counter: Counts the tokens of what is stored; None leaves tokens of a changed text uncounted.
    """
    if row.role is not None:
        made, counts = _redact_message_row(redaction, row, counter)
    elif row.key is not None:
        # Its key says what it may be, as the name of a field does.
        named, counts = redact_value(redaction, {row.key: load_json(row.content)})
        made = row._replace(content=dump_json(*named.values())) if counts else row
    else:
        text = load_json(row.content)
        redacted = redaction.redact(text)
        counts = redacted.counts
        made = row
        if redacted.text != text:
            made = row._replace(
                content=dump_json(redacted.text),
                length=len(redacted.text),
                tokens=None if counter is None else counter(redacted.text),
                counter=None if counter is None else counter.name,
            )
    made, told = _redact_fields(redaction, made)
    total = _sum_counts(counts, told)
    if made.content != row.content and made.rest is not None:
        made = reseal(made, row.content)
    return _with_status(made), total


# -- items and entries


def _redact_fields(redaction: Redaction, row: Row) -> tuple[Row, Counts]:
    """Tags, and the fields without a column."""
    counts: list[Counts] = []
    tags = _redact_texts(redaction, row.tags, counts) if row.tags else ()
    if row.tags != tags:
        row = row._replace(tags=tuple(dict.fromkeys(tags)))
    if row.rest is not None:
        rest = load_json(row.rest)
        made = _redact_rest(redaction, rest, counts, row.type)
        if made != rest:
            row = row._replace(rest=dump_json(made))
    return row, _sum_counts(*counts)


def _redact_rest(redaction: Redaction, rest: Mapping[str, Any], counts: list[Counts], type: str) -> dict[str, Any]:
    made = dict(rest)
    if isinstance(metadata := rest.get("metadata"), Mapping):
        own = _SKILL if type == "skill" and "counted_until" in metadata else _PROMOTION
        made["metadata"], told = redact_value(redaction, metadata, own)
        counts.append(told)
    if isinstance(participants := rest.get("participants"), list):
        made["participants"] = [*_redact_texts(redaction, participants, counts)]
    if isinstance(sources := rest.get("sources"), list) and type != "turn":
        made["sources"], told = redact_value(redaction, sources, _POINTERS)
        counts.append(told)
    if isinstance(relations := rest.get("relations"), list):
        made["relations"] = [_redact_relation(redaction, each, counts) for each in relations]
    return made


def _redact_relation(redaction: Redaction, relation: Any, counts: list[Counts]) -> Any:
    if not isinstance(relation, Mapping) or not relation.get("metadata"):
        return relation
    metadata, told = redact_value(redaction, relation["metadata"])
    counts.append(told)
    return {**relation, "metadata": metadata}


def _redact_texts(redaction: Redaction, texts: Sequence[str], counts: list[Counts]) -> tuple[str, ...]:
    redacted = [redaction.redact(each) for each in texts]
    counts += [each.counts for each in redacted]
    return tuple(each.text for each in redacted)


def _with_status(row: Row) -> Row:
    """The row with its `redaction_status`, by the marks that are in it."""
    rest = row.rest or b""
    if not (_MARK in row.content or _MARK in rest or b'"redaction_status"' in rest):
        return row
    fields = load_json(row.rest or b"{}")
    before = fields.pop("redaction_status", None)
    status = _find_status(row, dump_json(fields))
    if status is not None:
        fields["redaction_status"] = status
    return row if status == before else row._replace(rest=dump_json(fields) if fields else None)


def _find_status(row: Row, rest: bytes) -> str | None:
    text = row.content.decode("utf-8", "replace")
    if not find_marks(text):
        return "partial" if find_marks(rest.decode("utf-8", "replace")) else None
    said = to_message(row).text if row.role is not None else text
    return "full" if is_full(said) else "partial"


# -- messages


def redact_message(redaction: Redaction, message: Message) -> tuple[Message, Counts]:
    """A message as it is stored where redaction applies.

    Reasoning that its provider has signed goes with its signature if anything in it is redacted: it would be refused.
    """
    counts: list[Counts] = []
    update: dict[str, Any] = {}
    parts = [_redact_part(redaction, part, counts) for part in message.parts]
    if kept := tuple(part for part in parts if part is not None):
        if kept != message.parts:
            update["parts"] = kept
    elif message.parts:
        update["parts"] = ()
    calls = tuple(_redact_call(redaction, call, counts) for call in message.tool_calls)
    if calls != message.tool_calls:
        update["tool_calls"] = calls
    if message.name is not None and message.role != "tool":
        [name] = _redact_texts(redaction, [message.name], counts)
        if name != message.name:
            update["name"] = name
    if message.metadata:
        metadata, told = redact_value(redaction, dict(message.metadata))
        counts.append(told)
        if told:
            update["metadata"] = metadata
    if message.native is not None:
        data, told = redact_value(redaction, message.native.data)
        if len(kept) < len(message.parts):
            update["native"] = None  # it would hold the signature of what was changed
        elif told:
            update["native"] = message.native.model_copy(update={"data": data})
        counts += [told] if not any(counts) else []
    return (message.model_copy(update=update) if update else message), _sum_counts(*counts)


def _redact_part(redaction: Redaction, part: Part, counts: list[Counts]) -> Part | None:
    """A part, redacted; None if it is signed and would not be what was signed."""
    update: dict[str, Any] = {}
    for name in ("text", "url"):
        text = getattr(part, name)
        if text and not (name == "url" and text.startswith("data:")):
            [made] = _redact_texts(redaction, [text], counts)
            if made != text:
                update[name] = made
    if part.data:
        data, told = redact_value(redaction, dict(part.data))
        counts.append(told)
        if told:
            update["data"] = data
    if not update:
        return part
    return None if part.kind == "reasoning" and is_signed(part) else part.model_copy(update=update)


def _redact_call(redaction: Redaction, call: ToolCall, counts: list[Counts]) -> ToolCall:
    [arguments] = _redact_texts(redaction, [call.arguments], counts)
    return call if arguments == call.arguments else call.model_copy(update={"arguments": arguments})


def _redact_message_row(redaction: Redaction, row: Row, counter: TokenCounter | None) -> tuple[Row, Counts]:
    message, counts = redact_message(redaction, to_message(row))
    told: list[Counts] = [counts]
    standing = tuple(StandingRequest(each.rule, *_redact_texts(redaction, [each.text], told)) for each in row.standing)
    if not counts:
        return (row if standing == row.standing else row._replace(standing=standing)), _sum_counts(*told)
    tokens, reasoning, name = (None, 0, None) if counter is None else count_message(message, counter)
    made = row._replace(
        content=dump_model(message, exclude={"id", "turn_id", "created_at", "pinned"}),
        length=len(message.text),
        tokens=tokens,
        reasoning=reasoning,
        counter=name,
        standing=standing,
    )
    return made, counts


# -- JSON


def redact_value(redaction: Redaction, value: Any, sealed: frozenset[str] = frozenset()) -> tuple[Any, Counts]:
    """JSON of a value, redacted; what is tagged stays what it is, and what is signed or encoded stays as it is.

    Args:
        sealed: Names of further fields that stay as they are.
    """
    passed = _SEALED | sealed
    made, counts = redaction.redact_json(_hide(value, passed))
    return (_show(value, made, passed), counts) if counts else (value, _NOTHING)


def _hide(value: Any, sealed: frozenset[str]) -> Any:
    """The value without what stays as it is."""
    if _is_opaque(value):
        return None
    if isinstance(value, Mapping):
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


def _sum_counts(*counts: Counts) -> Counts:
    told = [each for each in counts if each]
    if len(told) < 2:  # noqa: PLR2004  # nothing to add up
        return told[0] if told else _NOTHING
    total: Counter[str] = Counter()
    for each in told:
        total.update(each)
    return dict(total)
