"""Neighbour graph of messages; a gap of 4 h or another thread starts a new session.

Threads that run at the same time each have their own sessions. The data of a message is
stored in columns, at its slot; slot 0 means no message. Whatever is edited or removed, the graph is the one of the
messages as they are now: numbers of slots and sessions alone may be others.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from zlib import crc32

from wmem.analysis.query_intent import detect_speaker, ends_with_question, mentions_time
from wmem.retrieval.exchanges import Exchanges, Position

MAX_NEIGHBORS = 8
"""Most neighbours of a message: the one before, the one after, the one before that, and so on."""
_CLOSE_DISTANCE = 2
"""Distance in messages that always counts as near; farther ones do across up to so many speaker changes."""

_ROW_BYTES = MAX_NEIGHBORS * array("I").itemsize
_NO_NEIGHBORS = bytes(_ROW_BYTES)
_SESSION_GAP_S = 4 * 3_600.0  # a longer time between two messages of a thread starts a new session
_CHARS_PER_TOKEN = 4
_PART = 16  # messages with which a new part of a long exchange may begin: one of so many, chosen by its id
_SPEAKER_ROLES = ("user", "assistant")  # roles that are linked as neighbours; tool and system messages are not
_LABEL_IS_USER = {
    "user": True,
    "human": True,
    "me": True,
    "assistant": False,
    "ai": False,
    "bot": False,
    "model": False,
}
"""Transcript labels, and whether they mean the user; they override the role of the message."""
_MIN_MESSAGES = 3  # fewest messages of a speaker to be known: a transcript label may be a false match


class NeighborGraph:
    """The messages of a scope and their neighbours."""

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}
        self._free_slots: list[int] = []
        self._thread_numbers: dict[str | None, int] = {}
        self._thread_names: dict[int, str | None] = {}
        self._thread_count = 0
        self._newest_by_thread: dict[int, int] = {}  # the newest message of each thread, by the thread's number
        self._threads = array("I", (0,))
        self._earlier = array("I", (0,))  # the message before in its thread, whatever its role; 0 for none
        self._later = array("I", (0,))
        self._is_spoken = array("B", (0,))
        self._session_count = 0
        self._speaker_count = 0
        self._speaker_counts: Counter[str] = Counter()
        self.before = array("I", (0,))
        """The slot of the previous message in its session; 0 for none."""
        self.after = array("I", (0,))
        self.sessions = array("I", (0,))
        self.created_at = array("d", (math.nan,))
        self.tokens = array("d", (math.inf,))
        self.speakers: list[str | None] = [None]
        self.is_user = array("B", (0,))
        self.mentions_time = array("B", (0,))
        """Whether the text contains a word for a time."""
        self.asks = array("B", (0,))
        """Whether the text ends with a question."""
        self.speaker_numbers = array("I", (0,))
        """A number for each pair of a speaker and whether the role is "user"."""
        self.neighbors = array("I", bytes(_ROW_BYTES))
        """`MAX_NEIGHBORS` values for each slot: the slots of its neighbours, the nearest first; 0 for none."""
        self.exchanges = Exchanges()
        self.moved: list[int] = []
        """Slots of known messages that came into another session; whoever reads them empties the list."""
        self._number_by_speaker: dict[tuple[str | None, bool], int] = {}

    def list_attributes(self) -> dict[str, Any]:
        """All attributes but the exchanges, which are stored for themselves."""
        return {name: value for name, value in vars(self).items() if name != "exchanges"}

    def restore(self, attributes: Mapping[str, Any]) -> Iterator[None]:
        """Take, in steps, what `list_attributes` listed."""
        vars(self).update(attributes)
        yield

    def slot(self, id: str) -> int:
        """The slot of a message; 0 for an unknown id."""
        return self._slots.get(id, 0)

    def next_of_speaker(self, slot: int, *, after: bool) -> int:
        """The slot of what the speaker of a message said next, or before; 0 if others spoke too long in between."""
        links, at = (self.after if after else self.before), slot
        for _ in range(MAX_NEIGHBORS // 2):
            at = links[at]
            if not at or self.speaker_numbers[at] == self.speaker_numbers[slot]:
                return at
        return 0

    def speaker_names(self) -> list[str]:
        """The names of the known speakers, case-folded."""
        return sorted(speaker for speaker, times in self._speaker_counts.items() if times >= _MIN_MESSAGES)

    def put(
        self,
        id: str,
        text: str,
        *,
        role: str,
        name: str | None,
        thread: str | None,
        at: float,
        tokens: int | None,
        turn: str | None = None,
        has_calls: bool = False,
        position: Position | None = None,
    ) -> int:
        """Add a message as the newest, or in its place a known one that changed.

        Args:
            position: Where it stands; None if it is the newest.

        Returns:
            Its slot.
        """
        is_spoken = role in _SPEAKER_ROLES and bool(text.strip())
        slot = self._slots.get(id)
        is_known = slot is not None
        if slot is None:
            slot = self._slots[id] = self._allocate_slot()
        else:
            self._uncount_speaker(slot)
        speaker = self.speakers[slot] = detect_speaker(name, text) if role in ("user", "assistant") else None
        self.tokens[slot] = max(1, len(text) // _CHARS_PER_TOKEN if tokens is None else tokens)
        self.is_user[slot] = _LABEL_IS_USER.get(speaker or "", role == "user")
        self.mentions_time[slot] = mentions_time(text)
        self.asks[slot] = ends_with_question(text)
        if speaker is not None:
            self._speaker_counts[speaker] += 1
        voice, before = self._speaker_number(speaker, user=role == "user"), self.speaker_numbers[slot]
        self.speaker_numbers[slot] = voice
        number = self._number_thread(thread)
        if is_known and (self._threads[slot], self._is_spoken[slot]) == (number, is_spoken):
            if before != voice:
                near = self._slots_around(slot)
                self._rebuild_neighbors((*near[0], slot), near[1])
        else:
            if is_known:
                self._unlink(slot)
                number = self._number_thread(thread)  # a thread goes with its only message
            self._link(slot, number, at, is_spoken=is_spoken, position=position)
        self.exchanges.put(
            slot,
            text,
            role=role,
            begins=bool(self.is_user[slot]),
            group=turn or thread,
            at=at,
            has_calls=has_calls,
            cuts=role != "tool" and not crc32(id.encode()) % _PART,
            position=position,
        )
        return slot

    def _speaker_number(self, speaker: str | None, *, user: bool) -> int:
        number = self._number_by_speaker.get((speaker, user))
        if number is None:
            self._speaker_count += 1
            number = self._number_by_speaker[speaker, user] = self._speaker_count
        return number

    def compact(self) -> None:
        """Forget the names of speakers whose messages are all gone."""
        for speaker, user in list(self._number_by_speaker):
            if speaker is not None and speaker not in self._speaker_counts:
                del self._number_by_speaker[speaker, user]

    def remove(self, id: str) -> None:
        """Remove a message and link the ones before and after it."""
        slot = self._slots.pop(id, None)
        if slot is None:
            return
        self._uncount_speaker(slot)
        self.exchanges.remove(slot)
        self.speakers[slot] = None
        self._unlink(slot)
        self.speaker_numbers[slot] = 0
        self._free_slots.append(slot)

    def _number_thread(self, thread: str | None) -> int:
        number = self._thread_numbers.get(thread)
        if number is None:
            self._thread_count += 1
            number = self._thread_numbers[thread] = self._thread_count
            self._thread_names[number] = thread
        return number

    def _link(self, slot: int, thread: int, at: float, *, is_spoken: bool, position: Position | None) -> None:
        """Put a message into its place in a thread."""
        before, after = self._newest_by_thread.get(thread, 0), 0
        while before and position is not None and position.numbers[before] > position.number:
            before, after = self._earlier[before], before
        self._threads[slot], self.created_at[slot], self._is_spoken[slot] = thread, at, False
        self._earlier[slot], self._later[slot] = before, after
        if before:
            self._later[before] = slot
        if after:
            self._earlier[after] = slot
        else:
            self._newest_by_thread[thread] = slot
        self.before[slot] = self.after[slot] = 0
        if before and self._goes_on(before, slot):
            self.sessions[slot] = self.sessions[before]
        else:
            self._session_count += 1
            self.sessions[slot] = self._session_count
        if after:
            self._update_from(after)
        if is_spoken:
            self._is_spoken[slot] = True
            near = self._find_spoken(slot, self._earlier), self._find_spoken(slot, self._later) if after else 0
            self._join(near[0], slot)
            self._join(slot, near[1])
            if near[1]:
                around = self._slots_around(slot)
                self._rebuild_neighbors((*around[0], slot), around[1])
            else:
                self._link_neighbors(slot)

    def _unlink(self, slot: int) -> None:
        """Take a message out of its thread."""
        if self._is_spoken[slot]:
            around, before, after = self._slots_around(slot), self.before[slot], self.after[slot]
            self._join(before, after)
            self.before[slot] = self.after[slot] = 0
            self._rebuild_neighbors((*around[0], slot), around[1])
        self._is_spoken[slot] = False
        before, after = self._earlier[slot], self._later[slot]
        self._later[before], self._earlier[after] = after, before
        self._later[0] = self._earlier[0] = 0
        if not after:
            thread = self._threads[slot]
            if before:
                self._newest_by_thread[thread] = before
            else:
                del self._newest_by_thread[thread]
                del self._thread_numbers[self._thread_names.pop(thread)]
        else:
            self._update_from(after)

    def _goes_on(self, before: int, slot: int) -> bool:
        return abs(self.created_at[slot] - self.created_at[before]) <= _SESSION_GAP_S

    def _update_from(self, slot: int) -> None:
        """Begin a session with a message or go on with the one before, as what is before it now asks for."""
        before, session = self._earlier[slot], self.sessions[slot]
        goes_on = bool(before) and self._goes_on(before, slot)
        if goes_on is (session == self.sessions[before]) and session != self.sessions[self._earlier[before]]:
            return
        if goes_on:
            wanted = self.sessions[before]
        else:
            self._session_count += 1
            wanted = self._session_count
        at = slot
        while at and self.sessions[at] == session:
            self.sessions[at] = wanted
            self.moved.append(at)
            at = self._later[at]
        first = slot if self._is_spoken[slot] else self._find_spoken(slot, self._later)
        if not first:
            return
        last = self.before[first] or self._find_spoken(first, self._earlier)
        if not last:
            return
        if goes_on:
            self._join(last, first)
        else:
            self.after[last] = self.before[first] = 0
        self._rebuild_neighbors(
            (*([] if goes_on else [last]), *self._slots_around(first if goes_on else last)[0]),
            (first, *self._slots_around(first)[1]),
        )

    def _find_spoken(self, slot: int, links: "array[int]") -> int:
        """The nearest message that is linked, before or after one in its session; 0 for none."""
        at = links[slot]
        while at and not self._is_spoken[at] and self.sessions[at] == self.sessions[slot]:
            at = links[at]
        return at if at and self.sessions[at] == self.sessions[slot] else 0

    def _join(self, before: int, after: int) -> None:
        """Link two messages; 0 for none."""
        if before:
            self.after[before] = after
        if after:
            self.before[after] = before

    def _slots_around(self, slot: int) -> tuple[list[int], list[int]]:
        """The slots before and after it in its session, as far as neighbours reach."""
        found: tuple[list[int], list[int]] = [], []
        for each, links in zip(found, (self.before, self.after), strict=True):
            at = links[slot]
            while at and len(each) < MAX_NEIGHBORS // 2:
                each.append(at)
                at = links[at]
        return found

    def _rebuild_neighbors(self, before: Sequence[int], after: Sequence[int]) -> None:
        """Recompute the neighbours of these messages, after a change between them."""
        for slot in before:
            # Only for those before the change: the neighbours after the others did not change.
            self.neighbors[slot * MAX_NEIGHBORS + 1 : (slot + 1) * MAX_NEIGHBORS : 2] = array(
                "I", bytes(_ROW_BYTES // 2)
            )
        for slot in (*before, *after):
            self._link_neighbors(slot)

    def _link_neighbors(self, slot: int) -> None:
        """Set the neighbours before a message, and the message as a neighbour after each of them."""
        near, voices, at, changes = self.neighbors, self.speaker_numbers, slot, 0
        for place in range(0, MAX_NEIGHBORS, 2):
            before = self.before[at]
            changes += voices[before] != voices[at]
            at = before
            close = at if place < 2 * _CLOSE_DISTANCE or changes <= _CLOSE_DISTANCE else 0
            near[slot * MAX_NEIGHBORS + place] = close
            if close:
                near[close * MAX_NEIGHBORS + place + 1] = slot

    def _allocate_slot(self) -> int:
        """A free slot; the columns grow if there is none."""
        if self._free_slots:
            return self._free_slots.pop()
        self.before.append(0)
        self.after.append(0)
        self.sessions.append(0)
        self._threads.append(0)
        self._earlier.append(0)
        self._later.append(0)
        self._is_spoken.append(0)
        self.is_user.append(0)
        self.mentions_time.append(0)
        self.asks.append(0)
        self.speaker_numbers.append(0)
        self.created_at.append(0)
        self.tokens.append(0)
        self.neighbors.frombytes(_NO_NEIGHBORS)
        self.speakers.append(None)
        return len(self.speakers) - 1

    def _uncount_speaker(self, slot: int) -> None:
        speaker = self.speakers[slot]
        if speaker is not None:
            self._speaker_counts[speaker] -= 1
            if not self._speaker_counts[speaker]:
                del self._speaker_counts[speaker]
