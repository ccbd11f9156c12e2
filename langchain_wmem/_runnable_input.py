"""What is handed to a runnable: a prompt, messages, a text, or the state of a graph."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from langchain_core.messages import BaseMessage, BaseMessageChunk, SystemMessage, message_chunk_to_message
from langchain_core.prompt_values import PromptValue

from langchain_wmem._input import read_input
from wmem.errors import InvalidInputError


class RunnableInput(NamedTuple):
    """What a runnable was given.

    Attributes:
        leading: The system messages that it begins with.
        talk: The messages that follow them.
        is_state: Whether it is the state of a graph.
    """

    leading: list[BaseMessage]
    talk: list[BaseMessage]
    is_state: bool


def read_runnable_input(value: object, key: str, speaker: type[BaseMessage]) -> RunnableInput:
    """Read what a runnable was given.

    Args:
        key: Where a state has its messages.
        speaker: Who says a bare text.

    Raises:
        InvalidInputError: No messages, and nothing that has some.
    """
    forms = value
    if isinstance(value, str):
        forms = [speaker(content=value)]
    elif isinstance(value, PromptValue):
        forms = value.to_messages()
    elif isinstance(value, BaseMessage):
        forms = [value]
    elif is_state(value):
        forms = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
        if forms is None:
            raise InvalidInputError(f"expected a prompt, messages, or a state that has them under {key!r}")
    messages = [
        message_chunk_to_message(each) if isinstance(each, BaseMessageChunk) else each
        for each in read_input(forms).messages
    ]
    leading = list(takewhile(lambda message: isinstance(message, SystemMessage), messages))
    return RunnableInput(leading, messages[len(leading) :], is_state(value))


def is_state(value: object) -> bool:
    """Whether something is the state of a graph, and no message or messages."""
    return isinstance(value, Mapping) or not isinstance(value, str | BaseMessage | PromptValue | Sequence)
