"""Reads the demo's conversation from a LoCoMo file, and selects the questions to ask."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["SAMPLE", "Conversation", "Exchange", "Question", "Session", "Turn", "read_conversation", "sample_evenly"]

SAMPLE = Path(__file__).parent / "sample_conversation.json"

_CATEGORIES = {1: "several turns", 2: "a date", 4: "one turn"}
"""Question categories answerable from the conversation; others need outside knowledge or a refusal."""
_TURN_ID = re.compile(r"D:?(\d+):(\d+)")
_TURN_GAP_S = 30
"""Assumed seconds between turns: the data has only the start time of a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a speaker; `at` is UTC epoch seconds."""

    id: str
    speaker: str
    text: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One sitting of the two, in order."""

    started_at: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One run of the agent: a message of its user, and the reply, if there was one.

    Attributes:
        opening: Turns of the partner before it that reply to nothing.
    """

    opening: tuple[Turn, ...]
    message: Turn
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
    """Two people over many sessions: the agent's user, and a partner whose turns are the agent's replies."""

    user: str
    partner: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    """All questions with an answer in the conversation."""

    @property
    def turns(self) -> list[Turn]:
        """All turns, oldest first."""
        return [turn for session in self.sessions for turn in session.turns]

    def exchanges(self) -> Iterator[Exchange]:
        """The conversation as runs of an agent, one per message of its user."""
        opening: list[Turn] = []
        for session in self.sessions:
            answered = False
            for turn, following in zip(session.turns, (*session.turns[1:], None), strict=True):
                if turn.speaker == self.user:
                    answered = following is not None and following.speaker != self.user
                    yield Exchange(opening=tuple(opening), message=turn, reply=following if answered else None)
                    opening = []
                elif answered:
                    answered = False
                else:
                    opening.append(turn)

    def early_questions(self) -> list[Question]:
        """The questions whose evidence is entirely in the first third of the sessions."""
        third = self.sessions[: len(self.sessions) // 3]
        early = {turn.id for session in third for turn in session.turns}
        return [each for each in self.questions if all(turn.id in early for turn in each.evidence)]


def sample_evenly(questions: Sequence[Question], count: int) -> list[Question]:
    """`count` questions, evenly spread over all, so that the selection ignores how well each is answered."""
    count = min(count, len(questions))
    return [questions[place * len(questions) // count] for place in range(count)]


def read_conversation(path: Path) -> Conversation:
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
        started_at=began,
        turns=tuple(
            Turn(
                id=each["dia_id"], speaker=each["speaker"], text=_text(each), at=began.timestamp() + place * _TURN_GAP_S
            )
            for place, each in enumerate(turns)
        ),
    )


def _text(turn: dict[str, Any]) -> str:
    """The turn's text, with the caption of a shared photo."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [photo: {caption}]" if caption else str(turn["text"])


def _question(raw: dict[str, Any], known: dict[str, Turn]) -> Question:
    ids = {f"D{n}:{m}": None for text in raw["evidence"] for n, m in _TURN_ID.findall(text)}
    return Question(
        text=raw["question"],
        answer=str(raw["answer"]),
        kind=_CATEGORIES[raw["category"]],
        evidence=tuple(known[each] for each in ids if each in known),
    )
