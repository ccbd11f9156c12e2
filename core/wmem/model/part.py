"""What a message consists of: its parts, tool calls, and a framework's own JSON of it."""

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
PartKind: TypeAlias = Literal["text", "image", "audio", "video", "file", "reasoning", "refusal", "other"]

# Instances of a subclass are validated as the declared class: extra fields would be lost in a store.
MODEL_CONFIG = ConfigDict(
    frozen=True,
    extra="forbid",
    hide_input_in_errors=True,
    defer_build=True,
    revalidate_instances="subclass-instances",
    ser_json_inf_nan="constants",
)


class Part(BaseModel):
    """One block of a message's content.

    Media is given by exactly one of `url`, `base64` or `file_id`. `data` holds
    the whole block of kind ``other``, and the fields of a known kind that have no
    place here.
    """

    model_config = MODEL_CONFIG

    kind: PartKind = "text"
    text: str | None = None
    url: str | None = None
    base64: str | None = None
    file_id: str | None = None
    mime_type: str | None = None
    signature: str | None = None
    """Proof of origin of a reasoning block; a provider refuses it when a byte differs."""
    data: Mapping[str, JsonValue] | None = None
    """On a text, the further keys of its block: it is written as a block again, also if there are none."""


class ToolCall(BaseModel):
    """One tool call of an assistant.

    `arguments` is the JSON text as the model wrote it, so that it can be sent
    back unchanged; `args` is the same, parsed.
    """

    model_config = MODEL_CONFIG

    id: str = ""
    """In a message each call has an id of its own: a blank one, or one that is taken, is replaced there."""
    name: str
    arguments: str = "{}"
    type: Literal["function", "custom"] = "function"
    """A custom tool takes free text: its `arguments` are not JSON."""

    @property
    def args(self) -> dict[str, Any] | None:
        """The arguments as a mapping, or None when the text is not a JSON object."""
        try:
            read = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return None
        return read if isinstance(read, dict) else None


class Native(BaseModel):
    """A framework's own JSON of a message that the neutral form cannot reproduce."""

    model_config = MODEL_CONFIG

    framework: str
    data: JsonValue
    takers: tuple[str, ...] | None = None
    """The provider profiles that take calls or results in it; None for all. To another the neutral form is sent."""
