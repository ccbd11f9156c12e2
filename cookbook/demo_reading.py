"""The conversation the demo runs on, and which of its questions are asked."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["SAMPLE", "Conversation", "Exchange", "Question", "Session", "Turn", "read", "spread"]

SAMPLE = Path(__file__).parent / "sample_conversation.json"

_CATEGORIES = {1: "several turns", 2: "a date", 4: "one turn"}
"""The kinds of question whose answer stands in the conversation; the others want outside knowledge or a refusal."""
_TURN_ID = re.compile(r"D:?(\d+):(\d+)")
_PACE_S = 30
"""Seconds from one turn to the next: the recordings say only when a session began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one person said; `at` is UTC epoch seconds."""

    id: str
    speaker: str
    text: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One sitting of the two, in order."""

    began: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What an agent hears at once and says to it: a message of its user, and the reply, if there was one.

    Attributes:
        opening: What the partner said unasked, before it.
    """

    opening: tuple[Turn, ...]
    said: Turn
    reply: Turn | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something asked about the conversation, its recorded answer, and the turns that hold the answer."""

    text: str
    answer: str
    kind: str
    evidence: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Two people over many sessions. The first is the agent's user, the second speaks for the agent."""

    user: str
    partner: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    """Every question with an answer in the conversation."""

    @property
    def turns(self) -> list[Turn]:
        """All turns, oldest first."""
        return [turn for session in self.sessions for turn in session.turns]

    def exchanges(self) -> Iterator[Exchange]:
        """The conversation as an agent lives through it, one message of its user after the other."""
        opening: list[Turn] = []
        for session in self.sessions:
            answered = False
            for turn, following in zip(session.turns, (*session.turns[1:], None), strict=True):
                if turn.speaker == self.user:
                    answered = following is not None and following.speaker != self.user
                    yield Exchange(opening=tuple(opening), said=turn, reply=following if answered else None)
                    opening = []
                elif answered:
                    answered = False
                else:
                    opening.append(turn)

    def early_questions(self) -> list[Question]:
        """The questions whose whole evidence lies in the first third of the sessions."""
        third = self.sessions[: len(self.sessions) // 3]
        early = {turn.id for session in third for turn in session.turns}
        return [each for each in self.questions if all(turn.id in early for turn in each.evidence)]


def spread(questions: Sequence[Question], count: int) -> list[Question]:
    """Some questions, evenly spread over all of them: a rule that knows nothing of how well one is answered."""
    count = min(count, len(questions))
    return [questions[place * len(questions) // count] for place in range(count)]


def read(path: Path) -> Conversation:
    """The first conversation of a file in LoCoMo's format."""
    first: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))[0]
    told: dict[str, Any] = first["conversation"]
    numbers = sorted(int(key.split("_")[1]) for key in told if re.fullmatch(r"session_\d+", key))
    sessions = tuple(_session(told[f"session_{n}"], told[f"session_{n}_date_time"]) for n in numbers)
    known = {turn.id: turn for session in sessions for turn in session.turns}
    questions = (_question(each, known) for each in first["qa"] if each["category"] in _CATEGORIES)
    return Conversation(
        user=told["speaker_a"],
        partner=told["speaker_b"],
        sessions=sessions,
        questions=tuple(each for each in questions if each.evidence),
    )


def _session(turns: list[dict[str, Any]], date_time: str) -> Session:
    began = datetime.strptime(date_time, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    return Session(
        began=began,
        turns=tuple(
            Turn(id=each["dia_id"], speaker=each["speaker"], text=_text(each), at=began.timestamp() + place * _PACE_S)
            for place, each in enumerate(turns)
        ),
    )


def _text(turn: dict[str, Any]) -> str:
    """What was said; a photograph that was shared is there as its caption."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [photo: {caption}]" if caption else str(turn["text"])


def _question(told: dict[str, Any], known: dict[str, Turn]) -> Question:
    ids = {f"D{n}:{m}": None for text in told["evidence"] for n, m in _TURN_ID.findall(text)}
    return Question(
        text=told["question"],
        answer=str(told["answer"]),
        kind=_CATEGORIES[told["category"]],
        evidence=tuple(known[each] for each in ids if each in known),
    )
