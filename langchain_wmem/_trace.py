"""What a trace says of a model call's prompt: numbers and ids in the metadata of the run, never content."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import var_child_runnable_config

from wmem import Context
from wmem.types import Path, UnitReport

_MAX_IDS = 20  # of a kind


class PromptTrace(TypedDict):
    """A prompt in numbers.

    Attributes:
        session: The names of the scope's path from the session on, with slashes between.
        receipt: Names the prompt: `AgentMemory.replay` renders it again once the run has ended.
        sizes: Tokens by section.
        kept: How many units are in the prompt, messages that stand together or a memory each; some may be cut.
        recalled: Ids of the first twenty memories that recall found for it.
        shortened: Ids of the first twenty messages that were cut.
    """

    session: str
    receipt: str
    tokens: int
    budget: int
    sizes: dict[str, int]
    kept: int
    cut: int
    dropped: int
    recalled: list[str]
    shortened: list[str]


def describe_prompt(context: Context, path: Path) -> PromptTrace:
    """The trace of a packed prompt, in plain JSON."""
    found = (unit for unit in chain(context.included, context.truncated) if unit.rule == "recalled")
    return {
        "session": "/".join(path),
        "receipt": context.receipt,
        "tokens": context.tokens,
        "budget": context.budget,
        "sizes": {name: tokens for name, tokens in context.sizes.items() if tokens},
        "kept": len(context.included) + len(context.truncated),
        "cut": len(context.truncated),
        "dropped": context.dropped.count,
        "recalled": _first_ids(found),
        "shortened": _first_ids(context.truncated),
    }


def _first_ids(units: Iterable[UnitReport]) -> list[str]:
    return list(islice((id for unit in units for id in unit.ids), _MAX_IDS))


@contextmanager
def trace_prompt(name: str, context: Context, path: Path, model: object) -> Iterator[None]:
    """Put the trace of a prompt into the metadata of the runs that begin here, if anything listens to them.

    Args:
        name: The key of the metadata.
    """
    config = ensure_config()
    if not is_heard(config, model):  # the reports would cost more than the rest of a small pack
        yield
        return
    outside = var_child_runnable_config.get()
    metadata = {**config.get("metadata", {}), name: describe_prompt(context, path)}
    var_child_runnable_config.set({**config, "metadata": metadata})
    try:
        yield
    finally:
        # Not by a token: an abandoned run is closed wherever it is collected.
        var_child_runnable_config.set(outside)


def is_heard(config: RunnableConfig, model: object = None) -> bool:
    """Whether anything listens to the runs of a configuration, or of a model."""
    callbacks = config.get("callbacks")
    handlers = callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", None)
    return bool(handlers or (isinstance(model, BaseChatModel) and model.callbacks))
