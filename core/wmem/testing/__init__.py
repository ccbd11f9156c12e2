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

from wmem.testing.calls import Call  # noqa: E402  # after the registration above
from wmem.testing.connect import Connect  # noqa: E402
from wmem.testing.erasure import ErasureSuite  # noqa: E402
from wmem.testing.journal import JournalClient, JournalSuite  # noqa: E402
from wmem.testing.memory import MemorySuite  # noqa: E402
from wmem.testing.memory_type import MakeDraft, MemoryTypeSuite  # noqa: E402
from wmem.testing.opener import NOON, Clock, MemoryOpener  # noqa: E402
from wmem.testing.suite import FacetSuite, ToSync  # noqa: E402

__all__ = [
    "NOON",
    "Call",
    "Clock",
    "Connect",
    "ErasureSuite",
    "FacetSuite",
    "JournalClient",
    "JournalSuite",
    "MakeDraft",
    "MemoryOpener",
    "MemorySuite",
    "MemoryTypeSuite",
    "ToSync",
]
