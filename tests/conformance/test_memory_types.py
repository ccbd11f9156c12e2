"""The suite of memory types over the built-in ones on every backend, and over one that is no part of wmem."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

import wmem
from tests.external_types import AsyncSqliteNotes, SqliteNotes
from tests.matrix import OPTIONS, Everywhere
from wmem import testing
from wmem.types import ItemFields, MemoryTypes


class TestWorking(Everywhere, testing.MemoryTypeSuite):
    @pytest.fixture
    def memory_type(self, memory: wmem.AgentMemory) -> wmem.MemoryType:
        return memory.types["working"]


@pytest.mark.backends("sqlite")
class TestQueueOfSession(Everywhere, testing.MemoryTypeSuite):
    @pytest.fixture
    def options(self, backend: str) -> Mapping[str, Any]:
        return {**OPTIONS.get(backend, {}), "policy": wmem.Policy.queue(max_items=6)}

    @pytest.fixture
    def types(self, memory: wmem.AgentMemory) -> MemoryTypes:
        return memory.types.session("s")

    @pytest.fixture
    def memory_type(self, types: MemoryTypes) -> wmem.MemoryType:
        return types["working"]


class TestConversation(Everywhere, testing.MemoryTypeSuite):
    @pytest.fixture
    def memory_type(self, memory: wmem.AgentMemory) -> wmem.MemoryType:
        return memory.types["conversation"]

    @pytest.fixture
    def fields(self) -> ItemFields:
        return {"type": "user_message"}


@pytest.mark.backends("memory")
class TestConversationOfSession(Everywhere, testing.MemoryTypeSuite):
    @pytest.fixture
    def types(self, memory: wmem.AgentMemory) -> MemoryTypes:
        return memory.types.session("s")

    @pytest.fixture
    def memory_type(self, types: MemoryTypes) -> wmem.MemoryType:
        return types["conversation"]

    @pytest.fixture
    def fields(self) -> ItemFields:
        return {"type": "assistant_message"}


class TestEpisodic(Everywhere, testing.MemoryTypeSuite):
    @pytest.fixture
    def memory_type(self, memory: wmem.AgentMemory) -> wmem.MemoryType:
        return memory.types["episodic"]


class TestSemantic(Everywhere, testing.MemoryTypeSuite):
    @pytest.fixture
    def memory_type(self, memory: wmem.AgentMemory) -> wmem.MemoryType:
        return memory.types["semantic"]


class TestSqliteNotes(testing.MemoryTypeSuite):
    @pytest.fixture
    def memory_type(self, mode: str) -> wmem.MemoryType:
        return SqliteNotes() if mode == "sync" else cast("Any", AsyncSqliteNotes())
