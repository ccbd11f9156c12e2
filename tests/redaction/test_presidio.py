"""Names through Presidio, or through anything that analyzes as it does."""

import importlib.util
from typing import NamedTuple

import pytest

import wmem


class Result(NamedTuple):
    start: int
    end: int
    entity_type: str


class Analyzer:
    """Analyzes as Presidio's engine does, with a list of names for a model."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str] | None, float | None]] = []

    def analyze(
        self, text: str, language: str, entities: list[str] | None = None, *, score_threshold: float | None = None
    ) -> list[Result]:
        self.calls.append((language, entities, score_threshold))
        return [Result(at, at + 3, "PERSON") for at in range(len(text)) if text.startswith("Ada", at)]


def test_names_that_presidio_finds_are_hidden() -> None:
    analyzer = Analyzer()
    recognizer = wmem.PresidioRecognizer(analyzer, language="de", entities=("PERSON",), threshold=0.7)
    redacted = wmem.Redaction(recognizers=(recognizer,)).redact("Ada wrote to ada@example.org")
    assert (redacted.text, redacted.counts) == (
        "[REDACTED_PERSON] wrote to [REDACTED_EMAIL]",
        {"email": 1, "person": 1},
    )
    assert analyzer.calls == [("de", ["PERSON"], 0.7)]


@pytest.mark.skipif(importlib.util.find_spec("presidio_analyzer") is not None, reason="Presidio is installed")
def test_without_presidio_and_without_an_analyzer_the_extra_is_named() -> None:
    with pytest.raises(wmem.MissingExtraError, match=r"wmem\[presidio\]"):
        wmem.PresidioRecognizer()


def test_presidio_itself_finds_with_its_patterns() -> None:
    presidio = pytest.importorskip("presidio_analyzer")
    spacy = pytest.importorskip("spacy")
    from presidio_analyzer.nlp_engine import SpacyNlpEngine
    from presidio_analyzer.predefined_recognizers import UrlRecognizer

    class Blank(SpacyNlpEngine):  # type: ignore[misc]  # without a model: nothing is downloaded
        def __init__(self) -> None:
            super().__init__()
            self.nlp = {"en": spacy.blank("en")}

    registry = presidio.RecognizerRegistry(recognizers=[UrlRecognizer()])
    engine = presidio.AnalyzerEngine(registry=registry, nlp_engine=Blank(), supported_languages=["en"])
    redaction = wmem.Redaction(recognizers=(wmem.PresidioRecognizer(engine),))
    assert redaction.redact("see https://example.org/a now").text == "see [REDACTED_URL] now"
