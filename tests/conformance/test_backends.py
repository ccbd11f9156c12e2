"""Every suite over the backends and modes of its tier; the journal suite and the erasure suite over all of them."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wmem.engine.backends
from tests import suites
from tests.matrix import PLAIN, Everywhere
from tests.suites.buffer import BufferSuite
from tests.suites.consolidation import (
    EvictLongTermSuite,
    MarkSupersededSuite,
    MergeDuplicatesSuite,
    PurgeSuite,
    RetentionSuite,
    UsersLongTermSuite,
)
from tests.suites.context_window import ContextWindowSuite
from tests.suites.decisions import DecisionsSuite
from tests.suites.document_1 import Document1Suite
from tests.suites.documents import DocumentsSuite
from tests.suites.entries import EntriesSuite
from tests.suites.episodes import EpisodesSuite
from tests.suites.eviction import EvictionSuite
from tests.suites.existence import ExistenceSuite
from tests.suites.features import FeaturesSuite
from tests.suites.fetches import FetchesSuite
from tests.suites.flight import FlightSuite
from tests.suites.foreign_forms import ForeignFormsSuite
from tests.suites.gate import GateSuite
from tests.suites.hybrid import HybridSuite
from tests.suites.identity import IdentitySuite
from tests.suites.indexes import IndexesSuite
from tests.suites.items import ItemsSuite
from tests.suites.lifetimes import LifetimesSuite
from tests.suites.limits import LimitsSuite
from tests.suites.long_term import LongTermSuite, SharedScopesSuite
from tests.suites.maintenance import MaintenanceSuite
from tests.suites.memory import AgentMemorySuite
from tests.suites.memory_types import MemoryTypesSuite
from tests.suites.merges import MergesSuite
from tests.suites.messages import MessagesSuite
from tests.suites.newer import NewerSuite
from tests.suites.own_ids import OwnIdsSuite
from tests.suites.pack import PackSuite
from tests.suites.pages import PagesSuite
from tests.suites.pairing import PairingSuite
from tests.suites.plants import PlantsSuite
from tests.suites.profiles import ProfilesSuite
from tests.suites.promotion import PromotionSuite
from tests.suites.queue import QueueSuite
from tests.suites.receipts import ReceiptsSuite
from tests.suites.redaction import RedactionSuite
from tests.suites.scenarios import ScenarioSuite
from tests.suites.scopes import ScopesSuite
from tests.suites.searches import SearchSuite
from tests.suites.skills import SkillsSuite
from tests.suites.snapshots import SnapshotsSuite
from tests.suites.standing import StandingSuite
from tests.suites.summaries import SummariesSuite
from tests.suites.surrogates import SurrogatesSuite
from tests.suites.temporary import TemporarySuite
from tests.suites.tools import ToolsSuite
from tests.suites.traces import TracesSuite
from tests.suites.turns import TurnSuite
from tests.suites.updates import UpdatesSuite
from tests.suites.values import ValuesSuite
from tests.suites.vectors import VectorsSuite
from tests.suites.withdrawal import WithdrawalSuite
from wmem import testing
from wmem.engine.ports import InPlaceJournal
from wmem.journal.memory import MemoryJournal
from wmem.testing.store_bytes import read_object_bytes, read_store_bytes


@pytest.mark.backends(*PLAIN, always=True)
class TestJournal(Everywhere, testing.JournalSuite):
    @pytest.fixture
    def in_memory(self) -> MemoryJournal[bytes]:
        return MemoryJournal(len)

    @pytest.fixture
    def store_bytes(self, url: str, in_memory: MemoryJournal[bytes]) -> Callable[[], bytes]:
        return lambda: read_object_bytes(in_memory) if url.startswith("memory:") else read_store_bytes(url)

    @pytest.fixture
    def connect(self, url: str, in_memory: MemoryJournal[bytes], mode: str) -> Iterator[testing.Connect]:
        made: list[wmem.engine.backends.Backend] = []

        def connected() -> Any:
            if url.startswith("memory:"):
                return in_memory if mode == "sync" else InPlaceJournal(in_memory)
            scheme = wmem.engine.backends.BACKENDS[url.partition("://")[0]]
            made.append(scheme.connect(scheme.normalise(url), None))
            return made[-1].sync_journal() if mode == "sync" else made[-1].async_journal()

        yield connected
        for each in made:
            each.close()


@pytest.mark.backends(always=True)
class TestErasure(Everywhere, testing.ErasureSuite): ...


class TestMemory(Everywhere, testing.MemorySuite): ...


class TestBuffer(Everywhere, BufferSuite): ...


class TestContextWindow(Everywhere, ContextWindowSuite): ...


class TestDecisions(Everywhere, DecisionsSuite): ...


class TestDocument1(Everywhere, Document1Suite): ...


class TestDocuments(Everywhere, DocumentsSuite): ...


class TestEntries(Everywhere, EntriesSuite): ...


class TestEviction(Everywhere, EvictionSuite): ...


class TestExistence(Everywhere, ExistenceSuite): ...


class TestFeatures(Everywhere, FeaturesSuite): ...


class TestFetches(Everywhere, FetchesSuite): ...


class TestHybrid(Everywhere, HybridSuite): ...


class TestIdentity(Everywhere, IdentitySuite): ...


class TestIndexes(Everywhere, IndexesSuite): ...


class TestItems(Everywhere, ItemsSuite): ...


class TestLifetimes(Everywhere, LifetimesSuite): ...


class TestLimits(Everywhere, LimitsSuite): ...


class TestMaintenance(Everywhere, MaintenanceSuite): ...


class TestAgentMemory(Everywhere, AgentMemorySuite): ...


class TestEpisodes(Everywhere, EpisodesSuite): ...


class TestMemoryTypes(Everywhere, MemoryTypesSuite): ...


class TestEvictLongTerm(Everywhere, EvictLongTermSuite): ...


class TestRetention(Everywhere, RetentionSuite): ...


@pytest.mark.backends(always=True)
class TestPurge(Everywhere, PurgeSuite): ...


class TestUsersLongTerm(Everywhere, UsersLongTermSuite): ...


class TestMarkSuperseded(Everywhere, MarkSupersededSuite): ...


class TestMergeDuplicates(Everywhere, MergeDuplicatesSuite): ...


class TestMerges(Everywhere, MergesSuite): ...


class TestMessages(Everywhere, MessagesSuite): ...


class TestForeignForms(Everywhere, ForeignFormsSuite): ...


class TestOwnIds(Everywhere, OwnIdsSuite): ...


class TestPack(Everywhere, PackSuite): ...


class TestPages(Everywhere, PagesSuite): ...


class TestPairing(Everywhere, PairingSuite): ...


class TestStanding(Everywhere, StandingSuite): ...


class TestNewer(Everywhere, NewerSuite): ...


class TestFlight(Everywhere, FlightSuite): ...


class TestPlants(Everywhere, PlantsSuite): ...


class TestProfiles(Everywhere, ProfilesSuite): ...


class TestLongTerm(Everywhere, LongTermSuite): ...


class TestSharedScopes(Everywhere, SharedScopesSuite): ...


class TestTools(Everywhere, ToolsSuite): ...


class TestPromotion(Everywhere, PromotionSuite): ...


class TestQueue(Everywhere, QueueSuite): ...


@pytest.mark.backends(*PLAIN, always=True)
class TestScenarios(Everywhere, ScenarioSuite): ...


class TestReceipts(Everywhere, ReceiptsSuite): ...


class TestRedaction(Everywhere, RedactionSuite): ...


class TestScopes(Everywhere, ScopesSuite): ...


class TestSearch(Everywhere, SearchSuite): ...


class TestGate(Everywhere, GateSuite): ...


class TestSkills(Everywhere, SkillsSuite): ...


class TestSnapshots(Everywhere, SnapshotsSuite): ...


class TestSummaries(Everywhere, SummariesSuite): ...


class TestSurrogates(Everywhere, SurrogatesSuite): ...


class TestTemporary(Everywhere, TemporarySuite): ...


class TestTraces(Everywhere, TracesSuite): ...


class TestTurns(Everywhere, TurnSuite): ...


class TestUpdates(Everywhere, UpdatesSuite): ...


class TestValues(Everywhere, ValuesSuite): ...


class TestVectors(Everywhere, VectorsSuite): ...


class TestWithdrawal(Everywhere, WithdrawalSuite): ...


def test_every_suite_is_run_here() -> None:
    text = "".join(file.read_text(encoding="utf-8") for place in suites.__path__ for file in Path(place).glob("*.py"))
    named = {
        *re.findall(r"^class (\w+Suite)\(", text, re.MULTILINE),
        *(n for n in testing.__all__ if n.endswith("Suite")),
    }
    run = {base.__name__ for case in globals().values() if isinstance(case, type) for base in case.__mro__}
    assert named - {"FacetSuite", "MemoryTypeSuite"} <= run  # the latter by each type, in `test_memory_types.py`
