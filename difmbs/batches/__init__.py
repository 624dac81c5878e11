"""Work on many of a kind, chunk by chunk."""
