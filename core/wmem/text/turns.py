"""Neighbour graph of messages; a gap of 4 h or another thread starts a new session.

Threads that run at the same time each have their own sessions. The data of a message is
stored in columns, at its slot; slot 0 means no message.
"""

import math
from array import array
from collections import Counter
from collections.abc import Sequence

from wmem.text.cues import speaker_in, tells_a_time

__all__ = ["NEAR", "Turns"]

NEAR = 8
"""Most neighbours of a message: the one before, the one after, the one before that, and so on."""
_CLOSE = 2
"""Distance in messages that always counts as near; farther ones do across up to so many speaker changes."""

_ROW = NEAR * array("I").itemsize
_SILENCE_S = 4 * 3_600.0
"""A longer time between two messages of a thread starts a new session."""
_CHARS_A_TOKEN = 4
_SPEAKERS = ("user", "assistant")
"""Roles that are linked as neighbours; tool and system messages are not."""
_LABELS = {"user": True, "human": True, "me": True, "assistant": False, "ai": False, "bot": False, "model": False}
"""Transcript labels, and whether they mean the user; they override the role of the message."""
_SPOKEN = 3
"""Fewest messages of a speaker to be known: a transcript label may be a false match."""


class Turns:
    """The messages of a scope and their neighbours."""

    __slots__ = (
        "_free",
        "_last",
        "_numbers",
        "_sessions",
        "_slots",
        "_speakers",
        "after",
        "at",
        "before",
        "near",
        "sessions",
        "speakers",
        "timed",
        "tokens",
        "user",
        "voices",
    )

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._last: dict[str | None, int] = {}
        """The newest message of each thread."""
        self._sessions = 0
        self._speakers: Counter[str] = Counter()
        self.before = array("I", (0,))
        """The slot of the previous message in its session; 0 for none."""
        self.after = array("I", (0,))
        self.sessions = array("I", (0,))
        self.at = array("d", (math.nan,))
        self.tokens = array("d", (math.inf,))
        self.speakers: list[str | None] = [None]
        self.user = array("B", (0,))
        self.timed = array("B", (0,))
        """Whether the text contains a word for a time."""
        self.voices = array("I", (0,))
        """A number for each pair of a speaker and whether the role is "user"."""
        self.near = array("I", bytes(_ROW))
        """`NEAR` values for each slot: the slots of its neighbours, the nearest first; 0 for none."""
        self._numbers: dict[tuple[str | None, bool], int] = {}

    def slot(self, id: str) -> int:
        """The slot of a message; 0 for an unknown id."""
        return self._slots.get(id, 0)

    def known(self) -> list[str]:
        """The names of the known speakers, case-folded."""
        return [speaker for speaker, times in self._speakers.items() if times >= _SPOKEN]

    def put(
        self, id: str, text: str, *, role: str, name: str | None, thread: str | None, at: float, tokens: int | None
    ) -> int:
        """Add a message as the newest, or update the text of a known one in place.

        Returns:
            Its slot.
        """
        slot = self._slots.get(id)
        if slot is None:
            spoken = role in _SPEAKERS and bool(text.strip())
            slot = self._slots[id] = self._linked(thread, at) if spoken else self._beside(thread, at)
        else:
            self._unsay(slot)
        speaker = self.speakers[slot] = speaker_in(name, text) if role in ("user", "assistant") else None
        self.tokens[slot] = max(1, len(text) // _CHARS_A_TOKEN if tokens is None else tokens)
        self.user[slot] = _LABELS.get(speaker or "", role == "user")
        self.timed[slot] = tells_a_time(text)
        voice = self._numbers.setdefault((speaker, role == "user"), len(self._numbers) + 1)
        if speaker is not None:
            self._speakers[speaker] += 1
        if not self.voices[slot]:
            self.voices[slot] = voice
            self._meet(slot)
        elif self.voices[slot] != voice:
            self.voices[slot] = voice
            before, after = self._around(slot)
            self._meet_again((*before, slot), after)
        return slot

    def remove(self, id: str) -> None:
        """Remove a message and link the ones before and after it."""
        slot = self._slots.pop(id, None)
        if slot is None:
            return
        self._unsay(slot)
        self.speakers[slot] = None
        all_before, all_after = self._around(slot)
        before, after = self.before[slot], self.after[slot]
        if before:
            self.after[before] = after
        if after:
            self.before[after] = before
        self.before[slot], self.after[slot], self.voices[slot] = 0, 0, 0
        self._meet_again((*all_before, slot), all_after)
        for thread, last in list(self._last.items()):
            if last == slot:
                if before:
                    self._last[thread] = before
                else:
                    del self._last[thread]
        self._free.append(slot)

    def _linked(self, thread: str | None, at: float) -> int:
        last = self._last.get(thread)
        slot = self._last[thread] = self._taken()
        if last is None or abs(at - self.at[last]) > _SILENCE_S:
            self._sessions += 1
            last, session = 0, self._sessions
        else:
            session = self.sessions[last]
            self.after[last] = slot
        self.before[slot], self.after[slot] = last, 0
        self.sessions[slot], self.at[slot] = session, at
        return slot

    def _beside(self, thread: str | None, at: float) -> int:
        """A slot for a message that is not linked (tool, system, empty), in the current session of its thread."""
        last = self._last.get(thread)
        slot = self._taken()
        goes_on = last is not None and abs(at - self.at[last]) <= _SILENCE_S
        self.sessions[slot] = self.sessions[last] if last is not None and goes_on else self._sessions + 1
        self.before[slot], self.after[slot], self.at[slot] = 0, 0, at
        return slot

    def _around(self, slot: int) -> tuple[list[int], list[int]]:
        """The slots before and after it in its session, as far as neighbours reach."""
        found: tuple[list[int], list[int]] = [], []
        for each, links in zip(found, (self.before, self.after), strict=True):
            at = links[slot]
            while at and len(each) < NEAR // 2:
                each.append(at)
                at = links[at]
        return found

    def _meet_again(self, before: Sequence[int], after: Sequence[int]) -> None:
        """Recompute the neighbours of these messages, after a change between them."""
        for slot in before:
            # Only for those before the change: the neighbours after the others did not change.
            self.near[slot * NEAR + 1 : (slot + 1) * NEAR : 2] = array("I", bytes(_ROW // 2))
        for slot in (*before, *after):
            self._meet(slot)

    def _meet(self, slot: int) -> None:
        """Set the neighbours before a message, and the message as a neighbour after each of them."""
        near, voices, at, changes = self.near, self.voices, slot, 0
        for place in range(0, NEAR, 2):
            before = self.before[at]
            changes += voices[before] != voices[at]
            at = before
            close = at if place < 2 * _CLOSE or changes <= _CLOSE else 0
            near[slot * NEAR + place] = close
            if close:
                near[close * NEAR + place + 1] = slot

    def _taken(self) -> int:
        """A free slot; the columns grow if there is none."""
        if self._free:
            return self._free.pop()
        whole = (self.before, self.after, self.sessions, self.user, self.timed, self.voices)
        for column in (*whole, self.at, self.tokens):
            column.append(0)
        self.near.frombytes(bytes(_ROW))
        self.speakers.append(None)
        return len(self.speakers) - 1

    def _unsay(self, slot: int) -> None:
        speaker = self.speakers[slot]
        if speaker is not None:
            self._speakers[speaker] -= 1
            if not self._speakers[speaker]:
                del self._speakers[speaker]
