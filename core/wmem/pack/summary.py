"""Extractive summary of messages that the budget leaves out: their best sentences, verbatim, in the note.

Of messages that a stored summary covers, its sentences are taken instead. Each pack makes it anew and stores
nothing. The text read is bounded, so a session of any length costs the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from wmem.analysis.analyzer import Analyzer
from wmem.analysis.sentences import split_sentences
from wmem.analysis.summarize import WeightedText, extract_sentences
from wmem.graphemes import cut_before
from wmem.model.message import Message
from wmem.pack.loader import MessageLoader
from wmem.pack.render import SUMMARY_HEADING, NoteEntry, NotePricer, quote_block
from wmem.pack.repeats import tell_times
from wmem.pack.request import Candidate, Quote
from wmem.pack.wording import message_text, normalize_text
from wmem.rules.nearness import gist
from wmem.tokens.counter import Counter

MAX_COVERED_MESSAGES = 256
"""Messages a summary covers at most: the newest of those left out."""
_TOKENS_READ_PER_TOKEN = 32  # tokens of messages read per token of the summary, at most
_MAX_CHARS_PER_MESSAGE = 4_000  # characters read of one message, from its beginning
_ROLE_WEIGHTS = {"user": 1.0, "assistant": 0.8}
_TOOL_RESULT_WEIGHT = 0.4
_STORED_WEIGHT = 4.0  # of what a stored summary says: it is short already
_QUERY_BONUS = 0.5  # weight added to a message that has every term of the query


class ExtractiveSummary(NamedTuple):
    """A summary as an entry of the note, and the ids of its source messages."""

    entry: NoteEntry
    sources: tuple[str, ...]
    messages_covered: int
    """How many of the newest messages left out were read for it."""
    text: str
    candidates: tuple[Candidate, ...]
    """Those messages that are its sources."""


def summarize(
    left_out: Sequence[Candidate],
    limit: int,
    query_terms: Sequence[str],
    loader: MessageLoader,
    pricer: NotePricer,
    *,
    analyzer: Analyzer,
    stored: Sequence[Candidate] = (),
) -> ExtractiveSummary | None:
    """Summarize messages in at most `limit` tokens, frame and heading included; None when nothing fits.

    User messages weigh most, then assistant messages, then tool results; within a role
    the share of the query's terms counts, then the rarity of the terms. What a speaker says
    several times is told once, with its number.

    Args:
        left_out: Newest first; as many are covered as the bounds allow.
        query_terms: Those that are searched.
        stored: Summaries of older messages: their sentences come first, and before all others if not all fit.
    """
    covered: list[Candidate] = []
    tokens = 0
    for candidate in left_out[:MAX_COVERED_MESSAGES]:
        tokens += min(candidate.tokens, _MAX_CHARS_PER_MESSAGE)
        if covered and tokens > _TOKENS_READ_PER_TOKEN * limit:
            break
        covered.append(candidate)
    covered.reverse()
    wanted = frozenset(query_terms)
    statements: dict[tuple[str, str], _Statement] = {}
    for summary in stored:
        for sentence in split_sentences(message_text(loader.load(summary))):
            weight = _STORED_WEIGHT + _share_of_query(sentence, wanted, analyzer)
            statements.setdefault(("", sentence), _Statement(sentence)).add(summary.id, weight)
    for candidate in covered:
        message = loader.load(candidate)
        text = "" if message.recalled else message_text(message)
        text = text[: cut_before(text, _MAX_CHARS_PER_MESSAGE)]
        weight = _ROLE_WEIGHTS.get(message.role, _TOOL_RESULT_WEIGHT)
        weight += _share_of_query(text, wanted, analyzer)
        speaker = message.name or message.role
        for sentence in split_sentences(text):
            same = statements.setdefault((speaker, gist(sentence)), _Statement(f"{speaker}: {sentence}"))
            same.add(candidate.id, weight)
    room = limit - pricer.price(summary_entry("", pricer.count).quote, ())
    while room > 0:
        extracted = extract_sentences(
            [each.to_weighted_text() for each in statements.values()], room, pricer.count, analyzer
        )
        if not extracted.text:
            return None
        entry = summary_entry(extracted.text, pricer.count)
        if (over := pricer.price(entry.quote, ()) - limit) <= 0:
            said = list(statements.values())
            sources = dict.fromkeys(id for index in extracted.source_indices for id in said[index].sources)
            quoted = tuple(each for each in (*stored, *covered) if each.id in sources)
            return ExtractiveSummary(entry, tuple(sources), len(covered), extracted.text, quoted)
        room = min(room, extracted.tokens) - over
    return None


def _share_of_query(text: str, query_terms: frozenset[str], analyzer: Analyzer) -> float:
    """What a text's weight gains by the terms of the query that it has."""
    return (
        _QUERY_BONUS * len(query_terms.intersection(analyzer.to_terms(text))) / len(query_terms) if query_terms else 0.0
    )


@dataclass(slots=True)
class _Statement:
    """A sentence, how often its speaker says nearly the same, in which messages, and the greatest of their weights."""

    text: str
    times: int = 0
    weight: float = 0.0
    sources: dict[str, None] = field(default_factory=dict)

    def add(self, source: str, weight: float) -> None:
        self.times += 1
        self.weight = max(self.weight, weight)
        self.sources[source] = None

    def to_weighted_text(self) -> WeightedText:
        return WeightedText(tell_times(self.text, self.times), self.weight)


def summary_entry(text: str, count: Counter) -> NoteEntry:
    """A summary as an entry of the note."""
    block = quote_block(text)
    return NoteEntry(
        candidate=Candidate(id="", role=None, tokens=0, at=0.0, load=partial(Message.of, "user", text)),
        quote=Quote(SUMMARY_HEADING, block, normalize_text(text), count(block) + 1),
        tokens_cut=0,
        rule="summary",
    )
