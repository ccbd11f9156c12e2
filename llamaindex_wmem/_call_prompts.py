"""Prompts that LlamaIndex hands to a model: their tokens, their messages in wmem's form, and the way back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from pydantic_core import PydanticSerializationError

from llamaindex_wmem._convert import from_llamaindex, to_llamaindex
from wmem import Context, Counter, Message, SerializationError
from wmem.adapter import PROMPT_OVERHEAD, LruCache, count_message, pair_results
from wmem.types import DroppedUnits, UnitReport

_MAX_COUNTS = 8_192


class MessageCounts:
    """Tokens of chat messages; a message that comes again is not counted again. It holds digests, no content."""

    def __init__(self) -> None:
        self._tokens: LruCache[bytes, int] = LruCache(_MAX_COUNTS)

    def count(self, messages: Iterable[ChatMessage], counter: Counter) -> list[int]:
        """Tokens of each message."""
        return [self._count(message, counter) for message in messages]

    def _count(self, message: ChatMessage, counter: Counter) -> int:
        try:
            written = f"{counter.name}\n{message.model_dump_json()}".encode()
        except (PydanticSerializationError, UnicodeError, ValueError, TypeError):
            return count_message(_read_message(message), counter)
        key = blake2b(written, digest_size=16).digest()
        tokens = self._tokens.get(key)
        return self._tokens.put(key, count_message(_read_message(message), counter)) if tokens is None else tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedPrompt:
    """A prompt that fits its budget: the model is sent exactly what the caller handed.

    Attributes:
        messages: What the caller handed; the same objects.
        message_tokens: Tokens of each.
        tools: Tokens of the tools' schemas.
        reserve: Tokens kept for the reply.
    """

    messages: Sequence[ChatMessage]
    message_tokens: Sequence[int]
    tools: int
    reserve: int
    budget: int

    @property
    def sizes(self) -> Mapping[str, int]:
        """Tokens by section."""
        messages = sum(self.message_tokens)
        fixed = {"system": 0, "tools": self.tools, "reserve": self.reserve, "overhead": PROMPT_OVERHEAD}
        return {**fixed, "note": 0, "messages": messages}

    @property
    def tokens(self) -> int:
        """All tokens, with those kept for the reply."""
        return sum(self.sizes.values())

    @property
    def replacement(self) -> None:
        """What the model is sent instead of what the caller handed: nothing."""
        return

    def to_context(self) -> Context:
        """The prompt as a context, to be inspected."""
        messages = HandedMessages(self.messages).messages
        ids = [message.id or f"handed-{place}" for place, message in enumerate(messages)]
        return Context(
            messages=tuple(messages),
            note="",
            system="",
            tokens=self.tokens,
            budget=self.budget,
            included=[
                UnitReport(ids=(id,), fate="included", rule="handed", placed="messages", tokens=tokens)
                for id, tokens in zip(ids, self.message_tokens, strict=True)
            ],
            truncated=(),
            dropped=DroppedUnits(totals={}, best=()),
            sizes=self.sizes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedPrompt:
    """A prompt that was packed, since what the caller handed does not fit.

    Attributes:
        context: How it was packed.
        replacement: The messages that the model is sent instead of what the caller handed.
    """

    context: Context
    replacement: list[ChatMessage]

    @property
    def sizes(self) -> Mapping[str, int]:
        """Tokens by section."""
        return self.context.sizes

    @property
    def tokens(self) -> int:
        """All tokens, with those kept for the reply."""
        return self.context.tokens

    def to_context(self) -> Context:
        """The prompt as a context, to be inspected."""
        return self.context


class HandedMessages:
    """Messages that a caller handed, in wmem's form, and the way back to the caller's own objects.

    What cannot be stored can still be sent: such a message is read without what JSON
    cannot hold, and sent as the caller's object unless a pack changed it.
    """

    def __init__(self, handed: Iterable[ChatMessage]) -> None:
        self._originals: dict[str | None, tuple[Message, ChatMessage]] = {}
        handed = list(handed)
        try:
            read = from_llamaindex(handed)
        except SerializationError:
            read = pair_results([self._read(message) for message in handed])
        self.messages = [
            self._keep_original(message.model_copy(update={"role": "user", "tool_call_id": None}), original)
            if is_stray
            else message
            for message, original, is_stray in zip(read, handed, _find_stray_results(read), strict=True)
        ]
        """Each message in wmem's form. A result without a call, as an agent that reasons in text may hand, is text."""

    def _read(self, original: ChatMessage) -> Message:
        try:
            return from_llamaindex([original])[0]
        except SerializationError:
            return self._keep_original(_read_message(original), original)

    def _keep_original(self, message: Message, original: ChatMessage) -> Message:
        message = message.model_copy(update={"id": f"handed-{uuid4().hex}"})
        self._originals[message.id] = message, original
        return message

    def to_chat_messages(self, prompt: Sequence[Message]) -> list[ChatMessage]:
        """The messages of a prompt as they are sent."""
        return [self._to_original(message, sent) for message, sent in zip(prompt, to_llamaindex(prompt), strict=True)]

    def _to_original(self, message: Message, sent: ChatMessage) -> ChatMessage:
        read, original = self._originals.get(message.id, (None, None))
        if read is None or original is None:
            return sent
        if (read.parts, read.tool_calls) == (message.parts, message.tool_calls):
            return original
        return sent.model_copy(update={"role": original.role})


def _read_message(message: ChatMessage) -> Message:
    """A message in wmem's form, without what cannot be stored."""
    try:
        return from_llamaindex([message])[0]
    except SerializationError:
        extra = {key: value for key, value in message.additional_kwargs.items() if isinstance(value, str | int | float)}
        blocks = [_to_plain_block(block) for block in message.blocks]
        return from_llamaindex([ChatMessage(role=message.role, blocks=blocks, additional_kwargs=extra)])[0]


def _to_plain_block(block: Any) -> Any:
    try:
        from_llamaindex([ChatMessage(role=MessageRole.ASSISTANT, blocks=[block])])
    except SerializationError:
        if isinstance(block, ToolCallBlock):
            return block.model_copy(update={"tool_kwargs": repr(block.tool_kwargs)})
        return TextBlock(text=repr(block))
    return block


def _find_stray_results(messages: Sequence[Message]) -> list[bool]:
    """For each message whether it is a tool's result without a call before it."""
    called: set[str | None] = set()
    stray: list[bool] = []
    for message in messages:
        called.update(call.id for call in message.tool_calls)
        stray.append(message.role == "tool" and message.tool_call_id not in called)
    return stray
