"""`Assembled`: the context that a turn gave its agent."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from wmem.fork import cached_property
from wmem.model.context import Context, Explanation
from wmem.model.item import MemoryItem
from wmem.model.message import Message
from wmem.pack.wording import message_text


class AssembledItem(NamedTuple):
    """A memory that a context quotes.

    Attributes:
        source: The name of the memory type it is from.
        tokens: That it takes in the prompt.
        score: What recall ranked it by; None for what is pinned.
        parts: What the score is made of.
    """

    item: MemoryItem
    source: str
    tokens: int
    score: float | None
    parts: Mapping[str, float]


class Quoted(NamedTuple):
    """What a prompt quotes of memory, and how many of its tokens are from each memory type."""

    items: tuple[AssembledItem, ...]
    sources: Mapping[str, int]


class Frame(NamedTuple):
    """What a template puts before and behind a note, and how many tokens it adds at most."""

    texts: tuple[str, str]
    tokens: int


NO_FRAME = Frame(("", ""), 0)


class Assembled:
    """A prompt that fits its budget, what it quotes of memory, and where that is from.

    Attributes:
        context: The prompt as `Scope.pack` makes it, without the template.
        tokens: Tokens of the prompt.
    """

    def __init__(self, context: Context, list_quoted: Callable[[], Quoted], frame: Frame = NO_FRAME) -> None:
        self.context = context
        self.tokens = context.tokens + (frame.tokens if context.note else 0)
        self._frame = frame
        self._list_quoted: Callable[[], Quoted] | None = list_quoted

    @cached_property
    def _content(self) -> Quoted:
        # Listed at first use: most prompts are sent without a look at what they are made of.
        assert self._list_quoted is not None  # until it was called
        quoted, self._list_quoted = self._list_quoted(), None
        return quoted

    def __reduce__(self) -> tuple[type["Assembled"], tuple[Context, Callable[[], Quoted], Frame]]:
        return Assembled, (self.context, partial(_identity, self._content), self._frame)

    @property
    def items(self) -> tuple[AssembledItem, ...]:
        """The memories that its note quotes, in the order in which it was filled."""
        return self._content.items

    @property
    def sources(self) -> Mapping[str, int]:
        """Its tokens by memory type; under ``""`` those of no memory: system text, tools and wrapping."""
        return self._content.sources

    @cached_property
    def text(self) -> str:
        """The prompt as one text, each message after its role."""
        return "\n\n".join(f"{each.role}: {message_text(each)}" for each in self.messages)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """All messages in the order they are sent, with system text and note."""
        return tuple(map(self._put_into_template, self.context.prompt()))

    def _put_into_template(self, message: Message) -> Message:
        if self._frame is NO_FRAME or not message.recalled or message.text != self.context.note:
            return message
        before, after = self._frame.texts
        return Message.recall(message.role, f"{before}{message.text}{after}")

    @property
    def explanation(self) -> Explanation:
        """Why each unit is included, truncated or dropped."""
        return self.context.explain()

    def to_openai(self) -> list[dict[str, object]]:
        """The prompt as dictionaries in OpenAI's chat form."""
        return [message.to_openai() for message in self.messages]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.context!r}>"


def _identity(quoted: Quoted) -> Quoted:
    return quoted
