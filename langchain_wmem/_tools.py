"""`wmem_tools`: tools with which an agent remembers, recalls and forgets itself."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NamedTuple

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.runtime import Runtime, get_runtime
from pydantic import ValidationError

from langchain_wmem._session import LongTermOption, Session, home_depth, run_path, scope_path
from langchain_wmem._summarizer import to_summarizer
from wmem import AsyncScope, Counter, Features, Gate, Redaction, Scope, Summarizer
from wmem.adapter import (
    Keep,
    LazyMemory,
    LongTerm,
    LongTermChoice,
    Memory,
    MemoryTools,
    SessionName,
    ToolName,
    ToolReply,
    ToolSpec,
    explain_arguments,
)
from wmem.errors import InvalidInputError
from wmem.types import Path, SummarizerFunction

_NO_RUN = "session and long_term are functions of an agent's run, and the tool was called outside of one"


def wmem_tools(
    memory: Memory | str | None = None,
    *,
    store: str | None = None,
    agent_id: str | None = None,
    session: SessionName | Callable[[Runtime[Any]], SessionName] | None = None,
    long_term: LongTerm | Callable[[Runtime[Any]], LongTerm] = True,
    keep: Keep = "auto",
    include: Collection[ToolName] = ("remember", "recall", "forget"),
    token_limit: int = 1_000,
    counter: Counter | None = None,
    features: Features | None = None,
    redaction: Redaction | None = None,
    gate: Gate | None = None,
    enable_skill_extraction: bool = True,
    summarizer: Summarizer | SummarizerFunction | Runnable[Any, Any] | None = None,
) -> list[BaseTool]:
    """The tools `remember`, `recall` and `forget` over a session and its user's long-term memory.

    For agents of ``create_agent``, a ``ToolNode`` or a model's ``bind_tools``, with `WmemMiddleware` or without; with
    it, ``WmemMiddleware(tools=True)`` offers them for its own session. `recall` answers with what is known of the
    session, its long-term memory and its parents, as quotes, best match first; what it answered is not recalled
    again. `forget` hides memories until room is needed; `items.undelete` restores them.

    Whatever a model passes, nothing of another session or user is changed, and nothing is read that a prompt
    of the session would not quote. What is wrong with a call, and a store that fails, comes back to the model as the
    text of a tool message whose status is ``error``. Only a run whose session is not known raises.

    Each has its hints, as the Model Context Protocol names them, in ``metadata["annotations"]``.

    Args:
        memory: An open memory, sync or async, or a URL, opened on first use and left open; or
        store: the name under which its opener is registered with `wmem.register`.
        agent_id: The agent that owns the memory; required with a URL.
        session: See `WmemMiddleware`. Outside of an agent, by default the `session_id` of the run's
            ``configurable``, else its thread's id. What a sub-agent remembers whose scope ends with its
            run is kept in the scope of the session that it runs in.
        long_term: See `WmemMiddleware`.
        keep: Where `remember` stores: in ``long_term`` memory, that of the first of the scopes that `long_term` or the
            session's policy names, a user's, else the agent's own, which all of its sessions share; or in the
            ``session``. ``auto`` is a user's long-term memory if one is named, else the session. `forget` reaches the
            session and the user's, and the agent's only if `remember` stores there.
        include: Which of them.
        token_limit: Most tokens of an answer of `recall`; at least 128.
        counter: Counts tokens; only with a URL.
        features: What the memory may use; only with a URL: see `wmem.open`.
        redaction: What of it is redacted; only with a URL: see `wmem.open`.
        gate: What an item must have to enter it; only with a URL: see `wmem.open`.
        enable_skill_extraction: Whether maintenance makes skills of tool calls; only with a URL.
        summarizer: Summarizes sessions, as a model of LangChain or what `wmem.open` takes; only with a URL.

    Raises:
        InvalidInputError: No agent, or an unknown or impossible setting.
    """
    option = LongTermOption(long_term)
    made = MemoryTools(include, token_limit=token_limit, keep=keep)
    opened = LazyMemory(
        memory,
        agent_id,
        counter,
        features=features,
        redaction=redaction,
        gate=gate,
        enable_skill_extraction=enable_skill_extraction,
        summarizer=to_summarizer(summarizer),
        store=store,
    )
    return make_tools(made, RunSession(opened, session, option))


class RunPlace(NamedTuple):
    """Where a call of a tool is made.

    Attributes:
        path: The path of its scope below the agent.
        home_depth: See `MemoryTools.call`.
        long_term: The long-term memory that it shares.
    """

    path: Path
    home_depth: int | None
    long_term: LongTermChoice


class RunSession:
    """The session of whatever run calls a tool."""

    def __init__(
        self, lazy_memory: LazyMemory, session: Session | None, long_term: LongTermOption[Runtime[Any]]
    ) -> None:
        self._lazy_memory = lazy_memory
        self._session = session
        self._long_term = long_term

    def find_place(self, config: RunnableConfig) -> RunPlace:
        """Where the run is that calls a tool now.

        Raises:
            InvalidInputError: Whose session it is cannot be known.
        """
        runtime = _find_runtime()
        if runtime is not None:
            path, choice = scope_path(self._session, runtime), self._long_term.resolve(runtime)
            return RunPlace(path, home_depth(self._session, runtime), choice)
        if callable(self._session) or self._long_term.needs_run:
            raise InvalidInputError(_NO_RUN)
        return RunPlace(run_path(self._session, config), None, self._long_term.fixed)

    def open(self, place: RunPlace) -> Scope:
        """The scope of a run."""
        return place.long_term.share(self._lazy_memory.memory().scope(*place.path))

    async def aopen(self, place: RunPlace) -> AsyncScope:
        """See `open`."""
        return place.long_term.share((await self._lazy_memory.amemory()).scope(*place.path))


def make_tools(tools: MemoryTools, session: RunSession) -> list[BaseTool]:
    """The tools as LangChain's, each with its sync and its async form."""
    return [_make_tool(tools, spec, session) for spec in tools.specs]


def _make_tool(tools: MemoryTools, spec: ToolSpec, session: RunSession) -> StructuredTool:
    def call(config: RunnableConfig, **arguments: object) -> str:
        place = session.find_place(config)
        return _read_reply(
            tools.call(
                spec,
                partial(session.open, place),
                arguments,
                home_depth=place.home_depth,
                long_term=place.long_term.is_on,
            )
        )

    async def acall(config: RunnableConfig, **arguments: object) -> str:
        place = session.find_place(config)
        return _read_reply(
            await tools.acall(
                spec,
                partial(session.aopen, place),
                arguments,
                home_depth=place.home_depth,
                long_term=place.long_term.is_on,
            )
        )

    def explain(error: Any) -> str:
        return explain_arguments(spec.name, error) if isinstance(error, ValidationError) else str(error)

    return StructuredTool(
        name=spec.name,
        description=spec.description,
        args_schema=spec.arguments,
        func=call,
        coroutine=acall,
        metadata={"annotations": spec.annotations},
        handle_tool_error=True,
        handle_validation_error=explain,
    )


def _read_reply(reply: ToolReply) -> str:
    """The text of a reply; LangChain tells a failure by its exception, and makes a message of it."""
    if reply.failed:
        raise ToolException(reply.text)
    return reply.text


def _find_runtime() -> Runtime[Any] | None:
    """The runtime of the graph that calls a tool; None outside of one."""
    try:
        runtime: Runtime[Any] | None = get_runtime()
    except (RuntimeError, KeyError):
        return None
    return runtime
