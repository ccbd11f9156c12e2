"""The items of a scope as a bounded queue."""
