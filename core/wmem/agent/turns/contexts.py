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


class Assembled:
    """A prompt that fits its budget, what it quotes of memory, and where that is from.

    Attributes:
        context: The prompt as `Scope.pack` makes it.
    """

    def __init__(self, context: Context, list_quoted: Callable[[], Quoted]) -> None:
        self.context = context
        self._list_quoted: Callable[[], Quoted] | None = list_quoted

    @cached_property
    def _content(self) -> Quoted:
        # Listed at first use: most prompts are sent without a look at what they are made of.
        assert self._list_quoted is not None  # until it was called
        quoted, self._list_quoted = self._list_quoted(), None
        return quoted

    def __reduce__(self) -> tuple[type["Assembled"], tuple[Context, Callable[[], Quoted]]]:
        return Assembled, (self.context, partial(_identity, self._content))

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
        return tuple(self.context.prompt())

    @property
    def tokens(self) -> int:
        """Tokens of the prompt."""
        return self.context.tokens

    @property
    def explanation(self) -> Explanation:
        """Why each unit is included, truncated or dropped."""
        return self.context.explain()

    def to_openai(self) -> list[dict[str, object]]:
        """The prompt as dictionaries in OpenAI's chat form."""
        return self.context.to_openai()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.context!r}>"


def _identity(quoted: Quoted) -> Quoted:
    return quoted
