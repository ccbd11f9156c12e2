"""A scope of memory with its facets."""

from wmem.scope.async_scope import AsyncScope
from wmem.scope.ports import PortPair
from wmem.scope.scope import Scope
from wmem.scope.view import ScopeView

__all__ = ["AsyncScope", "PortPair", "Scope", "ScopeView"]
