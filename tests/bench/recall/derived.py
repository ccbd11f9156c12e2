"""Sets that are made of others, so that nothing fits a set's form; the same at every run.

- ``flat``: what tools were asked and said, as text of the assistant.
- ``half``: lines that are asked again, with half of their words, at random.
- ``again``: lines of the user asked again with 60 % of their words; evidence is the assistant's answer.
- two words: a question cut to its two rarest words.
- foreign: questions about other talks, to which nothing is known; counted is how often nothing is quoted.
"""

import random
import re
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.bench.recall.conversations import Conversation
from tests.bench.recall.evidence import Result, ask_all, table
from tests.bench.recall.options import Options
from tests.bench.recall.systems import Wmem
from tests.bench.recall.talks import Question, Talk, to_text
from wmem.analysis.analyzer import to_terms

__all__ = ["VARIANTS", "cut_to_rarest", "drop_words", "measure_foreign", "measure_two_words"]

_WORD = re.compile(r"[\u4e00-\u9fff]{1,2}|[^\s\u4e00-\u9fff]+")
_AGAIN = 30
"""So many lines of a talk are asked again."""
_AT = 1_024


def drop_words(text: str, share: float) -> str:
    """A text with a share of its words, at random but in order; two Chinese characters count as a word."""
    words = _WORD.findall(text)
    places = random.Random(text).sample(range(len(words)), max(1, round(share * len(words))))
    return " ".join(words[place] for place in sorted(places))


def _flatten(talk: Talk) -> Talk:
    messages = [_flatten_message(each) for each in talk.messages]
    return talk._replace(family=f"{talk.family}-flat", messages=messages)


def _flatten_message(message: Mapping[str, Any]) -> Mapping[str, Any]:
    if message["role"] != "tool" and not message.get("tool_calls"):
        return message
    kept = {name: message[name] for name in ("id", "thread_id", "created_at")}
    return {**kept, "role": "assistant", "content": to_text(message)}


def _halve(talk: Talk) -> Talk:
    questions = [
        each._replace(text=drop_words(each.text, 0.5)) for each in talk.questions if each.kind == "asked again"
    ]
    return talk._replace(family=f"{talk.family}-half", questions=questions)


def _ask_again(talk: Talk) -> Talk:
    pairs = [
        (line, answer)
        for line, answer in zip(talk.messages, talk.messages[1:], strict=False)
        if (line["role"], answer["role"]) == ("user", "assistant") and line["thread_id"] == answer["thread_id"]
    ]
    chosen = random.Random(talk.name).sample(pairs, min(_AGAIN, len(pairs)))
    questions = [
        Question(drop_words(line["content"], 0.6), "asked again", (), (answer["id"],)) for line, answer in chosen
    ]
    return talk._replace(family=f"{talk.family}-again", questions=questions)


VARIANTS: Mapping[str, Callable[[Talk], Talk]] = {"flat": _flatten, "half": _halve, "again": _ask_again}
"""What can be made of any talk, by the word that is added to its family."""


def cut_to_rarest(question: str, texts: Mapping[str, int]) -> str:
    """A question's two rarest words among those that were said, in order.

    Args:
        texts: By term, the number of turns that have it.
    """
    words = [(texts[term], word) for word in question.split() if (term := next(iter(to_terms(word)), "")) in texts]
    rarest = sorted(words)[:2]
    return " ".join(word for count, word in words if (count, word) in rarest)


def measure_two_words(talks: Sequence[Conversation], options: Options) -> dict[str, float]:
    """LoCoMo's evidence where the questions are cut to two words."""
    result = Result("")
    for talk in talks:
        texts = Counter(term for turn in talk.turns for term in set(to_terms(turn.text)))
        questions = [each._replace(text=cut_to_rarest(each.text, texts) or each.text) for each in talk.questions]
        memory = Wmem(talk, tail=0, scoring=options.scoring)
        result.name = "wmem, recall first, two words"
        ask_all(result, talk._replace(questions=questions), memory, options.budgets)
        memory.close()
    print(table([result], options.budgets))
    return {f"two words at {budget:,}": result.recall(budget) for budget in options.budgets}


def measure_foreign(talks: Sequence[Conversation], others: Sequence[Talk], options: Options) -> dict[str, float]:
    """How many questions about other talks find nothing, in per cent.

    Those of templates are left out: their words are nowhere, and nothing is easily found.
    """
    if not others:
        print("left out: no talks to ask about")
        return {}
    natural = [each.text for other in others for each in other.questions if not each.kind.startswith("tool")]
    notes: list[str] = []
    for talk in talks:
        memory = Wmem(talk, tail=0, scoring=options.scoring)
        notes += [memory.session.pack(text, budget=_AT, tail=0).note for text in natural]
        memory.close()
    empty = 100 * statistics.fmean(not note for note in notes)
    print(f"{len(natural)} foreign questions to each of {len(talks)} conversations: {empty:.1f} % with an empty note")
    return {"foreign questions with an empty note, %": empty}
