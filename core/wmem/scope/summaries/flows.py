"""The flow that summarizes texts: with the user's summarizer if there is one, else by their best sentences."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wmem.analysis.sentences import split_long, split_sentences
from wmem.analysis.summarize import WeightedText, extract
from wmem.engine.guard import GuardedCallError
from wmem.flow import Flow
from wmem.log import find_logger
from wmem.model.checks import check_count
from wmem.model.results import Summary
from wmem.model.sendable import to_sendable
from wmem.rules.redaction import Redaction
from wmem.rules.summary_answer import check_answer
from wmem.scope.handle import Handle
from wmem.scope.redaction import WITHHELD
from wmem.scope.summaries.port import GuardedSummarizer
from wmem.tokens.counter import Counter

_PART_DIVISOR = 4  # of a call's input, that the summary of a part takes at most

HELD_BACK = "a recognizer of the redaction failed"
"""Why texts are not summarized for now: see `SummaryText.warning`."""

_log = find_logger("wmem.scope")


class SummaryText(NamedTuple):
    """A summary of texts.

    Attributes:
        text: At most the requested number of tokens, and at most as many as the texts.
        by_model: Whether the memory's summarizer made it; else it is extractive.
        warning: Why the summarizer made none, or that a recognizer failed on the texts; "" if neither.
    """

    text: str
    tokens: int
    by_model: bool
    warning: str = ""


def summarize_texts(
    handle: Handle, texts: Sequence[str], max_tokens: int, *, ignore_pause: bool = False
) -> Flow[SummaryText]:
    """Summarize texts, redacted, the oldest first; what a summarizer says of them is redacted, too.

    Without a summarizer, or if it fails, the summary is extractive. It never raises for what a summarizer does.

    Args:
        max_tokens: Most tokens of the summary.
        ignore_pause: Ask a summarizer, too, that is left alone for a while because it failed.
    """
    check_count(max_tokens, "max_tokens", 1)
    weighted = [WeightedText(text, 1.0) for text in texts]
    summary, _ = yield from _summarize(handle, weighted, max_tokens, ignore_pause=ignore_pause)
    return summary


def summarize_by_weight(handle: Handle, texts: Sequence[tuple[str, WeightedText]], token_limit: int) -> Flow[Summary]:
    """As `summarize_texts`, with the ids of the texts that the summary is made of.

    Args:
        texts: The texts by id, in their order; the weights are for extracts.
    """
    check_count(token_limit, "token_limit", 1)
    summary, places = yield from _summarize(handle, [text for _, text in texts], token_limit, ignore_pause=False)
    return Summary(summary.text, summary.tokens, tuple(texts[place][0] for place in places))


def _summarize(
    handle: Handle, texts: Sequence[WeightedText], limit: int, *, ignore_pause: bool
) -> Flow[tuple[SummaryText, tuple[int, ...]]]:
    """A summary, and the places of the texts that it is made of."""
    counter, redaction = handle.settings.counter(), handle.settings.redaction
    held_back: list[str] = []
    clean = [WeightedText(to_sendable(_redact(redaction, text, held_back)), weight) for text, weight in texts]
    spoken = [place for place, each in enumerate(clean) if each.text.strip()]
    limit = min(limit, sum(counter(clean[place].text) for place in spoken))
    summarizer, warning = handle.settings.summarizer, HELD_BACK if held_back else ""
    if summarizer is not None and spoken and not held_back:
        asking = _Asking(handle, summarizer, ignore_pause=ignore_pause)
        try:
            text = yield from asking.summarize([clean[place].text for place in spoken], limit)
        except GuardedCallError as exc:
            warning = f"{summarizer.guard} {exc}"
            if handle.engine.warn_once(("summarizer", handle.path[0], str(exc))):
                _log.warning("agent %s: summarized by extracts alone: %s", handle.path[0], warning)
        else:
            return SummaryText(text, counter(text), by_model=True), tuple(spoken)
    made = extract(clean, limit, counter, handle.engine.analyzer)
    return SummaryText(made.text, made.tokens, by_model=False, warning=warning), made.source_indices


def _redact(redaction: Redaction | None, text: str, held_back: list[str]) -> str:
    """A text, redacted; one that a recognizer failed on is listed."""
    if redaction is None:
        return text
    made = redaction.redact(text)
    if WITHHELD in made.counts:
        held_back.append(made.text)
    return made.text


class _Asking:
    """Asks a summarizer, part by part where the texts are too many for one call."""

    def __init__(self, handle: Handle, summarizer: GuardedSummarizer, *, ignore_pause: bool) -> None:
        self._clock = handle.settings.clock
        self._count = handle.settings.counter()
        self._redaction = handle.settings.redaction
        self._summarizer = summarizer
        self._ignore_pause = ignore_pause

    def summarize(self, texts: Sequence[str], limit: int) -> Flow[str]:
        """The summary of texts; raises `GuardedCallError` if there is none."""
        most = self._summarizer.max_input_tokens
        parts = list(split_into_parts(texts, most, self._count))
        while len(parts) > 1:  # three summaries at least are one part of the next round
            texts = []
            for part in parts:
                texts.append((yield from self._shorten(part, most // _PART_DIVISOR)))
            parts = list(split_into_parts(texts, most, self._count))
        return (yield from self._ask(parts[0], limit))

    def _shorten(self, part: Sequence[str], limit: int) -> Flow[str]:
        """A part in at most so many tokens."""
        whole = "\n".join(part)
        return whole if self._count(whole) <= limit else (yield from self._ask(part, limit))

    def _ask(self, texts: Sequence[str], limit: int) -> Flow[str]:
        guard = self._summarizer.guard
        if not self._ignore_pause and (left := guard.pause(self._clock())) > 0:
            raise GuardedCallError(f"failed and is left alone for {left:.0f} s")
        try:
            answer = yield from guard.ask(list(texts), limit)
        except GuardedCallError:
            guard.record_failure(self._clock())
            raise
        held_back: list[str] = []
        if isinstance(answer, str):  # what was in no form to be found may be in one now
            answer = _redact(self._redaction, str.__str__(answer), held_back)
        if held_back:
            raise GuardedCallError("gave a text that a recognizer of the redaction failed on")
        text, fault = check_answer(answer, limit, self._count)
        if fault:
            guard.record_failure(self._clock())
            raise GuardedCallError(fault)
        guard.record_success()
        return text


def split_into_parts(texts: Sequence[str], most: int, count: Counter) -> Iterator[list[str]]:
    """The texts in order, in parts of at most so many tokens; one that is longer is parted at its sentences."""
    part: list[str] = []
    tokens = 0
    for text in texts:
        for piece in _split(text, most, count):
            size = count(piece) + 1
            if part and tokens + size > most:
                yield part
                part, tokens = [], 0
            part.append(piece)
            tokens += size
    if part:
        yield part


def _split(text: str, most: int, count: Counter) -> Iterator[str]:
    """A text, or its pieces of fewer tokens than `most`, each as long as fits."""
    if (size := count(text)) < most:
        yield text
        return
    characters = max(1, len(text) * most // (2 * size))
    lines: list[str] = []
    length = 0
    for sentence in split_sentences(text):
        for piece in split_long(sentence, characters):
            if lines and length + len(piece) > characters:
                yield "\n".join(lines)
                lines, length = [], 0
            lines.append(piece)
            length += len(piece) + 1
    if lines:
        yield "\n".join(lines)
