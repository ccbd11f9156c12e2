"""A LangChain chat model that replays the partner's recorded replies."""

from typing import Any, Self

from demo_reading import Conversation, Turn
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

__all__ = ["NoReplyError", "RecordedReplies"]


class NoReplyError(Exception):
    """The recording has no reply to this message: its session ended with it."""


class RecordedReplies(BaseChatModel):
    """Not a language model: looks up the recorded reply to the newest user message."""

    replies: dict[str, Turn | None]
    """The reply to each user turn, by the turn's id."""

    @classmethod
    def of(cls, conversation: Conversation) -> Self:
        """The partner's side of a conversation."""
        return cls(replies={each.message.id: each.reply for each in conversation.exchanges()})

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
        # A note of wmem is a user message too, but without a recorded id.
        asked = [each.id for each in messages if isinstance(each, HumanMessage) and each.id in self.replies]
        reply = self.replies[str(asked[-1])]
        if reply is None:
            raise NoReplyError
        said = AIMessage(reply.text, id=reply.id, name=reply.speaker)
        return ChatResult(generations=[ChatGeneration(message=said)])
