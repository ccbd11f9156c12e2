"""Array operations for ranking, on plain lists; `wmem.retrieval.arrays_numpy` has the same ones on numpy arrays."""

import importlib.util
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from heapq import nlargest
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from array import array

C = TypeVar("C")
_MANY_PER_RESULT = 8  # numbers for each result from which on not all are sorted


@cache
def has_numpy() -> bool:
    """Whether numpy is installed (extra ``recall``)."""
    return importlib.util.find_spec("numpy") is not None


class ArrayOps(Protocol[C]):
    """Operations for rules written once for lists and for numpy arrays; results are equal to the last bit."""

    def ints(self, values: Sequence[int], /) -> C:
        """A column of integers."""
        ...

    def floats(self, values: Sequence[float], /) -> C:
        """A column of floats."""
        ...

    def to_list(self, column: C, /) -> list[Any]:
        """The column as a list."""
        ...

    def take(self, source: "C | array[int] | array[float]", indices: C, /) -> C:
        """The values at these indices."""
        ...

    def select(self, column: C, flags: C, /) -> C:
        """The values where the flag is not 0."""
        ...

    def apply(self, formula: Callable[..., Any], /, *columns: C) -> C:
        """A formula of sums, products and comparisons, applied to each row."""
        ...

    def clip(self, column: C, upper: float, /) -> C:
        """The column, with larger numbers replaced by `most`."""
        ...

    def factor_where(self, flags: C, value: float, /) -> C:
        """The value where the flag is not 0, else 1."""
        ...

    def take_rows(self, table: "array[int]", width: int, indices: C, columns: Sequence[int], /) -> C:
        """These columns of these rows of a table stored row by row, as one column, row after row."""
        ...

    def outer_product(self, column: C, factors: Sequence[float], /) -> C:
        """Each number of the column times each factor, as one column, all products of the first number first."""
        ...

    def distinct(self, columns: Sequence[C], /) -> C:
        """The integers of several columns without duplicates, in order of first occurrence."""
        ...

    def sum_by_key(self, keys: C, amounts: C, /) -> Callable[[C], C]:
        """A function from keys to the sum of their amounts; 0 for a key that has none."""
        ...

    def sum_shares(
        self, sets: "Sequence[array[int]]", shares: Sequence[float], exclude: Sequence[int], /
    ) -> tuple[C, C]:
        """The members of some sets but these, in no order, and for each the sum of the shares of the sets it is in."""
        ...

    def map_distinct(self, function: Callable[[int], float], column: C, /) -> C:
        """A function of each integer, which is called once for each distinct one."""
        ...

    def top_indices(self, column: C, limit: int, /) -> C:
        """The indices of the largest, largest first, at most `limit`; equal ones in order."""
        ...

    def maximum(self, column: C, /) -> float:
        """The largest number; 0 for an empty column, or one of negative numbers."""
        ...


class ListOps:
    """Columns as lists."""

    __slots__ = ()

    def ints(self, values: Sequence[int], /) -> list[Any]:
        return list(values)

    def floats(self, values: Sequence[float], /) -> list[Any]:
        return list(values)

    def to_list(self, column: list[Any], /) -> list[Any]:
        return column

    def take(self, source: "list[Any] | array[int] | array[float]", indices: list[Any], /) -> list[Any]:
        return list(map(source.__getitem__, indices))

    def select(self, column: list[Any], flags: list[Any], /) -> list[Any]:
        return list(compress(column, flags))

    def apply(self, formula: Callable[..., Any], /, *columns: list[Any]) -> list[Any]:
        return list(map(formula, *columns))

    def clip(self, column: list[Any], upper: float, /) -> list[Any]:
        return [min(upper, value) for value in column]

    def factor_where(self, flags: list[Any], value: float, /) -> list[Any]:
        return [value if flag else 1.0 for flag in flags]

    def take_rows(self, table: "array[int]", width: int, indices: list[Any], columns: Sequence[int], /) -> list[Any]:
        return [table[width * place + column] for place in indices for column in columns]

    def outer_product(self, column: list[Any], factors: Sequence[float], /) -> list[Any]:
        return [value * factor for value in column for factor in factors]

    def distinct(self, columns: Sequence[list[Any]], /) -> list[Any]:
        return list(dict.fromkeys(chain.from_iterable(columns)))

    def sum_by_key(self, keys: list[Any], amounts: list[Any], /) -> Callable[[list[Any]], list[Any]]:
        held: dict[int, float] = {}
        for key, amount in zip(keys, amounts, strict=True):
            held[key] = held.get(key, 0.0) + amount
        return lambda lookup_keys: [held.get(key, 0.0) for key in lookup_keys]

    def sum_shares(
        self, sets: "Sequence[array[int]]", shares: Sequence[float], exclude: Sequence[int], /
    ) -> tuple[list[Any], list[Any]]:
        held: dict[int, float] = {}
        for members, share in zip(sets, shares, strict=True):
            for member in members:
                held[member] = held.get(member, 0.0) + share
        for member in exclude:
            held.pop(member, None)
        return list(held), list(held.values())

    def map_distinct(self, function: Callable[[int], float], column: list[Any], /) -> list[Any]:
        values = {value: function(value) for value in set(column)}
        return list(map(values.__getitem__, column))

    def top_indices(self, column: list[Any], limit: int, /) -> list[Any]:
        indices: Iterable[int] = range(len(column))
        if len(column) > _MANY_PER_RESULT * limit:
            least = min(nlargest(limit, column), default=math.inf)
            indices = compress(indices, map(least.__le__, column))
        return sorted(indices, key=column.__getitem__, reverse=True)[:limit]

    def maximum(self, column: list[Any], /) -> float:
        return max(0.0, max(column, default=0.0))
