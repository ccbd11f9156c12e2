"""Newer over older: which statements agree in subject and differ in value, and which of them is the newest."""

from wmem.rules.updates.latest import Dated, find_superseded
from wmem.rules.updates.question import asks_for_past
from wmem.rules.updates.reader import read_statements
from wmem.rules.updates.statement import Statement

__all__ = ["Dated", "Statement", "asks_for_past", "find_superseded", "read_statements"]
