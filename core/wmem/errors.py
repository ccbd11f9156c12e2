"""Everything wmem raises on purpose, in one tree.

A subclass exists only where a caller would act differently. Where a builtin
means the same it is a base, too, so ``except ValueError`` keeps working::

    WmemError
    ├── InvalidInputError (ValueError)    the call is wrong: correct it
    │   └── BudgetError                   what must stay exceeds the budget
    │       └── TurnBudgetError           the turn has taken all of its budget: commit it
    ├── SerializationError (TypeError)    the value cannot be stored, or not decoded as the type asked for
    ├── NotFoundError (KeyError)          no such item
    │   └── ExpiredError                  it was there and has expired
    ├── AlreadyPromotedError              promoted before, and `if_promoted="error"`
    ├── RejectedError                     not important or new enough for the memory it was to go to
    ├── CapacityError                     full, and nothing may be evicted
    ├── FeatureNotEnabledError            not among the features that the memory was opened with
    ├── DisposedError                     the scope was disposed: ask its parent for a new one
    ├── MissingExtraError (ImportError)   an optional dependency is not installed
    └── StoreError                        the store failed: the write may be retried
        ├── ConflictError                 other writers came first on every retry
        ├── StoreFullError                the store is full: remove, clear, erase or dispose, then retry
        ├── UnknownOutcomeError           the reply was lost: the write is stored or not
        ├── WrongKeyError                 encrypted under another key: open the store with that one
        └── CorruptionError               stored data cannot be read
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
    "RejectedError",
    "SerializationError",
    "StoreError",
    "StoreFullError",
    "TurnBudgetError",
    "UnknownOutcomeError",
    "WmemError",
    "WrongKeyError",
]


class WmemError(Exception):
    """The root: catch it to catch everything that wmem raises on purpose."""


class InvalidInputError(WmemError, ValueError):
    """An argument is outside what the call accepts; nothing was changed."""


class BudgetError(InvalidInputError):
    """What a pack must keep exceeds the budget: system text, tools, reserve, what is pinned, and the turn in flight.

    Its text has the sizes, the largest first, and what to do about it.
    """


class TurnBudgetError(BudgetError):
    """A turn has taken all of its budget; what it wrote is stored, and it can be committed."""


class SerializationError(WmemError, TypeError):
    """A value cannot be stored without loss, or not decoded as the type asked for."""


class NotFoundError(WmemError, KeyError):
    """No item under that id or key."""

    # KeyError prints the repr of its argument: the message would appear in quotes.
    __str__ = Exception.__str__


class ExpiredError(NotFoundError):
    """The item was there, but its time to live is over."""


class AlreadyPromotedError(WmemError):
    """The item is in long-term memory already and ``if_promoted="error"`` was asked for."""


class RejectedError(WmemError):
    """An item is not important or new enough for the memory that it was to be promoted to; it stays where it is."""


class CapacityError(WmemError):
    """A limit of the policy is reached and nothing may be evicted; nothing was changed."""


class FeatureNotEnabledError(WmemError):
    """The call needs a feature that the memory was opened without; nothing was changed. See `wmem.Features`."""


class DisposedError(WmemError):
    """The scope was disposed; its handle never becomes valid again."""


class MissingExtraError(WmemError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class StoreError(WmemError):
    """The store failed to carry out a call."""


class ConflictError(StoreError):
    """Other writers came first on every retry until the time limit; nothing was changed."""


class StoreFullError(StoreError):
    """The store has no room for more; nothing was changed. What only removes it still takes."""


class UnknownOutcomeError(StoreError):
    """The reply was lost: all of the write is stored, or nothing is."""


class WrongKeyError(StoreError):
    """The stored data is encrypted under a key that was not given, or is plain where a key was given."""


class CorruptionError(StoreError):
    """Stored data is damaged, not from wmem, or from a newer version."""
