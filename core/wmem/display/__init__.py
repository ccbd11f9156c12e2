"""A context shown in a notebook and in a terminal."""
