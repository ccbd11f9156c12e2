"""Retry of a model call with a smaller prompt on overflow, and calibration from reported usage."""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeAlias

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage

from wmem import BudgetError, Calibrations, Context

__all__ = ["RetrySteps", "arun_steps", "model_name", "retry_steps", "run_steps"]

RetrySteps: TypeAlias = Generator[int | Context, Any, ModelResponse[Any]]
"""Yields a budget and is sent the context packed for it; yields a context and is sent the model's response."""


def retry_steps(calibrations: Calibrations, model: str, *, limit: int, reserve: int) -> RetrySteps:
    """A model call, retried once with half of the conversation if the provider refuses it as too large.

    A refusal does not say by how much the prompt was too large; the usage of the second attempt does.

    Args:
        calibrations: Those learned from earlier usage; updated with this call's.
        limit: The model's ceiling in tokens, the reply included.
    """
    room = limit - reserve
    budget = calibrations.budget(limit, model=model, reserve=reserve)
    try:
        context: Context = yield budget
    except BudgetError:
        if budget < limit:
            calibrations.fade(model)
        raise
    try:
        response: ModelResponse[Any] = yield context
    except ContextOverflowError as refusal:
        calibrations.learn_refusal(model, _prompt_tokens(context), limit=room)
        try:
            context = yield context.tokens - (context.sizes["messages"] + context.sizes["note"]) // 2
        except BudgetError as exc:
            raise refusal from exc
        try:
            response = yield context
        except ContextOverflowError:
            calibrations.learn_refusal(model, _prompt_tokens(context), limit=room)
            raise
    if reported := _reported_tokens(response):
        calibrations.learn(model, _prompt_tokens(context), reported, limit=room)
    return response


def run_steps(
    steps: RetrySteps, pack: Callable[[int], Context], send: Callable[[Context], ModelResponse[Any]]
) -> ModelResponse[Any]:
    """Run the steps of a call, retry included."""
    try:
        step = next(steps)
        while True:
            try:
                reply = send(step) if isinstance(step, Context) else pack(step)
            except (BudgetError, ContextOverflowError) as exc:
                step = steps.throw(exc)
            else:
                step = steps.send(reply)
    except StopIteration as done:
        response: ModelResponse[Any] = done.value
        return response


async def arun_steps(
    steps: RetrySteps,
    pack: Callable[[int], Awaitable[Context]],
    send: Callable[[Context], Awaitable[ModelResponse[Any]]],
) -> ModelResponse[Any]:
    """See `tried`."""
    try:
        step = next(steps)
        while True:
            try:
                reply = await (send(step) if isinstance(step, Context) else pack(step))
            except (BudgetError, ContextOverflowError) as exc:
                step = steps.throw(exc)
            else:
                step = steps.send(reply)
    except StopIteration as done:
        response: ModelResponse[Any] = done.value
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


def _prompt_tokens(context: Context) -> int:
    return context.tokens - context.sizes["reserve"]


def _reported_tokens(response: ModelResponse[Any]) -> int:
    """The prompt tokens that the provider reports, cached ones included; 0 if it reports none."""
    for message in response.result:
        if isinstance(message, AIMessage) and message.usage_metadata is not None:
            tokens = message.usage_metadata["input_tokens"]
            return max(0, tokens)
    return 0
