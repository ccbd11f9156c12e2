"""The request of a pack: everything it may use, as values."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args

from wmem.errors import InvalidInputError
from wmem.model.checks import check_count, check_flag
from wmem.model.context import ProviderProfile
from wmem.model.message import Message, Role
from wmem.tokens.counter import Counter

__all__ = [
    "Candidate",
    "NoteRole",
    "Orphans",
    "PackRequest",
    "PromptCounter",
    "Quote",
    "QuoteStore",
    "RecalledCandidate",
]

Orphans: TypeAlias = Literal["drop", "synthesize"]
NoteRole: TypeAlias = Literal["user", "system"]
PromptCounter: TypeAlias = Callable[[Sequence[Message], Sequence[Mapping[str, Any]]], int]


class Candidate(NamedTuple):
    """One stored message or item, not yet decoded.

    Attributes:
        role: None for a plain item, which belongs in the note.
        calls: Ids of the tool calls of an assistant message, or the one a tool message answers.
        tokens: Its `message_tokens` under the request's counter.
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


class RecalledCandidate(NamedTuple):
    """A candidate that recall found, its score, and a function that returns the score's parts."""

    candidate: Candidate
    score: float
    parts: Callable[[], Mapping[str, float]] = dict


class Quote(NamedTuple):
    """A whole memory as quoted in a note.

    Attributes:
        day: Its heading.
        block: Its lines.
        text: Its normalized text, to detect duplicates.
        tokens: Tokens of its lines.
    """

    day: str
    block: str
    text: str
    tokens: int


class QuoteStore(Protocol):
    """Cache of whole-memory quotes under the request's counter."""

    def get(self, candidate: Candidate, /) -> Quote | None:
        """The candidate's quote, or None if unknown."""
        ...

    def put(self, candidate: Candidate, quote: Quote, /) -> None:
        """Store the candidate's quote."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PackRequest:
    """Everything a pack depends on; equal requests give equal packs.

    Attributes:
        budget: The limit in tokens for everything that is sent, plus `reserve`.
        newest_first: The conversation; read only as far as the budget needs.
        total: How many messages there are in all; those never read are reported as older.
        pinned: Pinned and system messages of the whole conversation, oldest first, and pinned
            items, which are quoted whole in the note.
        recalled: What recall found, best first.
        tools: JSON schemas of the tools, counted against the budget.
        reserve: Tokens kept free for the reply.
        recent: How many of the newest messages come before recalled ones, within a quarter of the budget.
        orphans: Whether a call without result is dropped or answered as interrupted.
        stable: Whether the prompt's prefix stays the same for many turns, so that a provider's
            prompt cache keeps hitting; the note then stands just before the newest user message.
        summary: Tokens reserved for a summary of what the budget leaves out; 0 for none.
        query: The recall query; blank for none.
        quotes: Cache of quotes; None to make every quote anew.
        prompt_counter: A provider's own count of a prompt, without `reserve`; it is only
            given prompts that the provider would accept.
    """

    budget: int
    count: Counter
    newest_first: Iterable[Candidate]
    total: int
    pinned: Sequence[Candidate] = ()
    recalled: Sequence[RecalledCandidate] = ()
    system: str = ""
    tools: Sequence[Mapping[str, Any]] = ()
    reserve: int = 0
    recent: int = 4
    profile: ProviderProfile = "openai"
    orphans: Orphans = "drop"
    note_role: NoteRole = "user"
    stable: bool = False
    summary: int = 0
    query: str = ""
    quotes: QuoteStore | None = None
    prompt_counter: PromptCounter | None = None

    def __post_init__(self) -> None:
        for name, least in (("budget", 1), ("reserve", 0), ("recent", 0), ("summary", 0)):
            check_count(getattr(self, name), name, least)
        for name, known in (("profile", ProviderProfile), ("orphans", Orphans), ("note_role", NoteRole)):
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
        check_flag(self.stable, "stable")
