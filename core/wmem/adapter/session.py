"""Names of sessions: one name, or the names of a nested one from the outermost down."""

from collections.abc import Sequence
from typing import NamedTuple, Self, TypeAlias, TypeVar

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.checks import check_path
from wmem.model.history import Path
from wmem.policy import Policy
from wmem.scope.async_scope import AsyncScope
from wmem.scope.scope import Scope

SessionName: TypeAlias = str | tuple[str, ...]
"""A session directly below its agent, or, as ``("user-7", "chat-3")``, one below another scope."""
LongTerm: TypeAlias = bool | Sequence[SessionName]
"""Which long-term memory prompts draw on: the agent's and that of the scopes that the session's policy names, none, or
the agent's and that of these scopes, as of a user: see `Policy.long_term`."""

S = TypeVar("S", Scope, AsyncScope)


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


class LongTermChoice(NamedTuple):
    """The option `long_term` of an adapter.

    Attributes:
        is_on: Whether prompts draw on long-term memory.
        names: The paths, below the agent, of the scopes whose long-term memory a session shares; empty for those that
            its policy names.
    """

    is_on: bool
    names: tuple[Path, ...] = ()

    @classmethod
    def read(cls, value: object) -> Self:
        """The option as a caller gives it.

        Raises:
            InvalidInputError: It is neither True nor False nor a list of scopes.
        """
        if isinstance(value, bool):
            return cls(value)
        if isinstance(value, str) or not isinstance(value, Sequence):
            msg = f"long_term must be True, False or a list of scopes, each by its name or names, not {describe(value)}"
            raise InvalidInputError(msg)
        return cls(is_on=True, names=Policy(long_term=value).long_term)

    def share(self, scope: S) -> S:
        """A scope, new from its memory, which shares the long-term memory of the scopes that are named."""
        scope._handle.name_long_term(self.names)  # noqa: SLF001  # of wmem
        return scope
