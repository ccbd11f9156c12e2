"""The request of a pack: everything it may use, as values."""

from collections.abc import Callable, Container, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, get_args

from wmem.analysis.analyzer import Analyzer
from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.fork import cached_property
from wmem.model.checks import check_count, check_flag, check_fraction
from wmem.model.context import ProviderProfile
from wmem.model.layout import Cut
from wmem.model.message import Message
from wmem.model.part import Role
from wmem.model.prompt import Roles
from wmem.model.results import RecallForm
from wmem.model.standing import StandingRequest
from wmem.model.values import dump_argument
from wmem.pack.provider_rules import RULES, ProviderRules
from wmem.pack.wording import normalize_text
from wmem.tokens.counter import Counter

if TYPE_CHECKING:
    from wmem.model.context import Context
    from wmem.model.receipt import Sealed
    from wmem.pack.excerpt import LongMemory
    from wmem.pack.layout import PackedPrompt

Orphans: TypeAlias = Literal["drop", "synthesize"]
NoteRole: TypeAlias = Literal["user", "system"]
Reasoning: TypeAlias = Literal["tools", "in-flight", "all", "none"]
"""Which messages are sent with their reasoning: those in flight and those that call tools, the former, all, or none."""
PromptCounter: TypeAlias = Callable[[Sequence[Message], Sequence[Mapping[str, Any]]], int]
"""A provider's own count of a prompt, without `PackOptions.reserve`; only given prompts that the provider accepts."""

_SUMMARY_DIVISOR = 8  # the budget divided by this is reserved for a summary


class PlainText:
    """The text of a message that every provider is known to take as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def normal_form(self) -> str:
        """See `normalize_text`; made at first use, for only packs with a query need it."""
        return normalize_text(self._text)


class Rendered(NamedTuple):
    """Messages that stand or fall together as they are sent, their tokens, and how many tokens were cut.

    Attributes:
        plain: The text, if it is one plain message and whole, see `Candidate.plain`.
        cuts: How those were cut that were, in the order of the messages; none if all are whole.
    """

    messages: tuple[Message, ...]
    tokens: int
    tokens_cut: int = 0
    plain: PlainText | None = None
    cuts: tuple[Cut | None, ...] = ()


class Candidate(NamedTuple):
    """One stored message or item, not yet decoded.

    Attributes:
        role: None for a plain item, which belongs in the note.
        calls: Ids of the tool calls of an assistant message, or the one a tool message answers.
        tokens: Its `message_tokens` under the request's counter, without its reasoning.
        at: When it was made, UTC epoch seconds; it dates, it does not order.
        load: Decodes it; an item comes as a user message with its content as text.
        reasoning: Tokens of its reasoning. Where it is sent, `tokens` includes them; where not, they are 0.
        place: Orders memories of one instant in the note: later ones have larger places.
        plain: How it is sent whole, if it is decoded and known to be plain, see `provider_order.is_plain`, and
            no pack's own: then nothing else of it needs a look. It has no reasoning.
        scope: Id of the scope that it is from; "" for the one that is packed.
    """

    id: str
    role: Role | None
    tokens: int
    at: float
    load: Callable[[], Message]
    calls: tuple[str, ...] = ()
    turn_id: str | None = None
    pinned: bool = False
    reasoning: int = 0
    place: int = 0
    plain: Rendered | None = None
    scope: str = ""


class RecalledCandidate(NamedTuple):
    """A candidate that recall found, its score, and a function that returns the score's parts.

    Attributes:
        superseded: Whether a newer memory of the same says otherwise.
        form: What it is in its exchange; how much of it is quoted depends on it.
        below_floor: Whether it is too weak a match to be quoted.
        is_repeated: Whether something else that recall found, too, says all that it says.
        is_outdated: Whether it does not hold at the time that the question asks for.
    """

    candidate: Candidate
    score: float
    parts: Callable[[], Mapping[str, float]] = dict
    superseded: bool = False
    form: RecallForm = ""
    below_floor: bool = False
    is_repeated: bool = False
    is_outdated: bool = False


class StoredSummary(NamedTuple):
    """A summary that is stored, and the ids of the messages that it covers."""

    candidate: Candidate
    covered: frozenset[str]


class StandingClause(NamedTuple):
    """A clause of a message of the user that he wanted to be followed.

    Attributes:
        ended: Why it is not in force; "" if it is.
    """

    candidate: Candidate
    request: StandingRequest
    ended: str = ""


class Quote(NamedTuple):
    """A whole memory as quoted in a note.

    Attributes:
        day: Its heading.
        block: Its lines.
        text: Its normalized text, to detect duplicates.
        tokens: Tokens of its lines.
        gist: What it says: a quote of the same gist by the same role says nearly the same.
    """

    day: str
    block: str
    text: str
    tokens: int
    gist: str = ""


class QuoteStore(Protocol):
    """Cache of quotes, and of what long memories are quoted from, under the request's counter and zone."""

    def get(self, candidate: Candidate, /) -> Quote | None:
        """The candidate's quote, or None if unknown."""

    def put(self, candidate: Candidate, quote: Quote, /) -> None:
        """Store the candidate's quote."""

    def get_long(self, candidate: Candidate, /) -> "LongMemory | None":
        """What the excerpts of a long candidate are made of, or None if unknown."""

    def put_long(self, candidate: Candidate, memory: "LongMemory", /) -> None:
        """Store what the excerpts of a long candidate are made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackOptions:
    """How a caller wants a prompt packed; `Scope.pack` describes the options and has their defaults."""

    budget: int
    system: str
    tools: Sequence[Mapping[str, Any]]
    reserve: int
    tail: float
    recent: int
    profile: ProviderProfile
    orphans: Orphans
    note_role: NoteRole
    stable: bool
    summary: bool | int
    prompt_counter: PromptCounter | None
    reasoning: Reasoning
    roles: Roles

    def __post_init__(self) -> None:
        for name, least in (("budget", 1), ("reserve", 0), ("recent", 0)):
            check_count(getattr(self, name), name, least)
        check_count(self.summary_tokens, "summary")
        choices = {
            "profile": ProviderProfile,
            "orphans": Orphans,
            "note_role": NoteRole,
            "reasoning": Reasoning,
            "roles": Roles,
        }
        for name, known in choices.items():
            if (value := getattr(self, name)) not in get_args(known):
                raise InvalidInputError(f"unknown {name} {describe(value)}; known: {', '.join(get_args(known))}")
        if not isinstance(self.tools, list | tuple) or not all(isinstance(tool, Mapping) for tool in self.tools):
            raise InvalidInputError(f"tools must be a list of JSON schemas, not {describe(self.tools)}")
        dump_argument(self.tools, "tools must be JSON schemas")
        if self.prompt_counter is not None and not callable(self.prompt_counter):
            raise InvalidInputError(f"prompt_counter must be callable, not {type(self.prompt_counter).__name__!r}")
        if not isinstance(self.system, str):
            raise InvalidInputError(f"system must be text, not {type(self.system).__name__!r}")
        check_fraction(self.tail, "tail")
        check_flag(self.stable, "stable")

    @property
    def rules(self) -> ProviderRules:
        """What the prompt has to obey."""
        rules = RULES[self.profile]
        return rules.alternating() if self.roles == "alternate" else rules

    @property
    def summary_tokens(self) -> int:
        """Tokens reserved for a summary of what the budget leaves out; 0 for none."""
        return self.budget // _SUMMARY_DIVISOR if self.summary is True else self.summary or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PackRequest:
    """Everything a pack depends on; equal requests give equal packs.

    Attributes:
        newest_first: The conversation; read only as far as the budget needs.
        total: How many messages there are in all; those never read are reported as older.
        conversation_tokens: Tokens of all these messages as counted at write; None if unknown.
        pinned: Pinned messages of the whole conversation and the system text it begins with, oldest
            first, and pinned items, which are quoted whole in the note.
        repeated: Ids of messages that only repeat the system text it begins with; they are not sent.
        recalled: What recall found, best first.
        summaries: Stored summaries of messages of the conversation, oldest first.
        standing: Standing requests of the user, newest first, clause by clause.
        standing_scores: By the id of its message, how much a clause bears on the query; 0 for others.
        clause_tokens: Cache of the tokens of clauses in the note, by clause, under this request's counter; of "" those
            of the section without any.
        query: The recall query; blank for none.
        query_terms: The terms of the query that are searched; of a long one, the most informative.
        has_items: Whether recall might find items or entries.
        places: Places of the stored messages in the conversation, by id: see `Candidate.place`.
        analyzer: Splits texts into terms.
        quotes: Cache of quotes; None to make every quote anew.
        zone: In which the days of the note are.
        changed_blocks: The messages whose blocks were changed for the provider, and for each the kinds that were left
            out; complete as far as candidates were read.
        warnings: What went wrong before, for the context to tell.
        seal: Makes the receipt of a prompt from what it was made of; None for prompts without one.
        scope: Id of the scope that is packed.
    """

    options: PackOptions
    count: Counter
    newest_first: Iterable[Candidate]
    total: int
    conversation_tokens: int | None = None
    pinned: Sequence[Candidate] = ()
    repeated: Container[str] = frozenset()
    recalled: Sequence[RecalledCandidate] = ()
    summaries: Sequence[StoredSummary] = ()
    standing: Sequence[StandingClause] = ()
    standing_scores: Mapping[str, float] = field(default_factory=dict)
    clause_tokens: MutableMapping[str, int] = field(default_factory=dict)
    query: str = ""
    query_terms: Sequence[str] = ()
    has_items: bool = False
    places: Mapping[str, int] = field(default_factory=dict)
    analyzer: Analyzer = field(default_factory=Analyzer)
    quotes: QuoteStore | None = None
    zone: tzinfo = UTC
    changed_blocks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seal: "Callable[[PackedPrompt, Context], Sealed] | None" = None
    scope: str = ""
