"""Messages, in a form independent of any framework.

A message keeps the framework's own JSON beside the neutral form only where the
neutral form does not reproduce it, so that conversion loses nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self, get_args

from pydantic import BaseModel, Field, JsonValue, ValidationError, field_validator

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model._openai import read_message, write_message
from wmem.model.call_ids import with_usable_ids
from wmem.model.foreign_forms import to_chat_form
from wmem.model.part import MODEL_CONFIG, Native, Part, Role, ToolCall
from wmem.model.validation import describe_error, parse

_SIMPLE_KEYS = {"role", "content"}
_SYNTHETIC_METADATA: Mapping[str, JsonValue] = {"wmem": "note"}
_ROLES: Mapping[str, Role] = {
    **{role: role for role in get_args(Role)},
    "human": "user",
    "ai": "assistant",
    "function": "tool",
}


class Message(BaseModel):
    """One message of a conversation.

    Args:
        role: The speaker's role.
        parts: The content, in order; empty for an assistant that only calls tools.
        tool_calls: An assistant's tool calls; each is answered by a ``tool`` message, and has an id of its own.
        tool_call_id: On a ``tool`` message, the call it answers; without one, the store pairs it by name and order.
        name: The speaker's name, or the tool's.
        id: Made by the store when absent; storing the same id again updates in place.
        turn_id: Messages of one turn are kept together when workers interleave.
        created_at: UTC epoch seconds; it dates the message, the journal orders it.
        complete: False for an answer whose stream was interrupted.
        native: See `Native`.
    """

    model_config = MODEL_CONFIG

    role: Role
    parts: tuple[Part, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    id: str | None = None
    turn_id: str | None = None
    thread_id: str | None = None
    created_at: float | None = None
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)
    complete: bool = True
    pinned: bool = False
    native: Native | None = None

    @field_validator("tool_calls")
    @classmethod
    def _give_usable_ids(cls, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        return with_usable_ids(calls)

    @classmethod
    def of(cls, role: Role, text: str, **fields: Any) -> Self:
        """A message of one text block; an empty text makes no block.

        Raises:
            InvalidInputError: An unknown role or field, or a value of the wrong shape.
        """
        return parse(lambda: cls(role=role, parts=(Part(text=text),) if text else (), **fields), _to_input_error)

    @classmethod
    def recall(cls, role: Role, text: str, **fields: Any) -> Self:
        """A message that a pack makes itself, marked so that nothing stores it."""
        return cls.of(role, text, metadata=_SYNTHETIC_METADATA, **fields)

    @property
    def recalled(self) -> bool:
        """Whether a pack made this message, so that it must not be stored."""
        return self.metadata.get("wmem") == "note"

    @property
    def text(self) -> str:
        """The text blocks, joined by line breaks; reasoning and media are not text."""
        parts = self.parts
        if len(parts) == 1 and parts[0].kind == "text":
            return parts[0].text or ""
        return "\n".join(part.text for part in parts if part.kind == "text" and part.text)

    @property
    def content(self) -> str:
        """The same as `text`, under the name OpenAI's dictionaries use."""
        return self.text

    def without_reasoning(self) -> Self:
        """The message without its reasoning, itself if it has none; an adapter takes it out of `native` as well."""
        kept = tuple(part for part in self.parts if part.kind != "reasoning")
        return self if len(kept) == len(self.parts) else self.model_copy(update={"parts": kept})

    @property
    def answers(self) -> tuple[str, ...]:
        """Tool call ids of this message: of the calls it makes, or of the one it answers."""
        if self.role == "tool":
            return (self.tool_call_id,) if self.tool_call_id and self.tool_call_id.strip() else ()
        return tuple(call.id for call in self.tool_calls) if self.tool_calls else ()

    @classmethod
    def from_openai(cls, data: Mapping[str, Any]) -> Self:
        """Read a dictionary in OpenAI's chat form, or in Anthropic's, Bedrock's, Gemini's or the Vercel AI SDK's.

        Keys that wmem does not know are kept as metadata, blocks of the content as they are.
        Besides OpenAI's own keys it may carry `id`, `turn_id`, `thread_id`,
        `metadata`, `created_at` (epoch seconds or ISO 8601), `pinned` and `complete`.

        Raises:
            InvalidInputError: An unknown role, a value of the wrong shape, nothing but unknown keys, or
                several messages in one, as results of parallel calls in Anthropic's form.
        """
        if not isinstance(data, Mapping):
            raise InvalidInputError(f"expected a dictionary in OpenAI's form, not {describe(data)}")
        if data.keys() == _SIMPLE_KEYS and type(data["content"]) is str and isinstance(data["role"], str):
            # Fast path: nearly every message has only a role and a text.
            role = _ROLES.get(data["role"])
            if role is not None:
                return cls(role=role, parts=(Part(text=data["content"]),) if data["content"] else ())
        read = cls._read_all(data)
        if len(read) != 1:
            msg = f"it holds {len(read)} messages, calls of tools and their results: append it to a scope's messages"
            raise InvalidInputError(msg)
        return read[0]

    @classmethod
    def _read_all(cls, data: Mapping[str, Any]) -> list[Self]:
        """The messages that a dictionary makes: one, unless it holds calls and results as other APIs do."""
        return [cls._read(form) for form in to_chat_form(data)]

    @classmethod
    def _read(cls, form: Mapping[str, Any]) -> Self:
        return parse(lambda: cls.model_validate(read_message(form, _ROLES)), _to_input_error)

    def to_openai(self) -> dict[str, Any]:
        """This message as a dictionary in OpenAI's chat form, ready to be sent."""
        return write_message(self.role, self.parts, self.tool_calls, tool_call_id=self.tool_call_id, name=self.name)


def _to_input_error(exc: ValidationError) -> InvalidInputError:
    return InvalidInputError(f"message: {describe_error(exc)}")


def parse_messages(messages: "Message | Mapping[str, Any] | Sequence[Message | Mapping[str, Any]]") -> list[Message]:
    """Read one or many messages, dictionaries in OpenAI's form included."""
    many = [messages] if isinstance(messages, Message | Mapping) else messages
    if isinstance(many, str | bytes) or not isinstance(many, Sequence):
        msg = f"expected a message, a dictionary or a sequence of them, not {type(messages).__name__!r}"
        raise InvalidInputError(msg)
    read = []
    for each in many:
        if type(each) is Message:
            read.append(each)
        elif isinstance(each, Mapping):
            simple = each.keys() == _SIMPLE_KEYS and type(each["content"]) is str
            read += [Message.from_openai(each)] if simple else Message._read_all(each)  # noqa: SLF001  # of this module
        else:
            msg = f"expected a wmem.Message itself or a dictionary in OpenAI's form, not {type(each).__name__!r}"
            raise InvalidInputError(msg)
    return read
