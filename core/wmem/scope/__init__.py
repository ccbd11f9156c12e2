"""Scopes and their facets."""

from wmem.scope.scope import AsyncScope, Colours, Scope, ScopeView

__all__ = ["AsyncScope", "Colours", "Scope", "ScopeView"]
