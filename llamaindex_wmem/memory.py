"""A wmem session as the memory of LlamaIndex's agents and chat engines."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory.types import BaseMemory
from pydantic import Field, PrivateAttr, ValidationError

import wmem
from llamaindex_wmem._convert import own_text, to_llamaindex
from llamaindex_wmem._history import asked, recognised, storable, text_of
from llamaindex_wmem._tokenizer import Tokenizer
from wmem import (
    AgentMemory,
    AsyncAgentMemory,
    AsyncScope,
    BudgetError,
    Context,
    InvalidInputError,
    Scope,
    SerializationError,
)

__all__ = ["WmemMemory"]

_PRIVATE = "memory://"
"""The address of a memory that only its own handle can reach."""
_REACH = (16, 512, None)
"""How many of the newest messages are looked through for the user's last one; None for all."""


class WmemMemory(BaseMemory):
    """The messages of one session, and the part of them that fits a token limit.

    Make it with `from_defaults`. What is public here is JSON and enough to open the
    session again, so the memory survives a workflow's context, pickle and deepcopy.
    It is always true: agents replace a memory that is not by one of their own.

    Attributes:
        url: Where the session is kept, as `wmem.open` takes it.
        agent_id: Whose memory it is.
        session_id: Which conversation.
        token_limit: The ceiling, in tokens, of what `get` returns.
        reserve: Tokens of it kept free, for a reply that shares the model's window.
        recent: How many of the newest messages come before recalled ones.
        recall: Whether older messages that fit the question are quoted in a note.
        profile: Whose rules the result obeys.
        orphans: What becomes of a tool call without result: left out, or answered as interrupted.
    """

    url: str
    agent_id: str
    session_id: str
    token_limit: int = Field(default=30_000, gt=0)
    reserve: int = Field(default=0, ge=0)
    recent: int = Field(default=4, ge=0)
    recall: bool = True
    profile: Literal["openai", "anthropic", "gemini"] = "openai"
    orphans: Literal["drop", "synthesize"] = "drop"

    _memory: AgentMemory | None = PrivateAttr(default=None)
    _owned: bool = PrivateAttr(default=True)
    _counter: Tokenizer | None = PrivateAttr(default=None)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as exc:
            wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in exc.errors())
            raise InvalidInputError(wrong) from exc

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex files it under."""
        return "WmemMemory"

    @classmethod
    def from_defaults(  # type: ignore[override]  # the base takes anything; here a misspelt name is an error
        cls,
        *,
        session_id: str | None = None,
        url: str | None = None,
        agent_id: str | None = None,
        memory: AgentMemory | AsyncAgentMemory | None = None,
        token_limit: int = 30_000,
        chat_history: Sequence[ChatMessage] | None = None,
        tokenizer_fn: Callable[[str], Sequence[Any]] | None = None,
        reserve: int = 0,
        recent: int = 4,
        recall: bool = True,
        profile: Literal["openai", "anthropic", "gemini"] = "openai",
        orphans: Literal["drop", "synthesize"] = "drop",
    ) -> Self:
        """Open a session; it is created on its first message.

        Args:
            session_id: Which conversation. There is no default: two users must never share one unawares.
            url: Where it is kept; a bare ``memory://`` gets a name, so that copies find it in this process.
            agent_id: Whose memory it is.
            memory: An open memory instead of `url` and `agent_id`; the caller closes it.
            token_limit: See `WmemMemory`.
            chat_history: What a new session begins with. A session that begins with it already is left as it is.
            tokenizer_fn: Counts tokens, as its result's length, instead of wmem's counter. It is not
                part of what is serialised.
            reserve: See `WmemMemory`.
            recent: See `WmemMemory`.
            recall: See `WmemMemory`.
            profile: See `WmemMemory`.
            orphans: See `WmemMemory`.

        Raises:
            InvalidInputError: Identity is missing, or the session holds another history than `chat_history`.
            StoreError: The store cannot be opened.
        """
        handle = memory.sync() if isinstance(memory, AsyncAgentMemory) else memory
        if handle is not None:
            if url is not None or agent_id is not None or tokenizer_fn is not None:
                msg = "an open memory has its url, agent_id and counter: leave url, agent_id and tokenizer_fn out"
                raise InvalidInputError(msg)
            url, agent_id = handle.url, handle.agent_id
        if url == _PRIVATE and handle is None:
            url = f"{_PRIVATE}{uuid4().hex}"
        fields = {
            "url": _given("url", url),
            "agent_id": _given("agent_id", agent_id),
            "session_id": _given("session_id", session_id),
            "token_limit": token_limit,
            "reserve": reserve,
            "recent": recent,
            "recall": recall,
            "profile": profile,
            "orphans": orphans,
        }
        counter = Tokenizer(tokenizer_fn) if tokenizer_fn else None
        return cls._opened(fields, handle=handle, counter=counter, history=chat_history or ())

    @classmethod
    def _opened(
        cls,
        fields: Mapping[str, Any],
        *,
        handle: AgentMemory | None,
        counter: Tokenizer | None,
        history: Sequence[ChatMessage] = (),
    ) -> Self:
        made = cls(**fields)
        made._memory, made._owned, made._counter = handle, handle is None, counter
        scope = made._scope()
        if made._memory is not None:
            made.url = made._memory.url  # as it is found from any working directory
        if history:
            made._begin(scope, history)
        return made

    def _begin(self, scope: Scope, history: Sequence[ChatMessage]) -> None:
        given, stored = storable(history), scope.messages.all()
        if not stored:
            scope.messages.append(given)
        elif [own_text(each) for each in stored[: len(given)]] != [own_text(each) for each in given]:
            msg = (
                f"session {self.session_id!r} holds {len(stored)} messages that do not begin with chat_history: "
                "leave it out, or call set() to replace them"
            )
            raise InvalidInputError(msg)

    # --- the session ---------------------------------------------------------------------------------------------

    def _scope(self) -> Scope:
        handle = self._memory
        if handle is None:
            handle = self._adopt(wmem.open(self._address(), agent_id=self.agent_id, counter=self._counter))
        # Asked for each time: if somebody disposed the session, this is its next life.
        return handle.scope(self.session_id)

    async def _ascope(self) -> AsyncScope:
        handle = self._memory
        if handle is None:
            opened = await wmem.aopen(self._address(), agent_id=self.agent_id, counter=self._counter)
            handle = self._adopt(opened.sync())
        return handle.aio().scope(self.session_id)

    def _adopt(self, opened: AgentMemory) -> AgentMemory:
        """Keep an opened memory, or the one that another thread was first to open."""
        with self._lock:
            kept = self._memory = opened if self._memory is None else self._memory
        if kept is not opened:
            opened.close()
        return kept

    def _address(self) -> str:
        if self.url == _PRIVATE:
            msg = "a private 'memory://' cannot be opened a second time: name it, as in 'memory://name'"
            raise InvalidInputError(msg)
        return self.url

    def close(self) -> None:
        """Release the store; the next use opens it again. A memory that was handed in stays open."""
        with self._lock:
            handle, self._memory = self._memory, self._memory if not self._owned else None
        if handle is not None and self._owned:
            handle.close()

    @property
    def tokenizer_fn(self) -> Callable[[str], Sequence[Any]]:
        """Counts, as the length of its result, what a text costs as a system message.

        Chat engines ask it what their own prompt costs and pass that to `get`.
        """
        if self._counter is not None:
            return self._counter.tokenizer
        # A scope that is never written: asking it changes nothing and reads nothing.
        empty = self._scope().child(uuid4().hex)
        return lambda text: range(empty.pack(budget=8 * len(text) + 1_000, system=text, inherit=False).sizes["system"])

    # --- what the model sees -------------------------------------------------------------------------------------

    def context(self, input: str | ChatMessage | None = None, *, initial_token_count: int = 0) -> Context:
        """What `get` returns, with what it costs and why each message is in or out.

        Args:
            input: The question; by default the newest user message. It is not stored.
            initial_token_count: Tokens of the limit that the caller has spent already.

        Raises:
            BudgetError: Nothing is left of the limit, or pinned and system text alone exceed it.
        """
        request, scope, query = self._request(initial_token_count), self._scope(), text_of(input)
        for limit in _REACH if self.recall else ():
            query = query or asked(scope.messages.all(limit=limit))
        return scope.pack(query if self.recall else None, **request)

    async def acontext(self, input: str | ChatMessage | None = None, *, initial_token_count: int = 0) -> Context:
        """See `WmemMemory.context`."""
        request, scope, query = self._request(initial_token_count), await self._ascope(), text_of(input)
        for limit in _REACH if self.recall else ():
            query = query or asked(await scope.messages.all(limit=limit))
        return await scope.pack(query if self.recall else None, **request)

    def _request(self, spent: object) -> dict[str, Any]:
        if not isinstance(spent, int) or spent < 0:
            msg = f"initial_token_count must be a whole number of at least 0, not {spent!r:.40}"
            raise InvalidInputError(msg)
        if spent >= self.token_limit:
            msg = (
                f"the {spent} tokens of initial_token_count leave nothing of the token_limit of {self.token_limit}: "
                "raise the limit or shorten the system prompt"
            )
            raise BudgetError(msg)
        names = ("reserve", "recent", "profile", "orphans")
        return {"budget": self.token_limit - spent, **{name: getattr(self, name) for name in names}}

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The conversation as far as `token_limit` holds, with a note of what was recalled; changes nothing.

        Args:
            input: See `WmemMemory.context`; a message is taken as well as text.
            kwargs: ``initial_token_count``; whatever else a framework passes is ignored.
        """
        return self.context(input, initial_token_count=kwargs.get("initial_token_count", 0)).to_llamaindex()

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """See `WmemMemory.get`."""
        found = await self.acontext(input, initial_token_count=kwargs.get("initial_token_count", 0))
        return found.to_llamaindex()

    # --- what is stored ------------------------------------------------------------------------------------------

    def get_all(self) -> list[ChatMessage]:
        """The whole conversation, oldest first, as it was put."""
        return to_llamaindex(self._scope().messages.all())

    async def aget_all(self) -> list[ChatMessage]:
        """See `WmemMemory.get_all`."""
        return to_llamaindex(await (await self._ascope()).messages.all())

    def put(self, message: ChatMessage) -> None:
        """Store a message; a note that `get` handed out is not stored again."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """See `WmemMemory.put`."""
        await self.aput_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Store messages, all of them or none."""
        if given := storable(messages):
            self._scope().messages.append(given)

    async def aput_messages(self, messages: Sequence[ChatMessage]) -> None:
        """See `WmemMemory.put_messages`."""
        if given := storable(messages):
            await (await self._ascope()).messages.append(given)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Make the conversation these messages.

        Messages that are stored already, in this order, are known by what they say:
        they keep their ids and times. Those that are left out are removed, and `get`
        shows only a part: to go on with everything, hand `get_all` back.
        """
        session = self._scope().messages
        session.replace(recognised(session.all(), storable(messages)))

    async def aset(self, messages: Sequence[ChatMessage]) -> None:
        """See `WmemMemory.set`."""
        session = (await self._ascope()).messages
        await session.replace(recognised(await session.all(), storable(messages)))

    def reset(self) -> None:
        """Remove the messages of the session, and nothing else in it."""
        self._scope().messages.clear()

    async def areset(self) -> None:
        """See `WmemMemory.reset`."""
        await (await self._ascope()).messages.clear()

    # --- copies --------------------------------------------------------------------------------------------------

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """What it takes to open the session again, as JSON.

        Raises:
            SerializationError: The memory is private to this handle.
        """
        self._check_reachable()
        written: dict[str, Any] = super().to_dict(**kwargs)
        return written

    def _check_reachable(self) -> None:
        if self.url == _PRIVATE:
            msg = "a private 'memory://' cannot be opened from a copy: name it, as in 'memory://name'"
            raise SerializationError(msg)

    def __getstate__(self) -> dict[Any, Any]:
        self._check_reachable()
        return {"__dict__": dict(self.__dict__)}

    def __setstate__(self, state: Mapping[Any, Any]) -> None:
        self.__init__(**state["__dict__"])  # type: ignore[misc]  # opens lazily: nothing else is needed

    def __copy__(self) -> Self:
        """Another memory of the same session, which holds the store open for itself."""
        # Opened at once: a store in memory lasts as long as somebody holds it.
        return self._opened(self.__dict__, handle=None if self._owned else self._memory, counter=self._counter)

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self.__copy__()


def _given(name: str, value: str | None) -> str:
    if value is None or not value.strip():
        msg = (
            f"{name} is missing: WmemMemory.from_defaults(session_id=…, url=…, agent_id=…), or memory= for the last two"
        )
        raise InvalidInputError(msg)
    return value
