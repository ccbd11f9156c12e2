"""What a turn has taken of its budget."""

from wmem.errors import TurnBudgetError
from wmem.model.turn import BudgetStatus, TurnBudget


class Meter:
    """Counts what a turn takes, and refuses what its budget has no room for."""

    def __init__(self, budget: TurnBudget, begun_at: float) -> None:
        self.budget = budget
        self.begun_at = begun_at
        self.ended_at: float | None = None
        self._tokens: list[int] = []  # of each event; to append is atomic

    def check(self, what: str, now: float) -> None:
        """Raise `TurnBudgetError` if the budget has no room for one more event."""
        status = self.status(now)
        for name, unit in (("events", "events"), ("seconds", "s")):
            if name in status.exceeded:
                taken, most = getattr(status, name), getattr(self.budget, name)
                raise _to_error(what, name, f"{taken:g} of {most:g} {unit}")

    def limit_tokens(self, budget: int) -> int:
        """The tokens that a prompt may take: those wanted, or what is left of the budget.

        Raises:
            TurnBudgetError: Nothing is left.
        """
        if self.budget.tokens is None:
            return budget
        left = self.budget.tokens - sum(self._tokens)
        if left < 1:
            what = "no further context is assembled"
            raise _to_error(what, "tokens", f"{sum(self._tokens)} of {self.budget.tokens} tokens")
        return min(budget, left)

    def count(self, tokens: int = 0) -> None:
        """Count one event."""
        self._tokens.append(tokens)

    def end(self, now: float) -> None:
        """The turn ended: its time goes on no further."""
        self.ended_at = now

    def status(self, now: float) -> BudgetStatus:
        """What was taken, and what is left."""
        budget, tokens, events = self.budget, sum(self._tokens), len(self._tokens)
        seconds = max(0.0, (now if self.ended_at is None else self.ended_at) - self.begun_at)
        tokens_left = None if budget.tokens is None else max(0, budget.tokens - tokens)
        events_left = None if budget.events is None else max(0, budget.events - events)
        seconds_left = None if budget.seconds is None else max(0.0, budget.seconds - seconds)
        left = {"tokens": tokens_left, "events": events_left, "seconds": seconds_left}
        exceeded = tuple(name for name, each in left.items() if each is not None and each <= 0)
        return BudgetStatus(tokens, events, seconds, tokens_left, events_left, seconds_left, exceeded)


def _to_error(what: str, limit: str, amount: str) -> TurnBudgetError:
    return TurnBudgetError(
        f"the turn has taken {amount}, so {what}; what it wrote is stored: commit it, or open one with more {limit}"
    )
