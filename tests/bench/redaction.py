"""What redaction costs: a plain sentence, 10 kB of prose, of code and of a log, and hostile texts of two lengths.

`python -m tests.bench.redaction`
"""

import time

import wmem
from tests.redaction.look_alikes import LOOK_ALIKES
from tests.redaction.plants import PLANTS
from tests.redaction.test_cost import HOSTILE

SENTENCE = (
    "Yesterday we walked along the river with the children, and later on we had some soup and bread in the small place "
    "near the bridge, which everybody liked a lot, although it was rather late."
)
LONG = 10_000


def best(text: str, repeats: int) -> float:
    """The least CPU time of several runs in seconds."""
    redaction = wmem.Redaction()
    times = []
    for _ in range(repeats):
        start = time.process_time_ns()
        redaction.redact(text)
        times.append(time.process_time_ns() - start)
    return min(times) / 1e9


def main() -> None:
    wmem.Redaction().redact("password 1")  # tables are made once
    texts = {
        "a sentence": SENTENCE,
        "10 kB of prose": (SENTENCE + " ") * (LONG // len(SENTENCE)),
        "10 kB that look so": "\n".join(LOOK_ALIKES)[:LONG],
        "10 kB full of secrets": "\n".join(plant.text for plant in PLANTS)[:LONG],
    }
    for name, text in texts.items():
        print(f"{name:24} {best(text, 2_000_000 // (len(text) + 10_000)) * 1e6:10.1f} µs")
    for name, unit in HOSTILE.items():
        small, large = best(unit * (LONG // len(unit)), 3), best(unit * (2 * LONG // len(unit)), 3)
        print(f"{name:24} {small * 1e3:10.1f} ms, twice as long {large / max(small, 1e-9):.2f} ×")


if __name__ == "__main__":
    main()
