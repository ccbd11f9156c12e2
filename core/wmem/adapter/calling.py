"""A model call below a ceiling: sent once more with a smaller prompt if the provider refuses it as too large."""

from collections.abc import Callable
from typing import TypeVar

from wmem.adapter.flow import Steps
from wmem.adapter.usage import SizedPrompt, fade_on_overflow, prompt_tokens
from wmem.errors import BudgetError
from wmem.tokens.calibration import Calibrations

P = TypeVar("P", bound=SizedPrompt)
R = TypeVar("R")


def send_with_retry(
    calibrations: Calibrations,
    model: str,
    pack: Callable[[int], Steps[P]],
    send: Callable[[P], Steps[R]],
    *,
    limit: int,
    reserve: int,
    is_refusal: Callable[[Exception], bool],
) -> Steps[tuple[P, R]]:
    """A model call, retried once with half of the conversation if the provider refuses it as too large.

    A refusal does not say by how much the prompt was too large; the usage of the second attempt does.

    Args:
        calibrations: From earlier usage; updated by a refusal, and by `learn_usage` with what the reply reports.
        pack: Makes a prompt for a budget.
        send: Sends a prompt to the model.
        limit: The model's ceiling in tokens, the reply included.
        reserve: Tokens of it kept for the reply.
        is_refusal: Whether an error says that the prompt was too large.

    Returns:
        The prompt that was answered, and the answer.
    """
    with fade_on_overflow(calibrations, model):
        prompt = yield from pack(calibrations.budget(limit, model=model, reserve=reserve))
    try:
        return prompt, (yield from send(prompt))
    except Exception as refusal:
        if not is_refusal(refusal):
            raise
        calibrations.learn_refusal(model, prompt_tokens(prompt), limit=limit - reserve)
        try:
            prompt = yield from pack(prompt.tokens - (prompt.sizes["messages"] + prompt.sizes["note"]) // 2)
        except BudgetError as exc:
            raise refusal from exc
    try:
        return prompt, (yield from send(prompt))
    except Exception as refusal:
        if is_refusal(refusal):
            calibrations.learn_refusal(model, prompt_tokens(prompt), limit=limit - reserve)
        raise


def learn_usage(
    calibrations: Calibrations, model: str, prompt: SizedPrompt, reported: int, *, limit: int, reserve: int
) -> None:
    """Learn from the prompt tokens that the provider reports for a prompt; 0 if it reports none."""
    if reported:
        calibrations.learn(model, prompt_tokens(prompt), reported, limit=limit - reserve)
