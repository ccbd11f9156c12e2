"""Redaction of rows: content, and all that is stored beside it but ids, keys, names, types and times."""

from collections.abc import Mapping
from typing import Any

from wmem.model.checksum import reseal
from wmem.model.item import to_message
from wmem.model.row import Row
from wmem.model.row_text import row_text
from wmem.model.values import dump_json, load_json
from wmem.rules.redaction import Redaction
from wmem.rules.redaction.redaction import leaves_alone
from wmem.rules.redaction.spans import find_marks, is_full
from wmem.scope.redaction.messages import list_read, redact_message_row
from wmem.scope.redaction.texts import redact_text
from wmem.scope.redaction.values import NO_COUNTS, Counts, hide_sealed, redact_texts, redact_value, sum_counts
from wmem.tokens.counter import Counter

_MARK = b"[REDACTED_"
_POINTERS = frozenset(("scope", "messages", "ids", "path", "incarnation", "turns", "episode", "items"))
_PROMOTION = frozenset(("working_memory_id", "working_memory_session"))
_SKILL = _PROMOTION | {"example", "counted_until", "digest"}
"""What wmem's own metadata of a copy, and of a skill, refers to other things by."""


def redact_row(redaction: Redaction, row: Row, counter: Counter | None = None) -> tuple[Row, Counts]:
    """A row as it is stored where redaction applies, and how many texts of each kind were redacted in it.

    Args:
        counter: Counts the tokens of what is stored; None leaves tokens of a changed text uncounted.
    """
    if _is_clean(redaction, row):
        return row, NO_COUNTS
    if row.role is not None:
        made, counts = redact_message_row(redaction, row, counter)
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
    total = sum_counts(counts, told)
    if made.content != row.content and made.rest is not None:
        made = reseal(made, row.content)
    return _with_status(made), total


def _is_clean(redaction: Redaction, row: Row) -> bool:
    """Whether it is sure that nothing in a row is redacted: nearly all rows have nothing that a value begins with."""
    if redaction.recognizers or _may_have_status(row):
        return False
    content = load_json(row.content)
    read = [content] if row.key is None else [hide_sealed({row.key: content})]
    if row.role is not None:
        if (said := list_read(content)) is None:
            return False
        read = [*said, *(each.text for each in row.standing)]
    if row.tags:
        read += row.tags
    if row.rest:
        read += _list_read_of_rest(load_json(row.rest), row.type)
    return leaves_alone(redaction, read)


def _list_read_of_rest(rest: Mapping[str, Any], type: str) -> list[Any]:
    """What `_redact_rest` reads."""
    relations = rest.get("relations")
    about = (
        [each.get("metadata") for each in relations if isinstance(each, Mapping)] if isinstance(relations, list) else []
    )
    metadata = rest.get("metadata")
    return [
        hide_sealed(metadata, _own_fields(metadata, type)) if isinstance(metadata, Mapping) else None,
        rest.get("participants"),
        hide_sealed(rest.get("sources"), _POINTERS) if type != "turn" else None,
        hide_sealed(about),
    ]


def _own_fields(metadata: Mapping[str, Any], type: str) -> frozenset[str]:
    return _SKILL if type == "skill" and "counted_until" in metadata else _PROMOTION


def clean_text(redaction: Redaction | None, row: Row) -> str:
    """The text of a row as it may leave this memory; see `row_text`.

    Calls of tools and values of entries are redacted by their fields, before they are text.
    """
    if redaction is None or not redaction.active or not (row.calls or row.key is not None):
        return redact_text(redaction, row_text(row))
    return row_text(redact_row(redaction, row)[0])


def _redact_fields(redaction: Redaction, row: Row) -> tuple[Row, Counts]:
    """Tags, and the fields without a column."""
    counts: list[Counts] = []
    tags = redact_texts(redaction, row.tags, counts) if row.tags else ()
    if row.tags != tags:
        row = row._replace(tags=tuple(dict.fromkeys(tags)))
    if row.rest is not None:
        rest = load_json(row.rest)
        made = _redact_rest(redaction, rest, counts, row.type)
        if made != rest:
            row = row._replace(rest=dump_json(made))
    return row, sum_counts(*counts)


def _redact_rest(redaction: Redaction, rest: Mapping[str, Any], counts: list[Counts], type: str) -> dict[str, Any]:
    made = dict(rest)
    if isinstance(metadata := rest.get("metadata"), Mapping):
        made["metadata"], told = redact_value(redaction, metadata, _own_fields(metadata, type))
        counts.append(told)
    if isinstance(participants := rest.get("participants"), list):
        made["participants"] = [*redact_texts(redaction, participants, counts)]
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


def _with_status(row: Row) -> Row:
    """The row with its `redaction_status`, by the marks that are in it."""
    if not _may_have_status(row):
        return row
    fields = load_json(row.rest or b"{}")
    before = fields.pop("redaction_status", None)
    status = _find_status(row, dump_json(fields))
    if status is not None:
        fields["redaction_status"] = status
    return row if status == before else row._replace(rest=dump_json(fields) if fields else None)


def _may_have_status(row: Row) -> bool:
    """Whether a row has a mark in it, or says that it has."""
    rest = row.rest or b""
    return _MARK in row.content or _MARK in rest or b'"redaction_status"' in rest or any(map(find_marks, row.tags))


def _find_status(row: Row, rest: bytes) -> str | None:
    text = row.content.decode("utf-8", "replace")
    if not find_marks(text):
        return "partial" if any(map(find_marks, (rest.decode("utf-8", "replace"), *row.tags))) else None
    said = to_message(row).text if row.role is not None else text
    return "full" if is_full(said) else "partial"
