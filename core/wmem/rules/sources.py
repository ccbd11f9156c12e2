"""Which memory type something belongs to."""

from urllib.parse import unquote

from wmem.rules.routing import CONVERSATION as CLOSED_TURNS
from wmem.rules.routing import EPISODIC, SEMANTIC

WORKING, CONVERSATION = "working", "conversation"
AUTO = "auto"
"""No memory type: the store of an item that is routed by what it is."""
EXTERNAL = "~external"
"""Name of the scopes, which are not stored, that hold what external memory types found."""
_TYPE_OF_SCOPE = {EPISODIC: "episodic", SEMANTIC: "semantic", CLOSED_TURNS: CONVERSATION}


def find_source(scope_id: str, *, is_message: bool) -> str:
    """The name of the memory type that holds something: by the id of its scope, and whether it is a message."""
    *above, name = scope_id.split("/")
    if above[1:] == [EXTERNAL]:
        return unquote(name)
    return _TYPE_OF_SCOPE.get(name) or (CONVERSATION if is_message else WORKING)
