"""Which rows are copies of one another: by promotion and merge, never because their ids are equal.

Copies that earlier versions made do not say where they come from. A promoted one has metadata that
names its session, a merged entry the ids it came from; both are believed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from wmem.model.change import Change, RowPlace, StepAdvanced
from wmem.model.coverage import find_coverage
from wmem.model.history import Path
from wmem.model.ids import parse_promoted_id
from wmem.model.origin import Origin, find_merged_origins, find_origins, has_origins, own_lineage
from wmem.model.removal import follow_merges, is_tombstone
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.state import State

_Identity: TypeAlias = tuple[Path, int | None, str]
"""A row's scope (as segments below the agent's), its incarnation (None for any) and its id."""


def is_erased(state: State, id: str) -> bool:
    """Whether a row was erased, so that no copy of it may be made any more."""
    return id in state.erased and id not in state.rows


def create_empty(now: float) -> tuple[Sequence[Change], None]:
    """What makes a scope before the first copy goes there.

    A copy is made on two conditions: the row was there at an instant, and nothing was written to the scope of the copy
    since. An erasure writes its tombstone, and then to every scope that it might have been copied to: if there is no
    such scope yet, the instant is later than the tombstone.
    """
    return [StepAdvanced(0, now)], None


def find_promoted(there: State, there_path: Path, row: Row, path: Path, incarnation: int) -> Row | None:
    """The copy of a row in long-term memory, whoever promoted it; where that was merged into another item, that one.

    Args:
        there: The state of the long-term memory at `there_path`.
        path: The scope of the row, in that incarnation.
    """
    found = _find_copy(there, there_path, row, path, incarnation)
    return None if found is None else follow_merges(there.rows, found)


def find_heir(there: State, there_path: Path, source: RowPlace, now: float) -> Row | None:
    """A row that has what another said, there or gone: its promoted copy, or what it or that copy was merged into.

    It comes with the id and the instant of the other one. Nothing that is hidden, or was merged into what is, is found.

    Args:
        there: The state of the scope at `there_path`, which may be that of the row itself.
        source: Where the row is, or was.
    """
    id = source.id
    wanted: _Identity = (source.path, source.incarnation, id)
    for copy in map(there.rows.__getitem__, there.origins.get(id, ())):
        merged = find_merged_origins(copy, there_path)
        through = {each.merged_id for each in merged if _identity(each) == wanted}
        if not through and wanted not in map(_identity, find_origins(copy, there_path)):
            continue
        if is_tombstone(copy) or not follow_merges(there.rows, copy).visible(now):
            continue
        said = [each.created_at for each in merged if each.id == each.merged_id and each.id in through]
        at = next((each for each in said if each is not None), copy.created_at)
        return copy._replace(id=id, created_at=at)
    return None


def _find_copy(there: State, there_path: Path, row: Row, path: Path, incarnation: int) -> Row | None:
    origins = find_origins(row, path)
    own = {(path[1:], incarnation, row.id), *map(_identity, origins)}
    survivor: Row | None = None
    for source in dict.fromkeys((row.id, *(each.id for each in origins))):
        for copy in map(there.rows.__getitem__, there.origins.get(source, ())):
            steps = find_origins(copy, there_path)
            if not own.isdisjoint(map(_identity, steps)) and _is_same(copy, copy.created_at, row):
                return copy
            # Of an earlier incarnation, which was exported and imported here: both say that they belong together.
            if row.promoted_to == copy.id and any((each.path, each.id) == (path[1:], row.id) for each in steps):
                return copy
            legacy = _legacy_source(copy, there_path)
            if legacy == (session_name(path), row.id) and row.promoted_to in (None, copy.id):
                return copy
            merged = find_merged_origins(copy, there_path)
            through = {each.merged_id for each in merged if _identity(each) in own}
            said = [each.created_at for each in merged if each.id == each.merged_id and each.id in through]
            if through and (not said or any(at is None or _is_same(copy, at, row) for at in said)):
                survivor = copy
    return survivor


def _is_same(copy: Row, created_at: float, row: Row) -> bool:
    """Whether a copy, made of something created then under a row's id, is of that row.

    What was cleared or removed, and what was added under its id since, are two.
    """
    return created_at == row.created_at or copy.content == row.content


def is_merge_of(copy: Row, copy_path: Path, row: Row, path: Path, incarnation: int) -> bool:
    """Whether a row in one scope was merged there from a row in another.

    A copy of a row of an earlier incarnation counts if it is the same still: then the scope was restored.
    """
    origins = find_origins(copy, copy_path)
    if not origins or (origins[-1].path, origins[-1].id) != (path[1:], row.id):
        return False
    return origins[-1].incarnation == incarnation or (copy.content, copy.created_at) == (row.content, row.created_at)


class CopyTrace:
    """Rows to erase, which grows as copies of them are met.

    Attributes:
        has_promoted: Whether one of them is, or was made, a promoted copy.
        session_names: The sessions that promoted copies of earlier versions name as their source.
    """

    def __init__(self) -> None:
        self.has_promoted = False
        self.session_names: set[str] = set()
        self._identities: set[_Identity] = set()
        # A promoted copy and its source, of which one names the other: the copy's id, the scope and the source's id.
        self._pairs: set[tuple[str | None, Path | str, str]] = set()
        self._named: set[tuple[str, str]] = set()
        self._copies: set[tuple[str, Path | str]] = set()  # a copy of any row of a scope, by its own id
        self._ids: dict[Path, set[str]] = {}  # by scope, whatever its incarnation

    def __len__(self) -> int:
        return len(self._identities) + len(self._pairs)

    def paths(self, agent_id: str) -> list[Path]:
        """The scopes of all rows so far."""
        return list(dict.fromkeys((agent_id, *path) for path, _, _ in self._identities))

    def places(self, *, besides: Path) -> tuple[RowPlace, ...]:
        """Where they are, or were, in all scopes but one."""
        known = ((path, life, id) for path, life, id in self._identities if life is not None and path != besides[1:])
        return tuple(sorted(RowPlace(path, life, id) for path, life, id in known))

    def add_id(self, id: str, path: Path, incarnation: int | None) -> None:
        """Add the row under an id.

        Args:
            incarnation: None: the scope holds no such row, and copies of any that it once held are meant,
                or the copy that has this id elsewhere.
        """
        self._identities.add((path[1:], incarnation, id))
        self._ids.setdefault(path[1:], set()).add(id)
        self._named.add((session_name(path), id))
        if incarnation is None:
            self._copies |= {(id, path[1:]), (id, session_name(path))}

    def add(self, row: Row, path: Path, incarnation: int, merged: Iterable[Path]) -> None:
        """Add a row, and those that it is a copy of; see `includes`."""
        self.add_id(row.id, path, incarnation)
        if row.promoted_to is not None:
            self.has_promoted = True
            self._pairs.add((row.promoted_to, path[1:], row.id))
        for each in find_origins(row, path):
            self._identities.add(_identity(each))
            self._ids.setdefault(each.path, set()).add(each.id)
            self._named.add((session_name((path[0], *each.path)), each.id))
            self._pairs.add((row.id, each.path, each.id))
        if (source := _legacy_source(row, path)) is not None:
            self.has_promoted = True
            self.session_names.add(source[0])
            self._pairs |= {(row.id, *source), (None, *source)}
        self._identities |= {(each[1:], None, id) for id in _legacy_entry_ids(row) for each in merged}

    def includes(self, row: Row, path: Path, incarnation: int, merged: Iterable[Path]) -> bool:
        """Whether a row is one of them, a copy of one, or was made from one, as a summary that covers it.

        Args:
            path: The scope of the row, in that incarnation.
            merged: The scopes that were merged into it.
        """
        below = path[1:]
        if (below, incarnation, row.id) in self._identities or (below, None, row.id) in self._identities:
            return True
        if any((row.promoted_to, scope, row.id) in self._pairs for scope in (below, session_name(path))):
            return True
        if row.rest is None:
            return False
        if any(not self._ids.get(each.path, set()).isdisjoint(each.ids) for each in find_coverage(row)):
            return True
        origins = find_origins(row, path)
        if any(self._includes_origin(row, each) for each in origins):
            return True
        lineage = own_lineage(_lineage_ids(row), (*origins, *find_merged_origins(row, path)))
        if (source := _legacy_source(row, path)) is not None:
            return (row.id, source[0]) in self._copies or any(
                (source[0], id) in self._named for id in (source[1], *lineage)
            )
        return any(self.includes_id(below, incarnation, id) for id in lineage) or any(
            self.includes_id(each[1:], None, id, any_incarnation=True)
            for id in _legacy_entry_ids(row)
            for each in merged
        )

    def list_merged(self, row: Row, path: Path) -> frozenset[str]:
        """What of it was merged into a row: the ids that had in the row's scope."""
        steps = find_merged_origins(row, path)
        return frozenset(each.merged_id for each in steps if self._includes_origin(row, each))

    def _includes_origin(self, row: Row, origin: Origin) -> bool:
        ids = (origin.id, *origin.lineage_ids)
        return (
            (row.id, origin.path, origin.id) in self._pairs
            or (row.id, origin.path) in self._copies
            or any(self.includes_id(origin.path, origin.incarnation, id) for id in ids)
        )

    def includes_id(self, path: Path, incarnation: int | None, id: str, *, any_incarnation: bool = False) -> bool:
        """Whether the row under an id is one of them.

        Args:
            path: The scope of the row, as segments below the agent's.
        """
        if any_incarnation:
            return any((path, id) == (each[0], each[2]) for each in self._identities)
        return (path, incarnation, id) in self._identities or (path, None, id) in self._identities


def _identity(origin: Origin) -> _Identity:
    return origin.path, origin.incarnation, origin.id


def session_name(path: Path) -> str:
    """A scope as the metadata of its promoted items named it in earlier versions; not unambiguous."""
    return "/".join(path[1:]) or path[0]


def _legacy_source(row: Row, path: Path) -> tuple[str, str] | None:
    """The session's name and the id of what an earlier version promoted; None for any other row."""
    source = parse_promoted_id(row.id)
    if source is None or path[1:] not in ((SEMANTIC,), (EPISODIC,)) or row.rest is None:
        return None
    stored = load_json(row.rest)
    metadata = None if "origins" in stored else stored.get("metadata")
    name = metadata.get("working_memory_session") if isinstance(metadata, Mapping) else None
    return (name, source) if isinstance(name, str) else None


def _legacy_entry_ids(row: Row) -> Sequence[str]:
    """The ids in their scopes of what an earlier version merged into an entry."""
    return () if row.key is None or has_origins(row) else _lineage_ids(row)  # an entry's metadata alone may look so


def _lineage_ids(row: Row) -> Sequence[str]:
    if row.rest is None or b'"lineage_ids"' not in row.rest:
        return ()
    stored: dict[str, Any] = load_json(row.rest)
    lineage: Sequence[str] = stored.get("lineage_ids", ())
    return lineage
