"""OpenTelemetry metrics, in processes that have set a meter provider.

`find_metrics` is called when a memory is opened. Without opentelemetry's metrics in the process, or
with only the API's own provider, it returns None and nothing is ever measured. Set the meter
provider first, then open.

Source: scoped key-value document, "Metrics".
"""

import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from wmem.fork import new_renewed_lock

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

AgentCounts: TypeAlias = Callable[[str], tuple[int, int]]
"""How many entries and scopes an agent has, as far as an engine knows."""

_API_MODULE = "opentelemetry.metrics"


class Metrics:
    """The instruments of one meter provider.

    Attributes:
        get_ms: Milliseconds a look-up of one key took, without decoding.
        set_ms: Milliseconds a `set` took, until it was stored.
        fallbacks: Look-ups that went on to the parents.
        pack_tokens: Tokens of a pack.
        dropped: Units that packs dropped, by `reason`.
        promoted: Items copied to long-term memory, by `rule`, which may be ``manual``.
        evicted: Evicted items, by `rule`.
        conflicts: Retries of a write, because another writer came first.
    """

    def __init__(self, provider: "MeterProvider") -> None:
        meter = provider.get_meter("wmem")
        working = "agents.memory.working"
        self.get_ms = meter.create_histogram(f"{working}.get_latency_ms", "ms", "Get operation latency")
        self.set_ms = meter.create_histogram(f"{working}.set_latency_ms", "ms", "Set operation latency")
        self.fallbacks = meter.create_counter(f"{working}.scope_fallback_total", "1", "Parent fallback operations")
        self.pack_tokens = meter.create_histogram("wmem.pack.tokens", "{token}", "Tokens of a pack")
        self.dropped = meter.create_counter("wmem.pack.dropped", "1", "Units that packs left out")
        self.promoted = meter.create_counter("wmem.promoted", "1", "Items copied to long-term memory")
        self.evicted = meter.create_counter("wmem.evicted", "1", "Items that made room")
        self.conflicts = meter.create_counter("wmem.conflicts", "1", "Tries of a write beyond its first")
        self._watches: weakref.WeakKeyDictionary[object, tuple[str, AgentCounts]] = weakref.WeakKeyDictionary()
        self._lock = new_renewed_lock()
        entries, scopes = (partial(self._observe, index) for index in (0, 1))
        meter.create_observable_gauge(f"{working}.entries", [entries], "1", "Current entry count")
        meter.create_observable_gauge(f"{working}.scopes", [scopes], "1", "Active scope count")

    def record_pack(self, tokens: int, dropped: Mapping[str, int]) -> None:
        """Record a pack: its tokens, and how many units it dropped by reason."""
        self.pack_tokens.record(tokens)
        for reason, units in dropped.items():
            self.dropped.add(units, {"reason": reason})

    def watch(self, owner: object, agent_id: str, counts: AgentCounts) -> None:
        """Report an agent's counts for as long as `owner` lives, or until `unwatch`."""
        with self._lock:
            self._watches[owner] = (agent_id, counts)

    def unwatch(self, owner: object) -> None:
        """Stop reporting for `owner`."""
        with self._lock:
            self._watches.pop(owner, None)

    def _observe(self, index: int, _: "CallbackOptions") -> "Iterable[Observation]":
        api = sys.modules[_API_MODULE]
        with self._lock:
            # Several memories of one agent on one engine have the same counts.
            watched = set(self._watches.values())
        by_agent: dict[str, int] = {}
        for agent_id, counts in watched:
            by_agent[agent_id] = by_agent.get(agent_id, 0) + counts(agent_id)[index]
        return [api.Observation(count, {"agent_id": agent_id}) for agent_id, count in sorted(by_agent.items())]


class _MetricsRegistry:
    """Instruments by provider: a second set under the same names would report nothing."""

    def __init__(self) -> None:
        self.lock = new_renewed_lock()
        self.by_provider: weakref.WeakKeyDictionary[object, Metrics] = weakref.WeakKeyDictionary()


_registry = _MetricsRegistry()


def find_metrics() -> Metrics | None:
    """The instruments of the process's meter provider; None when it has set up none.

    Nothing is imported here: setting a provider has imported opentelemetry.
    """
    api = sys.modules.get(_API_MODULE)
    if api is None:
        return None
    provider = api.get_meter_provider()
    if type(provider).__module__.startswith(_API_MODULE):
        return None  # the API's own: it measures nothing
    with _registry.lock:
        if provider not in _registry.by_provider:
            _registry.by_provider[provider] = Metrics(provider)
        return _registry.by_provider[provider]
