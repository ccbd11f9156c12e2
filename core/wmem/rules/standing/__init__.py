"""Standing requests: which clauses of a user's message are to be followed from now on, and which end earlier ones."""

from wmem.rules.standing.finder import find_standing_requests
from wmem.rules.standing.in_force import RequestsInForce, read_in_force

__all__ = ["RequestsInForce", "find_standing_requests", "read_in_force"]
