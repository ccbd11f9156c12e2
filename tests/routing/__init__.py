"""Items as agents memorize them, with the memory types that they belong to."""
