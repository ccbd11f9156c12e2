"""Token costs of a model request besides its messages: tools, structured output, room for the reply."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.utils.function_calling import convert_to_openai_tool

from langchain_wmem._convert import to_langchain
from langchain_wmem._models import list_chat_models, output_limit
from wmem import Message

REPLY_TOKENS = 1_024
"""Default room for the reply, if neither model nor request states a limit."""


def tool_schemas(request: ModelRequest[Any]) -> list[dict[str, Any]]:
    """The JSON schemas sent with a request: of its tools and of its structured output."""
    # A provider's own tool is a dictionary already, and is sent as it is.
    schemas = [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in request.tools]
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


def reply_reserve(request: ModelRequest[Any], budget: int) -> int:
    """Tokens to keep free for the reply.

    The output limit set on the request or the model, if the budget has room for it beside a
    prompt; otherwise the model's capability, but at most a quarter of the budget; otherwise
    1,024, but at most half of the budget.
    """
    for name in ("max_tokens", "max_output_tokens", "max_completion_tokens"):
        for found in (request.model_settings.get(name), getattr(request.model, name, None)):
            # A budget below a limit that somebody set for every call is one for the prompt.
            if isinstance(found, int) and not isinstance(found, bool) and 0 < found < budget:
                return found
    most = output_limit(request.model)
    usual = min(REPLY_TOKENS, budget // 2)
    # Capped, because some models could answer with more than the whole budget.
    return min(most, max(usual, budget // 4)) if most else usual


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
