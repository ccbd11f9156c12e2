"""The session and scope path of an agent run, from its settings and its LangGraph runtime."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from wmem.adapter import LongTerm, LongTermChoice, SessionName, to_session_path
from wmem.errors import InvalidInputError
from wmem.types import Path

Session: TypeAlias = SessionName | Callable[[Runtime[Any]], SessionName]
"""A session's name or names, ``thread`` for that of the run's thread, or a function that returns them for a run."""

R = TypeVar("R")

_NO_SESSION = (
    "whose session is this? pass session=, give the run a 'session_id' (an agent's in the runtime context, "
    "a chain's in the configurable), or run with a checkpointer and a thread_id; there is no default session"
)
_NESTED_AGENT = (
    "this runs as a part of another graph, at {around!r}, so the thread is not its own: pass session=, "
    "session='thread' to share the thread's session with the graph's other agents"
)
_NO_THREAD = "session='thread' is that of the run's thread, and this run has none: use a checkpointer and a thread_id"
_THREAD = "thread"
_TOOLS_NODE = "tools"  # name of the graph node in which agents run their tools


def scope_path(session: Session | None, runtime: Runtime[Any]) -> Path:
    """The scope path of a run: the session that was set, else the thread's, or a scope below it for a sub-agent.

    Raises:
        InvalidInputError: No session is set and no thread has an id, or a nested run is not inside a tool.
    """
    if callable(session):
        return _to_path(session(runtime))
    if session not in (None, _THREAD):
        return _to_path(session)
    context, info = runtime.context, runtime.execution_info
    named = context.get("session_id") if isinstance(context, Mapping) else getattr(context, "session_id", None)
    thread, checkpoint_ns = (None, "") if info is None else (info.thread_id, info.checkpoint_ns)
    return path_in_thread(session, named=named, thread=thread, checkpoint_ns=checkpoint_ns)


def run_path(session: SessionName | Callable[[RunnableConfig], SessionName] | None, config: RunnableConfig) -> Path:
    """The scope path of a chain's run, or a node's: as `scope_path`, from the run's configuration."""
    if callable(session):
        return _to_path(session(config))
    if session not in (None, _THREAD):
        return _to_path(session)
    facts = config.get("configurable", {})
    named, thread, checkpoint_ns = (facts.get(name) for name in ("session_id", "thread_id", "checkpoint_ns"))
    return path_in_thread(session, named=named, thread=thread, checkpoint_ns=checkpoint_ns or "")


def path_in_thread(session: SessionName | None, *, named: object, thread: object, checkpoint_ns: str) -> Path:
    """The scope path of a run whose session is that of its thread, or the one its caller named.

    Args:
        session: ``thread``, or None for the caller's name before the thread.
        named: What the caller of the run named.
        thread: The thread's id. Checkpointers accept numbers and UUIDs as well, and convert them in the same way.
        checkpoint_ns: Where LangGraph keeps the run's state; "" outside of it.
    """
    if session == _THREAD and thread is None:
        raise InvalidInputError(_NO_THREAD)
    path = _to_path(str(thread) if thread is not None and (session == _THREAD or named is None) else named)
    around = _list_runs(checkpoint_ns)
    tools = tuple(filter(_is_in_tool, around))
    if session == _THREAD:
        return (*path, *tools)
    if around and not tools:
        raise InvalidInputError(_NESTED_AGENT.format(around="|".join(around)))
    return (*path, *around)


def _to_path(session: object) -> Path:
    if session is None or (isinstance(session, str) and not session.strip()):
        raise InvalidInputError(_NO_SESSION)
    return to_session_path(session)


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


def is_single_run(session: Session | None, runtime: Runtime[Any]) -> bool:
    """Whether the scope belongs to a single nested run, whose state LangGraph does not keep for the thread."""
    info = runtime.execution_info
    if session not in (None, _THREAD) or info is None:
        return False
    around = _list_runs(info.checkpoint_ns)
    below = around if session is None else tuple(filter(_is_in_tool, around))
    return bool(below) and ":" in below[-1]


def home_depth(session: Session | None, runtime: Runtime[Any]) -> int | None:
    """How many segments the path of the scope has in which a single nested run remembers; None: its own scope."""
    if not is_single_run(session, runtime):
        return None
    path = scope_path(session, runtime)
    while ":" in path[-1] and len(path) > 1:
        path = path[:-1]
    return 1 + len(path)


class LongTermOption(Generic[R]):
    """The option `long_term`, which may be a function of a run: its runtime, or its configuration."""

    def __init__(self, value: LongTerm | Callable[[R], LongTerm]) -> None:
        self._choose = value if callable(value) else None
        self.fixed = LongTermChoice.read(True if callable(value) else value)
        """What is known without a run."""

    @property
    def needs_run(self) -> bool:
        """Whether only a run tells."""
        return self._choose is not None

    def resolve(self, run: R) -> LongTermChoice:
        """What holds for a run."""
        return self.fixed if self._choose is None else LongTermChoice.read(self._choose(run))
