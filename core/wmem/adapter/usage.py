"""Token counts against a provider's: what was sent, room for the reply, and what to do when nothing fits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from wmem.errors import BudgetError, InvalidInputError
from wmem.model.checks import check_count
from wmem.model.message import Message
from wmem.tokens.calibration import Calibrations
from wmem.tokens.counter import Counter, message_tokens, tools_tokens

REPLY_TOKENS = 1_024
"""Default room for the reply, if neither model nor request states a limit."""


class SizedPrompt(Protocol):
    """A prompt whose tokens are known, as a `Context`."""

    @property
    def tokens(self) -> int:
        """All tokens, with those kept for the reply."""
        ...

    @property
    def sizes(self) -> Mapping[str, int]:
        """Tokens by section: see `Explanation.sizes`."""
        ...


def prompt_tokens(prompt: SizedPrompt) -> int:
    """Tokens that are sent for a prompt, in our count: without the room for the reply."""
    return prompt.tokens - prompt.sizes["reserve"]


def count_message(message: Message, counter: Counter) -> int:
    """Tokens of a message as it is, its reasoning included, as a pack counts them."""
    return message_tokens(message, counter)


def count_tools(schemas: Sequence[Mapping[str, Any]], counter: Counter) -> int:
    """Tokens of tools' JSON schemas, as a pack counts them."""
    return tools_tokens(schemas, counter)


def check_budget(budget: float | None) -> float | None:
    """A ceiling as callers give it: tokens, a share of the model's window up to 1.0, or None for the whole window.

    Raises:
        InvalidInputError: Anything else.
    """
    if isinstance(budget, float):
        if not 0 < budget <= 1:
            msg = f"budget must be a number of tokens, or a share of the model's window up to 1.0, not {budget!r}"
            raise InvalidInputError(msg)
        return budget
    return None if budget is None else check_count(budget, "budget", 1)


def reply_room(budget: int, limits: Iterable[object], capability: int | None = None) -> int:
    """Tokens to keep free for the reply.

    Args:
        budget: The ceiling of the call.
        limits: What request and model say of a reply's length, the first usable counts: a whole number
            below the budget, since a budget below a limit that was set for every call is one for the prompt.
        capability: The longest reply that the model can give, if known. At most a quarter of the
            budget is kept for it, because some models could answer with more than all of it.

    Returns:
        The first usable limit; without one, the capability; without that 1,024, or half of the budget if that is less.
    """
    for limit in limits:
        if isinstance(limit, int) and not isinstance(limit, bool) and 0 < limit < budget:
            return limit
    usual = min(REPLY_TOKENS, budget // 2)
    return min(capability, max(usual, budget // 4)) if capability else usual


@contextmanager
def fade_on_overflow(calibrations: Calibrations, model: str | None = None) -> Iterator[None]:
    """Lower a learned factor when a pack finds no room: without a prompt no report could correct it."""
    try:
        yield
    except BudgetError:
        calibrations.fade(model)
        raise
