"""Parse an instruction to forget, and select the rows it means.

Source: bounded store document, "forget": oldest, least important, position:N, before:step_N.
"""

import re
from collections.abc import Mapping, Sequence

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.row import Row

INSTRUCTIONS = ("oldest", "least important", "position:N", "before:step_N")

_NUMBERED_INSTRUCTION = re.compile(r"(position|before) ?:? ?(?:step[ _-]?)?(\d{1,15})")
# A hyphen that could be a minus sign is no separator.
_SEPARATORS = re.compile(r"[\s_]+|(?<=[a-z])-(?=[a-z])|(?<=step)-")


def parse_instruction(instruction: object) -> tuple[str, int]:
    """An instruction as one of four words (oldest, least important, position, before) and its number.

    Case, spaces, hyphens and underscores do not matter.

    Raises:
        InvalidInputError: It is none of the four.
    """
    text = _SEPARATORS.sub(" ", instruction.strip().casefold()) if isinstance(instruction, str) else ""
    if text in ("oldest", "least important"):
        return text, 0
    if (match := _NUMBERED_INSTRUCTION.fullmatch(text)) and ("step" in text) is (match[1] == "before"):
        return match[1], int(match[2])
    msg = f"an instruction to forget is one of {', '.join(map(repr, INSTRUCTIONS))}; got {describe(instruction)}"
    raise InvalidInputError(msg)


def rows_to_forget(instruction: tuple[str, int], rows: Sequence[Row], scores: Mapping[str, float]) -> list[Row]:
    """The rows that an instruction means, possibly none.

    Args:
        instruction: A parsed instruction.
        rows: Visible rows, oldest first.
        scores: Importance by id.
    """
    word, number = instruction
    if word == "before":
        return [row for row in rows if row.step_index is not None and row.step_index < number]
    if word == "position":
        return list(rows[number : number + 1])
    if word == "oldest":
        return list(rows[:1])
    # Among equals the oldest: `min` returns the first.
    return [min(rows, key=lambda row: scores[row.id])] if rows else []
