"""Memories that say nearly the same: the note quotes the best of them, with their number."""

from collections.abc import Iterable, Iterator

from wmem.model.part import Role
from wmem.pack.ranges import times_mark
from wmem.pack.render import NoteEntry
from wmem.tokens.counter import Counter


class Repeats:
    """What the note says, by speaker and gist, and how many memories say so."""

    def __init__(self, entries: Iterable[NoteEntry]) -> None:
        self._entries: dict[tuple[Role | None, str], NoteEntry] = {}
        self._times: dict[str, int] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: NoteEntry) -> None:
        """The note has this entry now."""
        self._entries.setdefault(_key(entry), entry)

    def count(self, entry: NoteEntry) -> bool:
        """Count a memory with the entry that says nearly the same; False if the note has none."""
        said = self._entries.get(_key(entry))
        if said is None:
            return False
        id = said.candidate.id
        self._times[id] = self._times.get(id, 1) + 1
        return True

    def tell(self, count: Counter, room: int) -> Iterator[NoteEntry]:
        """The entries that stand for several, with their number, as far as `room` tokens suffice; pinned ones stay."""
        for entry in self._entries.values():
            times = self._times.get(entry.candidate.id, 1)
            if times == 1 or entry.rule == "pinned":
                continue
            numbered = repeat_entry(entry, times, count)
            if numbered.tokens - entry.tokens <= room:
                room -= numbered.tokens - entry.tokens
                yield numbered


def repeat_entry(entry: NoteEntry, times: int, count: Counter) -> NoteEntry:
    """An entry that stands for so many memories; a single one stays as it is."""
    if times == 1:
        return entry
    block = tell_times(entry.quote.block, times)
    return entry._replace(quote=entry.quote._replace(block=block, tokens=count(f"{block}\n")), times=times)


def tell_times(text: str, times: int) -> str:
    """A text that stands for so many of nearly the same; one that is alone stays as it is."""
    return text if times == 1 else f"{text} {times_mark(times)}"


def _key(entry: NoteEntry) -> tuple[Role | None, str]:
    return entry.candidate.role, entry.quote.gist
