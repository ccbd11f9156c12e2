"""`ItemDraft`: an item that is to be memorized, before a memory type stores it."""

import sys
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Self, cast

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.checks import check_seconds
from wmem.model.item import ItemFields, MemoryItem, Priority, encode_fields, parse_confidence
from wmem.model.validation import describe_error, parse
from wmem.policy import PRIORITIES
from wmem.rules.ttl import DEFAULT_TTL, DefaultTtl

_UNTYPED = "observation"


@dataclass(frozen=True, slots=True)
class ItemDraft:
    """An item that is to be memorized, checked, and not stored yet.

    Attributes:
        content: Its text, at least 1 character.
        ttl_s: Seconds until it expires, None for never; by default what the memory type's policy says.
        fields: What it carries beside its content; see `ItemFields`.
        session: The names of the session it comes from, below the agent's; empty for the agent's own scope.

    Raises:
        InvalidInputError: A value out of range.
    """

    content: str
    _: KW_ONLY
    priority: Priority = "medium"
    ttl_s: float | DefaultTtl | None = DEFAULT_TTL
    fields: ItemFields = field(default_factory=ItemFields)
    session: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.content, str) or not self.content:
            raise InvalidInputError(f"content must be text of at least 1 character, got {describe(self.content)}")
        if self.priority not in PRIORITIES:
            raise InvalidInputError(f"priority must be one of {', '.join(PRIORITIES)}, got {describe(self.priority)}")
        if not isinstance(self.fields, Mapping):
            raise InvalidInputError(f"fields must be a mapping of names to values, got {describe(self.fields)}")
        if self.ttl_s is not None and not isinstance(self.ttl_s, DefaultTtl):
            check_seconds(self.ttl_s, "ttl_s, unless None for ever,", sys.float_info.max)
        if not isinstance(self.session, tuple):
            raise InvalidInputError(f"session must be a tuple of names, got {describe(self.session)}")
        encode_fields(self.fields, now=0.0)
        object.__setattr__(self, "fields", dict(self.fields))

    @property
    def type(self) -> str:
        """The item's type, such as ``fact``; without one its dynamic type, ``fact`` by its kind, or ``observation``."""
        given = self.fields.get("type") or self.fields.get("dynamic_type")
        return given or ("fact" if self.fields.get("kind") == "fact" else _UNTYPED)

    @property
    def kind(self) -> str:
        """The item's kind, such as ``preference``; ``fact`` if it has none."""
        return self.fields.get("kind") or "fact"

    @property
    def importance(self) -> float | None:
        """The importance it comes with, 0 to 1; None if it is to be computed."""
        given = self.fields.get("importance")
        return None if given is None else float(given)  # checked: a text may be a number

    def with_defaults(self, session: tuple[str, ...] = (), **defaults: Any) -> Self:
        """The draft with these fields where it has none of its own, and a session if it names none."""
        missing = {name: value for name, value in defaults.items() if value is not None and name not in self.fields}
        fields = cast("ItemFields", {**self.fields, **missing})
        return replace(self, fields=fields, session=self.session or session)

    def to_item(self, id: str, now: float) -> MemoryItem:  # the field's own name
        """The item as a memory type that is no scope of wmem may return it.

        Args:
            now: UTC epoch seconds; when it was stored. Without a time to live of its own it never expires.

        Raises:
            InvalidInputError: The id is no text, or the instant no number.
        """
        fields: dict[str, Any] = {name: value for name, value in self.fields.items() if value is not None}
        if isinstance(confidence := fields.get("confidence"), str):
            fields["confidence"] = parse_confidence(confidence)
        expires_at = None if self.ttl_s is None or isinstance(self.ttl_s, DefaultTtl) else now + self.ttl_s
        made = partial(
            MemoryItem,
            id=id,
            content=self.content,
            priority=self.priority,
            created_at=now,
            updated_at=now,
            expires_at=expires_at,
            access_count=1,
            **fields,
        )
        return parse(made, lambda exc: InvalidInputError(describe_error(exc)))


def to_draft(content: "str | ItemDraft") -> ItemDraft:
    """A draft as it is, or one of a text alone."""
    return content if isinstance(content, ItemDraft) else ItemDraft(content)
