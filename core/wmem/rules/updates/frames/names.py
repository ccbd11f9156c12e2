"""Which words tell how something or somebody is, and name nothing, though they are written as names are."""

from collections.abc import Sequence
from functools import cache

from wmem.analysis.common_words import list_common_words
from wmem.analysis.stopwords import STOP_WORDS
from wmem.rules.updates.frames.lexicon import words

_ENDINGS = (
    *(
        "ed",
        "ing",
        "able",
        "ible",
        "ful",
        "less",
        "ous",
        "ive",
        "ish",
        "al",
        "ic",
        "ent",
        "ant",
        "en",
        "ary",
        "ly",
        "ty",
    ),
    *("ny", "py", "dy", "ky", "ry", "zy", "my", "thy", "tion", "ment", "ness", "ance", "ence"),
)
_PLAIN = frozenset(
    [
        "deaf",
        "blind",
        "ill",
        "sick",
        "sad",
        "mad",
        "dead",
        "alive",
        "asleep",
        "awake",
        "afraid",
        "bad",
        "good",
        "nice",
        "kind",
        "mean",
        "rude",
        "shy",
        "bold",
        "calm",
        "cold",
        "cool",
        "warm",
        "hot",
        "dry",
        "wet",
        "wild",
        "mild",
        "old",
        "young",
        "new",
        "big",
        "small",
        "tall",
        "short",
        "long",
        "wide",
        "thin",
        "fat",
        "slim",
        "slow",
        "fast",
        "quick",
        "late",
        "early",
        "loud",
        "quiet",
        "rich",
        "poor",
        "cheap",
        "free",
        "full",
        "half",
        "whole",
        "safe",
        "sure",
        "sore",
        "fair",
        "fine",
        "far",
        "near",
        "dark",
        "light",
        "bright",
        "dull",
        "sharp",
        "blunt",
        "clean",
        "clear",
        "cute",
        "dumb",
        "smart",
        "wise",
        "weak",
        "strong",
        "tough",
        "soft",
        "hard",
        "firm",
        "loose",
        "tight",
        "rough",
        "smooth",
        "sweet",
        "sour",
        "bitter",
        "fresh",
        "stale",
        "raw",
        "rare",
        "ripe",
        "plain",
        "fancy",
        "great",
        "grand",
        "huge",
        "tiny",
        "vast",
        "deep",
        "low",
        "high",
        "flat",
        "steep",
        "round",
        "square",
        "straight",
        "odd",
        "even",
        "weird",
        "strange",
        "rusty",
        "nasty",
        "lazy",
        "crazy",
        "busy",
        "pretty",
        "ugly",
        "happy",
        "angry",
        "hungry",
        "ready",
        "broke",
        "broken",
        "gone",
        "lost",
        "stolen",
        "sold",
        "home",
        "away",
        "abroad",
        "here",
        "there",
        "out",
        "off",
        "on",
        "up",
        "down",
        "over",
        "back",
        "vegan",
        "vegetarian",
        "pregnant",
        "single",
        "red",
        "blue",
        "green",
        "yellow",
        "orange",
        "purple",
        "pink",
        "brown",
        "black",
        "white",
        "grey",
        "gray",
        "beige",
        "turquoise",
        "violet",
        "gold",
        "silver",
        "worse",
        "better",
        "best",
        "worst",
        "more",
        "less",
        "enough",
        "okay",
        "ok",
        "true",
        "false",
        "real",
        "fake",
        "legal",
        "local",
        "global",
        "normal",
        "special",
        "strict",
        "lenient",
        "optional",
        "important",
        "urgent",
        "hereditary",
        "open",
        "closed",
        "empty",
        "available",
        "unavailable",
        "online",
        "offline",
        "active",
        "inactive",
        "down",
        "retired",
        "married",
        "divorced",
        "engaged",
        "widowed",
        "nuts",
        "pollen",
        "soup",
        "lunch",
        "dinner",
        "food",
        "stress",
        "cost",
        "time",
        "noon",
        "midnight",
        "me",
        "you",
        "him",
        "her",
        "us",
        "them",
        "this",
        "that",
        "it",
        "one",
    ]
)
_DEMONYMS = ("ish", "ese", "ian", "ean", "ican")
_PEOPLES = words(
    "german french dutch greek swiss czech thai catholic muslim jewish hindu buddhist protestant orthodox arab turk "
    "dane swede finn pole scot briton spaniard vegan"
)
"""Capital words that tell how somebody is, and name nobody."""
_TITLES = frozenset(["herr", "frau", "dr"])
_GERMAN_NOUNS = ("er", "in", "ist", "eur", "ung", "heit", "keit", "tion", "schaft", "e", "tum", "nis", "ling", "mann")
"""Ends of German nouns, which have a capital as names have."""


_OTHER_PEOPLES = words(
    "polak polka niemiec niemka czech czeszka słowak słowaczka rosjanin rosjanka ukrainiec ukrainka francuz francuzka włoch włoszka anglik "
    "angielka hiszpan hiszpanka amerykanin amerykanka szwed szwedka austriak belg chińczyk japończyk katolik "
    "čech češka slovák slovenka němec němka polka rus ruska ukrajinec ukrajinka francouz ital angličan španěl američan švéd rakušan "
    "nederlander nederlandse duitser duitse belgische fransman française engelsman engelse spanjaard italiaan zweed deen pool oostenrijker "
    "amerikaan amerikaanse français belge suisse allemand allemande anglais anglaise espagnol espagnole italien italienne américain "
    "américaine polonais polonaise russe suédois suédoise"
)
"""Peoples in Polish, Czech, Dutch and French."""


@cache
def _common() -> frozenset[str]:
    return frozenset(list_common_words("english")) | STOP_WORDS["english"] | _PLAIN


def is_plain_english(word: str) -> bool:
    """Whether a word is one that everybody uses, or looks like one that tells how something is."""
    bare = word.strip(",:")
    return bare in _common() or bare.endswith(_ENDINGS)


def is_people(word: str) -> bool:
    """Whether an English word with a capital tells of which people or belief somebody is."""
    return word in _PEOPLES or word.endswith(_DEMONYMS)


def is_other_people(word: str) -> bool:
    """Whether a word of another language, in which such words have a capital, tells of which people somebody is."""
    return word in _OTHER_PEOPLES


def is_german_noun(value: Sequence[str]) -> bool:
    """Whether German words, all with capitals, look like what somebody is, and like no name."""
    return value[0] not in _TITLES and value[-1].endswith(_GERMAN_NOUNS)
