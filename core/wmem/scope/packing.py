"""Flow of `Scope.pack`: builds the pack request from lazily read messages, pinned items and recall hits."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from wmem.errors import InvalidInputError
from wmem.flow import Flow
from wmem.model.context import Context, Profile
from wmem.model.item import message_of
from wmem.model.message import Message, Role, as_messages
from wmem.model.row import Row
from wmem.model.scoring import Recall, Scoring
from wmem.pack import Candidate, NoteRole, Orphans, PackRequest, PromptCounter, Recalled, pack
from wmem.replica import Replica
from wmem.scope.handle import Handle
from wmem.scope.meaning import meaning
from wmem.scope.message_flows import Sayable, row_of
from wmem.scope.quoting import Quoting
from wmem.scope.recall import LIMIT, Found, quoted, recall, text_of
from wmem.text.tokens import Counter, message_tokens

__all__ = ["packed"]

_CHUNK = 128  # messages read at first under one lock; each further chunk is twice as large
_LEAST_FOUND = 64  # hits that are considered however small the budget
_SHORT = 8  # tokens of a short memory
_LARGE = 4  # a long memory is truncated to the budget divided by this
_FULL = 3  # hits are taken until they fill so many budgets
_SUMMARY = 8  # the budget divided by this is reserved for a summary


def packed(
    handle: Handle,
    query: str | None,
    *,
    budget: int,
    system: str = "",
    tools: Sequence[Mapping[str, Any]] = (),
    reserve: int = 0,
    recent: int = 4,
    profile: Profile = "openai",
    orphans: Orphans = "drop",
    messages: Sequence[Sayable] | None = None,
    inherit: bool = True,
    note_role: NoteRole = "user",
    stable: bool = False,
    summary: bool | int = False,
    scoring: Scoring | None = None,
    prompt_counter: PromptCounter | None = None,
) -> Flow[Context]:
    """See `Scope.pack`."""
    if query is not None and not isinstance(query, str):
        msg = f"a query is text or None, not {type(query).__name__!r}"
        raise InvalidInputError(msg)
    handle.check()
    now = handle.settings.clock()
    counter = handle.settings.counter()
    replicas = yield from handle.replicas()
    weighing = handle.policy.weighing if scoring is None else Recall.named(scoring)
    if not inherit:
        replicas = replicas[:1]
    own = replicas[0]
    with own.lock:
        standing = [own.state.rows[each] for each in own.state.standing]
        total = len(own.state.messages)
    live = _Live(handle, () if messages is None else messages, own, now)
    decoder = _Decoder(own.read)
    candidate = _Candidates(counter, live.overrides, decoder)
    pinned = list(map(candidate, standing))
    pinned += live.standing({row.id for row in standing})
    pinned += map(_Candidates(counter, {}, decoder), _pinned_items(replicas, now))
    found: Sequence[Found] = ()
    missed: Sequence[str] = ()
    if query is not None and query.strip():
        dense, missed = (yield from meaning(handle, replicas, query)) if weighing.vector else (None, ())
        found = tuple(_enough(recall(replicas, query, now, weighing, _most(budget), dense=dense), budget))
    made = pack(
        PackRequest(
            budget=budget,
            count=counter,
            newest_first=live.among(_newest_first(own, candidate)),
            total=total + live.count,
            pinned=pinned,
            recalled=[Recalled(candidate(row), score, parts) for row, score, parts in found],
            system=system,
            tools=tools,
            reserve=reserve,
            recent=recent,
            profile=profile,
            orphans=orphans,
            note_role=note_role,
            stable=stable,
            summary=budget // _SUMMARY if summary is True else summary or 0,
            query=query or "",
            quotes=_quoting(own, counter, found, live.overrides),
            prompt_counter=prompt_counter,
        )
    )
    own.read = decoder.used
    if missed:
        made = replace(made, warnings=(*made.warnings, *missed))
    if damage := [each for replica in replicas for each in replica.damage]:
        told = f"{len(damage)} damaged records of {damage[0].path!r} were left out"
        made = replace(made, warnings=(*made.warnings, told))
    if (metrics := handle.settings.metrics) is not None:
        metrics.packed(made.tokens, made.dropped.totals)
    return made


def _quoting(
    own: Replica[Any], counter: Counter, found: Sequence[Found], overrides: Mapping[str, Message]
) -> Quoting | None:
    """Cached quotes of hits in the scope itself; the cache does not learn of changes to its parents' rows."""
    held = quoted(own)
    if held is None or not found:
        return None
    rows = own.state.rows
    mine = {each.row.id: each.row for each in found if rows.get(each.row.id) is each.row}
    return Quoting(
        held, counter.name, {id: row for id, row in mine.items() if id not in overrides} if overrides else mine
    )


def _most(budget: int) -> int:
    """How many hits to ask for: as many short memories as fill the budget, within limits."""
    return max(_LEAST_FOUND, min(LIMIT, budget // _SHORT)) if isinstance(budget, int) else LIMIT


def _enough(found: Iterable[Found], budget: int) -> Iterator[Found]:
    """The best hits, until they fill several budgets; later ones could only fill the last few tokens."""
    if not isinstance(budget, int):
        return  # `PackRequest` refuses it
    tokens = 0
    for each in found:
        yield each
        tokens += min(each.row.tokens or 0, budget // _LARGE)
        if tokens > _FULL * budget:
            return


def _pinned_items(replicas: Sequence[Replica[Any]], now: float) -> list[Row]:
    found: list[Row] = []
    for replica in replicas:
        with replica.lock:
            rows = replica.state.rows
            found += [row for row in map(rows.__getitem__, replica.state.pinned_items) if row.visible(now)]
    return found


def _newest_first(replica: Replica[Any], candidate: "_Candidates") -> Iterator[Candidate]:
    read, size = 0, _CHUNK
    seen: set[str] = set()
    while True:
        with replica.lock:
            rows = list(islice(replica.state.newest_messages(), read, read + size))
        for row in rows:
            # Messages appended since the last chunk shift others into this one again.
            if row.id not in seen:
                seen.add(row.id)
                yield candidate(row)
        if len(rows) < size:
            return
        read, size = read + size, size * 2


class _Candidates:
    """Turns rows into candidates, for one pack."""

    def __init__(self, counter: Counter, overrides: Mapping[str, Message], decoder: Callable[[Row], Message]) -> None:
        self._counter = counter
        self._name = counter.name
        self._overrides = overrides
        self._decoder = decoder

    def __call__(self, row: Row) -> Candidate:
        """The row as a candidate, or the framework's message that overrides it."""
        live = self._overrides.get(row.id)
        if live is not None:
            load: Callable[[], Message] = partial(_given, live)
            tokens, calls, pinned = message_tokens(live, self._counter), live.answers, live.pinned
        else:
            load = partial(self._decoder, row)
            known = row.tokens if row.counter == self._name and row.role is not None else None
            tokens = message_tokens(load(), self._counter) if known is None else known
            calls, pinned = row.calls, row.pinned
        # A row has the role of its message. Positional arguments are faster, and there are very many rows.
        role: Role | None = row.role  # type: ignore[assignment]
        return Candidate(row.id, role, tokens, row.created_at, load, calls, row.turn_id, pinned)


def _load(row: Row) -> Message:
    return message_of(row) if row.role is not None else Message.of("user", text_of(row), id=row.id)


class _Decoder:
    """Decodes rows, reusing what the previous pack decoded: two packs of a session share nearly all.

    Only what one pack read is kept for the next, so a budget bounds it and removed rows soon leave.
    """

    def __init__(self, held: Mapping[str, tuple[Row, Message]]) -> None:
        self._held = held
        self.used: dict[str, tuple[Row, Message]] = {}

    def __call__(self, row: Row) -> Message:
        held = self._held.get(row.id)
        if held is not None and held[0] is row:
            message = held[1]
        else:
            message = _load(row)
            if message.metadata or message.native is not None or any(part.data for part in message.parts):
                return message  # not reused: it holds JSON that the caller may change
        self.used[row.id] = row, message
        return message


def _given(message: Message) -> Message:
    return message


class _Live:
    """A framework's own message list, merged with the stored messages for one pack.

    From its newest user message on it is the current turn, which comes last, wherever
    the store has it. Before that, stored messages keep their order, and others come
    right after the stored one they follow.
    """

    def __init__(self, handle: Handle, given: Sequence[Sayable], replica: Replica[Any], now: float) -> None:
        self.overrides: dict[str, Message] = {}
        """Stored messages by id, as the framework has them now."""
        self._after: dict[str | None, list[Candidate]] = {}
        """Messages that are not stored, newest first, by the stored one they follow."""
        self._standing: list[Candidate] = []
        self._turn: dict[str, Candidate] = {}
        """The current turn, oldest first."""
        self.count = 0
        counter = handle.settings.counter()
        live = as_messages(given)
        begun = max((at for at, message in enumerate(live) if message.role == "user"), default=len(live))
        behind: str | None = None
        for at, message in enumerate(live):
            with replica.lock:
                row = replica.state.rows.get(message.id) if message.id in replica.state.messages else None
            if row is not None:
                self.overrides[row.id] = message
                behind = row.id
            else:
                row = row_of(message, handle, now)
                self.count += 1
            candidate = _Candidates(counter, {row.id: message.model_copy(update={"id": row.id})}, _load)(row)
            if message.pinned or message.role in ("system", "developer"):
                self._standing.append(candidate)
            if at >= begun:
                self._turn[row.id] = candidate
            elif row.id not in self.overrides:
                self._after.setdefault(behind, []).insert(0, candidate)

    def standing(self, stored: AbstractSet[str]) -> list[Candidate]:
        """Pinned and system messages that only the framework knows as such."""
        return [candidate for candidate in self._standing if candidate.id not in stored]

    def among(self, stored: Iterable[Candidate]) -> Iterator[Candidate]:
        """Merge the live messages into the stored ones, newest first.

        Live messages ahead of the first stored one in the framework's list go just before it;
        if the list has no stored one, they are newer than all that is stored.
        """
        yield from reversed(self._turn.values())
        first = next((each for each in self.overrides if each not in self._turn), None)
        leading = self._after.get(None, [])
        if first is None:
            yield from leading
        for candidate in stored:
            if candidate.id in self._turn:
                continue
            yield from self._after.get(candidate.id, ())
            yield candidate
            if candidate.id == first:
                yield from leading
