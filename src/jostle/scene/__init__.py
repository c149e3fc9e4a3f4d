"""The world as data, and its physics."""
