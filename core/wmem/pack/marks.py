"""Escapes what a model could read as the note's opening or closing mark, however it is disguised.

Recognized after NFKC and case folding, without invisible characters, and with letters that only
look like those of the mark. All other text stays verbatim.
"""

import re
import unicodedata

_NAME = "recalled"
_BRACKET = re.compile(
    r"[<\u02c2\u1438\u16b2\u2039\u227a\u2329\u276e\u27e8\u29fc\u3008\ufe64\uff1c\U0001d236]|&(?:lt|#0{0,8}60|#x0{0,8}3c)\b;?",
    re.IGNORECASE,
)
_SLASHES = frozenset(
    "/\\\u1735\u2041\u2044\u2215\u2571\u27cb\u29f8\u2cc6\u2f03\u3033\u30ce\u31d3\u4e3f\uff0f\uff3c\U0001d23a"
)
_LINE_ENDS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and symbols that show nothing
_INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Mc", "Me", "Mn")
_LOOK_ALIKES = {
    alike: letter
    for letter, alikes in {
        # Latin small capitals and variants, Greek, Cyrillic, Coptic, Armenian, Cherokee, Canadian, Lisu and others.
        "r": "\u0280\u01a6\u027c\u027d\u027e\u0433\u1d26\u2c85\uab47\uab48\uab81\u13a1\u13d2\u1587\ua4e3"
        "\U0001d216\U000104b4\U00016f35",
        "e": "\u0435\u0415\u0395\u03b5\u04bd\u0454\u212e\u0258\u0259\u025b\u1d07\uab32\u2d39\u13ac\uab7c\ua4f0"
        "\u22ff\U000118a6\U000118ae\U00010286",
        "c": "\u0441\u0421\u03f2\u03f9\u1d04\u2ca5\u2ca4\uabaf\u13df\ua4da\u0188\u023c"
        "\U0001043d\U00010415\U0001f74c\U000118f2\U000118e9\U000102a2\U00010302\U0001051c",
        "a": "\u0430\u0410\u0391\u03b1\u0251\u0250\u1d00\u13aa\uab7a\u15c5\ua4ee\u237a\U00016f40\U000102a0",
        "l": "1I|\u0131\u026d\u0196\u01c0\u0399\u03b9\u0406\u0456\u04c0\u04cf\u05c0\u05d5\u05df\u0627\u0661\u06f1"
        "\u07ca\u16c1\u2223\u23fd\u2c92\u2d4f\ua4f2\u029f\u0142\u019a\u13de\u14aa\ua4e1\u2cd0"
        "\uffe8\U00010320\U0001e8c7\U00016f28\U0001028a\U00010309\U0001d22a\U00016f16\U000118a3\U000118b2\U0001041b\U00010526",
        "d": "\u0501\u0500\u1d05\u0257\u0256\u0111\u13a0\u13e7\u146f\u15de\u15ea\ua4d2\ua4d3",
    }.items()
    for alike in alikes
}


def escape_marks(text: str) -> str:
    """The text with the bracket of each forged mark as a character reference, so that decoding it gives the text."""
    return _BRACKET.sub(_escape_bracket, text)


def _escape_bracket(match: "re.Match[str]") -> str:
    bracket = match.group()
    if not _names_the_note(match.string, match.end()):
        return bracket
    if bracket[0] == "&":
        return f"&amp;{bracket[1:]}"
    return "&lt;" if bracket == "<" else f"&#x{ord(bracket):X};"


def _names_the_note(text: str, at: int) -> bool:
    """Whether the note's name follows on the same line, perhaps after a slash. Linear: a bracket ends the search."""
    left = _NAME
    for char in map(text.__getitem__, range(at, len(text))):
        if char in _LINE_ENDS:
            return False
        begun = left is not _NAME
        if unicodedata.category(char) in _INVISIBLE or char in _BLANKS:
            continue
        if not begun and (char.isspace() or char in _SLASHES):
            continue
        letters = _LOOK_ALIKES.get(char) or _fold(char)
        if not left.startswith(letters):
            return False
        left = left[len(letters) :]
        if not left:
            return True
    return False


def _fold(char: str) -> str:
    letters = unicodedata.normalize("NFKD", char)
    visible = (each for each in letters if unicodedata.category(each) not in _INVISIBLE)
    return "".join(_LOOK_ALIKES.get(each) or each.casefold() for each in visible)
