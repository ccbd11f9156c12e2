"""The policy of a scope: limits, TTLs and thresholds as one frozen value; each source document is a preset."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import from_json

from wmem.errors import InvalidInputError
from wmem.model.checks import check_new_names, check_path, is_coroutine_function
from wmem.model.recall_profile import RecallProfile, Scoring
from wmem.model.standing import FindStandingRequests
from wmem.model.validation import first_fault, parse
from wmem.model.zones import to_zone

PRIORITIES = ("low", "medium", "high", "critical")

_OPTIONAL = ("recall", "zone", "long_term")  # fields that a policy which opens a scope need not repeat
_FUNCTIONS = ("on_flush", "find_standing_requests")
_FLAGS = ("auto_promote", "standing_requests")
_KIB, _MIB, _HOUR = 1_024, 1_048_576, 3_600.0


def _to_input_error(exc: ValidationError) -> InvalidInputError:
    field, what = first_fault(exc)
    return InvalidInputError(f"policy: {field or 'policy'!r} {what}")


class Policy(BaseModel):
    """What a scope allows and how long its items live.

    Every number is checked here and stored with the scope. None switches a limit off.

    Attributes:
        ttl_s: Seconds an item lives by priority, or one number for all; None for ever.
        promote_accesses: Fetches after which an item is promoted, by priority.
        promote_importance: Importance from which it is promoted, 0 to 1.
        promote_age_s: Age in seconds above which an item with `promote_age_accesses` fetches is promoted.
        auto_promote: Whether a fetch promotes an item that meets a rule.
        search_order: The default order of search results; None is ``recall`` for a query of several words and
            ``relevance`` for any other.
        max_content_bytes: Limit of one item's text, in UTF-8.
        max_entry_bytes: Limit of one entry's JSON, in UTF-8.
        max_metadata_bytes: Limit of all that an item, an entry or a message has beside its content (metadata,
            tags, relations, sources and the like), as JSON in UTF-8; more raises `CapacityError`.
        max_entries: Entries of a scope; a full one raises `CapacityError`.
        max_child_scopes: Live scopes directly below a session.
        max_items: Items of a scope; `eviction` says what a full one does.
        max_tokens: Tokens of all items of a scope together.
        eviction: What a full scope evicts: its oldest items; or, guarded, stale and less
            important ones, see `wmem.rules.eviction`. None: it raises `CapacityError`.
        step_ttl: Steps after which an item is stale: still visible, evicted early.
        wall_ttl_s: Seconds after which an item is stale.
        guard_low: Items of an importance below this are evicted first.
        guard_high: Items of this importance or above are evicted only when nothing else can be.
        recent_steps: Items of so many last steps are evicted after earlier ones.
        flush_threshold: Number of items at which an add calls `on_flush`.
        on_flush: Called with all items, once for each time that an add brings their number
            to `flush_threshold`, by the process that did, outside all locks; with the async
            API it may be a coroutine function. What it raises is logged by type and place, and changes nothing.
            It belongs to the process: it is neither stored nor compared.
        cleanup_every_s: Seconds between two runs of background cleanup.
        lease_s: Seconds without a write to the scope or one below it after which `AgentMemory.maintain`
            disposes the scope. None: it stays until it is disposed.
        zone: IANA name of the time zone in which the days of notes and of dated questions are. A policy
            that does not name it opens a scope with any.
        long_term: Scopes, by their names below the agent's own, whose long-term memory is in every pack of this
            scope and of those below it, beside the agent's: a user's, so that no other user has any of it. Their
            own items and entries are recalled, too, and what is promoted here goes to the first of them. A policy
            that does not name any opens a scope with those that are stored, else with those of the nearest scope
            above it that has some, and only then with those of the memory's policy.
        recall: The default scoring profile of recall in a pack. A policy that does not name
            it opens a scope with any profile that is stored, see `Scope.use_profile`.
        trace_s: Seconds for which the trace has a turn; see `AgentMemory.trace`.
        trace_turns: So many turns the trace has at most; 0 for no trace.
        trace_share: Share of the scope's bytes that the trace may take, if that is more than 64 KiB: the oldest turns
            go.
        standing_requests: Whether requests that stand ("from now on answer in French") are recognized in
            messages of the user when they are written, and have their place in every pack.
        find_standing_requests: Recognizes them instead of wmem's own table. It is called with the text of
            each message of the user as it is written, and must not be a coroutine function. If it raises,
            or returns something else, that is logged, and the table decides. It belongs to the process:
            it is neither stored nor compared.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True, allow_inf_nan=False
    )

    name: str = "session"
    ttl_s: Mapping[str, float | None] = Field(
        default_factory=lambda: {"low": _HOUR, "medium": 4 * _HOUR, "high": 12 * _HOUR, "critical": 24 * _HOUR}
    )
    promote_accesses: Mapping[str, int] = Field(
        default_factory=lambda: {"low": 10, "medium": 15, "high": 20, "critical": 10}
    )
    promote_importance: float = Field(0.8, ge=0, le=1)
    promote_age_s: float = Field(6 * _HOUR, ge=0)
    promote_age_accesses: int = Field(5, ge=1)
    auto_promote: bool = True
    search_order: Literal["relevance", "recency", "importance", "recall"] | None = None
    max_content_bytes: int = Field(100 * _KIB, ge=1)
    max_entry_bytes: int = Field(_MIB, ge=1)
    max_metadata_bytes: int = Field(256 * _KIB, ge=1)
    max_entries: int = Field(10_000, ge=1)
    max_child_scopes: int = Field(100, ge=1)
    max_items: int | None = Field(None, ge=1)
    max_tokens: int | None = Field(None, ge=1)
    eviction: Literal["guarded", "oldest"] | None = None
    step_ttl: int | None = Field(None, ge=1)
    wall_ttl_s: float | None = Field(None, gt=0)
    guard_low: float = Field(0.3, ge=0, le=1)
    guard_high: float = Field(0.7, ge=0, le=1)
    recent_steps: int = Field(5, ge=0)
    flush_threshold: int | None = Field(None, ge=1)
    on_flush: Callable[..., Any] | None = Field(None, exclude=True, repr=False)
    cleanup_every_s: float = Field(300.0, gt=0)
    lease_s: float | None = Field(None, gt=0)
    trace_s: float = Field(90 * 24 * _HOUR, gt=0)
    trace_turns: int = Field(10_000, ge=0)
    trace_share: float = Field(0.05, ge=0, le=1)
    zone: str = "UTC"
    long_term: tuple[tuple[str, ...], ...] = ()
    recall: Scoring = "evidence"
    standing_requests: bool = True
    find_standing_requests: FindStandingRequests | None = Field(None, exclude=True, repr=False)

    def __init__(self, **numbers: object) -> None:
        parse(partial(super().__init__, **numbers), _to_input_error)

    @field_validator("*", mode="before")
    @classmethod
    def _reject_bools(cls, value: object, info: ValidationInfo) -> object:
        table = value.values() if isinstance(value, Mapping) else (value,)
        if info.field_name not in _FLAGS and any(isinstance(each, bool) for each in table):
            raise ValueError("expected a number")
        return value

    @field_validator("ttl_s", mode="before")
    @classmethod
    def _expand_ttl(cls, value: object) -> object:
        return value if isinstance(value, Mapping) else dict.fromkeys(PRIORITIES, value)

    @field_validator("long_term", mode="before")
    @classmethod
    def _check_long_term(cls, value: object) -> object:
        """One name for a scope directly below the agent's own, several for one further below."""
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ValueError("long_term must be a list of scopes, each by its name or names")  # noqa: TRY004  # as others
        paths = [(each,) if isinstance(each, str) else each for each in value]
        if not all(isinstance(path, Sequence) and path for path in paths):
            raise ValueError("each scope of long_term must have a name or several")
        named = tuple(dict.fromkeys(map(check_path, paths)))
        check_new_names(*chain.from_iterable(named))
        return named

    @field_validator("zone")
    @classmethod
    def _check_zone(cls, value: str) -> str:
        to_zone(value)
        return value

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        for table in (self.ttl_s, self.promote_accesses):
            if set(table) != set(PRIORITIES):
                raise ValueError(f"numbers by priority must name exactly {', '.join(PRIORITIES)}")
        if any(ttl is not None and not 0 < ttl < float("inf") for ttl in self.ttl_s.values()):
            raise ValueError("a time to live must be above 0 seconds; None is for ever")
        if self.guard_low > self.guard_high:
            raise ValueError("guard_low must not be above guard_high")
        if self.flush_threshold is not None and self.flush_threshold > (self.max_items or self.flush_threshold):
            raise ValueError("flush_threshold must not be above max_items: it would never be reached")
        if self.flush_threshold is None and self.on_flush is not None:
            raise ValueError("on_flush needs a flush_threshold: it would never be called")
        if is_coroutine_function(self.find_standing_requests):
            raise ValueError("find_standing_requests must be a plain function: it is called while a message is written")
        return self

    def __eq__(self, other: object) -> bool:
        return self.storage_fields() == other.storage_fields() if isinstance(other, Policy) else NotImplemented

    __hash__ = BaseModel.__hash__

    @property
    def recall_profile(self) -> RecallProfile:
        """The scoring profile that `recall` names, with its coefficients."""
        return RecallProfile.resolve(self.recall)

    @property
    def has_item_limit(self) -> bool:
        """Whether items are limited, in number or tokens."""
        return self.max_items is not None or self.max_tokens is not None

    def storage_fields(self) -> dict[str, Any]:
        """All fields that are stored and compared, by name; a profile by its coefficients."""
        return {**self.model_dump(exclude={"recall"}), "recall": self.recall_profile.model_dump()}

    def differences(self, other: "Policy") -> list[str]:
        """Names of the fields that differ in a policy asked for; `recall` and `zone` count only if it names one."""
        stored, wanted = self.storage_fields(), other.storage_fields()
        named = other.model_fields_set
        return [name for name in stored if stored[name] != wanted[name] and (name not in _OPTIONAL or name in named)]

    def with_functions_of(self, other: "Policy") -> "Policy":
        """This policy with the functions, which are not stored, of one that differs in `recall` and `zone` at most."""
        functions = {name: getattr(other, name) for name in _FUNCTIONS if getattr(other, name) is not None}
        if not functions:
            return self
        mine, others = self.storage_fields(), other.storage_fields()
        if any(mine[name] != others[name] for name in mine if name not in _OPTIONAL):
            return self
        return self.model_copy(update=functions)

    def with_profile(self, scoring: Scoring) -> "Policy":
        """A copy of this policy with another scoring profile.

        Raises:
            InvalidInputError: There is no such profile, or one of its coefficients is out of range.
        """
        named = RecallProfile.resolve(scoring)
        # Validate again: `model_copy` does not, and every process reads what is stored.
        checked = RecallProfile(**dict(scoring)) if isinstance(scoring, RecallProfile) else named.name
        return self.model_copy(update={"recall": checked})

    @classmethod
    def session(cls, **numbers: object) -> Self:
        """Session tools: TTL by priority, promotion rules, contents up to 100 KiB."""
        return cls(**{"name": "session", **numbers})

    @classmethod
    def entries(cls, **numbers: object) -> Self:
        """Scoped key-value: 10,000 entries of at most 1 MiB, without expiry."""
        return cls(**{"name": "entries", "ttl_s": dict.fromkeys(PRIORITIES), "auto_promote": False, **numbers})

    @classmethod
    def buffer(cls, **numbers: object) -> Self:
        """Hot buffer: 1,000 items for 3,600 s, the oldest evicted first; no promotion.

        Args:
            numbers: `flush_threshold` and `on_flush` pass its items on before they are evicted.
        """
        preset = {"name": "buffer", "ttl_s": 3_600.0, "max_items": 1_000, "eviction": "oldest"}
        return cls(**{**preset, "auto_promote": False, "search_order": "recency", **numbers})

    @classmethod
    def queue(cls, **numbers: object) -> Self:
        """Bounded store: 64 items, 4,000 tokens, staleness after 20 steps or 1 h."""
        preset = {"name": "queue", "ttl_s": dict.fromkeys(PRIORITIES), "max_items": 64, "max_tokens": 4_000}
        soft = {"eviction": "guarded", "step_ttl": 20, "wall_ttl_s": _HOUR}
        return cls(**{**preset, **soft, "auto_promote": False, "search_order": "importance", **numbers})


class Capacity(NamedTuple):
    """How full a scope, or a memory type, is with items.

    Attributes:
        items: Number of visible items.
        tokens: Tokens of the visible items together.
        max_items: The limit, None for none.
        max_tokens: The limit, None for none.
        free_items: How many more fit before a visible one is evicted; None without a limit.
        free_tokens: The same in tokens.
        policy: The scope's policy; None for a memory type that is no scope.
    """

    items: int
    tokens: int
    max_items: int | None = None
    max_tokens: int | None = None
    free_items: int | None = None
    free_tokens: int | None = None
    policy: Policy | None = None

    @classmethod
    def of(cls, items: int, tokens: int, policy: Policy) -> Self:
        """The capacity of a scope that holds so much."""
        return cls(items, tokens, policy=policy).within(policy.max_items, policy.max_tokens)

    def within(self, max_items: int | None, max_tokens: int | None) -> Self:
        """The same within further limits; of two limits the smaller counts."""
        most_items, most_tokens = _least(self.max_items, max_items), _least(self.max_tokens, max_tokens)
        return self._replace(
            max_items=most_items,
            max_tokens=most_tokens,
            free_items=None if most_items is None else max(0, most_items - self.items),
            free_tokens=None if most_tokens is None else max(0, most_tokens - self.tokens),
        )


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


@lru_cache(256)
def parse_policy(stored: str) -> Policy:
    """A policy from its stored JSON. Cached: thousands of scopes follow the same few.

    Raises:
        ValueError: It is none.
    """
    # Another machine may know more zones than this one: a name that is unknown here is an error where it is used.
    fields = from_json(stored)
    zone = fields.pop("zone", "UTC") if isinstance(fields, dict) else ""
    if not isinstance(zone, str):
        raise ValueError("zone must be text")  # noqa: TRY004  # like any other field that is damaged
    return Policy.model_validate(fields).model_copy(update={"zone": zone})
