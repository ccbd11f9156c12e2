"""Redaction of an item that is to be memorized: before it is scored for long-term memory, or leaves wmem."""

from dataclasses import replace
from typing import Any, cast

from wmem.agent.types.draft import ItemDraft
from wmem.model.item import ItemFields, encode_fields
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.rules.redaction import Redaction
from wmem.scope.redaction import Counts, redact_row

_REDACTED_FIELDS = ("metadata", "participants", "sources", "relations")


def redact_draft(redaction: Redaction | None, draft: ItemDraft) -> tuple[ItemDraft, Counts]:
    """A draft as long-term memory stores it, and how many texts of each kind were redacted in it.

    Args:
        redaction: None redacts nothing.
    """
    if redaction is None or not redaction.active:
        return draft, {}
    rest, columns = encode_fields(draft.fields, now=0.0)
    before = Row("", dump_json(draft.content), 0.0, 0.0, tags=columns.get("tags", ()), rest=rest)
    row, counts = redact_row(redaction, before)
    if not counts:
        return draft, counts
    told = load_json(row.rest or b"{}")
    made: dict[str, Any] = {name: told[name] for name in _REDACTED_FIELDS if name in told}
    if row.tags != before.tags:
        made["tags"] = row.tags
    fields = cast("ItemFields", {**draft.fields, **made})
    return replace(draft, content=load_json(row.content), fields=fields), counts
