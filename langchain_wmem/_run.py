"""What a run in LangGraph says of itself: its thread, its place in the graph, and which hooks come after ours."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime

_NODE_CHANNEL = "branch:to:"  # how LangGraph names the channel that starts a node
_HARMLESS = frozenset(("ShellToolMiddleware", "_ParentNotifierMiddleware"))
"""Middleware of LangChain and deepagents whose ``after_agent`` changes no message: deep agents have one before ours."""


class Run(NamedTuple):
    """One model call's, or one hook's, place in a run.

    Attributes:
        thread: The name of the thread, for its messages to be known by; None if it has none.
        has_state: A checkpointer keeps the thread's state: what that no longer holds was removed.
        is_nested: The graph is a part of another one: its state begins anew with each run.
        graph: Distinguishes the graphs of one thread that run at one time.
        step: The step of the graph; within one run it only grows.
        control: What LangGraph makes anew for each run of the outermost graph; None before LangGraph 1.2.
    """

    thread: str | None
    has_state: bool
    is_nested: bool
    graph: str
    step: int
    control: object = None

    @property
    def key(self) -> tuple[object, str]:
        """What the hooks of one run have in common."""
        return self.control, self.graph


def find_run(runtime: Runtime[Any]) -> Run:
    """Where a hook is called."""
    info = runtime.execution_info
    around = info.checkpoint_ns.rpartition("|")[0] if info is not None else ""
    thread = None
    if info is not None and info.thread_id is not None and find_checkpoints() is not None:
        thread = str(info.thread_id)  # a run may name one and have no checkpointer
    step = _read_config("metadata").get("langgraph_step", 0)
    return Run(thread, thread is not None, bool(around), around, step, getattr(runtime, "control", None))


def find_place(*, keeps_state: bool) -> Run:
    """Where a runnable is called, in a graph or outside of one.

    Args:
        keeps_state: It was given the graph's state. Otherwise it was given messages, and whether these
            are all of the thread's is not known.
    """
    try:
        runtime = get_runtime() if keeps_state else None
    except RuntimeError:  # called outside of a run
        runtime = None
    return Run(None, has_state=False, is_nested=False, graph="", step=0) if runtime is None else find_run(runtime)


def find_checkpoints() -> tuple[Any, dict[str, Any]] | None:
    """The run's checkpointer and the configuration of its thread; None without one."""
    values = _read_config("configurable")
    saver = values.get("__pregel_checkpointer")
    if saver is None or isinstance(saver, bool):
        return None
    around = str(values.get("checkpoint_ns", "")).rpartition("|")[0]
    return saver, {"configurable": {"thread_id": values.get("thread_id"), "checkpoint_ns": around}}


def find_hooks() -> list[tuple[str, str]] | None:
    """The middleware's hooks that are nodes of this graph, as names of middleware and hook; None if unknown.

    They are in the order of the middleware, as LangGraph keeps the channels of nodes as they were added.
    """
    read = _read_config("configurable").get("__pregel_read")
    channels = next((each for each in getattr(read, "args", ()) if _holds_nodes(each)), None)
    if channels is None:
        return None
    nodes = [str(each).removeprefix(_NODE_CHANNEL) for each in channels if str(each).startswith(_NODE_CHANNEL)]
    return [(node.rpartition(".")[0], node.rpartition(".")[2]) for node in nodes if "." in node]


def find_later_hooks(name: str) -> list[str]:
    """Other middleware that may change messages after the middleware `name` had its last look, in ``after_agent``."""
    hooks = [owner for owner, hook in find_hooks() or () if hook == "after_agent"]
    later = hooks[: hooks.index(name)] if name in hooks else []
    return [owner for owner in later if owner not in _HARMLESS]


def may_have_guards(name: str) -> bool:
    """Whether other middleware may change an answer after the model gave it; so if that cannot be known."""
    hooks = find_hooks()
    return hooks is None or any(owner != name and hook in ("after_model", "after_agent") for owner, hook in hooks)


def _holds_nodes(value: object) -> bool:
    return isinstance(value, Mapping) and any(
        isinstance(each, str) and each.startswith(_NODE_CHANNEL) for each in value
    )


def _read_config(section: str) -> Mapping[str, Any]:
    try:
        return get_config().get(section) or {}  # type: ignore[return-value]  # one of two sections, both mappings
    except RuntimeError:  # called outside a graph
        return {}
