"""Finding memories for a query: index, BM25, neighbours, vectors and one ranking."""
