"""Pairs of texts that say the same, or do not, in several languages."""
