"""Token counting, text analysis, and the word and vector indexes behind recall."""
