"""Golden tasks of summaries: texts in the words of this project, with questions and their answers."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

FILES = ("golden", "golden_held_out")
"""The second was written before the rules were tuned to the first, and is only measured."""
_FOLDER = Path(__file__).parent
_SPEAKER = re.compile(r"(user|assistant|tool|text): ")
_SPACE = re.compile(r"\s+")


class Task(NamedTuple):
    """A session or a document, and what is asked of it.

    Attributes:
        texts: The messages with their speakers, or the document alone.
        questions: With the answers that each takes.
    """

    name: str
    texts: tuple[str, ...]
    questions: tuple[tuple[str, tuple[str, ...]], ...]

    def count_answers(self, summary: str) -> int:
        """How many questions a summary answers."""
        said = to_plain(summary)
        return sum(any(to_plain(each) in said for each in answers) for _, answers in self.questions)


def to_plain(text: str) -> str:
    """A text without differences of case and space."""
    return _SPACE.sub(" ", text).casefold()


def read_tasks(*names: str) -> list[Task]:
    """The tasks of these files, by default of all."""
    return [task for name in names or FILES for task in _parse((_FOLDER / f"{name}.txt").read_text(encoding="utf-8"))]


def _parse(text: str) -> Iterator[Task]:
    for block in text.split("## ")[1:]:
        name, *lines = block.strip().split("\n")
        questions = [_parse_question(line) for line in lines if line.startswith("? ")]
        yield Task(name, tuple(_join([line for line in lines if not line.startswith("? ")])), tuple(questions))


def _parse_question(line: str) -> tuple[str, tuple[str, ...]]:
    question, answers = line[2:].split(" => ")
    return question, tuple(answers.split(" | "))


def _join(lines: Sequence[str]) -> list[str]:
    texts: list[str] = []
    for line in lines:
        if _SPEAKER.match(line):
            texts.append(line.removeprefix("text: "))
        else:
            texts[-1] = f"{texts[-1]}\n{line}"
    return texts
