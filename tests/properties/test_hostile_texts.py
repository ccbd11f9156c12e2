"""Whatever a text is, twice as much of it takes twice as many steps."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial

import pytest

import wmem
from tests.hostile_texts import KINDS
from tests.steps import Steps
from wmem import AgentMemory, Counter, Policy
from wmem.analysis.normalization import normalize_nfkc
from wmem.analysis.summarize import WeightedText, extract

_GREATEST_RATIO = 2.3
_THRESHOLD = 100_000  # steps that begin at some size, such as those for a passage; a quadratic function takes many more
_FAST_SHARE = 4  # one kind in so many is tried in the fast tier
_LARGE = (
    "run of ' '", "run of '漢'", "may ", "a few ", "a. ", "a_b_", "</recalled>", "stacked accents", "one long word",
    "mixed scripts", "dates", "log", "code", "lines that differ",
)  # fmt: skip
_QUESTION = "what did you say about the elephant in may 2021? a 1 漢字"


@pytest.fixture(scope="module")
def steps() -> Iterator[Steps]:
    with pytest.MonkeyPatch.context() as patches, wmem.open("memory://", agent_id="a") as memory:
        for _, call in _calls(memory, "the elephant said 1 of 漢字 in may 2021. \ud800 " * 40):
            call()  # what is made once in a process
        yield Steps(patches)


def _calls(memory: AgentMemory, text: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is done with a text; each call stands on those before it."""
    talk, notes, copy = memory.scope("talk"), memory.scope("notes"), memory.scope("copy")
    yield "append", lambda: talk.messages.append({"role": "user", "content": text})
    yield "pack it as the newest message", lambda: talk.pack(budget=150)
    talk.messages.append([{"role": "assistant", "content": "ok"}, {"role": "user", "content": _QUESTION}])
    yield "pack it as an older message", lambda: talk.pack(_QUESTION, budget=150, summary=100)
    yield "add", lambda: notes.items.add(text)
    notes.items.add("The elephant went home in may.")
    yield "pack it as a memory", lambda: notes.pack(_QUESTION, budget=150)
    yield "pack with it as the query", lambda: notes.pack(text, budget=150)
    yield "recall", lambda: notes.recall(text)
    yield "search", lambda: notes.items.search(text)
    yield "search by words", lambda: notes.items.search(text, order="recall")
    yield "set", lambda: notes.entries.set("k", {"text": [text]})
    yield "export and import", lambda: copy.import_(notes.export())
    yield "show", lambda: talk.pack(_QUESTION, budget=150)._repr_html_()


class _CharCounter:
    """Counts without reading: tokenizers have a test of their own."""

    name = "characters"

    def __call__(self, text: str, /) -> int:
        return -(-len(text) // 4)


def _count(text: str, count: Callable[[Callable[[], object]], int], counter: Counter | None = None) -> dict[str, int]:
    policy = Policy(max_content_bytes=1_000_000)
    with wmem.open("memory://", agent_id="a", policy=policy, counter=counter) as memory:
        return {name: count(call) for name, call in _calls(memory, text)}


def _check_growth(less: dict[str, int], more: dict[str, int], doublings: int) -> None:
    most = {name: less[name] * _GREATEST_RATIO**doublings + _THRESHOLD for name in less}
    assert not {name: (less[name], more[name]) for name in more if more[name] > most[name]}


@pytest.mark.parametrize(
    "kind", [pytest.param(name, marks=[pytest.mark.slow] * bool(at % _FAST_SHARE)) for at, name in enumerate(KINDS)]
)
def test_twice_the_text_takes_twice_the_steps(kind: str, steps: Steps) -> None:
    less, more = (_count(KINDS[kind](size), steps.count) for size in (800, 1_600))
    _check_growth(less, more, doublings=1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try every kind at 100 kB in the full tier, in the others some of each form."""
    if "large_kind" in metafunc.fixturenames:
        metafunc.parametrize("large_kind", list(KINDS) if metafunc.config.getoption("tier") == "full" else _LARGE)


@pytest.mark.slow
def test_twice_the_text_takes_twice_the_calls_at_100_kb(large_kind: str, steps: Steps) -> None:
    sizes = (25_200, 50_400, 100_800)  # no text ends in the middle of what it repeats: a part of it is another word
    least, less, more = (_count(KINDS[large_kind](size), steps.count_calls, _CharCounter()) for size in sizes)
    _check_growth(least, less, doublings=1)
    _check_growth(least, more, doublings=2)


def test_steps_of_a_call_that_searches_the_whole_text_for_each_word_are_seen(steps: Steps) -> None:
    def search(text: str) -> int:
        return sum(text.find(f"{word}!") for word in text.split())

    few, many = (steps.count(partial(search, "word " * size)) for size in (200, 400))
    assert many > 3 * few


def test_stop_words_are_searched_for_once_each(steps: Steps) -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        notes = memory.scope("notes")
        notes.items.add("what the elephant said")
        few, many = (steps.count(partial(notes.items.search, "the " * n, order="recall")) for n in (100, 1_000))
    assert many < 12 * few


def test_no_more_than_30_combining_marks_are_sorted_at_once() -> None:
    # Python sorts a run of marks by insertion: 100,000 of them would take seven seconds.
    folded = normalize_nfkc("a" + "\u0301\u0327" * 500)
    assert max(map(len, re.findall(r"[\u0301\u0327]+", folded))) <= 30
    usual = "Cafe\u0301 A\u030a\u0327 \u0e01\u0e33 ---" + "\u0301" * 30
    assert normalize_nfkc(usual) == unicodedata.normalize("NFKC", usual)


def test_an_extract_drops_sentences_together_when_line_breaks_make_it_too_long(steps: Steps) -> None:
    class LineCounter(_CharCounter):
        counted = 0

        def __call__(self, text: str, /) -> int:
            LineCounter.counted += len(text)
            return 2 * len(text.splitlines())  # a line break costs as much as a sentence: half of them must go

    texts = [WeightedText("\n".join(f"sentence {at}" for at in range(1_000)), 1.0)]
    assert len(extract(texts, 500, LineCounter()).text.splitlines()) == 250
    assert LineCounter.counted < 20 * len(texts[0].text)
