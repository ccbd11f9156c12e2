"""Settings of the built-in memory types: they live with the memory, not in a stored scope's policy."""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from wmem.model.checks import check_count, check_fraction, check_seconds

DEFAULT_POOL = 20
LEAST_SUMMARY_TOKENS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingSettings:
    """Settings of working memory.

    Attributes:
        pool: How many candidates it gives for a context at most.
        min_importance: Items of a lower importance are not taken, 0 to 1; 0 takes all. See `Gate`.
        min_novelty: Items of a lower novelty are not taken, 0 to 1; 0 takes all. See `Gate`.
        tail_items: So many of the newest items of a session stay without a summary; None: all. Of a session that
            evicts, half of what it holds at most.
        tail_tokens: The same of its messages, in tokens.
        summary_tokens: Tokens of the summary of what is older, at most.
    """

    name: ClassVar[str] = "working"
    pool: int = DEFAULT_POOL
    min_importance: float = 0.0
    min_novelty: float = 0.0
    tail_items: int | None = 128
    tail_tokens: int | None = 32_000
    summary_tokens: int = 512

    def __post_init__(self) -> None:
        _check(self)
        check_count(self.summary_tokens, "summary_tokens", LEAST_SUMMARY_TOKENS)
        for name in ("tail_items", "tail_tokens"):
            if (number := getattr(self, name)) is not None:
                check_count(number, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSettings:
    """Settings of the conversation; see `WorkingSettings`.

    Attributes:
        min_importance: Drafts that come with a lower importance are not routed here; messages are always taken.
        sessions: How many closed sessions are searched, the newest ones.
        idle_s: Seconds without a message after which `AgentMemory.maintain` closes a session; None: only who calls
            `close` closes one.
    """

    name: ClassVar[str] = "conversation"
    pool: int = DEFAULT_POOL
    min_importance: float = 0.0
    sessions: int = 32
    idle_s: float | None = None

    def __post_init__(self) -> None:
        _check(self)
        check_count(self.sessions, "sessions")
        if self.idle_s is not None:
            check_seconds(self.idle_s, "idle_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticSettings:
    """Settings of semantic memory; see `WorkingSettings`.

    Attributes:
        max_items: Items of semantic memory above which the least useful are taken away; None: any number. They can be
            brought back until they are purged.
        max_tokens: The same in tokens of all items.
        keep_items: So many of the newest items stay in any case; None: 256, or those that half of the bounds has room
            for.
        undo_s: Seconds for which `items.undelete` brings back what a job of maintenance took away; then it is purged,
            by the eighth part of that later, and within a week. None: for ever. It counts for episodic memory, too.
    """

    name: ClassVar[str] = "semantic"
    pool: int = DEFAULT_POOL
    min_importance: float = 0.0
    min_novelty: float = 0.0
    max_items: int | None = 20_000
    max_tokens: int | None = 2_000_000
    keep_items: int | None = None
    undo_s: float | None = 30 * 86_400.0

    def __post_init__(self) -> None:
        _check(self)
        if self.keep_items is not None:
            check_count(self.keep_items, "keep_items")
        if self.undo_s is not None:
            check_seconds(self.undo_s, "undo_s")
        for name in ("max_items", "max_tokens"):
            if (number := getattr(self, name)) is not None:
                check_count(number, name, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodicSettings:
    """Settings of episodic memory; see `WorkingSettings`.

    Attributes:
        gap_s: Seconds without an item of a thread after which its next item begins an episode; None: never.
        max_steps: Steps of an episode: another one begins an episode. None: any number.
        max_tokens: Tokens of an episode's items; None: any number.
        summary_tokens: Tokens of the summary of an episode that is over, at most.
        max_items: Items of episodic memory above which maintenance takes away a sample of them, at most; None: any
            number. They can be brought back until they are purged.
        max_log_tokens: The same in tokens of all items.
        keep_items: So many of the newest items stay in any case; None: 256, or those that half of the bounds has room
            for.
        half_life_s: Seconds in which the chance of an item to stay halves; it grows with its importance.
    """

    name: ClassVar[str] = "episodic"
    pool: int = DEFAULT_POOL
    min_importance: float = 0.0
    min_novelty: float = 0.0
    gap_s: float | None = 4 * 3_600.0
    max_steps: int | None = 64
    max_tokens: int | None = 4_000
    summary_tokens: int = 256
    max_items: int | None = 20_000
    max_log_tokens: int | None = 2_000_000
    keep_items: int | None = None
    half_life_s: float = 90 * 86_400.0

    def __post_init__(self) -> None:
        _check(self)
        check_count(self.summary_tokens, "summary_tokens", LEAST_SUMMARY_TOKENS)
        if self.keep_items is not None:
            check_count(self.keep_items, "keep_items")
        check_seconds(self.half_life_s, "half_life_s")
        if self.gap_s is not None:
            check_seconds(self.gap_s, "gap_s")
        for name in ("max_steps", "max_tokens", "max_items", "max_log_tokens"):
            if (number := getattr(self, name)) is not None:
                check_count(number, name, 1)


TypeSettings: TypeAlias = WorkingSettings | ConversationSettings | SemanticSettings | EpisodicSettings


def _check(settings: TypeSettings) -> None:
    check_count(settings.pool, "pool")
    check_fraction(settings.min_importance, "min_importance")
    if not isinstance(settings, ConversationSettings):
        check_fraction(settings.min_novelty, "min_novelty")
