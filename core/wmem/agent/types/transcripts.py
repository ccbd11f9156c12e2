"""Episodes of closed sessions, as pointers to messages, and episodes of any kind read back as text."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from wmem.agent.types.episodes import EpisodeRows
from wmem.agent.types.turn_pointers import SessionLife, TurnPointer, read_turn
from wmem.engine.replica import Replica
from wmem.model.coverage import find_coverage
from wmem.model.episodes import Transcript
from wmem.model.values import load_json
from wmem.pack.wording import message_text
from wmem.rules.episodes import EpisodeLimits, EpisodePart, assign_episodes


class TurnEpisode(NamedTuple):
    """Turns of a closed session that are one episode."""

    id: str
    session: SessionLife
    pointers: Sequence[TurnPointer]

    @property
    def message_ids(self) -> Mapping[str, None]:
        """The ids of the messages that it points to, oldest first."""
        return {id: None for pointer in self.pointers for id in pointer.message_ids}


def group_turns(pointers: Iterable[TurnPointer], limits: EpisodeLimits) -> list[TurnEpisode]:
    """The episodes of closed sessions, each session for itself; a turn is a step.

    Args:
        pointers: In the order of the turns of each session.
    """
    sessions: dict[SessionLife, list[TurnPointer]] = {}
    for pointer in pointers:
        sessions.setdefault(pointer.session, []).append(pointer)
    episodes: dict[tuple[SessionLife, str], list[TurnPointer]] = {}
    for session, turns in sessions.items():
        parts = [EpisodePart(each.id, None, each.created_at, each.tokens, None) for each in turns]
        for id, turn in zip(assign_episodes(parts, limits), turns, strict=True):
            episodes.setdefault((session, id), []).append(turn)
    return [TurnEpisode(id, session, turns) for (session, id), turns in episodes.items()]


def transcribe_items(group: EpisodeRows, now: float) -> Transcript:
    """The transcript of an episode of items, or of one of which nothing but its summary is left."""
    texts = {row.id: load_json(row.content) for row in group.rows if row.visible(now)}
    covered = [id for row in group.summaries for each in find_coverage(row) for id in each.ids]
    ids = dict.fromkeys((*covered, *(row.id for row in group.rows)))
    order = {row.id: place for place, row in enumerate(group.rows, len(covered))}
    listed = sorted(ids, key=lambda each: order.get(each, -1))  # what is not there any more came before the rest
    return _to_transcript(group.id, None, {id: texts.get(id) for id in listed}, _find_summary(group))


def transcribe_turns(
    episode: TurnEpisode, session: Replica[Any] | None, group: EpisodeRows | None = None
) -> Transcript:
    """The transcript of an episode of a closed session.

    Args:
        session: Its session as it is now; None if it cannot be read.
        group: What episodic memory has of it.
    """
    texts: dict[str, str | None] = {}
    for pointer in episode.pointers:
        messages = {message.id: message for message in read_turn(pointer, session).messages}
        for id in pointer.message_ids:
            message = messages.get(id)
            texts[id] = None if message is None else f"{message.name or message.role}: {message_text(message)}"
    return _to_transcript(episode.id, episode.session.names, texts, _find_summary(group))


def _find_summary(group: EpisodeRows | None) -> str | None:
    return group.summaries[-1].id if group is not None and group.summaries else None


def _to_transcript(
    episode_id: str, session: tuple[str, ...] | None, texts: Mapping[str, str | None], summary_id: str | None
) -> Transcript:
    """A transcript of texts by id; None for one that is gone."""
    paragraphs: list[str] = []
    for is_gone, run in groupby(texts.values(), key=lambda text: text is None):
        listed = list(run)
        paragraphs += [f"[{len(listed)} gone]"] if is_gone else [text for text in listed if text]
    ids = tuple(id for id, text in texts.items() if text is not None)
    missing = tuple(id for id, text in texts.items() if text is None)
    return Transcript(episode_id, session, ids, missing, "\n\n".join(paragraphs), summary_id)
