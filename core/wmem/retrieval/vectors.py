"""Exact vector search with numpy, and validation and encoding of an embedder's vectors."""

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from wmem.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float32]"
"""One vector, or one in each row."""

_INITIAL_ROWS = 64
_POWER = 1.5  # of a cosine: with more the best outweigh what is nearly as much alike, with less all are alike
_SAMPLE = 64  # texts that tell how alike the texts of a scope are
_SAME = 0.999  # cosine of copies
_GROWTH = 1.25  # by which a scope grows before that is told anew
_UNIT_TOLERANCE = 1e-3


def to_unit_rows(matrix: Any, text_count: int) -> "Floats":
    """The matrix that an embedder returned for this many texts, each row scaled to length 1, or all 0.

    Raises:
        InvalidInputError: It is no matrix of finite numbers with a row for each text.
        TypeError, ValueError: It is no array of numbers.
    """
    import numpy as np

    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite and is refused below
        made = np.array(matrix, dtype=np.float32)
    if made.ndim != 2 or made.shape[0] != text_count or not made.shape[1]:  # noqa: PLR2004  # a matrix has two
        raise InvalidInputError(f"returned the shape {made.shape} for {text_count} texts")
    if not np.isfinite(made).all():
        raise InvalidInputError("returned numbers that are not finite")
    return _normalize(made)


def _normalize(matrix: "Floats") -> "Floats":
    import numpy as np

    largest = np.abs(matrix).max(axis=1, keepdims=True)
    matrix /= np.where(largest > 0, largest, 1)  # before the norm, so that no square overflows
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(lengths > 0, lengths, 1)
    return matrix


def encode_vector(vector: "Floats") -> bytes:
    """A vector as JSON: its little-endian float32 in base 64."""
    return b'"%s"' % b64encode(vector.astype("<f4").tobytes())


def decode_vector(encoded: bytes, width: int) -> "Floats | None":
    """Decode what `encode_vector` wrote; None for anything else, or another width.

    A model of another size may have used the name, or another program may have written to the store.
    """
    import numpy as np

    try:
        read = b64decode(encoded[1:-1], validate=True)
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
    return vector if abs(square - 1) < _UNIT_TOLERANCE or not square else _normalize(vector[None])[0]


class Likeness(NamedTuple):
    """How alike the texts of a scope are: models differ much in what a cosine means.

    Attributes:
        usual: The mean cosine of two texts.
        nearest: The median cosine of a text and the one most like it.
    """

    usual: float
    nearest: float


class Similarities(NamedTuple):
    """Similarity of each vector to a query: its cosine relative to the best, to the power of 1.5, 0 for a negative one.

    Attributes:
        best: The best cosine.
        likeness: Of the texts to one another.
    """

    row_by_id: dict[str, int]
    ids: list[str | None]
    scores: "Floats"
    best: float
    likeness: Likeness

    def closeness(self) -> float:
        """How near the best text is to the query: 0 as any two texts are, 1 as a text and the one most like it."""
        usual, nearest = self.likeness
        best = self.best * float(self.scores.max(initial=0)) ** (1 / _POWER)
        return (best - usual) / (nearest - usual) if nearest > usual else 1.0

    def score(self, id: str) -> float:
        """The similarity of one vector; 0 for an unknown id."""
        place = self.row_by_id.get(id)
        return 0.0 if place is None else float(self.scores[place])

    def hide_others(self, ids: Iterable[str]) -> Self:
        """The same, with all but these as if they were unlike."""
        places = [place for id in ids if (place := self.row_by_id.get(id)) is not None]
        scores = self.scores * 0
        scores[places] = self.scores[places]
        return self._replace(scores=scores)

    def top(self, limit: int, number: Callable[[str], float]) -> dict[str, float]:
        """The similarities of the best by id, best first, at most `limit`.

        Args:
            number: Of each id, by which equal ones are ordered.
        """
        import numpy as np

        shares = self.scores
        found = np.flatnonzero(shares > 0)
        if len(found) > limit:
            least = np.partition(shares[found], len(found) - limit)[len(found) - limit]
            found = found[shares[found] >= least]
        best = [
            (-float(shares[place]), number(id), id) for place in found.tolist() if (id := self.ids[place]) is not None
        ]
        return {id: -share for share, _, id in sorted(best)[:limit]}


class VectorIndex:
    """Vectors of one width by id, updated with every write; the row of a removed vector is reused."""

    __slots__ = ("_free_rows", "_ids", "_likeness", "_row_by_id", "_rows")

    def __init__(self) -> None:
        self._rows: Floats | None = None
        self._ids: list[str | None] = []
        self._row_by_id: dict[str, int] = {}
        self._free_rows: list[int] = []
        self._likeness: tuple[int, Likeness] | None = None  # with the number of texts

    def __len__(self) -> int:
        return len(self._row_by_id)

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
            self._ids, self._row_by_id, self._free_rows = [], {}, []
            self._rows = np.zeros((_INITIAL_ROWS, len(vector)), dtype=np.float32)
        if self._free_rows:
            place = self._free_rows.pop()
            self._ids[place] = id
        else:
            place = len(self._ids)
            self._ids.append(id)
            if place == len(self._rows):
                self._rows = np.concatenate((self._rows, np.zeros_like(self._rows[: max(_INITIAL_ROWS, place // 4)])))
        self._rows[place] = vector
        self._row_by_id[id] = place

    def remove(self, id: str) -> None:
        """Remove a vector, if present."""
        place = self._row_by_id.pop(id, None)
        if place is not None and self._rows is not None:
            self._rows[place] = 0
            self._ids[place] = None
            self._free_rows.append(place)

    def similarities(self, vector: "Floats", exclude: str | None = None) -> Similarities | None:
        """The similarity of each vector to one of length 1, except the id `without`; None if no cosine is above 0.

        Valid until the next write.
        """
        import numpy as np

        if self._rows is None or self._rows.shape[1] != len(vector):
            return None
        cosines = self._rows[: len(self._ids)] @ vector
        np.maximum(cosines, 0, out=cosines)
        if exclude is not None and (place := self._row_by_id.get(exclude)) is not None:
            cosines[place] = 0
        best = cosines.max(initial=0)
        if not best > 0:
            return None
        cosines /= best
        cosines *= np.sqrt(cosines)  # to the power of 1.5
        return Similarities(self._row_by_id, self._ids, cosines, float(best), self._measure_likeness())

    def _measure_likeness(self) -> Likeness:
        """How alike the texts are, by some that are spread over all; measured anew where the scope has grown."""
        import numpy as np

        count = len(self)
        if self._likeness is not None and self._likeness[0] / _GROWTH <= count <= self._likeness[0] * _GROWTH:
            return self._likeness[1]
        places = np.fromiter(self._row_by_id.values(), dtype=np.intp, count=count)
        sample = places[:: max(1, count // _SAMPLE)]
        rows = self._rows if self._rows is not None else np.zeros((0, 0), dtype=np.float32)
        cosines = rows[sample] @ rows[places].T
        usual = float(cosines.mean())
        cosines[cosines > _SAME] = -1  # a text itself, and its copies
        made = Likeness(usual, float(np.median(cosines.max(axis=1))))
        self._likeness = count, made
        return made
