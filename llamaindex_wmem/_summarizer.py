"""A LlamaIndex model as a wmem summarizer."""

from collections.abc import Sequence
from dataclasses import dataclass

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole, TextBlock
from llama_index.core.llms import LLM

from wmem import InvalidInputError, Summarizer
from wmem.adapter import check_summary_options, describe, write_summary_prompt
from wmem.types import SummarizerFunction


@dataclass(frozen=True)
class LlamaIndexSummarizer:
    """Summarizes with a model of LlamaIndex; its callbacks and instrumentation see the call.

    The texts are given to it as data, between marks that stand in none of them. Reasoning of the answer is left out.

    Attributes:
        llm: The model.
        timeout_s: Seconds that one call may take.
        max_input_tokens: Tokens of the texts of one call.

    Raises:
        InvalidInputError: The model is none, or a number is out of range.
    """

    llm: LLM
    timeout_s: float = 60.0
    max_input_tokens: int = 16_000

    def __post_init__(self) -> None:
        if not isinstance(self.llm, LLM):
            raise InvalidInputError(f"llm must be a model of LlamaIndex, not {describe(self.llm)}")
        check_summary_options(self.timeout_s, self.max_input_tokens)

    @property
    def name(self) -> str:
        """The name of the model, or of its class."""
        return self.llm.metadata.model_name or type(self.llm).__name__

    def summarize(self, texts: Sequence[str], max_tokens: int, /) -> str:
        return _read_answer(self.llm.chat(_write_messages(texts, max_tokens)))

    async def asummarize(self, texts: Sequence[str], max_tokens: int, /) -> str:
        """See `summarize`."""
        return _read_answer(await self.llm.achat(_write_messages(texts, max_tokens)))


def to_summarizer(
    summarizer: Summarizer | SummarizerFunction | LLM | None,
) -> Summarizer | SummarizerFunction | None:
    """A summarizer as `wmem.open` takes it; a model of LlamaIndex's is wrapped."""
    return LlamaIndexSummarizer(summarizer) if isinstance(summarizer, LLM) else summarizer


def _write_messages(texts: Sequence[str], max_tokens: int) -> list[ChatMessage]:
    prompt = write_summary_prompt(texts, max_tokens)
    return [
        ChatMessage(role=MessageRole.SYSTEM, content=prompt.system),
        ChatMessage(role=MessageRole.USER, content=prompt.user),
    ]


def _read_answer(response: ChatResponse) -> str:
    """The text of an answer, without reasoning."""
    return "\n".join(block.text for block in response.message.blocks if isinstance(block, TextBlock) and block.text)
