"""Array operations for ranking, on plain lists; `wmem.text.dense` has the same ones on numpy arrays."""

import importlib.util
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from array import array

__all__ = ["Arithmetic", "Lists", "has_arrays"]

C = TypeVar("C")


@cache
def has_arrays() -> bool:
    """Whether numpy is installed (extra ``recall``)."""
    return importlib.util.find_spec("numpy") is not None


class Arithmetic(Protocol[C]):
    """Operations for rules written once for lists and for numpy arrays; results are equal to the last bit."""

    def whole(self, values: Sequence[int], /) -> C:
        """A column of integers."""
        ...

    def floats(self, values: Sequence[float], /) -> C:
        """A column of floats."""
        ...

    def plain(self, column: C, /) -> list[Any]:
        """The column as a list."""
        ...

    def take(self, source: "C | array[int] | array[float]", places: C, /) -> C:
        """The values at these indices."""
        ...

    def present(self, column: C, flags: C, /) -> C:
        """The values where the flag is not 0."""
        ...

    def each(self, formula: Callable[..., Any], /, *columns: C) -> C:
        """A formula of sums, products and comparisons, applied to each row."""
        ...

    def at_most(self, column: C, most: float, /) -> C:
        """The column, with larger numbers replaced by `most`."""
        ...

    def factor(self, flags: C, value: float, /) -> C:
        """The value where the flag is not 0, else 1."""
        ...

    def rows(self, table: "array[int]", width: int, places: C, columns: Sequence[int], /) -> C:
        """These columns of these rows of a table stored row by row, as one column, row after row."""
        ...

    def products(self, column: C, factors: Sequence[float], /) -> C:
        """Each number of the column times each factor, as one column, all products of the first number first."""
        ...

    def distinct(self, columns: Sequence[C], /) -> C:
        """The integers of several columns without duplicates, in order of first occurrence."""
        ...

    def sums(self, keys: C, amounts: C, /) -> Callable[[C], C]:
        """A function from keys to the sum of their amounts; 0 for a key that has none."""
        ...

    def largest(self, column: C, limit: int, /) -> C:
        """The indices of the largest, largest first, at most `limit`; equal ones in order."""
        ...

    def most(self, column: C, /) -> float:
        """The largest number; 0 for an empty column."""
        ...


class Lists:
    """Columns as lists."""

    __slots__ = ()

    def whole(self, values: Sequence[int], /) -> list[Any]:
        return list(values)

    def floats(self, values: Sequence[float], /) -> list[Any]:
        return list(values)

    def plain(self, column: list[Any], /) -> list[Any]:
        return column

    def take(self, source: "list[Any] | array[int] | array[float]", places: list[Any], /) -> list[Any]:
        return list(map(source.__getitem__, places))

    def present(self, column: list[Any], flags: list[Any], /) -> list[Any]:
        return list(compress(column, flags))

    def each(self, formula: Callable[..., Any], /, *columns: list[Any]) -> list[Any]:
        return list(map(formula, *columns))

    def at_most(self, column: list[Any], most: float, /) -> list[Any]:
        return [min(most, value) for value in column]

    def factor(self, flags: list[Any], value: float, /) -> list[Any]:
        return [value if flag else 1.0 for flag in flags]

    def rows(self, table: "array[int]", width: int, places: list[Any], columns: Sequence[int], /) -> list[Any]:
        return [table[width * place + column] for place in places for column in columns]

    def products(self, column: list[Any], factors: Sequence[float], /) -> list[Any]:
        return [value * factor for value in column for factor in factors]

    def distinct(self, columns: Sequence[list[Any]], /) -> list[Any]:
        return list(dict.fromkeys(chain.from_iterable(columns)))

    def sums(self, keys: list[Any], amounts: list[Any], /) -> Callable[[list[Any]], list[Any]]:
        held: dict[int, float] = {}
        for key, amount in zip(keys, amounts, strict=True):
            held[key] = held.get(key, 0.0) + amount
        return lambda asked: [held.get(key, 0.0) for key in asked]

    def largest(self, column: list[Any], limit: int, /) -> list[Any]:
        return sorted(range(len(column)), key=column.__getitem__, reverse=True)[:limit]

    def most(self, column: list[Any], /) -> float:
        return max(column, default=0.0)
