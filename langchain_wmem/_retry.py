"""Retry of a model call with a smaller prompt on overflow, and calibration from reported usage."""

from collections.abc import Callable
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage

from langchain_wmem._budget import Ceiling
from wmem import Calibrations, Context
from wmem.adapter import Steps, learn_usage, send_with_retry


def call_with_retry(
    calibrations: Calibrations,
    model: str,
    pack: Callable[[int], Steps[Context]],
    send: Callable[[Context], Steps[ModelResponse[Any]]],
    *,
    ceiling: Ceiling,
) -> Steps[ModelResponse[Any]]:
    """A model call, retried once if the provider refuses it as too large: see `send_with_retry`.

    Args:
        calibrations: From earlier usage; updated with this call's.
        pack: Packs a context for a budget.
        send: Sends a context to the model.
        ceiling: In the model's tokens.
    """
    limit, reserve = ceiling.limit, ceiling.reserve

    def pack_below(budget: int) -> Steps[Context]:
        return pack(ceiling.lower(budget))

    context, response = yield from send_with_retry(
        calibrations, model, pack_below, send, limit=limit, reserve=reserve, is_refusal=_is_overflow
    )
    reported = _read_prompt_tokens(response)
    learn_usage(calibrations, model, context, reported, limit=limit, reserve=reserve)
    return response


def _is_overflow(refusal: Exception) -> bool:
    return isinstance(refusal, ContextOverflowError)


def model_name(request: ModelRequest[Any]) -> str:
    """The name of the requested model, or of its class if it has none."""
    model = request.model
    for named in (
        request.model_settings.get("model"),
        *(getattr(model, name, None) for name in ("model_name", "model")),
    ):
        if isinstance(named, str) and named:
            return named
    return f"{type(model).__module__}.{type(model).__qualname__}"


def _read_prompt_tokens(response: ModelResponse[Any]) -> int:
    """The prompt tokens that the provider reports, cached ones included; 0 if it reports none."""
    for message in response.result:
        if isinstance(message, AIMessage) and message.usage_metadata is not None:
            tokens = message.usage_metadata["input_tokens"]
            return max(0, tokens)
    return 0
