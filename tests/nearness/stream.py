"""A seeded stream of texts of which a share says what was said before, in slightly other words."""

import random
from collections.abc import Callable, Sequence

_NAMES = "Ada Grace Linus Edsger Barbara Donald Frances Alan Radia Ken Margaret Dennis".split()  # noqa: SIM905  # shorter
_CHANGES: Sequence[Callable[[str], str]] = (
    str.lower,
    str.upper,
    lambda text: f"{text}!",
    lambda text: f"  {text} .",
    lambda text: f"Note: {text}",
    lambda text: f"Please, {text}",
    lambda text: text.replace(" ", "  "),
    lambda text: f"*{text}*",
    lambda text: f"The {text}",
)


def make_stream(length: int, *, share: float, seed: int) -> list[tuple[str, bool]]:
    """Texts that have no word in common, and such as repeat one of them; each with whether it does."""
    rng = random.Random(seed)
    fresh: list[str] = []
    stream: list[tuple[str, bool]] = []
    for number in range(length):
        if fresh and rng.random() < share:
            stream.append((rng.choice(_CHANGES)(rng.choice(fresh)), True))
            continue
        name = f"{rng.choice(_NAMES)}{number}"
        fresh.append(f"{name} keeps{number} ledger{number} of quay{number}")
        stream.append((fresh[-1], False))
    return stream
