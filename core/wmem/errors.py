"""Everything wmem raises on purpose, in one tree.

A subclass exists only where a caller would act differently, and each is also
the builtin it amounts to, so ``except ValueError`` keeps working::

    WmemError
    ├── InvalidInputError (ValueError)    the call is wrong: correct it
    │   └── BudgetError                   what may not be dropped exceeds the budget
    ├── SerializationError (TypeError)    the value cannot be stored, or not revived as asked
    ├── NotFoundError (KeyError)          no such item
    │   └── ExpiredError                  it was there and its time is over
    ├── AlreadyPromotedError              asked to treat a second promotion as a mistake
    ├── CapacityError                     full, and nothing may be evicted
    ├── DisposedError                     the scope is gone: ask its parent for a new one
    ├── FeatureNotEnabledError            switched off by `Features`
    ├── MissingExtraError (ImportError)   an optional dependency is not installed
    └── StoreError                        the store failed: the write may be repeated
        ├── ConflictError                 others kept writing first
        ├── UnknownOutcomeError           the reply was lost: applied or not
        ├── WrongKeyError                 encrypted under a key that is not at hand: open with it
        └── CorruptionError               what is stored cannot be read
"""

__all__ = [
    "AlreadyPromotedError",
    "BudgetError",
    "CapacityError",
    "ConflictError",
    "CorruptionError",
    "DisposedError",
    "ExpiredError",
    "FeatureNotEnabledError",
    "InvalidInputError",
    "MissingExtraError",
    "NotFoundError",
    "SerializationError",
    "StoreError",
    "UnknownOutcomeError",
    "WmemError",
    "WrongKeyError",
]


class WmemError(Exception):
    """The root: catch it to catch everything that wmem raises on purpose."""


class InvalidInputError(WmemError, ValueError):
    """An argument is outside what the call accepts; nothing was changed."""


class BudgetError(InvalidInputError):
    """What must stay in the prompt (pinned and system text) exceeds the budget."""


class SerializationError(WmemError, TypeError):
    """A value cannot be stored without loss, or not revived as the type asked for."""


class NotFoundError(WmemError, KeyError):
    """No item under that id or key."""

    # KeyError prints the repr of its argument; a sentence should read as one.
    __str__ = Exception.__str__


class ExpiredError(NotFoundError):
    """The item was there, and its time to live is over."""


class AlreadyPromotedError(WmemError):
    """The item is in long-term memory already and ``if_promoted="error"`` was asked for."""


class CapacityError(WmemError):
    """A limit of the policy is reached and nothing may leave; nothing was changed."""


class DisposedError(WmemError):
    """The scope was disposed; a handle never comes back to life."""


class FeatureNotEnabledError(WmemError):
    """The feature is switched off in `Features`."""


class MissingExtraError(WmemError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class StoreError(WmemError):
    """The store could not do what was asked of it."""


class ConflictError(StoreError):
    """Other writers came first until the time for retries was over; nothing was changed."""


class UnknownOutcomeError(StoreError):
    """The reply was lost: all of the write is stored, or nothing is."""


class WrongKeyError(StoreError):
    """What is stored is encrypted under a key that was not given, or is not encrypted and ought to be."""


class CorruptionError(StoreError):
    """Something stored is damaged, foreign or from a newer version."""
