"""Conformance suite of the journal port, for any backend."""

from wmem.testing.journal.client import JournalClient
from wmem.testing.journal.suite import JournalSuite

__all__ = ["JournalClient", "JournalSuite"]
