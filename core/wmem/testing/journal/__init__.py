"""What a journal promises, whatever keeps it."""

from wmem.testing.journal.book import Book
from wmem.testing.journal.suite import JournalSuite

__all__ = ["Book", "JournalSuite"]
