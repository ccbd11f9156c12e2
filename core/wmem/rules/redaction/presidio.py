"""Names, addresses and the like, as Presidio finds them; the only module that imports it, and only when it is used."""

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from wmem.errors import MissingExtraError
from wmem.rules.redaction.spans import Span


class PresidioResult(Protocol):
    """A stretch of a text that Presidio found."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def entity_type(self) -> str: ...


class PresidioAnalyzer(Protocol):
    """What `presidio_analyzer.AnalyzerEngine` is, and anything else that analyzes as it does."""

    def analyze(
        self, text: str, language: str, entities: list[str] | None = None, *, score_threshold: float | None = None
    ) -> Sequence[PresidioResult]: ...


class PresidioRecognizer:
    """A recognizer for `Redaction` that asks Presidio: for names, addresses and what else its models know.

    A mark has the entity's name, as in ``[REDACTED_PERSON]``.

    Args:
        analyzer: An `AnalyzerEngine` of yours; without one, Presidio's default, which needs its English model at hand.
        language: What the analyzer takes texts to be in.
        entities: Only these, such as ``["PERSON", "LOCATION"]``; all by default.
        threshold: The lowest score that counts, from 0 to 1.

    Raises:
        MissingExtraError: There is no analyzer, and Presidio is not installed.
    """

    def __init__(
        self,
        analyzer: PresidioAnalyzer | None = None,
        *,
        language: str = "en",
        entities: Collection[str] | None = None,
        threshold: float = 0.5,
    ) -> None:
        self._analyzer = _default_analyzer() if analyzer is None else analyzer
        self._language = language
        self._entities = None if entities is None else list(entities)
        self._threshold = threshold

    def __call__(self, text: str) -> Iterator[Span]:
        results = self._analyzer.analyze(text, self._language, self._entities, score_threshold=self._threshold)
        return (Span(result.start, result.end, result.entity_type.lower()) for result in results)


def _default_analyzer() -> PresidioAnalyzer:
    try:
        from presidio_analyzer import AnalyzerEngine
    except ImportError as exc:
        raise MissingExtraError("this needs the extra 'presidio': pip install 'wmem[presidio]'") from exc
    analyzer: PresidioAnalyzer = AnalyzerEngine()
    return analyzer
