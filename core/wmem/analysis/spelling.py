"""Near spellings of a word, for words of a query that no text has: a slip of the keyboard is one edit away."""

from collections.abc import Iterator
from string import ascii_lowercase

_MIN_LETTERS = 8  # shorter stems have neighbours that mean something else: "compon" and "compos"
_MAX_LETTERS = 32  # longer ones are no words, and have thousands of neighbours
_SURE = 2  # the first letters are rarely wrong; "mango" is not "mongo"


def near_spellings(term: str) -> Iterator[str]:
    """What a term becomes if a letter behind its first two is left out, added or another, or two change places.

    None for a term of fewer than eight letters or more than 32, or of others than a to z.
    """
    if not _MIN_LETTERS <= len(term) <= _MAX_LETTERS or not (term.isascii() and term.isalpha()):
        return
    for at in range(_SURE, len(term) + 1):
        head, tail = term[:at], term[at:]
        for letter in ascii_lowercase:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
