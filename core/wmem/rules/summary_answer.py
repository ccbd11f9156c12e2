"""Whether a model's answer is a summary: text, in the language of an answer, and not too long."""

from typing import NamedTuple

from wmem.analysis.sentences import split_sentences
from wmem.describe import describe
from wmem.model.sendable import to_sendable
from wmem.tokens.counter import Counter

TOLERANCE = 0.05
"""How much longer than it may be an answer is cut, as a share; a longer one is not used."""


class Answer(NamedTuple):
    """A checked answer: a summary, or why there is none.

    Attributes:
        fault: What is wrong with the answer, without a word of it; "" if nothing is.
    """

    text: str
    fault: str = ""


def check_answer(answer: object, limit: int, count: Counter) -> Answer:
    """The summary that a model's answer is, in at most so many tokens.

    An answer that is a little too long is cut behind a sentence.
    """
    if not isinstance(answer, str):
        return Answer("", f"returned no text but {describe(answer)}")
    text = to_sendable(str.__str__(answer)).strip()
    if not text:
        return Answer("", "returned a blank text")
    if (tokens := count(text)) <= limit:
        return Answer(text)
    if tokens > limit * (1 + TOLERANCE):
        return Answer("", f"returned {tokens} tokens, more than {limit}")
    return Answer(_cut(text, limit, count))


def _cut(text: str, limit: int, count: Counter) -> str:
    sentences = split_sentences(text)
    while sentences and count("\n".join(sentences)) > limit:
        sentences.pop()
    return "\n".join(sentences)
