"""What saving, restoring and clearing the memory of an agent returns."""

from typing import NamedTuple


class Snapshot(bytes):
    """The memory of one agent as of one instant: the bytes of a document, which `AgentMemory.restore` takes.

    Attributes:
        agent_id: Whose memory it is.
        created_at: UTC epoch seconds.
        scopes: How many scopes it holds, those of wmem's own among them.
        items: How many items, entries and messages.
        is_encrypted: Whether it needs its key to be read.
        is_redacted: Whether secrets and personal data were taken out of it: what is restored is without them.
        redactions: How many texts of each kind were taken out.
    """

    agent_id: str
    created_at: float
    scopes: int
    items: int
    is_encrypted: bool
    is_redacted: bool
    redactions: dict[str, int]

    def __repr__(self) -> str:
        said = "encrypted" if self.is_encrypted else "redacted" if self.is_redacted else "verbatim"
        return f"<Snapshot of {self.agent_id!r}, {said}: {self.items} items in {self.scopes} scopes, {len(self)} bytes>"

    __str__ = __repr__


class Restored(NamedTuple):
    """What a restore brought back.

    Attributes:
        scopes: How many scopes the agent has now.
        items: How many items, entries and messages they hold.
        erased: How many more the snapshot held that were erased since, or are copies of what was: they stay erased.
        ended: How many scopes were there before and are gone.
        is_redacted: Whether secrets and personal data had been taken out of the snapshot.
    """

    scopes: int
    items: int
    erased: int
    ended: int
    is_redacted: bool


class ClearedMemory(NamedTuple):
    """What a clear took away; each counts what was visible.

    Attributes:
        entries: Of working memory.
        items: Of working memory.
        messages: Of working memory, which contexts are packed of.
        long_term: Items of long-term memory.
        scopes: How many scopes were cleared; they stay, with their policies and steps.
        remaining: One sentence for each place that may keep bytes of it, and what its operator must do.
    """

    entries: int
    items: int
    messages: int
    long_term: int
    scopes: int
    remaining: tuple[str, ...] = ()
