"""Where what a prompt holds is stored: the rows that a layout refers to, and what they say."""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from wmem.engine.replica import Replica
from wmem.model.change import RowPlace
from wmem.model.history import Path, to_scope_id
from wmem.model.item import to_message
from wmem.model.layout import Layout, Ref, ScopeRef
from wmem.model.message import Message
from wmem.model.removal import (
    EVICT_JOB,
    RETENTION_JOB,
    SKILLS_JOB,
    THIN_JOB,
    find_current_removal,
    follow_merges,
    is_tombstone,
)
from wmem.model.row import Row
from wmem.model.row_text import row_text
from wmem.model.sendable import ESCAPED_SURROGATE, to_sendable
from wmem.model.standing import StandingRequest
from wmem.pack.foreign_blocks import BlockFitter
from wmem.pack.layout import Source
from wmem.pack.request import Candidate
from wmem.scope.copies import find_heir
from wmem.scope.pack_cache import DecodedMessage, DecodedMessages, to_sendable_requests
from wmem.state import State

if TYPE_CHECKING:
    from wmem.model.context import ProviderProfile
    from wmem.model.part import Role


class LiveMessage(NamedTuple):
    """A message that the caller of a pack passed in, by its number in the list.

    Attributes:
        requests: The standing requests that it makes, if they are not those of a stored message.
    """

    place: int
    message: Message
    requests: Sequence[StandingRequest] = ()


def decode_row(row: Row) -> Message:
    """The message of a row, as it can be sent; an item comes as a user's with its content as text."""
    message = to_message(row) if row.role is not None else Message.of("user", row_text(row), id=row.id)
    return to_sendable(message) if ESCAPED_SURROGATE in row.content else message


def to_source(ref: Ref, row: Row, profile: "ProviderProfile", known: DecodedMessage | None = None) -> Source:
    """What a row says in a prompt for a provider; blocks of what a parent holds are never fitted.

    Args:
        known: What the last pack decoded under its id.
    """
    message = known.message if known is not None and known.row is row and known.is_intact else decode_row(row)
    if row.role is not None and not ref.scope and profile != "any":
        message = BlockFitter(profile)(message, row.id)
    role: Role | None = row.role  # type: ignore[assignment]  # a row has the role of its message
    candidate = Candidate(row.id, role, 0, row.created_at, partial(_identity, message))
    return Source(ref, message, candidate, to_sendable_requests(row))


class SourceFinder:
    """Finds where the candidates of a pack are stored.

    Args:
        replicas: The scope's, and of others that it recalls from.
        live: By id, messages that the caller passed in.
    """

    def __init__(
        self,
        replicas: Sequence[Replica[Any]],
        live: Mapping[str, LiveMessage],
        profile: "ProviderProfile",
    ) -> None:
        self._own = replicas[0]
        self._others = {to_scope_id(each.path): each for each in replicas[1:]}
        self._live = live
        self._profile = profile
        self._numbers: dict[str, int] = {}
        self._decoded = self._own.use_derived(DecodedMessages, attrgetter("messages"))

    def find(self, candidate: Candidate) -> list[Source]:
        """Where a candidate may be from; a stored message before one that the caller passed in."""
        if candidate.scope:
            return self._find_elsewhere(candidate)
        sources = self._to_sources(0, self._own, candidate.id)
        if (live := self._live.get(candidate.id)) is not None:
            sources.append(Source(Ref("live", place=live.place), live.message, candidate, live.requests))
        return sources

    def list_scopes(self) -> list[ScopeRef]:
        """The other scopes that were referred to, in the order of their numbers."""
        found = [self._others[each] for each in self._numbers]
        return [ScopeRef(each.path[1:], each.identity) for each in found]

    def _find_elsewhere(self, candidate: Candidate) -> list[Source]:
        scope = candidate.scope
        replica = self._others.get(scope)
        if replica is None or replica.incarnation is None:
            return []  # it is nowhere in the store, as what an external memory type remembers
        number = self._numbers.setdefault(scope, len(self._numbers) + 1)
        sources = self._to_sources(number, replica, candidate.id)
        return sources or self._to_sources(number, replica, candidate.id.removeprefix(f"{scope}/"))

    def _to_sources(self, scope: int, replica: Replica[Any], id: str) -> list[Source]:
        with replica.lock:
            row, place = replica.state.rows.get(id), replica.state.find_place(id)
        if row is None or (not place and row.key is None):
            return []
        known = None if scope else self._decoded.get(id)
        return [to_source(Ref("row", scope, place, "" if place else row.id), row, self._profile, known)]


Reason = Literal["erased", "removed", "expired", "evicted", "forgotten", "changed", "not stored"]
"""Why something of a prompt cannot be shown again."""
_REASONS: Mapping[str, Reason] = {
    RETENTION_JOB: "expired",
    EVICT_JOB: "evicted",
    THIN_JOB: "evicted",
    SKILLS_JOB: "evicted",
}
"""Why a job took an item away."""


class Missing(NamedTuple):
    """Something of a prompt that cannot be shown again.

    Attributes:
        id: Its id; "" if it is not known any more, or it has none.
        scope: The id of its scope; "" for what the caller of the pack passed in.
        what: What it is, as "message", "item", "entry", "system text".
        reason: Why.
    """

    id: str
    scope: str
    what: str
    reason: Reason


class RowLoader:
    """Loads what a layout refers to, as it is stored now.

    Args:
        replicas: By path.
        live: The messages that the caller passes in, as those of the pack.
    """

    def __init__(
        self,
        layout: Layout,
        path: Path,
        replicas: Mapping[Path, Replica[Any]],
        live: Sequence[LiveMessage],
        now: float,
    ) -> None:
        self._layout = layout
        self._paths = [path, *((path[0], *each.path) for each in layout.scopes)]
        self._replicas = replicas
        self._live = live
        self._now = now
        self.ids: dict[Ref, str] = {}
        """The ids of the rows that were looked for, also of those that are gone, as far as they are known."""
        self._rows: dict[Ref, Row] = {}
        self._lost: dict[Ref, Missing] = {}
        self._followed: dict[Ref, Missing] = {}
        self._unstored: list[Missing] = []
        self._sources: dict[Ref, Source] = {}

    def find(self, refs: Sequence[Ref]) -> None:
        """Find what is referred to, and what was merged into another item, in their scopes."""
        for number, path in enumerate(self._paths):
            wanted = [ref for ref in refs if ref.kind == "row" and ref.scope == number]
            replica = self._replicas.get(path)
            if wanted and replica is not None:
                self._find_rows(number, path, replica, wanted)
        for ref in refs:
            if ref.kind == "unknown" or (ref.kind == "live" and ref.place >= len(self._live)):
                self._unstored.append(Missing("", "", "message" if ref.kind == "live" else "text", "not stored"))
            elif ref.kind == "row" and ref.scope >= len(self._paths):
                self._unstored.append(Missing("", "", "text", "not stored"))

    @property
    def has_lost(self) -> bool:
        """Whether something is not shown, though a copy of it may be somewhere else."""
        return any(each.what == "item" and each.reason != "erased" for each in self._lost.values())

    def follow(self, replicas: Sequence[Replica[Any]]) -> None:
        """Find what is not shown where it was promoted to.

        Args:
            replicas: Of the long-term memories that it may have been promoted to.
        """
        for ref, missing in list(self._lost.items()):
            if missing.what != "item" or missing.reason == "erased" or not missing.id:
                continue
            own, path = self._rows.get(ref), self._paths[ref.scope]
            source = RowPlace(path[1:], self._replicas[path].identity, missing.id)
            for replica in replicas:
                with replica.lock:
                    heir = find_heir(replica.state, replica.path, source, self._now)
                if heir is not None and (own is None or own.content == heir.content):
                    self._show(ref, own or heir)
                    break

    def list_missing(self) -> list[Missing]:
        """What cannot be shown."""
        return [*self._lost.values(), *self._unstored]

    def load(self, ref: Ref) -> Source:
        """What a reference refers to, which was found."""
        if ref not in self._sources:
            if ref.kind == "live":
                self._sources[ref] = self._load_live(ref)
            else:
                self._sources[ref] = to_source(ref, self._rows[ref], self._layout.profile)
        return self._sources[ref]

    def list_changed(self, since: float) -> list[Missing]:
        """The rows that were written anew since an instant, and those that are gone: what has their text may differ."""
        return [
            Missing(row.id, to_scope_id(self._paths[ref.scope]), _kind_of(row), "changed")
            for ref, row in self._rows.items()
            if row.updated_at > since and ref not in self._followed
        ] + list(self._followed.values())

    def _show(self, ref: Ref, row: Row) -> None:
        """Show what was lost as a row that has its text."""
        if self._rows.get(ref) is not row:
            self._followed[ref] = self._lost[ref]
        self._rows[ref] = row
        del self._lost[ref]

    def _load_live(self, ref: Ref) -> Source:
        _, message, requests = self._live[ref.place]
        if self._layout.profile != "any":
            message = BlockFitter(self._layout.profile)(message, message.id or "")
        candidate = Candidate(message.id or "", message.role, 0, self._now, partial(_identity, message))
        return Source(ref, message, candidate, requests)

    def _find_rows(self, number: int, path: Path, replica: Replica[Any], refs: Sequence[Ref]) -> None:
        with replica.lock:
            state = replica.state
            is_same = not number or replica.identity == self._layout.scopes[number - 1].incarnation
            ids = _find_ids(state, {ref.place for ref in refs}) if is_same else {}
            for ref in refs:
                id = self.ids[ref] = ids.get(ref.place, "") if ref.place else ref.id
                row = state.rows.get(id) if is_same else None
                if row is not None and (ref.place < 0) == (row.role is None and row.key is None):
                    self._rows[ref] = row
                reason = self._find_reason(state, id, row)
                if reason is None:
                    continue
                kind = "message" if ref.place > 0 else "item" if ref.place else "entry"
                self._lost[ref] = Missing(id, to_scope_id(path), kind, reason)
                if kind == "item" and reason == "removed":
                    heir = find_heir(state, path, RowPlace(path[1:], replica.identity, id), self._now)
                    if heir is not None:
                        self._show(ref, heir)

    def _find_reason(self, state: State, id: str, row: Row | None) -> Reason | None:
        """Why a row cannot be shown; None if it can.

        What was withdrawn was in the prompt, and can be read. So can what was merged into something that is there.
        """
        if row is None:
            return "erased" if id in state.erased else _find_decision(state, id) or "removed"
        last = row if is_tombstone(row) else follow_merges(state.rows, row)
        if is_tombstone(last):
            return "removed"
        if last.expired(self._now):
            return "expired"
        if last.deleted_at is None:
            return None
        removal = find_current_removal(last)
        if removal is None:
            return _find_decision(state, last.id, last.deleted_at) or "forgotten"
        return _REASONS.get(removal.job, "forgotten")


def _find_ids(state: State, places: set[int]) -> dict[int, str]:
    """The ids of the rows that have, or had, these places."""
    found = {place: id for id, place in state.erased.items() if place in places}
    found |= {place: state.gone[place] for place in places & state.gone.keys()}
    found |= {-place: id for id, place in state.items.items() if -place in places}
    for held in (state.messages, state.withdrawn):
        found |= {place: id for id, place in held.items() if place in places}
    return found


def _find_decision(state: State, id: str, at: float | None = None) -> Reason | None:
    """Why an item was taken away, if a decision about it is remembered.

    Args:
        at: When it was taken away, if that is known.
    """
    last = next((each for each in reversed(state.decisions) if each.id == id), None)
    kind = "" if last is None or at not in (None, last.at) else last.kind
    if kind in ("evicted", "thinned"):
        return "evicted"
    return "expired" if kind == "expired" else None


def _kind_of(row: Row) -> str:
    return "message" if row.role is not None else "item" if row.key is None else "entry"


def _identity(message: Message) -> Message:
    return message
