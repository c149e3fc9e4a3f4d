"""Named experiments."""
