"""`Layout`: what a prompt was rendered from, as references and numbers.

Rendered again from what is stored, it gives the same prompt. Rows are named by their places, which nothing moves;
texts by ranges of their characters. It holds no content.
"""

from typing import Literal, NamedTuple, TypeAlias

from wmem.model.history import Path
from wmem.model.prompt import Roles

Profile: TypeAlias = Literal["any", "openai", "anthropic", "gemini", "mistral", "bedrock"]
RefKind: TypeAlias = Literal["row", "live", "unknown"]


class Ref(NamedTuple):
    """Where something of a prompt came from.

    Attributes:
        kind: A stored row; a message that the caller passed in; or neither.
        scope: Of a row: 0 for the scope that was packed, else its number in `Layout.scopes`, from 1.
        place: Of a row, as in `State.gone`, 0 for an entry; of a live message, its number, from 0.
        id: Of an entry.
    """

    kind: RefKind
    scope: int = 0
    place: int = 0
    id: str = ""


UNKNOWN = Ref("unknown")
RECALLED = "recalled"
"""The rule of a quote that recall brought into a note."""


class ScopeRef(NamedTuple):
    """Another scope that the prompt has something of.

    Attributes:
        path: Its names below the agent's.
        incarnation: The chain of its first incarnation.
    """

    path: Path
    incarnation: int


class Cut(NamedTuple):
    """How a message was cut.

    Attributes:
        head: Characters of its text from the beginning.
        tail: Characters from the end.
        tokens: How many tokens its marker names; 0 for a text that is whole, -1 where a mark is all that is left.
        media: Which of its parts that are no text stay, by their number among these.
    """

    head: int
    tail: int
    tokens: int
    media: tuple[int, ...] = ()


class SentPiece(NamedTuple):
    """A message as it was sent, before it was fitted to a provider.

    Attributes:
        bare: Without its reasoning.
        calls: The numbers of the calls that it is sent with; None for all.
        cut: How it was cut; None if it is whole.
        interrupted: The number of the call that this message answers as interrupted: it is not the message itself.
    """

    ref: Ref
    bare: bool = False
    calls: tuple[int, ...] | None = None
    cut: Cut | None = None
    interrupted: int | None = None


class Copy(NamedTuple):
    """Characters of a source."""

    start: int
    length: int


class Mark(NamedTuple):
    """A mark of wmem's own, with its number."""

    kind: int
    number: int = 0


Step: TypeAlias = Copy | Mark


class QuotePiece(NamedTuple):
    """A memory in the note.

    Attributes:
        excerpt: What its text is copied from; None if it is whole.
        superseded: Whether a newer memory says otherwise.
        times: How many memories say nearly the same.
        rule: Whether it was ``recalled``, or why else it is there.
        calls: The numbers of its calls that are told; None for all.
    """

    ref: Ref
    excerpt: tuple[Step, ...] | None = None
    superseded: bool = False
    times: int = 1
    rule: str = RECALLED
    calls: tuple[int, ...] | None = None


class RequestPiece(NamedTuple):
    """A standing request in the note: the number of the clause in its message, and whether its date is told."""

    ref: Ref
    clause: int
    dated: bool


class SummaryLine(NamedTuple):
    """A line of a summary, and the message it is copied from."""

    ref: Ref
    steps: tuple[Step, ...]


class Layout(NamedTuple):
    """What a prompt was rendered from.

    Attributes:
        left_out: Whether messages before the first one of the prompt were left out.
        zone: In which the days of its note are.
        system: A checksum of the system text that was passed in; None if there was none.
        scopes: Others than the one that was packed.
    """

    profile: Profile
    roles: Roles
    note_role: Literal["user", "system"]
    stable: bool
    left_out: bool
    zone: str
    system: int | None
    scopes: tuple[ScopeRef, ...]
    messages: tuple[SentPiece, ...]
    requests: tuple[RequestPiece, ...]
    quotes: tuple[QuotePiece, ...]
    summary: tuple[SummaryLine, ...]
