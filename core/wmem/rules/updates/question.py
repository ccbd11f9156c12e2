"""Whether a question asks for what was so before, rather than for what is so."""

from wmem.rules.standing.own_text import to_lower
from wmem.rules.updates.reader import TABLES
from wmem.rules.updates.table import compile_pattern

_MAX_CHARS = 1_000


def asks_for_past(question: str) -> bool:
    """Whether a question is in the past tense, or asks for the earlier, the old, the first."""
    text = to_lower(question[:_MAX_CHARS])
    return any(
        compile_pattern(table.past).search(text) is not None and compile_pattern(table.present).search(text) is None
        for table in TABLES
    )
