"""Reads what a text states: whose or what, and which value."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from wmem.rules.standing.own_text import STRAIGHT, own_sentences
from wmem.rules.updates.english import ENGLISH
from wmem.rules.updates.european import FRENCH, GERMAN, SPANISH
from wmem.rules.updates.statement import TOPIC, Statement
from wmem.rules.updates.table import StatementRow, StatementTable, compile_pattern
from wmem.rules.updates.values import read_values, read_words

TABLES: Sequence[StatementTable] = (ENGLISH, GERMAN, FRENCH, SPANISH)
_MAX_CHARS = 1_000  # characters that are read: who states a fact does so in a few words
_SHORT_CHARS = 80
_MAX_STATEMENTS = 6
_MAX_CLAUSES = 8
_BLANKS = str.maketrans(dict.fromkeys('.,!?:;()[]{}<>"“”„«»…*_–—¿¡\n\t', " ")) | STRAIGHT  # dashes on purpose
_ASCII = bytes(ord(chr(each).lower().translate(_BLANKS)) if each < 128 else each for each in range(256))  # noqa: PLR2004
"""The same for bytes of ASCII, in lower case: many times faster."""
_REMARK = re.compile(r"\s{0,4}\w{4,14}:(?= )")
_ORDINAL = re.compile(r"(?<=\d)\.(?= (?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))")
"""A full stop that ends no sentence."""
_KEY = re.compile(r"\w[\w .-]{0,39}")
_MAX_VALUE_CHARS = 80
_LEADS_IN = re.compile(r"(?:(?:in|at|on|for|with|to|from|by|as|near|into|the|an?) ){0,2}")
_SAME = frozenset({("work", "at"), ("work", "for")})
_PROPER = re.compile(r"[^\W\d_a-zà-öø-ÿ]|\d{1,4}\w? [A-Z]")
_COUNTED = re.compile(
    r"(?:about |around |only )?[$€£]?\d[\d.,]*k? ?(?P<unit>(?!(?:am|pm|for|now|a|an|per|in|at|on)\b)[a-z]{1,20})?"
)
_DIGIT = re.compile(r"[0-9]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NO_NOUNS = _words(
    "who which that and or is was are were be been got get gets has have had not i we you he she they it if when because but there here what"
)
_NOW = _words("now currently actually")
_ADVERBS = _words("now currently actually also always usually still officially really just recently finally")
_LINKS = frozenset(["of", "for", "in", "on", "at", "to", "with", "from", "by", "the", "a", "an", "my", "our"])


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
    if fact and (keyed := _split_keyed(text)) is not None:
        return tuple(_read_keyed(*keyed))
    shown = _ORDINAL.sub(" ", text[:_MAX_CHARS].replace("any more", "anymore"))
    if ":" in shown and (remark := _REMARK.match(shown)) is not None:
        # A comma: what stands behind a colon is shown, and not said.
        shown = f"{shown[: remark.end() - 1]},{shown[remark.end() :]}"
    words = _to_words(shown)
    weak = len(shown) <= _SHORT_CHARS or not words.isdisjoint(_value_words()) or _DIGIT.search(shown) is not None
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
    return frozenset[str]().union(*(table.one_value | table.named | table.days.keys() for table in TABLES))


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


def _split_keyed(text: str) -> tuple[str, str] | None:
    """The key and value of a line like ``key: value``; None if it is none."""
    key, colon, value = text[: 2 * _MAX_VALUE_CHARS].strip().partition(": ")
    is_line = bool(colon and value) and "\n" not in text.strip() and _KEY.fullmatch(key) is not None
    return (key, value) if is_line and len(value) <= _MAX_VALUE_CHARS else None


def _read_keyed(key: str, value: str) -> Iterator[Statement]:
    """What an entry, or an item like one, states: its key has one value at a time."""
    for each in _read_clause(
        ENGLISH,
        _list_rows(ENGLISH, frozenset({"is"}), weak=True),
        f"my {key.lower().replace('_', ' ')} is {value.lower()}",
        value,
        changes=False,
    ):
        yield each._replace(changes=True, single=True)


def _read_sentence(
    table: StatementTable, rows: Sequence[StatementRow], text: str, original: str
) -> Iterator[Statement]:
    previous: Sequence[Statement] = ()
    for clause in _split(table, text):
        shown = original[clause.start : clause.start + len(clause.text)]
        ended = any(each.changes and not each.value for each in previous)
        read = [*_read_clause(table, rows, clause.text, shown, changes=clause.changes or ended)]
        if ended:
            # "No longer on Fridays, Tuesdays now": the same subject, with what took the place of the value.
            read = [
                each if each.subject else each._replace(subject=old.subject, before=old.before)
                for each, old in zip(read, [previous[0]] * len(read), strict=True)
            ]
        yield from read
        previous = read


def _split(table: StatementTable, text: str) -> Iterator[_Clause]:
    joints = [match.span() for match in compile_pattern(table.joint).finditer(text)][: _MAX_CLAUSES - 1]
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


def _read_clause(
    table: StatementTable, rows: Sequence[StatementRow], clause: str, original: str, *, changes: bool
) -> Iterator[Statement]:
    """What a clause states, by the first row that it matches."""
    for text in (clause, f"{table.article} {clause}"):
        for row in rows:
            if row.refers and not (changes and text is clause):
                continue
            match = compile_pattern(row.pattern).match(text)
            if match is None:
                continue
            offset = len(text) - len(clause)
            found = [*_to_statements(table, row, match, original, offset, changes=changes)]
            if found:
                yield from found
                return
        if len(clause) > _SHORT_CHARS or clause.partition(" ")[0] in _first_words(table):
            return


@cache
def _first_words(table: StatementTable) -> frozenset[str]:
    """Words with which a clause begins that needs no article in front."""
    return table.first_person | table.owners | table.articles | table.pronouns


def _to_statements(
    table: StatementTable, row: StatementRow, match: "re.Match[str]", original: str, offset: int, *, changes: bool
) -> Iterator[Statement]:
    groups = match.groupdict()
    subject = _read_subject(table, groups)
    if subject is None:
        return
    said, before, verb = (groups.get(name) or "" for name in ("value", "before", "verb"))
    start = match.start("value") - offset + len(said) if said else -1
    said = _drop_adverbs(said)
    start -= len(said)
    said, _, other = said.partition(" instead of ")
    before = before or other
    attribute = row.attribute or table.verbs.get(verb) or _stem(verb)
    link = said.partition(" ")[0]
    if verb and attribute != "be" and link in table.stops and link not in table.articles:
        # Somebody drives a car, and drives to work.
        attribute += "" if (attribute, link) in _SAME else f" {link}"
    begin = _LEADS_IN.match(said)
    proper = start >= 0 and _PROPER.match(original, start + (begin.end() if begin else 0)) is not None
    if row.proper and not proper and original.islower():
        # Who writes without capitals means a name, too, unless it is a common word.
        begins = said[: begin.end() if begin else 0].split()
        proper = table.common.isdisjoint([*begins, *read_words(said, table).split()])
    if row.proper and (not proper or any(kind in ("day", "time") for kind, _ in read_values(said, table))):
        return
    if row.habit and subject.words:
        subject = subject._replace(words=f"{subject.words}{_object_words(said, table)}")
    if row.kind == TOPIC:
        yield Statement(f"{subject.words} {attribute}", TOPIC, "", changes=True)
        return
    for kind, value in _list_values(table, row, said, subject.words, attribute, proper=proper):
        if row.ends:
            yield Statement(
                f"{subject.words} {attribute}".strip() if subject.words else "", kind, "", value, changes=True
            )
            continue
        earlier = [old for other, old in read_values(before, table) if other == kind] or [read_words(before, table)]
        bare = attribute.partition(" ")[0]
        adds = row.adds or (kind == "word" and verb != "" and bare != "be" and bare not in table.exclusive)
        yield Statement(
            f"{subject.words} {attribute}" if subject.words else "",
            kind,
            value,
            earlier[0],
            changes=row.changes or (not adds and (changes or subject.renewed)),
            single=_has_one_value(table, row, subject, kind),
        )


def _drop_adverbs(value: str) -> str:
    first, _, rest = value.partition(" ")
    return _drop_adverbs(rest) if first in _ADVERBS else value


def _object_words(value: str, table: StatementTable) -> str:
    """What a number counts, and what it is for: "12 dollars for the hosting"."""
    counted = _COUNTED.match(value)
    if counted is None:
        return ""
    _, _, purpose = value.partition(" for ")
    return f" {_singular(counted['unit'] or '')} {read_words(purpose, table)}".rstrip()


class _Subject(NamedTuple):
    """The words of a subject; none for "it". Whether it is the speaker's own, and takes the place of another."""

    words: str
    owned: bool = False
    renewed: bool = False


def _read_subject(table: StatementTable, groups: Mapping[str, str | None]) -> _Subject | None:
    """Whose or what; None for what may be one of several, or is no thing."""
    who, thing = groups.get("who"), groups.get("thing")
    if who is None and thing is None:
        return _Subject("")
    words = (who or "").replace("'s ", " ").removesuffix("'s").split()
    if len(words) == 1 and words[0] in table.pronouns:
        return _Subject("")
    owned = not words or words[0] in table.owners | table.first_person or not table.first_person.isdisjoint(words)
    nouns = [*words, *(read_words(thing, table).split() if thing else ())]
    if not table.others.isdisjoint(nouns) or not _NO_NOUNS.isdisjoint(set(nouns) - table.first_person):
        return None
    renewed = not table.renewed.isdisjoint(nouns) or not _NOW.isdisjoint(nouns)
    left = table.owners | table.articles | table.first_person | table.renewed | _ADVERBS | _LINKS
    named = [word if word.removesuffix("s") in table.kin else _singular(word) for word in nouns if word not in left]
    return _Subject(" ".join(named) or "i", owned, renewed)


def _list_values(
    table: StatementTable, row: StatementRow, text: str, nouns: str, attribute: str, *, proper: bool
) -> Iterator[tuple[str, str]]:
    """The kinds and values that a row takes of what is said."""
    if row.kind in ("word", "name"):
        value = read_words(text, table) if text else "" if row.ends else attribute
        if value or not text:
            yield row.kind, value
        return
    typed = [(kind, value) for kind, value in read_values(text, table) if row.kind in ("", kind)]
    if typed or row.kind:
        yield from typed
        return
    if row.refers:
        return
    of_thing = proper or not table.one_value.isdisjoint(nouns.split())
    if (of_thing and attribute == "be") or row.ends or row.changes or (row.habit and attribute != "be"):
        value = read_words(text, table) if text else attribute
        if value:
            yield "word", value


def _has_one_value(table: StatementTable, row: StatementRow, subject: _Subject, kind: str) -> bool:
    """Whether a subject has one value of a kind at a time, so that another one needs no word of change."""
    nouns = set(subject.words.split())
    if kind == "name":
        return row.single and table.kin.isdisjoint(nouns | {f"{noun}s" for noun in nouns})
    return row.single or (subject.owned and not (table.one_value | table.named).isdisjoint(nouns))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word  # noqa: PLR2004  # "bus"


def _stem(verb: str) -> str:
    """A verb without its ending: "smokes" and "smoking" are one."""
    bare = verb.removesuffix("ing")
    if bare != verb and bare[-1:] == bare[-2:-1]:
        bare = bare[:-1]
    return _singular(bare).removesuffix("e")
