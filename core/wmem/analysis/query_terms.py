"""What of a query is read, and which of its terms are searched: neither grows with the length of the query.

A long query is mostly pasted text: what is asked stands before or after it.
"""

from collections.abc import Iterable, Sequence
from heapq import nsmallest

MAX_TERMS = 64
"""Terms of a query that are searched."""
_MAX_BYTES = 6_000  # of a query that are read, half of them its last
_MAX_CUT_WORD = 64  # characters of a word that goes because the cut parts it; a longer one is a text without spaces


def condense_query(text: str) -> str:
    """The first and the last 3,000 bytes of a query, whole words; a query of up to 6,000 bytes stays as it is."""
    return read_ends(text, _MAX_BYTES)


def read_ends(text: str, most: int) -> str:
    """The beginning and the end of a text, in whole words and at most so many bytes of UTF-8 together.

    A text of no more bytes stays as it is.
    """
    if len(text) * 4 <= most or (len(text) <= most and (text.isascii() or len(_to_bytes(text)) <= most)):
        return text
    half = most // 2
    head = _to_bytes(text[:half])[:half].decode("utf-8", "ignore")
    tail = _to_bytes(text[-half:])[-half:].decode("utf-8", "ignore")
    return f"{_drop_last_word(head)}\n{_drop_last_word(tail[::-1])[::-1]}"


def select_terms(terms: Sequence[str], text_counts: Iterable[int]) -> list[str]:
    """The rarest terms of a query that some text has, at most 64, in their order; of equal ones the first.

    Args:
        terms: Distinct.
        text_counts: In how many texts each is.
    """
    found = ((texts, at) for at, texts in enumerate(text_counts) if texts)
    return [terms[at] for at in sorted(at for _, at in nsmallest(MAX_TERMS, found))]


def _drop_last_word(text: str) -> str:
    """The text without its last word, which a cut may have parted; a text without spaces stays."""
    rest, *last = text.rsplit(maxsplit=1)[:2] or ("",)
    return rest if last and len(last[0]) <= _MAX_CUT_WORD else text


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "ignore")
