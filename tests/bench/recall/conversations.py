"""Conversations in LoCoMo's format: who said what when, and which turns answer which question."""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ADVERSARIAL", "CATEGORIES", "Conversation", "Question", "Said", "conversations", "where"]

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""Those that have an answer."""
ADVERSARIAL = 5
"""Asks one person for what the other one said: it has evidence, and no answer."""
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_VARIABLE = "WMEM_LOCOMO"
_DEFAULT = "../shared/data/locomo-open.json"
_WANTED = f"set {_VARIABLE} to a JSON file in LoCoMo's format (data/locomo10.json)"


class Said(NamedTuple):
    """One turn; `at` is the time of its session, UTC."""

    id: str
    speaker: str
    text: str
    at: datetime
    session: str


class Question(NamedTuple):
    """A question, and the ids of the turns that hold its answer."""

    text: str
    category: int
    answer: str
    evidence: frozenset[str]


class Conversation(NamedTuple):
    """The turns of two people over months, and the questions about them, asked at the end.

    Attributes:
        questions: Those of `CATEGORIES`.
        adversarial: Those of the fifth category.
    """

    name: str
    first_speaker: str
    turns: list[Said]
    questions: list[Question]
    adversarial: list[Question]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The turns in the chat form; speakers have names, sessions are threads with a time."""
        return [
            {
                "id": turn.id,
                "role": "user" if turn.speaker == self.first_speaker else "assistant",
                "name": turn.speaker,
                "content": turn.text,
                "created_at": turn.at.isoformat(),
                "thread_id": turn.session,
            }
            for turn in self.turns
        ]


def where() -> Path:
    """The file of conversations.

    Raises:
        SystemExit: It is not there; the message says what to do.
    """
    path = Path(os.environ.get(_VARIABLE) or _DEFAULT)
    if not path.is_file():
        msg = f"no conversations at {path}: {_WANTED}"
        raise SystemExit(msg)
    return path


def conversations(path: Path) -> list[Conversation]:
    """All conversations of a file. The caption of an image is part of what was said.

    Raises:
        SystemExit: It holds none, or does not read as LoCoMo's; the message says what to do.
    """
    try:
        found = [_conversation(each) for each in json.loads(path.read_text("utf-8"))]
    except (ValueError, KeyError, TypeError) as exc:
        msg = f"{path} does not read ({type(exc).__name__}: {exc}): {_WANTED}"
        raise SystemExit(msg) from exc
    if not found:
        msg = f"{path} holds no conversation: {_WANTED}"
        raise SystemExit(msg)
    return found


def _conversation(given: dict[str, Any]) -> Conversation:
    talk = given["conversation"]
    numbers = sorted(int(found[1]) for key in talk if (found := re.fullmatch(r"session_(\d+)", key)))
    turns = [
        Said(turn["dia_id"], turn["speaker"], _text(turn), _time(talk[f"session_{number}_date_time"]), f"{number}")
        for number in numbers
        for turn in talk[f"session_{number}"]
    ]
    known = {turn.id for turn in turns}
    asked = [
        Question(each["question"], each["category"], str(each.get("answer", "")), evidence)
        for each in given["qa"]
        # Some ids are malformed, and some name turns that are not there.
        if (evidence := _ids(each["evidence"]) & known)
    ]
    answerable = [each for each in asked if each.category in CATEGORIES]
    adversarial = [each for each in asked if each.category == ADVERSARIAL]
    return Conversation(given.get("sample_id", "?"), talk["speaker_a"], turns, answerable, adversarial)


def _ids(evidence: list[str]) -> frozenset[str]:
    return frozenset(f"D{session}:{turn}" for each in evidence for session, turn in _EVIDENCE.findall(each))


def _text(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [image: {caption}]" if caption else str(turn["text"])


def _time(said: str) -> datetime:
    return datetime.strptime(said, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
