"""The gate of an agent's memory: which memory types an item goes to, and whether they take it."""
