"""Light: worlds to pictures."""
