"""What becomes of an item in the long run, by the retention that it names."""

from collections.abc import Iterable
from dataclasses import dataclass

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.log import find_logger
from wmem.model.checks import check_flag, check_id, check_seconds
from wmem.model.row import Row
from wmem.model.values import load_json

_log = find_logger("wmem.agent")
_MAX_KEEP_S = 1e12


@dataclass(frozen=True, slots=True)
class Retention:
    """A way to keep items, which they name by its id; regardless of case.

    Wmem's own are ``session`` (never in long-term memory), ``episodic`` (as any item, in a log that is thinned) and
    ``permanent`` (exempt from time to live, thinning and eviction: it goes by erasure alone).

    Attributes:
        keep_s: Seconds after its creation at which an item is taken away; None for never.
        thins: Whether a log of long-term memory that exceeds its bounds may leave such an item out.
        evicts: Whether an item may be evicted from long-term memory that exceeds its bounds.
        promotes: Whether an item may go to long-term memory.
    """

    id: str
    keep_s: float | None = None
    thins: bool = True
    evicts: bool = True
    promotes: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", check_id(self.id).strip().casefold())
        if not self.id:
            raise InvalidInputError("a retention needs an id that is not blank")
        if self.keep_s is not None:
            check_seconds(self.keep_s, "keep_s", _MAX_KEEP_S)
        for name in ("thins", "evicts", "promotes"):
            check_flag(getattr(self, name), name)


SESSION, EPISODIC = Retention("session", promotes=False), Retention("episodic")
PERMANENT = Retention("permanent", thins=False, evicts=False)
_BUILT_IN = (SESSION, EPISODIC, PERMANENT)
_NONE = Retention("none")
"""Of items that name none."""
_PERMANENT_MARK = b'"retention":"permanent"'


class Retentions:
    """The retentions that a memory knows: wmem's own and those that were registered.

    Raises:
        InvalidInputError: One is no `Retention`, or two have one id.
    """

    def __init__(self, registered: Iterable[Retention] = ()) -> None:
        if isinstance(registered, str | bytes) or not isinstance(registered, Iterable):
            raise InvalidInputError(f"retention must be a list of wmem.Retention, not {describe(registered)}")
        self._by_id = {each.id: each for each in _BUILT_IN}
        for each in registered:
            if not isinstance(each, Retention):
                raise InvalidInputError(f"retention must be a list of wmem.Retention, and has {describe(each)}")
            if each.id in self._by_id:
                raise InvalidInputError(f"there is a retention {each.id!r} already")
            self._by_id[each.id] = each

    @property
    def is_configured(self) -> bool:
        """Whether there are others than wmem's own."""
        return len(self._by_id) > len(_BUILT_IN)

    def check(self, id: object) -> str:
        """The id of a retention as it is stored.

        Raises:
            InvalidInputError: There is none of that id.
        """
        known = id.strip().casefold() if isinstance(id, str) else ""
        if known not in self._by_id:
            raise InvalidInputError(f"there is no retention {describe(id)}; known: {', '.join(self._by_id)}")
        return known

    def may_promote(self, id: str | None) -> bool:
        """Whether an item that names this retention may go to long-term memory; one that is not known here may."""
        known = None if not isinstance(id, str) else self._by_id.get(id.strip().casefold())
        return known is None or known.promotes

    def check_long_term(self, row: Row) -> None:
        """Raise `InvalidInputError` if an item's retention keeps it out of long-term memory."""
        if not (found := self.find(row)).promotes:
            raise InvalidInputError(f"an item of the retention {found.id!r} is not for long-term memory")

    def find(self, row: Row) -> Retention:
        """The retention of an item; of one that is not known here nothing is taken away."""
        id = find_retention_id(row)
        if id is None:
            return _NONE
        return self._by_id.get(id.strip().casefold()) or Retention(id, thins=False, evicts=False)

    def find_expiry(self, row: Row) -> float | None:
        """The instant up to which an item's retention keeps it, in UTC epoch seconds; None for ever."""
        keep_s = self.find(row).keep_s
        return None if keep_s is None or row.pinned else row.created_at + keep_s

    def keep_s(self, id: str) -> float | None:
        """Seconds for which a retention keeps an item; None for ever, and for one that is not known here."""
        known = self._by_id.get(id.strip().casefold())
        return None if known is None else known.keep_s

    def is_known(self, id: str) -> bool:
        """Whether there is a retention of an id."""
        return id.strip().casefold() in self._by_id

    def is_exempt_from_eviction(self, row: Row) -> bool:
        """Whether an item may not be evicted from long-term memory."""
        return not self.find(row).evicts

    def is_exempt_from_thinning(self, row: Row) -> bool:
        """Whether an item may not be left out of a log that is thinned."""
        return not self.find(row).thins


def find_retention_id(row: Row) -> str | None:
    """The id of the retention that an item names; most name none."""
    if row.rest is None or b'"retention"' not in row.rest:
        return None
    id = load_json(row.rest).get("retention")
    return id if isinstance(id, str) else None


def is_permanent(row: Row) -> bool:
    """Whether an item is exempt from time to live and eviction, in working memory, too."""
    return row.rest is not None and _PERMANENT_MARK in row.rest and find_retention_id(row) == PERMANENT.id
