"""The part of an answer that a model had streamed when its call failed or was cancelled."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables import ensure_config
from langchain_core.runnables.config import var_child_runnable_config

from wmem import Message

WHY = "stopped"
"""Key of a partial message's metadata: why it ends where it does."""


class PartialAnswer(BaseCallbackHandler):
    """Collects the text that the newest model run streams."""

    run_inline = True
    ignore_chain = ignore_agent = ignore_retriever = ignore_chat_model = ignore_retry = True
    ignore_custom_event = True

    def __init__(self) -> None:
        self._run_id: UUID | None = None
        self._texts: list[str] = []

    def on_llm_new_token(self, token: Any, *, run_id: UUID, chunk: Any = None, **_: Any) -> None:
        """Take the text of one more chunk; a new run, as of a model to fall back to, begins anew."""
        if run_id != self._run_id:
            self._run_id, self._texts = run_id, []
        self._texts.append(token if isinstance(token, str) else str(getattr(chunk, "text", "")))

    def message(self, exc: BaseException) -> Message | None:
        """What was said until a call failed, with a word why; None if nothing was."""
        text = "".join(self._texts)
        if not text.strip():
            return None
        return Message.of(
            "assistant", text, id=f"lc_run--{self._run_id}", complete=False, metadata={WHY: find_reason(exc)}
        )

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Listen to the runs that begin here."""
        outside = var_child_runnable_config.get()
        config = ensure_config()
        callbacks = config.get("callbacks")
        if isinstance(callbacks, BaseCallbackManager):
            callbacks = callbacks.copy()
            callbacks.add_handler(self)
        else:
            callbacks = [*(callbacks or ()), self]
        var_child_runnable_config.set({**config, "callbacks": callbacks})
        try:
            yield
        finally:
            # Not by a token: an abandoned run is closed wherever it is collected.
            var_child_runnable_config.set(outside)


def find_reason(exc: BaseException) -> str:
    """Why a call ended without an answer, in a word: cancelled, interrupted, timeout or error."""
    if isinstance(exc, asyncio.CancelledError):
        return "cancelled"
    if isinstance(exc, TimeoutError):
        return "timeout"
    return "error" if isinstance(exc, Exception) else "interrupted"
