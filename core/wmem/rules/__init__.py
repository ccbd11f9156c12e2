"""Rules: pure functions, without clock, IO, lock or randomness."""
