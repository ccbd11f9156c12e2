"""The order of items and of messages by place, in which a page is found however long the list is."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

_SPARE = 1_024


class Orders(dict[str, "Order"]):
    """By facet, the order in which pages are found; made when the first page is asked for."""

    __slots__ = ()

    def __copy__(self) -> "Orders":
        """An empty one: orders grow with their state."""
        return Orders()

    def find(self, facet: str, places: Mapping[str, int]) -> "Order":
        """The order of a facet whose rows have these places."""
        order = self.get(facet)
        if order is None or order.is_sparse(len(places)):
            self[facet] = order = Order(places)
        return order

    def extend(self, facet: str, id: str, place: int) -> None:
        """Add a row, whose place is after all others."""
        if (order := self.get(facet)) is not None:
            order.append(id, place)

    def drop(self, facet: str) -> None:
        """Have the order of a facet made anew: rows came back into their places."""
        self.pop(facet, None)


class Order:
    """Ids and places of rows, in order, and of some that are gone.

    It only grows; what is gone is dropped when a new one is made, see `is_sparse`.
    """

    __slots__ = ("_ids", "_places")

    def __init__(self, places: Mapping[str, int]) -> None:
        self._ids = list(places)
        self._places = list(places.values())

    def append(self, id: str, place: int) -> None:
        """Add a row, whose place is after all others."""
        self._ids.append(id)
        self._places.append(place)

    def is_sparse(self, count: int) -> bool:
        """Whether more than half of the rows, and many, are gone: `count` are there."""
        return len(self._ids) > 2 * count + _SPARE

    def after(self, place: int, places: Mapping[str, int]) -> Iterator[str]:
        """The ids after a place, in order, of those that are where `places` has them."""
        return self._select(range(bisect_right(self._places, place), len(self._ids)), places)

    def before(self, place: int, places: Mapping[str, int]) -> Iterator[str]:
        """The ids before a place, from the nearest back; see `after`."""
        return self._select(range(bisect_left(self._places, place) - 1, -1, -1), places)

    def _select(self, positions: range, places: Mapping[str, int]) -> Iterator[str]:
        return (self._ids[at] for at in positions if places.get(self._ids[at]) == self._places[at])
