"""Select what a model sees within a token budget."""
