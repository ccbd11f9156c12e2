"""A chat model for LangChain that replays what the partner replied when the conversation was recorded."""

from typing import Any, Self

from demo_reading import Conversation, Turn
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

__all__ = ["NoReplyError", "RecordedReplies"]


class NoReplyError(Exception):
    """In the recording nobody replied to this message: the sitting ended with it."""


class RecordedReplies(BaseChatModel):
    """Knows no language: it looks up the reply to the newest message of the user."""

    replies: dict[str, Turn | None]
    """What followed each of the user's turns, by its id."""

    @classmethod
    def of(cls, conversation: Conversation) -> Self:
        """The partner's side of a conversation."""
        return cls(replies={each.said.id: each.reply for each in conversation.exchanges()})

    @property
    def _llm_type(self) -> str:
        return "recorded-replies"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  # the same
        **_: Any,
    ) -> ChatResult:
        # A note of wmem comes as a message of the user too, without an id that was ever recorded.
        asked = [each.id for each in messages if isinstance(each, HumanMessage) and each.id in self.replies]
        reply = self.replies[str(asked[-1])]
        if reply is None:
            raise NoReplyError
        said = AIMessage(reply.text, id=reply.id, name=reply.speaker)
        return ChatResult(generations=[ChatGeneration(message=said)])
