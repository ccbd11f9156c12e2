"""Names of sessions: one name, or the names of a nested one from the outermost down."""

from collections.abc import Sequence
from typing import TypeAlias

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.checks import check_path
from wmem.model.history import Path

SessionName: TypeAlias = str | tuple[str, ...]
"""A session directly below its agent, or, as ``("user-7", "chat-3")``, one below another scope."""


def to_session_path(session: object, name: str = "session") -> Path:
    """The scope path of a session, below its agent.

    Args:
        name: What errors call it.

    Raises:
        InvalidInputError: It is no text and no sequence of texts, or a text is blank or reserved.
    """
    names = [session] if isinstance(session, str) else session
    listed = list(names) if isinstance(names, Sequence) and not isinstance(names, bytes | bytearray) else []
    if not listed or not all(isinstance(each, str) and each.strip() for each in listed):
        msg = f"{name} must be a text that is not blank, or a tuple of such texts, not {describe(session)}; "
        raise InvalidInputError(msg + "there is no default session")
    return check_path(listed)
