"""Frames of short sentences, so that two that differ in their value alone are known as such in any language."""

from wmem.rules.updates.frames.reader import read_frames

__all__ = ["read_frames"]
