"""Which texts say the same, and how near others are.

Two texts say the same if nothing is left of the difference between them but case, marks, articles, courtesies,
contractions, the number of a common noun, and an order of words that says the same: a time in front or at the end, the
two sides of an "and", day and month. Whatever else differs may be the point: a number, a unit, a name, a negation, a
tense, who does what to whom. So texts that contradict each other never say the same, nor do old and new values.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple, Self

from wmem.analysis.query_intent import mentions_time
from wmem.analysis.stopwords import STOP_WORDS
from wmem.rules.nearness.gist import MAX_GIST_CHARS, NEGATIONS, gist, is_courtesy, is_unspaced, list_own_words
from wmem.rules.redaction.spans import has_plain_mark

_MOST_NEAR = 0.99
"""How near two texts are at most that do not say the same."""
_MOST_CONFLICTING = 0.5
"""How near they are at most if each says something that the other does not, or one a number, a name or a negation."""
_LEAST_PLURAL = 4  # letters of a noun without its ending
_LAST_DAY = 31


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LABEL = re.compile(r"\A\W*(?:note|fyi|reminder|n\.b\.|nb|notiz|hinweis|nota|remarque)\s*:\s+", re.IGNORECASE)
"""What only announces what follows, at the beginning of a text: "keynote:" announces nothing."""
_UPPER_LIGHT = re.compile(r"(?<=[\w,] )(?:A|AN|THE)\b(?!\w)")
"""An article that is a name: hepatitis A."""
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)")
_OTHER_LANGUAGES = _words(
    "der die das den dem ein eine ist und mit für auf im am zu von er sie ich wir le la les un une des est et je il "
    "elle nous vous dans pour sur el los las es y con por para una uno os é em um uma het een en van op met lo gli "
    "che di è"
)
"""Words of languages in which an "s" at the end is more than a plural."""
_NOT_PLURAL = ("ss", "us", "is", "as", "os")
_MONTHS = _words(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec"
)
_TIME_LEADS = _words(
    "on at in by since until till during from every each next last this am um im seit bis ab jeden jede nächste "
    "nächsten en el los las cada desde hasta a à le dès depuis chaque nel il no na em op om in sinds elke до в"
)
"""What a phrase that says when begins with."""
_ANDS = _words("and or und oder y e o et ou en of og och")
_BEFORE_LIST = _words(
    "like likes love loves prefer prefers use uses speak speaks want wants need needs have has eat eats drink drinks "
    "know knows with between both mag trinkt isst spricht nutzt mit zwischen habla come bebe usa con entre parle aime "
    "boit avec parla beve fala bebe spreekt drinkt met"
)
"""Words behind which the sides of an "and" are things of one kind, each a word."""
_LIMITING = _words(
    "only just all some most few many any every almost nearly will would may might can could should must shall if "
    "unless except instead until before after was were been had used former formerly once again more less least too "
    "always sometimes besides perhaps nur fast alle einige war waren wird würde kann soll muss wenn außer vor nach "
    "seulement tous presque était sera peut doit si avant après solo sólo todos casi era será puede debe antes después "
    "apenas quase foi pode deve"
)
"""Words that change what is said, though they name nothing."""
_ORDERED = _words(
    "first then before after respectively later next finally than zuerst dann danach luego después puis ensuite"
)
"""Words by which an order says something."""


class Saying(NamedTuple):
    """What a text says, as it is compared.

    Attributes:
        key: Equal for texts that say the same.
        words: The words of its gist; of a script without spaces the characters.
        names: Those that are written like names.
    """

    key: str
    words: Counter[str]
    names: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Self:
        """What a text says."""
        shown = _LABEL.sub("", text, count=1) if ":" in text[:24] else text
        plain = gist(shown)
        if is_courtesy(plain):
            return cls(" ".join((plain, *sorted(list_own_words(shown)))), Counter([plain]), frozenset())
        names = _list_names(shown)
        if len(plain) > MAX_GIST_CHARS:
            return cls(plain, Counter(plain.split()), names)
        words = plain.split()
        if _OTHER_LANGUAGES.isdisjoint(words):
            words = [_fold(word, names) if word[-1] == "s" or "," in word else word for word in words]
        arranged = _arrange(words)
        if upper := _UPPER_LIGHT.findall(shown):
            arranged = (*arranged, *upper)
        return cls(" ".join(arranged), Counter(words if plain.isascii() else _split_unspaced(words)), names)


def says_the_same(text: str, other: str) -> bool:
    """Whether two texts say the same; texts that contradict each other never do."""
    return text == other or (bool(text.strip()) and Saying.of(text).key == Saying.of(other).key)


def nearness(text: str, other: str) -> float:
    """How near two texts are, 0 to 1; the same from either side.

    It is 1 if they say the same, else the share of their words that both have, without those that are in any text, and
    below 1. It is 0.5 at most where each
    has words that the other has not, or one has a number, a name, a negation or a time more, or their order differs.
    """
    return compare(Saying.of(text), Saying.of(other))


def compare(own: Saying, other: Saying) -> float:
    """See `nearness`."""
    if own.key == other.key:
        return 1.0
    share = min(_share(own.words, other.words), _MOST_NEAR)
    if share <= _MOST_CONFLICTING:
        return share
    mine, theirs = own.words - other.words, other.words - own.words
    more, names = (mine, own.names) if mine else (theirs, other.names)
    # Each has words of its own, or the same in another order: the one may say the contrary of the other.
    if (mine and theirs) or not more or any(word in names or _is_telling(word) for word in more):
        return _MOST_CONFLICTING
    return share


def _share(own: Counter[str], others: Counter[str]) -> float:
    """The share of words that two texts have in common, without those that are in any text."""
    stop = _stop_words()
    shared = own.keys() & others.keys()
    common = sum(min(own[word], others[word]) for word in shared if word not in stop)
    both = _count_words(own, stop) + _count_words(others, stop)
    if not both:
        both, common = own.total() + others.total(), (own & others).total()
    return 2 * common / both


def _count_words(words: Counter[str], stop: frozenset[str]) -> int:
    return words.total() - sum(words[word] for word in words.keys() & stop)


@cache
def _stop_words() -> frozenset[str]:
    return frozenset[str]().union(*STOP_WORDS.values()) - NEGATIONS - _LIMITING


def find_nearest(text: str, others: Iterable[str]) -> tuple[float, int]:
    """The greatest nearness of a text to others, and the place of the first that is so near; 0 and -1 for none.

    Redacted values that cannot be compared are taken for different ones, as two numbers are.
    """
    own, is_veiled = Saying.of(text), has_plain_mark(text)
    nearest, place = 0.0, -1
    for at, other in enumerate(others):
        value = compare(own, Saying.of(other))
        if is_veiled and value > _MOST_CONFLICTING and has_plain_mark(other):
            value = _MOST_CONFLICTING
        if value > nearest:
            nearest, place = value, at
            if value == 1:
                break
    return nearest, place


_MARKS = ".,;:!?\"'()[]*_`"
_UPPER = re.compile(r"[A-Z]|[^\W\d_a-z]")
"""A letter that is perhaps a capital one: of scripts without them each."""


def _list_names(text: str) -> frozenset[str]:
    """The words of a text that are written like names, case-folded: with a capital letter, but for the first one."""
    if text[1:].islower() or text.isupper():
        return frozenset()
    words = [word for word in text.split()[1:] if not word.islower()]
    return frozenset(word.strip(_MARKS).casefold() for word in words if _UPPER.search(word) is not None)


def _fold(word: str, names: frozenset[str]) -> str:
    """A word without the ending of a plural, and a number without marks between its thousands."""
    if word.isalpha():
        is_plural = (
            word.isascii()
            and word[-1] == "s"
            and len(word) > _LEAST_PLURAL
            and word not in names | _LIMITING | NEGATIONS
        )
        return word[:-1] if is_plural and not word.endswith(_NOT_PLURAL) else word
    return word.replace(",", "") if _THOUSANDS.fullmatch(word) else word


def _is_telling(word: str) -> bool:
    """Whether a word changes what a text says: a number, a negation, a time, a limit."""
    return (
        word in NEGATIONS
        or word in _LIMITING
        or word == "?"
        or word[0] in ("!", "-")
        or not word.isalpha()
        or is_unspaced(word)
        or mentions_time(word)
    )


def _split_unspaced(words: Iterable[str]) -> list[str]:
    return [part for word in words for part in (word if is_unspaced(word) else (word,))]


def _arrange(words: Sequence[str]) -> Sequence[str]:
    """The words in an order that texts that say the same have in common."""
    if len(words) < 3:  # noqa: PLR2004  # there is nothing to move
        return words
    return _sort_list(_move_time(_order_dates(words)))


def _order_dates(words: Sequence[str]) -> Sequence[str]:
    """Days before months: "may 5" as "5 may"."""
    if _MONTHS.isdisjoint(words):
        return words
    made = list(words)
    for at in range(len(made) - 1):
        if made[at] in _MONTHS and _is_day(made[at + 1]) and not (at and _is_day(made[at - 1])):
            made[at], made[at + 1] = made[at + 1], made[at]
    return made


def _is_day(word: str) -> bool:
    return word.isdecimal() and 0 < int(word) <= _LAST_DAY and len(word) < 3  # noqa: PLR2004  # digits of a day


def _move_time(words: Sequence[str]) -> Sequence[str]:
    """A phrase in front that says when, at the end; of a text of one clause."""
    end = 1 if words[0] in _TIME_LEADS and len(words) > 1 else 0
    while end < len(words) and _says_when(words[end]):
        end += 1
    says_when = end > 0 and any(map(_says_when, words[:end]))
    if not says_when or end == len(words) or not _ANDS.isdisjoint(words[end:]):
        return words
    return (*words[end:], *words[:end])


def _says_when(word: str) -> bool:
    return word in _MONTHS or word.isdecimal() or mentions_time(word)


def _sort_list(words: Sequence[str]) -> Sequence[str]:
    """The two sides of the one "and" of a text in one order, where each is a word and they stand for things."""
    places = [at for at, word in enumerate(words) if word in _ANDS]
    if len(places) != 1 or not _ORDERED.isdisjoint(words):
        return words
    at = places[0]
    if not 1 < at == len(words) - 2 or words[at - 2] not in _BEFORE_LIST:
        return words
    left, right = words[at - 1], words[at + 1]
    if right >= left or not (left.isalpha() and right.isalpha()):
        return words
    return (*words[: at - 1], right, words[at], left)
