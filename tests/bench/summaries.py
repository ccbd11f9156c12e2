"""How much of what is asked for later a summary keeps, by its length: ``python -m tests.bench.summaries``.

A summary of each session is made at several ratios, and beside it what a plain choice of sentences keeps: the first
ones, the last ones, any. Of golden tasks an answer counts as kept that stands in the summary; of open data (LoCoMo in
`WMEM_LOCOMO`, talks in `WMEM_TALKS`) an evidence line whose words of the answer are all in the summary or, if the
answer has none of its words, one of whose sentences is.
"""

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from tests.bench.recall.conversations import conversations, where
from tests.bench.recall.talks import list_talk_files, read_talk, to_text
from tests.summaries.golden import FILES, read_tasks, to_plain
from wmem.analysis.analyzer import Analyzer
from wmem.analysis.sentences import split_sentences
from wmem.analysis.summarize import DEFAULT_RATIO, WeightedText, extract
from wmem.tokens.counter import default_counter

RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
Make: TypeAlias = Callable[[Sequence[str], int], str]
Check: TypeAlias = Callable[[str], bool]

_count = default_counter()
_analyzer = Analyzer()


class Session(NamedTuple):
    """Texts, and what a summary of them should keep."""

    texts: Sequence[str]
    checks: Sequence[Check]


def summarize(texts: Sequence[str], limit: int) -> str:
    """The summary of wmem."""
    return extract([WeightedText(text, 1.0) for text in texts], limit, _count, _analyzer).text


def take_first(texts: Sequence[str], limit: int) -> str:
    """The first sentences."""
    return _take(_list_sentences(texts), limit)


def take_last(texts: Sequence[str], limit: int) -> str:
    """The last sentences."""
    return _take(_list_sentences(texts)[::-1], limit)


def take_any(texts: Sequence[str], limit: int) -> str:
    """Sentences by chance, the same each time."""
    sentences = _list_sentences(texts)
    random.Random(7).shuffle(sentences)
    return _take(sentences, limit)


WAYS: dict[str, Make] = {"wmem": summarize, "first": take_first, "last": take_last, "any": take_any}


def _list_sentences(texts: Sequence[str]) -> list[tuple[int, str]]:
    return list(enumerate(sentence for text in texts for sentence in split_sentences(text)))


def _take(sentences: Sequence[tuple[int, str]], limit: int) -> str:
    chosen = []
    for place, sentence in sentences:
        if (tokens := _count(sentence) + 1) <= limit:
            chosen.append((place, sentence))
            limit -= tokens
    return "\n".join(sentence for _, sentence in sorted(chosen))


def measure(sessions: Sequence[Session], ratio: float, make: Make) -> float:
    """The share of what is asked for that summaries of a ratio keep."""
    kept = 0
    for texts, checks in sessions:
        summary = make(texts, int(ratio * sum(map(_count, texts))))
        kept += sum(check(summary) for check in checks)
    return kept / sum(len(session.checks) for session in sessions)


def golden_sessions(name: str) -> list[Session]:
    """The golden tasks of a file."""
    tasks = read_tasks(name)
    return [Session(task.texts, [_has_any(answers) for _, answers in task.questions]) for task in tasks]


def _has_any(answers: Sequence[str]) -> Check:
    return lambda summary: any(to_plain(each) in to_plain(summary) for each in answers)


def _keeps_line(line: str, answer: str) -> Check:
    wanted = frozenset(_analyzer.to_terms(answer)) & frozenset(_analyzer.to_terms(line))
    sentences = frozenset(split_sentences(line))

    def check(summary: str) -> bool:
        if wanted:
            return wanted <= frozenset(_analyzer.to_terms(summary))
        return not sentences.isdisjoint(summary.split("\n"))

    return check


def locomo_sessions() -> Iterator[Session]:
    """The sessions of LoCoMo, each with the evidence lines that are in it."""
    for conversation in conversations(where()):
        lines: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for turn in conversation.turns:
            lines[turn.session][turn.id] = f"{turn.speaker}: {turn.text}"
        for session in lines.values():
            checks = [
                _keeps_line(session[id], str(question.answer))
                for question in conversation.questions
                for id in sorted(question.evidence)
                if id in session
            ]
            if checks:
                yield Session(list(session.values()), checks)


def talk_sessions(family: str) -> Iterator[Session]:
    """The threads of a family of talks, each with its evidence messages, or the texts that answer."""
    for file in list_talk_files():
        talk = read_talk(file)
        if talk.family != family:
            continue
        threads: defaultdict[object, dict[str, str]] = defaultdict(dict)
        for message in talk.messages:
            threads[message["thread_id"]][message["id"]] = f"{message['role']}: {to_text(message)}"
        for thread in threads.values():
            whole = "\n".join(thread.values())
            checks = [
                _keeps_line(thread[id], re.sub(r"\W+", " ", " ".join(question.needles)))
                for question in talk.questions
                for id in question.evidence
                if id in thread
            ]
            checks += [
                _has_any([needle])
                for question in talk.questions
                for needle in question.needles
                if not question.evidence and to_plain(needle) in to_plain(whole)
            ]
            if checks:
                yield Session(list(thread.values()), checks)


def main() -> None:
    """Print the curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", nargs="*", default=[*FILES, "locomo", "tau", "beam"])
    parser.add_argument("--share", type=int, default=1, help="measure each so many-th session alone")
    chosen = parser.parse_args()
    print(f"{'':28}" + "".join(f"{ratio:7.1f}" for ratio in RATIOS) + f"   default {DEFAULT_RATIO}")
    for name in chosen.set:
        if name in FILES:
            sessions = golden_sessions(name)
        else:
            sessions = list(locomo_sessions() if name == "locomo" else talk_sessions(name))[:: chosen.share]
        for way, make in WAYS.items():
            shares = [100 * measure(sessions, ratio, make) for ratio in RATIOS]
            print(f"{name:16} {way:11}" + "".join(f"{share:7.1f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
