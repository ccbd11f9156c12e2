"""What a pack is asked to do: everything it may use, as values."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args

from wmem.errors import InvalidInputError
from wmem.model.context import Profile
from wmem.model.message import Message, Role
from wmem.text.tokens import Counter

__all__ = ["Candidate", "NoteRole", "Orphans", "PackRequest", "PromptCounter", "Quote", "Quotes", "Recalled"]

Orphans: TypeAlias = Literal["drop", "synthesize"]
NoteRole: TypeAlias = Literal["user", "system"]
PromptCounter: TypeAlias = Callable[[Sequence[Message], Sequence[Mapping[str, Any]]], int]


class Candidate(NamedTuple):
    """One stored message or item, not yet decoded.

    Attributes:
        role: None for a plain item, which belongs in the note.
        calls: The ids an assistant message calls, or the one a tool message answers.
        tokens: What `message_tokens` says of it under the request's counter.
        at: When it was made, UTC epoch seconds; it dates, it does not order.
        load: Decodes it; an item comes as a user message with its content as text.
    """

    id: str
    role: Role | None
    tokens: int
    at: float
    load: Callable[[], Message]
    calls: tuple[str, ...] = ()
    turn_id: str | None = None
    pinned: bool = False


class Recalled(NamedTuple):
    """A candidate that recall found, its score, and what tells when asked what the score is made of."""

    candidate: Candidate
    score: float
    parts: Callable[[], Mapping[str, float]] = dict


class Quote(NamedTuple):
    """A memory as it stands whole in a note.

    Attributes:
        day: The heading it stands under.
        block: Its lines.
        text: What it says, folded, to tell whether the same is said elsewhere.
        tokens: What its lines cost.
    """

    day: str
    block: str
    text: str
    tokens: int


class Quotes(Protocol):
    """Remembers how memories are quoted whole under the request's counter."""

    def get(self, candidate: Candidate, /) -> Quote | None:
        """How the candidate is quoted, where that is known."""
        ...

    def put(self, candidate: Candidate, quote: Quote, /) -> None:
        """Take in how the candidate is quoted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PackRequest:
    """Everything a pack depends on; equal requests give equal packs.

    Attributes:
        budget: The ceiling in tokens for everything that is sent, and for `reserve`.
        newest_first: The conversation; read no further than the budget needs.
        total: How many messages there are in all; those never read are reported as older.
        pinned: Pinned and system messages, oldest first, wherever they lie, and pinned items,
            which stand whole in the note.
        recalled: What recall found, best first.
        tools: JSON schemas of the tools, counted against the budget.
        reserve: Tokens kept free for the reply.
        recent: How many of the newest messages come before recalled ones, within a quarter of the budget.
        orphans: What becomes of a call without result: left out, or answered as interrupted.
        stable: Whether the front stays as it is for many turns, so that a provider's cache of
            prompts keeps hitting; the note then stands just before the newest user message.
        summary: Tokens set aside for a summary of what the budget leaves out; 0 for none.
        query: What memory was asked; blank for nothing.
        quotes: How memories were quoted before; None to make every quote anew.
        prompt_counter: A provider's own count of a prompt, without `reserve`; it is only
            ever shown prompts that the provider would accept.
    """

    budget: int
    count: Counter
    newest_first: Iterable[Candidate]
    total: int
    pinned: Sequence[Candidate] = ()
    recalled: Sequence[Recalled] = ()
    system: str = ""
    tools: Sequence[Mapping[str, Any]] = ()
    reserve: int = 0
    recent: int = 4
    profile: Profile = "openai"
    orphans: Orphans = "drop"
    note_role: NoteRole = "user"
    stable: bool = False
    summary: int = 0
    query: str = ""
    quotes: Quotes | None = None
    prompt_counter: PromptCounter | None = None

    def __post_init__(self) -> None:
        for name, least in (("budget", 1), ("reserve", 0), ("recent", 0), ("summary", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                msg = f"{name} must be a whole number of at least {least}, not {value!r:.40}"
                raise InvalidInputError(msg)
        for name, known in (("profile", Profile), ("orphans", Orphans), ("note_role", NoteRole)):
            if (value := getattr(self, name)) not in get_args(known):
                msg = f"unknown {name} {value!r:.40}; known: {', '.join(get_args(known))}"
                raise InvalidInputError(msg)
        if not isinstance(self.tools, list | tuple) or not all(isinstance(tool, Mapping) for tool in self.tools):
            msg = f"tools must be a list of JSON schemas, not {self.tools!r:.80}"
            raise InvalidInputError(msg)
        try:
            json.dumps(self.tools)
        except (TypeError, ValueError, RecursionError) as exc:
            msg = f"tools must be JSON schemas: {exc}"
            raise InvalidInputError(msg) from exc
        if self.prompt_counter is not None and not callable(self.prompt_counter):
            msg = f"prompt_counter must be callable, not {type(self.prompt_counter).__name__!r}"
            raise InvalidInputError(msg)
        for name in ("system", "query"):
            if not isinstance(text := getattr(self, name), str):
                msg = f"{name} must be text, not {type(text).__name__!r}"
                raise InvalidInputError(msg)
        if not isinstance(self.stable, bool):
            msg = f"stable must be True or False, not {self.stable!r:.40}"
            raise InvalidInputError(msg)
