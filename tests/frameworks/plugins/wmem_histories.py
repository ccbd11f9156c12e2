"""A pytest plugin: puts `WmemChatMessageHistory` in the place of langchain-core's history in memory."""

from collections.abc import Sequence

import langchain_core.chat_history
import pytest
from langchain_core.messages import BaseMessage
from wmem_run import expect_use, new_store

from langchain_wmem import WmemChatMessageHistory


def pytest_configure(config: pytest.Config) -> None:
    expect_use(config, "histories")

    class PlacedHistory(WmemChatMessageHistory):
        """Made and compared as the one in memory is: with its messages, by its messages, but for their ids."""

        def __init__(self, messages: Sequence[BaseMessage] = ()) -> None:
            super().__init__(("user", "session"), url=new_store(config, "histories"), agent_id="agent")
            if messages:
                self.add_messages(messages)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, PlacedHistory) and _without_ids(self) == _without_ids(other)

        __hash__ = None  # type: ignore[assignment]  # as the one in memory has none

    PlacedHistory.__name__ = langchain_core.chat_history.InMemoryChatMessageHistory.__name__  # ids of tests have it
    langchain_core.chat_history.InMemoryChatMessageHistory = PlacedHistory  # type: ignore[assignment,misc]  # that is what this is for


def _without_ids(history: WmemChatMessageHistory) -> list[BaseMessage]:
    return [message.model_copy(update={"id": None}) for message in history.messages]
