"""Suite of planted values: hundreds of secrets and personal data go through every verb, and none is in what is kept."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

import wmem
from tests.redaction.plants import PLANTS, Plant
from tests.suites.embedders import Embedder, EmbedderSuite
from tests.suites.redaction import read_payloads
from wmem import Redaction
from wmem.model.history import Path
from wmem.testing.suite import Call, MemoryOpener

__all__ = ["LISTED", "Planter", "PlantsSuite", "find_values"]

_STEP = 7  # prime to the number of verbs: each of them gets some of all
_LEAST_LENGTH = 9  # of a value that no id, time or number of a store holds by chance
LISTED = [plant for plant in PLANTS if len(plant.value) >= _LEAST_LENGTH]


def find_values(data: bytes) -> list[str]:
    """The planted values that stand in bytes, as they are, as JSON writes them or as Python shows them."""
    folded = data.lower()
    return [plant.value for plant in LISTED if any(form in folded for form in _forms(plant.value))]


def _forms(value: str) -> Iterator[bytes]:
    shown = repr(value)[1:-1]
    for text in dict.fromkeys((value, shown, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])):
        yield text.encode("utf-8", "surrogatepass").lower()
        yield text.encode("ascii", "backslashreplace").lower()


class PlantsSuite(EmbedderSuite):
    """What is kept long, and what leaves a memory, has none of the planted values."""

    @pytest.fixture
    def memory(self, open_memory: MemoryOpener, embedder: Embedder) -> wmem.AgentMemory:
        """See `FacetSuite.memory`."""
        return open_memory(embedder=embedder)

    @pytest.fixture
    def plants(self, backend: str) -> Sequence[Plant]:
        """All of them on one backend, some of them on the others: what is redacted does not depend on it."""
        return PLANTS if backend == "sqlite" else PLANTS[::_STEP]

    @pytest.mark.slow
    def test_no_planted_value_is_kept_long_or_leaves(  # noqa: PLR0917  # fixtures
        self,
        plants: Sequence[Plant],
        memory: wmem.AgentMemory,
        open_memory: MemoryOpener,
        embedder: Embedder,
        call: Call,
        caplog: pytest.LogCaptureFixture,
        recwarn: pytest.WarningsRecorder,
    ) -> None:
        assert len(PLANTS) >= 500  # as many as are promised
        caplog.set_level(logging.DEBUG)
        planter = Planter(memory, call, plants)
        shown, recalled = planter.plant_all(), planter.ask_all()
        call(memory.types.session("s")["conversation"].close)
        call(memory.maintain)
        call(memory.close)
        memory = open_memory.in_other_process()
        kept = {path: data for path, data in read_payloads(memory, call).items() if _is_kept_long(path)}
        assert {path[-1] for path in kept} >= {"~semantic", "~episodic", "~conversation", "~vectors", "~trace"}
        for path, data in kept.items():
            assert find_values(data) == [], path
        told = {"replies": repr(shown), "recalled": repr(recalled), "embedded": "\n".join(embedder.pop_texts())}
        told["saved"] = repr(bytes(call(memory.snapshot)))
        told["exported"] = json.dumps(call(memory.scope("s").export, redacted=True), ensure_ascii=False)
        told["logged"] = "\n".join(map(str, (record.getMessage() for record in caplog.records)))
        told["raised"] = "\n".join(str(record.exc_info) + str(record.args) for record in caplog.records)
        told["warned"] = "\n".join(str(each.message) for each in recwarn)
        for where, text in told.items():
            assert find_values(text.encode("utf-8", "surrogatepass")) == [], where
        assert told["embedded"].count("[REDACTED_") > 1
        assert told["exported"].count("[REDACTED_") > len(plants) // 8
        assert find_values(
            json.dumps(call(memory.scope("s").export), ensure_ascii=False).encode("utf-8", "surrogatepass")
        )

    @pytest.mark.slow
    def test_strict_stores_no_planted_value_anywhere(
        self, open_memory: MemoryOpener, call: Call, store_bytes: Callable[[], bytes]
    ) -> None:
        memory = open_memory(redaction=Redaction.strict())
        planter = Planter(memory, call, PLANTS[::_STEP])
        planter.plant_all()
        planter.ask_all()
        source = wmem.open("memory://", agent_id="a", redaction=Redaction.off())
        for plant in PLANTS[:: len(planter.plants) // 8]:
            source.working.entries.set(f"k{source.working.entries.count()}", {"text": plant.text})
        said: Any = [{"role": "user", "content": plant.text} for plant in PLANTS]
        call(memory.scope("all").import_, source.working.export())
        call(memory.scope("all").messages.append, said)
        call(memory.maintain)
        call(memory.close)
        assert find_values(store_bytes()) == []


def _is_kept_long(path: Path) -> bool:
    """Whether a scope is wmem's own, but for the index of a session's own texts."""
    return any(each.startswith("~") for each in path[1:]) and not (path[-1] == "~index" and path[1] == "s")


class Planter:
    """Plants values in a session and in long-term memory; what it returns is what is kept long."""

    def __init__(self, memory: wmem.AgentMemory, call: Call, plants: Sequence[Plant]) -> None:
        self.plants = plants
        self.memory = memory
        self.session = memory.scope("s")
        self.call = call
        self.turn = memory.turn("s")

    def plant_all(self) -> list[object]:
        """Plant each value by one of the verbs, all of them in turns."""
        verbs: Sequence[Callable[[str], object]] = (
            *(partial(self.promote, type) for type in ("fact", "observation")),
            *(self.say, self.memorize_knowledge, self.memorize_experience, self.track, self.track_failure),
            *(self.import_export, self.update, self.relate, self.append, self.set_entry),
        )
        return [verbs[number % len(verbs)](plant.text) for number, plant in enumerate(self.plants)]

    def ask_all(self) -> list[object]:
        """Ask for what was planted, in another session, and commit; returns what came."""
        other, call = self.memory.scope("other"), self.call
        came: list[object] = [self.memory, self.session, self.turn, call(self.memory.stats)]
        for plant in self.plants[::40]:
            came += [call(other.recall, plant.text), call(other.pack, plant.text, budget=4_000).note]
        came += [call(self.session.queue.summarize, "all", 2_000), call(self.session.stats)]
        types = self.memory.types.session("s")
        came += [call(types[name].summarize, 2_000) for name in ("conversation", "semantic", "episodic")]
        context = call(self.session.pack, self.plants[0].text, budget=2_000)
        came += [call(self.turn.commit).exports, repr(context)]
        came += call(self.memory.traces, "s")
        return came

    def promote(self, type: str, text: str) -> object:  # the field's own name
        item = self.call(self.session.items.add, text, type=type, tags=["planted"], metadata={"text": text})
        return self.call(self.session.items.promote, item.id)

    def say(self, text: str) -> None:
        self.call(self.session.messages.append, {"role": "user", "content": text})

    def memorize_knowledge(self, text: str) -> object:
        routed = self.call(self.turn.memorize, {"content": text, "type": "skill", "metadata": {"text": text}})
        return routed.stored["semantic"].item

    def memorize_experience(self, text: str) -> object:
        routed = self.call(self.turn.memorize, {"content": text, "type": "action", "participants": [text]})
        return routed.stored["episodic"].item

    def track(self, text: str) -> object:
        return self.call(self.turn.track_tool_invocation, "save", {"text": text}, {"saved": text})

    def track_failure(self, text: str) -> object:
        return self.call(self.turn.track_tool_invocation, "save", {}, None, error=ValueError(text))

    def import_export(self, text: str) -> object:
        with wmem.open("memory://", agent_id="a", redaction=Redaction.off()) as source:
            item = source.working.items.add(text, metadata={"text": text})
            source.working.entries.set(item.id, {"text": text})
            self.call(self.memory.semantic.import_, source.working.export())
        return self.call(self.memory.semantic.items.get, item.id)

    def update(self, text: str) -> object:
        items = self.memory.semantic.items
        item = self.call(items.add, "a fact that is put in another way", type="fact")
        return self.call(items.update, item.id, content=text, metadata={"texts": [{"first": text}]})

    def relate(self, text: str) -> object:
        items = self.memory.semantic.items
        item = self.call(items.add, "a fact about something else", type="fact")
        return self.call(items.relate, item.id, "about", "x", metadata={"text": text})

    def append(self, text: str) -> object:
        message = {"role": "user", "content": text, "metadata": {"text": text}}
        return self.call(self.memory.episodic.messages.append, message)

    def set_entry(self, text: str) -> object:
        entries = self.memory.semantic.entries
        key = f"k{self.call(entries.count)}"
        self.call(entries.set, key, {"list": [text]})
        return self.call(entries.entry, key)
