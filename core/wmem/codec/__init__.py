"""Records and checkpoints as bytes, in clear or encrypted."""
