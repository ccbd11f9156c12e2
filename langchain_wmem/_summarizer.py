"""A LangChain model as a wmem summarizer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig

from wmem import InvalidInputError, Summarizer
from wmem.adapter import check_summary_options, describe, write_summary_prompt
from wmem.types import SummarizerFunction

_CONFIG: RunnableConfig = {
    "run_name": "wmem_summarize",
    "tags": ["wmem:summarize", "nostream"],  # the second keeps it out of what a graph streams to its user
    "metadata": {"lc_source": "summarization"},
}
_REFUSING_REASONS = ("content_filter", "refusal", "safety", "blocked", "SAFETY", "BLOCKED")


@dataclass(frozen=True)
class LangChainSummarizer:
    """Summarizes with a chat model, a binding of one, or any runnable that takes messages.

    The texts are given to it as data, between marks that stand in none of them. Its run is named
    ``wmem_summarize`` and tagged ``wmem:summarize``, so that callbacks and traces tell it apart; callbacks of the
    run that it is in see it, its usage included. Reasoning of the answer is left out.

    Attributes:
        model: The model.
        timeout_s: Seconds that one call may take.
        max_input_tokens: Tokens of the texts of one call.

    Raises:
        InvalidInputError: The model is none, or a number is out of range.
    """

    model: Runnable[Any, Any]
    timeout_s: float = 60.0
    max_input_tokens: int = 16_000

    def __post_init__(self) -> None:
        if not isinstance(self.model, Runnable):
            raise InvalidInputError(f"a LangChain model is a Runnable, not {describe(self.model)}")
        check_summary_options(self.timeout_s, self.max_input_tokens)

    @property
    def name(self) -> str:
        """The name of the model's class."""
        return self.model.get_name()

    def summarize(self, texts: Sequence[str], max_tokens: int, /) -> str:
        return _read_answer(self.model.invoke(_write_messages(texts, max_tokens), _CONFIG))

    async def asummarize(self, texts: Sequence[str], max_tokens: int, /) -> str:
        """See `summarize`."""
        return _read_answer(await self.model.ainvoke(_write_messages(texts, max_tokens), _CONFIG))


def to_summarizer(
    summarizer: Summarizer | SummarizerFunction | Runnable[Any, Any] | None,
) -> Summarizer | SummarizerFunction | None:
    """A summarizer as `wmem.open` takes it; a model of LangChain's is wrapped."""
    return LangChainSummarizer(summarizer) if isinstance(summarizer, Runnable) else summarizer


def _write_messages(texts: Sequence[str], max_tokens: int) -> list[BaseMessage]:
    prompt = write_summary_prompt(texts, max_tokens)
    return [SystemMessage(prompt.system), HumanMessage(prompt.user)]


def _read_answer(answer: object) -> str:
    """The text of an answer, without reasoning; it raises for one that refuses or calls tools alone."""
    if isinstance(answer, str):
        return answer
    if not isinstance(answer, BaseMessage):
        raise TypeError(f"the model returned {type(answer).__name__}, not a message or a text")
    reason = answer.response_metadata.get("finish_reason") or answer.response_metadata.get("stop_reason")
    if answer.additional_kwargs.get("refusal") or reason in _REFUSING_REASONS:
        raise ValueError("the model refused")
    text = str(answer.text)
    if isinstance(answer, AIMessage) and answer.tool_calls and not text.strip():
        raise ValueError("the model called a tool instead of answering")
    return text
