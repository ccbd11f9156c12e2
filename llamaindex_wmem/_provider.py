"""What models of LlamaIndex's integrations say beside their replies: usage, refusals, names, limits."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.tools import BaseTool

_INPUT_KEYS: Sequence[tuple[str, ...]] = (
    ("prompt_tokens",),
    ("prompt_token_count",),
    ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
    ("prompt_eval_count",),
)
"""Keys under which providers report the tokens of a prompt, those first that say it; the numbers of a row add up."""
_OVERFLOW_CODES = ("context_length_exceeded", "model_context_window_exceeded", "string_above_max_length")
_OVERFLOW = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum context|reduce the length|"
    r"(?:prompt|input|request|messages?) (?:is|are|was) too (?:long|large)|"
    r"too long for the model|token count.{0,40}exceeds|"
    r"exceeds? the (?:maximum|model's|available)[^.]{0,40}(?:tokens|context)",
    re.IGNORECASE,
)
_REFUSED_STATUS = (400, 413, 422)
_LIMIT_NAMES = ("max_tokens", "max_output_tokens", "max_completion_tokens", "max_new_tokens", "num_predict")


def read_prompt_tokens(response: object) -> int:
    """The prompt tokens that a reply, or a piece of a streamed one, reports, cached ones included; 0 if none."""
    raw, beside = _field(response, "raw"), _field(response, "additional_kwargs")
    said = _field(_field(_field(response, "message"), "additional_kwargs"), "usage")  # of Anthropic's streams
    for place in (_field(raw, "usage"), _field(raw, "usage_metadata"), raw, beside, said):
        for keys in () if place is None else _INPUT_KEYS:
            first, *others = (_field(place, key) for key in keys)
            if _is_count(first):
                return int(first + sum(each for each in others if _is_count(each)))
    return 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _field(record: object, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)


def is_overflow(error: Exception) -> bool:
    """Whether a provider refused a prompt because it is larger than the model's window.

    LlamaIndex passes on what the providers' own clients raise, and none of these has a class for it.
    """
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if getattr(error, "code", None) in _OVERFLOW_CODES:
        return True
    if isinstance(status, int) and status not in _REFUSED_STATUS:
        return False
    return _OVERFLOW.search(str(error)) is not None


def model_name(model: BaseLLM) -> str:
    """The name of a model, or of its class if it has none."""
    for name in ("model", "model_name"):
        if isinstance(found := getattr(model, name, None), str) and found:
            return found
    return f"{type(model).__module__}.{type(model).__qualname__}"


def reply_limits(model: BaseLLM, options: Mapping[str, Any]) -> Iterator[object]:
    """What the arguments of a call and its model say of the length of a reply, in tokens."""
    for name in _LIMIT_NAMES:
        yield from (options.get(name), getattr(model, name, None))


def to_schema(tool: object) -> Mapping[str, Any]:
    """The JSON schema of a tool, whatever form it is handed in."""
    if isinstance(tool, Mapping):
        return tool
    if isinstance(tool, BaseTool):
        schema: dict[str, Any] = tool.metadata.to_openai_tool(skip_length_check=True)
        return schema
    return {"tool": repr(tool)}


def schemas_beside(options: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas among a call's arguments: of tools, functions and the form of the reply."""
    listed = [tool for name in ("tools", "functions") for tool in options.get(name) or ()]
    form = options.get("response_format")
    if isinstance(form, type) and hasattr(form, "model_json_schema"):
        listed.append(form.model_json_schema())
    elif isinstance(form, Mapping):
        listed.append(form)
    return [to_schema(each) for each in listed]
