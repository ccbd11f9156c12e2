"""Messages that were cut to fit: marked, so that a list that is handed back edits nothing that is stored."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.messages import BaseMessage

from langchain_wmem._fields import CUT_SOURCE
from langchain_wmem._pieces import count_pieces
from wmem.adapter import Steps
from wmem.types import AsyncMessages, Messages

if TYPE_CHECKING:
    from wmem import Message


def mark_cut(message: BaseMessage) -> BaseMessage:
    """The message with the mark."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, "lc_source": CUT_SOURCE}})


def leave_out_cut(session: Messages | AsyncMessages, messages: Sequence[BaseMessage]) -> Steps[list[BaseMessage]]:
    """The messages, without those that are marked and stored: there they are whole."""
    whole: set[str | None] = set()
    for message in filter(_is_cut, messages):
        if (yield from find_pieces(session, message.id or "")):
            whole.add(message.id)
    return [message for message in messages if message.id not in whole or not _is_cut(message)]


def find_pieces(session: Messages | AsyncMessages, id: str) -> Steps[list[str]]:
    """The ids under which a LangChain message is stored; none if it is not."""
    stored: Message | None = yield session.get(id)
    return [] if stored is None else [f"{id}.{at}" if at else id for at in range(count_pieces(stored))]


def _is_cut(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == CUT_SOURCE
