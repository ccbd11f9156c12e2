"""Token counts against a provider's: what was sent, and what to do when nothing fits."""

from collections.abc import Iterator
from contextlib import contextmanager

from wmem.errors import BudgetError
from wmem.model.context import Context
from wmem.tokens.calibration import Calibrations


def prompt_tokens(context: Context) -> int:
    """Tokens that are sent for a context, in our count: without the room for the reply."""
    return context.tokens - context.sizes["reserve"]


@contextmanager
def fade_on_overflow(calibrations: Calibrations, model: str | None = None) -> Iterator[None]:
    """Lower a learned factor when a pack finds no room: without a prompt no report could correct it."""
    try:
        yield
    except BudgetError:
        calibrations.fade(model)
        raise
