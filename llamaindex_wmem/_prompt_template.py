"""A prompt template of messages that are formatted already."""

from collections.abc import Sequence
from typing import Any, Self

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.generic_utils import messages_to_prompt
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.prompts import BasePromptTemplate


class FixedPrompt(BasePromptTemplate):
    """Messages as a template without variables: braces in them are text."""

    messages: list[ChatMessage]

    def __init__(self, messages: Sequence[ChatMessage]) -> None:
        fields: dict[str, Any] = {"metadata": {}, "template_vars": [], "kwargs": {}, "output_parser": None}
        super().__init__(**fields, messages=list(messages))  # type: ignore[call-arg]  # the base names none of its own

    def partial_format(self, **kwargs: Any) -> Self:  # noqa: ARG002  # as in the base
        return self

    def format(self, llm: BaseLLM | None = None, **kwargs: Any) -> str:  # noqa: ARG002  # as in the base
        to_prompt = getattr(llm, "messages_to_prompt", None) or messages_to_prompt
        text: str = to_prompt(self.messages)
        return text if self.output_parser is None else str(self.output_parser.format(text))

    def format_messages(self, llm: BaseLLM | None = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: ARG002  # as in the base
        if self.output_parser is None:
            return list(self.messages)
        return list(self.output_parser.format_messages(self.messages))

    def get_template(self, llm: BaseLLM | None = None) -> str:
        return self.format(llm)
