"""Base of `WmemMemory`: its session's fields, and opening, serialising, copying and comparing it."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Annotated, Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.llm import LLM
from llama_index.core.memory.types import BaseMemory
from pydantic import Field, PrivateAttr, StrictBool, ValidationError

from llamaindex_wmem._convert import canonical_json
from llamaindex_wmem._history import to_storable
from llamaindex_wmem._options import refuse_unknown
from llamaindex_wmem._recent_views import RECENT_VIEWS
from llamaindex_wmem._summarizer import to_summarizer
from llamaindex_wmem._tokenizer import TokenizerCounter
from wmem import AsyncScope, Calibrations, Features, Gate, InvalidInputError, Message, Redaction, Scope, Summarizer
from wmem.adapter import (
    LazyMemory,
    LongTermChoice,
    Memory,
    SessionName,
    TurnPrompts,
    describe_error,
    to_session_path,
    to_zone,
)
from wmem.types import Orphans, ProviderProfile, Reasoning, Roles, SummarizerFunction

PRIVATE_URL = "memory://"
"""URL of an in-process memory that only its own handle can reach."""
DEFAULT_TOKEN_LIMIT = 30_000


class SessionMemory(BaseMemory):
    """A memory whose public fields are JSON and suffice to open its session again; equal if these are."""

    url: str = ""
    agent_id: str = ""
    session_id: SessionName
    store: str | None = None
    needs: tuple[str, ...] = ()
    # Strict: a limit of True is a mistake, not 1.
    token_limit: int = Field(default=DEFAULT_TOKEN_LIMIT, gt=0, strict=True)
    reserve: int = Field(default=0, ge=0, strict=True)
    tail: float = Field(default=0.5, ge=0, le=1, strict=True)
    recent: int = Field(default=4, ge=0, strict=True)
    recall: bool = True
    long_term: StrictBool | tuple[tuple[str, ...], ...] = True
    stable: StrictBool = False
    summary: StrictBool | Annotated[int, Field(ge=0, strict=True)] = False
    zone: str | None = None
    profile: ProviderProfile = "any"
    roles: Roles = "free"
    orphans: Orphans = "drop"
    reasoning: Reasoning = "tools"

    _lazy_memory: LazyMemory = PrivateAttr()
    _counter: TokenizerCounter | None = PrivateAttr(default=None)
    _calibrations: Calibrations = PrivateAttr(default_factory=Calibrations)
    _prompts: TurnPrompts = PrivateAttr(default_factory=TurnPrompts)
    _prompt_tokens: int | None = PrivateAttr(default=None)

    def __init__(self, **fields: Any) -> None:
        fields.pop("class_name", None)  # LlamaIndex writes it into every component's JSON
        refuse_unknown(fields, type(self).model_fields)
        choice = LongTermChoice.read(fields.get("long_term", True))
        fields["long_term"] = choice.names or choice.is_on
        fault = ""
        try:
            super().__init__(**fields)
        except ValidationError as exc:
            fault = describe_error(exc)
        if fault:  # raised here: the chain would hold the input
            raise InvalidInputError(fault)
        to_session_path(fields["session_id"], "session_id")  # as it was given: pydantic makes text of bytes
        if self.zone is not None:
            to_zone(self.zone)
        if self.reserve >= self.token_limit:
            msg = f"the reserve of {self.reserve} tokens leaves nothing of the token_limit of {self.token_limit}"
            raise InvalidInputError(msg)
        # The field itself, not its checked copy: one with a password opens the store again in this process.
        url = fields.get("url") or (None if self.store is not None else "")
        self._use(LazyMemory(url, self.agent_id, store=self.store, needs=self.needs))

    def _use(self, lazy_memory: LazyMemory) -> None:
        self._lazy_memory = lazy_memory
        if self.store is None:  # else its opener says where it is
            self.url, self.agent_id, self.needs = lazy_memory.url, lazy_memory.agent_id, lazy_memory.needs

    @classmethod
    def _create(
        cls,
        fields: Mapping[str, Any],
        *,
        handle: Memory | None,
        counter: TokenizerCounter | None,
        features: Features | None = None,
        redaction: Redaction | None = None,
        gate: Gate | None = None,
        enable_skill_extraction: bool = True,
        summarizer: Summarizer | SummarizerFunction | LLM | None = None,
        history: Sequence[ChatMessage] = (),
    ) -> Self:
        begun = to_storable(history, RECENT_VIEWS)
        made = cls(**fields)
        made._counter = counter
        if (handle, counter, features, redaction, gate, summarizer) != (
            None,
        ) * 6 or enable_skill_extraction is not True:
            memory = fields["url"] if handle is None else handle
            made._use(
                LazyMemory(
                    memory,
                    made.agent_id,
                    counter,
                    features=features,
                    redaction=redaction,
                    gate=gate,
                    enable_skill_extraction=enable_skill_extraction,
                    summarizer=to_summarizer(summarizer),
                )
            )
        if begun:
            made._store_history(made.scope(), begun)
        if made.store is None:
            made._lazy_memory.memory()  # opened now, to learn of a mistake, and of the directory it is in
            made._use(made._lazy_memory)
        return made

    def _store_history(self, scope: Scope, history: Sequence[Message]) -> None:
        stored = scope.messages.all()
        if not stored:
            scope.messages.append(history)
            return
        begun = [canonical_json(each) for each in history]
        if all(
            [canonical_json(each) for each in some] != begun for some in (stored[: len(begun)], stored[-len(begun) :])
        ):
            msg = (
                f"session {self.session_id!r} holds {len(stored)} messages that neither begin nor end with "
                "chat_history: leave it out, or call set() to replace them"
            )
            raise InvalidInputError(msg)

    # --- opening -------------------------------------------------------------------------------------------------

    def scope(self) -> Scope:
        """The session's scope, to search, pin or export what it holds, or to keep facts beside the conversation."""
        # A new handle each time: if the session was disposed, this is its next incarnation.
        return self._long_term_choice().share(self._check_openable().memory().scope(*self._path()))

    async def ascope(self) -> AsyncScope:
        """See `scope`."""
        return self._long_term_choice().share((await self._check_openable().amemory()).scope(*self._path()))

    def _long_term_choice(self) -> LongTermChoice:
        """Which long-term memory the session draws on."""
        names = self.long_term
        return LongTermChoice(names) if isinstance(names, bool) else LongTermChoice(is_on=True, names=names)

    def _check_openable(self) -> LazyMemory:
        if self.url == PRIVATE_URL and self._lazy_memory.given is None:
            msg = "a private 'memory://' cannot be opened a second time: name it, as in 'memory://name'"
            raise InvalidInputError(msg)
        return self._lazy_memory

    def _session_key(self) -> tuple[str, ...]:
        """Key of the session within the process; with the store's own URL once it was opened."""
        return self._lazy_memory.url, self._lazy_memory.agent_id, *self._path()

    def _path(self) -> tuple[str, ...]:
        return (self.session_id,) if isinstance(self.session_id, str) else self.session_id

    def close(self) -> None:
        """Close the store; the next use opens it again. A memory that was passed in stays open."""
        self._lazy_memory.close()

    # --- copies --------------------------------------------------------------------------------------------------

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """The fields needed to open the session again, as JSON.

        Raises:
            SerializationError: The memory is private to this handle.
        """
        self._lazy_memory.check_reachable()
        written: dict[str, Any] = super().to_dict(**kwargs)
        return written

    def __getstate__(self) -> dict[Any, Any]:
        self._lazy_memory.check_reachable()
        return {"__dict__": dict(self.__dict__)}

    def __setstate__(self, state: Mapping[Any, Any]) -> None:
        self.__init__(**state["__dict__"])  # type: ignore[misc]  # opens lazily: nothing else is needed

    def __copy__(self) -> Self:
        """Another memory of the same session, with its own handle on the store."""
        made = super().__copy__()  # with the counter, and the calibrations, which a workflow's copy shares
        made._use(copy(self._lazy_memory))  # noqa: SLF001  # another of this class
        return made

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self.__copy__()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SessionMemory):
            return NotImplemented
        alike = type(self) is type(other) and self.__dict__ == other.__dict__
        # Two private memories share a URL, but not a store.
        return alike and (self.url != PRIVATE_URL or self._lazy_memory.given is other._lazy_memory.given)

    __hash__ = None  # type: ignore[assignment]  # as pydantic has it: the fields may change
