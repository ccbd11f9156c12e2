"""Episodes of a state: which one is open in a thread, and how its items are grouped, by `wmem.rules.episodes`.

A summary that maintenance made of an episode names it, too, and is none of its items. After it, or after a link of the
type ``closed`` from the episode to itself, which its newest item holds, the next item of the thread begins another,
unless it names this one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from wmem.engine.derived import Derived
from wmem.model.coverage import SUMMARY, Coverage, find_job, read_coverage
from wmem.model.episodes import Episode, Link
from wmem.model.item import Relation
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.rules.episodes import EpisodeLimits, EpisodePart, OpenEpisode, assign_episodes, is_idle
from wmem.state import State

CLOSE_EPISODES = "close-episodes"
"""The job that sums up episodes, by which its summaries are known."""
CLOSED = "closed"
"""The type of the link of an episode to itself by which it was closed."""
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


class EpisodeSummaries(Derived):
    """The summaries of episodes that maintenance made, taken away since or not.

    Attributes:
        of_items: Those of episodes of items, by their ids.
        of_turns: Those of closed sessions, by the threads that these are, and their ids.
        threads: The threads of the latter, by their ids.
        coverage: What the former cover, by their ids.
        life: Another object whenever this was made anew, from what is stored.
        losses: How many of those that were there are not any more.
    """

    __slots__ = ("coverage", "life", "losses", "of_items", "of_turns", "threads")

    def __init__(self) -> None:
        self.of_items: dict[str, Row] = {}
        self.coverage: dict[str, tuple[Coverage, ...]] = {}
        self.of_turns: dict[str, dict[str, Row]] = {}
        self.threads: dict[str, str] = {}
        self.life = object()
        self.losses = 0

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            if row is None or not is_episode_summary(row):
                self.losses += self.of_items.pop(id, None) is not None or self._drop(id)
                self.coverage.pop(id, None)
                continue
            fields = load_json(row.rest or b"{}")
            if fields.get("kind") == "conversation":
                self.threads[id] = thread = fields.get("thread_id", "")
                self.of_turns.setdefault(thread, {})[id] = row
            else:
                self.of_items[id] = row
                self.coverage[id] = read_coverage(fields)

    def list_covered(self, path: Sequence[str]) -> dict[str, Row]:
        """The summaries of episodes of items by the ids that they cover of one scope, whatever its incarnation."""
        return {
            id: row
            for name, row in self.of_items.items()
            for each in self.coverage[name]
            if each.path == path
            for id in each.ids
        }

    def _drop(self, id: str) -> bool:
        """Drop one of a closed session's; returns whether it was there."""
        thread = self.threads.pop(id, None)
        if thread is not None:
            del self.of_turns[thread][id]
        return thread is not None


PlaceName: TypeAlias = tuple[str | None, str | None]
"""The thread and the episode that an item names."""


class EpisodeNames(Derived):
    """The threads and the episodes that items name, by their ids."""

    __slots__ = ("of",)

    def __init__(self) -> None:
        self.of: dict[str, PlaceName] = {}

    def list_related(self, ids: Iterable[str], every: Sequence[str]) -> list[str]:
        """Of all these items, in their order, those by which the episodes of some of them are told."""
        threads: set[str | None] = {self.of[id][0] for id in ids}
        episodes: set[str | None] = {self.of[id][1] for id in ids} - {None}
        while True:
            related = [id for id in every if (place := self.of[id])[0] in threads or place[1] in episodes]
            grown = threads.union(self.of[id][0] for id in related if self.of[id][1] in episodes)
            # One that names none may be told apart by the rule, which names an episode by the item that begins it.
            begun = episodes.union(id for id in related if self.of[id][1] is None)
            if (grown, begun) == (threads, episodes):
                return related
            threads, episodes = grown, begun

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            if row is None:
                self.of.pop(id, None)
            else:
                self.of[id] = _find_place(row)[1:]


class EpisodeRows(NamedTuple):
    """The rows of an episode.

    Attributes:
        rows: Of its items, oldest first.
        thread_ids: The threads of these; for none of them those of the summaries.
        summaries: The visible summaries of it that maintenance made.
        is_superseded: Whether the newest item of each of its threads belongs to another episode.
        is_sealed: Whether nothing was added to it since it was summed up, or closed by somebody.
    """

    id: str
    rows: Sequence[Row]
    thread_ids: tuple[str, ...]
    summaries: Sequence[Row]
    is_superseded: bool
    is_sealed: bool

    def is_closed(self, now: float, limits: EpisodeLimits, closed_threads: Mapping[str, float]) -> bool:
        """Whether it is over.

        Args:
            closed_threads: When the sessions that are threads were closed last, by the names of the threads.
        """
        if self.is_superseded or self.is_sealed:
            return True
        last_at = self.rows[-1].created_at
        if self.thread_ids and all(closed_threads.get(each, -1.0) >= last_at for each in self.thread_ids):
            return True
        return is_idle(last_at, now, limits)


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
    places = _find_places((row for row in newest if not is_episode_summary(row)), thread_id)
    in_thread = (each for each in places if each.thread_id == thread_id)
    episode_id = next((each.episode_id for each in in_thread if each.episode_id is not None), None)
    if episode_id is None:
        return None
    rows = [each.row for each in _find_places(newest, episode_id) if each.episode_id == episode_id]
    if ends_episode(rows[0], episode_id):
        return None  # nothing came since
    items = [row for row in rows if not is_episode_summary(row)]
    return _fold(episode_id, reversed(items)) if items else None


def is_episode_summary(row: Row) -> bool:
    """Whether maintenance made a row of an episode."""
    return row.type == SUMMARY and find_job(row) == CLOSE_EPISODES


def find_episode(summary: Row) -> str:
    """The id of the episode that a summary is of."""
    id: str = load_json(summary.rest or b"{}").get("episode_id", "")
    return id


def ends_episode(row: Row, episode_id: str) -> bool:
    """Whether a row, if it is the newest of an episode, closes it: as its summary, or as the holder of such a link."""
    if row.deleted_at is None and is_episode_summary(row):
        return True
    if row.rest is None or b'"closed"' not in row.rest:
        return False
    relations = load_json(row.rest).get("relations", ())
    return any((each["type"], each["target_id"]) == (CLOSED, episode_id) for each in relations)


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


def group_rows(
    rows: Iterable[Row],
    limits: EpisodeLimits,
    names: Mapping[str, PlaceName] = MappingProxyType({}),
) -> list[EpisodeRows]:
    """The episodes of these rows, in the order in which they began.

    Items that name no episode, such as promoted ones, are told apart by the rule, thread by thread, among themselves.

    Args:
        rows: Oldest first. Those that are softly deleted count: else the others would belong to other episodes then.
        names: The threads and the episodes that these name, by their ids, as far as that is known.
    """
    every = [_Placed(row, *names[row.id]) if row.id in names else _find_place(row) for row in rows]
    sums = {at for at, each in enumerate(every) if is_episode_summary(each.row)}
    assigned = _assign_loose((each for at, each in enumerate(every) if at not in sums), limits)
    episodes: dict[str, list[_Placed]] = {}
    summaries: dict[str, list[_Placed]] = {}
    newest: dict[tuple[str | None, bool], str] = {}
    newest_rows: dict[str, Row] = {}
    for at, each in enumerate(every):
        id = each.episode_id or assigned.get(each.row.id, "")
        if at not in sums:
            newest[each.thread_id, each.episode_id is None] = id
            episodes.setdefault(id, []).append(each)
        elif each.row.deleted_at is None:
            summaries.setdefault(id, []).append(each)
        newest_rows[id] = each.row
    current = frozenset(newest.values())
    for id in summaries:
        episodes.setdefault(id, [])  # of its items, none is kept
    return [
        EpisodeRows(
            id,
            [each.row for each in items],
            tuple(dict.fromkeys(each.thread_id for each in items or summaries[id] if each.thread_id is not None)),
            [each.row for each in summaries.get(id, ())],
            is_superseded=id not in current,
            is_sealed=ends_episode(newest_rows[id], id),
        )
        for id, items in episodes.items()
    ]


def _assign_loose(placed: Iterable[_Placed], limits: EpisodeLimits) -> dict[str, str]:
    """The episodes of items that name none, by the items' ids."""
    loose: dict[str | None, list[_Placed]] = {}
    for each in placed:
        if each.episode_id is None:
            loose.setdefault(each.thread_id, []).append(each)
    assigned: dict[str, str] = {}
    for items in loose.values():
        ids = assign_episodes((each.to_part() for each in items), limits)
        assigned |= {each.row.id: id for each, id in zip(items, ids, strict=True)}
    return assigned


def group_episodes(
    rows: Iterable[Row],
    limits: EpisodeLimits,
    now: float = 0.0,
    closed_threads: Mapping[str, float] = MappingProxyType({}),
) -> list[Episode]:
    """The episodes of these rows with what is visible of them; see `group_rows`.

    Args:
        closed_threads: See `EpisodeRows.is_closed`.
    """
    return [
        episode
        for group in group_rows(rows, limits)
        if (episode := to_episode(group, limits, now, closed_threads)) is not None
    ]


def to_episode(
    group: EpisodeRows, limits: EpisodeLimits, now: float, closed_threads: Mapping[str, float]
) -> Episode | None:
    """An episode as of now; None if nothing of it is visible."""
    visible = [row for row in group.rows if row.visible(now)]
    if not visible and not group.summaries:
        return None
    folded = _fold(group.id, visible) if visible else None
    times = [row.created_at for row in group.rows or group.summaries]
    return Episode(
        group.id,
        group.thread_ids,
        tuple(row.id for row in visible),
        min(times),
        max(times),
        0 if folded is None else folded.tokens,
        0 if folded is None else folded.steps,
        is_closed=group.is_closed(now, limits, closed_threads),
        summary_id=group.summaries[-1].id if group.summaries else None,
    )


def to_link(item_id: str, relation: Relation) -> Link:
    """The link that a relation of an item is."""
    metadata = dict(relation.metadata)
    episode_id = metadata.pop(_OF_EPISODE, None)
    return Link(episode_id if isinstance(episode_id, str) else item_id, relation.type, relation.target_id, metadata)


def link_metadata(metadata: Mapping[str, Any], episode_id: str | None) -> dict[str, Any]:
    """The metadata of a relation that is a link of an item, or of the episode that it begins."""
    return {**metadata} if episode_id is None else {**metadata, _OF_EPISODE: episode_id}
