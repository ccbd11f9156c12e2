"""`WmemMemory`: a wmem session as the memory of LlamaIndex's agents and chat engines."""

from collections.abc import Callable, Sequence
from typing import Any, Never, Self
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.llm import LLM
from llama_index.core.storage.chat_store.base_db import MessageStatus

from llamaindex_wmem._convert import from_llamaindex, to_llamaindex
from llamaindex_wmem._history import drop_notes, last_user_text, question_text, reuse_stored, to_storable
from llamaindex_wmem._options import refuse_unknown
from llamaindex_wmem._recent_views import RECENT_VIEWS
from llamaindex_wmem._session_memory import DEFAULT_TOKEN_LIMIT, PRIVATE_URL, SessionMemory
from llamaindex_wmem._status import read_status, select_messages
from llamaindex_wmem._tokenizer import TokenizerCounter
from wmem import (
    AgentMemory,
    AsyncAgentMemory,
    AsyncScope,
    BudgetError,
    Context,
    Features,
    Gate,
    InvalidInputError,
    Message,
    Redaction,
    Scope,
    Summarizer,
)
from wmem.adapter import (
    LongTerm,
    SessionName,
    Steps,
    arun,
    check_count,
    check_registered,
    describe,
    end_turn,
    fade_on_overflow,
    prompt_tokens,
    run,
)
from wmem.types import Orphans, ProviderProfile, Reasoning, Roles, SummarizerFunction

PACK_OPTIONS = ("reserve", "tail", "recent", "stable", "summary", "zone", "profile", "roles", "orphans", "reasoning")
_NEWEST_COUNT = 16
_LOOKBACK_LIMITS = (512, None)
"""How many messages are searched for the newest user message, if the newest 16 hold none; None for all."""


_BESIDE_FIELDS = (
    "memory",
    "llm",
    "chat_history",
    "tokenizer_fn",
    "features",
    "redaction",
    "gate",
    "summarizer",
    "enable_skill_extraction",
)


class WmemMemory(SessionMemory):
    """The messages of one session, and the part of them that fits a token limit.

    Make it with `from_defaults`. The public fields are JSON and suffice to open the
    session again, so the memory survives a workflow's context, pickle and deepcopy. No
    password, key, client or embedder is in them: a memory that needs one is made with `store`, or
    its copies only work where it is open; elsewhere their first use raises `InvalidInputError`.
    It is always truthy, because agents replace a falsy memory with one of their own.

    Attributes:
        url: The store, as for `wmem.open`, without its password; empty with `store`.
        agent_id: The agent that owns the memory; with `store` empty, or checked when it is opened.
        session_id: The conversation: its name, or the names of a nested one, as ``("user-7", "chat-3")``.
        store: The name under which its opener is registered with `wmem.register`.
        needs: With what the store was opened that is not written out: ``password``, and options of `wmem.open`
            by name. Without ``policy``, ``counter``, ``clock`` or ``media_tokens`` a copy elsewhere is
            opened with the defaults, and says so in the log.
        token_limit: The ceiling, in tokens, of what `get` returns.
        reserve: Tokens of it kept free, for a reply that shares the model's window.
        tail: The share of the room that the newest messages fill before anything is recalled; 0
            recalls first. See `Scope.pack`.
        recent: How many of the newest messages are kept at least.
        recall: Whether older messages relevant to the question are quoted in a note.
        long_term: Whether the note draws on long-term memory: the agent's, and that of the scopes that the session's
            policy names. Or a list of such scopes, as ``[("users", "ann")]``: these then have the long-term memory
            that all sessions of a user share, and no other user's. See `Policy.long_term`. They are stored
            with the session; one that has another first scope is another user's, and refused.
        stable: Begin at the same message for many turns, with the note just before the newest user
            message, so that a provider's prompt cache keeps hitting. Off by default, as it leaves
            recall less room: of the evidence for a question 64 % instead of 79 % is found at 1,024
            tokens, 93 % instead of 94 % at 8,192. Use it with large limits.
        summary: Tokens of the limit set aside for a summary of what is left out, its best
            sentences, in the note; True for an eighth. Off by default, as it takes that room
            from what is recalled.
        zone: IANA name of the time zone of the days in the note and in dated questions; None for the
            session's own, which is UTC unless its policy says otherwise.
        profile: The provider whose rules the result obeys.
        roles: ``alternate`` joins the messages of one speaker in a row, as the templates of many local
            models demand.
        orphans: How a tool call without a result is handled: dropped, or answered as interrupted.
        reasoning: Which messages come with the model's reasoning: see `Scope.pack`.
    """

    @classmethod
    def class_name(cls) -> str:
        """Its class name for LlamaIndex's serialisation."""
        return "WmemMemory"

    @classmethod
    def from_defaults(
        cls,
        *,
        session_id: SessionName | None = None,
        url: str | None = None,
        agent_id: str | None = None,
        memory: AgentMemory | AsyncAgentMemory | None = None,
        store: str | None = None,
        token_limit: int | None = None,
        llm: LLM | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        tokenizer_fn: Callable[[str], Sequence[Any]] | None = None,
        features: Features | None = None,
        redaction: Redaction | None = None,
        gate: Gate | None = None,
        enable_skill_extraction: bool = True,
        summarizer: Summarizer | SummarizerFunction | LLM | None = None,
        reserve: int = 0,
        tail: float = 0.5,
        recent: int = 4,
        recall: bool = True,
        long_term: LongTerm = True,
        stable: bool = False,
        summary: bool | int = False,
        zone: str | None = None,
        profile: ProviderProfile = "any",
        roles: Roles = "free",
        orphans: Orphans = "drop",
        reasoning: Reasoning = "tools",
        **unknown: Never,  # the base takes anything; here a misspelt name is an error
    ) -> Self:
        """Open a session; it is created on its first message.

        The arguments that are not listed are attributes of `WmemMemory`.

        Args:
            session_id: The conversation. There is no default: two users must never share one by accident.
            url: The store; a bare ``memory://`` gets a name, so that copies find it in this process.
            agent_id: The agent that owns the memory.
            memory: An open memory instead of `url` and `agent_id`; the caller closes it.
            store: The name of a registered memory instead of `url`; it is opened on first use.
            token_limit: By default 30,000, or three quarters of the context window of `llm`.
            llm: The model whose context window limits what is returned.
            chat_history: First messages of a new session. A session that begins or ends with them is unchanged.
            tokenizer_fn: Counts tokens, as its result's length, instead of wmem's counter. It is not
                serialised: copies in the process find it, others count with wmem's.
            features: What the memory may use; only with `url`, as `redaction`: see `wmem.open`.
            redaction: What of it is redacted. Neither is serialised: copies find them in the process, and are refused
                elsewhere.
            gate: What an item must have to enter it; only with `url`, and not serialised: copies find it in the
                process, and take all elsewhere.
            enable_skill_extraction: Whether maintenance makes skills of tool calls; only with `url`.
            summarizer: Summarizes sessions, as a model of LlamaIndex or what `wmem.open` takes; only with `url`, and
                not serialised either.

        Raises:
            InvalidInputError: An id or the URL is missing, an option is unknown (those of LlamaIndex's own
                memories with what takes their place), nothing is registered as `store`, or the session
                neither begins nor ends with `chat_history`.
            StoreError: The store cannot be opened.
        """
        refuse_unknown(unknown, [*cls.model_fields, *_BESIDE_FIELDS])
        handle = memory.sync() if isinstance(memory, AsyncAgentMemory) else memory
        if handle is not None:
            if not isinstance(handle, AgentMemory):
                raise InvalidInputError(f"memory must be an open wmem memory, not {type(handle).__name__!r}")
            if url is not None or agent_id is not None or tokenizer_fn is not None or store is not None:
                msg = (
                    "an open memory has its url, agent_id and counter: leave url, agent_id, store and tokenizer_fn out"
                )
                raise InvalidInputError(msg)
            url, agent_id = handle.url, handle.agent_id
        if store is not None:
            check_registered(store)
            if (url, tokenizer_fn, features, redaction, gate, summarizer) != (
                None,
            ) * 6 or enable_skill_extraction is not True:
                msg = (
                    f"the opener of {store!r} has url, counter and all other options: leave url, tokenizer_fn, "
                    "features, redaction, gate, summarizer and enable_skill_extraction out"
                )
                raise InvalidInputError(msg)
        if url == PRIVATE_URL and handle is None:
            url = f"{PRIVATE_URL}{uuid4().hex}"
        if token_limit is None:
            token_limit = DEFAULT_TOKEN_LIMIT if llm is None else llm.metadata.context_window * 3 // 4
        fields = {
            "url": _check_given("url", url) if store is None else "",
            "agent_id": _check_given("agent_id", agent_id) if store is None else agent_id or "",
            "session_id": _check_given("session_id", session_id),
            "store": store,
            "token_limit": token_limit,
            "reserve": reserve,
            "tail": tail,
            "recent": recent,
            "recall": recall,
            "long_term": long_term,
            "stable": stable,
            "summary": summary,
            "zone": zone,
            "profile": profile,
            "roles": roles,
            "orphans": orphans,
            "reasoning": reasoning,
        }
        counter = TokenizerCounter(tokenizer_fn) if tokenizer_fn is not None else None
        return cls._create(
            fields,
            handle=handle,
            counter=counter,
            features=features,
            redaction=redaction,
            gate=gate,
            enable_skill_extraction=enable_skill_extraction,
            summarizer=summarizer,
            history=() if chat_history is None else chat_history,
        )

    @property
    def tokenizer_fn(self) -> Callable[[str], Sequence[Any]]:
        """A function whose result is as long as a text has tokens as a system message.

        Chat engines use it to count their own prompt, and pass the count to `get`.
        """
        if self._counter is not None:
            return self._counter.tokenizer

        def count(text: str) -> range:
            # A scope that is never written: packing it changes nothing and reads nothing.
            empty = self.scope().child(uuid4().hex)
            counted = empty.pack(budget=8 * len(text) + 1_000, system=text, inherit=False, long_term=False)
            return range(counted.sizes["system"])

        return count

    # --- reading -------------------------------------------------------------------------------------------------

    def context(self, input: str | ChatMessage | None = None, *, initial_token_count: int = 0) -> Context:
        """The context that `get` returns, with its token counts and why each message is in or out.

        Args:
            input: The question; by default the newest user message. It is not stored.
            initial_token_count: Tokens of the limit already used by the caller.

        Raises:
            BudgetError: Nothing is left of the limit, or pinned messages and system text alone exceed it.
        """
        return run(self._pack(self.scope(), input, initial_token_count))

    async def acontext(self, input: str | ChatMessage | None = None, *, initial_token_count: int = 0) -> Context:
        """See `WmemMemory.context`."""
        return await arun(self._pack(await self.ascope(), input, initial_token_count))

    def _pack(self, scope: Scope | AsyncScope, input: object, spent: int) -> Steps[Context]:
        context, newest = yield from self._pack_for(scope, input, spent)
        RECENT_VIEWS.record(self._session_key(), context, newest)
        self._prompts.add(scope, context)
        self._prompt_tokens = prompt_tokens(context) + spent
        return context

    def _pack_for(self, scope: Scope | AsyncScope, input: object, spent: int) -> Steps[tuple[Context, list[Message]]]:
        """What is packed for a question, and the newest messages stored."""
        query = question_text(input)
        newest: list[Message] = yield scope.messages.all(limit=_NEWEST_COUNT)
        query = query or last_user_text(newest)
        for limit in _LOOKBACK_LIMITS if self.recall else ():
            query = query or last_user_text((yield scope.messages.all(limit=limit)))
        with fade_on_overflow(self._calibrations):
            context: Context = yield scope.pack(query if self.recall else None, **self._pack_options(spent))
        return context, newest

    def _pack_options(self, spent: int) -> dict[str, Any]:
        check_count(spent, "initial_token_count")
        limit = self._calibrations.budget(self.token_limit, reserve=self.reserve)
        if spent >= limit:
            learned = f", which are {limit} of wmem's," if limit < self.token_limit else ""
            msg = (
                f"the {spent} tokens of initial_token_count leave nothing of the token_limit of {self.token_limit}"
                f"{learned}: raise the limit or shorten the system prompt"
            )
            raise BudgetError(msg)
        return {"budget": limit - spent, **self._prompt_options()}

    def _prompt_options(self) -> dict[str, Any]:
        """The options of a pack that are chosen once for all prompts of the session."""
        return {**{name: getattr(self, name) for name in PACK_OPTIONS}, "long_term": self.long_term is not False}

    def learn(self, reported: int, *, counted: int | None = None, model: str = "") -> None:
        """Calibrate token counts from the usage a provider reports, so that later prompts fit in its tokens.

        Call it after a model call: LlamaIndex does not report usage to memories, and its
        events do not name the memory they are from. OpenAI's integration has the number in
        ``response.additional_kwargs["prompt_tokens"]``. Nothing is stored; copies share it.

        Args:
            reported: The provider's count of input tokens, cached ones included.
            counted: wmem's count of the same prompt. By default that of the last result of `get` or
                `context`, plus `initial_token_count`: right for chat engines that pass it; an agent
                also sends its system prompt, tools and tool results, which must be added.
            model: The model that counted. `get` fits the model that counts the most tokens.

        Raises:
            InvalidInputError: An invalid number, or nothing was packed yet and no `counted` is given.
        """
        counted = self._prompt_tokens if counted is None else counted
        if counted is None:
            raise InvalidInputError("nothing was packed yet: pass counted, wmem's count of the prompt that was sent")
        check_count(reported, "reported")
        check_count(counted, "counted")
        if not isinstance(model, str):
            raise InvalidInputError(f"model must be a name, not {describe(model)}")
        self._calibrations.learn(model, counted, reported, limit=self.token_limit - self.reserve)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The part of the conversation that fits `token_limit`, with a note of recalled text; changes nothing.

        Args:
            input: See `WmemMemory.context`; text or a message.
            kwargs: ``initial_token_count``; anything else is ignored.
        """
        return self.context(input, initial_token_count=kwargs.get("initial_token_count", 0)).to_llamaindex()

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """See `WmemMemory.get`."""
        found = await self.acontext(input, initial_token_count=kwargs.get("initial_token_count", 0))
        return found.to_llamaindex()

    # --- storing -------------------------------------------------------------------------------------------------

    def get_all(self, status: MessageStatus | str | None = None) -> list[ChatMessage]:
        """All messages of the conversation, unchanged, oldest first.

        Args:
            status: As for LlamaIndex's `Memory`. ``active`` are those from the oldest on that `get` returns as a
                message for the newest question, whole or truncated; ``archived`` are those before them, which
                `get` at most quotes in its note. Nothing is moved: with another limit they part
                elsewhere. None for both.

        Raises:
            InvalidInputError: There is no such status.
            BudgetError: With a status, as for `get`.
        """
        return to_llamaindex(run(self._list(self.scope(), status)))

    async def aget_all(self, status: MessageStatus | str | None = None) -> list[ChatMessage]:
        """See `WmemMemory.get_all`."""
        return to_llamaindex(await arun(self._list(await self.ascope(), status)))

    def _list(self, scope: Scope | AsyncScope, status: MessageStatus | str | None) -> Steps[list[Message]]:
        status = read_status(status)
        context = None if status is None else (yield from self._pack_for(scope, None, 0))[0]
        stored: list[Message] = yield scope.messages.all()
        return stored if status is None or context is None else select_messages(stored, context, status)

    def put(self, message: ChatMessage) -> None:
        """Store a message; a note that `get` returned is not stored, one that a user pasted is."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """See `WmemMemory.put`."""
        await self.aput_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Store messages, all of them or none."""
        if given := to_storable(messages, RECENT_VIEWS):
            run(self._put(self.scope(), given))

    async def aput_messages(self, messages: Sequence[ChatMessage]) -> None:
        """See `WmemMemory.put_messages`."""
        if given := to_storable(messages, RECENT_VIEWS):
            await arun(self._put(await self.ascope(), given))

    def _put(self, scope: Scope | AsyncScope, messages: Sequence[Message]) -> Steps[None]:
        stored: list[Message] = yield scope.messages.append(messages)
        yield from end_turn(scope, stored, self._prompts)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Replace the conversation, or continue it if the messages begin with a packed view, or the end, of it.

        A list that begins with a result of `get` that left something out, whole or without
        its own beginning, is the history as the framework knows it: what follows is appended, and
        nothing is removed. Recent views are known within the process, whichever memory of the
        session returned them; elsewhere a view is recognised by its note of recalled text and by
        truncated messages. So is the end of what is stored, if it is the whole list or two
        messages of it at least. Where none applies, use `get_all` instead of `get` to edit the history.

        Any other list replaces the conversation. Messages already stored are recognised by
        content, in order, and keep their ids and times; those that are left out are
        removed. To keep no more than `get` returns, `reset` first.
        """
        run(self._set(self.scope(), messages))

    async def aset(self, messages: Sequence[ChatMessage]) -> None:
        """See `WmemMemory.set`."""
        await arun(self._set(await self.ascope(), messages))

    def _set(self, scope: Scope | AsyncScope, messages: Sequence[ChatMessage]) -> Steps[None]:
        read = from_llamaindex(messages)
        given = drop_notes(read, RECENT_VIEWS)
        stored: list[Message] = yield scope.messages.all()
        new = RECENT_VIEWS.find_continuation(self._session_key(), stored, given, has_note=len(given) < len(read))
        if new is None:
            yield scope.messages.replace(reuse_stored(stored, given))
            yield from end_turn(scope, given, self._prompts)
        elif new:
            yield from self._put(scope, new)

    def reset(self, status: MessageStatus | str | None = None) -> None:
        """Remove the messages of the session, nothing else.

        Args:
            status: Remove only these, as `get_all` lists them, one after the other: what others put
                meanwhile stays.

        Raises:
            InvalidInputError: There is no such status.
            BudgetError: With a status, as for `get`.
        """
        run(self._reset(self.scope(), status))

    async def areset(self, status: MessageStatus | str | None = None) -> None:
        """See `WmemMemory.reset`."""
        await arun(self._reset(await self.ascope(), status))

    def _reset(self, scope: Scope | AsyncScope, status: MessageStatus | str | None) -> Steps[None]:
        if read_status(status) is None:
            yield scope.messages.clear()
            return
        for id in [message.id for message in (yield from self._list(scope, status)) if message.id is not None]:
            yield scope.messages.remove(id)


def _check_given(name: str, value: object) -> object:
    if value is None or (isinstance(value, str) and not value.strip()):
        msg = (
            f"{name} is missing: WmemMemory.from_defaults(session_id=…, url=…, agent_id=…), or memory= for the last two"
        )
        raise InvalidInputError(msg)
    return value
