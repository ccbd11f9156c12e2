"""Values by key."""
