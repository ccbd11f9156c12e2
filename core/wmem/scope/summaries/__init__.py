"""Summaries with and without a model: the port of summarizers, and the flows that use it."""
