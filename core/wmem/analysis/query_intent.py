"""Query intent: the speaker, grammatical person, dates and time that a question asks for."""

import re
from collections.abc import Collection, Sequence
from datetime import UTC, tzinfo
from typing import NamedTuple

from wmem.analysis.analyzer import to_words
from wmem.analysis.dates import PartialDate, parse_dates
from wmem.analysis.plain_spelling import to_plain_spelling
from wmem.analysis.query_terms import read_ends
from wmem.analysis.stopwords import STOP_WORDS

_FIRST_PERSON = frozenset(
    (
        *("i", "me", "my", "mine", "myself", "we", "us", "our", "ours"),
        *("ich", "mich", "mir", "mein", "meine", "je", "moi", "mon", "ma", "mes"),
        *("yo", "mi", "mis", "eu", "meu", "minha"),
    )
)
# Questions for a time, in several languages. Unspaced scripts have no word boundary to match.
_ASKS_WHEN = re.compile(
    r"\b(?:when|since when|what (?:date|day|month|year|time)|which (?:day|month|year)|how long|how many "
    r"(?:days|weeks|months|years)|wann|seit wann|quand|cuándo|cuando|quando|wanneer|när|когда)\b"
    r"|いつ|什么时候|何时|언제|เมื่อไหร่"
)
_TIME_WORD_LIST = (
    "today tonight yesterday tomorrow last next ago since soon recently earlier weekend morning evening night day days "
    "week weeks month months year years monday tuesday wednesday thursday friday saturday sunday january february "
    "march april may june july august september october november december gestern heute morgen woche monat jahr hier "
    "aujourd demain semaine mois ayer hoy mañana semana mes año вчера сегодня завтра недел неделю месяц год"
)
_TIME_WORDS = frozenset((*_TIME_WORD_LIST.split(), *map(str, range(1900, 2100))))
_UNSPACED_TIME_WORDS = re.compile("昨日|今日|明日|先週|来週|先月|去年|昨天|今天|明天|上周|下周|어제|오늘|내일")
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(\w+)(?:['\u2019]s\b)?")
_ASCII_TO_WORDS = bytes(
    ord(chr(code).lower()) if code < 128 and _WORD.match(chr(code)) else 32  # noqa: PLR2004  # ASCII, and a blank
    for code in range(256)
)
"""For ASCII text: its words are what stands between blanks then."""
# "Name: text", perhaps with a time in brackets before the name.
_TRANSCRIPT_SPEAKER = re.compile(r"\A\s*(?:[\[(][^\])\n]{1,40}[\])]\s*)?([^\W\d_][\w .'-]{0,38}?): ")
# What the assistant did, said or made: "you" as the subject of a past tense, or "your" suggestion, answer, list.
_SECOND_PERSON = re.compile(
    r"\b(?:did|had|have|were) you\b|\byou(?:'d|'ve|'re| had| have| were)?(?: \w+ly| just| once| already)? "
    r"(?:\w{2,}ed|said|told|gave|given|wrote|written|made|sent|shown|found|chose|chosen|came up|put)\b"
    r"|\byour (?:\w+ )?(?:suggest|recommend|explan|advice|answer|repl|respon|summar|list|idea|example|translat)\w*\b"
)
# A reference to an earlier conversation: it asks for the assistant's answers, unless it is about what "I" said.
_PAST_CONVERSATION = re.compile(
    r"\b(?:our|the) (?:last|previous|earlier|past|prior|recent) (?:\w+ )?(?:chat|conversation|discussion|exchange)s?\b"
    r"|\bwe(?:'d|'ve| had| have)? (?:\w+ly )?(?:talked|discussed|spoke|spoken|chatted|went over)\b"
)
_I_SAID = re.compile(r"\bi(?:'d|'ve| had| have)? (?:\w+ly )?(?:say|said|tell|told|mention(?:ed)?)\b")
_MAX_NAME_WORDS = 3
_MAX_BYTES = 2_000  # of a question that are read, half of them its last: what is asked stands at an end
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")  # also full-width, and Arabic
_QUESTION_END = 60  # characters at the end of a text in which a question mark makes it a question


class QueryIntent(NamedTuple):
    """The intent of a question.

    Attributes:
        speaker: The known speaker that it names; None for nobody, and for several.
        first_person: Whether it is about the user ("I", "my").
        second_person: Whether it asks for what the assistant said.
        dates: The dates it names.
        zone: The zone of their days.
        names: All known speakers that it names.
        asks_when: Whether it asks for a time.
    """

    speaker: str | None
    first_person: bool
    second_person: bool
    dates: tuple[PartialDate, ...]
    asks_when: bool
    zone: tzinfo = UTC
    names: Sequence[str] = ()

    @property
    def of_user(self) -> bool:
        """Whether it asks for what the user said."""
        return self.first_person and not self.second_person


def detect_intent(query: str, now: float, speakers: Collection[str], zone: tzinfo = UTC) -> QueryIntent:
    """The intent of a question; of a long one, of its first and last 1,000 bytes.

    Args:
        now: UTC epoch seconds, from which "yesterday" is counted.
        speakers: Names of the known speakers, folded and in plain spelling.
        zone: In which days are counted.
    """
    query = read_ends(query, _MAX_BYTES)
    folded = query.casefold()
    back = _PAST_CONVERSATION.search(folded) is not None and _I_SAID.search(folded) is None
    named = _find_named_speakers(list(map(to_plain_spelling, to_words(query))), speakers)
    return QueryIntent(
        speaker=named[0] if len(named) == 1 else None,
        first_person=not frozenset(to_words(query.replace("US", ""))).isdisjoint(_FIRST_PERSON),  # "US" is a country
        second_person=back or _SECOND_PERSON.search(folded) is not None,
        dates=tuple(dict.fromkeys(parse_dates(query, now, zone))),
        asks_when=_ASKS_WHEN.search(folded) is not None,
        zone=zone,
        names=named,
    )


def detect_speaker(name: str | None, text: str) -> str | None:
    """The speaker of a message, folded, in plain spelling: its name, else one before a colon as in a transcript."""
    if name is None and ": " in text:
        match = _TRANSCRIPT_SPEAKER.match(text)
        name = match[1] if match and len(match[1].split()) <= _MAX_NAME_WORDS else None
    return None if name is None else to_plain_spelling(" ".join(to_words(name)))


def remove_names(query: str, speakers: Collection[str]) -> str:
    """A question without the speakers it names: to an embedder a name means those that say it, not who bears it.

    Unchanged if it names none of them, or nothing else.

    Args:
        speakers: Names of the known speakers, folded and in plain spelling.
    """
    if not speakers:
        return query
    named = _find_named_speakers(list(map(to_plain_spelling, to_words(read_ends(query, _MAX_BYTES)))), speakers)
    if not named:
        return query
    names = frozenset(" ".join(named).split())
    rest = _NAME.sub(lambda word: "" if to_plain_spelling(word[1].casefold()) in names else word[0], query)
    return " ".join(rest.split()) if _WORD.search(rest) else query


def mentions_time(text: str) -> bool:
    """Whether a text contains a word for a time."""
    # All words and one look at each: a search for any of so many takes several times as long.
    if text.isascii():
        return not _TIME_WORDS.isdisjoint(text.encode().translate(_ASCII_TO_WORDS).decode().split())
    folded = text.casefold()
    return not _TIME_WORDS.isdisjoint(_WORD.findall(folded)) or _UNSPACED_TIME_WORDS.search(folded) is not None


def ends_with_question(text: str) -> bool:
    """Whether a text has a question mark near its end."""
    end = text[-_QUESTION_END:]
    return any(mark in end for mark in _QUESTION_MARKS)


def _find_named_speakers(words: Sequence[str], speakers: Collection[str]) -> list[str]:
    """The speakers that a question names: by full name, or by a first name that no matched full name has."""
    lengths = {each.count(" ") + 1 for each in speakers if each}
    spoken = _spans(words, lengths)
    whole = [each for each in speakers if each in spoken and (" " in each or _is_name_word(each))]
    # Of "Ann" and "Ann Lee" the longer name wins.
    within = {span for each in whole for span in _spans(each.split(), lengths) if span != each}
    whole = [each for each in whole if each not in within]
    first_names = {each.split()[0] for each in whole}
    firsts = {each: each.split()[0] for each in speakers if each}
    said = frozenset(words)
    return whole + [
        each for each, first in firsts.items() if first in said and first not in first_names and _is_name_word(first)
    ]


def _spans(words: Sequence[str], lengths: Collection[int]) -> set[str]:
    """All runs of so many words, joined by spaces."""
    return {" ".join(words[at : at + length]) for length in lengths for at in range(len(words) - length + 1)}


def _is_name_word(word: str) -> bool:
    return bool(word) and word not in STOP_WORDS["english"]
