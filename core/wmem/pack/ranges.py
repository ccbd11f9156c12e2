"""Texts as ranges of the text that they are an excerpt of: what a pack quotes is verbatim, but for marks."""

import re
from collections.abc import Iterable

from wmem.analysis.sentences import GAP
from wmem.model.layout import Copy, Mark, Step

_LITERALS = (" ", GAP, "\n")
"""Marks without a number, by their kind; only ever added to at the end."""
_CUT, _TIMES = 16, 17  # kinds of marks with a number
_CUT_MARK = re.compile(r"\[… (\d{1,12}) tokens left out …\]")
_TIMES_MARK = re.compile(r"\[(\d{1,12}) times\]")
_SEEDS = (24, 12, 6, 3, 2, 1)  # characters by which a copy is found, the most first
_LEAST_COPY = 4  # characters: for fewer a mark takes less


def cut_mark(tokens: int) -> str:
    """The mark of what an excerpt leaves out."""
    return f"[… {tokens} tokens left out …]"


def times_mark(times: int) -> str:
    """The mark of a text that stands for so many of nearly the same."""
    return f"[{times} times]"


def find_steps(text: str, source: str) -> tuple[Step, ...] | None:
    """What a text is copied from, and its marks; None if it is no excerpt of the source."""
    steps: list[Step] = []
    at = behind = 0
    while at < len(text):
        copy, mark = _find_copy(text, at, source, behind), _find_mark(text, at)
        if mark is not None and (copy is None or copy.length < max(_LEAST_COPY, len(_write(mark)) + 1)):
            steps.append(mark)
            at += len(_write(mark))
        elif copy is None:
            return None
        else:
            steps.append(copy)
            at += copy.length
            behind = copy.start + copy.length
    return tuple(steps)


def copy_text(steps: Iterable[Step], source: str) -> str:
    """The text that was copied; a range beyond the source is empty."""
    return "".join(
        source[step.start : step.start + step.length] if isinstance(step, Copy) else _write(step) for step in steps
    )


def _write(mark: Mark) -> str:
    if mark.kind == _CUT:
        return cut_mark(mark.number)
    if mark.kind == _TIMES:
        return times_mark(mark.number)
    return _LITERALS[mark.kind] if mark.kind < len(_LITERALS) else ""


def _find_mark(text: str, at: int) -> Mark | None:
    for kind, pattern in ((_CUT, _CUT_MARK), (_TIMES, _TIMES_MARK)):
        if (found := pattern.match(text, at)) is not None and _write(Mark(kind, int(found[1]))) == found[0]:
            return Mark(kind, int(found[1]))
    return next((Mark(kind) for kind, literal in enumerate(_LITERALS) if text.startswith(literal, at)), None)


def _find_copy(text: str, at: int, source: str, behind: int) -> Copy | None:
    """The longest beginning of the rest of a text that a source has, behind the last one if that is as long."""
    for size in _SEEDS:
        seed = text[at : at + size]
        if len(seed) < size:
            continue
        places = [place for place in (source.find(seed, behind), source.find(seed)) if place >= 0]
        if places:
            copies = [Copy(place, _count_common(text, at, source, place)) for place in places]
            return max(copies, key=lambda each: each.length)
    return None


def _count_common(text: str, at: int, source: str, place: int) -> int:
    """How many characters two texts have in common from these places on."""
    low, high = 0, min(len(text) - at, len(source) - place)
    while low < high:
        middle = (low + high + 1) // 2
        if text[at + low : at + middle] == source[place + low : place + middle]:
            low = middle
        else:
            high = middle - 1
    return low
