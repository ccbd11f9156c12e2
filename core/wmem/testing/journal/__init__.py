"""What a journal promises, whatever keeps it."""

from wmem.testing.journal.book import Book, Connect
from wmem.testing.journal.suite import JournalSuite

__all__ = ["Book", "Connect", "JournalSuite"]
