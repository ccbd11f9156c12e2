"""What may stand between a label and its value."""

import re

from wmem.rules.redaction.labels.table import FILLERS, IS_WORDS, NO_VALUES

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SIGN = re.compile(r"[:=#>|№]|[\"'],[ ]?[\"']|\)\.\w{1,16}\([\"']|->|→|\bn\.?[ ]?[°º]|\bn\.|\b(?:no|nr)\b")
SENTENCE_END_HERE = re.compile(
    r"(?<!\bno)(?<!\bnr)(?<!\btel)(?<!\bnum)(?<!\bn)(?<!\bтел)(?<!\bр)[.!?;。！？؟](?:[\s\"')]|$)|\n[ ]?\n|。",
    re.IGNORECASE,
)
MAX_STRANGERS = 4  # words between, of which nothing is known
_CHANGED_TO = re.compile(r"\b(?:changed|updated|reset|set|corrected) to\b")
_HAS_NUMBER = re.compile(
    r"\b(?:has|hat|porte|tiene|ha|tem|heeft|ma|trägt|lleva)[ ](?:the |die |le |el |il |o |het )?(?:number|nummer|numéro|número|numero|numer)\b"
)
_LEADERS = re.compile(r"(?:[.·_][ ]?){4,}|…{2,}")
"""What leads to a value in a form: `Passport No ........ A1638693`."""
_PROPERTY = re.compile(r"\{ ?get;[ a-z;]{0,24}\}")  # of C#
_UNSPACED = re.compile("[\u0590-\u0fff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def is_bridge(gap: str, *, is_weak: bool, strangers: int = 0) -> bool:
    """Whether a label and a value belong together, from what stands between.

    Args:
        strangers: How many words of which nothing is known may stand between without a sign.
    """
    gap = _CHANGED_TO.sub(" is ", _PROPERTY.sub("", gap))
    gap = _LEADERS.sub(": ", _HAS_NUMBER.sub(" is ", gap))
    if SENTENCE_END_HERE.search(gap):
        return False
    words = WORD.findall(gap)
    if not NO_VALUES.isdisjoint(words):
        return False
    has_sign = _SIGN.search(gap) is not None or not IS_WORDS.isdisjoint(words)
    if _UNSPACED.search(gap):
        return len(gap) <= 16 and (has_sign or not is_weak or len(gap) <= 6)  # noqa: PLR2004
    if is_weak and not has_sign:
        return False
    unknown = sum(word not in FILLERS and word not in IS_WORDS for word in words)
    return unknown <= (MAX_STRANGERS if has_sign else strangers)
