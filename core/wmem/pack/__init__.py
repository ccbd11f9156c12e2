"""Choosing what a model sees, within a budget."""

from wmem.pack.packer import pack
from wmem.pack.request import Candidate, NoteRole, Orphans, PackRequest, PromptCounter, Recalled

__all__ = ["Candidate", "NoteRole", "Orphans", "PackRequest", "PromptCounter", "Recalled", "pack"]
