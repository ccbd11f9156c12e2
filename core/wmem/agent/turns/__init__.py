"""Turns: what an agent reads and writes between a request and its answer, as flows for both modes."""
