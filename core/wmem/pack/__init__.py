"""Select what a model sees within a token budget."""

from wmem.pack.packer import pack
from wmem.pack.render import is_note
from wmem.pack.request import Candidate, NoteRole, Orphans, PackRequest, PromptCounter, Quote, Quotes, Recalled

__all__ = [
    "Candidate",
    "NoteRole",
    "Orphans",
    "PackRequest",
    "PromptCounter",
    "Quote",
    "Quotes",
    "Recalled",
    "is_note",
    "pack",
]
