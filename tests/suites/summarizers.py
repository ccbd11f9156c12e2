"""Summarizers for suites, sync and async: one that counts what it is asked, and faulty ones."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

import wmem
from wmem.scope.summaries.flows import SummaryText, summarize_texts
from wmem.testing.suite import Call, FacetSuite, MemoryOpener

if TYPE_CHECKING:
    from wmem.flow import Flow

__all__ = ["FAULTS", "AsyncSummarizer", "Summarizer", "SummarizerSuite"]


class Summarizer:
    """Tells how many texts it was given; records them.

    Attributes:
        calls: The texts and limits that it was given.
        fault: Makes another answer of its answer and limit; None for none.
    """

    name = "counting"
    max_input_tokens = 4_000

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[str, ...], int]] = []
        self.fault: Callable[[str, int], Any] | None = None

    def summarize(self, texts: Sequence[str], max_tokens: int, /) -> Any:
        self.calls.append((tuple(texts), max_tokens))
        answer = f"In short: {len(texts)} texts."
        return answer if self.fault is None else self.fault(answer, max_tokens)


class AsyncSummarizer(Summarizer):
    """Async twin of `Summarizer`."""

    async def summarize(self, texts: Sequence[str], max_tokens: int, /) -> Any:
        await asyncio.sleep(0)
        return super().summarize(texts, max_tokens)


def _raise(_answer: str, _limit: int) -> Any:
    raise RuntimeError("429: rate limit reached for the account of ada@example.org")


def _cancel(_answer: str, _limit: int) -> Any:
    raise asyncio.CancelledError


FAULTS: Mapping[str, Callable[[str, int], Any]] = {
    "raises": _raise,
    "is cancelled": _cancel,
    "returns nothing": lambda _answer, _limit: None,
    "returns bytes": lambda answer, _limit: answer.encode(),
    "returns a blank": lambda _answer, _limit: " \n\t",
    "returns far too much": lambda answer, limit: f"{answer} " * (limit + 1),
}


class SummarizerSuite(FacetSuite):
    """A memory with a sync or async summarizer, as the test is."""

    @pytest.fixture
    def summarizer(self, call: Call) -> Summarizer:
        """A summarizer; async in async tests."""
        return Summarizer() if call.mode == "sync" else AsyncSummarizer()

    @pytest.fixture
    def memory(self, open_memory: MemoryOpener, summarizer: Summarizer) -> wmem.AgentMemory:
        """See `FacetSuite.memory`."""
        return open_memory(summarizer=summarizer)

    def summarize(
        self, session: wmem.Scope, call: Call, texts: Sequence[str], limit: int, **options: bool
    ) -> SummaryText:
        """Run `summarize_texts` in a session."""
        flow: Flow[SummaryText] = summarize_texts(session._handle, texts, limit, **options)
        made: SummaryText = call(session._drive, flow)
        return made
