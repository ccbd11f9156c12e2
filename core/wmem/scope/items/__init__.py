"""Session memories."""
