"""Which of several dated statements a newer one has superseded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from wmem.rules.updates.statement import NAME, OWN_NAME, Statement


class Dated(NamedTuple):
    """A statement, the text it is from, who said it, and when.

    Attributes:
        at: UTC epoch seconds.
        place: Orders the statements of one instant.
        follows: The id of the text that the same speaker said just before, if that is near enough for an "it".
    """

    id: str
    speaker: str
    at: float
    place: tuple[int, ...]
    statement: Statement
    follows: str = ""


def find_superseded(statements: Iterable[Dated]) -> Mapping[str, str]:
    """By the id of each text that a newer one supersedes, the id of the newest that does.

    Texts of different speakers never supersede each other. A value that was changed and changed back holds again.
    """
    groups: dict[tuple[str, str, str], list[Dated]] = {}
    for each in sorted(statements, key=_instant):
        subject = each.statement.subject or _find_subject(each, groups)
        if subject is not None:
            groups.setdefault((each.speaker, subject, each.statement.kind), []).append(each)
    superseded: dict[str, Dated] = {}
    for group in groups.values():
        for older, newer in _list_superseded(group):
            known = superseded.get(older.id)
            if known is None or _instant(known) < _instant(newer):
                superseded[older.id] = newer
    return {older: newer.id for older, newer in superseded.items()}


def _instant(each: Dated) -> tuple[float, tuple[int, ...]]:
    return each.at, each.place


def _find_subject(each: Dated, groups: Mapping[tuple[str, str, str], Sequence[Dated]]) -> str | None:
    """The one subject that an "it" means: of the one that had the value before, or of what was said just before."""
    kind, before = each.statement.kind, each.statement.before
    own = {
        subject: group for (speaker, subject, its), group in groups.items() if (speaker, its) == (each.speaker, kind)
    }
    if before:
        meant = {subject for subject, group in own.items() if _overlap(_last_value(group), before)}
    else:
        meant = {subject for subject, group in own.items() if any(said.id in (each.follows, each.id) for said in group)}
        if not meant and kind == NAME:
            meant = own.keys() - {OWN_NAME}
    return next(iter(meant)) if len(meant) == 1 else None


def _last_value(group: Sequence[Dated]) -> str:
    return next((each.statement.value for each in reversed(group) if each.statement.value), "")


def _list_superseded(group: Sequence[Dated]) -> Iterator[tuple[Dated, Dated]]:
    """What in a group of one subject, oldest first, is no longer so, each with the newest statement that says so."""
    for at, older in enumerate(group[:-1]):
        if not older.statement.value:
            continue
        for place in range(len(group) - 1, at, -1):  # the newest that is of it decides
            later = group[place]
            if later.statement.value and _overlap(older.statement.value, later.statement.value):
                break  # it holds again
            if _supersedes(later.statement, older.statement):
                if later.id != older.id:
                    yield older, later
                break


def _supersedes(newer: Statement, older: Statement) -> bool:
    """Whether a statement of the same subject, with another value or none, says that the older is no longer so."""
    if newer.value:
        meant = not newer.before or _overlap(older.value, newer.before)
        return (newer.changes and meant) or (newer.single and older.single)
    return newer.changes and (not newer.before or _overlap(older.value, newer.before))


def _overlap(one: str, other: str) -> bool:
    """Whether one value has all words of the other, or is short for it: "Berlin", "Berlin, Germany"; "New York", "NYC"."""
    these, those = one.split(), other.split()
    if not these or not those:
        return False
    return {*these} <= {*those} or {*those} <= {*these} or _is_short_for(these, those) or _is_short_for(those, these)


def _is_short_for(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a word has the first letters of several, and perhaps that of "city" or "America": no "car" of "cash account"."""
    if len(one) != 1 or len(other) < 2:  # noqa: PLR2004  # a single word is no abbreviation of one
        return False
    letters = "".join(word[0] for word in other)
    return one[0] in (letters, f"{letters}c", f"{letters}a")
