"""Conformance suite of the journal port, for any backend."""

from wmem.testing.journal.book import Book
from wmem.testing.journal.suite import JournalSuite

__all__ = ["Book", "JournalSuite"]
