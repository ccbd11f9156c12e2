"""What the clause of a frame states: its subject with all but the value, and the value."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from wmem.rules.updates.frames.attribute import is_chosen, names_one
from wmem.rules.updates.frames.lexicon import ADD, BE, DO, FOR, LIVE, MOVE, NAME, TAKE, WORK, Lexicon, words
from wmem.rules.updates.frames.names import is_plain_english
from wmem.rules.updates.frames.numbers import belongs_to_number, is_month
from wmem.rules.updates.frames.words import Word
from wmem.rules.updates.statement import FRAME, POLARITY, Statement

_MAX_VALUE = 4
_MAX_WHO = 4  # words of who likes something
_MAX_NAME = 2  # words of a name in lower case
_STEM = 5  # letters of a word in a language in which endings change
_ORDINAL = re.compile(r"(\d)(?:st|nd|rd|th|er|º|ª)\Z")
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,]\d{3}){1,4}")
_VOWELS = "aeiouyęąаеиоуыюя"
_TOWARDS = words("to nach zu à au en a para naar till til do na w em в во у на")
"""Words between "moved" and where to."""
_BESIDE = words(
    "with for from by as on mit bei als aus bij op med hos som chez avec con com da z u met uit från fra ze из с со от з із від desde"
)
"""Words after "lives" that say with whom, or of what, and not where."""
_WHEN = words("on op als as som u")
"""Those of them behind which a day stands, or what something is."""
_WITH = words("with mit met med avec con com z ze с со from aus")
"""Words behind "works" that say with whom, of whom there may be several."""
_NO_FIRMS = words("night nights home weekends weekdays noon school university sea")
"""English words behind "works at" that tell when or where, and not for whom."""
_DISLIKES = frozenset(["hate", "dislike"])
_LIKES = dict.fromkeys(("love", "enjoy", "hate", "dislike"), "like")
_OPPOSITES = (
    frozenset(["dark", "light"]),
    frozenset(["short", "long", "brief", "concise", "detailed", "verbose"]),
    frozenset(["formal", "informal", "casual"]),
    frozenset(["morning", "evening"]),
    frozenset(["window", "aisle"]),
    frozenset(["metric", "imperial"]),
    frozenset(["hot", "iced", "cold"]),
)
"""Of what one prefers one of each, before a word that is the same: dark mode, light mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """The parts of a sentence.

    Attributes:
        kind: The class of its verb, see `Lexicon`.
        verb: The verb, without its ending.
        who: Whose or what, in words that may be compared.
        heads: Those words of it that tell of which sort it is.
        value: What stands behind the verb.
        preposition: The word between both that is part of the frame.
        some: Whether an indefinite article is.
        denied: Whether it is negated.
        one: Whether its subject is one attribute of one thing.
        anchored: Whether it is, and says of which thing.
        many: Whether there are several of its kind, each with a name of its own.
        linked: Whether the value has a word like "of" in or before it.
        part: Whether the value is followed by what it holds for: Omar for billing, 40 in Graz.
        changes: Whether it says that something changed.
    """

    lexicon: Lexicon
    kind: str
    verb: str
    who: Sequence[str]
    heads: frozenset[str]
    value: Sequence[Word]
    preposition: str = ""
    some: bool = False
    denied: bool = False
    one: bool = False
    anchored: bool = False
    many: bool = False
    linked: bool = False
    part: bool = False
    changes: bool = False

    @property
    def subject(self) -> str:
        """Whose or what, as one text."""
        return " ".join(self.who) or "i"


def read_clause(clause: Clause) -> Iterator[Statement]:
    """What a clause states: that something is so or not, and which value its frame has."""
    lexicon, kind = clause.lexicon, clause.kind
    if clause.denied and not lexicon.but.isdisjoint(word.text for word in clause.value):
        yield from _read_correction(clause)
        return
    if kind in (ADD, DO, BE) or (clause.denied and kind in (LIVE, WORK)):
        yield from _read_polarity(clause)
    counted = clause.anchored and any(_has_digit(word) for word in clause.value)
    if clause.denied or (kind == ADD and not counted):
        return
    framed = _find_frame(clause)
    if framed is not None:
        yield from _read_value(framed)


def read_bare(clause: Clause) -> Iterator[Statement]:
    """A sentence without a verb: "My dog's name Rex", as many languages say it; its last word is the value."""
    if clause.anchored and clause.preposition:
        yield _to_statement(clause, BE, single=True)
        return
    named = not clause.lexicon.names.isdisjoint(clause.who)
    if named or not clause.lexicon.single.isdisjoint(clause.heads):
        yield _to_statement(clause, BE, single=not named and not _is_aside(clause))


def _read_polarity(clause: Clause) -> Iterator[Statement]:
    """Whether something is so: "I like tea" and "I no longer like tea" differ in that alone."""
    lexicon = clause.lexicon
    left_out = lexicon.dropped | lexicon.me | lexicon.some | lexicon.no | lexicon.more
    whole = [word for word in clause.value if word.text not in left_out]
    if not 0 < len(whole) <= _MAX_VALUE or len(clause.who) > _MAX_WHO or any(word.parts for word in whole):
        return
    frame = _join(clause.subject, _LIKES.get(clause.verb, clause.verb), _to_value(lexicon, whole))
    yes = clause.denied == (clause.verb in _DISLIKES)
    yield Statement(frame, POLARITY, "yes" if yes else "no", changes=True, single=True)


def _read_correction(clause: Clause) -> Iterator[Statement]:
    """Not this but that."""
    lexicon = clause.lexicon
    at = next(at for at, word in enumerate(clause.value) if word.text in lexicon.but)
    left_out = lexicon.no | lexicon.more | lexicon.dropped | lexicon.some
    before = [word for word in clause.value[:at] if word.text not in left_out]
    after = [word for word in clause.value[at + 1 :] if word.text not in left_out]
    named = _name(clause)
    if before and 0 < len(after) <= _MAX_VALUE and named.kind in (BE, NAME):
        frame = _join(named.subject, named.kind)
        yield Statement(frame, FRAME, _to_value(lexicon, after), _to_value(lexicon, before), changes=True)


def _name(clause: Clause) -> Clause:
    """The clause with "is" as "is called", where it says what something is called."""
    lexicon, value = clause.lexicon, clause.value
    if clause.kind != BE:
        return clause
    if value and value[0].text in lexicon.naming:
        return replace(clause, kind=NAME, value=value[1:])
    if lexicon.names.isdisjoint(clause.who):
        return clause
    return replace(clause, kind=NAME, who=[noun for noun in clause.who if noun not in lexicon.names])


def _find_frame(clause: Clause) -> Clause | None:
    """The clause without what its value begins with; None if it has no value that could be another one's."""
    lexicon, clause = clause.lexicon, _name(clause)
    value = clause.value
    preposition = value[0].text if value and value[0].text in lexicon.at and clause.kind != NAME else ""
    if lexicon.at and not preposition and clause.kind in (LIVE, WORK, MOVE):
        return None
    if lexicon.at and clause.kind == MOVE and preposition not in _TOWARDS:
        return None
    if clause.kind == LIVE and preposition in _BESIDE:
        return None
    value = value[1:] if preposition else value
    some = bool(value) and value[0].text in lexicon.some
    part = any(word.text in lexicon.at or word.text in FOR for word in value[1:-1])
    value = [word for word in value if word.text not in lexicon.dropped | lexicon.some]
    refused = lexicon.me | lexicon.mine | lexicon.verbs.keys()
    if not 0 < len(value) <= _MAX_VALUE or any(word.text in refused or word.parts == ":" for word in value):
        return None
    return replace(clause, value=value, preposition=preposition, some=some, part=clause.part or part)


def _read_value(clause: Clause) -> Iterator[Statement]:
    lexicon, kind, value, subject = clause.lexicon, clause.kind, clause.value, clause.subject
    name_like = _is_name_like(lexicon, value)
    if kind in (LIVE, MOVE, NAME, WORK):
        yield from _read_being(clause, name_like=name_like)
    elif kind in (TAKE, ADD):
        if any(_has_digit(word) for word in value) and not _names_by_number(clause):
            yield _to_statement(clause, clause.verb, single=clause.one)
    elif kind == DO:
        if clause.verb == "prefer":
            yield from _read_preference(clause)
        if len(value) <= _MAX_NAME:
            yield _to_statement(clause, clause.verb, single=False)
    elif (subject != "i" or any(_has_digit(word) for word in value)) and _names_which(clause):
        single = not lexicon.single.isdisjoint(clause.heads) and not _is_aside(clause)
        plain = clause.some or (lexicon.lower_names and any(is_plain_english(word.text) for word in value))
        chosen = clause.one and not clause.preposition and is_chosen(lexicon, clause.who, value)
        if name_like or chosen or (single and not plain):
            single = single or chosen or _is_only_one(clause) or _is_in_office(clause)
            yield _to_statement(clause, BE, single=not clause.some and single)


def _read_being(clause: Clause, *, name_like: bool) -> Iterator[Statement]:
    """Where something lives or works, or what it is called."""
    kind, value, subject = clause.kind, clause.value, clause.subject
    told, changes = _to_value(clause.lexicon, value), clause.changes
    if kind == NAME:
        single = (subject == "i" or clause.one) and name_like
        yield Statement(f"{subject} {NAME}", FRAME, told, changes=changes, single=single)
    elif kind == WORK:
        if told not in _NO_FIRMS and clause.preposition not in _WITH:
            yield Statement(f"{subject} {WORK} {clause.preposition}", FRAME, told, changes=changes)
    elif name_like:
        aside = clause.part or (any(word.named for word in value) and not value[-1].named)  # "in Graz during the week"
        single = not (clause.many or aside)
        yield Statement(f"{subject} {LIVE}", FRAME, told, changes=changes or kind == MOVE, single=single)


def _names_by_number(clause: Clause) -> bool:
    """Whether a number names one of several things of a kind, and does not measure: record 3, not 3 records, nor Python 3."""
    lexicon = clause.lexicon
    at = next((at for at, word in enumerate(clause.value) if _has_digit(word)), 0)
    before = clause.value[at - 1]
    product = before.named and (not lexicon.capital_nouns or clause.preposition != "")
    return at > 0 and not product and before.text not in lexicon.at and not belongs_to_number(before.text)


def _is_aside(clause: Clause) -> bool:
    """Whether a value holds for a part of its subject, or tells with whom or from where it is: Omar for billing."""
    if any(_has_digit(word) for word in clause.value):
        return False  # what stands beside a number belongs to the frame
    return clause.part or not {clause.preposition, clause.value[0].text}.isdisjoint(_BESIDE - _WHEN)


def _names_one(clause: Clause) -> bool:
    """Whether the value is a name, and not a place in or from which something is: one town has many others in it."""
    return not (clause.preposition or clause.linked or _is_aside(clause)) and names_one(clause.lexicon, clause.value)


def _is_only_one(clause: Clause) -> bool:
    """Whether an attribute has a value that excludes any other: a name or a number."""
    if any(_has_digit(word) for word in clause.value):
        return clause.anchored
    return clause.one and not clause.many and _names_one(clause)


def _is_in_office(clause: Clause) -> bool:
    """Whether the value is who or what has a role: a name, of which not every language tells by a capital."""
    named = any(word.named for word in clause.value)
    return not clause.lexicon.roles.isdisjoint(clause.heads) and (not named or _names_one(clause))


def _names_which(clause: Clause) -> bool:
    """Whether the value is not how or where something is: "now a wreck", "now in repair", "now open on Friday"."""
    named = any(word.named for word in clause.value)
    if (clause.some or clause.preposition) and (not named or (clause.some and clause.lexicon.capital_nouns)):
        return False
    first = clause.value[0]
    if clause.anchored and any(_has_digit(word) for word in clause.value):
        return True  # "staffed until 18:00"
    return first.named or not clause.lexicon.lower_names or not (named and is_plain_english(first.text))


def _to_statement(clause: Clause, attribute: str, *, single: bool) -> Statement:
    """The statement of a clause; of a value with numbers these are the value, and its words belong to the frame."""
    counted = [word for word in clause.value if word.text[:1].isdigit()] or [*filter(_has_digit, clause.value)]
    numbers = [_to_plain_number(word) for word in counted]
    rest = sorted(word.text for word in clause.value if word not in counted) if numbers else []  # "40 in Q1"
    if rest and all(is_month(word) for word in rest):
        numbers, rest = sorted(_to_plain_number(word) for word in clause.value), []  # a date
    frame = _join(
        clause.subject, attribute, clause.preposition, "a" if clause.some else "", *rest, "#" if numbers else ""
    )
    told = _to_value(clause.lexicon, numbers or clause.value)
    return Statement(frame, FRAME, told, changes=clause.changes, single=single)


def _read_preference(clause: Clause) -> Iterator[Statement]:
    """One of two that exclude each other: dark mode or light mode, tea over coffee."""
    first, *rest = (word.text for word in clause.value)
    if len(rest) == 2 and rest[0] in ("over", "to"):  # noqa: PLR2004  # that word, and the other thing
        yield Statement(_join(clause.subject, clause.verb, *sorted((first, rest[1]))), FRAME, first, single=True)
    for number, group in enumerate(_OPPOSITES):
        if rest and first in group:
            yield Statement(_join(clause.subject, clause.verb, str(number), *rest), FRAME, first, single=True)


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _has_digit(word: Word) -> bool:
    return word.text[:1].isdigit() or word.text[-1:].isdigit()


def _to_plain_number(word: Word) -> Word:
    """A number without marks between its thousands and without the ending of an ordinal."""
    text = _ORDINAL.sub(r"\1", word.text)
    if _THOUSANDS.fullmatch(text) is not None:
        text = text.replace(",", "").replace(".", "")
    elif text[-1] == "k" and text[:-1].isdecimal():
        text = f"{text[:-1]}000"
    return word._replace(text=text)


def _is_name_like(lexicon: Lexicon, value: Sequence[Word]) -> bool:
    """Whether a value names something, and does not only tell how it is."""
    if any(word.named for word in value):
        return True
    first = value[0].text
    if first.upper() == first.lower():  # a script without capitals
        return True
    return lexicon.lower_names and len(value) <= _MAX_NAME and not any(is_plain_english(word.text) for word in value)


def _to_value(lexicon: Lexicon, value: Sequence[Word]) -> str:
    texts = [word.text for word in value]
    if lexicon.inflects:
        texts = [
            text[:_STEM] if text.isalpha() and len(text) > _STEM else text.rstrip(_VOWELS) or text for text in texts
        ]
    return " ".join(texts)
