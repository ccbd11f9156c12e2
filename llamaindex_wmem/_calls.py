"""Calls of a model below a budget: what fits is sent as it was handed, the rest packed, sync, async and streamed."""

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from itertools import chain, islice
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

from llama_index.core.llms.llm import LLM

from llamaindex_wmem._call_prompts import HandedMessages, HandedPrompt, MessageCounts, PackedPrompt
from llamaindex_wmem._placement import place_in_session
from llamaindex_wmem._provider import is_overflow, model_name, read_prompt_tokens, reply_limits
from llamaindex_wmem._requests import Request, Sent
from llamaindex_wmem.memory import WmemMemory
from wmem import (
    AsyncScope,
    BudgetError,
    Calibrations,
    Context,
    Counter,
    Message,
    Part,
    Scope,
    WmemError,
)
from wmem.adapter import (
    Steps,
    arun,
    check_budget,
    check_count,
    count_tools,
    learn_usage,
    reply_room,
    run,
    send_with_retry,
)

R = TypeVar("R")
Prompt: TypeAlias = HandedPrompt | PackedPrompt
_MIN_LOOKBACK = 64


class PromptTooLargeError(WmemError):
    """What a prompt must keep exceeds the budget of the model: see `BudgetError`, which is its cause.

    It is no `ValueError`: LlamaIndex's synthesizers take one for a malformed reply, and answer "Empty Response".
    """


RECEIPT = "wmem_receipt"
"""The key of a prompt's receipt in the `additional_kwargs` of a reply."""


class BudgetedCalls:
    """Calls of one model for one session; each takes a function that sends what was packed, or None as it was handed.

    Args:
        budget: See `WmemLLM`.
        reserve: See `WmemLLM`.
        calibrations: What was learned from usage.

    Raises:
        InvalidInputError: An impossible number.
    """

    def __init__(
        self,
        llm: LLM,
        memory: WmemMemory,
        *,
        budget: float | None,
        reserve: int | None,
        calibrations: Calibrations | None = None,
    ) -> None:
        if reserve is not None:
            check_count(reserve, "reserve")
        self._llm = llm
        self._memory = memory
        self._budget = check_budget(budget)
        self._reserve = reserve
        self._counts = MessageCounts()
        self.calibrations = calibrations or Calibrations()
        self.last_prompt: Prompt | None = None
        """That of the newest call."""

    def limit(self) -> int:
        """The ceiling of a call in tokens, the reply included."""
        if isinstance(self._budget, int):
            return self._budget
        window: int = self._llm.metadata.context_window
        return max(1, int(window * (self._budget or 1.0)))

    def _reserve_of(self, request: Request) -> int:
        if self._reserve is not None:
            return self._reserve
        return reply_room(self.limit(), reply_limits(self._llm, request.options))

    def _open(self) -> tuple[Scope, Counter]:
        scope = self._memory.scope()
        return scope, self._memory._lazy_memory.memory().counter  # noqa: SLF001  # of this package

    async def _aopen(self) -> tuple[AsyncScope, Counter]:
        scope = await self._memory.ascope()
        return scope, (await self._memory._lazy_memory.amemory()).counter  # noqa: SLF001  # of this package

    def call(self, request: Request, send: Callable[[Sent], R]) -> R:
        """The reply to a request."""
        response: R
        prompt, response = run(self._answer(*self._open(), request, send))
        self._learn(request, prompt, read_prompt_tokens(response))
        _tell_receipt(prompt, response)
        return response

    async def acall(self, request: Request, send: Callable[[Sent], Awaitable[R]]) -> R:
        """See `BudgetedCalls.call`."""
        response: R
        prompt, response = await arun(self._answer(*await self._aopen(), request, send))
        self._learn(request, prompt, read_prompt_tokens(response))
        _tell_receipt(prompt, response)
        return response

    def stream(self, request: Request, send: Callable[[Sent], Iterable[R]]) -> Generator[R, None, None]:
        """The pieces of a streamed reply; nothing is packed or sent before the first is asked for."""

        def begin(sent: Sent) -> tuple[list[R], Iterator[R]]:
            stream = iter(send(sent))
            return list(islice(stream, 1)), stream  # a refusal comes with the first piece

        prompt, (first, rest) = run(self._answer(*self._open(), request, begin))
        reported = 0
        try:
            for piece in chain(first, rest):
                reported = max(reported, read_prompt_tokens(piece))
                yield piece
        finally:
            self._learn(request, prompt, reported)
            if isinstance(rest, Generator):
                rest.close()

    async def astream(
        self, request: Request, send: Callable[[Sent], Awaitable[AsyncIterable[R]]]
    ) -> AsyncGenerator[R, None]:
        """See `BudgetedCalls.stream`."""

        async def begin(sent: Sent) -> tuple[list[R], AsyncIterator[R]]:
            stream = aiter(await send(sent))
            async for piece in stream:
                return [piece], stream
            return [], stream

        prompt, (first, rest) = await arun(self._answer(*await self._aopen(), request, begin))
        reported = 0
        try:
            for piece in first:
                reported = read_prompt_tokens(piece)
                yield piece
            async for piece in rest:
                reported = max(reported, read_prompt_tokens(piece))
                yield piece
        finally:
            self._learn(request, prompt, reported)
            if isinstance(rest, AsyncGenerator):
                await rest.aclose()

    def _learn(self, request: Request, prompt: Prompt, reported: int) -> None:
        limit, reserve = self.limit(), self._reserve_of(request)
        learn_usage(self.calibrations, model_name(self._llm), prompt, reported, limit=limit, reserve=reserve)

    def _answer(
        self, scope: Scope | AsyncScope, counter: Counter, request: Request, send: Callable[[Sent], Any]
    ) -> Steps[tuple[Prompt, Any]]:
        reserve = self._reserve_of(request)
        tokens = self._counts.count(request.messages, counter)
        tools = count_tools(request.schemas, counter)

        def pack(budget: int) -> Steps[Prompt]:
            prompt: Prompt = HandedPrompt(
                messages=request.messages, message_tokens=tokens, tools=tools, reserve=reserve, budget=budget
            )
            if prompt.tokens > budget:
                prompt = yield from self._pack(scope, request, budget, reserve)
            self.last_prompt = prompt
            return prompt

        def deliver(prompt: Prompt) -> Steps[Any]:
            reply = yield send(prompt.replacement)
            return reply

        try:
            return (
                yield from send_with_retry(
                    self.calibrations,
                    model_name(self._llm),
                    pack,
                    deliver,
                    limit=self.limit(),
                    reserve=reserve,
                    is_refusal=is_overflow,
                )
            )
        except BudgetError as exc:
            raise PromptTooLargeError(str(exc)) from exc

    def _pack(self, scope: Scope | AsyncScope, request: Request, budget: int, reserve: int) -> Steps[PackedPrompt]:
        handed = HandedMessages(request.messages)
        session = self._memory._session_key()  # noqa: SLF001  # of this package
        lookback = max(_MIN_LOOKBACK, 2 * len(handed.messages))
        stored: list[Message] = yield scope.messages.all(limit=lookback)
        placement = place_in_session(session, stored, handed.messages)
        if not placement.is_sure and len(stored) == lookback:
            placement = place_in_session(session, (yield scope.messages.all()), handed.messages)
        question = placement.question
        query = question.text if self._memory.recall and question is not None else None
        options = self._memory._prompt_options()  # noqa: SLF001  # of this package
        system, live = _split_system(placement.live)
        options |= {"system": system, "tools": request.schemas, "reserve": reserve}
        if not placement.is_session:
            # A scope that is never written: what the session holds is nothing to this prompt.
            scope, query, options = (
                scope.child(uuid4().hex),
                None,
                {**options, "inherit": False, "long_term": False, "summary": False},
            )
        context: Context = yield scope.pack(query, budget=budget, messages=live, **options)
        if placement.is_session:
            self._memory._prompts.add(scope, context)  # noqa: SLF001  # of this package
        replacement = handed.to_chat_messages([placement.restore(message) for message in context.prompt()])
        return PackedPrompt(context=context, replacement=replacement)


def _tell_receipt(prompt: Prompt, response: object) -> None:
    """Put the receipt of a packed prompt beside what the provider says of its reply."""
    told = getattr(response, "additional_kwargs", None)
    if isinstance(prompt, PackedPrompt) and isinstance(told, dict) and prompt.context.receipt:
        told[RECEIPT] = prompt.context.receipt


def _split_system(messages: list[Message]) -> tuple[str, list[Message]]:
    """The system text that a prompt begins with, and the rest; "" if it is the session's, or more than text."""
    match messages:
        case [Message(role="system", id=None, name=None, native=None, parts=(Part(kind="text"),)) as first, *rest]:
            return first.text, rest
        case _:
            return "", messages
