"""A long talk that is held with several memories at once, and what is counted of it."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.bench.measure import quiet

__all__ = [
    "BUDGET",
    "FACTS",
    "LIMIT",
    "REQUEST",
    "RESERVE",
    "Prompt",
    "Talker",
    "Tally",
    "Turn",
    "hold_talks",
    "write_script",
]

BUDGET, RESERVE = 4_000, 500
LIMIT = BUDGET - RESERVE
"""Tokens that a prompt may have, so that the reply fits as well."""

_SYLLABLES = ("bar", "den", "fal", "gor", "hin", "kel", "lom", "mir", "nar", "pol", "ruk", "san", "tov", "vel")
_SAID = (
    "the agent wrote that our plan for Thursday needs a second look because shipping costs rose again "
    "and Mira asked whether the new supplier could send samples before the fair opens in Leipzig"
)

REQUEST = "From now on, end every answer with the word Ahoy."
FACTS: Mapping[str, tuple[str, str]] = {
    "Biscuit": ("By the way, my dog is called Biscuit.", "What is my dog called?"),
    "K4471": ("My locker has the number K4471.", "Which number does my locker have?"),
    "walnuts": ("I am allergic to walnuts.", "What am I allergic to?"),
    "Tromsø": ("My sister lives in Tromsø.", "Where does my sister live?"),
    "cello": ("On Sundays I play the cello.", "Which instrument do I play on Sundays?"),
    "Okafor": ("Our landlord is Mr Okafor.", "What is the name of our landlord?"),
    "teal": ("Paint the booth teal.", "In which colour is the booth to be painted?"),
    "17 March": ("The visa runs out on 17 March.", "When does the visa run out?"),
    "Quill": ("The code name of the project is Quill.", "What is the code name of the project?"),
    "size 43": ("My shoes are size 43.", "Which size are my shoes?"),
}
"""By what must be in a prompt: how it was said early, and what is asked at the end."""


class Turn(NamedTuple):
    """What the user says, what a tool that is called finds, what the model answers, and what its prompt should hold."""

    text: str
    found: str
    answer: str
    wanted: str = ""


def write_script(turns: int) -> list[Turn]:
    """A talk: a request and ten facts early, much else, a long text by a tool and by the user, then ten questions."""
    chance, known = random.Random(30), _SAID.split()

    def talk(words: int) -> str:
        """Words, and a detail that nothing else has: a talk is full of what is never asked for."""
        name = "".join(chance.choices(_SYLLABLES, k=3)).capitalize()
        detail = f"Crate {chance.randrange(1_000, 9_999)} from {name} goes to hall {chance.randrange(1, 20)}."
        return f"{' '.join(chance.choices(known, k=words - 8))}. {detail}"

    def log(lines: int) -> str:
        return "\n".join(
            f"{chance.getrandbits(64):016x} GET /stock/{chance.randrange(9_999)} 200" for _ in range(lines)
        )

    script = [Turn(talk(30), talk(60) if number % 5 == 0 else "", talk(40)) for number in range(turns)]
    script[1] = script[1]._replace(text=REQUEST)
    asked = turns - len(FACTS)
    for number, (word, (said, question)) in enumerate(FACTS.items()):
        script[2 + number] = script[2 + number]._replace(text=f"{said} {talk(10)}")
        script[asked + number] = Turn(question, "", talk(40), word)
    script[asked // 3] = script[asked // 3]._replace(found=log(200))
    script[2 * asked // 3] = script[2 * asked // 3]._replace(text=f"What does this log say? {log(200)}")
    return script


class Prompt(NamedTuple):
    """A prompt as it was sent: the text of each message, calls included, and its tokens, schemas included."""

    texts: list[str]
    tokens: int


@dataclass(slots=True)
class Tally:
    """What became of a talk: times, sizes, and which prompts held what they should."""

    seconds: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    facts: list[bool] = field(default_factory=list)
    requests: list[bool] = field(default_factory=list)
    questions: list[bool] = field(default_factory=list)

    @property
    def largest_share(self) -> float:
        """The largest prompt, as a share of what a prompt may have."""
        return max(self.tokens) / LIMIT

    def add(self, turn: Turn, seconds: float, prompts: Sequence[Prompt]) -> None:
        """Count a turn; what should be in its prompts must be in each of them."""
        self.seconds.append(seconds)
        self.tokens += [prompt.tokens for prompt in prompts]
        held = ["\n".join(prompt.texts) for prompt in prompts]
        self.questions.append(all(turn.text[:60] in each for each in held))
        if turn.text == REQUEST or self.requests:
            self.requests.append(all(REQUEST in each for each in held))
        if turn.wanted:
            self.facts.append(all(turn.wanted in each for each in held))


class Talker(NamedTuple):
    """Somebody who remembers: says a turn, hands out the prompts that were sent for it, and tells what is stored."""

    say: Callable[[Turn], object]
    pop_prompts: Callable[[], list[Prompt]]
    stored_bytes: Callable[[], int] = lambda: 0


def hold_talks(talkers: Mapping[str, Talker], script: Sequence[Turn]) -> dict[str, Tally]:
    """Everybody holds the talk, turn by turn, each turn begun by another one."""
    tallies = {name: Tally() for name in talkers}
    names = list(talkers)
    with quiet():
        for number, turn in enumerate(script):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                began = time.perf_counter()
                talkers[name].say(turn)
                took = time.perf_counter() - began
                tallies[name].add(turn, took, talkers[name].pop_prompts())
    return tallies
