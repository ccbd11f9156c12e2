"""What metrics and the traces of frameworks tell of planted values: nothing."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from opentelemetry import metrics as api
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import wmem
from langchain_wmem import WmemMiddleware
from tests.conformance.conftest import Call, MemoryOpener
from tests.redaction.plants import PLANTS
from tests.suites.plants import LISTED, Planter, find_values


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryMetricReader]:
    """Collects the metrics of a process that has set up where they go."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monkeypatch.setattr(api, "get_meter_provider", lambda: provider)
    yield reader
    provider.shutdown()


@pytest.mark.slow
def test_no_metric_has_a_planted_value(reader: InMemoryMetricReader, open_memory: MemoryOpener, call: Call) -> None:
    memory = open_memory()
    planter = Planter(memory, call, PLANTS[::7])
    planter.plant_all()
    planter.ask_all()
    call(memory.maintain)
    data = reader.get_metrics_data()
    assert data is not None
    told = data.to_json()
    assert "promoted" in told
    assert find_values(told.encode()) == []


class Listener(BaseCallbackHandler):
    """Keeps the metadata of all runs."""

    def __init__(self) -> None:
        self.metadata: list[object] = []

    def on_chat_model_start(self, *_: Any, metadata: object = None, **__: Any) -> None:
        self.metadata.append(metadata)

    def on_chain_start(self, *_: Any, metadata: object = None, **__: Any) -> None:
        self.metadata.append(metadata)


def test_the_metadata_of_an_agents_runs_has_no_planted_value() -> None:
    listener = Listener()
    with wmem.open("memory://", agent_id="a") as memory:
        agent = create_agent(
            FakeListChatModel(responses=[plant.text for plant in LISTED[:8]]),
            middleware=[WmemMiddleware(memory, budget=2_000, session="s")],
        )
        for plant in LISTED[8:16]:
            agent.invoke({"messages": [HumanMessage(plant.text)]}, {"callbacks": [listener]})
    told = repr(listener.metadata)
    assert "'receipt': '" in told
    assert find_values(told.encode()) == []
