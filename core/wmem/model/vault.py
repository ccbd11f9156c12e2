"""Where the values behind marks of redaction are kept, if a user wants them back."""

import secrets
from typing import Protocol

_KEY_BYTES = 32


class Vault(Protocol):
    """Keeps what redaction took out, under its mark; a user's own, outside of wmem's store.

    `Redaction.restore` asks it. An error that it raises passes to the caller: the text is not written.
    """

    @property
    def key(self) -> bytes:
        """What digests in marks are keyed with: secret, and the same for as long as its marks are to be read."""
        ...

    def store(self, mark: str, value: str, /) -> None:
        """Keep a value; the same pair may come again."""
        ...

    def reveal(self, mark: str, /) -> str | None:
        """The value behind a mark; None for one that is not known."""
        ...


class MemoryVault:
    """A vault in this process's memory: what it keeps goes with it.

    Args:
        key: What digests are keyed with; without one, a random key.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = secrets.token_bytes(_KEY_BYTES) if key is None else key
        self._values: dict[str, str] = {}

    @property
    def key(self) -> bytes:
        return self._key

    def store(self, mark: str, value: str, /) -> None:
        self._values[mark] = value

    def reveal(self, mark: str, /) -> str | None:
        return self._values.get(mark)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"MemoryVault({len(self)} values)"
