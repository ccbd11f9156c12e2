"""Reads what a text states, sentence by sentence and clause by clause."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from wmem.rules.standing.own_text import STRAIGHT, own_sentences
from wmem.rules.updates.clause import SHORT_CHARS, read_clause
from wmem.rules.updates.english import ENGLISH
from wmem.rules.updates.european import FRENCH, GERMAN, SPANISH
from wmem.rules.updates.frames import read_frames
from wmem.rules.updates.line import split_line
from wmem.rules.updates.statement import TOPIC, Statement
from wmem.rules.updates.table import StatementRow, StatementTable, compile_pattern
from wmem.rules.updates.values import MAX_PLACE_WORDS

TABLES: Sequence[StatementTable] = (ENGLISH, GERMAN, FRENCH, SPANISH)
_MAX_CHARS = 1_000  # characters that are read: who states a fact does so in a few words
_MAX_STATEMENTS = 6
_MAX_CLAUSES = 8
_BLANKS = str.maketrans(dict.fromkeys('.,!?:;()[]{}<>"“”„«»…*_–—¿¡\n\t', " ")) | STRAIGHT  # dashes on purpose
_ASCII = bytes(ord(chr(each).lower().translate(_BLANKS)) if each < 128 else each for each in range(256))  # noqa: PLR2004
"""The same for bytes of ASCII, in lower case: many times faster."""
_REMARK = re.compile(r"\s{0,4}\w{4,14}:(?= )")
_ORDINAL = re.compile(r"(?<=\d)\.(?= (?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))")
"""A full stop that ends no sentence."""
_DIGIT = re.compile(r"[0-9]")


class _Clause(NamedTuple):
    """A clause, where it begins in the text, and whether it says that something changed."""

    text: str
    start: int
    changes: bool


def read_statements(text: str, *, fact: bool = False) -> tuple[Statement, ...]:
    """What a text states, clause by clause; questions, conditions, and what others say state nothing.

    Args:
        fact: Whether it stands for itself, as an item does; it may be ``key: value`` then.
    """
    if fact:
        if (line := split_line(text)) is not None:
            said = _read_alone(ENGLISH, f"my {line.key} is {line.value}")
            return (*line.keep(said), *read_frames(text))  # "correction: the code is 12" is no key
        return (*_read_said(text), *read_frames(text))
    return _read_said(text)


def _read_said(text: str) -> tuple[Statement, ...]:
    shown = _ORDINAL.sub(" ", text[:_MAX_CHARS].replace("any more", "anymore"))
    if ":" in shown and (remark := _REMARK.match(shown)) is not None:
        # A comma: what stands behind a colon is shown, and not said.
        shown = f"{shown[: remark.end() - 1]},{shown[remark.end() :]}"
    words = _to_words(shown)
    weak = len(shown) <= SHORT_CHARS or not words.isdisjoint(_value_words()) or _DIGIT.search(shown) is not None
    if words.isdisjoint(_all_words(weak=weak)):
        return ()
    wanted = [(table, rows) for table in TABLES if (rows := _list_rows(table, words, weak=weak))]
    found: dict[Statement, None] = {}
    for sentence in own_sentences(shown):
        if sentence.asks:
            continue
        said = _to_words(sentence.text)
        for table, rows in wanted:
            likely = [row for row in rows if not said.isdisjoint(_row_words(row))]
            read = [*_read_sentence(table, likely, sentence.text, shown[sentence.start :])] if likely else ()
            if read and compile_pattern(table.doubt).search(sentence.text) is None:
                found |= dict.fromkeys(read)
        if len(found) >= _MAX_STATEMENTS:
            break
    return tuple(_resolve(list(found)[:_MAX_STATEMENTS]))


def _resolve(statements: Sequence[Statement]) -> Iterator[Statement]:
    """The statements of a text, in which "it" is what was spoken of last: "The deadline has changed. It is now May 5"."""
    topic: Statement | None = None
    for each in statements:
        if each.kind == TOPIC:
            topic = each
        elif each.subject or topic is None or each.before or topic.kind not in (TOPIC, each.kind):
            topic = each if each.subject else topic
            yield each
        else:
            yield each._replace(subject=topic.subject, changes=True)


def _read_alone(table: StatementTable, clause: str) -> Iterator[Statement]:
    """What a clause in lower case with "is" states."""
    return read_clause(table, _list_rows(table, frozenset({"is"}), weak=True), clause, clause, changes=False)


def _to_words(text: str) -> frozenset[str]:
    """The words of a text, in lower case, without marks around them."""
    if text.isascii():
        return frozenset(text.encode().translate(_ASCII).decode().split())
    return frozenset(text.lower().translate(_BLANKS).split())


@cache
def _places_by_word(table: StatementTable, *, weak: bool) -> Mapping[str, Sequence[int]]:
    """For each word, the places of the rows that want it, with or without weak ones."""
    found: dict[str, list[int]] = {}
    for place, row in enumerate(table.rows):
        for word in row.words.split() if weak or not row.weak else ():
            found.setdefault(word, []).append(place)
    return found


@cache
def _row_words(row: StatementRow) -> frozenset[str]:
    return frozenset(row.words.split())


@cache
def _value_words() -> frozenset[str]:
    """Words of values that are written as such, and of what has one value."""
    return frozenset[str]().union(
        *(table.one_value | table.named | table.counted | table.days.keys() for table in TABLES)
    )


@cache
def _all_words(*, weak: bool) -> frozenset[str]:
    """The words of all rows of all tables, with or without weak ones."""
    return frozenset[str]().union(*(_places_by_word(table, weak=weak) for table in TABLES))


def _list_rows(table: StatementTable, words: frozenset[str], *, weak: bool) -> list[StatementRow]:
    """The rows that a text of these words may match, in their order."""
    by_word = _places_by_word(table, weak=weak)
    if words.isdisjoint(by_word):
        return []
    return [table.rows[at] for at in sorted({at for word in words & by_word.keys() for at in by_word[word]})]


def _read_sentence(
    table: StatementTable, rows: Sequence[StatementRow], text: str, original: str
) -> Iterator[Statement]:
    previous: Sequence[Statement] = ()
    for clause in _split(table, text, original):
        shown = original[clause.start : clause.start + len(clause.text)]
        ended = any(each.changes and not each.value for each in previous)
        read = [*read_clause(table, rows, clause.text, shown, changes=clause.changes or ended)]
        if ended:
            # "No longer on Fridays, Tuesdays now": the same subject, with what took the place of the value.
            read = [
                each if each.subject else each._replace(subject=old.subject, before=old.before)
                for each, old in zip(read, [previous[0]] * len(read), strict=True)
            ]
        yield from read
        previous = read


def _ends_in_place(text: str, original: str, start: int, end: int) -> bool:
    """Whether what stands behind the last joint only says where a place is: "Hamburg, Germany"."""
    rest = original[end : len(text)].rstrip(" .!").split()
    return text[start:end] == ", " and 0 < len(rest) <= MAX_PLACE_WORDS and all(word[:1].isupper() for word in rest)


def _split(table: StatementTable, text: str, original: str) -> Iterator[_Clause]:
    joints = [match.span() for match in compile_pattern(table.joint).finditer(text)][: _MAX_CLAUSES - 1]
    if joints and _ends_in_place(text, original, *joints[-1]):
        joints.pop()
    bounds = [(0, 0), *joints, (len(text), len(text))]
    now = compile_pattern(table.now)
    may_change = now.search(text) is not None
    changes = False
    for (_, start), (end, _) in pairwise(bounds):
        lead = compile_pattern(table.lead).match(text, start, end)
        begin = lead.end() if lead else start
        clause = text[begin:end].rstrip(" .!…,;:")
        # What only leads to a statement belongs to the next: "Update: the call is at 10".
        changes = changes or (may_change and now.search(text, start, end) is not None)
        if clause:
            yield _Clause(clause, begin, changes)
            changes = False
