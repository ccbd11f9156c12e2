"""Memory types: several stores of one agent behind one protocol, and the registry of them."""
