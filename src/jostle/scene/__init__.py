"""The simulated scene as data, and its physics."""
