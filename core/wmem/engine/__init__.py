"""Replicas, writing and events: the machine between a scope's flows and its journal."""
