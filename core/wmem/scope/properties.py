"""What a scope tells without asking the store, sync and async alike."""

import sys

from wmem.errors import InvalidInputError
from wmem.model.checks import check_flag, check_path, check_seconds
from wmem.model.features import check_long_term
from wmem.model.history import RESERVED_PREFIX, Path
from wmem.model.ids import new_ulid
from wmem.policy import Policy
from wmem.scope.handle import Handle
from wmem.scope.items.promotion import long_term_handle
from wmem.scope.ports import PortPair

LEASE_S = 3_600.0
"""Default lease of a temporary scope."""


class ScopeProperties:
    """Properties of a scope that need no access to the store."""

    __slots__ = ("_handle", "_ports")

    def __init__(self, handle: Handle, ports: PortPair) -> None:
        self._handle = handle
        self._ports = ports

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self._handle.path[-1]

    @property
    def id(self) -> str:
        """The whole path as one text, another for each path: a slash within a segment is written ``%2F``."""
        return self._handle.id

    @property
    def path(self) -> Path:
        """The segments; the first is the agent."""
        return self._handle.path

    @property
    def policy(self) -> Policy:
        """The limits and rules of this scope."""
        return self._handle.policy

    @property
    def is_disposed(self) -> bool:
        """Whether this incarnation of the scope is known to be disposed; it never comes back."""
        return self._handle.is_disposed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}{' disposed' if self.is_disposed else ''}>"

    def _child_handle(self, name: str, policy: Policy | None, *, create: bool = True) -> Handle:
        (segment,) = check_path([name])
        return self._handle.child(segment, policy, create=check_flag(create, "create"))

    def _long_term_handle(self, name: str) -> Handle:
        check_long_term(self._handle.settings.features)
        path = self._handle.path
        if any(segment.startswith(RESERVED_PREFIX) for segment in path):
            raise InvalidInputError(f"scope {self.id!r} is part of a long-term memory, and has none of its own")
        return long_term_handle(self._handle, path, name)

    def _temporary_handle(self, name: str, lease_s: float | None) -> Handle:
        (segment,) = check_path([name])
        lease = None if lease_s is None else check_seconds(lease_s, "lease_s", sys.float_info.max)
        settings = self._handle.settings
        policy = settings.policy.model_copy(update={"lease_s": lease, "long_term": ()})  # it shares its parent's
        return self._child_handle(f"{segment}-{new_ulid(settings.clock())}", policy)
