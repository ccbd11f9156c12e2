"""Tables of the ways to state something and to change it, one for each language.

A row is tried only on sentences that hold one of its words. Patterns see a clause in lower case, with straight
apostrophes, and with what is quoted hidden. None repeats without a bound.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple


class StatementRow(NamedTuple):
    """One way to say what is so, or is so no longer.

    Attributes:
        words: The words of which a sentence must hold one.
        pattern: A regular expression for a whole clause, with the groups ``who`` (whose or what), ``verb``, ``value``
            and ``before``, as far as it has them.
        attribute: What the value is of the subject; "" to take the verb.
        kind: The only kind of value it takes; "" for one that is written as such, or where it is clear, words.
        changes: Whether it says that something changed.
        single: Whether what it states has one value at a time.
        proper: Whether the value must be a name, with a capital in the text.
        ends: Whether it says that something is no longer so: its value is the one before.
        weak: Whether its words are common: it is tried only on a short text, or one with a number, a day, or a thing
            that has one value.
        habit: Whether it says what somebody does: a number is of what it counts, and for what it is.
        refers: Whether it names no subject, and is tried only where a clause says that something changed.
        adds: Whether several values may hold at once: "now" ends none of them.
    """

    words: str
    pattern: str
    attribute: str = ""
    kind: str = ""
    changes: bool = False
    single: bool = False
    proper: bool = False
    ends: bool = False
    adds: bool = False
    weak: bool = False
    habit: bool = False
    refers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StatementTable:
    """The rows of a language, in the order in which they are tried, and the words common to them.

    Attributes:
        lead: What may stand before a statement.
        joint: What stands between clauses.
        doubt: A sentence that holds this states nothing: a condition, a wish, what somebody else says.
        now: A word by which a clause says that something changed.
        past: What in a question asks for what was so.
        present: What in it asks for what is so all the same: "what did I say my address is".
        article: What is tried in front of a clause that begins with a thing: "deadline is now Friday".
        pronouns: Words for what was spoken of before.
        first_person: Words of the speaker, all of which count as one.
        owners: Words before a thing that count as the speaker's.
        articles: Words before a thing that say nothing.
        others: Words of a thing by which it is one of several.
        renewed: Words of a thing by which it took the place of another.
        one_value: Things that have one value at a time, of whatever kind.
        named: Things that have one value at a time if it is a name, a number or the like.
        counted: Things that have one value at a time if it is a number, a time or a day.
        dated: Those of all these that have one day or one time, and are not held on several: a deadline, no shift.
        capital_nouns: Whether every noun has a capital, so that it tells no name.
        head_last: Whether of several nouns in a row the last one tells of which sort a thing is.
        exclusive: Verbs, without their endings, of what one does in one way at a time.
        kin: Things of which one may have several.
        stops: Words at which a value ends.
        empty: Words that are no value.
        common: Words for places and times that are no names, where nothing is written with a capital.
        verbs: Verbs that say the same, by verb.
        days: Days of the week and of the year, by word.
        numbers: Numbers in words.
        states: Words for the state of a thing.
    """

    lead: str
    joint: str
    doubt: str
    now: str
    past: str
    present: str
    article: str
    pronouns: frozenset[str]
    first_person: frozenset[str]
    owners: frozenset[str]
    articles: frozenset[str]
    others: frozenset[str]
    renewed: frozenset[str]
    one_value: frozenset[str]
    named: frozenset[str]
    exclusive: frozenset[str]
    kin: frozenset[str]
    stops: frozenset[str]
    empty: frozenset[str]
    common: frozenset[str]
    verbs: Mapping[str, str]
    days: Mapping[str, str]
    months: str
    numbers: Mapping[str, str]
    states: Mapping[str, str]
    rows: Sequence[StatementRow]
    counted: frozenset[str] = frozenset()
    dated: frozenset[str] = frozenset()
    capital_nouns: bool = False
    head_last: bool = False

    @property
    def patterns(self) -> Sequence[str]:
        """All its regular expressions."""
        return self.lead, self.joint, self.doubt, self.now, self.past, self.present, *(row.pattern for row in self.rows)


@cache
def compile_pattern(pattern: str) -> "re.Pattern[str]":
    """A pattern, compiled when it is first needed."""
    return re.compile(pattern)
