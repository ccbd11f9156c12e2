"""Tables of the ways to ask for something that stands, one for each language.

A row is tried only in sentences that hold one of its words, so ordinary text costs a look-up; for what people say
all the time ("always", "things") its pattern is searched for first. Patterns see a sentence in lower case, with
straight apostrophes, and with what is quoted hidden. None repeats without a bound.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from wmem.model.standing import TAKE_BACK

_SENTENCE_END = re.compile(r"\\W\{\d,\d\}\$")


class TableRow(NamedTuple):
    """One way to ask for something that stands, or to take it back.

    Attributes:
        rule: Its name in reports.
        words: The words of which a sentence must hold one; in a script without spaces, parts of the text.
        pattern: A regular expression, for where a clause begins; a group ``topic`` in it is all of the clause that counts.
        anywhere: Whether it is for what stands within a sentence instead.
        ends: Whether the clause ends earlier requests besides being one.
        hint: A regular expression for a text that may hold the clause at all, where the pattern is slow to search for.
    """

    rule: str
    words: str
    pattern: str
    anywhere: bool = False
    ends: bool = False
    hint: str = ""

    @property
    def changes_earlier(self) -> bool:
        """Whether it ends earlier requests, or gives the one answer anew."""
        return self.rule == "language" or self.rule.startswith(TAKE_BACK)


class Table(NamedTuple):
    """The rows of a language, in the order in which they are tried, and what is common to them.

    Attributes:
        lead: What may stand before a request; its group ``asked`` tells that a question mark makes no question of it.
        joint: What stands between clauses.
        question: Where the question of a sentence begins.
        remark: Where something else begins after what is preferred.
        list_heading: A line that is followed by a list of requests.
    """

    lead: str
    joint: str
    question: str
    remark: str
    list_heading: str
    rows: Sequence[TableRow]

    @property
    def patterns(self) -> Sequence[str]:
        """All its regular expressions."""
        return self.lead, self.joint, self.question, self.remark, self.list_heading, *(row.pattern for row in self.rows)


@cache
def compile_pattern(pattern: str) -> "re.Pattern[str]":
    """A pattern, compiled when it is first needed: to compile all of them takes longer than to open a memory."""
    return re.compile(pattern)


def to_hint(row: TableRow) -> str:
    """A regular expression for what a text holds if a clause of it matches a row, unless that is in a quotation."""
    pattern = row.pattern.replace(
        "(?P<topic>", "(?:"
    )  # a name may stand only once in what the hints of several rows make
    return row.hint or _SENTENCE_END.sub(r"(?! ?\\w)", pattern).replace("$", "")
