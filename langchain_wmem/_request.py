"""What a model request costs besides its messages: tools and structured output; a model's own count; its run."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.language_models import BaseChatModel
from langgraph.runtime import get_runtime

from langchain_wmem._convert import to_langchain
from langchain_wmem._models import list_chat_models
from langchain_wmem._prompt import to_schemas
from wmem import Message


def complete_request(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """The request with what names its run, where middleware outside of this one made it anew and left that out."""
    if request.runtime is not None:
        return request
    held = request.state.get("messages") or request.messages
    return request.override(runtime=get_runtime(), state={**request.state, "messages": held})


def tool_schemas(request: ModelRequest[Any]) -> list[dict[str, Any]]:
    """The JSON schemas sent with a request: of its tools and of its structured output."""
    schemas = to_schemas(request.tools)
    wanted = request.response_format
    if isinstance(wanted, AutoStrategy):
        # Tool or provider strategy is decided later; as a tool it costs more.
        wanted = ToolStrategy(schema=wanted.schema)
    if isinstance(wanted, ToolStrategy):
        specs = wanted.schema_specs
    elif isinstance(wanted, ProviderStrategy):
        specs = [wanted.schema_spec]
    else:
        specs = []
    for spec in specs:
        function = {"name": spec.name, "description": spec.description, "parameters": spec.json_schema}
        schemas.append({"type": "function", "function": function})
    return schemas


def prompt_counter(model: BaseChatModel) -> Callable[[Sequence[Message], Sequence[Mapping[str, Any]]], int]:
    """A prompt counter that uses the model's own token count."""
    [model, *_] = list_chat_models(model) or [model]

    def count(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> int:
        said = to_langchain(messages)
        if type(model).get_num_tokens_from_messages is not BaseChatModel.get_num_tokens_from_messages:
            return model.get_num_tokens_from_messages(said, tools=[dict(tool) for tool in tools] or None)
        # LangChain's default ignores tools, so their text is counted separately.
        extra = model.get_num_tokens(json.dumps(list(tools), ensure_ascii=False)) if tools else 0
        return model.get_num_tokens_from_messages(said) + extra

    return count
