"""Every regular expression takes steps in proportion to the text, whatever the text is.

One whose name ends in `_HERE` is only matched at a place, or looked for in a stretch of bounded length.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

import langchain_wmem
import llamaindex_wmem
import wmem
from tests.hostile_texts import KINDS
from tests.pattern_steps import StepCounter, attacks

_SIZES = 120, 240
_GREATEST_RATIO = 2.6  # a quadratic pattern comes near 4
_STEPS_PER_CHAR = 20  # below this the ratio says nothing


def _patterns() -> Iterator[tuple[str, "re.Pattern[str]"]]:
    for package in (wmem, langchain_wmem, llamaindex_wmem):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".testing" in module.name:
                continue  # imports pytest's plugins
            held = vars(importlib.import_module(module.name))
            for name, value in held.items():
                yield from _within(f"{module.name}:{name}", value)


def _within(name: str, value: object) -> Iterator[tuple[str, "re.Pattern[str]"]]:
    """A pattern, or those in a tuple of some."""
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield name, value
    elif type(value) is tuple:
        for number, each in enumerate(value):
            yield from _within(f"{name}.{number}", each)


PATTERNS = dict(_patterns())
SEARCHED = [name for name in PATTERNS if not name.endswith("_HERE")]
each_pattern = pytest.mark.parametrize("name", SEARCHED)


def _check_growth(counter: StepCounter, small: str, large: str) -> None:
    steps, more = counter.count(small)[0], counter.count(large)[0]
    assert more <= max(_GREATEST_RATIO * steps, _STEPS_PER_CHAR * len(large)), (small[:40], steps, more)


@each_pattern
@pytest.mark.slow
def test_a_pattern_is_linear_on_texts_made_of_its_own_pieces(name: str) -> None:
    counter = StepCounter(PATTERNS[name])
    for before, pump, after in set(attacks(PATTERNS[name])):
        small, large = (before + pump * (size // len(pump) + 1) + after for size in _SIZES)
        _check_growth(counter, small, large)


@pytest.mark.parametrize("name", sorted(PATTERNS.keys() - set(SEARCHED)))
@pytest.mark.slow
def test_a_pattern_that_is_matched_at_a_place_is_linear_there(name: str) -> None:
    counter = StepCounter(PATTERNS[name])
    for before, pump, after in set(attacks(PATTERNS[name])):
        small, large = (before + pump * (size // len(pump) + 1) + after for size in _SIZES)
        steps, more = counter.count_here(small), counter.count_here(large)
        assert more <= max(_GREATEST_RATIO * steps, _STEPS_PER_CHAR * len(large)), (small[:40], steps, more)


@pytest.mark.slow
@each_pattern
def test_a_pattern_is_linear_on_every_kind_of_text(name: str) -> None:
    counter = StepCounter(PATTERNS[name])
    for make in KINDS.values():
        text = make(40)
        _check_growth(counter, text, text + text)


@pytest.mark.slow
@each_pattern
def test_the_counting_matcher_finds_what_the_pattern_finds(name: str) -> None:
    counter = StepCounter(PATTERNS[name])
    for make in KINDS.values():
        text = make(30)
        assert counter.count(text)[1] == [match.span() for match in PATTERNS[name].finditer(text)], text


def test_the_counting_matcher_sees_a_pattern_that_is_not_linear() -> None:
    for pattern in (r"(?:a+)+b", r"\s+x", r"(?:a|aa)+b", r"x[^]]*]"):
        counter = StepCounter(re.compile(pattern))
        texts = [unit * size for unit in ("a", " ", "x") for size in (6, 12)]
        counts = [counter.count(text)[0] for text in texts]
        assert max(more / steps for steps, more in zip(counts[::2], counts[1::2], strict=True)) > _GREATEST_RATIO
