"""Conformance suites for backends, for anyone who writes one.

A suite is a pytest class: a subclass names the store, and every promise is a test.
Nothing in wmem imports this package; it needs the extra ``testing``.
"""

import pkgutil

from wmem.errors import MissingExtraError

try:
    import hypothesis  # noqa: F401  # the suites need it
    import pytest
except ImportError as exc:
    msg = "wmem.testing needs the extra 'testing': pip install 'wmem[testing]'"
    raise MissingExtraError(msg) from exc

# Before the suites are imported, so that a failed assertion shows both sides.
pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)))

from wmem.testing.buffer import BufferSuite  # noqa: E402  # after the registration above
from wmem.testing.calls import Call  # noqa: E402
from wmem.testing.connect import Connect  # noqa: E402
from wmem.testing.document_1 import Document1Suite  # noqa: E402
from wmem.testing.documents import DocumentsSuite  # noqa: E402
from wmem.testing.entries import EntriesSuite  # noqa: E402
from wmem.testing.erasure import ErasureSuite  # noqa: E402
from wmem.testing.eviction import EvictionSuite  # noqa: E402
from wmem.testing.fetches import FetchesSuite  # noqa: E402
from wmem.testing.hybrid import HybridSuite  # noqa: E402
from wmem.testing.items import ItemsSuite  # noqa: E402
from wmem.testing.journal import JournalClient, JournalSuite  # noqa: E402
from wmem.testing.lifetimes import LifetimesSuite  # noqa: E402
from wmem.testing.limits import LimitsSuite  # noqa: E402
from wmem.testing.maintenance import MaintenanceSuite  # noqa: E402
from wmem.testing.memory import MemorySuite  # noqa: E402
from wmem.testing.merges import MergesSuite  # noqa: E402
from wmem.testing.messages import MessagesSuite  # noqa: E402
from wmem.testing.opener import NOON, Clock, MemoryOpener  # noqa: E402
from wmem.testing.pack import PackSuite  # noqa: E402
from wmem.testing.profiles import ProfilesSuite  # noqa: E402
from wmem.testing.promotion import PromotionSuite  # noqa: E402
from wmem.testing.queue import QueueSuite  # noqa: E402
from wmem.testing.scopes import ScopesSuite  # noqa: E402
from wmem.testing.searches import SearchSuite  # noqa: E402
from wmem.testing.suite import FacetSuite, ToSync  # noqa: E402
from wmem.testing.updates import UpdatesSuite  # noqa: E402
from wmem.testing.values import ValuesSuite  # noqa: E402
from wmem.testing.vectors import VectorsSuite  # noqa: E402

__all__ = [
    "NOON",
    "BufferSuite",
    "Call",
    "Clock",
    "Connect",
    "Document1Suite",
    "DocumentsSuite",
    "EntriesSuite",
    "ErasureSuite",
    "EvictionSuite",
    "FacetSuite",
    "FetchesSuite",
    "HybridSuite",
    "ItemsSuite",
    "JournalClient",
    "JournalSuite",
    "LifetimesSuite",
    "LimitsSuite",
    "MaintenanceSuite",
    "MemoryOpener",
    "MemorySuite",
    "MergesSuite",
    "MessagesSuite",
    "PackSuite",
    "ProfilesSuite",
    "PromotionSuite",
    "QueueSuite",
    "ScopesSuite",
    "SearchSuite",
    "ToSync",
    "UpdatesSuite",
    "ValuesSuite",
    "VectorsSuite",
]
