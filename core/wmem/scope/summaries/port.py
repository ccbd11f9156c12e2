"""The summarizer port, and how a memory guards what a user plugged in."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from wmem.describe import describe
from wmem.engine.guard import Guard
from wmem.errors import InvalidInputError
from wmem.model.checks import check_count, check_seconds

TIMEOUT_S = 60.0
MAX_INPUT_TOKENS = 16_000
_LEAST_INPUT_TOKENS = 256


class Summarizer(Protocol):
    """Summarizes texts, as with a model; the texts are data, whatever they say.

    A plain method serves both modes: for coroutines it runs in a thread of its own. One that has a
    coroutine method ``asummarize``, too, is awaited there instead; one that has nothing else is for
    the async face alone.

    It may have attributes: ``name``, by which messages call it; ``timeout_s``, seconds that one call may
    take, by default 60; and ``max_input_tokens``, of all texts of one call, by default 16,000: of more, parts
    are summarized first. One that fails is not asked for a minute, then for twice as long each time,
    up to an hour.
    """

    def summarize(self, texts: Sequence[str], max_tokens: int, /) -> str | Awaitable[str]:
        """One text that says what the texts say, the oldest first, in at most so many tokens.

        It raises if it cannot. An answer that is blank, refuses, tells of an error or is too long is not used.
        """
        ...


SummarizerFunction: TypeAlias = Callable[[Sequence[str], int], str | Awaitable[str]]
"""A function, or coroutine function, that does what `Summarizer.summarize` does."""


def check_summary_options(timeout_s: object, max_input_tokens: object, what: str = "summarizer") -> tuple[float, int]:
    """Check how long a call of a summarizer may take, and how many tokens of texts it takes.

    Raises:
        InvalidInputError: One is out of range.
    """
    return (
        check_seconds(timeout_s, f"timeout_s of the {what}"),
        check_count(max_input_tokens, f"max_input_tokens of the {what}", _LEAST_INPUT_TOKENS),
    )


class GuardedSummarizer:
    """A validated summarizer.

    Attributes:
        source: What the user plugged in.
        guard: Calls it.
        max_input_tokens: Of all texts of one call.
    """

    __slots__ = ("guard", "max_input_tokens", "source")

    def __init__(self, summarizer: Summarizer | SummarizerFunction) -> None:
        plain, coroutine = (getattr(summarizer, each, None) for each in ("summarize", "asummarize"))
        function = next((each for each in (plain, coroutine, summarizer) if callable(each)), None)
        if function is None or isinstance(summarizer, type):
            msg = (
                "summarizer must have a method summarize(texts, max_tokens), as wmem.Summarizer, or be such a "
                f"function, not {describe(summarizer)}; for a LangChain model take "
                "langchain_wmem.LangChainSummarizer(model), for one of LlamaIndex "
                "llamaindex_wmem.LlamaIndexSummarizer(llm)"
            )
            raise InvalidInputError(msg)
        name = getattr(summarizer, "name", None) or getattr(summarizer, "__qualname__", None)
        self.source = summarizer
        self.guard = Guard(
            function,
            what="summarizer",
            name=name if isinstance(name, str) and name.strip() else type(summarizer).__name__,
            timeout_s=getattr(summarizer, "timeout_s", TIMEOUT_S),
            async_function=coroutine if callable(coroutine) else None,
        )
        most = getattr(summarizer, "max_input_tokens", MAX_INPUT_TOKENS)
        _, self.max_input_tokens = check_summary_options(self.guard.timeout_s, most, f"summarizer {self.guard.name!r}")
