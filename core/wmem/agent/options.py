"""The options by which a memory is opened; `wmem.open` and adapters refuse the same of them, in the same words."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from wmem.agent.types.registry import AnyMemoryType
from wmem.agent.types.settings import TypeSettings
from wmem.codec.keyring import KeyRing
from wmem.describe import describe, describe_failure
from wmem.errors import InvalidInputError, WmemError
from wmem.model.features import Features
from wmem.model.filters import Filters
from wmem.model.gate import Gate
from wmem.model.sendable import to_sendable
from wmem.policy import Policy
from wmem.retrieval.embedder import Embedder
from wmem.rules.redaction import Redaction
from wmem.rules.retention import Retention
from wmem.scope.summaries.port import GuardedSummarizer, Summarizer, SummarizerFunction
from wmem.tokens.counter import Counter

_KINDS: Mapping[str, tuple[type, str]] = {
    "policy": (Policy, "a wmem.Policy"),
    "features": (Features, "wmem.Features, as Features.core()"),
    "redaction": (Redaction, "a wmem.Redaction, as Redaction.strict()"),
    "gate": (Gate, "a wmem.Gate"),
    "default_filters": (Filters, "wmem.Filters"),
}


class OpenOptions(NamedTuple):
    """The options that `wmem.open` takes beside the store and the agent."""

    policy: Policy | None
    counter: Counter | None
    clock: Callable[[], float] | None
    key: KeyRing | bytes | str | None
    client: object | None
    embedder: Embedder | None
    media_tokens: Mapping[str, int] | None = None
    create: bool = True
    memory_types: Iterable[TypeSettings | AnyMemoryType] = ()
    default_filters: Filters | None = None
    enable_tool_tracking: bool = True
    features: Features | None = None
    summarizer: Summarizer | SummarizerFunction | None = None
    redaction: Redaction | None = None
    gate: Gate | None = None
    enable_skill_extraction: bool = True
    retention: Iterable[Retention] = ()


def check_kinds(options: Mapping[str, object]) -> None:
    """Check those options that must be of a class of wmem's, or something to call.

    Raises:
        InvalidInputError: One is neither that nor None.
    """
    for name, given in options.items():
        if given is None:
            continue
        kind, told = _KINDS.get(name, (object, ""))
        if not isinstance(given, kind):
            raise InvalidInputError(f"{name} must be {told}, not {describe(given)}")
        if name == "clock" and not callable(given):
            raise InvalidInputError(f"clock must be callable, not {type(given).__name__!r}")


class CheckedCounter:
    """A caller's counter whose results are checked: budgets depend on them."""

    def __init__(self, counter: Counter) -> None:
        if not callable(counter):
            raise InvalidInputError(f"counter must be callable, not {type(counter).__name__!r}")
        if not isinstance(getattr(counter, "name", None), str):
            raise InvalidInputError("a counter needs a name: counts are stored under it")
        self._counter = counter
        self.name = counter.name

    def __call__(self, text: str, /) -> int:
        try:
            tokens = self._counter(to_sendable(text))
        except WmemError:
            raise
        except Exception as exc:  # noqa: BLE001  # a user's function, which should not raise
            tokens, failure = -1, describe_failure(exc)
        else:
            failure = ""
        if failure:  # raised here: the user's error may quote the text
            raise InvalidInputError(f"the counter {self.name!r} raised {failure}")
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            msg = f"the counter {self.name!r} must return a whole number of tokens, not {describe(tokens)}"
            raise InvalidInputError(msg)
        return tokens


def find_unknown_routes(gate: Gate | None, known: Iterable[str]) -> list[tuple[str, str]]:
    """The routes of a gate to memory types that are not there (yet): name of the route and of the type."""
    folded = {name.casefold() for name in known}
    return [
        (route.name, store)
        for route in (() if gate is None else gate.routes)
        for store in route.stores
        if store.strip().casefold() not in folded
    ]


def check_lazily_opened(
    counter: Counter | None,
    summarizer: Summarizer | SummarizerFunction | None,
    features: Features | None,
    redaction: Redaction | None,
    gate: Gate | None,
) -> None:
    """Check the options of a memory that is opened at its first use, as they are checked when it is."""
    check_kinds({"features": features, "redaction": redaction, "gate": gate})
    if counter is not None:
        CheckedCounter(counter)
    if summarizer is not None:
        GuardedSummarizer(summarizer)
