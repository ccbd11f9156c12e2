"""Adapter from a LlamaIndex tokenizer function to a wmem token counter."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from wmem import InvalidInputError


class TokenizerCounter:
    """Counts tokens as the length of the tokenizer's result."""

    def __init__(self, tokenizer: Callable[[str], Sequence[Any]]) -> None:
        if not callable(tokenizer):
            raise InvalidInputError(f"tokenizer_fn must be callable, not {type(tokenizer).__name__!r}")
        self.tokenizer = tokenizer
        # Counts are cached by name, on disk too, so two functions must never share a name.
        named = f"{getattr(tokenizer, '__module__', '')}.{getattr(tokenizer, '__qualname__', '<>')}"
        self.name = uuid4().hex if "<" in named else named

    def __call__(self, text: str, /) -> int:
        found = self.tokenizer(text)
        try:
            return len(found)
        except TypeError as exc:
            msg = f"tokenizer_fn must return the tokens, as a list does, not {type(found).__name__!r}"
            raise InvalidInputError(msg) from exc
