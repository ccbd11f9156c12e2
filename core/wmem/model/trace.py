"""What the trace of a turn tells: packs, tool calls, and what became of memories, in ids and numbers, never content."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, get_args

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.history import Path
from wmem.model.recall_profile import RecallProfile
from wmem.model.results import RecallUse

NO_PARTS: Mapping[str, float] = MappingProxyType({})


class RecallTraced(NamedTuple):
    """A memory that recall brought into a prompt.

    Attributes:
        id: "" if the memory is gone, and its id is not known any more.
        parts: What its score was made of, in hundredths; of a prompt with more than five such memories for about five
            of them, from the best to the least, else nothing.
    """

    id: str
    parts: Mapping[str, float] = NO_PARTS


class PackTraced(NamedTuple):
    """A prompt was packed.

    Attributes:
        receipt: See `Context.receipt`.
        at: When, UTC epoch seconds.
        tokens: Of the prompt.
        recalled: What its note quotes of what recall found.
        scoring: The coefficients by which it was ranked; None without a query, or if this version of wmem has
            others under the profile's name.
        layout: What the prompt is rendered from; see `AgentMemory.replay`.
    """

    receipt: str
    at: float
    tokens: int
    budget: int
    recalled: tuple[RecallTraced, ...] = ()
    scoring: RecallProfile | None = None
    layout: bytes = b""


class ToolCallTraced(NamedTuple):
    """A tool was called: the id of the item, or of the result, that says what it returned."""

    id: str
    failed: bool = False
    tokens: int = 0


class MemorizeTraced(NamedTuple):
    """An item was stored, in the memory type of that name."""

    id: str
    type: str


class ForgetTraced(NamedTuple):
    """Items were forgotten; `hard` if they cannot be brought back."""

    ids: tuple[str, ...]
    hard: bool = False


class EvictionTraced(NamedTuple):
    """An item had to make room: by which rule, and the numbers that decided."""

    id: str
    rule: str
    tokens: int = 0
    parts: Mapping[str, float] = NO_PARTS


class ExpiryTraced(NamedTuple):
    """Items were removed since their time was over."""

    ids: tuple[str, ...]


class PromotionTraced(NamedTuple):
    """An item was copied to long-term memory under the id `to`."""

    id: str
    to: str


class RejectionTraced(NamedTuple):
    """A memory type took no item, which is stored nowhere else under an id that could be told.

    Attributes:
        store: The memory type.
        reason: What was too little, or too large: ``importance``, ``novelty`` or ``size``.
        value: What it was.
        minimum: What it should have been at least; of a size at most.
    """

    store: str
    reason: str
    value: float
    minimum: float


class RedactionTraced(NamedTuple):
    """Values were taken out of an item before it was stored: how many, by their kind."""

    id: str
    counts: Mapping[str, int]


class RouteTraced(NamedTuple):
    """Why an item went to a memory type: the name of the rule."""

    id: str
    store: str
    rule: str


class ConsolidationTraced(NamedTuple):
    """A job of maintenance put items into the one under `into`, or took them away, where that is ""."""

    job: str
    ids: tuple[str, ...]
    into: str = ""


TraceEvent: TypeAlias = (
    PackTraced
    | ToolCallTraced
    | MemorizeTraced
    | ForgetTraced
    | EvictionTraced
    | ExpiryTraced
    | PromotionTraced
    | RejectionTraced
    | RedactionTraced
    | RouteTraced
    | ConsolidationTraced
)
TRACE_EVENTS: tuple[type[TraceEvent], ...] = get_args(TraceEvent)


class TurnTrace(NamedTuple):
    """What happened in one turn.

    Attributes:
        id: The turn's.
        path: The scope in which it was.
        at: When its last record was written, UTC epoch seconds.
        events: In the order in which they happened.
    """

    id: str
    path: Path
    at: float
    events: tuple[TraceEvent, ...]

    @property
    def packs(self) -> tuple[PackTraced, ...]:
        """The prompts that were packed."""
        return tuple(event for event in self.events if isinstance(event, PackTraced))

    def uses(self, ids: Iterable[str]) -> list[RecallUse]:
        """What recall brought into the turn's prompts, and whether an answer used it; input of `propose_profile`.

        Args:
            ids: Of the memories that were used.

        Raises:
            InvalidInputError: `ids` is one string, or not of texts.
        """
        listed = None if isinstance(ids, str) or not isinstance(ids, Iterable) else list(ids)
        if listed is None or not all(isinstance(each, str) for each in listed):
            raise InvalidInputError(f"ids must be several texts, got {describe(ids)}")
        used = frozenset(listed)
        return [RecallUse(each.parts, each.id in used) for pack in self.packs for each in pack.recalled if each.parts]
