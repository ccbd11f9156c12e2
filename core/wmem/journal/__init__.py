"""Journals: the port, the codec and one file for each backend."""
