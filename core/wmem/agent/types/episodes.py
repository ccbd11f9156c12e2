"""Episodes of a state: which one is open in a thread, and how its items are grouped, by `wmem.rules.episodes`."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from wmem.model.episodes import Episode, Link
from wmem.model.item import Relation
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.rules.episodes import EpisodeLimits, EpisodePart, OpenEpisode, assign_episodes
from wmem.state import State

_LOOK_BACK = 512
"""Items among which the newest episode of a thread is looked for; one before them has ended."""
_OF_EPISODE = "episode_id"
"""In the metadata of a relation of an item: it is that of the episode which the item began."""


class _Placed(NamedTuple):
    """A row, and the thread and the episode that it names."""

    row: Row
    thread_id: str | None
    episode_id: str | None

    def to_part(self) -> EpisodePart:
        return to_part(self.row, self.episode_id)


def to_part(row: Row, episode_id: str | None) -> EpisodePart:
    """What the rule of episodes reads of a row."""
    return EpisodePart(row.id, episode_id, row.created_at, row.tokens or 0, row.step_index)


def _find_place(row: Row) -> _Placed:
    rest: Mapping[str, Any] = {}
    if row.rest is not None and (b'"episode_id"' in row.rest or b'"thread_id"' in row.rest):
        rest = load_json(row.rest)
    return _Placed(row, rest.get("thread_id") or None, rest.get("episode_id") or None)


def find_open_episode(state: State, thread_id: str | None) -> OpenEpisode | None:
    """The episode of the newest item of a thread that names one; under the lock."""
    newest = [state.rows[id] for id in islice(reversed(state.items), _LOOK_BACK)]
    in_thread = (each for each in _find_places(newest, thread_id) if each.thread_id == thread_id)
    episode_id = next((each.episode_id for each in in_thread if each.episode_id is not None), None)
    if episode_id is None:
        return None
    rows = [each.row for each in _find_places(newest, episode_id) if each.episode_id == episode_id]
    return _fold(episode_id, reversed(rows))


def _find_places(rows: Iterable[Row], name: str | None) -> Iterator[_Placed]:
    """The places of rows that hold a name; those of others are not read, which takes longer."""
    mark = b"" if name is None else dump_json(name)
    return (_find_place(row) for row in rows if row.rest is not None and mark in row.rest)


def _fold(episode_id: str, rows: Iterable[Row]) -> OpenEpisode:
    """An episode as of its last item."""
    first, *others = (to_part(row, episode_id) for row in rows)
    episode = OpenEpisode.begin(episode_id, first)
    for part in others:
        episode = episode.extend(part)
    return episode


def group_episodes(rows: Iterable[Row], limits: EpisodeLimits) -> list[Episode]:
    """The episodes of these items, in the order in which they began.

    Items that name no episode, such as promoted ones, are told apart by the rule, thread by thread, among themselves.

    Args:
        rows: Oldest first.
    """
    placed = list(map(_find_place, rows))
    loose: dict[str | None, list[_Placed]] = {}
    for each in placed:
        if each.episode_id is None:
            loose.setdefault(each.thread_id, []).append(each)
    assigned: dict[str, str] = {}
    for items in loose.values():
        ids = assign_episodes((each.to_part() for each in items), limits)
        assigned |= {each.row.id: id for each, id in zip(items, ids, strict=True)}
    episodes: dict[str, list[_Placed]] = {}
    for each in placed:
        episodes.setdefault(each.episode_id or assigned[each.row.id], []).append(each)
    return [_to_episode(id, items) for id, items in episodes.items()]


def _to_episode(episode_id: str, items: list[_Placed]) -> Episode:
    folded = _fold(episode_id, (each.row for each in items))
    times = [each.row.created_at for each in items]
    threads = dict.fromkeys(each.thread_id for each in items if each.thread_id is not None)
    ids = tuple(each.row.id for each in items)
    return Episode(episode_id, tuple(threads), ids, min(times), max(times), folded.tokens, folded.steps)


def to_link(item_id: str, relation: Relation) -> Link:
    """The link that a relation of an item is."""
    metadata = dict(relation.metadata)
    episode_id = metadata.pop(_OF_EPISODE, None)
    return Link(episode_id if isinstance(episode_id, str) else item_id, relation.type, relation.target_id, metadata)


def link_metadata(metadata: Mapping[str, Any], episode_id: str | None) -> dict[str, Any]:
    """The metadata of a relation that is a link of an item, or of the episode that it begins."""
    return {**metadata} if episode_id is None else {**metadata, _OF_EPISODE: episode_id}
