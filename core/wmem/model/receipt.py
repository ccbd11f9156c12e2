"""`Receipt`: names one prompt in a few characters, so that it can be looked up, rendered again and compared."""

import base64
import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple, Self

from wmem.errors import InvalidInputError
from wmem.model.history import Path, to_scope_id
from wmem.model.trace import PackTraced

if TYPE_CHECKING:
    from collections.abc import Callable

    from wmem.model.context import Context

SCOPE_BYTES = 6
DIGEST_BYTES = 6
_PREFIX = "wmem1"
_FORM = re.compile(r"wmem1\.([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]{8})")


class Receipt(NamedTuple):
    """A prompt's name: of which scope it is, and what it says, both as digests.

    Attributes:
        scope: Digest of the scope's path.
        digest: Of the layout and the prompt.
    """

    scope: bytes
    digest: bytes

    def __str__(self) -> str:
        return f"{_PREFIX}.{_to_text(self.scope)}.{_to_text(self.digest)}"

    @classmethod
    def parse(cls, text: object) -> Self:
        """The receipt of a text.

        Raises:
            InvalidInputError: It is none.
        """
        match = _FORM.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise InvalidInputError("that is no receipt: it is what Context.receipt is, wmem1. and two words")
        return cls(*(base64.urlsafe_b64decode(each) for each in match.groups()))


def _to_text(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).decode("ascii")


def scope_digest(path: Path) -> bytes:
    """Digest of a scope's path."""
    return hashlib.blake2b(to_scope_id(path).encode("utf-8", "surrogatepass"), digest_size=SCOPE_BYTES).digest()


class Sealed(NamedTuple):
    """A prompt's receipt, the scope that was packed, its identity if it existed, else 0, and what its trace tells."""

    receipt: str
    path: Path
    identity: int
    event: PackTraced


class LazySeal:
    """The receipt of a prompt, made at first use: most prompts are sent without being traced."""

    __slots__ = ("_make", "_sealed")

    def __init__(self, make: "Callable[[Context], Sealed] | None", sealed: Sealed | None = None) -> None:
        self._make = make
        self._sealed = sealed

    def of(self, context: "Context") -> Sealed | None:
        """The receipt of the prompt that this belongs to; None for a copy that was made before it had one."""
        if self._sealed is None and self._make is not None:
            self._sealed = self._make(context)
            self._make = None  # it references all that the pack considered
        return self._sealed

    def __reduce__(self) -> tuple[type["LazySeal"], tuple[None, Sealed | None]]:
        return LazySeal, (None, self._sealed)
