"""What the texts of a scope state, by subject, so that a question finds the newer of two statements with the older."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias

from wmem.rules.updates import Statement, read_statements

_Key: TypeAlias = tuple[str, str, str]
"""Speaker, kind of the value, and the subject, or a word of the value."""
_MAX_RELATED = 16  # the newest texts of one subject that are looked at
_ANY_NAME = "\0name"
_STEP_TEXTS = 512  # that are restored in one step


class Stated(NamedTuple):
    """What a text states, and who says so."""

    speaker: str
    statements: Sequence[Statement]

    @property
    def refers(self) -> bool:
        """Whether a statement names neither its subject nor the value before: "make that 700"."""
        return any(not each.subject and not each.before for each in self.statements)


class StatementIndex:
    """Statements by text; for each subject, and each value that a change names, the texts that state it."""

    __slots__ = ("_by_id", "_by_subject", "_by_value", "_changes")

    def __init__(self) -> None:
        self._by_id: dict[str, Stated] = {}
        self._by_subject: dict[_Key, dict[str, None]] = {}
        self._by_value: dict[_Key, dict[str, None]] = {}
        self._changes: dict[_Key, dict[str, None]] = {}  # texts that name no subject, by a word of the value before

    def list_attributes(self) -> dict[str, list[Any]]:
        """What each text states, as plain data, from which all else follows."""
        return {"texts": [(id, stated.speaker, stated.statements) for id, stated in self._by_id.items()]}

    def restore(self, attributes: Mapping[str, Sequence[Any]]) -> Iterator[None]:
        """Take, in steps, what `list_attributes` listed, where there was nothing."""
        texts = attributes["texts"]
        for begin in range(0, len(texts), _STEP_TEXTS):
            for id, speaker, statements in texts[begin : begin + _STEP_TEXTS]:
                self._add(id, Stated(speaker, tuple(Statement(*each) for each in statements)))
            yield

    def put(self, id: str, text: str, speaker: str, *, fact: bool, number: Callable[[str], int]) -> None:
        """Read what a text states, in place of what the id stated before.

        Args:
            speaker: Who says so; statements of different speakers have nothing to do with each other.
            fact: See `read_statements`.
            number: By the id of a text a number that is larger for later ones.
        """
        self.remove(id)
        if statements := read_statements(text, fact=fact):
            stated = Stated(speaker, statements)
            self._add(id, stated)
            for index, key in self._keys(stated):
                ids = index[key]
                if len(ids) > 1 and number(id) < number(next(islice(reversed(ids), 1, None))):
                    index[key] = dict.fromkeys(sorted(ids, key=number))

    def sort(self, number: Callable[[str], int]) -> None:
        """Put the texts in order, see `put`, as they are to be stored."""
        self._by_id = {id: self._by_id[id] for id in sorted(self._by_id, key=number)}

    def _add(self, id: str, stated: Stated) -> None:
        self._by_id[id] = stated
        for index, key in self._keys(stated):
            index.setdefault(key, {})[id] = None

    def remove(self, id: str) -> None:
        """Forget what a text states."""
        stated = self._by_id.pop(id, None)
        if stated is None:
            return
        for index, key in self._keys(stated):
            ids = index.get(key)
            if ids is None or id not in ids:
                continue
            del ids[id]
            if not ids:
                del index[key]

    def get(self, id: str) -> Stated | None:
        """What a text states; None for nothing."""
        return self._by_id.get(id)

    def select(self, ids: Iterable[str]) -> list[tuple[str, Stated]]:
        """Those of these texts that state something, and what."""
        known = self._by_id
        return [(id, known[id]) for id in ids if id in known]

    def list_related(self, stated: Iterable[Stated]) -> Iterator[str]:
        """The ids of texts that may say something of a subject of these."""
        return chain.from_iterable(map(self._iter_related, stated))

    def _iter_related(self, stated: Stated) -> Iterator[str]:
        speaker = stated.speaker
        for statement in stated.statements:
            kind = statement.kind
            if statement.subject:
                yield from _newest(self._by_subject, (speaker, kind, statement.subject))
                for word in _value_words(statement):
                    yield from _newest(self._changes, (speaker, kind, word))
            else:
                for word in _before_words(statement):
                    yield from _newest(self._by_value, (speaker, kind, word))

    def _keys(self, stated: Stated) -> list[tuple[dict[_Key, dict[str, None]], _Key]]:
        keys: dict[tuple[int, _Key], tuple[dict[_Key, dict[str, None]], _Key]] = {}
        for statement in stated.statements:
            kind = statement.kind
            words = _value_words(statement) if statement.subject else _before_words(statement)
            index = self._by_value if statement.subject else self._changes
            wanted = [(index, word) for word in words]
            if statement.subject:
                wanted.append((self._by_subject, statement.subject))
            for target, word in wanted:
                keys[id(target), (stated.speaker, kind, word)] = target, (stated.speaker, kind, word)
        return list(keys.values())


def _value_words(statement: Statement) -> list[str]:
    return [*statement.value.split(), *([_ANY_NAME] if statement.kind == "name" else [])]


def _before_words(statement: Statement) -> list[str]:
    return statement.before.split() or ([_ANY_NAME] if statement.kind == "name" else [])


def _newest(index: Mapping[_Key, dict[str, None]], key: _Key) -> Iterator[str]:
    return islice(reversed(index.get(key, {})), _MAX_RELATED)
