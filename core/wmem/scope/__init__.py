"""Scopes and their facets."""

from wmem.scope.scope import AsyncScope, PortPair, Scope, ScopeView

__all__ = ["AsyncScope", "PortPair", "Scope", "ScopeView"]
