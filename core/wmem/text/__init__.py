"""Text as numbers: what it costs, and how to find it again."""
