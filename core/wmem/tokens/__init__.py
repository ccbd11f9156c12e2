"""Counting tokens: exact where an encoding is at hand, else estimated."""
