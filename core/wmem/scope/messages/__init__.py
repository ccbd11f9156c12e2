"""The conversation of a scope."""
