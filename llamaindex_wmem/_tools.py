"""`wmem_tools`: tools with which an agent remembers, recalls and forgets itself."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.llms import LLM
from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput

from llamaindex_wmem.memory import WmemMemory
from wmem import AgentMemory, AsyncAgentMemory, Features, Gate, InvalidInputError, Redaction, Summarizer
from wmem.adapter import Keep, LongTerm, MemoryTools, SessionName, ToolName, ToolReply, ToolSpec
from wmem.types import SummarizerFunction


def wmem_tools(
    memory: WmemMemory | AgentMemory | AsyncAgentMemory | None = None,
    *,
    session_id: SessionName | None = None,
    url: str | None = None,
    agent_id: str | None = None,
    store: str | None = None,
    long_term: LongTerm = True,
    keep: Keep = "auto",
    include: Collection[ToolName] = ("remember", "recall", "forget"),
    token_limit: int = 1_000,
    features: Features | None = None,
    redaction: Redaction | None = None,
    gate: Gate | None = None,
    enable_skill_extraction: bool = True,
    summarizer: Summarizer | SummarizerFunction | LLM | None = None,
) -> list[FunctionTool]:
    """The tools `remember`, `recall` and `forget` over a session and its user's long-term memory.

    `recall` answers with what is known of the session, its long-term memory and its parents, as quotes, best match
    first; what it answered is not recalled again. `forget` hides memories until room is needed;
    `items.undelete` restores them.

    Whatever a model passes, nothing of another session or user is changed, and nothing is read that a prompt
    of the session would not quote. What is wrong with a call, and a store that fails, is told in a `ToolOutput`
    that is an error; none of them raises.

    Each has its hints, as the Model Context Protocol names them, in ``metadata.annotations``.

    Args:
        memory: The agent's `WmemMemory`, with its session and its `long_term`; or an open memory, with `session_id`.
        session_id: See `WmemMemory.from_defaults`, as for all up to `long_term`.
        url: Instead of `memory`.
        agent_id: Instead of `memory`.
        store: Instead of `memory`.
        long_term: See `WmemMemory`.
        keep: Where `remember` stores: in ``long_term`` memory, that of the first of the scopes that `long_term` or the
            session's policy names, a user's, else the agent's own, which all of its sessions share; or in the
            ``session``. ``auto`` is a user's long-term memory if one is named, else the session. `forget` reaches the
            session and the user's, and the agent's only if `remember` stores there.
        include: Which of them.
        token_limit: Most tokens of an answer of `recall`; at least 128.
        features: What the memory may use; only with `url`, as all below: see `wmem.open`.
        redaction: What of it is redacted.
        gate: What an item must have to enter it.
        enable_skill_extraction: Whether maintenance makes skills of tool calls.
        summarizer: Summarizes sessions, as a model of LlamaIndex or what `wmem.open` takes.

    Raises:
        InvalidInputError: No session or no agent, or an unknown or impossible setting.
    """
    made = MemoryTools(include, token_limit=token_limit, keep=keep)
    if not isinstance(memory, WmemMemory):
        memory = WmemMemory.from_defaults(
            session_id=session_id,
            url=url,
            agent_id=agent_id,
            memory=memory,
            store=store,
            long_term=long_term,
            features=features,
            redaction=redaction,
            gate=gate,
            enable_skill_extraction=enable_skill_extraction,
            summarizer=summarizer,
        )
    elif (
        (session_id, url, agent_id, store, features, redaction, gate, summarizer) != (None,) * 8
        or long_term is not True
        or enable_skill_extraction is not True
    ):
        msg = "a WmemMemory has its session, store, long_term memory and options: pass none of these with one"
        raise InvalidInputError(msg)
    return [WmemTool(made, spec, memory) for spec in made.specs]


@dataclass
class AnnotatedMetadata(ToolMetadata):
    """A tool's metadata, and its hints, for which LlamaIndex has no place."""

    annotations: Mapping[str, object] = field(default_factory=dict)


class WmemTool(FunctionTool):
    """One of the tools; a call that fails is told as an error, and never raises."""

    def __init__(self, tools: MemoryTools, spec: ToolSpec, memory: WmemMemory) -> None:
        def call(**arguments: Any) -> ToolReply:
            is_on = memory.long_term is not False
            return tools.call(spec, memory.scope, arguments, long_term=is_on)

        async def acall(**arguments: Any) -> ToolReply:
            is_on = memory.long_term is not False
            return await tools.acall(spec, memory.ascope, arguments, long_term=is_on)

        metadata = AnnotatedMetadata(
            spec.description, spec.name, fn_schema=spec.arguments, annotations=spec.annotations
        )
        super().__init__(call, metadata, acall)

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """The answer of a call."""
        return _to_output(super().call(**self._name_arguments(args, kwargs)))

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """See `call`."""
        return _to_output(await super().acall(**self._name_arguments(args, kwargs)))

    def _name_arguments(self, positional: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name; those by position take the names of the schema, in its order."""
        schema = self.metadata.fn_schema
        assert schema is not None  # it was made with one
        return {**dict(zip(schema.model_fields, positional, strict=False)), **named}


def _to_output(output: ToolOutput) -> ToolOutput:
    """The output with the text of a reply, as an error if the call failed."""
    reply = output.raw_output
    assert isinstance(reply, ToolReply)  # what our own function returned
    return ToolOutput(
        content=reply.text,
        tool_name=output.tool_name,
        raw_input=output.raw_input,
        raw_output=reply.text,
        is_error=reply.failed,
    )
