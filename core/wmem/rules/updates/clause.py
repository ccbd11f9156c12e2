"""Reads what a clause states: whose or what, and which value."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from wmem.rules.updates.frames.names import is_german_noun, is_people, is_plain_english
from wmem.rules.updates.statement import TOPIC, WRITTEN, Statement
from wmem.rules.updates.table import StatementRow, StatementTable, compile_pattern
from wmem.rules.updates.values import is_qualified, read_values, read_words

SHORT_CHARS = 80
"""Characters of a short text, which may state something in common words."""
_LEADS_IN = re.compile(r"(?:(?:in|at|on|for|with|to|from|by|as|near|into|the|an?) ){0,2}")
_SAME = frozenset({("work", "at"), ("work", "for")})
_PROPER = re.compile(r"[^\W\d_a-zà-öø-ÿ]|\d{1,4}\w? [A-Z]")
_COUNTED = re.compile(
    r"(?:about |around |only )?[$€£]?\d[\d.,]*k? ?(?P<unit>(?!(?:am|pm|for|now|a|an|per|in|at|on)\b)[a-z]{1,20})?"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NO_NOUNS = _words(
    "who which that and or is was are were be been got get gets has have had not i we you he she they it if when because but there here what"
)
_BEING = _words("is are am 's 're 'm be ist sind bin est sont suis es son soy están está")
_NOW = _words("now currently actually")
_ADVERBS = _words("now currently actually also always usually still officially really just recently finally")
_DESCRIBED = _words("favourite favorite colour color password title major")
"""English words of what has a word that everybody uses for its value."""
_JOINTS = frozenset(["of", "for", "in", "on", "at", "to", "with", "from", "by"])
_LINKS = frozenset(["of", "for", "the", "a", "an", "my", "our"])


def read_clause(
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
        if len(clause) > SHORT_CHARS or clause.partition(" ")[0] in _first_words(table):
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
    if subject.words == "i" and verb and attribute == "be" and verb not in _BEING:
        attribute = row.attribute or _stem(verb)  # a meeting that runs is at that time; who runs is no such thing
    link, _, linked = said.partition(" ")
    begin = _LEADS_IN.match(said)
    proper = start >= 0 and _PROPER.match(original, start + (begin.end() if begin else 0)) is not None
    if verb and attribute != "be" and link in table.stops and link not in table.articles:
        # Somebody drives a car, and drives to work; one works at a firm, and at night.
        firm = proper or linked.partition(" ")[0] in table.articles
        attribute += "" if firm and (attribute, link) in _SAME else f" {link}"
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
    behind = match.string[match.end() :] if groups.get("thing") else ""
    for kind, value in _list_values(table, row, said, subject.heads, attribute, proper=proper):
        if row.ends:
            yield Statement(
                f"{subject.words} {attribute}".strip() if subject.words else "", kind, "", value, changes=True
            )
            continue
        earlier = [old for other, old in read_values(before, table) if other == kind] or [read_words(before, table)]
        bare, _, beside = attribute.partition(" ")
        one = bare in table.exclusive and (bare, beside) != ("work", "with")  # there are several colleagues
        adds = row.adds or (kind == "word" and verb != "" and bare != "be" and not one)
        yield Statement(
            f"{subject.words} {attribute}" if subject.words else "",
            kind,
            value,
            earlier[0],
            changes=row.changes
            or (not adds and (changes or (subject.renewed and table.kin.isdisjoint(subject.heads)))),
            single=_has_one_value(table, row, subject, kind, value)
            and not _is_of_part(table, kind, f"{said}{behind}", attribute),
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
    """The words of a subject; none for "it". Whether it is the speaker's own, and takes the place of another.

    Attributes:
        heads: Those of its words that tell of which sort it is.
    """

    words: str
    heads: frozenset[str] = frozenset()
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
    while named and named[-1] in _JOINTS:
        named.pop()  # "renamed the service to"
    heads = frozenset(_list_heads(nouns) if table.head_last else named)
    return _Subject(" ".join(named) or "i", heads, owned, renewed)


def _list_heads(nouns: Sequence[str]) -> Iterator[str]:
    """The last noun, before what it is of, and words for what somebody likes best: of "the database table" the table."""
    end = next((at for at, word in enumerate(nouns) if at and word in _JOINTS), len(nouns))
    for at, word in enumerate(nouns[:end], 1):
        if at == end or word.startswith("favo"):
            yield from (word, _singular(word))


def _list_values(
    table: StatementTable, row: StatementRow, text: str, heads: frozenset[str], attribute: str, *, proper: bool
) -> Iterator[tuple[str, str]]:
    """The kinds and values that a row takes of what is said."""
    if row.kind in ("word", "name"):
        value = read_words(text, table) if text else "" if row.ends else attribute
        if value or not text:
            yield row.kind, value
        return
    typed = [(kind, value) for kind, value in read_values(text, table) if row.kind in ("", WRITTEN, kind)]
    if typed or row.kind:
        yield from typed
        return
    if row.refers:
        return
    of_thing = proper or not table.one_value.isdisjoint(heads)
    if (of_thing and attribute == "be") or row.ends or row.changes or (row.habit and attribute != "be"):
        value = read_words(text, table) if text else attribute
        if value:
            yield "word", value


def _has_one_value(table: StatementTable, row: StatementRow, subject: _Subject, kind: str, value: str) -> bool:
    """Whether a subject has one value of a kind at a time, so that another one needs no word of change."""
    nouns = set(subject.words.split())
    if row.single or kind == "name":
        return row.single and table.kin.isdisjoint(nouns | {f"{noun}s" for noun in nouns})
    single = table.one_value | (table.named if not _tells_how(table, kind, value) else frozenset())
    if kind != "word":
        single |= table.counted
    if kind in ("day", "time"):
        single &= table.dated
    elif kind == "word" and table.head_last and all(is_plain_english(word) for word in value.split()):
        single &= _DESCRIBED  # "my email is full"
    return subject.owned and not single.isdisjoint(subject.heads)


def _is_of_part(table: StatementTable, kind: str, text: str, attribute: str) -> bool:
    """Whether a value holds for a part of its subject, or tells where somebody is from: 40 for lunch, Omar in Graz."""
    if is_qualified(text, table, dated=kind in ("day", "time")):
        return True
    first = text.partition(" ")[0]
    return kind == "word" and attribute == "be" and first in table.stops and first not in table.articles


def _tells_how(table: StatementTable, kind: str, value: str) -> bool:
    """Whether a value with a capital is no name: somebody's people, or a German noun."""
    said = value.split()
    if kind != "word" or not said:
        return False
    return is_german_noun(said) if table.capital_nouns else is_people(said[-1])


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word  # noqa: PLR2004  # "bus"


def _stem(verb: str) -> str:
    """A verb without its ending: "smokes" and "smoking" are one."""
    bare = verb.removesuffix("ing")
    if bare != verb and bare[-1:] == bare[-2:-1]:
        bare = bare[:-1]
    return _singular(bare).removesuffix("e")
