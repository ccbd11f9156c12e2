"""`Row`, one item in a scope's state: the columns that rules, lists and packing read, and its bytes.

Rows are immutable: an update replaces the row.
"""

from typing import NamedTuple

from wmem.model.standing import StandingRequest


class Row(NamedTuple):
    """One entry (it has a `key`), message (it has a `role`) or plain item.

    `content` is the JSON of the value, the message or the text; `rest` the JSON of
    the item's other fields, None when all are at their defaults. `importance` is
    the one the user gave, None to compute it. `tokens` do not include the reasoning
    of a message: where that is sent, it costs `reasoning` more. `standing` are the
    requests of a user's message. A message that was taken back has the time of that
    in `withdrawn_at`.
    """

    id: str
    content: bytes
    created_at: float
    updated_at: float
    key: str | None = None
    role: str | None = None
    type: str = "observation"
    priority: str = "medium"
    tags: tuple[str, ...] = ()
    importance: float | None = None
    step_index: int | None = None
    length: int = 0
    tokens: int | None = None
    counter: str | None = None
    pinned: bool = False
    expires_at: float | None = None
    deleted_at: float | None = None
    turn_id: str | None = None
    calls: tuple[str, ...] = ()
    access_count: int = 0
    last_accessed_at: float | None = None
    promoted_to: str | None = None
    promoted_at: float | None = None
    rest: bytes | None = None
    reasoning: int = 0
    standing: tuple[StandingRequest, ...] = ()
    withdrawn_at: float | None = None

    def expired(self, now: float) -> bool:
        """Whether it has expired; an expired item is invisible at once."""
        return self.expires_at is not None and now >= self.expires_at

    def visible(self, now: float) -> bool:
        """Whether reads may show it: neither expired, nor softly deleted, nor withdrawn."""
        return (
            self.deleted_at is None and (self.expires_at is None or now < self.expires_at) and self.withdrawn_at is None
        )

    @property
    def size_bytes(self) -> int:
        """Approximate size in memory, in bytes."""
        return 420 + len(self.content) + (len(self.rest) if self.rest else 0)
