"""What is handed to a history: messages in any form that LangChain takes, and markers that remove others."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from langchain_core.messages import BaseMessage, RemoveMessage, convert_to_messages

from wmem.errors import InvalidInputError

_REMOVE_ALL_MESSAGES = "__remove_all__"  # LangGraph's id; a history works without LangGraph


class Input(NamedTuple):
    """Messages to add, in order, and what is to be removed of those that were there before.

    Attributes:
        removed: By id, whether it must be there: a message of the input may have gone before it was stored.
        removes_all: Whether all goes that was there before.
    """

    messages: list[BaseMessage]
    removed: Mapping[str, bool]
    removes_all: bool


def read_input(forms: object) -> Input:
    """Read messages as LangGraph's state does: a marker removes what came before it, here or in the history.

    Raises:
        InvalidInputError: Something is no message and no form of one.
    """
    if isinstance(forms, BaseMessage | Mapping | str | bytes) or not isinstance(forms, Iterable):
        raise InvalidInputError(f"expected a sequence of messages, got {type(forms).__name__!r}")
    messages: list[BaseMessage] = []
    removed: dict[str, bool] = {}
    removes_all = False
    for each in forms:
        message = _read(each)
        if not isinstance(message, RemoveMessage):
            messages.append(message)
            removed.pop(message.id or "", None)
        elif message.id == _REMOVE_ALL_MESSAGES:
            messages, removed, removes_all = [], {}, True
        else:
            others = [other for other in messages if other.id != message.id]
            removed[str(message.id)] = len(others) == len(messages)
            messages = others
    return Input(messages, removed, removes_all)


def _read(form: object) -> BaseMessage:
    if isinstance(form, BaseMessage):
        return form
    try:
        [message] = convert_to_messages([form])  # type: ignore[list-item]  # it says what it does not take
    except (NotImplementedError, ValueError, TypeError, KeyError, AttributeError):
        message = None
    if message is None:  # raised here: the chain would hold what was said
        raise InvalidInputError(f"expected a sequence of messages, got {type(form).__name__!r} in it")
    return message
