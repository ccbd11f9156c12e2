"""Which features a memory may use: the tiers of the scoped key-value document."""

from dataclasses import dataclass

from wmem.errors import FeatureNotEnabledError


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What a memory may use. It limits the memory that was opened with it, not the store.

    Source: scoped key-value document, "Licensing Behavior".

    Attributes:
        has_long_term: Long-term memory: reading it, promotion to it, and its place in packs.
        has_compaction: Advanced compaction of the context window: a summary of what a pack leaves out.
    """

    has_long_term: bool = True
    has_compaction: bool = True

    @classmethod
    def core(cls) -> "Features":
        """Working memory, and the context window without summaries."""
        return cls(has_long_term=False, has_compaction=False)

    @classmethod
    def long_term(cls) -> "Features":
        """Long-term memory, too."""
        return cls(has_compaction=False)

    @classmethod
    def all(cls) -> "Features":
        """Everything: the default."""
        return cls()


def check_long_term(features: Features) -> None:
    """Raise `FeatureNotEnabledError` where long-term memory may not be used."""
    if not features.has_long_term:
        msg = (
            "long-term memory is not among the features that this memory was opened with: open it with "
            "features=wmem.Features.long_term() or Features.all()"
        )
        raise FeatureNotEnabledError(msg)


def check_compaction(features: Features) -> None:
    """Raise `FeatureNotEnabledError` where a pack may not summarize what it leaves out."""
    if not features.has_compaction:
        msg = (
            "a summary in a pack is not among the features that this memory was opened with: pack without "
            "summary=, or open it with features=wmem.Features.all()"
        )
        raise FeatureNotEnabledError(msg)
