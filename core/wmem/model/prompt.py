"""`Prompt`: a packed prompt as data; `Context` is what users hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from wmem.model.message import Message
from wmem.model.receipt import LazySeal
from wmem.model.results import UnitReport

Roles: TypeAlias = Literal["free", "alternate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedUnits:
    """Units left out of a prompt: counts by reason, and reports on the best hundred."""

    totals: Mapping[str, int]
    best: Sequence[UnitReport]

    @property
    def count(self) -> int:
        """How many units were left out."""
        return sum(self.totals.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A packed prompt: what is sent, its sizes, and the reports on what was chosen.

    Attributes:
        system: The system text that was passed in, unchanged; "" for none.
        note: Recalled memories as one delimited, quoted block; "" for none. It is
            data, marked as such, and never to be stored again.
        messages: The conversation to send, chronological, valid for the profile.
            The note is not among them; `Context.prompt` puts it where it belongs.
        tokens: Total tokens: system, tools, note, messages and reserve.
        budget: The most tokens that were allowed.
    """

    messages: tuple[Message, ...]
    note: str
    system: str
    tokens: int
    budget: int
    included: Sequence[UnitReport]
    truncated: Sequence[UnitReport]
    dropped: DroppedUnits
    sizes: Mapping[str, int]
    note_before: int = 0
    """Position of the note among the messages: before `messages[note_before]`."""
    note_role: Literal["user", "system"] = "user"
    roles: Roles = "free"
    """Whether `Context.prompt` joins the messages of one speaker in a row, the note among them."""
    is_fitted: bool = False
    """Whether messages were changed for the provider: they are not all as they are stored."""
    warnings: tuple[str, ...] = ()
    all_dropped: Sequence[UnitReport] | None = None
    _seal: LazySeal | None = field(default=None, repr=False, compare=False)
    """Makes the receipt; None for a prompt that no scope has packed."""
    scope: str = ""
    """Id of the scope that was packed."""
