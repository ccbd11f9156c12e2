"""Who said what beside whom: the messages of a conversation as links, by session.

A session ends with a silence, or where another thread begins; threads that run at the
same time each have their own.
"""

from collections import Counter

from wmem.text.cues import speaker_in, tells_a_time

__all__ = ["Turn", "Turns"]

_SILENCE_S = 4 * 3_600.0
"""So much time between two messages of a thread ends its session."""
_CHARS_A_TOKEN = 4
_SPOKEN = 3
"""Who is known from a transcript alone has spoken as often as this."""


class Turn:
    """One message among those around it."""

    __slots__ = ("after", "at", "before", "session", "speaker", "timed", "tokens", "user")

    def __init__(self, session: int, at: float) -> None:
        self.session = session
        self.at = at
        self.before: str | None = None
        """The message before it in its session."""
        self.after: str | None = None
        self.tokens = 1
        self.speaker: str | None = None
        self.user = False
        self.timed = False
        """Whether it tells a time."""


class Turns:
    """The messages of a scope by id, each with its neighbours."""

    __slots__ = ("_last", "_sessions", "_speakers", "_turns")

    def __init__(self) -> None:
        self._turns: dict[str, Turn] = {}
        self._last: dict[str | None, str] = {}
        """The newest message of each thread."""
        self._sessions = 0
        self._speakers: Counter[str] = Counter()

    def get(self, id: str | None) -> Turn | None:
        """The message with an id; None is the id of no message."""
        return None if id is None else self._turns.get(id)

    def speakers(self) -> list[str]:
        """Who is known to have spoken, folded."""
        return [speaker for speaker, times in self._speakers.items() if times >= _SPOKEN]

    def put(
        self, id: str, text: str, *, role: str, name: str | None, thread: str | None, at: float, tokens: int | None
    ) -> Turn:
        """Take in the newest message, or another text for one that is there; it keeps its place."""
        turn = self._turns.get(id)
        if turn is None:
            turn = self._turns[id] = self._linked(id, thread, at)
        else:
            self._unsay(turn)
        turn.speaker = speaker_in(name, text) if role in ("user", "assistant") else None
        turn.tokens = max(1, len(text) // _CHARS_A_TOKEN if tokens is None else tokens)
        turn.user = role == "user"
        turn.timed = tells_a_time(text)
        if turn.speaker is not None:
            self._speakers[turn.speaker] += 1
        return turn

    def remove(self, id: str) -> None:
        """Let the neighbours of a message be neighbours."""
        turn = self._turns.pop(id, None)
        if turn is None:
            return
        self._unsay(turn)
        if turn.before is not None:
            self._turns[turn.before].after = turn.after
        if turn.after is not None:
            self._turns[turn.after].before = turn.before
        for thread, last in list(self._last.items()):
            if last == id:
                if turn.before is None:
                    del self._last[thread]
                else:
                    self._last[thread] = turn.before

    def _linked(self, id: str, thread: str | None, at: float) -> Turn:
        last = self._last.get(thread)
        self._last[thread] = id
        before = None if last is None else self._turns[last]
        if last is None or before is None or abs(at - before.at) > _SILENCE_S:
            self._sessions += 1
            return Turn(self._sessions, at)
        turn = Turn(before.session, at)
        turn.before, before.after = last, id
        return turn

    def _unsay(self, turn: Turn) -> None:
        if turn.speaker is not None:
            self._speakers[turn.speaker] -= 1
            if not self._speakers[turn.speaker]:
                del self._speakers[turn.speaker]
