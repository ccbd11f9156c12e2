"""Retry of a model call with a smaller prompt on overflow, and calibration from reported usage."""

from collections.abc import Callable
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage

from langchain_wmem._budget import Ceiling
from wmem import BudgetError, Calibrations, Context
from wmem.adapter import Steps, fade_on_overflow, prompt_tokens


def call_with_retry(
    calibrations: Calibrations,
    model: str,
    pack: Callable[[int], Steps[Context]],
    send: Callable[[Context], Steps[ModelResponse[Any]]],
    *,
    ceiling: Ceiling,
) -> Steps[ModelResponse[Any]]:
    """A model call, retried once with half of the conversation if the provider refuses it as too large.

    A refusal does not say by how much the prompt was too large; the usage of the second attempt does.

    Args:
        calibrations: From earlier usage; updated with this call's.
        pack: Packs a context for a budget.
        send: Sends a context to the model.
        ceiling: In the model's tokens.
    """
    limit, reserve, _ = ceiling
    room = limit - reserve
    with fade_on_overflow(calibrations, model):
        context = yield from pack(ceiling.lower(calibrations.budget(limit, model=model, reserve=reserve)))
    try:
        response = yield from send(context)
    except ContextOverflowError as refusal:
        calibrations.learn_refusal(model, prompt_tokens(context), limit=room)
        try:
            context = yield from pack(context.tokens - (context.sizes["messages"] + context.sizes["note"]) // 2)
        except BudgetError as exc:
            raise refusal from exc
        try:
            response = yield from send(context)
        except ContextOverflowError:
            calibrations.learn_refusal(model, prompt_tokens(context), limit=room)
            raise
    if reported := _read_prompt_tokens(response):
        calibrations.learn(model, prompt_tokens(context), reported, limit=room)
    return response


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
