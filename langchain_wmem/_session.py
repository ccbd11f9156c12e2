"""The session and scope path of an agent run, from its settings and its LangGraph runtime."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from langgraph.runtime import Runtime

from wmem.errors import InvalidInputError
from wmem.types import Path

Session: TypeAlias = str | Callable[[Runtime[Any]], str]
"""A session's name, or a function that returns it for a run."""

_NO_SESSION = (
    "whose session is this? pass session= to WmemMiddleware, give the runtime context a 'session_id', "
    "or run with a checkpointer and a thread_id; there is no default session"
)
_NESTED_AGENT = (
    "this agent runs as a part of another graph, at {around!r}, so the thread is not its own: pass session= to "
    "WmemMiddleware, for example session=lambda runtime: runtime.execution_info.thread_id to share the thread's session"
)
_TOOLS_NODE = "tools"  # name of the graph node in which agents run their tools


def scope_path(session: Session | None, runtime: Runtime[Any]) -> Path:
    """The scope path of a run: the given session, else the thread's, or a scope below it for a sub-agent.

    Raises:
        InvalidInputError: No session is given and no thread has an id, or a nested run is not inside a tool.
    """
    named: object = session
    below: Path = ()
    if callable(session):
        named = session(runtime)
    elif session is None:
        given, info = runtime.context, runtime.execution_info
        named = given.get("session_id") if isinstance(given, Mapping) else getattr(given, "session_id", None)
        if named is None and info is not None and info.thread_id is not None:
            # Checkpointers accept numbers and UUIDs as well, and convert them in the same way.
            named = str(info.thread_id)
        if named is not None and info is not None:
            below = _path_below(info.checkpoint_ns)
    if not isinstance(named, str) or not named.strip():
        raise InvalidInputError(_NO_SESSION)
    return (named, *below)


def _path_below(checkpoint_ns: str) -> Path:
    """Names of the scopes from the thread's session down to a nested run's; empty for the thread's own run.

    LangGraph writes ``tools:<task>|1|model:<task>`` in the model node of the second graph
    that one task of the tools node runs.

    Raises:
        InvalidInputError: A nested run that is not inside a tool.
    """
    *around, _ = checkpoint_ns.split("|")
    path: list[str] = []
    for segment in around:
        if path and segment.isdecimal():
            # A sibling of the previous run, not nested in it.
            path[-1] = f"{path[-1]}|{segment}"
        else:
            path.append(segment)
    if path and all(segment.partition("|")[0].partition(":")[0] != _TOOLS_NODE for segment in path):
        raise InvalidInputError(_NESTED_AGENT.format(around="|".join(path)))
    return tuple(path)


def is_single_run(path: Path) -> bool:
    """Whether a scope belongs to a single nested run, whose state LangGraph does not keep for the thread."""
    return len(path) > 1 and ":" in path[-1]
