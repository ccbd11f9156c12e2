"""Select what a model sees within a token budget."""

from wmem.pack.packer import pack
from wmem.pack.render import is_note
from wmem.pack.request import (
    Candidate,
    NoteRole,
    Orphans,
    PackOptions,
    PackRequest,
    PromptCounter,
    Quote,
    QuoteStore,
    RecalledCandidate,
)

__all__ = [
    "Candidate",
    "NoteRole",
    "Orphans",
    "PackOptions",
    "PackRequest",
    "PromptCounter",
    "Quote",
    "QuoteStore",
    "RecalledCandidate",
    "is_note",
    "pack",
]
