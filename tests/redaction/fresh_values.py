"""Values for `fresh`, drawn from a seed: keys of vendors, cards in unusual groups, passwords of words."""

import random
import string

from tests.redaction.values import luhn

HEX = "0123456789abcdef"
LETTERS = string.ascii_letters
MIXED = string.ascii_letters + string.digits
UNRESERVED = MIXED + "_-"
WORDS = (
    "sunflower",
    "dragonfly",
    "chocolate",
    "butterfly",
    "letmein",
    "pepper",
    "ginger",
    "shadow",
    "winter",
    "banana",
)
_LETTERS_ALONE = "glpat-@20 glft-@20 hf_@34 "
_KEYS = (
    "HRKU-& access-production-& sdk-& xkeysib-#64-%16 rzp_live_%14 FLWSECK-#32-X tfp_%40_%12 pnu_%36 rdme_#70 CCIPAT_%22_#40 "
    "%14.atlasv1.%67 LTAI5t%18 fo1_%43 bkua_#40 csk-#48 tgp_v1_%43 %3\b8Q~%34 ops_eyJ%300 EAA%110 sl.%137 AKCp%69 squ_#40 ico-%32 "
    "glpat-%20 glft-%20 sha256~%43 hf_%34"
)


def draw(rng: random.Random, letters: str, count: int) -> str:
    """So many characters of an alphabet."""
    return "".join(rng.choice(letters) for _ in range(count))


def digits(rng: random.Random, count: int) -> str:
    """So many digits, not beginning in a zero."""
    return rng.choice("123456789") + draw(rng, string.digits, count - 1)


def _uuid(rng: random.Random) -> str:
    return "-".join(draw(rng, HEX, count) for count in (8, 4, 4, 4, 12))


def make_key(rng: random.Random, form: str) -> str:
    """A key of a form: `%40` is so many letters and digits, `#40` hexadecimal digits, `@40` letters, `&` a UUID."""
    made, at = "", 0
    while at < len(form):
        if form[at] in "%#@":
            end = at + 1
            while end < len(form) and form[end].isdigit():
                end += 1
            made += draw(rng, {"%": MIXED, "#": HEX, "@": LETTERS}[form[at]], int(form[at + 1 : end]))
            at = end
        else:
            made += {"&": _uuid(rng), "\b": ""}.get(form[at], form[at])
            at += 1
    return made


KEY_FORMS = (*_KEYS.split(" "), *_LETTERS_ALONE.split())


def make_card(rng: random.Random) -> str:
    """A card in groups of four, whatever its length, apart by anything."""
    prefix, size = rng.choice((("34", 15), ("37", 15), ("4", 16), ("53", 16), ("6011", 16), ("36", 14)))
    number = luhn(prefix + draw(rng, string.digits, size - 1 - len(prefix)))
    groups = [number[at : at + 4] for at in range(0, size, 4)]
    return rng.choice((" ", "  ", ".", "-", "\u00a0", "\u2009", "\u2011")).join(groups)


def make_password(rng: random.Random, word: str = "") -> str:
    """A password as people choose them, and as programs do."""
    word = word or rng.choice(WORDS)
    return rng.choice(
        (
            word,
            f"{word}{digits(rng, 2)}",
            f"{word.capitalize()}{digits(rng, 2)}{rng.choice('!?#')}",
            "-".join(rng.sample(WORDS, 4)),
            f"{digits(rng, 4)}{word}",
            f"{draw(rng, LETTERS, 3)}7{draw(rng, MIXED, 9)}",
        )
    )
