"""Exact vector search with numpy, and validation and encoding of an embedder's vectors."""

import math
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Floats", "Near", "Vectors", "as_rows", "read_vector", "written_vector"]

Floats: TypeAlias = "NDArray[np.float32]"
"""One vector, or one in each row."""

_FIRST = 64
_NEAR_1 = 1e-3


def as_rows(given: Any, texts: int) -> "Floats":
    """The matrix that an embedder returned for this many texts, each row scaled to length 1, or all 0.

    Raises:
        ValueError: It is no matrix of finite numbers with a row for each text.
    """
    import numpy as np

    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite and is refused below
        made = np.array(given, dtype=np.float32)
    if made.ndim != 2 or made.shape[0] != texts or not made.shape[1]:  # noqa: PLR2004  # a matrix has two
        msg = f"returned the shape {made.shape} for {texts} texts"
        raise ValueError(msg)
    if not np.isfinite(made).all():
        msg = "returned numbers that are not finite"
        raise ValueError(msg)
    return _of_length_1(made)


def _of_length_1(made: "Floats") -> "Floats":
    import numpy as np

    largest = np.abs(made).max(axis=1, keepdims=True)
    made /= np.where(largest > 0, largest, 1)  # before the norm, so that no square overflows
    lengths = np.linalg.norm(made, axis=1, keepdims=True)
    made /= np.where(lengths > 0, lengths, 1)
    return made


def written_vector(vector: "Floats") -> bytes:
    """A vector as JSON: its little-endian float32 in base 64."""
    return b'"%s"' % b64encode(vector.astype("<f4").tobytes())


def read_vector(told: bytes, width: int) -> "Floats | None":
    """Decode what `written_vector` wrote; None for anything else, or another width.

    A model of another size may have used the name, or another program may have written to the store.
    """
    import numpy as np

    try:
        read = b64decode(told[1:-1], validate=True)
    except ValueError:
        return None
    if len(read) != 4 * width:
        return None
    vector = np.frombuffer(read, dtype="<f4").astype(np.float32)
    wide = vector.astype(np.float64)  # where the square of a float32 cannot overflow
    square = float(wide @ wide)
    if not math.isfinite(square):
        return None
    # A vector that is longer than 1 would outweigh all others.
    return vector if abs(square - 1) < _NEAR_1 or not square else _of_length_1(vector[None])[0]


class Near(NamedTuple):
    """Similarity of each vector to a query: its squared cosine relative to the best, 0 for a negative cosine."""

    places: dict[str, int]
    ids: list[str | None]
    shares: "Floats"

    def of(self, id: str) -> float:
        """The similarity of one vector; 0 for an unknown id."""
        place = self.places.get(id)
        return 0.0 if place is None else float(self.shares[place])

    def best(self, limit: int) -> dict[str, float]:
        """The similarities of the best by id, best first, at most `limit`; equal ones in order of their rows."""
        import numpy as np

        shares = self.shares
        found = np.flatnonzero(shares > 0)
        if len(found) > limit:
            least = np.partition(shares[found], len(found) - limit)[len(found) - limit]
            found = found[shares[found] >= least]
        found = found[np.lexsort((found, -shares[found]))][:limit]
        return {id: float(shares[place]) for place in found.tolist() if (id := self.ids[place]) is not None}


class Vectors:
    """Vectors of one width by id, updated with every write; the row of a removed vector is reused."""

    __slots__ = ("_free", "_ids", "_places", "_rows")

    def __init__(self) -> None:
        self._rows: Floats | None = None
        self._ids: list[str | None] = []
        self._places: dict[str, int] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._places)

    @property
    def width(self) -> int | None:
        """The number of dimensions; None before the first vector."""
        return None if self._rows is None else int(self._rows.shape[1])

    @property
    def bytes(self) -> int:
        """Memory of the matrix in bytes, including spare rows."""
        return 0 if self._rows is None else self._rows.nbytes

    def put(self, id: str, vector: "Floats") -> None:
        """Add or replace a vector; one of another width drops all others first."""
        import numpy as np

        self.remove(id)
        if self._rows is None or self._rows.shape[1] != len(vector):
            self._ids, self._places, self._free = [], {}, []
            self._rows = np.zeros((_FIRST, len(vector)), dtype=np.float32)
        if self._free:
            place = self._free.pop()
            self._ids[place] = id
        else:
            place = len(self._ids)
            self._ids.append(id)
            if place == len(self._rows):
                self._rows = np.concatenate((self._rows, np.zeros_like(self._rows[: max(_FIRST, place // 4)])))
        self._rows[place] = vector
        self._places[id] = place

    def remove(self, id: str) -> None:
        """Remove a vector, if present."""
        place = self._places.pop(id, None)
        if place is not None and self._rows is not None:
            self._rows[place] = 0
            self._ids[place] = None
            self._free.append(place)

    def near(self, vector: "Floats", without: str | None = None) -> Near | None:
        """The similarity of each vector to one of length 1, except the id `without`; None if no cosine is above 0.

        Valid until the next write.
        """
        import numpy as np

        if self._rows is None or self._rows.shape[1] != len(vector):
            return None
        cosines = self._rows[: len(self._ids)] @ vector
        np.maximum(cosines, 0, out=cosines)
        if without is not None and (place := self._places.get(without)) is not None:
            cosines[place] = 0
        best = cosines.max(initial=0)
        if not best > 0:
            return None
        cosines /= best
        cosines *= cosines
        return Near(self._places, self._ids, cosines)
