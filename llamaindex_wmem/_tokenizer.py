"""A tokenizer of LlamaIndex's kind as a counter of wmem's."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

__all__ = ["Tokenizer"]


class Tokenizer:
    """Counts tokens as the length of what the tokenizer returns."""

    def __init__(self, tokenizer: Callable[[str], Sequence[Any]]) -> None:
        self.tokenizer = tokenizer
        # Counts are cached under the name, on disk too: only what is surely the same function may share one.
        named = f"{getattr(tokenizer, '__module__', '')}.{getattr(tokenizer, '__qualname__', '<>')}"
        self.name = uuid4().hex if "<" in named else named

    def __call__(self, text: str, /) -> int:
        return len(self.tokenizer(text))
