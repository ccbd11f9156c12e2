"""Memories that were opened with more than a URL says: a password, a key, a client, an embedder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import wmem
from tests.conformance.own_journal import DictJournal
from tests.suites.embedders import Embedder

WORD = "correct-horse"
KEY = bytes(range(100, 132))
SECRETS = (WORD, KEY.hex(), repr(KEY)[2:-1])
"""What must stand nowhere."""

OPENINGS = ["password", "key", "client", "embedder"]


def opening(name: str, folder: Path, locked: str | None = None) -> Callable[[], wmem.AgentMemory]:
    """Opens the one memory of agent ``a`` that needs what `name` says; each call opens it again.

    Args:
        locked: The URL of a store with a password.
    """
    if name == "password" and locked is not None:
        return lambda: wmem.open(locked, agent_id="a")
    if name == "client":
        journal = DictJournal()
        return lambda: wmem.open("journal://own", agent_id="a", client=journal)
    options: dict[str, Any] = {"key": KEY} if name == "key" else {"embedder": Embedder()}
    return lambda: wmem.open(f"sqlite://{folder / 'm.db'}", agent_id="a", **options)
