"""Choosing what a model sees within a budget: `pack` is the one door."""

from wmem.pack.packer import pack

__all__ = ["pack"]
