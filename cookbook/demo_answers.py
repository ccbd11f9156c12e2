"""The model of the second process: a real one if there is an API key, else a stand-in that quotes its prompt.

The stand-in knows its prompt and nothing else, so it cannot answer from what the
prompt leaves out. That makes it a fair judge of two memories.
"""

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from llama_index.core.llms import ChatMessage, CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.llms.llm import LLM

__all__ = ["ExtractiveStandIn", "choose_model"]

_LABEL = "[quoted]"
_NO_ANSWER = "nothing in my prompt speaks of that"
_STOPWORDS = frozenset(
    "a about after an and are as at be been by can did do does for from had has have her his how i in is it its of "  # noqa: SIM905  # 60 quotation marks less
    "on or she he that the their they this to was were what when where which who whom whose why will with you".split(),
)
_ENDINGS = re.compile(r"(?:ing|ed|es|s|'s)$")
_SHORTEST_STEM = 3
_QUESTION_WEIGHT = 0.5


def choose_model() -> tuple[LLM, str]:
    """The model that answers, and its name for display.

    With OPENAI_API_KEY the model OPENAI_MODEL at OPENAI_BASE_URL; else the stand-in.
    """
    if not os.environ.get("OPENAI_API_KEY"):
        return ExtractiveStandIn(messages_to_prompt=_prompt_text), "extractive stand-in"
    from llama_index.llms.openai_like import OpenAILike  # type: ignore[import-untyped]  # ships no types

    name = os.environ.get("OPENAI_MODEL") or "gpt-4o-mini"
    model = OpenAILike(
        model=name,
        api_base=os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1",
        api_key=os.environ["OPENAI_API_KEY"],
        is_chat_model=True,
        context_window=8_192,
        max_tokens=200,
        temperature=0.0,
    )
    return model, name


class _Sentence(NamedTuple):
    text: str
    speaker: str
    day: str
    terms: frozenset[str]


class ExtractiveStandIn(CustomLLM):
    """Not a language model: quotes the sentence of its prompt that shares the rarest words with the question."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="extractive-stand-in", context_window=8_192, num_output=256)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:  # noqa: ARG002, FBT001, FBT002  # LlamaIndex's signature
        question, sentences = _parse_prompt(prompt)
        wanted = _terms(question)
        shared_by = Counter(word for each in sentences for word in each.terms)

        def score(sentence: _Sentence) -> float:
            found = sum(math.log(1 + len(sentences) / shared_by[word]) for word in sentence.terms & wanted)
            # Questions seldom answer a question, so they count half.
            return found * _QUESTION_WEIGHT if sentence.text.endswith("?") else found

        best = max(sentences, key=score, default=None)
        if best is None or not score(best):
            return CompletionResponse(text=f"{_LABEL} {_NO_ANSWER}")
        source = ", ".join(filter(None, (best.day, best.speaker)))
        return CompletionResponse(text=f"{_LABEL} {source}: {best.text}" if source else f"{_LABEL} {best.text}")

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:  # noqa: FBT001, FBT002  # the same
        whole = self.complete(prompt, formatted, **kwargs)
        yield CompletionResponse(text=whole.text, delta=whole.text)


def _prompt_text(messages: Sequence[ChatMessage]) -> str:
    """The prompt as one text: each message after its role and, if known, its speaker's name."""
    return "\n".join(
        f"[{each.role.value}] {name + ': ' if (name := each.additional_kwargs.get('name')) else ''}{each.content}"
        for each in messages
    )


def _parse_prompt(prompt: str) -> tuple[str, list[_Sentence]]:
    """The question, which is the newest user line, and every sentence said before it."""
    told = prompt.splitlines()
    asked = max((place for place, line in enumerate(told) if line.startswith("[user] ")), default=0)
    sentences: list[_Sentence] = []
    day = ""
    for line in told[:asked]:
        text = re.sub(r"^(\[\w+\]|>) ", "", line)
        if line.startswith("## "):
            day = text.removeprefix("## ")
        elif line.startswith("> "):
            sentences += _split_sentences(text, day)
        elif line.startswith(("[user] ", "[assistant] ")) and not text.startswith((_LABEL, "<")):
            sentences += _split_sentences(text, "")
    return re.sub(r"^\[user\] ", "", told[asked]) if told else "", sentences


def _split_sentences(text: str, day: str) -> Iterator[_Sentence]:
    """The sentences of a line; the speaker's name is added to the words of each."""
    speaker, colon, told = text.partition(": ")
    if not colon or " " in speaker:
        speaker, told = "", text
    for sentence in re.split(r"(?<=[.!?]) +", told):
        yield _Sentence(sentence, speaker, day, _terms(f"{speaker} {sentence}"))


def _terms(text: str) -> frozenset[str]:
    words = re.findall(r"[^\W_]+(?:'s)?", text.lower())
    return frozenset(_stem(word) for word in words if word not in _STOPWORDS)


def _stem(word: str) -> str:
    stem = _ENDINGS.sub("", word)
    return stem if len(stem) >= _SHORTEST_STEM else word
