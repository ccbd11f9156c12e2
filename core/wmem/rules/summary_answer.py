"""Whether a model's answer is a summary: text, no refusal, no error, no echo, and not too long."""

import re
from typing import NamedTuple

from wmem.analysis.sentences import GAP, split_long, split_sentences
from wmem.describe import describe
from wmem.model.sendable import to_sendable
from wmem.rules.summary_prompt import echoes_prompt
from wmem.tokens.counter import Counter

TOLERANCE = 0.05
"""How much longer than it may be an answer is cut, as a share; a longer one is not used."""
_OPENING = 240  # characters of an answer that tell what it is
_MAX_SHORT = 200  # characters of an answer that says nothing else
_THOUGHTS_BEGIN = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHTS_HERE = re.compile(r"<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)


def _opening(*ways: str) -> re.Pattern[str]:
    """How a text begins, in one of these ways, behind quotes and the like."""
    return re.compile(rf"\A\W*(?:{'|'.join(ways)})", re.IGNORECASE)


_NOTHING = re.compile(
    r"\W*(?:none|null|nil|nan|n/?a|undefined|summary|ok(?:ay)?|sure|done|yes|no|object object|no summary)?\W*",
    re.IGNORECASE,
)
_REFUSAL = _opening(
    r"(?:i['’]?m|i am|we['’]?re|we are) (?:\w+ )?(?:sorry|unable|not able|afraid)",
    r"(?:my )?apolog",
    r"sorry[,.! ]",
    r"(?:unfortunately|regrettably)[, ]",
    r"(?:i|we) (?:can(?:no|['’])t|can not|could(?: not|n['’]t)|won['’]t|will not|must decline|have to decline|decline)",
    r"(?:i|we) do(?: not|n['’]t) have",
    r"as an? (?:ai|language|large)",
    r"there (?:is|was) (?:nothing|no \w+) to summ",
    r"no (?:texts?|content|conversation|messages?) (?:was|were|to|provided|given)",
)
_TASK = re.compile(
    r"summar|assist|help|comply|fulfil|process|request|provide|access|content|that\b|this\b|do so|continue|generate",
    re.IGNORECASE,
)
_FOREIGN_REFUSAL = _opening(
    r"(?:es )?tut mir leid|entschuldig\w*|leider kann ich|ich kann (?:\w+ ){0,4}nicht",
    r"je suis désolée?|désolée?\b|je ne peux pas|lo siento|no puedo|desculpe|lamento|não posso|mi dispiace|non posso",
    r"je regrette|perdón|lo lamento|sinto muito|não consigo|(?:sono )?spiacente|non riesco",
    r"het spijt me|ik kan (?:\w+ ){0,4}niet|przykro mi|przepraszam|(?:niestety,? )?nie mogę|nie jestem w stanie",
    r"üzgünüm|özür dilerim|извините|простите|прошу прощения|к сожалению|я не могу",
    r"抱歉|很抱歉|对不起|對不起|不好意思|我无法|我無法|我不能|申し訳|すみません|ごめんなさい|恐れ入りますが",
    r"죄송|미안|عذر|آسف|لا أستطيع|لا يمكنني|क्षमा",
)
_REQUEST = _opening(
    r"(?:(?:sure|of course|certainly|okay)\W+)?(?:please|could you|can you) (?:please )?(?:share|provide|paste|send)",
    r"(?:(?:sure|of course|certainly|okay)\W+)?i['’](?:d|m|ll) (?:be )?(?:happy|glad|ready) to",
)
_SUMMING = re.compile(r"summar", re.IGNORECASE)
_ERROR = _opening(
    r"error(?: code)?\s*[:\d(]|error (?:generating|occurred|while)|an? (?:\w+ )?error (?:occurred|has)",
    r"exception\s*[:(]",
    r"traceback \(most recent|(?:\w+\.)*\w+(?:error|exception)\s*[:(]",
    r"https?/?\d?\.?\d? ?(?:error )?[45]\d\d\b",
    r"[45]\d\d\b[\s:-]+(?:client|server|too many|internal|bad|service|unauthori|forbidden|not found|gateway)",
    r"rate ?limit|(?:you )?exceeded your (?:current )?quota",
    r"(?:the )?request (?:timed out|was (?:cancel|blocked|rejected))|timed? ?out\b",
    r"internal server error|service unavailable|(?:(?:the )?(?:model|server) is (?:currently )?)?overloaded",
    r"\{\s*[\"']error[\"']|previous conversation was too long to summar|no previous conversation history",
)


class Answer(NamedTuple):
    """A checked answer: a summary, or why there is none.

    Attributes:
        fault: What is wrong with the answer, without a word of it; "" if nothing is.
    """

    text: str
    fault: str = ""


def check_answer(answer: object, limit: int, count: Counter) -> Answer:
    """The summary that a model's answer is, in at most so many tokens.

    An answer that is a little too long is cut, behind a sentence if it has several. What a model thought aloud in tags
    before it is left out.
    """
    if not isinstance(answer, str):
        return Answer("", f"returned no text but {describe(answer)}")
    text = _leave_out_thoughts(to_sendable(str.__str__(answer))).strip()
    if fault := _find_fault(text):
        return Answer("", fault)
    if (tokens := count(text)) <= limit:
        return Answer(text)
    if tokens > limit * (1 + TOLERANCE):
        return Answer("", f"returned {tokens} tokens, more than the {limit} that it may")
    text = _cut(text, limit, count)
    return Answer(text, "" if text else f"returned {tokens} tokens that cannot be cut to {limit}")


def _leave_out_thoughts(text: str) -> str:
    """A text without the first thoughts in it that are aloud in tags; as it is if those do not end."""
    begin = _THOUGHTS_BEGIN.search(text)
    if begin is None or (thoughts := _THOUGHTS_HERE.match(text, begin.start())) is None:
        return text
    return text[: begin.start()] + text[thoughts.end() :]


def _find_fault(text: str) -> str:
    opening = text[:_OPENING]
    if not text:
        return "returned a blank text"
    if _THOUGHTS_BEGIN.match(text):
        return "returned thoughts without an answer"
    if len(text) <= _MAX_SHORT and _NOTHING.fullmatch(text):
        return "returned a text that says nothing"
    if _ERROR.match(opening):
        return "returned the text of an error"
    refuses = (_REFUSAL.match(opening) and _TASK.search(opening)) or (
        _FOREIGN_REFUSAL.match(opening) and len(text) <= _MAX_SHORT
    )
    if refuses:
        return "refused"
    if len(text) <= _MAX_SHORT and _REQUEST.match(opening) and _SUMMING.search(opening):
        return "asked for the texts"
    return "returned its own instruction" if echoes_prompt(text) else ""


def _cut(text: str, limit: int, count: Counter) -> str:
    """A text without its last sentences, or without its last words if it is one."""
    lines = split_sentences(text)
    while len(lines) > 1 and count("\n".join(lines)) > limit:
        lines.pop()
    if count(joined := "\n".join(lines)) <= limit:
        return joined
    for divisor in (1.1, 1.25, 1.5, 2, 4):
        cut = f"{split_long(joined, max(1, int(len(joined) / divisor)))[0]} {GAP}"
        if count(cut) <= limit:
            return cut
    return ""
