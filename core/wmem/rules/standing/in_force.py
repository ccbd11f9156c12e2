"""Which standing requests are still in force, read from the newest to the oldest.

A request ends when a newer message takes it back, says the same again, or gives its one answer anew: there is one
language to answer in, and one name to be called by.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from wmem.analysis.analyzer import Analyzer, to_words
from wmem.model.standing import TAKE_BACK, StandingRequest

T = TypeVar("T")

_ONE_ANSWER = frozenset({"language", "names"})
_PROHIBITIONS = frozenset({"do not", "never"})
_NEGATION_WORDS = (
    "no not never don t without avoid free keine kein nie niemals ohne pas jamais sans sin nunca não sem non mai senza "
    "niente geen nooit zonder inga aldrig utan не без никогда"
)
_NEGATIONS = frozenset(_NEGATION_WORDS.split())
_CONDITION_WORDS = "when whenever if unless every each except wenn quand si cuando quando als när если"
_CONDITIONS = frozenset(_CONDITION_WORDS.split())
# Words that say that something is taken back, or what every request says, and not what it is about.
_EMPTY_WORDS = (
    "answer answers answering answered reply replies replying respond responding response responses write writing use "
    "using include including add adding give giving make making say said saying tell told telling ask asked asking talk "
    "talking speak speaking stop quit forget ignore disregard scrap drop cancel undo lift revoke remove never mind always "
    "again anymore longer now please can may could fine ok okay allowed welcome feel free need want go back rule rules "
    "instruction instructions request requests restriction restrictions preference preferences requirement convention "
    "earlier before any all everything it s i m it me you your my don t no not only just about re ve ahead changed mind limit "
    "limits cap ban format formatting style tone accent voice persona roleplay mode thing"
)
_SAYS_NOTHING = frozenset(_EMPTY_WORDS.split())


def read_in_force(
    newest_first: Iterable[tuple[T, Sequence[StandingRequest]]], analyzer: Analyzer
) -> Iterator[tuple[T, StandingRequest, str]]:
    """The clauses of messages, newest first, each with why it is not in force; "" if it is."""
    reader = RequestsInForce(analyzer)
    for message, requests in newest_first:
        for request in reversed(requests):
            reason = reader.find_reason(request)
            if reason is not None or not request.takes_back:
                yield message, request, reason or ""


class RequestsInForce:
    """Reads requests newest first, and tells of each whether a newer one ended it."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._all = False
        self._last = 0
        self._topics: list[AbstractSet[str]] = []
        self._allowed: list[str] = []
        self._said: set[AbstractSet[str]] = set()
        self._answered: set[str] = set()

    def find_reason(self, request: StandingRequest) -> str | None:
        """Why the next older request is not in force; None if it is, or takes others back itself."""
        if request.takes_back:
            self._take_back(request)
            return None
        if self._all:
            return "taken back"
        if self._last:
            self._last -= 1
            return "taken back"
        words = frozenset(to_words(request.text))
        if (self._topics or self._allowed) and self._is_taken_back(request, words):
            return "taken back"
        if words in self._said:
            return "repeated"
        self._said.add(words)
        if request.rule in _ONE_ANSWER and _CONDITIONS.isdisjoint(to_words(request.text)):
            if request.rule in self._answered:
                return "replaced"
            self._answered.add(request.rule)
        return None

    def _is_taken_back(self, request: StandingRequest, words: AbstractSet[str]) -> bool:
        """Whether a newer request takes back what a request is about, or allows what it prohibits."""
        language, own, _ = self._analyzer.analyze(request.text)
        terms = frozenset(own)
        topics = self._topics
        if request.rule in _PROHIBITIONS or not _NEGATIONS.isdisjoint(words):
            # One or two words tell no language: they are stemmed as the request is.
            topics = [*topics, *(frozenset(self._analyzer.to_terms(each, language)) for each in self._allowed)]
        return any(topic and topic <= terms for topic in topics)

    def _take_back(self, request: StandingRequest) -> None:
        match request.rule.removeprefix(TAKE_BACK).strip():
            case "all":
                self._all = True
            case "last":
                self._last += 1
            case "prohibition":
                self._allowed.append(request.text)
            case _:
                if topic := self._topic(request.text):
                    self._topics.append(topic)

    def _topic(self, text: str) -> AbstractSet[str]:
        """The terms of what a clause takes back; behind a comma it says what is welcome instead."""
        language = self._analyzer.analyze(text).language
        for piece in text.split(","):
            if words := [word for word in to_words(piece) if word not in _SAYS_NOTHING]:
                return frozenset(self._analyzer.to_terms(" ".join(words), language))
        return frozenset()
