"""Calls of a model as they are packed, and their arguments as they are sent: what was packed, or the caller's own."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms.llm import LLM
from llama_index.core.output_parsers import PydanticOutputParser
from llama_index.core.prompts import BasePromptTemplate
from llama_index.core.tools import BaseTool
from pydantic import BaseModel

from llamaindex_wmem._prompt_template import FixedPrompt
from llamaindex_wmem._provider import schemas_beside, to_schema

Sent: TypeAlias = list[ChatMessage] | None
"""What a prompt was packed to; None where the model is sent what the caller handed."""


class Request(NamedTuple):
    """A call of a model.

    Attributes:
        messages: What the caller handed.
        schemas: JSON that is sent beside them: of tools, and of the form of the reply.
        options: The call's other arguments.
    """

    messages: Sequence[ChatMessage]
    schemas: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]


def form_request(
    llm: LLM,
    output_cls: type[BaseModel],
    prompt: BasePromptTemplate,
    options: Mapping[str, Any] | None,
    prompt_args: Mapping[str, Any],
) -> Request:
    """A call for a structured reply."""
    # The longest of what models are sent for a form: its schema, with instructions, in words.
    form = PydanticOutputParser(output_cls=output_cls).get_format_string(escape_json=False)
    schemas: list[Mapping[str, Any]] = [{"form": form}, *schemas_beside(options or {})]
    if llm.system_prompt:  # the model puts it in front by itself
        schemas.append({"system": llm.system_prompt})
    return Request(prompt.format_messages(llm=llm, **prompt_args), schemas, options or {})


def chat_request(messages: Sequence[ChatMessage], options: Mapping[str, Any]) -> Request:
    """A call with messages."""
    return Request(messages, schemas_beside(options), options)


def text_request(prompt: str, options: Mapping[str, Any]) -> Request:
    """A call with a text to complete."""
    return chat_request([ChatMessage(role=MessageRole.USER, content=prompt)], options)


def tools_request(
    tools: Sequence[BaseTool],
    user_msg: str | ChatMessage | None,
    chat_history: Sequence[ChatMessage] | None,
    options: Mapping[str, Any],
) -> Request:
    """A call with tools."""
    question = ChatMessage(role=MessageRole.USER, content=user_msg) if isinstance(user_msg, str) else user_msg
    messages = [*(chat_history or ()), *([question] if question else [])]
    return Request(messages, [*map(to_schema, tools), *schemas_beside(options)], options)


def either(sent: Sent, messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """What was packed, or the messages as the caller handed them."""
    return messages if sent is None else sent


def to_text(sent: Sent, prompt: str) -> str:
    """The prompt of a completion: what was packed, or as the caller handed it."""
    return prompt if sent is None else "\n\n".join(message.content or "" for message in sent)


def message_arguments(
    sent: Sent, user_msg: str | ChatMessage | None, chat_history: list[ChatMessage] | None
) -> dict[str, Any]:
    """The arguments with messages for a call with tools: as the caller handed them, or what was packed."""
    if sent is not None:
        return {"chat_history": sent}
    handed = {"user_msg": user_msg, "chat_history": chat_history}
    return {name: value for name, value in handed.items() if value is not None}


def to_template(sent: Sent, prompt: BasePromptTemplate) -> Any:
    """The template of a structured reply: one of what was packed, or the caller's."""
    return prompt if sent is None else FixedPrompt(sent)


def unless_packed(sent: Sent, prompt_args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a template; none for one that was packed, which has none."""
    return prompt_args if sent is None else {}
