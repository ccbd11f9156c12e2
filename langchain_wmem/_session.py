"""The session and scope path of an agent run, from its settings and its LangGraph runtime."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from langgraph.runtime import Runtime

from wmem.errors import InvalidInputError
from wmem.types import Path

Session: TypeAlias = str | Callable[[Runtime[Any]], str]
"""A session's name, ``thread`` for that of the run's thread, or a function that returns the name for a run."""

_NO_SESSION = (
    "whose session is this? pass session= to WmemMiddleware, give the runtime context a 'session_id', "
    "or run with a checkpointer and a thread_id; there is no default session"
)
_NESTED_AGENT = (
    "this agent runs as a part of another graph, at {around!r}, so the thread is not its own: pass session= to "
    "WmemMiddleware, session='thread' to share the thread's session with the graph's other agents"
)
_NO_THREAD = "session='thread' is that of the run's thread, and this run has none: use a checkpointer and a thread_id"
_THREAD = "thread"
_TOOLS_NODE = "tools"  # name of the graph node in which agents run their tools


def scope_path(session: Session | None, runtime: Runtime[Any]) -> Path:
    """The scope path of a run: the session that was set, else the thread's, or a scope below it for a sub-agent.

    Raises:
        InvalidInputError: No session is set and no thread has an id, or a nested run is not inside a tool.
    """
    info = runtime.execution_info
    # Checkpointers accept numbers and UUIDs as well, and convert them in the same way.
    thread = str(info.thread_id) if info is not None and info.thread_id is not None else None
    named: object = session
    if callable(session):
        named = session(runtime)
    elif session == _THREAD:
        if thread is None:
            raise InvalidInputError(_NO_THREAD)
        named = thread
    elif session is None:
        context = runtime.context
        named = context.get("session_id") if isinstance(context, Mapping) else getattr(context, "session_id", None)
        named = thread if named is None else named
    if not isinstance(named, str) or not named.strip():
        raise InvalidInputError(_NO_SESSION)
    if info is None or session not in (None, _THREAD):
        return (named,)
    around = _list_runs(info.checkpoint_ns)
    tools = tuple(filter(_is_in_tool, around))
    if session == _THREAD:
        return (named, *tools)
    if around and not tools:
        raise InvalidInputError(_NESTED_AGENT.format(around="|".join(around)))
    return (named, *around)


def _list_runs(checkpoint_ns: str) -> Path:
    """Names of the runs that a nested run is inside of, from the thread's down; empty for the thread's own run.

    LangGraph writes ``tools:<task>|1|model:<task>`` in the model node of the second graph
    that one task of the tools node runs.
    """
    *around, _ = checkpoint_ns.split("|")
    path: list[str] = []
    for segment in around:
        if path and segment.isdecimal():
            # A sibling of the previous run, not nested in it.
            path[-1] = f"{path[-1]}|{segment}"
        else:
            path.append(segment)
    return tuple(path)


def _is_in_tool(segment: str) -> bool:
    return segment.partition("|")[0].partition(":")[0] == _TOOLS_NODE


def is_single_run(path: Path) -> bool:
    """Whether a scope belongs to a single nested run, whose state LangGraph does not keep for the thread."""
    return len(path) > 1 and ":" in path[-1]
