"""Which subject is one attribute of one thing, and which value names one: "the customer's plan", "Basic".

What is so named has one value at a time, so that another one needs no word of change. Kin, customers, goals and all else of
which one may have several are not; nor are a bare name, and a value that tells how somebody is: both may hold.
"""

from collections.abc import Sequence
from functools import cache

from wmem.rules.updates.frames.lexicon import Lexicon
from wmem.rules.updates.frames.names import is_german_noun, is_other_people, is_people
from wmem.rules.updates.frames.words import Word

_HOW = ("ed", "ing", "able", "ible", "less", "ful", "ous", "ly")
"""Ends of words that tell how something is."""
_CHOSEN = frozenset(["default", "preferred", "favourite", "favorite", "chosen"])
_CHIEF = frozenset(
    [
        "primary",
        "main",
        "principal",
        "best",
        "hauptkunde",
        "bester",
        "beste",
        "meilleur",
        "meilleure",
        "mejor",
        "migliore",
        "melhor",
    ]
)
"""Words before one of several that is the first of them."""
_FELLOW = ("co-", "ex-", "sub-", "step-", "grand-", "great-")
"""Beginnings of nouns of which one may have several."""
_MATE = ("mate", "-in-law")
"""Ends of those."""
_LIKED = "favo"
"""How the words begin by which one of several is the one that somebody likes best."""
_DEFINITE_ENDS = ("aren", "eren")  # "projektledaren"
_MAX_NAME = 3
_COMPOUND = 9  # letters of a noun that is made of several ones, and says of what


def is_attribute(lexicon: Lexicon, left: Sequence[Word]) -> bool:
    """Whether the words before a verb name one attribute of one thing."""
    begin, end = _find_noun(lexicon, left)
    noun = left[begin:end]
    if not noun or any(word.text in lexicon.some for word in left) or _is_of_several(lexicon, noun):
        return False
    if begin:
        return True
    if len(noun) == 1:
        return end < len(left) or (lexicon.suffixed and noun[0].text.endswith(_DEFINITE_ENDS))
    return not noun[-1].named or (lexicon.capital_nouns and noun[0].text.endswith("s"))


def is_anchored(lexicon: Lexicon, left: Sequence[Word]) -> bool:
    """Whether they also say of whose or which thing, so that no other one of the same name is meant: not "the bag"."""
    begin, end = _find_noun(lexicon, left)
    compound = not lexicon.lower_names and len(left[begin].text) > _COMPOUND
    owned = not lexicon.mine.isdisjoint(word.text for word in left[:begin]) or left[0].text in lexicon.me
    return owned or end - begin > 1 or end < len(left) or not begin or compound


def is_one_of_many(lexicon: Lexicon, left: Sequence[Word]) -> bool:
    """Whether the words before a verb name what somebody has several of, each with a name of its own: an exam, a museum."""
    begin, end = _find_noun(lexicon, left)
    noun = left[begin:end]
    told = [word.text for word in (noun[-1:] if lexicon.head_last else noun)]
    return _is_of_several(lexicon, noun) or any(
        word in lexicon.many or (lexicon.lower_names and (word.startswith(_FELLOW) or word.endswith(_MATE)))
        for word in told
    )


def list_heads(lexicon: Lexicon, left: Sequence[Word]) -> frozenset[str]:
    """The words that tell of which sort the subject is: of "the town museum" the last one, where it is the last."""
    begin, end = _find_noun(lexicon, left)
    if not lexicon.head_last or begin == end:
        return frozenset(word.text for word in left)
    return frozenset(word.text for word in left[begin:end] if word is left[end - 1] or word.text.startswith(_LIKED))


def names_one(lexicon: Lexicon, value: Sequence[Word]) -> bool:
    """Whether a value is a name, by which it is another one than another name; a people or a calling is none."""
    if not 0 < len(value) <= _MAX_NAME or not value[-1].named:
        return False
    texts = [word.text for word in value]
    if not all(word.named for word in value[1:]) or (lexicon.lower_names and not value[0].named):
        return False
    if lexicon.capital_nouns:
        return not is_german_noun(texts)
    return not (is_people(texts[-1]) if lexicon.lower_names else is_other_people(texts[-1]))


def is_chosen(lexicon: Lexicon, who: Sequence[str], value: Sequence[Word]) -> bool:
    """Whether a value is the one of several that somebody chose: "the default branch is main"."""
    chosen = lexicon.lower_names and len(value) == 1 and not _CHOSEN.isdisjoint(who)
    return chosen and not value[0].text.endswith(_HOW)


def _find_noun(lexicon: Lexicon, left: Sequence[Word]) -> tuple[int, int]:
    """Where the noun that is told of begins, behind articles, and where it ends, before what it is of."""
    begin = next((at for at, word in enumerate(left) if not _opens(lexicon, word.text)), len(left))
    links = lexicon.dropped | lexicon.at | lexicon.the
    return begin, next((at for at in range(begin, len(left)) if left[at].text in links), len(left))


def _opens(lexicon: Lexicon, word: str) -> bool:
    return word in lexicon.the or word in lexicon.mine or word in lexicon.me


def _is_of_several(lexicon: Lexicon, noun: Sequence[Word]) -> bool:
    """Whether a noun is one of those of which somebody may have several."""
    if not noun:
        return False
    several = _list_several(lexicon)
    if any(word.text in _CHIEF for word in noun):
        return False
    if lexicon.inflects:
        return any(word.text.startswith(several) for word in noun)
    if not lexicon.head_last:
        return any(word.text in lexicon.several for word in noun)
    told = noun if noun[-1].named and not lexicon.capital_nouns else noun[-1:]  # "my brother Tom"
    if lexicon.lower_names:
        return any(word.text in lexicon.several for word in told)
    return any(word.text.endswith(several) for word in told)


@cache
def _list_several(lexicon: Lexicon) -> tuple[str, ...]:
    return tuple(sorted(lexicon.several))
