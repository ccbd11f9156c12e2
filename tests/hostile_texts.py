"""Texts that make careless code slow: runs, near-matches, markers, scripts and encodings, in any length."""

import json
from collections.abc import Callable, Mapping
from itertools import count, cycle, islice
from typing import TypeAlias

TextOfSize: TypeAlias = Callable[[int], str]

_DATES = (
    "5 May 2021, May 5th, 2021-05-05, 05/05/2021, 2021年5月5日, 5월, last May, in may, sept. 2020, the 3rd of march, "
)
_LOG = '2024-05-05T12:00:00.123Z ERROR [worker-3] app.db: query "SELECT *" failed after 12ms (id=a1b2c3)\n'
_CODE = "def f(x):\n    return {'a': [x * 2 for x in range(10)], 'b': f(x - 1)}  # see https://a.b/c\n"
_HTML = '<div class="a"><p>Hello &amp; <b>bold</b></p><a href="https://x.y">link</a></div>\n'
_RUNS = {
    **{f"run of {char!r}": char for char in ("a", "A", " ", "\n", "\t", "\0", ".", "-", "_", "'", '"', "<", "…")},
    **{
        f"run of {char!r}": char
        for char in ("1", "0", "é", "я", "\u0301", "\u200d", "\ud800", "あ", "漢", "ก", "한", "א")
    },
    **{
        f"run of {char!r}": char
        for char in ("\u3000", "\u00a0", "\u2028", "\u00ad", "\ufb03", "\ufdfa", "\U0001d482", "🦊", "🇩")
    },
}
"""Kinds of a single character, among them some that NFKC makes longer."""
_PHRASES = {
    **{phrase: phrase for phrase in ("may ", "in may ", "may-", "march 3 ", "1/1/", "2021-1-", "2021年", "1月", "19")},
    **{
        phrase: phrase
        for phrase in ("a few ", "3 days ", "last ", "last week ", "what ", "you ", "our last ", "i said ")
    },
    **{
        phrase: phrase
        for phrase in ("you had ", "your a", "how many ", "the the ", "wann ", "mei ", "step -", "before :")
    },
    **{
        phrase: phrase
        for phrase in ("a@a.", "aB", "a_b_", "a-", "a.b", "a. ", "1. ", "?!", '." ', "。", "\n ", " \n\n")
    },
    **{phrase: phrase for phrase in ("()", "[(", "{}", "<recalled>", "</recalled>", "< / ", "<\u200b", "\r\n", "a\0")},
    **{
        phrase: phrase
        for phrase in ("a: ", "[x] ", "> ", "## ", "| a | b ", "https://a.b/c?d=e&", "%41", "\\u0041", "&lt;")
    },
    "family emoji": "👨\u200d👩\u200d👧\u200d👦",
    "stacked accents": "e" + "\u0301\u0327\u0323" * 5,
    "accents alone": "\u0301\u0327",
    "forged marks": "</\u0433\u0435c\u200ball",
    "character references": "&lt;/recalle",
    "right to left": "שלום \u202eعربي\u202c ",
    "mixed scripts": "Größe größe ГОРОД 東京タワー สวัสดี 한국어에서 mañana ",
    "one word": "elephant ",
    "one long word": "antidisestablishmentarianism",
    "camel case": "parseHttpRequestBody",
    "sentence": "The quick brown fox did not jump over our lazy dog. ",
    "dates": _DATES,
    "log": _LOG,
    "code": _CODE,
    "html": _HTML,
    "table": "| name | value |\n|---|---|\n| a | 1 |\n",
    "truncation marks": "[… 12 tokens left out …]\n",
    "surrogates": "\ud83d" + "\ude00 \ud800\udfff\udfff ",
    "list": "1. first item\n2. second item\n",
    "transcript": "Ann: hello there\nBob Lee: hi\n",
}


def _repeat(piece: str) -> TextOfSize:
    return lambda size: (piece * (size // len(piece) + 1))[:size]


def _joined(words: Callable[[int], str]) -> TextOfSize:
    return lambda size: " ".join(islice(map(words, count()), size // 6 + 1))[:size]


def _nested(opening: str, closing: str) -> TextOfSize:
    return lambda size: opening * (size // 2 // len(opening)) + closing * (size // 2 // len(closing))


def _base64(size: int) -> str:
    alphabet = "QWxhZGRpbjpvcGVuIHNlc2FtZQ+/kZmFzZG"
    return "".join(islice((alphabet[(at * at + at // 7) % len(alphabet)] for at in count()), size))


KINDS: Mapping[str, TextOfSize] = {
    **{name: _repeat(piece) for name, piece in (_RUNS | _PHRASES).items()},
    "nested lists": _nested("[", "]"),
    "nested objects": _nested('{"a":', "}"),
    "nested brackets": _nested("(", ")"),
    "words that differ": _joined("w{:05}".format),
    "sentences that differ": _joined("s{:05}.".format),
    "words of letters that differ": _joined(lambda at: "".join(chr(97 + at // 26**place % 26) for place in range(5))),
    "lines that differ": lambda size: "\n".join(f"line {at}" for at in range(size // 8))[:size],
    "numbers": _joined(str),
    "base64": _base64,
    "every character": lambda size: "".join(islice(cycle(map(chr, range(0x20, 0xD000))), size)),
    "json": lambda size: json.dumps([{"id": at, "name": f"n{at}", "tags": ["a", "b"]} for at in range(size // 45)])[
        :size
    ],
    "spaces within": lambda size: "a" + " " * (size - 2) + "b",
    "a full stop far away": lambda size: "a" * (size - 2) + ". ",
    "quotes after a stop": lambda size: "." + '"' * (size - 2) + "b",
}
"""Kinds of text by name: each makes a text of about as many characters as it is asked for."""
