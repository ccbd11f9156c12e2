"""Values of the public API, and the rows and changes inside the engine."""
