"""Every number a scope follows, as one frozen value with a name; each source document is a preset."""

from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from wmem.errors import InvalidInputError

__all__ = ["PRIORITIES", "Policy"]

PRIORITIES = ("low", "medium", "high", "critical")

_KIB, _MIB, _HOUR = 1_024, 1_048_576, 3_600.0


class Policy(BaseModel):
    """What a scope allows and how long its items live.

    The numbers of promotion, staleness and eviction are checked and stored with the scope;
    this version applies none of them yet: a full scope refuses.

    Attributes:
        ttl_s: Seconds an item lives by priority; None for ever.
        promote_accesses: Fetches after which an item is promoted, by priority.
        promote_importance: Importance from which it is promoted, 0 to 1.
        promote_age_s: With `promote_age_accesses`, promotes what is older and used.
        auto_promote: Whether a fetch promotes what a rule names.
        max_content_bytes: Of one item's text, in UTF-8.
        max_entry_bytes: Of one entry's JSON, in UTF-8.
        max_entries: Entries of a scope; a full one raises `CapacityError`.
        max_child_scopes: Live scopes directly below a session.
        max_items: Items of a scope, None for no limit; a full one raises `CapacityError`.
        max_tokens: Their tokens together, None for no limit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

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
    max_content_bytes: int = Field(100 * _KIB, ge=1)
    max_entry_bytes: int = Field(_MIB, ge=1)
    max_entries: int = Field(10_000, ge=1)
    max_child_scopes: int = Field(100, ge=1)
    max_items: int | None = Field(None, ge=1)
    max_tokens: int | None = Field(None, ge=1)
    step_ttl: int | None = Field(None, ge=1)
    wall_ttl_s: float | None = Field(None, gt=0)
    guard_low: float = Field(0.3, ge=0, le=1)
    guard_high: float = Field(0.7, ge=0, le=1)
    recent_steps: int = Field(5, ge=0)
    cleanup_every_s: float = Field(300.0, gt=0)

    def __init__(self, **numbers: object) -> None:
        try:
            super().__init__(**numbers)
        except ValidationError as exc:
            first = exc.errors(include_url=False)[0]
            where = ".".join(str(each) for each in first["loc"]) or "policy"
            msg = f"policy: {where!r} {first['msg'][:1].lower()}{first['msg'][1:]}, got {first['input']!r:.80}"
            raise InvalidInputError(msg) from exc

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for table in (self.ttl_s, self.promote_accesses):
            if set(table) != set(PRIORITIES):
                msg = f"numbers by priority must name exactly {', '.join(PRIORITIES)}"
                raise ValueError(msg)
        if any(ttl is not None and not 0 < ttl < float("inf") for ttl in self.ttl_s.values()):
            msg = "a time to live must be above 0 seconds; None is for ever"
            raise ValueError(msg)
        if self.guard_low > self.guard_high:
            msg = "guard_low must not be above guard_high"
            raise ValueError(msg)
        return self

    @classmethod
    def session(cls, **numbers: object) -> Self:
        """Session tools: time to live by priority, promotion rules, contents up to 100 KiB."""
        return cls(**{"name": "session", **numbers})

    @classmethod
    def entries(cls, **numbers: object) -> Self:
        """Scoped key-value: entries for ever, 10,000 of them, 1 MiB each."""
        return cls(**{"name": "entries", "ttl_s": dict.fromkeys(PRIORITIES), "auto_promote": False, **numbers})

    @classmethod
    def buffer(cls, **numbers: object) -> Self:
        """Hot buffer: 1,000 items for 3,600 s."""
        return cls(**{"name": "buffer", "ttl_s": dict.fromkeys(PRIORITIES, 3_600.0), "max_items": 1_000, "auto_promote": False, **numbers})

    @classmethod
    def queue(cls, **numbers: object) -> Self:
        """Bounded store: 64 items, 4,000 tokens, staleness after 20 steps or 1 h."""
        return cls(
            **{
                "name": "queue",
                "ttl_s": dict.fromkeys(PRIORITIES),
                "max_items": 64,
                "max_tokens": 4_000,
                "step_ttl": 20,
                "wall_ttl_s": _HOUR,
                "auto_promote": False,
                **numbers,
            }
        )
